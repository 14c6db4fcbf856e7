//! Finds a neighbour for a region that has become small, and makes the pair of operators that merges the two.
//!
//! ```text
//!   small, and not split lately ─▶ smaller of its neighbours that may take it ─▶ source: onto the target's stores, then merge
//!                                                                                target: nothing else meanwhile
//! ```
//!
//! Left alone are regions whose size nobody has measured, that are hot, that lack replicas, or that would be split again afterwards.

use bytes::Bytes;

use super::{
    operator::{Operator, OperatorKind, Step, steps_to},
    region::{MIB, RegionInfo},
    view::{IdPool, View},
};

/// What a merge may come to at most, in mebibytes: stores split at 96 unless they are told otherwise.
const LARGEST_RESULT_MIB: u64 = 64;
/// Keys that are taken to make up a mebibyte.
const KEYS_A_MIB: u64 = 10_000;
/// Length of the part of a table's keys that is the same for all of them.
const TABLE_PREFIX: usize = 9;

/// What a region needs to be merged, if it is small: operators for itself and for its neighbour. `may_merge` says which regions were not split
/// lately and are not hot.
pub fn check(
    view: &View<'_>,
    region: &RegionInfo,
    may_merge: impl Fn(&RegionInfo) -> bool,
    ids: &mut IdPool,
) -> Option<(Operator, Operator)> {
    let schedule = &view.state.config.schedule;
    let max_keys = match schedule.max_merge_region_keys {
        0 => schedule.max_merge_region_size * KEYS_A_MIB,
        keys => keys,
    };
    let is_small = region.measured.size_bytes <= schedule.max_merge_region_size * MIB && region.measured.keys <= max_keys;
    if schedule.max_merge_region_size == 0 || !is_small || !is_settled(view, region) || !may_merge(region) {
        return None;
    }
    let takes = |other: &&RegionInfo| {
        let (bytes, keys) = (region.measured.size_bytes + other.measured.size_bytes, region.measured.keys + other.measured.keys);
        is_settled(view, other)
            && may_merge(other)
            && view.controller.is_free_for(other.id(), OperatorKind::Merge)
            && bytes <= LARGEST_RESULT_MIB.max(2 * schedule.max_merge_region_size) * MIB
            && keys <= (LARGEST_RESULT_MIB * KEYS_A_MIB).max(2 * max_keys)
            && (schedule.enable_cross_table_merge || table_of(region.start_key()) == table_of(other.start_key()))
    };
    let regions = &view.state.regions;
    let before = regions.before_key(region.start_key());
    let behind = Some(region.end_key()).filter(|end| !end.is_empty()).and_then(|end| regions.by_key(end));
    let target = before.into_iter().chain(behind).filter(takes).min_by_key(|other| other.measured.size_bytes)?;
    operators(view, region, target, OperatorKind::Merge, ids)
}

/// The operators that merge a region into a neighbour. `None` when there are no ids for replicas.
pub fn operators(
    view: &View<'_>,
    source: &RegionInfo,
    target: &RegionInfo,
    kind: OperatorKind,
    ids: &mut IdPool,
) -> Option<(Operator, Operator)> {
    let stores: Vec<u64> = target.meta.peers.iter().map(|peer| peer.store_id).collect();
    // A leader that must go hands over to where the source will stay.
    let leader = source.leader_store();
    let heir = (!stores.contains(&leader))
        .then(|| stores.iter().copied().find(|store| source.peer_on(*store).is_some() && view.can_take_leaders(*store)))
        .flatten();
    let mut steps = steps_to(source, &stores, heir, || ids.take())?;
    steps.push(Step::MergeInto { target: target.meta.clone() });
    let absorb = vec![Step::Absorb { source: source.meta.clone() }];
    let first = Operator::new(source, kind, "merge-region", steps, view.now).with_partner(target.id());
    let second = Operator::new(target, kind, "merge-region", absorb, view.now).with_partner(source.id());
    Some((first, second))
}

/// Whether a region has been measured and has all its replicas, at work.
fn is_settled(view: &View<'_>, region: &RegionInfo) -> bool {
    region.measured.size_bytes > 0
        && region.leader.is_some()
        && region.is_healthy()
        && !region.in_joint_state()
        && region.learners().next().is_none()
        && region.meta.peers.len() == view.state.config.replication.max_replicas as usize
}

/// What a region's first key says of its table; `None` for what belongs to none.
fn table_of(border: &Bytes) -> Option<Vec<u8>> {
    let mut key = codec::bytes::decode_bytes(&mut &border[..]).ok()?;
    (key.first() == Some(&b't') && key.len() >= TABLE_PREFIX).then(|| {
        key.truncate(TABLE_PREFIX);
        key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_border_is_its_first_part() {
        let border = |key: &[u8]| {
            let mut out = Vec::new();
            codec::bytes::encode_bytes(&mut out, key);
            Bytes::from(out)
        };
        let (one, other) = (table_of(&border(b"t\x80\0\0\0\0\0\0\x01_r123")), table_of(&border(b"t\x80\0\0\0\0\0\0\x01")));
        assert!(one.is_some() && one == other);
        assert_ne!(one, table_of(&border(b"t\x80\0\0\0\0\0\0\x02_r")));
        assert_eq!((table_of(&Bytes::new()), table_of(&border(b"m_meta"))), (None, None));
    }
}
