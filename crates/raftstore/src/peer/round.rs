//! One round of a replica: what it wants written, and what may be done before and after that.

use env::Instant;
use prost::Message as _;
use proto::{metapb::Region, raft_serverpb::RaftSnapshotData};
use raft::eraftpb::{Entry, Snapshot};

use super::{ApplyTask, Effects, Peer};
use crate::{Error, Result, entry, log::LogBatch};

impl Peer {
    /// First half: puts entries and hard state into `batch`. True when [`Peer::persisted`] must follow, after the batch was written.
    pub fn collect(&mut self, now: Instant, batch: &mut LogBatch, effects: &mut Effects) -> Result<bool> {
        assert!(self.pending.is_none(), "region {}: a round begins before the last one has ended", self.region_id());
        self.flush_staged(effects);
        self.ask_for_reads(now);
        if self.raw.mut_store().take_wanted_snapshot() {
            effects.apply.push(ApplyTask::MakeSnapshot);
        }
        if !self.raw.has_ready() {
            return Ok(false);
        }
        let mut ready = self.raw.ready();
        self.note_leadership(effects);
        let hard_state = ready.hs().cloned();
        if !ready.snapshot().is_empty() {
            self.begin_install(ready.snapshot(), batch, effects)?;
            // The old hard state went with the log.
            let kept = hard_state.clone().unwrap_or_else(|| self.raw.store().hard_state().clone());
            self.raw.mut_store().put_hard_state(kept, batch);
        } else if let Some(hard_state) = hard_state {
            self.raw.mut_store().put_hard_state(hard_state, batch);
        }
        let entries = ready.take_entries();
        self.log_bytes += entries.iter().map(|entry| entry.data.len() as u64).sum::<u64>();
        self.raw.mut_store().append(entries, batch);
        effects.must_sync |= ready.must_sync();
        self.address(ready.take_messages(), effects);
        self.on_read_states(ready.take_read_states());
        self.hand_to_applier(ready.take_committed_entries(), effects);
        self.pending = Some(ready);
        Ok(true)
    }

    /// Second half: the batch is on disk.
    pub fn persisted(&mut self, effects: &mut Effects) {
        let mut ready = self.pending.take().expect("collect has just said that a round is to be ended");
        let messages = ready.take_persisted_messages();
        let mut light = self.raw.advance_append(ready);
        if let Some(commit) = light.commit_index() {
            self.raw.mut_store().set_commit_index(commit);
        }
        self.address(messages, effects);
        self.address(light.take_messages(), effects);
        self.hand_to_applier(light.take_committed_entries(), effects);
    }

    fn hand_to_applier(&mut self, entries: Vec<Entry>, effects: &mut Effects) {
        if entries.is_empty() {
            return;
        }
        if self.is_leader() {
            // Its parts may have leaders elsewhere, who write, as soon as others have applied it.
            self.splitting = entries.iter().rfind(|entry| entry::is_split(&entry.data)).map(|entry| entry.index).or(self.splitting);
        }
        let proposals = self.complete_proposals(&entries, effects);
        effects.apply.push(ApplyTask::Entries { entries, proposals });
    }

    /// Leadership was won or lost.
    fn note_leadership(&mut self, effects: &mut Effects) {
        let leads = self.is_leader();
        if leads == self.was_leader {
            return;
        }
        self.was_leader = leads;
        self.lease_until = None;
        // A new leader serves nothing before it has applied what was committed before it.
        self.splitting = None;
        effects.report = leads;
        if leads {
            let me = self.peer.id;
            self.silent_ticks = self.region().peers.iter().filter(|peer| peer.id != me).map(|peer| (peer.id, 0)).collect();
        } else {
            // Whether the region is merged is for the next leader to find out.
            self.merging.forget_proposal();
            // Their entries may still be committed by the next leader: it can be asked.
            effects.failed.extend(self.proposals.drain(..).map(|proposal| (proposal.done, Error::StaleCommand)));
            let error = Error::NotLeader { region_id: self.region_id(), leader: self.leader() };
            self.fail_reads(&error, effects);
        }
    }

    fn begin_install(&mut self, snapshot: &Snapshot, batch: &mut LogBatch, effects: &mut Effects) -> Result<()> {
        let metadata = snapshot.get_metadata();
        let region = snapshot_region(self.region_id(), snapshot)?;
        self.raw.mut_store().restart_at(region.clone().into(), metadata.index, metadata.term, batch);
        self.log_bytes = 0;
        self.installing = true;
        // Regions are copied before a merge begins or after it was given up.
        self.merging = Default::default();
        effects.installing = Some(Box::new(region.clone()));
        effects.apply.push(ApplyTask::Install { region: Box::new(region), index: metadata.index, term: metadata.term });
        Ok(())
    }
}

/// The region a snapshot is of.
pub fn snapshot_region(region_id: u64, snapshot: &Snapshot) -> Result<Region> {
    RaftSnapshotData::decode(&snapshot.data[..])
        .ok()
        .and_then(|data| data.region)
        .filter(|region| region.id == region_id)
        .ok_or(Error::Corrupted { what: "snapshot", region_id })
}
