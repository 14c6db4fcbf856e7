//! Members of the placement driver over loopback: real ports, real logs on disk, killed and restarted.

// What the tests share is test code as well.
#![allow(clippy::unwrap_used)]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use env::{BoxFuture, CancelReason, CancelToken, Clock, Env, SystemClock, SystemRng, TokioSpawn};
use pd::{GrpcTransport, Listeners, Node, NodeOptions, Parts, group::FileDisk};
use proto::{
    metapb::{Peer, Region, RegionEpoch, Store},
    pdpb::{self, RequestHeader, pd_client::PdClient},
};
use tonic::transport::Channel;

/// How long a condition may take to come about: an election takes 1 to 2 seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Real time, with a wall clock that can be set.
struct SettableClock {
    real: SystemClock,
    shift_ms: Arc<AtomicI64>,
}

impl Clock for SettableClock {
    fn now(&self) -> env::Instant {
        self.real.now()
    }

    fn wall_ms(&self) -> u64 {
        self.real.wall_ms().saturating_add_signed(self.shift_ms.load(Ordering::Relaxed))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        self.real.sleep(duration)
    }
}

struct Member {
    /// How far its wall clock is off.
    shift_ms: Arc<AtomicI64>,
    node: Arc<Node>,
    client_url: String,
    peer_url: String,
    stop: CancelToken,
}

impl Member {
    async fn start(directory: &Path, name: &str, urls: (&str, &str), initial: &[(String, String)], join: &[String]) -> Self {
        let listeners = Listeners::bind(&[urls.0.to_owned()], &[urls.1.to_owned()]).await.unwrap();
        let (client_urls, peer_urls) = (listeners.client_urls(), listeners.peer_urls());
        let shift_ms: Arc<AtomicI64> = Arc::default();
        let clock = SettableClock { real: SystemClock::new(), shift_ms: shift_ms.clone() };
        let env = Env::new(Arc::new(clock), Arc::new(SystemRng), Arc::new(TokioSpawn));
        let parts = Parts {
            env: env.clone(),
            disk: Arc::new(FileDisk::open(&directory.join(name)).unwrap()),
            transport: Arc::new(GrpcTransport::new(env, peer_urls[0].clone())),
            on_fatal: Box::new(|error| panic!("{error}")),
        };
        let options = NodeOptions {
            name: name.to_owned(),
            peer_urls: peer_urls.clone(),
            client_urls: client_urls.clone(),
            initial_cluster: initial.to_vec(),
            join: join.to_vec(),
            ..NodeOptions::default()
        };
        let node = Node::start(options, parts).await.unwrap();
        let stop = CancelToken::new();
        listeners.serve(&node, &stop);
        Self { shift_ms, node, client_url: client_urls[0].clone(), peer_url: peer_urls[0].clone(), stop }
    }

    async fn stop(self) {
        self.stop.cancel(CancelReason::Shutdown);
        self.node.stop().await;
    }

    async fn client(&self) -> PdClient<Channel> {
        PdClient::new(Channel::from_shared(self.client_url.clone()).unwrap().connect().await.unwrap())
    }
}

/// A free port of the loopback interface, for members that must know each other's addresses before they start.
fn free_url() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

struct Cluster {
    directory: tempfile::TempDir,
    initial: Vec<(String, String)>,
    members: Vec<Member>,
}

impl Cluster {
    async fn start(count: usize) -> Self {
        // Shown for a test that fails; another test of the process may have set it up.
        let _ = tracing_subscriber::fmt().with_env_filter("info").with_test_writer().try_init();
        let directory = tempfile::tempdir().unwrap();
        let initial: Vec<(String, String)> = (0..count).map(|n| (format!("pd{n}"), free_url())).collect();
        let mut members = Vec::new();
        for (name, peer_url) in &initial {
            members.push(Member::start(directory.path(), name, ("http://127.0.0.1:0", peer_url), &initial, &[]).await);
        }
        Self { directory, initial, members }
    }

    async fn restart(&mut self, name: &str, urls: (&str, &str)) {
        let member = Member::start(self.directory.path(), name, urls, &self.initial, &[]).await;
        self.members.push(member);
    }

    /// The index of the member that leads, once one does.
    async fn leader(&self) -> usize {
        wait_for("a leader", || self.members.iter().position(|member| member.node.status().leads)).await
    }
}

async fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} did not come about");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn header(cluster_id: u64) -> Option<RequestHeader> {
    Some(RequestHeader { cluster_id, sender_id: 0 })
}

fn first_region() -> Region {
    Region {
        id: 2,
        region_epoch: Some(RegionEpoch { conf_ver: 1, version: 1 }),
        peers: vec![Peer { id: 3, store_id: 1, ..Peer::default() }],
        ..Region::default()
    }
}

async fn bootstrap(client: &mut PdClient<Channel>, cluster_id: u64) {
    let store = Store { id: 1, address: "127.0.0.1:20160".to_owned(), ..Store::default() };
    let request = pdpb::BootstrapRequest { header: header(cluster_id), store: Some(store), region: Some(first_region()) };
    let answer = client.bootstrap(request).await.unwrap().into_inner();
    assert_eq!(answer.header.unwrap().error, None);
}

/// One timestamp over a fresh stream.
async fn timestamp(client: &mut PdClient<Channel>, cluster_id: u64, count: u32) -> Result<(i64, i64), tonic::Status> {
    let request = pdpb::TsoRequest { header: header(cluster_id), count, dc_location: String::new() };
    let mut answers = client.tso(tokio_stream::iter([request])).await?.into_inner();
    let answer = answers.message().await?.ok_or_else(|| tonic::Status::unavailable("the stream ended"))?;
    assert_eq!(answer.count, count);
    let timestamp = answer.timestamp.unwrap();
    Ok((timestamp.physical, timestamp.logical))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_member_serves_and_goes_on_after_a_restart() {
    let mut cluster = Cluster::start(1).await;
    cluster.leader().await;
    let mut client = cluster.members[0].client().await;
    let members = client.get_members(pdpb::GetMembersRequest::default()).await.unwrap().into_inner();
    let cluster_id = members.header.unwrap().cluster_id;
    assert!(cluster_id != 0 && members.leader.unwrap().client_urls == [cluster.members[0].client_url.clone()]);
    let request = pdpb::GetRegionRequest { header: header(cluster_id), ..Default::default() };
    let answer = client.get_region(request.clone()).await.unwrap().into_inner();
    assert_eq!(answer.header.unwrap().error.unwrap().r#type(), pdpb::ErrorType::NotBootstrapped);
    bootstrap(&mut client, cluster_id).await;
    let answer = client.get_region(request.clone()).await.unwrap().into_inner();
    assert_eq!((answer.region, answer.leader.unwrap().store_id), (Some(first_region()), 1));
    let wrong = client.alloc_id(pdpb::AllocIdRequest { header: header(cluster_id + 1) }).await.unwrap_err();
    assert_eq!(wrong.code(), tonic::Code::FailedPrecondition);
    let alloc = pdpb::AllocIdRequest { header: header(cluster_id) };
    let id = client.alloc_id(alloc).await.unwrap().into_inner().id;
    let before = timestamp(&mut client, cluster_id, 100).await.unwrap();
    assert!(before.1 >= 99);

    let member = cluster.members.pop().unwrap();
    let urls = (member.client_url.clone(), member.peer_url.clone());
    member.stop().await;
    cluster.restart("pd0", (&urls.0, &urls.1)).await;
    cluster.leader().await;
    let mut client = cluster.members[0].client().await;
    assert!(timestamp(&mut client, cluster_id, 1).await.unwrap() > before);
    assert!(client.alloc_id(alloc).await.unwrap().into_inner().id > id);
    assert_eq!(client.get_region(request).await.unwrap().into_inner().region, Some(first_region()));
}

#[tokio::test(flavor = "multi_thread")]
async fn timestamps_and_ids_go_on_while_leaders_are_killed() {
    let mut cluster = Cluster::start(3).await;
    let leader = cluster.leader().await;
    let cluster_id = cluster.members[leader].node.cluster_id();
    bootstrap(&mut cluster.members[(leader + 1) % 3].client().await, cluster_id).await;
    let (mut last_ts, mut last_id) = ((0, 0), 0);
    for round in 0..3 {
        let leader = cluster.leader().await;
        // A member that does not lead passes requests on, streams as well.
        let follower = (leader + 1) % 3;
        wait_for("the follower knows the leader's address", || {
            cluster.members[follower].node.leader().filter(|leader| !leader.client_urls.is_empty())
        })
        .await;
        for member in [leader, follower] {
            let mut client = cluster.members[member].client().await;
            let ts = timestamp(&mut client, cluster_id, 10).await.unwrap();
            assert!(ts > last_ts, "round {round}: {ts:?} after {last_ts:?}");
            last_ts = ts;
            let id = client.alloc_id(pdpb::AllocIdRequest { header: header(cluster_id) }).await.unwrap().into_inner().id;
            assert!(id > last_id, "round {round}: {id} after {last_id}");
            last_id = id;
        }
        let killed = cluster.members.remove(leader);
        let (name, urls) = (killed.node.member().name.clone(), (killed.client_url.clone(), killed.peer_url.clone()));
        killed.stop().await;
        // Two of three go on.
        let leader = cluster.leader().await;
        let mut client = cluster.members[leader].client().await;
        let ts = timestamp(&mut client, cluster_id, 10).await.unwrap();
        assert!(ts > last_ts);
        last_ts = ts;
        cluster.restart(&name, (&urls.0, &urls.1)).await;
    }
    let leader = cluster.leader().await;
    let region = cluster.members[leader].node.read(|cluster| cluster.state.regions.get(2).map(|info| info.meta.clone()));
    assert_eq!(region, Some(first_region()));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_callers_see_growing_timestamps_over_a_handover() {
    let cluster = Arc::new(Cluster::start(3).await);
    let leader = cluster.leader().await;
    let over = Arc::new(AtomicBool::new(false));
    let greatest = Arc::new(tokio::sync::Mutex::new(0_u64));
    let mut callers = Vec::new();
    for _ in 0..4 {
        let (cluster, over, greatest) = (cluster.clone(), over.clone(), greatest.clone());
        callers.push(tokio::spawn(async move {
            let mut taken = 0;
            while !over.load(Ordering::Relaxed) {
                // What was answered to anybody before this call must be smaller.
                let before = *greatest.lock().await;
                for member in &cluster.members {
                    if let Ok(ts) = member.node.timestamps(3).await {
                        assert!(ts.0 - 2 > before, "{ts} after {before}");
                        let mut greatest = greatest.lock().await;
                        *greatest = ts.0.max(*greatest);
                        taken += 1;
                        break;
                    }
                }
                tokio::task::yield_now().await;
            }
            taken
        }));
    }
    let mut from = leader;
    for _ in 0..3 {
        let to = (from + 1) % 3;
        let target = cluster.members[to].node.member().member_id;
        wait_for("caught up", || cluster.members[from].node.reachable_members().contains(&target).then_some(())).await;
        cluster.members[from].node.transfer_leader(target).await.unwrap();
        wait_for("the new leader", || cluster.members[to].node.status().leads.then_some(())).await;
        from = to;
    }
    over.store(true, Ordering::Relaxed);
    for caller in callers {
        assert!(caller.await.unwrap() > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_join_vote_and_leave() {
    let mut cluster = Cluster::start(1).await;
    cluster.leader().await;
    let cluster_id = cluster.members[0].node.cluster_id();
    bootstrap(&mut cluster.members[0].client().await, cluster_id).await;
    let join = vec![cluster.members[0].client_url.clone()];
    for name in ["joined1", "joined2"] {
        let member = Member::start(cluster.directory.path(), name, ("http://127.0.0.1:0", "http://127.0.0.1:0"), &[], &join).await;
        cluster.members.push(member);
    }
    let leader = cluster.leader().await;
    wait_for("three voters", || (cluster.members[leader].node.reachable_members().len() == 3).then_some(())).await;
    for member in &cluster.members {
        wait_for("the state", || member.node.read(|cluster| cluster.state.bootstrapped).then_some(())).await;
        assert_eq!(member.node.cluster_id(), cluster_id);
    }
    // A name that is taken is refused.
    let taken = pdpb::Member { name: "joined1".to_owned(), member_id: 77, peer_urls: vec![free_url()], ..Default::default() };
    assert!(cluster.members[leader].node.add_member(taken).await.is_err());
    // The first member goes; the two that joined carry on without it.
    let first = cluster.members[0].node.member().member_id;
    cluster.members[leader].node.remove_member(first).await.unwrap();
    let removed = cluster.members.remove(0);
    wait_for("the removed member ends", || removed.node.status().removed.then_some(())).await;
    removed.stop().await;
    let leader = cluster.leader().await;
    let mut client = cluster.members[leader].client().await;
    timestamp(&mut client, cluster_id, 1).await.unwrap();
    let members = client.get_members(pdpb::GetMembersRequest::default()).await.unwrap().into_inner().members;
    assert_eq!(members.len(), 2);
}

/// A page over HTTP/1.1.
async fn page(member: &Member, method: &str, path: &str, body: &str) -> (u16, serde_json::Value) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let address = member.client_url.strip_prefix("http://").unwrap();
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!("{method} /pd/api/v1/{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    let request = format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let body = text.split_once("\r\n\r\n").unwrap().1;
    let json = &body[body.find(['{', '[', '"']).unwrap()..=body.rfind(['}', ']', '"']).unwrap()];
    (text.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(json).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_and_regions_report_and_are_scheduled() {
    let cluster = Cluster::start(1).await;
    cluster.leader().await;
    let member = &cluster.members[0];
    let cluster_id = member.node.cluster_id();
    let mut client = member.client().await;
    bootstrap(&mut client, cluster_id).await;
    let (status, answer) = page(member, "POST", "config", r#"{"max-replicas": 2}"#).await;
    assert_eq!(status, 200, "{answer}");
    for id in 1..=2 {
        let store = Store { id, address: format!("127.0.0.1:2016{}", id - 1), ..Store::default() };
        let put = pdpb::PutStoreRequest { header: header(cluster_id), store: Some(store) };
        assert_eq!(client.put_store(put).await.unwrap().into_inner().header.unwrap().error, None);
        let stats = pdpb::StoreStats { store_id: id, capacity: 100 << 30, available: 90 << 30, ..Default::default() };
        let beat = pdpb::StoreHeartbeatRequest { header: header(cluster_id), stats: Some(stats) };
        assert_eq!(client.store_heartbeat(beat).await.unwrap().into_inner().header.unwrap().error, None);
    }
    // The region's leader reports, and is told to make the second replica.
    let (beats, receiver) = tokio::sync::mpsc::channel(8);
    let region = first_region();
    let beat = pdpb::RegionHeartbeatRequest {
        header: header(cluster_id),
        leader: Some(region.peers[0]),
        region: Some(region.clone()),
        approximate_size: 5 << 20,
        ..Default::default()
    };
    beats.send(beat.clone()).await.unwrap();
    let mut orders = client.region_heartbeat(tokio_stream::wrappers::ReceiverStream::new(receiver)).await.unwrap().into_inner();
    let order = tokio::time::timeout(PATIENCE, orders.message()).await.unwrap().unwrap().unwrap();
    let added = order.change_peer.unwrap().peer.unwrap();
    assert_eq!((order.region_id, added.store_id), (2, 2));
    let (status, operators) = page(member, "GET", "operators", "").await;
    assert_eq!((status, &operators[0]["region_id"]), (200, &serde_json::json!(2)));
    // It does so.
    let mut grown = region;
    grown.peers.push(Peer { role: 0, ..added });
    grown.region_epoch = Some(RegionEpoch { conf_ver: 3, version: 1 });
    beats.send(pdpb::RegionHeartbeatRequest { region: Some(grown.clone()), ..beat }).await.unwrap();
    let known = || member.node.read(|cluster| cluster.state.regions.get(2).filter(|info| info.meta == grown).map(|_| ()));
    wait_for("the second replica", known).await;
    let request = pdpb::GetOperatorRequest { header: header(cluster_id), region_id: 2 };
    let operator = client.get_operator(request).await.unwrap().into_inner();
    assert_eq!(operator.status(), pdpb::OperatorStatus::Success);
    // The pages operators read.
    let (_, stores) = page(member, "GET", "stores", "").await;
    assert_eq!((&stores["count"], &stores["stores"][1]["store"]["state_name"]), (&serde_json::json!(2), &serde_json::json!("Up")));
    let (_, regions) = page(member, "GET", "regions", "").await;
    assert_eq!((&regions["regions"][0]["peers"][1]["store_id"], &regions["regions"][0]["approximate_size"]), (&2.into(), &5.into()));
    assert_eq!(page(member, "GET", "store/9", "").await.0, 404);
    assert_eq!(page(member, "POST", "config", r#"{"max-replica": 2}"#).await.0, 400);
    assert_eq!(page(member, "DELETE", "schedulers/balance-leader-scheduler", "").await.0, 200);
    let (_, schedulers) = page(member, "GET", "schedulers", "").await;
    assert!(!schedulers.to_string().contains("balance-leader"), "{schedulers}");

    // Ids for a split, and what became of the region.
    let ask = pdpb::AskBatchSplitRequest { header: header(cluster_id), region: Some(grown.clone()), split_count: 1, ..Default::default() };
    let ids = client.ask_batch_split(ask).await.unwrap().into_inner().ids;
    assert_eq!(ids[0].new_peer_ids.len(), 2);
    let epoch = Some(RegionEpoch { conf_ver: 3, version: 2 });
    let left = Region { end_key: "m".into(), region_epoch: epoch, ..grown.clone() };
    let peers = grown.peers.iter().zip(&ids[0].new_peer_ids).map(|(peer, id)| Peer { id: *id, ..*peer }).collect();
    let right = Region { id: ids[0].new_region_id, start_key: "m".into(), region_epoch: epoch, peers, ..grown };
    let report = pdpb::ReportBatchSplitRequest { header: header(cluster_id), regions: vec![left.clone(), right.clone()] };
    assert_eq!(client.report_batch_split(report).await.unwrap().into_inner().header.unwrap().error, None);
    let get = |key: &'static str| pdpb::GetRegionRequest { header: header(cluster_id), region_key: key.into(), ..Default::default() };
    let found = client.get_region(get("x")).await.unwrap().into_inner();
    assert_eq!((found.region, found.leader.unwrap().store_id), (Some(right), 1));
    assert_eq!(client.get_prev_region(get("x")).await.unwrap().into_inner().region, Some(left));
    let scan = pdpb::ScanRegionsRequest { header: header(cluster_id), limit: 10, ..Default::default() };
    assert_eq!(client.scan_regions(scan).await.unwrap().into_inner().regions.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn safe_points_go_no_further_than_services_allow() {
    let cluster = Cluster::start(1).await;
    cluster.leader().await;
    let cluster_id = cluster.members[0].node.cluster_id();
    let mut client = cluster.members[0].client().await;
    let service = |name: &'static str, ttl: i64, safe_point: u64| pdpb::UpdateServiceGcSafePointRequest {
        header: header(cluster_id),
        service_id: name.into(),
        ttl,
        safe_point,
    };
    let held = client.update_service_gc_safe_point(service("backup", 3600, 100)).await.unwrap().into_inner();
    assert_eq!((&held.service_id[..], held.min_safe_point), (&b"backup"[..], 100));
    let late = client.update_service_gc_safe_point(service("late", 3600, 50)).await.unwrap().into_inner();
    assert_eq!(late.min_safe_point, 100, "it can tell from the answer that it came too late");
    let update = pdpb::UpdateGcSafePointRequest { header: header(cluster_id), safe_point: 200 };
    assert_eq!(client.update_gc_safe_point(update).await.unwrap().into_inner().new_safe_point, 100);
    client.update_service_gc_safe_point(service("backup", 0, 0)).await.unwrap();
    assert_eq!(client.update_gc_safe_point(update).await.unwrap().into_inner().new_safe_point, 200);
    let get = pdpb::GetGcSafePointRequest { header: header(cluster_id) };
    assert_eq!(client.get_gc_safe_point(get).await.unwrap().into_inner().safe_point, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn timestamps_grow_whatever_the_members_clocks_show() {
    const HOUR_MS: i64 = 3_600_000;
    let mut cluster = Cluster::start(3).await;
    let mut last = 0;
    for shift in [HOUR_MS, -HOUR_MS, 0, -2 * HOUR_MS] {
        let leader = cluster.leader().await;
        // The clock jumps under the leader, then under its successor, and then the successor starts anew.
        cluster.members[leader].shift_ms.store(shift, Ordering::Relaxed);
        for _ in 0..50 {
            let ts = cluster.members[leader].node.timestamps(7).await.unwrap();
            assert!(ts.0 - 6 > last, "{ts} after {last} with the clock {shift} ms off");
            last = ts.0;
        }
        let stopped = cluster.members.remove(leader);
        let (name, urls) = (stopped.node.member().name.clone(), (stopped.client_url.clone(), stopped.peer_url.clone()));
        stopped.stop().await;
        for member in &cluster.members {
            member.shift_ms.store(-shift, Ordering::Relaxed);
        }
        let leader = cluster.leader().await;
        let ts = cluster.members[leader].node.timestamps(1).await.unwrap();
        assert!(ts.0 > last, "{ts} after {last}");
        last = ts.0;
        cluster.restart(&name, (&urls.0, &urls.1)).await;
    }
}
