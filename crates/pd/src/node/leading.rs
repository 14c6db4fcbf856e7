//! What a member has while it leads: lease, timestamps, ids, streams to stores.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use base::TimeStamp;
use env::{CancelToken, Instant};
use parking_lot::Mutex;
use proto::{
    pdpb::RegionHeartbeatResponse,
    pdstate::{ExtendTimestamps, PutConfig, PutMember, PutRegions, RegionRecord, ReserveIds, SetClusterId, command::Kind},
};
use tokio::sync::{Notify, mpsc};

use super::Node;
use crate::{
    Error, Result,
    core::{Answer, Effect, cluster::Live},
    oracle::{NextTimestamp, TimestampOracle},
};

/// Ids reserved at a time.
const ID_RANGE: u64 = 1000;
/// Pause between looks at what is due.
const SCHEDULE_PAUSE: Duration = Duration::from_millis(200);
/// News of regions in one command.
const RECORDS_AT_A_TIME: usize = 1024;

/// Exists while a member leads in one term.
pub struct Leading {
    /// The term.
    pub term: u64,
    /// Cancelled when it is over.
    pub ended: CancelToken,
    oracle: TimestampOracle,
    window: tokio::sync::Mutex<()>,
    renewing_window: AtomicBool,
    /// Nanoseconds of the monotonic clock until which no other member can lead; 0 for none.
    lease_until: AtomicU64,
    renewing_lease: AtomicBool,
    /// The next id and the first that is not reserved.
    ids: tokio::sync::Mutex<(u64, u64)>,
    streams: Mutex<HashMap<u64, mpsc::Sender<RegionHeartbeatResponse>>>,
    records: Mutex<Vec<RegionRecord>>,
    records_came: Notify,
    /// Serialises changes of the configuration, which are made of what was read before.
    pub(crate) config_change: tokio::sync::Mutex<()>,
}

impl Leading {
    fn new(term: u64, persisted_limit: TimeStamp) -> Self {
        Self {
            term,
            ended: CancelToken::new(),
            oracle: TimestampOracle::new(persisted_limit),
            window: tokio::sync::Mutex::new(()),
            renewing_window: AtomicBool::new(false),
            lease_until: AtomicU64::new(0),
            renewing_lease: AtomicBool::new(false),
            ids: tokio::sync::Mutex::new((0, 0)),
            streams: Mutex::default(),
            records: Mutex::default(),
            records_came: Notify::new(),
            config_change: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn extend_lease(&self, until: Instant) {
        self.lease_until.fetch_max(until.0.as_nanos() as u64, Ordering::AcqRel);
        self.renewing_lease.store(false, Ordering::Release);
    }

    pub(super) fn drop_lease(&self) {
        self.lease_until.store(0, Ordering::Release);
    }

    /// For how long the lease still holds.
    pub(super) fn lease_left(&self, now: Instant) -> Duration {
        Duration::from_nanos(self.lease_until.load(Ordering::Acquire)).saturating_sub(now.0)
    }

    /// Whether the caller is to renew the lease: one does at a time.
    pub(super) fn begin_renewing_lease(&self) -> bool {
        !self.renewing_lease.swap(true, Ordering::AcqRel)
    }

    pub(super) async fn timestamps(self: Arc<Self>, node: &Arc<Node>, count: u64) -> Result<TimeStamp> {
        loop {
            if let Some(ts) = self.try_timestamps(node, count) {
                return Ok(ts);
            }
            let _window = self.window.lock().await;
            // Another caller may have opened it meanwhile.
            if let Some(ts) = self.try_timestamps(node, count) {
                return Ok(ts);
            }
            self.extend_window(node).await?;
        }
    }

    fn try_timestamps(self: &Arc<Self>, node: &Arc<Node>, count: u64) -> Option<TimeStamp> {
        match self.oracle.next_batch(node.env.wall_ms(), count) {
            NextTimestamp::Ready { ts, renew } => {
                if renew && !self.renewing_window.swap(true, Ordering::AcqRel) {
                    let (leading, node) = (self.clone(), node.clone());
                    node.env.clone().spawn(async move {
                        let _window = leading.window.lock().await;
                        if let Err(error) = leading.extend_window(&node).await {
                            // Whoever finds the window used up tries again, and tells its caller.
                            tracing::warn!(%error, "could not open the next window of timestamps");
                        }
                        leading.renewing_window.store(false, Ordering::Release);
                    });
                }
                Some(ts)
            }
            NextTimestamp::WindowUsedUp => None,
        }
    }

    async fn extend_window(&self, node: &Node) -> Result<()> {
        let limit = self.oracle.next_limit(node.env.wall_ms());
        node.propose(Kind::ExtendTimestamps(ExtendTimestamps { limit: limit.0 })).await?;
        // Committed in whatever term: nobody who led before or leads later hands out anything of it but this member.
        if self.ended.reason().is_some() {
            return Err(Error::NoLeader);
        }
        self.oracle.open_window(limit);
        Ok(())
    }

    /// The greatest timestamp handed out, or possibly handed out by a predecessor.
    pub fn last_timestamp(&self) -> TimeStamp {
        self.oracle.last()
    }

    pub(super) async fn allocate_ids(&self, node: &Node, count: u64) -> Result<u64> {
        let mut ids = self.ids.lock().await;
        if ids.1 - ids.0 < count {
            let range = count.max(ID_RANGE);
            match node.propose(Kind::ReserveIds(ReserveIds { count: range })).await? {
                Answer::Ids { first, count } => *ids = (first, first + count),
                other => unreachable!("reserving ids answers ids, not {other:?}"),
            }
        }
        let first = ids.0;
        ids.0 += count;
        Ok(first)
    }

    /// Where to send orders for regions led by a store. A later stream of the same store replaces the earlier.
    pub fn open_stream(&self, store_id: u64, stream: mpsc::Sender<RegionHeartbeatResponse>) {
        self.streams.lock().insert(store_id, stream);
    }

    /// Does what the cluster wants done.
    pub(crate) fn carry_out(&self, node: &Arc<Node>, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { store_id, mut message } => {
                    message.header = Some(proto::pdpb::ResponseHeader { cluster_id: node.cluster_id(), error: None });
                    let mut streams = self.streams.lock();
                    if let Some(stream) = streams.get(&store_id)
                        && let Err(mpsc::error::TrySendError::Closed(_)) = stream.try_send(message)
                    {
                        // An order that was not delivered is given again with a later heartbeat.
                        streams.remove(&store_id);
                    }
                }
                Effect::Record(record) => {
                    self.records.lock().push(record);
                    self.records_came.notify_one();
                }
                Effect::ReserveIds(count) => {
                    let node = node.clone();
                    node.env.clone().spawn(async move {
                        let (first, count) = match node.propose(Kind::ReserveIds(ReserveIds { count })).await {
                            Ok(Answer::Ids { first, count }) => (first, count),
                            // Asked for again at the next tick.
                            _ => (0, 0),
                        };
                        node.write(|cluster| cluster.live.add_ids(first, count));
                    });
                }
                Effect::Propose(command) => {
                    let Some(kind) = command.kind else { continue };
                    let node = node.clone();
                    node.env.clone().spawn(async move {
                        if let Err(error) = node.propose(kind).await {
                            tracing::debug!(%error, "a command of the scheduler was not carried out");
                        }
                    });
                }
            }
        }
    }
}

/// Replicates news of regions, many in one command: what comes while one is under way goes with the next.
async fn replicate_records(node: Arc<Node>, leading: Arc<Leading>) {
    loop {
        tokio::select! {
            () = leading.records_came.notified() => {}
            _ = leading.ended.cancelled() => return,
        }
        loop {
            let regions: Vec<RegionRecord> = {
                let mut records = leading.records.lock();
                let count = records.len().min(RECORDS_AT_A_TIME);
                records.drain(..count).collect()
            };
            if regions.is_empty() {
                break;
            }
            if let Err(error) = node.propose(Kind::PutRegions(PutRegions { regions })).await {
                // The next heartbeat of each region brings its news again.
                tracing::debug!(%error, "news of regions were not replicated");
                break;
            }
        }
    }
}

/// Lets the cluster do what is due from time to time.
async fn schedule(node: Arc<Node>, leading: Arc<Leading>) {
    loop {
        tokio::select! {
            () = node.env.sleep(SCHEDULE_PAUSE) => {}
            _ = leading.ended.cancelled() => return,
        }
        let now = node.now();
        let effects = node.write(|cluster| cluster.tick(now));
        leading.carry_out(&node, effects);
    }
}

/// Begins to lead: all entries of earlier terms are applied.
pub(super) async fn establish(node: Arc<Node>, term: u64) {
    loop {
        match try_establish(&node, term).await {
            Ok(()) => return,
            Err(error) => {
                let status = node.status();
                if status.term != term || status.removed || matches!(error, Error::Stopped) {
                    return;
                }
                tracing::warn!(%error, term, "cannot begin to lead yet");
                node.env.sleep(super::TICK).await;
            }
        }
    }
}

async fn try_establish(node: &Arc<Node>, term: u64) -> Result<()> {
    if node.cluster_id() == 0 {
        let json = serde_json::to_string(&node.placement).expect("a configuration is representable in JSON");
        node.propose(Kind::PutConfig(PutConfig { json })).await?;
        // Clients keep ids in signed fields: one that fits them, and is not zero.
        let cluster_id = (node.env.random() >> 1).max(1);
        node.propose(Kind::SetClusterId(SetClusterId { cluster_id })).await?;
    }
    let leading = Arc::new(Leading::new(term, node.read(|cluster| cluster.state.timestamp_limit)));
    leading.extend_window(node).await?;
    if node.read(|cluster| cluster.state.members.get(&node.member.member_id) != Some(&node.member)) {
        node.propose(Kind::PutMember(PutMember { member: Some(node.member.clone()) })).await?;
    }
    let now = node.now();
    let seed = node.env.random();
    node.write(|cluster| cluster.live = Live::new(&cluster.state, now, seed));
    if !publish(node, &leading) {
        return Ok(());
    }
    node.env.spawn(replicate_records(node.clone(), leading.clone()));
    node.env.spawn(schedule(node.clone(), leading.clone()));
    tracing::info!(term, cluster_id = node.cluster_id(), "this member leads");
    Ok(())
}

/// Shows that this member leads, unless its term is over already.
fn publish(node: &Node, leading: &Arc<Leading>) -> bool {
    let mut slot = node.leading.write();
    node.status.send_if_modified(|status| {
        let current = status.term == leading.term && status.leader == node.member.member_id;
        if current {
            *slot = Some(leading.clone());
            status.leads = true;
        }
        current
    })
}
