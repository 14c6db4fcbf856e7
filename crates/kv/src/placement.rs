//! Between the replicated store and the placement driver: heartbeats of regions out, its wishes in.
//!
//! ```text
//!   leaders ─ reports ─▶ newest of each region ─▶ stream of heartbeats ─▶ placement driver
//!                                                     answers: change members, hand over, split, merge ─▶ store
//! ```

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use engine::Engine;
use env::Env;
use parking_lot::Mutex;
use proto::{
    metapb::Region,
    pdpb::{self, pd_client::PdClient as Stub},
    raft_cmdpb::{AdminCmdType, AdminRequest, ChangePeerRequest, ChangePeerV2Request, TransferLeaderRequest},
};
use raftstore::{Placement, RegionReport};
use rustc_hash::FxHashMap;
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use crate::{commands::Kv, pd_client::PdClient};

const PAUSE: Duration = Duration::from_millis(500);

/// Takes what the store has to tell; cheap to clone.
#[derive(Clone, Default)]
pub struct Reports {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Default)]
struct Waiting {
    /// The newest report of each region.
    regions: FxHashMap<u64, RegionReport>,
    splits: Vec<(Region, Vec<Bytes>)>,
    done_splits: Vec<Vec<Region>>,
}

impl Placement for Reports {
    fn report_region(&self, report: RegionReport) {
        let mut waiting = self.shared.waiting.lock();
        match waiting.regions.get_mut(&report.region.id) {
            Some(older) => {
                let (bytes, keys) = (older.peer.written_bytes, older.peer.written_keys);
                *older = report;
                older.peer.written_bytes += bytes;
                older.peer.written_keys += keys;
            }
            None => {
                waiting.regions.insert(report.region.id, report);
            }
        }
        drop(waiting);
        self.shared.arrived.notify_one();
    }

    fn ask_split(&self, region: Region, keys: Vec<Bytes>) {
        self.shared.waiting.lock().splits.push((region, keys));
        self.shared.arrived.notify_one();
    }

    fn report_split(&self, regions: Vec<Region>) {
        self.shared.waiting.lock().done_splits.push(regions);
        self.shared.arrived.notify_one();
    }
}

/// Runs until the process ends.
pub(crate) async fn exchange<E: Engine>(kv: Kv<E>, reports: Reports, pd: PdClient, env: Env) {
    loop {
        if let Err(status) = exchange_once(&kv, &reports, &pd).await {
            tracing::info!(reason = status.message(), "the stream of heartbeats to the placement driver has ended");
        }
        pd.forget_leader();
        env.sleep(PAUSE).await;
        // Whoever leads the placement driver now may know nothing of the regions.
        for view in kv.raft().views().iter().filter(|view| view.is_leader) {
            kv.raft().report(view.region.id);
        }
    }
}

async fn exchange_once<E: Engine>(kv: &Kv<E>, reports: &Reports, pd: &PdClient) -> Result<(), tonic::Status> {
    let channel = pd.leader().await.map_err(|error| tonic::Status::unavailable(error.to_string()))?;
    let (sender, receiver) = mpsc::channel(256);
    let mut answers = None;
    let opening = {
        let mut stub = Stub::new(channel);
        async move { stub.region_heartbeat(ReceiverStream::new(receiver)).await }
    };
    tokio::pin!(opening);
    loop {
        let waiting = std::mem::take(&mut *reports.shared.waiting.lock());
        for report in waiting.regions.into_values() {
            let heartbeat = heartbeat(kv, pd, report);
            let sent = async { sender.send(heartbeat).await.map_err(|_| tonic::Status::unavailable("the stream was closed")) };
            // The call is answered when the first heartbeat has come, so both go on together.
            match &answers {
                None => tokio::select! {
                    sent = sent => sent?,
                    opened = &mut opening => answers = Some(opened?.into_inner()),
                },
                Some(_) => sent.await?,
            }
        }
        for (region, keys) in waiting.splits {
            tokio::spawn(split(kv.clone(), region, keys));
        }
        for regions in waiting.done_splits {
            let pd = pd.clone();
            tokio::spawn(async move {
                if let Err(error) = pd.report_batch_split(regions).await {
                    tracing::info!(%error, "a split was not reported; heartbeats will tell");
                }
            });
        }
        match &mut answers {
            None => tokio::select! {
                opened = &mut opening => answers = Some(opened?.into_inner()),
                () = reports.shared.arrived.notified() => {}
            },
            Some(stream) => tokio::select! {
                answer = stream.message() => match answer? {
                    Some(answer) => drop(tokio::spawn(obey(kv.clone(), answer))),
                    None => return Err(tonic::Status::unavailable("the stream was closed")),
                },
                () = reports.shared.arrived.notified() => {}
            },
        }
    }
}

fn heartbeat<E: Engine>(kv: &Kv<E>, pd: &PdClient, report: RegionReport) -> pdpb::RegionHeartbeatRequest {
    let down = |(peer, ticks): &(_, u64)| pdpb::PeerStats { peer: Some(*peer), down_seconds: kv.raft().silence(*ticks).as_secs() };
    pdpb::RegionHeartbeatRequest {
        header: Some(pdpb::RequestHeader { cluster_id: pd.cluster_id(), sender_id: kv.raft().store_id() }),
        down_peers: report.peer.down_ticks.iter().map(down).collect(),
        pending_peers: report.peer.pending,
        bytes_written: report.peer.written_bytes,
        keys_written: report.peer.written_keys,
        // Nothing at all is what nobody has measured.
        approximate_size: report.keys.map_or(0, |_| report.size_bytes.max(1)),
        approximate_keys: report.keys.unwrap_or(0),
        term: report.term,
        leader: Some(report.leader),
        region: Some(report.region),
        ..Default::default()
    }
}

async fn split<E: Engine>(kv: Kv<E>, region: Region, keys: Vec<Bytes>) {
    let region_id = region.id;
    match kv.split_at(region, keys).await {
        Ok(regions) => tracing::info!(region_id, parts = regions.len(), "a region was split"),
        Err(error) => tracing::info!(region_id, %error, "a region was not split"),
    }
}

/// Does what the placement driver wants of a region. What cannot be done now is wanted again if it still makes sense.
async fn obey<E: Engine>(kv: Kv<E>, wish: pdpb::RegionHeartbeatResponse) {
    let region_id = wish.region_id;
    let change = |change: &pdpb::ChangePeer| ChangePeerRequest { change_type: change.change_type, peer: change.peer };
    let request = if let Some(one) = &wish.change_peer {
        AdminRequest { cmd_type: AdminCmdType::ChangePeer as i32, change_peer: Some(change(one)), ..Default::default() }
    } else if let Some(many) = wish.change_peer_v2.as_ref().filter(|many| !many.changes.is_empty()) {
        let changes = many.changes.iter().map(change).collect();
        let change_peer_v2 = Some(ChangePeerV2Request { changes });
        AdminRequest { cmd_type: AdminCmdType::ChangePeerV2 as i32, change_peer_v2, ..Default::default() }
    } else if let Some(transfer) = &wish.transfer_leader {
        let transfer_leader = Some(TransferLeaderRequest { peer: transfer.peer });
        AdminRequest { cmd_type: AdminCmdType::TransferLeader as i32, transfer_leader, ..Default::default() }
    } else if let Some(target) = wish.merge.and_then(|merge| merge.target) {
        if let Err(refusal) = kv.merge(region_id, target).await {
            tracing::info!(region_id, ?refusal, "a region was not merged");
        }
        return;
    } else {
        if let Some(wanted) = wish.split_region
            && let Ok(view) = kv.raft().view(region_id)
        {
            match wanted.keys.is_empty() {
                true => kv.raft().measure(region_id),
                false => split(kv, (*view.region).clone(), wanted.keys).await,
            }
        }
        return;
    };
    let done = kv.raft().admin(region_id, wish.region_epoch.unwrap_or_default(), request).await;
    if let Err(error) = done {
        tracing::info!(region_id, %error, "a change of a region was not made");
    }
    kv.raft().report(region_id);
}
