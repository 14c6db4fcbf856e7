//! The placement driver, as a SQL server asks it.
//!
//! ```text
//!   endpoints, all at once ─▶ GetMembers ─▶ the leader's address ─▶ calls, until one fails ─▶ look for the leader again
//! ```
//!
//! Members that GetMembers names are asked too, so that the cluster is found although all members given at the start have been replaced.
//!
//! Invariants:
//! - All members spoken to are of one cluster: one with another id is refused.
//! - Connections belong to the runtime the client was made on, whoever asks.

use std::{sync::Arc, time::Duration};

use base::{ClusterId, TimeStamp};
use env::{BoxFuture, Env};
use futures_util::future::select_ok;
use parking_lot::Mutex;
use proto::{
    metapb,
    pdpb::{self, pd_client::PdClient as Stub},
};
use tokio::runtime::Handle;
use tonic::transport::{Channel, Endpoint};

use super::tso::TimestampQueue;
use crate::error::{Error, Result};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const CALL_TIMEOUT: Duration = Duration::from_secs(3);
/// Longer than the placement driver waits for splits.
const SPLIT_TIMEOUT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);
/// Time for a call with all its repetitions: longer than an election of the placement driver takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A connection to the placement driver's leader; cheap to clone.
#[derive(Clone)]
pub struct PdClient {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    env: Env,
    runtime: Handle,
    state: Mutex<State>,
    /// One looks for the leader, the others wait for what it finds.
    looking: tokio::sync::Mutex<()>,
    timestamps: Arc<TimestampQueue>,
}

struct State {
    endpoints: Vec<String>,
    leader: Option<Channel>,
    cluster_id: u64,
    gc_safe_point: TimeStamp,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.timestamps.close();
    }
}

impl std::fmt::Debug for PdClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.shared.state.lock();
        f.debug_struct("PdClient").field("cluster_id", &state.cluster_id).field("endpoints", &state.endpoints).finish()
    }
}

/// An endpoint as a URL.
fn url(endpoint: &str) -> String {
    if endpoint.contains("://") { endpoint.to_owned() } else { format!("http://{endpoint}") }
}

fn unavailable(reason: impl Into<String>) -> Error {
    Error::PdUnavailable { reason: reason.into() }
}

/// A refusal in an answer's header.
fn check(header: Option<&pdpb::ResponseHeader>) -> Result<()> {
    match header.and_then(|header| header.error.as_ref()) {
        Some(error) if error.r#type == pdpb::ErrorType::NotBootstrapped as i32 => Err(unavailable("the cluster has no store yet")),
        Some(error) if error.r#type != pdpb::ErrorType::Ok as i32 => {
            Err(Error::PdRefused { kind: error.r#type, message: error.message.clone() })
        }
        _ => Ok(()),
    }
}

/// A call to the leader that is repeated while there is none.
macro_rules! call {
    ($self:ident, $method:ident, |$header:ident| $request:expr) => {
        $self
            .repeat(|channel: Channel, header: pdpb::RequestHeader| {
                let $header = Some(header);
                let mut request = tonic::Request::new($request);
                request.set_timeout(CALL_TIMEOUT);
                Box::pin(async move {
                    let answer = Stub::new(channel).$method(request).await?.into_inner();
                    Ok(check(answer.header.as_ref()).map(|()| answer))
                })
            })
            .await
    };
}

impl PdClient {
    /// Looks for the cluster at `endpoints`, `host:port` or URLs. Its tasks and connections belong to the current tokio runtime.
    pub async fn connect(endpoints: Vec<String>, env: Env) -> Result<Self> {
        let state = State { endpoints, leader: None, cluster_id: 0, gc_safe_point: TimeStamp::ZERO };
        let timestamps = Arc::new(TimestampQueue::default());
        let shared = Shared {
            env,
            runtime: Handle::current(),
            state: Mutex::new(state),
            looking: tokio::sync::Mutex::default(),
            timestamps: timestamps.clone(),
        };
        let client = Self { shared: Arc::new(shared) };
        client.wait_for_stores().await?;
        let weak = Arc::downgrade(&client.shared);
        client.shared.runtime.spawn(async move { timestamps.serve(move || weak.upgrade().map(|shared| Self { shared })).await });
        Ok(client)
    }

    /// The cluster may be starting too: waits until it has a first store.
    async fn wait_for_stores(&self) -> Result<()> {
        let until = self.env().now() + PATIENCE * 3;
        loop {
            let answer = match call!(self, is_bootstrapped, |header| pdpb::IsBootstrappedRequest { header }) {
                Ok(answer) if answer.bootstrapped => return Ok(()),
                Ok(_) => unavailable("the cluster has no store yet"),
                Err(error) => error,
            };
            if self.env().now() >= until {
                return Err(answer);
            }
            self.env().sleep(PAUSE).await;
        }
    }

    /// The cluster's id.
    pub fn cluster_id(&self) -> ClusterId {
        ClusterId(self.shared.state.lock().cluster_id)
    }

    /// Where the members are that are known, as `host:port`.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let state = self.shared.state.lock();
        state.endpoints.iter().map(|endpoint| endpoint.trim_start_matches("http://").trim_end_matches('/').to_owned()).collect()
    }

    pub(super) fn env(&self) -> &Env {
        &self.shared.env
    }

    /// Where connections and tasks live.
    pub(super) fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    pub(super) fn header(&self) -> pdpb::RequestHeader {
        pdpb::RequestHeader { cluster_id: self.shared.state.lock().cluster_id, sender_id: 0 }
    }

    async fn connect_to(&self, endpoint: &str) -> Result<Channel> {
        let fail = |error: tonic::transport::Error| unavailable(format!("{endpoint}: {error}"));
        let target = Endpoint::from_shared(url(endpoint)).map_err(fail)?.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true);
        let target = target.http2_keep_alive_interval(Duration::from_secs(3)).keep_alive_timeout(Duration::from_secs(3));
        let connected = self.shared.runtime.spawn(async move { target.connect().await }).await;
        connected.map_err(|_| unavailable("the process is stopping"))?.map_err(fail)
    }

    /// The leader's channel, looked for where it is not known.
    pub(super) async fn leader(&self) -> Result<Channel> {
        let known = || self.shared.state.lock().leader.clone();
        if let Some(channel) = known() {
            return Ok(channel);
        }
        let _looking = self.shared.looking.lock().await;
        if let Some(channel) = known() {
            return Ok(channel);
        }
        let endpoints = self.shared.state.lock().endpoints.clone();
        if endpoints.is_empty() {
            return Err(unavailable("no endpoint was given"));
        }
        // One that is cut off keeps nobody waiting: the others are asked at the same time.
        let asked = endpoints.iter().map(|endpoint| Box::pin(self.ask_for_leader(endpoint)));
        select_ok(asked).await.map(|(channel, _)| channel)
    }

    async fn ask_for_leader(&self, endpoint: &str) -> Result<Channel> {
        let channel = self.connect_to(endpoint).await?;
        let mut request = tonic::Request::new(pdpb::GetMembersRequest::default());
        request.set_timeout(CALL_TIMEOUT);
        let answer = Stub::new(channel).get_members(request).await;
        let answer = answer.map_err(|status| unavailable(format!("{endpoint}: {}", status.message())))?.into_inner();
        let found = answer.header.as_ref().map_or(0, |header| header.cluster_id);
        let leader = answer.leader.and_then(|leader| leader.client_urls.into_iter().next());
        let leader = leader.ok_or_else(|| unavailable(format!("{endpoint}: no member leads")))?;
        let channel = self.connect_to(&leader).await?;
        let mut state = self.shared.state.lock();
        if state.cluster_id != 0 && state.cluster_id != found {
            return Err(Error::WrongCluster { endpoint: endpoint.to_owned(), ours: state.cluster_id, found });
        }
        state.cluster_id = found;
        for address in answer.members.into_iter().flat_map(|member| member.client_urls) {
            if !state.endpoints.iter().any(|known| url(known) == address) {
                state.endpoints.push(address);
            }
        }
        state.leader = Some(channel.clone());
        Ok(channel)
    }

    /// The leader did not answer as one: it is looked for again.
    pub(super) fn forget_leader(&self) {
        self.shared.state.lock().leader = None;
    }

    /// Calls the leader until it answers; refusals are answers.
    async fn repeat<T>(
        &self,
        call: impl Fn(Channel, pdpb::RequestHeader) -> BoxFuture<std::result::Result<Result<T>, tonic::Status>>,
    ) -> Result<T> {
        let until = self.env().now() + PATIENCE;
        loop {
            let failed = match self.leader().await {
                Ok(channel) => match call(channel, self.header()).await {
                    Ok(answer) => return answer,
                    Err(status) => {
                        self.forget_leader();
                        unavailable(status.message())
                    }
                },
                Err(error @ Error::WrongCluster { .. }) => return Err(error),
                Err(error) => error,
            };
            if self.env().now() >= until {
                return Err(failed);
            }
            self.env().sleep(PAUSE).await;
        }
    }

    /// A timestamp greater than all handed out before. Those who wait at the same time share a request.
    pub async fn timestamp(&self) -> Result<TimeStamp> {
        let waiting = self.shared.timestamps.wait();
        tokio::select! {
            timestamp = waiting => timestamp.ok_or_else(|| unavailable("the process is stopping")),
            () = self.env().sleep(PATIENCE) => Err(unavailable("no timestamp came in time")),
        }
    }

    /// A number that is never handed out again.
    pub async fn allocate_id(&self) -> Result<u64> {
        Ok(call!(self, alloc_id, |header| pdpb::AllocIdRequest { header })?.id)
    }

    /// The region that holds a key in the form of borders, with its leader; `None` when it is not known at the moment.
    pub(super) async fn region(&self, key: &[u8]) -> Result<Option<(metapb::Region, Option<metapb::Peer>)>> {
        let key = bytes::Bytes::copy_from_slice(key);
        let answer = call!(self, get_region, |header| pdpb::GetRegionRequest { header, region_key: key.clone(), need_buckets: false })?;
        Ok(answer.region.map(|region| (region, answer.leader)))
    }

    /// The region before the one that holds a key.
    pub(super) async fn previous_region(&self, key: &[u8]) -> Result<Option<(metapb::Region, Option<metapb::Peer>)>> {
        let key = bytes::Bytes::copy_from_slice(key);
        let answer =
            call!(self, get_prev_region, |header| pdpb::GetRegionRequest { header, region_key: key.clone(), need_buckets: false })?;
        Ok(answer.region.map(|region| (region, answer.leader)))
    }

    /// Where a store is; `None` when there is none of this id.
    pub(super) async fn store(&self, store_id: u64) -> Result<Option<metapb::Store>> {
        match call!(self, get_store, |header| pdpb::GetStoreRequest { header, store_id }) {
            Ok(answer) => Ok(answer.store),
            Err(Error::PdRefused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All stores but those that were removed for good.
    pub(super) async fn stores(&self) -> Result<Vec<metapb::Store>> {
        let request = |header| pdpb::GetAllStoresRequest { header, exclude_tombstone_stores: true };
        Ok(call!(self, get_all_stores, |header| request(header))?.stores)
    }

    /// Splits regions at borders and spreads them; answers how many begin at one of the borders then, and which part of them was spread.
    pub(crate) async fn split_and_scatter(&self, split_keys: Vec<bytes::Bytes>) -> Result<(usize, f64)> {
        let request =
            |header| pdpb::SplitAndScatterRegionsRequest { header: Some(header), split_keys: split_keys.clone(), ..Default::default() };
        let answer = self
            .repeat(|channel: Channel, header: pdpb::RequestHeader| {
                let mut request = tonic::Request::new(request(header));
                // It waits until the regions are split.
                request.set_timeout(SPLIT_TIMEOUT);
                Box::pin(async move {
                    let answer = Stub::new(channel).split_and_scatter_regions(request).await?.into_inner();
                    Ok(check(answer.header.as_ref()).map(|()| answer))
                })
            })
            .await?;
        Ok((answer.regions_id.len(), answer.scatter_finished_percentage as f64 / 100.0))
    }

    /// The safe point as it was when it was last asked for or set.
    pub fn known_gc_safe_point(&self) -> TimeStamp {
        self.shared.state.lock().gc_safe_point
    }

    fn note_gc_safe_point(&self, safe_point: u64) -> TimeStamp {
        let mut state = self.shared.state.lock();
        state.gc_safe_point = state.gc_safe_point.max(TimeStamp(safe_point));
        state.gc_safe_point
    }

    /// Asks for the cluster's safe point.
    pub async fn gc_safe_point(&self) -> Result<TimeStamp> {
        let answer = call!(self, get_gc_safe_point, |header| pdpb::GetGcSafePointRequest { header })?;
        Ok(self.note_gc_safe_point(answer.safe_point))
    }

    /// Moves the cluster's safe point; answers where it is then.
    pub async fn update_gc_safe_point(&self, safe_point: TimeStamp) -> Result<TimeStamp> {
        let request = |header| pdpb::UpdateGcSafePointRequest { header, safe_point: safe_point.0 };
        Ok(self.note_gc_safe_point(call!(self, update_gc_safe_point, |header| request(header))?.new_safe_point))
    }

    /// Keeps versions visible at `safe_point` and later from collection for `ttl` (zero: no longer) on behalf of a service; answers the least
    /// timestamp that any service wants kept.
    pub async fn update_service_safe_point(&self, service: &str, safe_point: TimeStamp, ttl: Duration) -> Result<TimeStamp> {
        let service_id = bytes::Bytes::copy_from_slice(service.as_bytes());
        let ttl = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX);
        let request =
            |header| pdpb::UpdateServiceGcSafePointRequest { header, service_id: service_id.clone(), ttl, safe_point: safe_point.0 };
        Ok(TimeStamp(call!(self, update_service_gc_safe_point, |header| request(header))?.min_safe_point))
    }
}
