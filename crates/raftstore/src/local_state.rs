//! What a store keeps about its regions beside their data, in the `meta` column family.
//!
//! ```text
//! raft/store                      StoreIdent
//! raft/region/ id, u64 | 1        RegionLocalState: the region, and whether the replica lives
//! raft/region/ id, u64 | 2        RaftApplyState: how far the log has been applied and cut
//! ```
//!
//! Invariant: the apply state is written in the batch of what was applied, so that neither is ever without the other.

use engine::{Cf, Engine, EngineIter as _, EngineRead, IterOptions, ReadTier, WriteBatch};
use prost::Message;
use proto::{
    metapb::Region,
    raft_serverpb::{MergeState, PeerState, RaftApplyState, RaftTruncatedState, RegionLocalState, StoreIdent},
};

use crate::{
    Error, Result,
    region::{INITIAL_INDEX, INITIAL_TERM},
};

const STORE_KEY: &[u8] = b"raft/store";
const REGION_PREFIX: &[u8] = b"raft/region/";
const KIND_REGION: u8 = 1;
const KIND_APPLY: u8 = 2;

fn key(region_id: u64, kind: u8) -> Vec<u8> {
    [REGION_PREFIX, &region_id.to_be_bytes(), &[kind]].concat()
}

fn read<M: Message + Default>(engine: &impl EngineRead, key: &[u8], region_id: u64, what: &'static str) -> Result<Option<M>> {
    match engine.get(Cf::Meta, key, ReadTier::Any)? {
        None => Ok(None),
        Some(bytes) => M::decode(&bytes[..]).map(Some).map_err(|_| Error::Corrupted { what, region_id }),
    }
}

/// Which store the directory belongs to.
pub fn store_ident(engine: &impl EngineRead) -> Result<Option<StoreIdent>> {
    read(engine, STORE_KEY, 0, "store identity")
}

/// Makes the directory a store of a cluster; one that is another store's already is an error.
pub fn identify_store(engine: &impl Engine, cluster_id: u64, store_id: u64) -> Result<()> {
    match store_ident(engine)? {
        None => {
            let mut batch = WriteBatch::new();
            batch.put(Cf::Meta, STORE_KEY, &StoreIdent { cluster_id, store_id }.encode_to_vec());
            Ok(engine.write(batch, true)?)
        }
        Some(found) if found == StoreIdent { cluster_id, store_id } => Ok(()),
        Some(found) => {
            Err(Error::WrongStore { cluster: cluster_id, store: store_id, found_cluster: found.cluster_id, found_store: found.store_id })
        }
    }
}

/// Puts a region in place that has its data here already, or has none: the first of a cluster, or a part of a split one.
pub fn put_new_region(batch: &mut WriteBatch, region: &Region) {
    put_region_state(batch, region, PeerState::Normal);
    put_apply_state(batch, region.id, &initial_apply_state());
}

/// The apply state of a region whose log is empty.
pub fn initial_apply_state() -> RaftApplyState {
    RaftApplyState {
        applied_index: INITIAL_INDEX,
        applied_term: INITIAL_TERM,
        truncated_state: Some(RaftTruncatedState { index: INITIAL_INDEX, term: INITIAL_TERM }),
        ..Default::default()
    }
}

/// Writes what the region is and whether the replica lives.
pub fn put_region_state(batch: &mut WriteBatch, region: &Region, state: PeerState) {
    put_local_state(batch, &RegionLocalState { state: state as i32, region: Some(region.clone()), ..Default::default() });
}

/// The same with everything there is to say.
pub fn put_local_state(batch: &mut WriteBatch, state: &RegionLocalState) {
    let region_id = state.region.as_ref().map_or(0, |region| region.id);
    batch.put(Cf::Meta, &key(region_id, KIND_REGION), &state.encode_to_vec());
}

/// Writes that a replica is gone; `merged_into` is the region its own has become a part of, right after that.
pub fn put_tombstone(batch: &mut WriteBatch, region: &Region, merged_into: Option<Region>, installed_version: u64) {
    let merge_state = merged_into.map(|target| MergeState { target: Some(target), ..Default::default() });
    let state = PeerState::Tombstone as i32;
    put_local_state(batch, &RegionLocalState { state, region: Some(region.clone()), merge_state, installed_version });
    delete_apply_state(batch, region.id);
}

/// Writes how far the log has been applied.
pub fn put_apply_state(batch: &mut WriteBatch, region_id: u64, state: &RaftApplyState) {
    batch.put(Cf::Meta, &key(region_id, KIND_APPLY), &state.encode_to_vec());
}

/// Removes the apply state of a replica that is no more.
pub fn delete_apply_state(batch: &mut WriteBatch, region_id: u64) {
    batch.delete(Cf::Meta, &key(region_id, KIND_APPLY));
}

/// Removes all states of a region that has never lived.
pub fn delete_region(batch: &mut WriteBatch, region_id: u64) {
    batch.delete(Cf::Meta, &key(region_id, KIND_REGION));
    delete_apply_state(batch, region_id);
}

/// What the region is and whether the replica lives.
pub fn region_state(engine: &impl EngineRead, region_id: u64) -> Result<Option<RegionLocalState>> {
    read(engine, &key(region_id, KIND_REGION), region_id, "region state")
}

/// How far the log has been applied.
pub fn apply_state(engine: &impl EngineRead, region_id: u64) -> Result<Option<RaftApplyState>> {
    read(engine, &key(region_id, KIND_APPLY), region_id, "apply state")
}

/// The states of all replicas, tombstones too.
pub fn all_region_states(engine: &impl EngineRead) -> Result<Vec<RegionLocalState>> {
    let upper = [&REGION_PREFIX[..REGION_PREFIX.len() - 1], &[b'/' + 1]].concat();
    let options = IterOptions { lower: Some(REGION_PREFIX.to_vec()), upper: Some(upper), ..IterOptions::default() };
    let mut iter = engine.iter(Cf::Meta, options)?;
    let mut states = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        if iter.key().last() == Some(&KIND_REGION) {
            let state = RegionLocalState::decode(iter.value()).map_err(|_| Error::Corrupted { what: "region state", region_id: 0 })?;
            states.push(state);
        }
        iter.next();
    }
    iter.status()?;
    Ok(states)
}

#[cfg(test)]
mod tests {
    use engine::MemEngine;

    use super::*;

    #[test]
    fn states_are_found_by_region_and_all_together() {
        let engine = MemEngine::new();
        let mut batch = WriteBatch::new();
        for id in [7, 300] {
            put_new_region(&mut batch, &Region { id, ..Default::default() });
        }
        engine.write(batch, false).unwrap();
        assert_eq!(all_region_states(&engine).unwrap().len(), 2);
        assert_eq!(region_state(&engine, 300).unwrap().unwrap().region.unwrap().id, 300);
        assert_eq!(apply_state(&engine, 7).unwrap().unwrap().applied_index, INITIAL_INDEX);
        assert!(region_state(&engine, 8).unwrap().is_none());
    }

    #[test]
    fn a_directory_belongs_to_one_store() {
        let engine = MemEngine::new();
        identify_store(&engine, 9, 1).unwrap();
        identify_store(&engine, 9, 1).unwrap();
        assert!(matches!(identify_store(&engine, 9, 2), Err(Error::WrongStore { found_store: 1, .. })));
    }
}
