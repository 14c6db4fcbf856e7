//! Why a request was not served, in the protocol's words.
//!
//! | here | there | the client |
//! |---|---|---|
//! | not led from here | NotLeader, with the leader if known | asks there |
//! | split, moved, other borders | EpochNotMatch with the regions in its place, KeyNotInRegion, RegionNotFound | looks again, asks again |
//! | another store or replica was meant | StoreNotMatch, MismatchPeerId | looks again |
//! | the leader changed meanwhile: a write may be carried out yet | StaleCommand, with what is known of the region now | asks again; who gives up then does not know |
//! | new leader, no timestamp yet | ReadIndexNotReady, MaxTimestampNotSynced | asks again, later |
//! | becoming a part of another region | ProposalInMergingMode | asks again, until one of both is there |
//! | too much at once, disk nearly full | ServerIsBusy with a hint, DiskFull | waits |
//! | the request itself | text in the answer | gives up |

use proto::errorpb;

/// Milliseconds a client is told to wait when the store has too much to do.
const BUSY_BACKOFF_MS: u64 = 100;

/// A request was not served.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Wrong place or wrong moment.
    Region(Box<errorpb::Error>),
    /// It cannot be served anywhere.
    Request(String),
}

/// A store error in the protocol's words.
pub(crate) fn region_error(error: &raftstore::Error) -> errorpb::Error {
    use raftstore::Error as E;
    let mut answer = errorpb::Error { message: error.to_string(), ..Default::default() };
    match error.clone() {
        E::NotLeader { region_id, leader } => answer.not_leader = Some(errorpb::NotLeader { region_id, leader }),
        E::RegionNotFound(region_id) => answer.region_not_found = Some(errorpb::RegionNotFound { region_id }),
        E::EpochNotMatch { current } => answer.epoch_not_match = Some(errorpb::EpochNotMatch { current_regions: current }),
        E::KeyNotInRegion { key, region } => {
            let region = *region;
            let (start_key, end_key) = (region.start_key, region.end_key);
            answer.key_not_in_region = Some(errorpb::KeyNotInRegion { key, region_id: region.id, start_key, end_key });
        }
        E::PeerNotMatch { requested, found } => {
            answer.mismatch_peer_id = Some(errorpb::MismatchPeerId { request_peer_id: requested, store_peer_id: found });
        }
        E::ReadIndexNotReady(region_id) => {
            answer.read_index_not_ready = Some(errorpb::ReadIndexNotReady { reason: answer.message.clone(), region_id });
        }
        E::Merging(region_id) => answer.proposal_in_merging_mode = Some(errorpb::ProposalInMergingMode { region_id }),
        E::ProposalRefused(_) => answer.server_is_busy = Some(busy(answer.message.clone())),
        E::EntryTooLarge { region_id, bytes, .. } => {
            answer.raft_entry_too_large = Some(errorpb::RaftEntryTooLarge { region_id, entry_size: bytes });
        }
        _ => answer.stale_command = Some(errorpb::StaleCommand {}),
    }
    answer
}

pub(crate) fn busy(reason: String) -> errorpb::ServerIsBusy {
    errorpb::ServerIsBusy { reason, backoff_ms: BUSY_BACKOFF_MS, ..Default::default() }
}

impl From<raftstore::Error> for Refusal {
    fn from(error: raftstore::Error) -> Self {
        match error {
            raftstore::Error::InvalidRequest(what) => Self::Request(what.to_owned()),
            error => Self::Region(Box::new(region_error(&error))),
        }
    }
}

impl Refusal {
    /// A region error of its own kind.
    pub(crate) fn region(message: &str, fill: impl FnOnce(&mut errorpb::Error)) -> Self {
        let mut error = errorpb::Error { message: message.to_owned(), ..Default::default() };
        fill(&mut error);
        Self::Region(Box::new(error))
    }

    /// A write that was proposed and will not be heard of any more: the client is told where to ask what became of it.
    pub(crate) fn displaced(now: &raftstore::Error) -> Self {
        Self::Region(Box::new(errorpb::Error { stale_command: Some(errorpb::StaleCommand {}), ..region_error(now) }))
    }

    /// What a command of `store_id` came to instead of an answer.
    pub(crate) fn of_command(store_id: u64, error: txn::Error) -> Self {
        let message = error.to_string();
        match error {
            txn::Error::Engine(engine::Error::Displaced | engine::Error::ShutDown) | txn::Error::Stopped => {
                Self::region(&message, |answer| answer.stale_command = Some(errorpb::StaleCommand {}))
            }
            txn::Error::Engine(engine::Error::Busy { .. }) => {
                Self::region(&message, |answer| answer.server_is_busy = Some(busy(message.clone())))
            }
            txn::Error::Engine(engine::Error::DiskFull { .. }) => Self::region(&message, |answer| {
                answer.disk_full = Some(errorpb::DiskFull { store_id: vec![store_id], reason: message.clone() });
            }),
            _ => Self::Request(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displaced_write_is_never_a_plain_refusal() {
        let is_open = |refusal: Refusal| matches!(refusal, Refusal::Region(error) if error.stale_command.is_some());
        let leader = raftstore::Error::NotLeader { region_id: 1, leader: None };
        assert!(is_open(Refusal::displaced(&leader)));
        assert!(!is_open(leader.into()), "what was refused before it was proposed has not happened");
        for error in [engine::Error::Displaced, engine::Error::ShutDown] {
            assert!(is_open(Refusal::of_command(1, txn::Error::Engine(error))));
        }
    }
}
