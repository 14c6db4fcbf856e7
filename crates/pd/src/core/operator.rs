//! Operators: what is to happen with one region, step by step.
//!
//! | operator | steps |
//! |---|---|
//! | add a replica | add learner, promote |
//! | move a replica | add learner, promote, (transfer leader,) remove peer |
//! | move the leader | transfer leader |
//! | split | split |
//! | merge, of the source | (moves to the target's stores,) merge |
//! | merge, of the target | wait until it holds the source |
//!
//! A new replica is a learner until it has the data: a region never counts on a voter that has nothing. One replica is added before another
//! is removed. The leader of the region carries an order out only at the epoch it was made for, so a late or repeated order does no harm.

use std::time::Duration;

use bytes::Bytes;
use env::Instant;
use proto::{
    eraftpb::ConfChangeType,
    metapb::{Peer, PeerRole, Region},
    pdpb::{ChangePeer, ChangePeerV2, CheckPolicy, Merge, RegionHeartbeatResponse, SplitRegion, TransferLeader},
};

use super::region::RegionInfo;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make a replica that does not vote.
    AddLearner(Peer),
    /// Let a replica vote.
    Promote(Peer),
    /// Remove a replica.
    RemovePeer(Peer),
    /// Let the replica on a store lead.
    TransferLeader {
        /// Who led when the operator was made.
        from_store: u64,
        /// Who shall lead.
        to_store: u64,
    },
    /// End a joint change of membership that somebody left unfinished.
    LeaveJoint,
    /// Split at keys.
    Split {
        /// The keys; none to let the store choose by size.
        keys: Vec<Bytes>,
        /// Version of the region before.
        version: u64,
    },
    /// Become a part of another region. The region's heartbeats cannot say that it has: the target's do, and end both operators.
    MergeInto {
        /// The target as it was when the operator was made; the order is void when it has changed.
        target: Region,
    },
    /// Take over another region, which nobody has to be told.
    Absorb {
        /// The region that becomes a part of this one.
        source: Region,
    },
}

impl Step {
    /// Whether the region shows that the step is done.
    pub fn is_done(&self, region: &RegionInfo) -> bool {
        match self {
            Self::AddLearner(peer) => region.peer_on(peer.store_id).is_some_and(|found| found.id == peer.id && !region.is_pending(peer.id)),
            Self::Promote(peer) => {
                region.peer_on(peer.store_id).is_some_and(|found| found.id == peer.id && found.role() == PeerRole::Voter)
            }
            Self::RemovePeer(peer) => region.peer_on(peer.store_id).is_none_or(|found| found.id != peer.id),
            Self::TransferLeader { to_store, .. } => region.leader_store() == *to_store,
            Self::LeaveJoint => !region.in_joint_state(),
            Self::Split { version, .. } => region.epoch().version > *version,
            Self::MergeInto { .. } => false,
            Self::Absorb { source } => region.contains(&source.start_key),
        }
    }

    /// What to tell the region's leader, if anything: some steps only need time.
    pub fn order(&self, region: &RegionInfo) -> Option<RegionHeartbeatResponse> {
        let mut order = RegionHeartbeatResponse {
            region_id: region.id(),
            region_epoch: region.meta.region_epoch,
            target_peer: region.leader,
            ..RegionHeartbeatResponse::default()
        };
        let change = |peer: &Peer, role: PeerRole, kind: ConfChangeType| ChangePeer {
            peer: Some(Peer { role: role as i32, ..*peer }),
            change_type: kind as i32,
        };
        match self {
            // It is there and still catching up.
            Self::AddLearner(peer) if region.peer_on(peer.store_id).is_some() => return None,
            Self::AddLearner(peer) => order.change_peer = Some(change(peer, PeerRole::Learner, ConfChangeType::AddLearnerNode)),
            Self::Promote(peer) => order.change_peer = Some(change(peer, PeerRole::Voter, ConfChangeType::AddNode)),
            Self::RemovePeer(peer) => {
                let found = region.peer_on(peer.store_id)?;
                order.change_peer = Some(change(peer, found.role(), ConfChangeType::RemoveNode));
            }
            Self::TransferLeader { to_store, .. } => {
                let to = region.peer_on(*to_store).filter(|peer| peer.role() == PeerRole::Voter)?;
                order.transfer_leader = Some(TransferLeader { peer: Some(*to), peers: Vec::new() });
            }
            Self::LeaveJoint => order.change_peer_v2 = Some(ChangePeerV2::default()),
            Self::Split { keys, .. } => {
                let policy = if keys.is_empty() { CheckPolicy::Approximate } else { CheckPolicy::Usekey };
                order.split_region = Some(SplitRegion { policy: policy as i32, keys: keys.clone() });
            }
            Self::MergeInto { target } => order.merge = Some(Merge { target: Some(target.clone()) }),
            Self::Absorb { .. } => return None,
        }
        Some(order)
    }

    /// Whether the step changes the membership, or the version of it as a merge does that begins.
    pub fn changes_membership(&self) -> bool {
        matches!(self, Self::AddLearner(_) | Self::Promote(_) | Self::RemovePeer(_) | Self::LeaveJoint | Self::MergeInto { .. })
    }

    /// How long it may take: a new replica must be given its data.
    pub fn patience(&self) -> Duration {
        match self {
            Self::AddLearner(_) => Duration::from_secs(600),
            // The source may be moved first.
            Self::Absorb { .. } => Duration::from_secs(3600),
            _ => Duration::from_secs(60),
        }
    }
}

/// What an operator is for; limits are counted by it. Later ones go before earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperatorKind {
    /// Balance of leaders.
    Leader,
    /// Balance of replicas.
    Region,
    /// Balance of load.
    HotRegion,
    /// Small regions become parts of their neighbours.
    Merge,
    /// Replicas that are missing, too many or badly placed.
    Replica,
    /// Somebody asked for it.
    Admin,
}

impl OperatorKind {
    /// The name operators know.
    pub fn name(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Region => "region",
            Self::HotRegion => "hot-region",
            Self::Merge => "merge",
            Self::Replica => "replica",
            Self::Admin => "admin",
        }
    }
}

/// What is to happen with a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// The region.
    pub region_id: u64,
    /// What for.
    pub kind: OperatorKind,
    /// In words.
    pub description: &'static str,
    /// The region's epoch when it was made.
    pub conf_ver: u64,
    /// The steps.
    pub steps: Vec<Step>,
    /// The step under way.
    pub at: usize,
    /// Weight of the region in mebibytes.
    pub weight: u64,
    /// When the step under way began.
    pub step_since: Instant,
    /// When the order was sent last.
    pub sent: Option<Instant>,
    /// The other region of a merge: both operators end together.
    pub partner: Option<u64>,
}

impl Operator {
    /// An operator that is about to begin.
    pub fn new(region: &RegionInfo, kind: OperatorKind, description: &'static str, steps: Vec<Step>, now: Instant) -> Self {
        Self {
            region_id: region.id(),
            kind,
            description,
            conf_ver: region.epoch().conf_ver,
            steps,
            at: 0,
            weight: region.weight(),
            step_since: now,
            sent: None,
            partner: None,
        }
    }

    /// The same as one half of a merge.
    pub fn with_partner(self, region_id: u64) -> Self {
        Self { partner: Some(region_id), ..self }
    }

    /// Goes past the steps that are done; the order for the next one is due then.
    pub fn advance(&mut self, region: &RegionInfo, now: Instant) {
        while self.steps.get(self.at).is_some_and(|step| step.is_done(region)) {
            self.at += 1;
            self.step_since = now;
            self.sent = None;
        }
    }

    /// Whether all steps are done.
    pub fn is_finished(&self) -> bool {
        self.at >= self.steps.len()
    }

    /// Whether somebody else changed the membership meanwhile: more changes than the steps so far can have made.
    pub fn is_overtaken(&self, region: &RegionInfo) -> bool {
        let own = self.steps.iter().take(self.at + 1).filter(|step| step.changes_membership()).count() as u64;
        region.epoch().conf_ver > self.conf_ver + own
    }

    /// Whether the step under way takes too long.
    pub fn is_late(&self, now: Instant) -> bool {
        self.steps.get(self.at).is_some_and(|step| now.since(self.step_since) > step.patience())
    }

    /// Steps that are not done.
    pub fn remaining(&self) -> &[Step] {
        &self.steps[self.at.min(self.steps.len())..]
    }

    /// Stores that get a replica, or lose one.
    pub fn touched_stores(&self) -> impl Iterator<Item = u64> {
        self.steps.iter().filter_map(|step| match step {
            Step::AddLearner(peer) | Step::RemovePeer(peer) => Some(peer.store_id),
            _ => None,
        })
    }
}

/// The steps that bring a region onto `stores`, led by `leader` (or by whoever may when it is `None`). New replicas take their ids from
/// `next_id`. `None` when there are no more ids.
pub fn steps_to(region: &RegionInfo, stores: &[u64], leader: Option<u64>, mut next_id: impl FnMut() -> Option<u64>) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let from_store = region.leader_store();
    let mut removed: Vec<Peer> = region.meta.peers.iter().filter(|peer| !stores.contains(&peer.store_id)).copied().collect();
    // The leader goes last: until then it leads the changes.
    removed.sort_by_key(|peer| peer.store_id == from_store);
    let mut removed = removed.into_iter().peekable();
    for store_id in stores {
        match region.peer_on(*store_id) {
            Some(peer) if peer.role() == PeerRole::Learner => steps.push(Step::Promote(Peer { role: PeerRole::Voter as i32, ..*peer })),
            Some(_) => {}
            None => {
                let peer = Peer { id: next_id()?, store_id: *store_id, ..Peer::default() };
                steps.push(Step::AddLearner(Peer { role: PeerRole::Learner as i32, ..peer }));
                steps.push(Step::Promote(peer));
                if removed.peek().is_some_and(|peer| peer.store_id != from_store) {
                    steps.extend(removed.next().map(Step::RemovePeer));
                }
            }
        }
    }
    let staying = stores.contains(&from_store);
    let to_store = leader.or(if staying {
        None
    } else {
        stores.iter().copied().find(|store| region.peer_on(*store).is_none()).or(stores.first().copied())
    });
    if let Some(to_store) = to_store.filter(|to_store| *to_store != from_store) {
        steps.push(Step::TransferLeader { from_store, to_store });
    }
    steps.extend(removed.map(Step::RemovePeer));
    Some(steps)
}

#[cfg(test)]
mod tests {
    use proto::metapb::{Region, RegionEpoch};

    use super::*;

    fn region(stores: &[u64]) -> RegionInfo {
        let peers: Vec<Peer> = stores.iter().map(|store_id| Peer { id: 10 + store_id, store_id: *store_id, ..Peer::default() }).collect();
        let leader = peers.first().copied();
        let meta = Region { id: 1, region_epoch: Some(RegionEpoch { conf_ver: 3, version: 1 }), peers, ..Region::default() };
        RegionInfo { meta, leader, ..RegionInfo::default() }
    }

    fn names(steps: &[Step]) -> Vec<String> {
        let name = |step: &Step| match step {
            Step::AddLearner(peer) => format!("add {}", peer.store_id),
            Step::Promote(peer) => format!("promote {}", peer.store_id),
            Step::RemovePeer(peer) => format!("remove {}", peer.store_id),
            Step::TransferLeader { to_store, .. } => format!("lead {to_store}"),
            other => format!("{other:?}"),
        };
        steps.iter().map(name).collect()
    }

    #[test]
    fn replicas_are_added_before_others_go_and_the_leader_goes_last() {
        let mut ids = 100..;
        let steps = steps_to(&region(&[1, 2, 3]), &[2, 4, 5], None, || ids.next()).unwrap();
        assert_eq!(names(&steps), ["add 4", "promote 4", "remove 3", "add 5", "promote 5", "lead 4", "remove 1"]);
        assert_eq!(names(&steps_to(&region(&[1, 2, 3]), &[1, 2, 3], Some(2), || None).unwrap()), ["lead 2"]);
        assert_eq!(steps_to(&region(&[1]), &[1, 2], None, || None), None);
    }

    #[test]
    fn an_operator_notices_that_others_changed_the_membership() {
        let before = region(&[1, 2, 3]);
        let mut ids = 100..;
        let steps = steps_to(&before, &[2, 3, 4], None, || ids.next()).unwrap();
        let operator = Operator::new(&before, OperatorKind::Region, "test", steps, Instant::default());
        let mut after = before.clone();
        after.meta.region_epoch = Some(RegionEpoch { conf_ver: 4, version: 1 });
        assert!(!operator.is_overtaken(&after), "its own first step");
        after.meta.region_epoch = Some(RegionEpoch { conf_ver: 5, version: 1 });
        assert!(operator.is_overtaken(&after));
    }
}
