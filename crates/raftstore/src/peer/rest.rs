//! Rest: a region with nothing to do stops ticking on all its stores, so that a store with many idle regions costs nothing.
//!
//! ```text
//!   leader: idle long enough, everybody has everything ──HibernateRequest──▶ followers
//!           all have agreed: rests                      ◀──HibernateResponse── they agree and rest, if they see it alike
//!   anything that happens on a member wakes it; a leader that wakes sends, and so wakes the others
//!   a follower that is asked for something wakes everybody: if the leader is gone, an election follows
//! ```
//!
//! Resting members keep their leader and their clock stands still, so nobody votes for another and a lease is never longer than it was
//! promised: the lease itself is counted in time, not in ticks.

use proto::{
    metapb,
    raft_serverpb::{ExtraMessage, ExtraMessageType},
};
use raft::eraftpb::{Message, MessageType};
use rustc_hash::FxHashSet;

use super::{Effects, Peer};

#[derive(Debug, Default)]
pub(super) struct Rest {
    idle_ticks: usize,
    resting: bool,
    /// Followers that agree; of a leader that wants to rest.
    agreed: FxHashSet<u64>,
}

impl Rest {
    pub(super) fn is_resting(&self) -> bool {
        self.resting
    }

    /// Something happens here.
    pub(super) fn wake(&mut self) {
        self.idle_ticks = 0;
        self.resting = false;
        self.agreed.clear();
    }

    /// A message of the consensus has come. Heartbeats belong to being idle; they keep a resting member awake, though.
    pub(super) fn on_message(&mut self, message: &Message) {
        match message.get_msg_type() {
            MessageType::MsgHeartbeat | MessageType::MsgHeartbeatResponse if message.context.is_empty() => self.resting = false,
            _ => self.wake(),
        }
    }
}

impl Peer {
    /// Whether the replica does not need ticks.
    pub fn is_resting(&self) -> bool {
        self.rest.is_resting()
    }

    /// Somebody asks this follower for something: if the leader lives, it will be heard of; if not, it is time for an election.
    pub fn wake_everybody(&mut self, effects: &mut Effects) {
        if self.rest.is_resting() {
            self.rest.wake();
            self.tell_others(ExtraMessageType::MsgRegionWakeUp, effects);
        }
    }

    pub(super) fn tick_rest(&mut self, effects: &mut Effects) {
        let after = self.config.hibernate_after_ticks;
        if after == 0 || !self.is_leader() || self.is_merging() {
            return;
        }
        self.rest.idle_ticks += 1;
        if self.rest.idle_ticks < after || !self.everybody_has_everything() {
            return;
        }
        let others = self.region().peers.len() - 1;
        if self.rest.agreed.len() >= others {
            self.rest.resting = true;
            // The last heartbeat may have woken somebody who had agreed.
            self.tell_others(ExtraMessageType::MsgHibernateRequest, effects);
        } else if (self.rest.idle_ticks - after).is_multiple_of(self.config.heartbeat_ticks) {
            self.tell_others(ExtraMessageType::MsgHibernateRequest, effects);
        }
    }

    fn everybody_has_everything(&self) -> bool {
        let raft = &self.raw.raft;
        let last = raft.raft_log.last_index();
        self.applied_index() == last
            && raft.raft_log.committed == last
            && raft.commit_to_current_term()
            && raft.lead_transferee.is_none()
            && !crate::region::in_joint_state(self.region())
            && raft.prs().iter().all(|(_, progress)| progress.matched == last)
    }

    pub(super) fn tell_others(&self, kind: ExtraMessageType, effects: &mut Effects) {
        let others = self.region().peers.iter().filter(|peer| peer.id != self.peer.id);
        effects.messages.extend(others.map(|peer| self.extra(*peer, kind)));
    }

    pub(super) fn step_extra(&mut self, extra: ExtraMessage, from: Option<metapb::Peer>, effects: &mut Effects) {
        let Some(from) = from else { return };
        match ExtraMessageType::try_from(extra.r#type) {
            Ok(ExtraMessageType::MsgHibernateRequest) => {
                // Only who follows this very leader, and has applied what it has, agrees.
                let follows = self.raw.raft.leader_id == from.id && !self.is_leader();
                if follows && self.applied_index() == self.last_index() && !self.is_merging() {
                    self.rest.resting = true;
                    effects.messages.push(self.extra(from, ExtraMessageType::MsgHibernateResponse));
                }
            }
            Ok(ExtraMessageType::MsgHibernateResponse) if self.is_leader() && self.rest.idle_ticks >= self.config.hibernate_after_ticks => {
                self.rest.agreed.insert(from.id);
            }
            Ok(ExtraMessageType::MsgRegionWakeUp) => {
                self.rest.wake();
                if self.is_leader() {
                    self.raw.ping();
                }
            }
            _ => {}
        }
    }
}
