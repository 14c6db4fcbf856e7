//! The region tree under test: overlaps, epochs, neighbours.

use proptest::prelude::*;
use proto::metapb::{Peer, RegionEpoch};

use super::*;

fn region(id: u64, start: &str, end: &str, version: u64, stores: &[u64]) -> Region {
    Region {
        id,
        start_key: Bytes::copy_from_slice(start.as_bytes()),
        end_key: Bytes::copy_from_slice(end.as_bytes()),
        region_epoch: Some(RegionEpoch { conf_ver: 1, version }),
        peers: stores.iter().map(|store| Peer { id: id * 100 + store, store_id: *store, ..Peer::default() }).collect(),
    }
}

fn put(tree: &mut RegionTree, region: Region, leader_store: u64) -> Result<(), StaleRegion> {
    let leader = region.peers.iter().find(|peer| peer.store_id == leader_store).copied();
    tree.put(RegionRecord { region: Some(region), leader })
}

/// Sums and sets against counting; regions against each other.
fn check(tree: &RegionTree) {
    let mut stores: HashMap<u64, StoreRegions> = HashMap::new();
    let mut end: Option<Bytes> = None;
    for info in tree.iter() {
        if let Some(end) = end {
            assert!(!end.is_empty() && end <= info.start_key(), "region {} overlaps the one before", info.id());
        }
        end = Some(info.end_key().clone());
        for peer in &info.meta.peers {
            let store = stores.entry(peer.store_id).or_default();
            store.weight += info.weight();
            store.pending += u64::from(info.is_pending(peer.id));
            if info.leader_store() == peer.store_id {
                store.leaders.insert(info.id());
                store.leader_weight += info.weight();
            } else {
                store.followers.insert(info.id());
            }
        }
    }
    assert_eq!(tree.by_start.len(), tree.regions.len());
    assert_eq!(tree.stores, stores);
}

#[test]
fn a_split_replaces_its_parent_in_either_order_of_news() {
    let mut tree = RegionTree::default();
    put(&mut tree, region(1, "", "", 1, &[1, 2]), 1).unwrap();
    put(&mut tree, region(2, "m", "", 2, &[1, 2]), 2).unwrap();
    assert!(tree.by_key(b"a").is_none() && !tree.covers(b"", b""));
    put(&mut tree, region(1, "", "m", 2, &[1, 2]), 1).unwrap();
    assert_eq!(tree.by_key(b"a").unwrap().id(), 1);
    assert_eq!(tree.before_key(b"z").unwrap().id(), 1);
    assert!(tree.before_key(b"a").is_none() && tree.covers(b"", b"") && tree.covers(b"b", b"z"));
    // The parent's old news come late.
    assert_eq!(put(&mut tree, region(1, "", "", 1, &[1, 2]), 1), Err(StaleRegion { region_id: 1, known_id: 1 }));
    check(&tree);
}

#[test]
fn stale_news_of_a_merged_region_are_refused() {
    let mut tree = RegionTree::default();
    put(&mut tree, region(1, "", "m", 2, &[1]), 1).unwrap();
    put(&mut tree, region(2, "m", "", 2, &[1]), 1).unwrap();
    put(&mut tree, region(1, "", "", 4, &[1]), 1).unwrap();
    assert_eq!(put(&mut tree, region(2, "m", "", 2, &[1]), 1), Err(StaleRegion { region_id: 2, known_id: 1 }));
    assert_eq!(tree.len(), 1);
    check(&tree);
}

#[test]
fn scans_begin_at_the_region_that_holds_the_first_key() {
    let mut tree = RegionTree::default();
    for (id, start, end) in [(1, "", "d"), (2, "d", "k"), (3, "k", "")] {
        put(&mut tree, region(id, start, end, 1, &[1]), 1).unwrap();
    }
    let ids = |start: &str, end: &str| tree.scan(start.as_bytes(), end.as_bytes()).map(RegionInfo::id).collect::<Vec<_>>();
    assert_eq!(ids("e", ""), [2, 3]);
    assert_eq!(ids("a", "k"), [1, 2]);
    assert_eq!(ids("", ""), [1, 2, 3]);
}

#[test]
fn measurements_are_kept_over_a_change_of_epoch() {
    let mut tree = RegionTree::default();
    put(&mut tree, region(1, "", "", 1, &[1, 2]), 1).unwrap();
    let pending = vec![tree.get(1).unwrap().meta.peers[1]];
    tree.measure(1, Measured { size_bytes: 9 << 20, pending_peers: pending, ..Measured::default() });
    assert_eq!((tree.on_store(2).unwrap().weight, tree.on_store(2).unwrap().pending), (9, 1));
    put(&mut tree, region(1, "", "", 2, &[1, 2]), 2).unwrap();
    assert_eq!(tree.on_store(2).unwrap().leader_weight, 9);
    check(&tree);
}

/// A history of one cluster: what regions looked like after each split and merge.
fn history(steps: &[(u8, u8, bool)]) -> (Vec<Region>, Vec<Region>) {
    let mut live = vec![region(1, "", "", 1, &[1, 2, 3])];
    let mut news = live.clone();
    let mut next_id = 2;
    for (choice, key, split) in steps {
        let at = *choice as usize % live.len();
        let key = Bytes::from(vec![b'a' + key % 26]);
        let inside = live[at].start_key < key && (live[at].end_key.is_empty() || key < live[at].end_key);
        if *split && inside {
            let version = live[at].region_epoch.unwrap().version + 1;
            let mut right = region(next_id, "", "", version, &[1, 2, 3]);
            next_id += 1;
            (right.start_key, right.end_key) = (key.clone(), live[at].end_key.clone());
            live[at].end_key = key;
            live[at].region_epoch.as_mut().unwrap().version = version;
            live.insert(at + 1, right.clone());
            news.extend([live[at].clone(), right]);
        } else if !*split && at + 1 < live.len() {
            let right = live.remove(at + 1);
            let version = live[at].region_epoch.unwrap().version.max(right.region_epoch.unwrap().version) + 1;
            live[at].end_key = right.end_key;
            live[at].region_epoch.as_mut().unwrap().version = version;
            news.push(live[at].clone());
        }
    }
    (live, news)
}

proptest! {
    #[test]
    fn news_in_any_order_never_overlap_and_end_in_the_truth(
        steps in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<bool>()), 0..40),
        order in proptest::collection::vec((any::<u16>(), 0u64..4), 0..150),
    ) {
        let (live, news) = history(&steps);
        let mut tree = RegionTree::default();
        let mut epochs: HashMap<u64, u64> = HashMap::new();
        for (pick, leader) in order {
            let news = news[pick as usize % news.len()].clone();
            let (id, version) = (news.id, news.region_epoch.unwrap().version);
            if put(&mut tree, news, leader).is_ok() {
                epochs.insert(id, version);
            }
            check(&tree);
            for info in tree.iter() {
                prop_assert_eq!(info.epoch().version, epochs[&info.id()]);
            }
        }
        // In the end every living region is heard of.
        for region in &live {
            prop_assert_eq!(put(&mut tree, region.clone(), 1), Ok(()));
        }
        prop_assert_eq!(tree.iter().map(|info| info.meta.clone()).collect::<Vec<_>>(), live);
        prop_assert!(tree.covers(b"", b""));
        check(&tree);
    }
}
