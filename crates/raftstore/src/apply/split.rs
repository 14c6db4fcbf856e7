//! Splitting a region: every part begins with the members of the whole, under ids of their own.
//!
//! ```text
//!   [a ─────────────── z)  keys g, p, right part keeps the id
//!   [a ── g) new   [g ── p) new   [p ── z) the region; all of them at version + 2
//! ```

use bytes::Bytes;
use proto::{
    metapb::{Peer, Region, RegionEpoch},
    raft_cmdpb::{BatchSplitRequest, SplitRequest},
};

use crate::{Error, Result, region};

/// The parts in the order of their keys, and which of them keeps the region's id.
pub(super) fn split(whole: &Region, request: &BatchSplitRequest) -> Result<(Vec<Region>, usize)> {
    if request.requests.is_empty() {
        return Err(Error::InvalidRequest("a split without keys"));
    }
    let mut borders = vec![whole.start_key.clone()];
    for part in &request.requests {
        if borders.last().is_some_and(|last| *last >= part.split_key) {
            return Err(Error::InvalidRequest("the keys of a split must ascend inside the region"));
        }
        region::check_key(whole, &part.split_key)?;
        if part.new_peer_ids.len() != whole.peers.len() {
            // Members have come or gone since the ids were taken.
            return Err(Error::EpochNotMatch { current: vec![whole.clone()] });
        }
        borders.push(part.split_key.clone());
    }
    borders.push(whole.end_key.clone());
    let epoch = region::epoch(whole);
    let epoch = RegionEpoch { version: epoch.version + request.requests.len() as u64, ..epoch };
    let derived = if request.right_derive { request.requests.len() } else { 0 };
    let mut ids = request.requests.iter();
    let mut parts = Vec::with_capacity(borders.len() - 1);
    for (index, border) in borders.windows(2).enumerate() {
        let range = (border[0].clone(), border[1].clone());
        let new = if index == derived { None } else { ids.next() };
        parts.push(part(whole, epoch, range, new));
    }
    Ok((parts, derived))
}

fn part(whole: &Region, epoch: RegionEpoch, range: (Bytes, Bytes), new: Option<&SplitRequest>) -> Region {
    let mut part = Region { start_key: range.0, end_key: range.1, region_epoch: Some(epoch), ..whole.clone() };
    if let Some(new) = new {
        part.id = new.new_region_id;
        let renamed = whole.peers.iter().zip(&new.new_peer_ids).map(|(peer, id)| Peer { id: *id, ..*peer });
        part.peers = renamed.collect();
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::INITIAL_EPOCH;

    fn request(keys: &[&'static str], right_derive: bool) -> BatchSplitRequest {
        let requests = (0..).zip(keys).map(|(n, key)| SplitRequest {
            split_key: Bytes::from_static(key.as_bytes()),
            new_region_id: 10 + n,
            new_peer_ids: vec![100 + n],
            right_derive,
        });
        BatchSplitRequest { requests: requests.collect(), right_derive }
    }

    fn whole() -> Region {
        let peers = vec![Peer { id: 2, store_id: 1, ..Default::default() }];
        Region { id: 1, start_key: Bytes::from_static(b"a"), end_key: Bytes::new(), region_epoch: Some(INITIAL_EPOCH), peers }
    }

    fn shape(parts: &[Region]) -> Vec<(u64, u64, &[u8], &[u8])> {
        parts.iter().map(|part| (part.id, part.peers[0].id, &part.start_key[..], &part.end_key[..])).collect()
    }

    #[test]
    fn parts_cover_the_whole_and_one_keeps_the_id() {
        let (parts, derived) = split(&whole(), &request(&["g", "p"], true)).unwrap();
        assert_eq!((shape(&parts), derived), (vec![(10, 100, &b"a"[..], &b"g"[..]), (11, 101, b"g", b"p"), (1, 2, b"p", b"")], 2));
        assert!(parts.iter().all(|part| region::epoch(part).version == 3));
        let (parts, derived) = split(&whole(), &request(&["g"], false)).unwrap();
        assert_eq!((shape(&parts), derived), (vec![(1, 2, &b"a"[..], &b"g"[..]), (10, 100, b"g", b"")], 0));
    }

    #[test]
    fn keys_must_ascend_inside_the_region() {
        for keys in [&["p", "g"][..], &["a"], &[], &["g", "g"]] {
            assert!(split(&whole(), &request(keys, true)).is_err());
        }
        let bounded = Region { end_key: Bytes::from_static(b"h"), ..whole() };
        assert!(matches!(split(&bounded, &request(&["h"], true)), Err(Error::KeyNotInRegion { .. })));
    }

    #[test]
    fn ids_for_members_that_have_changed_since_are_refused_as_of_another_epoch() {
        let mut whole = Region { end_key: "z".into(), region_epoch: Some(INITIAL_EPOCH), ..Default::default() };
        whole.peers = vec![Peer::default(), Peer::default()];
        let part = SplitRequest { split_key: "m".into(), new_region_id: 9, new_peer_ids: vec![10], ..Default::default() };
        let request = BatchSplitRequest { requests: vec![part], ..Default::default() };
        assert!(matches!(split(&whole, &request), Err(Error::EpochNotMatch { current }) if current == [whole]));
    }
}
