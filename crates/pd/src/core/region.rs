//! One region as the placement driver knows it: what is replicated (range, epoch, peers, leader) and what was only measured.
//!
//! Measurements come with heartbeats to the leading member and are not replicated: another member that takes over learns them anew.

use std::cmp::Ordering;

use bytes::Bytes;
use proto::{
    metapb::{Buckets, Peer, PeerRole, Region, RegionEpoch},
    pdpb::{self, PeerStats, RegionHeartbeatRequest},
};

/// Bytes in a mebibyte.
pub const MIB: u64 = 1 << 20;

/// A region.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionInfo {
    /// Range, epoch and peers; replicated.
    pub meta: Region,
    /// The peer that leads, as far as it is known; replicated.
    pub leader: Option<Peer>,
    /// What its leader measured.
    pub measured: Measured,
}

/// What the leader of a region reports and nobody replicates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Bytes of keys and values.
    pub size_bytes: u64,
    /// Number of keys.
    pub keys: u64,
    /// Peers the leader does not hear from.
    pub down_peers: Vec<PeerStats>,
    /// Peers that lag too far behind.
    pub pending_peers: Vec<Peer>,
    /// Bytes written a second.
    pub write_rate: u64,
    /// Bytes read a second.
    pub read_rate: u64,
    /// Raft term of the reporting leader.
    pub term: u64,
    /// Borders of its buckets, where they are reported.
    pub buckets: Option<Buckets>,
}

impl Measured {
    /// The measurements of a heartbeat. A period that is not reported counts as a minute.
    pub fn of(heartbeat: &RegionHeartbeatRequest) -> Self {
        let seconds = heartbeat
            .interval
            .map(|interval| interval.end_timestamp.saturating_sub(interval.start_timestamp))
            .filter(|seconds| *seconds > 0)
            .unwrap_or(60);
        Self {
            size_bytes: heartbeat.approximate_size,
            keys: heartbeat.approximate_keys,
            down_peers: heartbeat.down_peers.clone(),
            pending_peers: heartbeat.pending_peers.clone(),
            write_rate: heartbeat.bytes_written / seconds,
            read_rate: heartbeat.bytes_read / seconds,
            term: heartbeat.term,
            buckets: None,
        }
    }
}

impl RegionInfo {
    /// The region's id.
    pub fn id(&self) -> u64 {
        self.meta.id
    }

    /// The epoch; one that is missing is the oldest.
    pub fn epoch(&self) -> RegionEpoch {
        self.meta.region_epoch.unwrap_or_default()
    }

    /// First key of the range.
    pub fn start_key(&self) -> &Bytes {
        &self.meta.start_key
    }

    /// First key behind the range; empty for no bound.
    pub fn end_key(&self) -> &Bytes {
        &self.meta.end_key
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= &self.meta.start_key[..] && (self.meta.end_key.is_empty() || key < &self.meta.end_key[..])
    }

    /// The replica on a store.
    pub fn peer_on(&self, store_id: u64) -> Option<&Peer> {
        self.meta.peers.iter().find(|peer| peer.store_id == store_id)
    }

    /// The store of the leader, 0 when it is not known.
    pub fn leader_store(&self) -> u64 {
        self.leader.map_or(0, |leader| leader.store_id)
    }

    /// Replicas that vote, also those on their way in.
    pub fn voters(&self) -> impl Iterator<Item = &Peer> {
        self.meta.peers.iter().filter(|peer| matches!(peer.role(), PeerRole::Voter | PeerRole::IncomingVoter))
    }

    /// Replicas that do not vote.
    pub fn learners(&self) -> impl Iterator<Item = &Peer> {
        self.meta.peers.iter().filter(|peer| peer.role() == PeerRole::Learner)
    }

    /// Whether a joint change of membership is under way.
    pub fn in_joint_state(&self) -> bool {
        self.meta.peers.iter().any(|peer| matches!(peer.role(), PeerRole::IncomingVoter | PeerRole::DemotingVoter))
    }

    /// Whether a peer lags behind.
    pub fn is_pending(&self, peer_id: u64) -> bool {
        self.measured.pending_peers.iter().any(|peer| peer.id == peer_id)
    }

    /// For how many seconds the leader has not heard from a peer.
    pub fn down_seconds(&self, peer_id: u64) -> Option<u64> {
        self.measured.down_peers.iter().find(|down| down.peer.is_some_and(|peer| peer.id == peer_id)).map(|down| down.down_seconds)
    }

    /// Whether all replicas work and vote: only such a region is moved for the sake of balance.
    pub fn is_healthy(&self) -> bool {
        self.leader.is_some()
            && self.measured.down_peers.is_empty()
            && self.measured.pending_peers.is_empty()
            && self.meta.peers.iter().all(|peer| peer.role() == PeerRole::Voter)
    }

    /// Weight in balancing: mebibytes, at least one, so that empty regions are spread too.
    pub fn weight(&self) -> u64 {
        (self.measured.size_bytes / MIB).max(1)
    }

    /// The form clients get.
    pub fn to_answer(&self) -> pdpb::Region {
        pdpb::Region {
            region: Some(self.meta.clone()),
            leader: self.leader,
            down_peers: self.measured.down_peers.clone(),
            pending_peers: self.measured.pending_peers.clone(),
            buckets: self.measured.buckets.clone(),
        }
    }
}

/// Whether `newer` is at least as new as `older` in both parts, and newer in one (`Greater`); `None` when each is newer in one.
pub fn compare_epochs(newer: RegionEpoch, older: RegionEpoch) -> Option<Ordering> {
    match (newer.version.cmp(&older.version), newer.conf_ver.cmp(&older.conf_ver)) {
        (a, b) if a == b => Some(a),
        (Ordering::Equal, b) => Some(b),
        (a, Ordering::Equal) => Some(a),
        _ => None,
    }
}
