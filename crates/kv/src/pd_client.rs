//! The placement driver, as a store asks it.
//!
//! ```text
//!   endpoints, all at once ─▶ GetMembers ─▶ the leader's address ─▶ calls, until one fails ─▶ look for the leader again
//! ```
//!
//! A member that is cut off says nothing, not even that a connection has ended: connections are asked for signs of life, also where nothing is awaited, as on
//! the stream of heartbeats, and one that is silent keeps nobody waiting who asks the others. Calls are repeated for a bounded time; what goes on in the background (heartbeats) is simply done again at its next turn.

use std::{sync::Arc, time::Duration};

use base::TimeStamp;
use env::{BoxFuture, Env};
use futures_util::future::select_ok;
use parking_lot::Mutex;
use proto::{
    metapb::{Region, Store},
    pdpb::{self, pd_client::PdClient as Stub},
};
use raftstore::SplitIds;
use tonic::transport::{Channel, Endpoint};

use crate::{
    commands::SplitIdSource,
    error::{Error, Result},
    storages::Oracle,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const CALL_TIMEOUT: Duration = Duration::from_secs(3);
/// Between two looks whether a connection is alive, and for the answer.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// Attempts of a call, with a pause between two; together longer than an election of the placement driver takes.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(250);
/// Attempts when a client waits for the answer.
const ATTEMPTS_FOR_CLIENTS: u32 = 8;

/// A connection to the placement driver's leader; cheap to clone.
#[derive(Clone)]
pub struct PdClient {
    shared: Arc<Shared>,
}

struct Shared {
    endpoints: Vec<String>,
    env: Env,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    leader: Option<Channel>,
    cluster_id: u64,
    store_id: u64,
}

/// An endpoint as a URL.
fn url(endpoint: &str) -> String {
    if endpoint.contains("://") { endpoint.to_owned() } else { format!("http://{endpoint}") }
}

async fn connect(endpoint: &str) -> Result<Channel> {
    let fail = |error: tonic::transport::Error| Error::Address { address: endpoint.to_owned(), reason: error.to_string() };
    let endpoint = Endpoint::from_shared(url(endpoint)).map_err(fail)?.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true);
    let endpoint = endpoint.http2_keep_alive_interval(KEEP_ALIVE).keep_alive_timeout(KEEP_ALIVE).keep_alive_while_idle(true);
    endpoint.connect().await.map_err(fail)
}

/// A refusal in an answer's header.
fn check(what: &'static str, header: Option<&pdpb::ResponseHeader>) -> Result<()> {
    match header.and_then(|header| header.error.as_ref()) {
        Some(error) if error.r#type != pdpb::ErrorType::Ok as i32 => {
            Err(Error::Refused { what, kind: error.r#type, message: error.message.clone() })
        }
        _ => Ok(()),
    }
}

macro_rules! call {
    ($self:ident, $attempts:expr, $what:literal, $method:ident, |$header:ident| $request:expr) => {
        $self
            .repeat($attempts, |channel: Channel, header: pdpb::RequestHeader| {
                let $header = Some(header);
                let mut request = tonic::Request::new($request);
                request.set_timeout(CALL_TIMEOUT);
                Box::pin(async move {
                    let answer = Stub::new(channel).$method(request).await?.into_inner();
                    Ok(check($what, answer.header.as_ref()).map(|()| answer))
                })
            })
            .await
    };
}

impl PdClient {
    /// A client of the members at `endpoints`; connects with the first call.
    pub fn new(endpoints: Vec<String>, env: Env) -> Self {
        Self { shared: Arc::new(Shared { endpoints, env, state: Mutex::default() }) }
    }

    /// Stores say who they are from now on.
    pub fn set_store_id(&self, store_id: u64) {
        self.shared.state.lock().store_id = store_id;
    }

    /// The cluster's id; zero before the first answer.
    pub fn cluster_id(&self) -> u64 {
        self.shared.state.lock().cluster_id
    }

    fn header(&self) -> pdpb::RequestHeader {
        let state = self.shared.state.lock();
        pdpb::RequestHeader { cluster_id: state.cluster_id, sender_id: state.store_id }
    }

    /// The leader's channel, looked for where it is not known.
    pub(crate) async fn leader(&self) -> Result<Channel> {
        if let Some(channel) = self.shared.state.lock().leader.clone() {
            return Ok(channel);
        }
        let nobody = |reason: String| Error::NoPlacementDriver { endpoints: self.shared.endpoints.join(","), reason };
        if self.shared.endpoints.is_empty() {
            return Err(nobody("no endpoint was given".to_owned()));
        }
        let asked = self.shared.endpoints.iter().map(|endpoint| Box::pin(self.ask_for_leader(endpoint)));
        select_ok(asked).await.map(|(channel, _)| channel).map_err(|error| nobody(error.to_string()))
    }

    /// Waits for a leader at start: the placement driver may be starting too.
    pub async fn leader_within_patience(&self) -> Result<()> {
        let mut attempt = 0;
        loop {
            match self.leader().await {
                Ok(_) => return Ok(()),
                Err(error) if attempt >= ATTEMPTS * 2 => return Err(error),
                Err(error) => {
                    if attempt == 0 {
                        tracing::info!(%error, "waiting for the placement driver");
                    }
                    attempt += 1;
                    self.shared.env.sleep(PAUSE).await;
                }
            }
        }
    }

    async fn ask_for_leader(&self, endpoint: &str) -> Result<Channel> {
        let fail = |reason: String| Error::Address { address: endpoint.to_owned(), reason };
        let channel = connect(endpoint).await?;
        let mut request = tonic::Request::new(pdpb::GetMembersRequest::default());
        request.set_timeout(CALL_TIMEOUT);
        let answer = Stub::new(channel).get_members(request).await.map_err(|status| fail(status.message().to_owned()))?.into_inner();
        let cluster_id = answer.header.as_ref().map_or(0, |header| header.cluster_id);
        let leader = answer.leader.and_then(|leader| leader.client_urls.into_iter().next());
        let channel = connect(&leader.ok_or_else(|| fail("no member leads".to_owned()))?).await?;
        let mut state = self.shared.state.lock();
        state.cluster_id = cluster_id;
        state.leader = Some(channel.clone());
        Ok(channel)
    }

    /// The leader did not answer as one: it is looked for again.
    pub(crate) fn forget_leader(&self) {
        self.shared.state.lock().leader = None;
    }

    /// Calls the leader until it answers; refusals are answers.
    async fn repeat<T>(
        &self,
        attempts: u32,
        call: impl Fn(Channel, pdpb::RequestHeader) -> BoxFuture<Result<Result<T>, tonic::Status>>,
    ) -> Result<T> {
        let mut last = Error::Stopped;
        for attempt in 0..attempts {
            if attempt > 0 {
                self.shared.env.sleep(PAUSE).await;
            }
            match self.leader().await {
                Ok(channel) => match call(channel, self.header()).await {
                    Ok(answer) => return answer,
                    Err(status) => {
                        self.forget_leader();
                        let endpoints = self.shared.endpoints.join(",");
                        last = Error::NoPlacementDriver { endpoints, reason: status.message().to_owned() };
                    }
                },
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// A number that is never handed out again.
    pub async fn alloc_id(&self) -> Result<u64> {
        Ok(call!(self, ATTEMPTS, "an id", alloc_id, |header| pdpb::AllocIdRequest { header })?.id)
    }

    /// Whether the cluster has its first region.
    pub async fn is_bootstrapped(&self) -> Result<bool> {
        Ok(call!(self, ATTEMPTS, "the state of the cluster", is_bootstrapped, |header| pdpb::IsBootstrappedRequest { header })?
            .bootstrapped)
    }

    /// Makes `region` on `store` the cluster's first; false when another store was faster.
    pub async fn bootstrap(&self, store: &Store, region: &Region) -> Result<bool> {
        let request = |header| pdpb::BootstrapRequest { header, store: Some(store.clone()), region: Some(region.clone()) };
        match call!(self, ATTEMPTS, "the bootstrap", bootstrap, |header| request(header)) {
            Ok(_) => Ok(true),
            Err(Error::Refused { kind, .. }) if kind == pdpb::ErrorType::AlreadyBootstrapped as i32 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Tells where a store is reached.
    pub async fn put_store(&self, store: &Store) -> Result<()> {
        let request = |header| pdpb::PutStoreRequest { header, store: Some(store.clone()) };
        call!(self, ATTEMPTS, "the store", put_store, |header| request(header)).map(|_| ())
    }

    /// Where a store is reached.
    pub async fn store(&self, store_id: u64) -> Result<Option<Store>> {
        let request = |header| pdpb::GetStoreRequest { header, store_id };
        Ok(call!(self, ATTEMPTS_FOR_CLIENTS, "a store", get_store, |header| request(header))?.store)
    }

    /// A region by its id, as the placement driver knows it.
    pub async fn region_by_id(&self, region_id: u64) -> Result<Option<Region>> {
        let request = |header| pdpb::GetRegionByIdRequest { header, region_id, need_buckets: false };
        match call!(self, ATTEMPTS, "a region", get_region_by_id, |header| request(header)) {
            Ok(answer) => Ok(answer.region),
            Err(Error::Refused { kind, .. }) if kind == pdpb::ErrorType::RegionNotFound as i32 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says that a store lives, and how it is.
    pub async fn store_heartbeat(&self, stats: pdpb::StoreStats) -> Result<()> {
        let request = |header| pdpb::StoreHeartbeatRequest { header, stats: Some(stats.clone()) };
        call!(self, 1, "the heartbeat", store_heartbeat, |header| request(header)).map(|_| ())
    }

    /// The timestamp below which nothing is read any more.
    pub async fn gc_safe_point(&self) -> Result<TimeStamp> {
        Ok(TimeStamp(call!(self, 1, "the safe point", get_gc_safe_point, |header| pdpb::GetGcSafePointRequest { header })?.safe_point))
    }

    /// Tells of regions that came from one.
    pub async fn report_batch_split(&self, regions: Vec<Region>) -> Result<()> {
        let request = |header| pdpb::ReportBatchSplitRequest { header, regions: regions.clone() };
        call!(self, 1, "the split", report_batch_split, |header| request(header)).map(|_| ())
    }

    async fn ask_batch_split(&self, region: &Region, split_count: u32) -> Result<Vec<SplitIds>> {
        let request = |header| pdpb::AskBatchSplitRequest { header, region: Some(region.clone()), split_count, ..Default::default() };
        let answer = call!(self, ATTEMPTS_FOR_CLIENTS, "ids for a split", ask_batch_split, |header| request(header))?;
        Ok(answer.ids.into_iter().map(|id| SplitIds { region_id: id.new_region_id, peer_ids: id.new_peer_ids }).collect())
    }

    async fn one_timestamp(&self) -> Result<TimeStamp> {
        self.repeat(ATTEMPTS_FOR_CLIENTS, |channel, header| Box::pin(ask_for_timestamp(channel, header))).await
    }
}

async fn ask_for_timestamp(channel: Channel, header: pdpb::RequestHeader) -> Result<Result<TimeStamp>, tonic::Status> {
    let request = pdpb::TsoRequest { header: Some(header), count: 1, ..Default::default() };
    // The stream stays open until the answer is there: its end would be the end of the call.
    let requests = tokio_stream::StreamExt::chain(tokio_stream::once(request), tokio_stream::pending());
    let ask = async {
        let mut answers = Stub::new(channel).tso(requests).await?.into_inner();
        answers.message().await?.ok_or_else(|| tonic::Status::unavailable("the stream of timestamps has ended"))
    };
    let answer = tokio::time::timeout(CALL_TIMEOUT, ask).await.unwrap_or(Err(tonic::Status::deadline_exceeded("no timestamp came")))?;
    let stamp = answer.timestamp.unwrap_or_default();
    let timestamp = TimeStamp::compose(u64::try_from(stamp.physical).unwrap_or(0), u64::try_from(stamp.logical).unwrap_or(0));
    Ok(check("a timestamp", answer.header.as_ref()).map(|()| timestamp))
}

impl Oracle for PdClient {
    fn timestamp(&self) -> BoxFuture<Option<TimeStamp>> {
        let client = self.clone();
        Box::pin(async move { client.one_timestamp().await.ok().filter(|timestamp| timestamp.0 > 0) })
    }
}

impl SplitIdSource for PdClient {
    fn split_ids(&self, region: Region, count: u32) -> BoxFuture<Option<Vec<SplitIds>>> {
        let client = self.clone();
        Box::pin(async move {
            match client.ask_batch_split(&region, count).await {
                Ok(ids) => Some(ids),
                Err(error) => {
                    tracing::warn!(region_id = region.id, %error, "no ids for a split");
                    None
                }
            }
        })
    }
}
