//! Regions as values: who is a member, which keys are inside, which epoch is newer.
//!
//! Borders of a region are engine keys without their `z`: memcomparable for transactional data, plain for raw keys. An empty end is no bound.

use bytes::Bytes;
use codec::engine_key::DATA_PREFIX;
use proto::metapb::{Peer, PeerRole, Region, RegionEpoch};
use raft::eraftpb::ConfState;

use crate::{Error, Result};

/// Index and term a region's log begins behind: what was there before is part of its first state.
pub const INITIAL_INDEX: u64 = 5;
/// See [`INITIAL_INDEX`].
pub const INITIAL_TERM: u64 = 5;
/// Epoch numbers of a region that was not changed yet.
pub const INITIAL_EPOCH: RegionEpoch = RegionEpoch { conf_ver: 1, version: 1 };

/// The epoch, which every region has.
pub fn epoch(region: &Region) -> RegionEpoch {
    region.region_epoch.unwrap_or_default()
}

/// Whether a replica here knows its range; one that was created by a message does not yet.
pub fn is_initialized(region: &Region) -> bool {
    !region.peers.is_empty()
}

/// The member with an id.
pub fn peer(region: &Region, peer_id: u64) -> Option<&Peer> {
    region.peers.iter().find(|peer| peer.id == peer_id)
}

/// The member on a store.
pub fn peer_on_store(region: &Region, store_id: u64) -> Option<&Peer> {
    region.peers.iter().find(|peer| peer.store_id == store_id)
}

/// Whether `key`, without its `z`, lies in the region.
pub fn contains(region: &Region, key: &[u8]) -> bool {
    key >= &region.start_key[..] && (region.end_key.is_empty() || key < &region.end_key[..])
}

/// Whether `key` may be the end of a range inside the region: inside, or its border.
pub fn contains_end(region: &Region, end: &[u8]) -> bool {
    match (end.is_empty(), region.end_key.is_empty()) {
        (true, bounded) => bounded,
        (false, true) => end > &region.start_key[..],
        (false, false) => end > &region.start_key[..] && end <= &region.end_key[..],
    }
}

/// An error unless `key` lies in the region.
pub fn check_key(region: &Region, key: &[u8]) -> Result<()> {
    match contains(region, key) {
        true => Ok(()),
        false => Err(Error::KeyNotInRegion { key: Bytes::copy_from_slice(key), region: Box::new(region.clone()) }),
    }
}

/// Whether two ranges have a key in common.
pub fn overlap(start: &[u8], end: &[u8], region: &Region) -> bool {
    (end.is_empty() || &region.start_key[..] < end) && (region.end_key.is_empty() || start < &region.end_key[..])
}

/// The engine keys the region lies between.
pub fn engine_range(region: &Region) -> (Vec<u8>, Vec<u8>) {
    let start = [&[DATA_PREFIX], &region.start_key[..]].concat();
    let end = match region.end_key.is_empty() {
        true => vec![DATA_PREFIX + 1],
        false => [&[DATA_PREFIX], &region.end_key[..]].concat(),
    };
    (start, end)
}

/// Whether a member takes part in the decision before, and after, a change that is under way.
pub fn role(peer: &Peer) -> PeerRole {
    PeerRole::try_from(peer.role).unwrap_or(PeerRole::Voter)
}

/// Whether the region is between two sets of voters.
pub fn in_joint_state(region: &Region) -> bool {
    region.peers.iter().any(|peer| matches!(role(peer), PeerRole::IncomingVoter | PeerRole::DemotingVoter))
}

/// The membership as the consensus library wants it.
pub fn conf_state(region: &Region) -> ConfState {
    let mut state = ConfState::default();
    let joint = in_joint_state(region);
    for peer in &region.peers {
        match role(peer) {
            PeerRole::Voter => {
                state.voters.push(peer.id);
                if joint {
                    state.voters_outgoing.push(peer.id);
                }
            }
            PeerRole::Learner => state.learners.push(peer.id),
            PeerRole::IncomingVoter => state.voters.push(peer.id),
            PeerRole::DemotingVoter => {
                state.voters_outgoing.push(peer.id);
                state.learners_next.push(peer.id);
            }
        }
    }
    state.auto_leave = joint;
    state
}

/// Whether `request` was made for the region as it is; both numbers count.
pub fn check_epoch(region: &Region, request: &RegionEpoch) -> Result<()> {
    match epoch(region) == *request {
        true => Ok(()),
        false => Err(Error::EpochNotMatch { current: vec![region.clone()] }),
    }
}

/// Whether a request about keys was made for the range as it is; membership does not matter to it.
pub fn check_version(region: &Region, version: u64) -> Result<()> {
    match epoch(region).version == version {
        true => Ok(()),
        false => Err(Error::EpochNotMatch { current: vec![region.clone()] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: &'static str, end: &'static str) -> Region {
        Region { id: 1, start_key: Bytes::from_static(start.as_bytes()), end_key: Bytes::from_static(end.as_bytes()), ..Default::default() }
    }

    #[test]
    fn borders_are_half_open_and_an_empty_end_is_none() {
        let middle = region("b", "d");
        assert!(contains(&middle, b"b") && !contains(&middle, b"d") && !contains(&middle, b"a"));
        assert!(contains(&region("b", ""), b"zzz"));
        assert!(contains_end(&middle, b"d") && !contains_end(&middle, b"b") && !contains_end(&middle, b""));
        assert!(contains_end(&region("b", ""), b""));
        assert!(overlap(b"a", b"c", &middle) && overlap(b"c", b"", &middle));
        assert!(!overlap(b"a", b"b", &middle) && !overlap(b"d", b"", &middle));
        assert_eq!(engine_range(&region("", "")), (b"z".to_vec(), b"{".to_vec()));
    }

    #[test]
    fn a_joint_state_has_both_sets_of_voters() {
        let peers = [PeerRole::Voter, PeerRole::IncomingVoter, PeerRole::DemotingVoter, PeerRole::Learner];
        let peers = (1..).zip(peers).map(|(id, role)| Peer { id, store_id: id, role: role as i32, ..Default::default() }).collect();
        let state = conf_state(&Region { peers, ..Default::default() });
        assert_eq!((&state.voters[..], &state.voters_outgoing[..]), (&[1, 2][..], &[1, 3][..]));
        assert_eq!((&state.learners[..], &state.learners_next[..]), (&[4][..], &[3][..]));
        assert!(state.auto_leave);
    }
}
