//! The contracts between nodes: the key-value API of a store, and the placement driver's.
//!
//! Compiled from the `.proto` files beside this crate. Packages, messages, fields and numbers are those of the existing
//! ecosystem, so that official clients understand our stores and ours understands theirs; only what is in use is listed.
//! In one process the same structs are passed by value: `bytes` fields are [`bytes::Bytes`], and rare large parts
//! (context, errors) are boxed, so that passing an answer costs a few words.
//!
//! ```text
//!   client ──GetRequest──▶ txn::Storage           (one process: a function call)
//!   client ──GetRequest──▶ gRPC ──▶ txn::Storage  (a cluster)
//! ```

/// Cluster metadata: regions, peers, epochs.
#[allow(missing_docs, clippy::all)]
pub mod metapb {
    include!(concat!(env!("OUT_DIR"), "/metapb.rs"));
}

/// Errors about routing and the state of a store.
#[allow(missing_docs, clippy::all)]
pub mod errorpb {
    include!(concat!(env!("OUT_DIR"), "/errorpb.rs"));
}

/// Edges of the graph of waiting transactions.
#[allow(missing_docs, clippy::all)]
pub mod deadlock {
    include!(concat!(env!("OUT_DIR"), "/deadlock.rs"));
}

/// Requests, responses and key errors of the transactional API.
#[allow(missing_docs, clippy::all)]
pub mod kvrpcpb {
    include!(concat!(env!("OUT_DIR"), "/kvrpcpb.rs"));
}

/// Messages of the Raft library.
#[allow(missing_docs, clippy::all)]
pub mod eraftpb {
    include!(concat!(env!("OUT_DIR"), "/eraftpb.rs"));
}

/// Administrative entries of a region's Raft log.
#[allow(missing_docs, clippy::all)]
pub mod raft_cmdpb {
    include!(concat!(env!("OUT_DIR"), "/raft_cmdpb.rs"));
}

/// Messages between the replicas of regions, and what a store keeps about its regions.
#[allow(missing_docs, clippy::all)]
pub mod raft_serverpb {
    include!(concat!(env!("OUT_DIR"), "/raft_serverpb.rs"));
}

/// Work pushed down to the store that has the rows.
#[allow(missing_docs, clippy::all)]
pub mod coprocessor {
    include!(concat!(env!("OUT_DIR"), "/coprocessor.rs"));
}

/// Pushed-down plans and their rows, as they stand in a [`coprocessor`] request and its answer.
#[allow(missing_docs, clippy::all)]
pub mod tipb {
    include!(concat!(env!("OUT_DIR"), "/tipb.rs"));
}

/// The service of a store, with its client and server.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod tikvpb {
    include!(concat!(env!("OUT_DIR"), "/tikvpb.rs"));
}

/// The placement driver, with its client and server.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod pdpb {
    include!(concat!(env!("OUT_DIR"), "/pdpb.rs"));
}

/// What the placement driver's members replicate.
#[allow(missing_docs, clippy::all)]
pub mod pdstate {
    include!(concat!(env!("OUT_DIR"), "/pdstate.rs"));
}

/// How the placement driver's members talk to each other.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod pdpeer {
    include!(concat!(env!("OUT_DIR"), "/pdpeer.rs"));
}

/// The standard health service of gRPC.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod health {
    include!(concat!(env!("OUT_DIR"), "/grpc.health.v1.rs"));
}

/// The list of members, as clients of an etcd ask for it.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod etcdserverpb {
    include!(concat!(env!("OUT_DIR"), "/etcdserverpb.rs"));
}

/// Small values looked up through the placement driver.
#[allow(missing_docs, clippy::all, rustdoc::all)]
pub mod meta_storagepb {
    include!(concat!(env!("OUT_DIR"), "/meta_storagepb.rs"));
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prost::Message as _;

    use super::kvrpcpb::{GetResponse, KeyError, LockInfo, Mutation, Op, PrewriteRequest};

    #[test]
    fn field_numbers_are_those_of_the_ecosystem() {
        let mutation = Mutation { op: Op::Insert as i32, key: Bytes::from_static(b"k"), value: Bytes::from_static(b"v"), assertion: 0 };
        let request = PrewriteRequest {
            mutations: vec![mutation],
            primary_lock: Bytes::from_static(b"k"),
            start_version: 7,
            try_one_pc: true,
            ..Default::default()
        };
        let expected = b"\x12\x08\x08\x04\x12\x01k\x1a\x01v\x1a\x01k\x20\x07\x68\x01";
        assert_eq!(request.encode_to_vec(), expected);
        assert_eq!(PrewriteRequest::decode(&expected[..]), Ok(request));
    }

    #[test]
    fn an_answer_without_errors_is_small() {
        assert!(size_of::<GetResponse>() <= 64, "{}", size_of::<GetResponse>());
        let locked = KeyError { locked: Some(Box::new(LockInfo { lock_version: 9, ..Default::default() })), ..Default::default() };
        let response = GetResponse { error: Some(Box::new(locked)), ..Default::default() };
        assert_eq!(response.encode_to_vec(), b"\x12\x04\x0a\x02\x10\x09");
    }
}
