//! Operators that are under way: at most one a region, as many of a kind as the limits allow.
//!
//! Invariants:
//! - A region has one operator at most; one of a later [`OperatorKind`] takes the place of an earlier.
//! - The two operators of a merge end together, in the same way.
//! - The sums of what operators will bring to and take from stores are those of the steps not done.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    time::Duration,
};

use env::Instant;
use proto::pdpb::{OperatorStatus, RegionHeartbeatResponse};

use super::{
    config::ScheduleConfig,
    operator::{Operator, OperatorKind, Step},
    region::RegionInfo,
};

/// An order that had no effect is sent again after this.
const RESEND_AFTER: Duration = Duration::from_secs(5);
/// How many operators that ended are remembered.
const REMEMBERED: usize = 4096;

/// What operators under way will do to a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Influence {
    /// Leaders it will gain.
    pub leaders: i64,
    /// Weight it will gain.
    pub weight: i64,
}

/// How an operator ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// In words.
    pub description: &'static str,
    /// What it was for.
    pub kind: OperatorKind,
    /// How.
    pub status: OperatorStatus,
}

/// Operators by region.
#[derive(Debug, Default)]
pub struct Controller {
    running: BTreeMap<u64, Operator>,
    ended: HashMap<u64, Ended>,
    ended_order: VecDeque<u64>,
}

impl Controller {
    /// How many of a kind may be under way.
    fn limit(kind: OperatorKind, config: &ScheduleConfig) -> u64 {
        match kind {
            OperatorKind::Leader => config.leader_schedule_limit,
            OperatorKind::Region => config.region_schedule_limit,
            OperatorKind::HotRegion => config.hot_region_schedule_limit,
            OperatorKind::Merge => config.merge_schedule_limit,
            OperatorKind::Replica => config.replica_schedule_limit,
            OperatorKind::Admin => u64::MAX,
        }
    }

    /// Whether another operator of a kind may begin.
    pub fn has_room(&self, kind: OperatorKind, config: &ScheduleConfig) -> bool {
        (self.running.values().filter(|operator| operator.kind == kind).count() as u64) < Self::limit(kind, config)
    }

    /// Whether a region has no operator that goes before one of a kind.
    pub fn is_free_for(&self, region_id: u64, kind: OperatorKind) -> bool {
        self.running.get(&region_id).is_none_or(|running| running.kind < kind)
    }

    /// Begins an operator; `false` when the region has one that goes before it.
    pub fn begin(&mut self, operator: Operator) -> bool {
        if !self.is_free_for(operator.region_id, operator.kind) {
            return false;
        }
        if self.running.contains_key(&operator.region_id) {
            self.end(operator.region_id, OperatorStatus::Replace);
        }
        self.running.insert(operator.region_id, operator);
        true
    }

    /// Ends an operator; whether there was one.
    pub fn end(&mut self, region_id: u64, status: OperatorStatus) -> bool {
        let Some(operator) = self.running.remove(&region_id) else { return false };
        tracing::debug!(region_id, description = operator.description, ?status, "an operator ended");
        if self.ended.insert(region_id, Ended { description: operator.description, kind: operator.kind, status }).is_none() {
            self.ended_order.push_back(region_id);
        }
        if self.ended_order.len() > REMEMBERED
            && let Some(oldest) = self.ended_order.pop_front()
        {
            self.ended.remove(&oldest);
        }
        if let Some(partner) =
            operator.partner.filter(|partner| self.running.get(partner).is_some_and(|other| other.partner == Some(region_id)))
        {
            self.end(partner, status);
        }
        true
    }

    /// Takes in how a region looks now; the order that is due, if one is.
    pub fn on_region(&mut self, region: &RegionInfo, now: Instant) -> Option<RegionHeartbeatResponse> {
        let operator = self.running.get_mut(&region.id())?;
        operator.advance(region, now);
        let status = if operator.is_finished() {
            OperatorStatus::Success
        } else if operator.is_overtaken(region) {
            OperatorStatus::Cancel
        } else if operator.is_late(now) {
            OperatorStatus::Timeout
        } else {
            operator.sent = Some(now);
            return operator.steps[operator.at].order(region);
        };
        self.end(region.id(), status);
        None
    }

    /// Regions whose order is to be sent (again), or whose operator takes too long.
    pub fn due(&self, now: Instant) -> Vec<u64> {
        let due = |operator: &&Operator| operator.is_late(now) || operator.sent.is_none_or(|sent| now.since(sent) >= RESEND_AFTER);
        self.running.values().filter(due).map(|operator| operator.region_id).collect()
    }

    /// A region's operator.
    pub fn of(&self, region_id: u64) -> Option<&Operator> {
        self.running.get(&region_id)
    }

    /// How a region's last operator ended.
    pub fn ended(&self, region_id: u64) -> Option<&Ended> {
        self.ended.get(&region_id)
    }

    /// All operators under way.
    pub fn iter(&self) -> impl Iterator<Item = &Operator> {
        self.running.values()
    }

    /// What will come to and go from each store.
    pub fn influence(&self) -> HashMap<u64, Influence> {
        let mut sums: HashMap<u64, Influence> = HashMap::new();
        for operator in self.running.values() {
            let weight = operator.weight as i64;
            for step in operator.remaining() {
                match step {
                    Step::AddLearner(peer) => sums.entry(peer.store_id).or_default().weight += weight,
                    Step::RemovePeer(peer) => sums.entry(peer.store_id).or_default().weight -= weight,
                    Step::TransferLeader { from_store, to_store } => {
                        sums.entry(*from_store).or_default().leaders -= 1;
                        sums.entry(*to_store).or_default().leaders += 1;
                    }
                    Step::Promote(_) | Step::LeaveJoint | Step::Split { .. } | Step::MergeInto { .. } | Step::Absorb { .. } => {}
                }
            }
        }
        sums
    }
}
