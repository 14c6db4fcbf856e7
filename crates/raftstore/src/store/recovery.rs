//! What a store finds on disk when it starts.
//!
//! | engine says | log says | what happens |
//! |---|---|---|
//! | normal | anything | the replica lives on from its applied index |
//! | applying | older than the snapshot | the log begins anew; the snapshot is put in place again |
//! | tombstone | something | the removal is finished: the log goes |
//! | nothing | a vote | kept: a replica without data has given it and must not give another |

use std::sync::Arc;

use engine::Engine;
use proto::{
    metapb::Region,
    raft_serverpb::{PeerState, RaftApplyState},
};

use super::{RaftStore, cell::PeerMessage};
use crate::{
    ApplyTask, Error, Origin, Result, local_state,
    log::{LogBatch, LogOp},
    region,
};

impl<E: Engine> RaftStore<E> {
    pub(super) fn recover(&self) -> Result<()> {
        let logs = self.inner.log.regions();
        let mut repairs = LogBatch::default();
        let mut living = Vec::new();
        for state in local_state::all_region_states(&self.inner.engine)? {
            let Some(region) = state.region else { continue };
            if state.state == PeerState::Tombstone as i32 {
                if logs.contains(&region.id) {
                    repairs.push(region.id, LogOp::Clean);
                }
                continue;
            }
            let applying = state.state == PeerState::Applying as i32;
            if applying {
                self.repair_log(&region, &mut repairs)?;
            }
            living.push((region, applying));
        }
        if !repairs.is_empty() {
            self.inner.log.write(repairs, true)?;
        }
        let now = self.inner.env.now();
        for (region, applying) in living {
            let me = *region::peer_on_store(&region, self.inner.store_id)
                .ok_or(Error::Corrupted { what: "region state (this store is no member)", region_id: region.id })?;
            // The only member need not wait for anybody's promise to end.
            let origin = if region.peers.len() == 1 { Origin::New } else { Origin::Restarted(now) };
            let alone = region.peers.len() == 1;
            let cell = self.load(me, region.clone(), origin)?;
            if applying {
                let state = self.apply_state(&region)?;
                let (index, term) = (state.applied_index, state.applied_term);
                self.inner.post_tasks(&cell, vec![ApplyTask::Install { region: Box::new(region), index, term }]);
            } else if alone {
                self.inner.post(&cell, PeerMessage::Campaign);
            }
        }
        Ok(())
    }

    fn apply_state(&self, region: &Region) -> Result<RaftApplyState> {
        local_state::apply_state(&self.inner.engine, region.id)?
            .ok_or(Error::Corrupted { what: "apply state (it is missing)", region_id: region.id })
    }

    /// A crash between the note that a snapshot is put in place and the new log leaves the old log behind.
    fn repair_log(&self, region: &Region, repairs: &mut LogBatch) -> Result<()> {
        let state = self.apply_state(region)?;
        let last = self.inner.log.bounds(region.id).map_or(0, |(_, last)| last);
        let mut hard_state = self.inner.log.hard_state(region.id)?.unwrap_or_default();
        if hard_state.commit >= state.applied_index && (last == 0 || last >= state.applied_index) {
            return Ok(());
        }
        if hard_state.term < state.applied_term {
            hard_state.term = state.applied_term;
            hard_state.vote = 0;
        }
        hard_state.commit = state.applied_index;
        repairs.push(region.id, LogOp::Clean);
        repairs.push(region.id, LogOp::HardState(hard_state));
        Ok(())
    }

    /// The replicas on this store, for the status page and tests.
    pub fn region_ids(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.inner.cells.read().keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Settings of replication.
    pub fn config(&self) -> &Arc<crate::Config> {
        &self.inner.config
    }
}
