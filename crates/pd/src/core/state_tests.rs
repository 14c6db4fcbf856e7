//! The core state under test: commands in, state and answers out.

use proptest::prelude::*;
use proto::{
    metapb::{Peer, Region, RegionEpoch, StoreLabel},
    pdstate::{
        Bootstrap, ExtendTimestamps, PutConfig, PutMember, PutRegions, PutStore, RemoveTombstones, ReserveIds, SetClusterId,
        UpdateGcSafePoint,
    },
};

use super::*;

fn store(id: u64, address: &str) -> Store {
    Store { id, address: address.to_owned(), ..Store::default() }
}

fn first_region() -> Region {
    Region {
        id: 2,
        region_epoch: Some(RegionEpoch { conf_ver: 1, version: 1 }),
        peers: vec![Peer { id: 3, store_id: 1, ..Peer::default() }],
        ..Region::default()
    }
}

fn apply(state: &mut State, kind: Kind) -> Result<Answer> {
    state.apply(Command { kind: Some(kind) })
}

fn bootstrapped() -> State {
    let mut state = State::default();
    let bootstrap = Bootstrap { store: Some(store(1, "a:1")), region: Some(first_region()) };
    apply(&mut state, Kind::Bootstrap(bootstrap)).unwrap();
    state
}

fn put_store(state: &mut State, store: Store) -> Result<Answer> {
    apply(state, Kind::PutStore(PutStore { store: Some(store) }))
}

fn set_state(state: &mut State, store_id: u64, to: StoreState) -> Result<Answer> {
    apply(state, Kind::SetStoreState(SetStoreState { store_id, state: to as i32, physically_destroyed: false }))
}

#[test]
fn a_cluster_is_bootstrapped_once() {
    let mut state = bootstrapped();
    assert_eq!(state.regions.by_key(b"any").unwrap().leader_store(), 1);
    let again = Bootstrap { store: Some(store(9, "b:1")), region: Some(first_region()) };
    assert!(matches!(apply(&mut state, Kind::Bootstrap(again)), Err(Error::AlreadyBootstrapped)));
    assert_eq!(state.stores.len(), 1);
    for id in [7, 8] {
        apply(&mut state, Kind::SetClusterId(SetClusterId { cluster_id: id })).unwrap();
    }
    assert_eq!(state.cluster_id, 7);
}

#[test]
fn two_living_stores_never_share_an_address() {
    let mut state = bootstrapped();
    assert!(matches!(put_store(&mut state, store(5, "a:1")), Err(Error::DuplicateAddress { store_id: 1, .. })));
    put_store(&mut state, store(5, "b:1")).unwrap();
    put_store(&mut state, store(1, "a:2")).unwrap();
    put_store(&mut state, store(6, "a:1")).unwrap();
    assert_eq!(state.stores.len(), 3);
}

#[test]
fn a_store_is_emptied_before_it_is_buried_and_never_comes_back() {
    let mut state = bootstrapped();
    assert!(matches!(set_state(&mut state, 1, StoreState::Offline), Err(Error::StoreState { .. })), "the last one");
    put_store(&mut state, store(5, "b:1")).unwrap();
    assert!(set_state(&mut state, 1, StoreState::Tombstone).is_err());
    set_state(&mut state, 1, StoreState::Offline).unwrap();
    assert!(set_state(&mut state, 1, StoreState::Tombstone).is_err(), "it has a replica");
    // Registering again does not undo what the administrator decided.
    put_store(&mut state, store(1, "a:1")).unwrap();
    assert_eq!(state.stores[&1].state(), StoreState::Offline);
    let mut moved = first_region();
    moved.peers[0] = Peer { id: 4, store_id: 5, ..Peer::default() };
    moved.region_epoch = Some(RegionEpoch { conf_ver: 3, version: 1 });
    apply(&mut state, Kind::PutRegions(PutRegions { regions: vec![RegionRecord { region: Some(moved), leader: None }] })).unwrap();
    set_state(&mut state, 1, StoreState::Tombstone).unwrap();
    assert!(matches!(put_store(&mut state, store(1, "a:1")), Err(Error::StoreTombstone(1))));
    assert!(matches!(set_state(&mut state, 1, StoreState::Up), Err(Error::StoreTombstone(1))));
    apply(&mut state, Kind::RemoveTombstones(RemoveTombstones {})).unwrap();
    assert_eq!(state.stores.keys().collect::<Vec<_>>(), [&5]);
}

#[test]
fn stores_without_labels_are_kept_out_where_labels_are_wanted() {
    let mut state = bootstrapped();
    let json = r#"{"replication": {"location-labels": "zone", "strictly-match-label": true}}"#;
    apply(&mut state, Kind::PutConfig(PutConfig { json: json.to_owned() })).unwrap();
    assert!(put_store(&mut state, store(5, "b:1")).is_err());
    let labels = vec![StoreLabel { key: "zone".to_owned(), value: "z1".to_owned() }];
    put_store(&mut state, Store { labels, ..store(5, "b:1") }).unwrap();
    // A restart without labels keeps them.
    put_store(&mut state, store(5, "b:1")).unwrap();
    assert_eq!(state.stores[&5].labels.len(), 1);
}

fn any_command() -> impl Strategy<Value = Kind> {
    prop_oneof![
        (1u64..4).prop_map(|cluster_id| Kind::SetClusterId(SetClusterId { cluster_id })),
        (0u64..4, "[ab]").prop_map(|(id, address)| Kind::PutStore(PutStore { store: Some(store(id, &address)) })),
        Just(Kind::Bootstrap(Bootstrap { store: Some(store(1, "a:1")), region: Some(first_region()) })),
        (0u64..4, 0i32..3)
            .prop_map(|(store_id, state)| { Kind::SetStoreState(SetStoreState { store_id, state, physically_destroyed: store_id == 3 }) }),
        (0u64..5).prop_map(|count| Kind::ReserveIds(ReserveIds { count })),
        (0u64..100).prop_map(|limit| Kind::ExtendTimestamps(ExtendTimestamps { limit })),
        (0u64..100, 0u64..50).prop_map(|(safe_point, wall_ms)| Kind::UpdateGcSafePoint(UpdateGcSafePoint { safe_point, wall_ms })),
        (0u64..100, 0u64..50, 0u64..50, "[ab]").prop_map(|(safe_point, expires_ms, wall_ms, service)| {
            Kind::SetServiceSafePoint(SetServiceSafePoint { service, safe_point, expires_ms, wall_ms })
        }),
        (0u64..3).prop_map(|member_id| Kind::PutMember(PutMember { member: Some(Member { member_id, ..Member::default() }) })),
    ]
}

proptest! {
    #[test]
    fn members_agree_and_nothing_goes_backwards(commands in proptest::collection::vec(any_command(), 0..60), cut in 0usize..60) {
        let (mut one, mut other) = (State::default(), State::default());
        for (n, kind) in commands.into_iter().enumerate() {
            if n == cut {
                // A member that starts from a snapshot goes on as the others do.
                other = State::decode(&one.encode()).unwrap();
            }
            let before = one.clone();
            let outcome = format!("{:?}", apply(&mut one, kind.clone()));
            prop_assert_eq!(outcome, format!("{:?}", apply(&mut other, kind)));
            prop_assert!(one.next_id >= before.next_id && one.timestamp_limit >= before.timestamp_limit);
            prop_assert!(one.gc_safe_point() >= before.gc_safe_point());
            prop_assert!(before.cluster_id == 0 || one.cluster_id == before.cluster_id);
            for (id, store) in &before.stores {
                prop_assert!(store.state() != StoreState::Tombstone || one.stores[id].state() == StoreState::Tombstone);
            }
        }
        prop_assert_eq!(one.encode(), other.encode());
    }
}
