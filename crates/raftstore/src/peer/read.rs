//! Reads that are exact: under the leader's lease, or after a majority has said that it still leads (ReadIndex).
//!
//! ```text
//!   read asked ──▶ lease good? ──yes──▶ serve
//!                     │ no
//!                     ▼
//!   note the time t, ask all members ──▶ a majority answers: nobody else led at t ──▶ lease := t + its length
//!                                                                     └──▶ applied up to the commit index of t? ──▶ serve
//! ```
//!
//! Everybody who asks in one round shares the question.

use std::collections::VecDeque;

use env::Instant;
use raft::ReadState;

use super::{Effects, Peer};
use crate::{Error, Result};

/// Told when a read may go on: the term the answer is good for.
pub type ReadDone = Box<dyn FnOnce(Result<u64>) + Send>;

struct Asked {
    id: u64,
    asked_at: Instant,
    /// Commit index at the time of asking, once a majority has answered.
    index: Option<u64>,
    readers: Vec<ReadDone>,
}

/// Readers that wait.
#[derive(Default)]
pub(super) struct Reads {
    gathering: Vec<ReadDone>,
    asked: VecDeque<Asked>,
    next_id: u64,
    /// A question whose only purpose is a longer lease is asked once at a time.
    renewing: bool,
}

impl Peer {
    /// Whether this leader has applied all that was committed before its term.
    fn check_leads(&self) -> Result<()> {
        if !self.is_leader() {
            return Err(Error::NotLeader { region_id: self.region_id(), leader: self.leader() });
        }
        if self.is_merging() {
            return Err(Error::Merging(self.region_id()));
        }
        if !self.raw.raft.commit_to_current_term() {
            return Err(Error::ReadIndexNotReady(self.region_id()));
        }
        Ok(())
    }

    /// Tells `done` when a read of the applied state is exact.
    pub fn read(&mut self, now: Instant, done: ReadDone, effects: &mut Effects) {
        self.rest.wake();
        if let Err(error) = self.check_leads() {
            effects.failed_reads.push((done, error));
            return;
        }
        if self.view().lease_until.is_some_and(|until| now < until) {
            done(Ok(self.term()));
            return;
        }
        self.reads.gathering.push(done);
    }

    /// Lengthens the lease before it ends, for a region that is read and not written.
    pub fn renew_lease_early(&mut self) {
        if self.check_leads().is_ok() && !self.reads.renewing {
            self.rest.wake();
            self.reads.renewing = true;
            self.reads.gathering.push(Box::new(|_| {}));
        }
    }

    /// Asks all members for those who gathered.
    pub(super) fn ask_for_reads(&mut self, now: Instant) {
        if self.reads.gathering.is_empty() {
            return;
        }
        self.reads.next_id += 1;
        let id = self.reads.next_id;
        let readers = std::mem::take(&mut self.reads.gathering);
        self.reads.asked.push_back(Asked { id, asked_at: now, index: None, readers });
        self.raw.read_index(id.to_be_bytes().to_vec());
    }

    /// A majority has answered questions.
    pub(super) fn on_read_states(&mut self, states: Vec<ReadState>) {
        for state in states {
            let Ok(id) = <[u8; 8]>::try_from(&state.request_ctx[..]).map(u64::from_be_bytes) else { continue };
            let mut asked_at = None;
            // An answer to a question answers those asked before it too.
            for asked in self.reads.asked.iter_mut().take_while(|asked| asked.id <= id) {
                asked.index.get_or_insert(state.index);
                asked_at = Some(asked.asked_at);
            }
            if let Some(asked_at) = asked_at {
                self.renew_lease(self.term(), asked_at);
            }
        }
        self.serve_reads();
    }

    /// Lets readers go on whose index has been applied.
    pub(super) fn serve_reads(&mut self) {
        let (applied, term) = (self.applied_index(), self.term());
        while self.reads.asked.front().is_some_and(|asked| asked.index.is_some_and(|index| index <= applied)) {
            let Some(asked) = self.reads.asked.pop_front() else { break };
            self.reads.renewing = false;
            asked.readers.into_iter().for_each(|done| done(Ok(term)));
        }
    }

    pub(super) fn fail_reads(&mut self, error: &Error, effects: &mut Effects) {
        let waiting = self.reads.asked.drain(..).flat_map(|asked| asked.readers).chain(self.reads.gathering.drain(..));
        effects.failed_reads.extend(waiting.map(|done| (done, error.clone())));
        self.reads.renewing = false;
    }

    /// A majority has heard from this leader after `from`.
    pub(super) fn renew_lease(&mut self, term: u64, from: Instant) {
        if self.is_leader() && !self.is_merging() && term == self.term() && self.raw.raft.lead_transferee.is_none() {
            let until = from + self.config.lease;
            self.lease_until = Some(self.lease_until.map_or(until, |old| old.max(until)));
        }
    }
}
