//! One request to one region, and what is learnt when it is not served.

use std::{sync::Arc, time::Duration};

use proto::{errorpb, metapb::Peer};

use super::{ClusterStore, command::Command, patience::Patience, region_cache::Region};
use crate::error::{Error, Result};

/// After so many failures the placement driver is asked again, whatever the members say.
const LOOK_UP_EVERY: u32 = 4;
/// How long a request waits for a leader whose disk is not full: longer than the placement driver needs to choose one.
const FULL_DISK_PATIENCE: Duration = Duration::from_secs(8);
const FULL_DISK_PAUSE: Duration = Duration::from_millis(250);

/// Whether a write that met this error may have been proposed, and may be carried out yet.
fn may_have_happened(error: &errorpb::Error) -> bool {
    error.stale_command.is_some() || error.undetermined_result.is_some()
}

impl ClusterStore {
    /// Sends a request to a region. `None`: it was not served; what is known of regions has been put right, the pause was made, and the caller
    /// looks up again where its keys lie.
    pub(super) async fn send<C: Command>(
        &self,
        region: &Arc<Region>,
        mut request: C,
        patience: &mut Patience,
    ) -> Result<Option<C::Answer>> {
        let context = request.context();
        context.region_id = region.id;
        context.region_epoch = Some(region.epoch);
        context.peer = Some(region.leader);
        context.is_retry_request = patience.attempts() > 0;
        let store_id = region.leader.store_id;
        let connection = match self.inner.stores.connection(store_id).await {
            Ok(connection) => connection,
            Err(Error::StoreUnavailable { reason, .. }) => {
                self.inner.regions.write().remove_state(region);
                patience.pause(Duration::ZERO, &reason).await?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        match request.call(connection).await {
            Ok(mut answer) => match C::region_error(&mut answer) {
                None => Ok(Some(answer)),
                Some(error) => {
                    self.heed(region, *error, patience).await?;
                    Ok(None)
                }
            },
            Err(status) => {
                // Whether the request has left this process is not known.
                patience.note_unanswered();
                self.inner.stores.forget(store_id);
                // One request that takes too long says nothing about others.
                if status.code() != tonic::Code::DeadlineExceeded {
                    self.inner.regions.write().leave_store(store_id);
                }
                self.try_another_member(region, patience);
                let reason = format!("store {store_id} did not answer: {}", status.message());
                tracing::debug!(region = region.id, reason, "asking again");
                patience.pause(Duration::ZERO, &reason).await?;
                Ok(None)
            }
        }
    }

    fn try_another_member(&self, region: &Region, patience: &Patience) {
        let mut regions = self.inner.regions.write();
        match patience.attempts() % LOOK_UP_EVERY == LOOK_UP_EVERY - 1 {
            true => regions.remove_state(region),
            false => regions.ask_next_member(region),
        }
    }

    /// Learns from a region error, and rests where that helps.
    async fn heed(&self, region: &Arc<Region>, error: errorpb::Error, patience: &mut Patience) -> Result<()> {
        let reason = format!("region {}: {}", region.id, error.message);
        tracing::debug!(reason, "not served");
        if may_have_happened(&error) {
            patience.note_unanswered();
        }
        if let Some(not_leader) = error.not_leader {
            return self.heed_not_leader(region, not_leader.leader.as_ref(), patience, &reason).await;
        }
        if let Some(changed) = error.epoch_not_match {
            return self.heed_new_regions(region, changed.current_regions, patience, &reason).await;
        }
        if let Some(busy) = error.server_is_busy {
            let hint = Duration::from_millis(busy.backoff_ms.max(busy.estimated_wait_ms.into()).min(2000));
            return patience.pause(hint, &reason).await;
        }
        if let Some(full) = error.disk_full {
            // The placement driver has another store lead the region, if there is one with room.
            let waited = self.inner.pd.env().now().since(patience.began());
            if waited >= FULL_DISK_PATIENCE {
                return Err(Error::DiskFull { reason: full.reason });
            }
            return patience.pause(FULL_DISK_PAUSE, &reason).await;
        }
        if let Some(large) = error.raft_entry_too_large {
            return Err(Error::EntryTooLarge { size: large.entry_size as usize, limit: 0 });
        }
        let stays = error.stale_command.is_some()
            || error.read_index_not_ready.is_some()
            || error.max_timestamp_not_synced.is_some()
            || error.proposal_in_merging_mode.is_some()
            || error.undetermined_result.is_some();
        if !stays {
            // Another store or member was meant, or the region is not there (any more): look it up.
            if error.store_not_match.is_some() {
                self.inner.stores.forget(region.leader.store_id);
            }
            self.inner.regions.write().remove_state(region);
        } else if patience.attempts() % LOOK_UP_EVERY == LOOK_UP_EVERY - 1 {
            self.inner.regions.write().remove_state(region);
        }
        patience.pause(Duration::ZERO, &reason).await
    }

    async fn heed_not_leader(&self, region: &Region, hint: Option<&Peer>, patience: &mut Patience, reason: &str) -> Result<()> {
        let Some(leader) = hint.filter(|leader| leader.id != 0) else {
            self.try_another_member(region, patience);
            return patience.pause(Duration::ZERO, reason).await;
        };
        {
            let mut regions = self.inner.regions.write();
            if !regions.set_leader(region, leader) {
                regions.remove_state(region);
            }
        }
        // Two members that take each other for the leader must not be asked without end.
        match patience.attempts().is_multiple_of(LOOK_UP_EVERY) {
            true => patience.go_on(reason),
            false => patience.pause(Duration::ZERO, reason).await,
        }
    }

    async fn heed_new_regions(
        &self,
        region: &Region,
        current: Vec<proto::metapb::Region>,
        patience: &mut Patience,
        reason: &str,
    ) -> Result<()> {
        let is_told = !current.is_empty();
        {
            let mut regions = self.inner.regions.write();
            regions.remove_state(region);
            for new in current {
                // The store that answers is most likely the one that leads the parts too.
                let leader = new.peers.iter().find(|peer| peer.store_id == region.leader.store_id).copied();
                // What a store does not know well itself yet is asked of the placement driver.
                if let Ok(new) = Region::new(new, leader) {
                    regions.insert(new);
                }
            }
        }
        match is_told && patience.attempts().is_multiple_of(LOOK_UP_EVERY) {
            true => patience.go_on(reason),
            false => patience.pause(Duration::ZERO, reason).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_refused_before_it_was_proposed_has_not_happened() {
        let moved = errorpb::Error { not_leader: Some(errorpb::NotLeader::default()), ..Default::default() };
        assert!(!may_have_happened(&moved));
        let displaced = errorpb::Error { stale_command: Some(errorpb::StaleCommand {}), ..moved };
        assert!(may_have_happened(&displaced));
        assert!(may_have_happened(&errorpb::Error { undetermined_result: Some(Default::default()), ..Default::default() }));
    }
}
