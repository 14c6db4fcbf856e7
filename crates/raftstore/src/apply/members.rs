//! Changing the members of a region.
//!
//! | change | one at a time | several together (joint) |
//! |---|---|---|
//! | AddNode, new or learner | voter | incoming voter |
//! | AddLearnerNode, new | learner | learner |
//! | AddLearnerNode of a voter | learner | demoting voter |
//! | RemoveNode | gone | learners only; a voter is demoted first |
//!
//! Leaving the joint state makes incoming voters voters and demoting ones learners.

use proto::{
    eraftpb::ConfChangeType,
    metapb::{Peer, PeerRole, Region, RegionEpoch},
    raft_cmdpb::{AdminRequest, ChangePeerRequest},
};

use crate::{Error, Result, peer::changes, region};

/// The region after a requested change.
pub(super) fn change(region: &Region, request: &AdminRequest) -> Result<Region> {
    let changes = changes(request);
    let joint = changes.len() > 1;
    let mut changed = region.clone();
    for one in &changes {
        apply(&mut changed, one, joint)?;
    }
    Ok(at_later_epoch(changed, changes.len()))
}

/// The region after it left its joint state.
pub(super) fn leave_joint(region: &Region) -> Result<Region> {
    let mut changed = region.clone();
    let mut count = 0;
    for peer in &mut changed.peers {
        let role = match region::role(peer) {
            PeerRole::IncomingVoter => PeerRole::Voter,
            PeerRole::DemotingVoter => PeerRole::Learner,
            PeerRole::Voter | PeerRole::Learner => continue,
        };
        peer.role = role as i32;
        count += 1;
    }
    match count {
        0 => Err(Error::InvalidRequest("the region is in no joint state")),
        _ => Ok(at_later_epoch(changed, count)),
    }
}

fn at_later_epoch(mut region: Region, changes: usize) -> Region {
    let epoch = region::epoch(&region);
    region.region_epoch = Some(RegionEpoch { conf_ver: epoch.conf_ver + changes as u64, ..epoch });
    region
}

fn apply(region: &mut Region, change: &ChangePeerRequest, joint: bool) -> Result<()> {
    let Some(peer) = change.peer else { return Err(Error::InvalidRequest("a change of members names no member")) };
    let on_store = region.peers.iter().position(|old| old.store_id == peer.store_id);
    if on_store.is_some_and(|at| region.peers[at].id != peer.id) {
        return Err(Error::InvalidRequest("the store has another replica of the region"));
    }
    let kind = ConfChangeType::try_from(change.change_type).map_err(|_| Error::InvalidRequest("unknown kind of change of members"))?;
    let old_role = on_store.map(|at| region::role(&region.peers[at]));
    let role = match (kind, old_role) {
        (ConfChangeType::AddNode, Some(PeerRole::Voter)) | (ConfChangeType::AddLearnerNode, Some(PeerRole::Learner)) => {
            return Err(Error::InvalidRequest("the member is there already"));
        }
        (ConfChangeType::AddNode, _) if joint => PeerRole::IncomingVoter,
        (ConfChangeType::AddNode, _) => PeerRole::Voter,
        (ConfChangeType::AddLearnerNode, Some(PeerRole::Voter)) if joint => PeerRole::DemotingVoter,
        (ConfChangeType::AddLearnerNode, _) => PeerRole::Learner,
        (ConfChangeType::RemoveNode, Some(PeerRole::Voter)) if joint => {
            return Err(Error::InvalidRequest("a voter is demoted before it is removed"));
        }
        (ConfChangeType::RemoveNode, Some(_)) => {
            region.peers.retain(|old| old.id != peer.id);
            return Ok(());
        }
        (ConfChangeType::RemoveNode, None) => return Err(Error::InvalidRequest("there is no such member")),
    };
    match on_store {
        Some(at) => region.peers[at].role = role as i32,
        None => region.peers.push(Peer { role: role as i32, ..peer }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proto::raft_cmdpb::{AdminCmdType, ChangePeerV2Request};

    use super::*;
    use crate::region::INITIAL_EPOCH;

    fn peer(id: u64, role: PeerRole) -> Peer {
        Peer { id, store_id: id * 10, role: role as i32, ..Default::default() }
    }

    fn region(peers: &[Peer]) -> Region {
        Region { id: 1, region_epoch: Some(INITIAL_EPOCH), peers: peers.to_vec(), ..Default::default() }
    }

    fn request(changes: &[(ConfChangeType, u64)]) -> AdminRequest {
        let changes = changes
            .iter()
            .map(|(kind, id)| ChangePeerRequest { change_type: *kind as i32, peer: Some(peer(*id, PeerRole::Voter)) })
            .collect();
        AdminRequest {
            cmd_type: AdminCmdType::ChangePeerV2 as i32,
            change_peer_v2: Some(ChangePeerV2Request { changes }),
            ..Default::default()
        }
    }

    #[test]
    fn a_voter_is_replaced_through_a_joint_state() {
        use ConfChangeType::{AddLearnerNode, AddNode, RemoveNode};
        let start = region(&[peer(1, PeerRole::Voter), peer(2, PeerRole::Voter), peer(3, PeerRole::Learner)]);
        let joint = change(&start, &request(&[(AddNode, 3), (AddLearnerNode, 2)])).unwrap();
        assert_eq!(joint.peers, [peer(1, PeerRole::Voter), peer(2, PeerRole::DemotingVoter), peer(3, PeerRole::IncomingVoter)]);
        assert_eq!(region::epoch(&joint).conf_ver, 3);
        let left = leave_joint(&joint).unwrap();
        assert_eq!(left.peers, [peer(1, PeerRole::Voter), peer(2, PeerRole::Learner), peer(3, PeerRole::Voter)]);
        let removed = change(&left, &request(&[(RemoveNode, 2)])).unwrap();
        assert_eq!(removed.peers.len(), 2);
        assert_eq!(region::epoch(&removed).conf_ver, 6);
        assert!(leave_joint(&removed).is_err());
    }

    #[test]
    fn changes_that_make_no_sense_are_refused() {
        use ConfChangeType::{AddNode, RemoveNode};
        let start = region(&[peer(1, PeerRole::Voter), peer(2, PeerRole::Voter)]);
        assert!(change(&start, &request(&[(AddNode, 1)])).is_err());
        assert!(change(&start, &request(&[(RemoveNode, 9)])).is_err());
        assert!(change(&start, &request(&[(RemoveNode, 2), (AddNode, 3)])).is_err());
        let same_store = ChangePeerRequest { change_type: AddNode as i32, peer: Some(Peer { id: 9, store_id: 10, ..Default::default() }) };
        let request = AdminRequest { change_peer: Some(same_store), ..Default::default() };
        assert!(change(&start, &request).is_err());
    }
}
