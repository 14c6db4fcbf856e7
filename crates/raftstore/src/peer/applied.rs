//! What applied entries change in a replica: its region, its members, its log.

use std::sync::Arc;

use proto::{metapb::Region, raft_serverpb::MergeState};
use raft::eraftpb::ConfChangeV2;

use super::{Effects, Peer, SplitFrom};
use crate::{Result, apply::CatchUp, region};

/// A change that an entry of the log has made.
#[derive(Clone, Debug)]
pub enum RegionChange {
    /// Other members, or other roles of theirs.
    Members {
        /// The region with its new members.
        region: Region,
        /// The change as the consensus library knows it.
        change: ConfChangeV2,
    },
    /// The region is now several; `derived` has kept its id.
    Split {
        /// All of them, in the order of their keys.
        regions: Vec<Region>,
        /// Which of them this replica belongs to.
        derived: usize,
    },
    /// The region is to become a part of another one, and serves nothing until it has, or will not.
    PrepareMerge {
        /// The region at its new epoch.
        region: Region,
        /// What it is to become a part of, and where in its log that was said.
        state: MergeState,
    },
    /// The region has taken over another one.
    CommitMerge {
        /// The region with its new borders.
        region: Region,
        /// The region that is no more.
        source_id: u64,
    },
    /// The region stays what it was.
    RollbackMerge {
        /// The region at its new epoch.
        region: Region,
    },
    /// The log begins behind this entry now.
    LogCut {
        /// The last entry cut off.
        index: u64,
        /// Its term.
        term: u64,
    },
}

/// What an applier has done.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// The last entry applied.
    pub index: u64,
    /// Changes of the region, in order.
    pub changes: Vec<RegionChange>,
    /// Bytes written to the engine.
    pub written_bytes: u64,
    /// Keys written to the engine.
    pub written_keys: u64,
    /// The next entry waits for a replica of another region on this store.
    pub waits_for: Option<CatchUp>,
}

impl Peer {
    /// Entries have been applied.
    pub fn on_applied(&mut self, applied: Applied, effects: &mut Effects) -> Result<()> {
        self.rounds_heard_of += 1;
        // A cut of the log may be of entries that were applied with it.
        self.raw.mut_store().set_applied_index(applied.index);
        for change in applied.changes {
            match change {
                RegionChange::Members { region, change } => self.on_members_changed(region, &change, effects)?,
                RegionChange::Split { regions, derived } => self.on_split(regions, derived, effects),
                RegionChange::PrepareMerge { region, state } => self.on_merge_prepared(region, state, effects),
                RegionChange::CommitMerge { region, source_id } => {
                    self.raw.mut_store().set_region(Arc::new(region));
                    effects.merged.push(source_id);
                    (effects.report, effects.check_size) = (self.is_leader(), self.is_leader());
                }
                RegionChange::RollbackMerge { region } => self.on_merge_rolled_back(region, effects),
                RegionChange::LogCut { index, term } => self.on_log_cut(index, term, effects),
            }
        }
        self.merging.on_applied(applied.index);
        self.splitting = self.splitting.filter(|index| *index > applied.index);
        self.raw.advance_apply_to(applied.index);
        self.written.written_bytes += applied.written_bytes;
        self.written.written_keys += applied.written_keys;
        self.size_hint += applied.written_bytes;
        if self.is_leader() && self.size_hint > self.config.region_split_bytes / 16 {
            self.size_hint = 0;
            effects.check_size = true;
        }
        self.serve_reads();
        Ok(())
    }

    fn on_members_changed(&mut self, region: Region, change: &ConfChangeV2, effects: &mut Effects) -> Result<()> {
        self.raw.apply_conf_change(change)?;
        match region::peer(&region, self.peer.id) {
            Some(me) => self.peer = *me,
            None => {
                self.removed = true;
                effects.destroyed = true;
            }
        }
        self.silent_ticks.retain(|id, _| region::peer(&region, *id).is_some());
        if self.is_leader() {
            for peer in region.peers.iter().filter(|peer| peer.id != self.peer.id) {
                self.silent_ticks.entry(peer.id).or_insert(0);
            }
            effects.report = true;
        }
        self.raw.mut_store().set_region(region.into());
        Ok(())
    }

    fn on_split(&mut self, mut regions: Vec<Region>, derived: usize, effects: &mut Effects) {
        let own = regions.remove(derived);
        let split_from = SplitFrom { region_id: own.id, term: self.term(), version: region::epoch(&own).version };
        self.raw.mut_store().set_region(own.into());
        effects.created_under = self.is_leader().then_some(split_from);
        effects.report = self.is_leader();
        effects.created.extend(regions);
        // Each part gets its share; the size is measured again before long.
        self.size_hint = 0;
    }

    fn on_log_cut(&mut self, index: u64, term: u64, effects: &mut Effects) {
        let before = self.raw.store().truncated_index();
        if index <= before {
            return;
        }
        let length = self.last_index().saturating_sub(before).max(1);
        // Entries are taken to be of one size: the figure only says when the log is long.
        self.log_bytes -= self.log_bytes / length * (index - before).min(length);
        self.raw.mut_store().set_truncated(index, term);
        effects.log_cut = Some(index + 1);
    }

    /// Whether the next round begins to put a snapshot in place.
    pub fn has_snapshot(&self) -> bool {
        self.raw.snap().is_some_and(|snapshot| !snapshot.is_empty())
    }

    /// How often it has heard of entries applied.
    pub fn rounds_heard_of(&self) -> u64 {
        self.rounds_heard_of
    }

    /// A snapshot has taken the place of the region's data.
    pub fn on_installed(&mut self, index: u64, effects: &mut Effects) {
        if let Some(me) = region::peer(self.region(), self.peer.id) {
            self.peer = *me;
        }
        self.installing = false;
        self.raw.advance_apply_to(index);
        effects.report = self.is_leader();
    }
}
