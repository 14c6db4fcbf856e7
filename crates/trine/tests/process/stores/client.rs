//! A client that speaks the protocol of the stores and nothing else: it looks for the region of a key, asks its leader, and looks again when it is
//! told that it asked in the wrong place.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use bytes::Bytes;
use proto::{
    errorpb,
    kvrpcpb::*,
    metapb,
    pdpb::{self, pd_client::PdClient},
    tikvpb::tikv_client::TikvClient,
};
use tonic::{
    Request,
    transport::{Channel, Endpoint},
};

/// How long a request is repeated: longer than an election and the creation of a replica take.
const PATIENCE: Duration = Duration::from_secs(60);
const CALL_TIMEOUT: Duration = Duration::from_secs(2);

pub struct Client {
    pd_address: String,
    stores: HashMap<u64, TikvClient<Channel>>,
}

/// A call to a store, for the macro below.
macro_rules! call {
    ($self:ident, $key:expr, $method:ident, $request:expr) => {{
        let (key, started): (Vec<u8>, _) = ($key, Instant::now());
        loop {
            if let Some((context, store_id, mut store)) = $self.route(&key).await {
                let mut message = $request;
                message.context = Some(Box::new(context));
                let mut request = Request::new(message);
                request.set_timeout(CALL_TIMEOUT);
                match store.$method(request).await {
                    Ok(answer) => {
                        let answer = answer.into_inner();
                        match &answer.region_error {
                            None => break answer,
                            Some(error) => $self.note(error),
                        }
                    }
                    Err(_) => {
                        $self.stores.remove(&store_id);
                    }
                }
            }
            assert!(started.elapsed() < PATIENCE, "no answer for {:?}", String::from_utf8_lossy(&key));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }};
}

async fn connect(url: &str) -> Option<Channel> {
    Endpoint::from_shared(url.to_owned()).ok()?.connect_timeout(CALL_TIMEOUT).connect().await.ok()
}

fn encoded(key: &[u8]) -> Bytes {
    let mut out = Vec::new();
    codec::bytes::encode_bytes(&mut out, key);
    out.into()
}

impl Client {
    pub fn new(pd_address: &str) -> Self {
        Self { pd_address: pd_address.to_owned(), stores: HashMap::new() }
    }

    async fn pd(&self) -> PdClient<Channel> {
        PdClient::new(connect(&self.pd_address).await.expect("the placement driver is reached"))
    }

    async fn header(pd: &mut PdClient<Channel>) -> pdpb::RequestHeader {
        let members = pd.get_members(pdpb::GetMembersRequest::default()).await.expect("members").into_inner();
        pdpb::RequestHeader { cluster_id: members.header.map_or(0, |header| header.cluster_id), ..Default::default() }
    }

    /// The region of a key (in the form of borders), and its leader.
    pub async fn region(&self, key: &[u8]) -> Option<(metapb::Region, Option<metapb::Peer>)> {
        let mut pd = self.pd().await;
        let header = Some(Self::header(&mut pd).await);
        let request = pdpb::GetRegionRequest { header, region_key: key.to_vec().into(), ..Default::default() };
        let answer = pd.get_region(request).await.ok()?.into_inner();
        Some((answer.region?, answer.leader))
    }

    pub async fn timestamp(&self) -> u64 {
        let mut pd = self.pd().await;
        let header = Some(Self::header(&mut pd).await);
        let request = pdpb::TsoRequest { header, count: 1, ..Default::default() };
        let requests = tokio_stream::StreamExt::chain(tokio_stream::once(request), tokio_stream::pending());
        let mut answers = pd.tso(requests).await.expect("timestamps").into_inner();
        let stamp = answers.message().await.expect("an answer").expect("a timestamp").timestamp.expect("a timestamp");
        (stamp.physical as u64) << 18 | stamp.logical as u64
    }

    /// Where a store is reached.
    pub async fn address(&self, store_id: u64) -> Option<String> {
        let mut pd = self.pd().await;
        let header = Some(Self::header(&mut pd).await);
        let answer = pd.get_store(pdpb::GetStoreRequest { header, store_id }).await.ok()?.into_inner();
        Some(answer.store?.address)
    }

    /// Where the stores tell about themselves.
    pub async fn status_addresses(&self) -> Vec<String> {
        let mut pd = self.pd().await;
        let header = Some(Self::header(&mut pd).await);
        let answer = pd.get_all_stores(pdpb::GetAllStoresRequest { header, ..Default::default() }).await.expect("stores").into_inner();
        answer.stores.into_iter().map(|store| store.status_address).collect()
    }

    async fn route(&mut self, key: &[u8]) -> Option<(Context, u64, TikvClient<Channel>)> {
        let (region, leader) = self.region(key).await?;
        // While nobody leads any member is asked: it may know more, and wakes the others.
        let candidates = leader.into_iter().chain(region.peers.iter().copied());
        for peer in candidates {
            let Some(store) = self.store(peer.store_id).await else { continue };
            let context = Context { region_id: region.id, region_epoch: region.region_epoch, peer: Some(peer), ..Default::default() };
            return Some((context, peer.store_id, store));
        }
        None
    }

    async fn store(&mut self, store_id: u64) -> Option<TikvClient<Channel>> {
        if let Some(store) = self.stores.get(&store_id) {
            return Some(store.clone());
        }
        let address = self.address(store_id).await?;
        let store = TikvClient::new(connect(&format!("http://{address}")).await?);
        self.stores.insert(store_id, store.clone());
        Some(store)
    }

    /// Only errors that say where or when to ask again may come.
    fn note(&self, error: &errorpb::Error) {
        let known = error.not_leader.is_some()
            || error.epoch_not_match.is_some()
            || error.region_not_found.is_some()
            || error.stale_command.is_some()
            || error.read_index_not_ready.is_some()
            || error.max_timestamp_not_synced.is_some()
            || error.key_not_in_region.is_some()
            || error.server_is_busy.is_some()
            || error.store_not_match.is_some()
            || error.mismatch_peer_id.is_some();
        assert!(known, "{error:?}");
    }

    /// Writes one key in a transaction of one phase.
    pub async fn put(&mut self, key: &str, value: &str) -> u64 {
        let start_version = self.timestamp().await;
        let key = Bytes::copy_from_slice(key.as_bytes());
        let mutation = Mutation { op: Op::Put as i32, key: key.clone(), value: Bytes::copy_from_slice(value.as_bytes()), assertion: 0 };
        let answer = call!(
            self,
            encoded(&key).to_vec(),
            kv_prewrite,
            PrewriteRequest {
                mutations: vec![mutation.clone()],
                primary_lock: key.clone(),
                start_version,
                lock_ttl: 3000,
                try_one_pc: true,
                ..Default::default()
            }
        );
        assert!(answer.errors.is_empty(), "{:?}", answer.errors);
        assert!(answer.one_pc_commit_ts > start_version);
        answer.one_pc_commit_ts
    }

    pub async fn get(&mut self, key: &str) -> Option<String> {
        let version = self.timestamp().await;
        let key = Bytes::copy_from_slice(key.as_bytes());
        let answer = call!(self, encoded(&key).to_vec(), kv_get, GetRequest { key: key.clone(), version, ..Default::default() });
        assert!(answer.error.is_none(), "{:?}", answer.error);
        (!answer.not_found).then(|| String::from_utf8(answer.value.to_vec()).expect("text"))
    }

    /// Both phases, over keys of any regions.
    pub async fn put_both(&mut self, keys: [&str; 2], value: &str) {
        let start_version = self.timestamp().await;
        let primary = Bytes::copy_from_slice(keys[0].as_bytes());
        for key in keys {
            let key = Bytes::copy_from_slice(key.as_bytes());
            let mutation = Mutation { op: Op::Put as i32, key: key.clone(), value: Bytes::copy_from_slice(value.as_bytes()), assertion: 0 };
            let answer = call!(
                self,
                encoded(&key).to_vec(),
                kv_prewrite,
                PrewriteRequest {
                    mutations: vec![mutation.clone()],
                    primary_lock: primary.clone(),
                    start_version,
                    lock_ttl: 20_000,
                    ..Default::default()
                }
            );
            assert!(answer.errors.is_empty(), "{:?}", answer.errors);
        }
        let commit_version = self.timestamp().await;
        for key in keys {
            let key = Bytes::copy_from_slice(key.as_bytes());
            let request = CommitRequest { start_version, commit_version, keys: vec![key.clone()], ..Default::default() };
            let answer = call!(self, encoded(&key).to_vec(), kv_commit, request.clone());
            assert!(answer.error.is_none(), "{:?}", answer.error);
        }
    }

    /// Takes the pessimistic lock of a key for a transaction, without waiting; answers the transaction that has it otherwise.
    pub async fn lock(&mut self, key: &str, start_version: u64) -> Option<u64> {
        let key = Bytes::copy_from_slice(key.as_bytes());
        let mutation = Mutation { op: Op::PessimisticLock as i32, key: key.clone(), ..Default::default() };
        let request = PessimisticLockRequest {
            mutations: vec![mutation],
            primary_lock: key.clone(),
            start_version,
            for_update_ts: start_version,
            lock_ttl: 60_000,
            wait_timeout: -1,
            ..Default::default()
        };
        let answer = call!(self, encoded(&key).to_vec(), kv_pessimistic_lock, request.clone());
        let error = answer.errors.into_iter().next()?;
        Some(error.locked.expect("only locks are in the way").lock_version)
    }

    pub async fn raw_put(&mut self, key: &str, value: &str) {
        let (key, value) = (Bytes::copy_from_slice(key.as_bytes()), Bytes::copy_from_slice(value.as_bytes()));
        let request = RawPutRequest { key: key.clone(), value, ..Default::default() };
        let answer = call!(self, key.to_vec(), raw_put, request.clone());
        assert_eq!(answer.error, "");
    }

    pub async fn raw_scan(&mut self, start: &str, limit: u32) -> Vec<String> {
        let key = Bytes::copy_from_slice(start.as_bytes());
        let request = RawScanRequest { start_key: key.clone(), limit, ..Default::default() };
        let answer = call!(self, key.to_vec(), raw_scan, request.clone());
        answer.kvs.iter().map(|pair| String::from_utf8(pair.value.to_vec()).expect("text")).collect()
    }

    pub async fn raw_swap(&mut self, key: &str, previous: &str, value: &str) -> bool {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        let key = bytes(key);
        let request = RawCasRequest { key: key.clone(), previous_value: bytes(previous), value: bytes(value), ..Default::default() };
        call!(self, key.to_vec(), raw_compare_and_swap, request.clone()).succeed
    }

    /// Splits the region of a key at it.
    pub async fn split(&mut self, key: impl AsRef<[u8]>) -> Vec<metapb::Region> {
        let border = encoded(key.as_ref());
        let request = SplitRegionRequest { split_keys: vec![border.clone()], ..Default::default() };
        call!(self, border.to_vec(), split_region, request.clone()).regions
    }

    /// The members of the region of a key, when so many are full members and one leads.
    pub async fn leader_of(&mut self, key: &str, voters: usize) -> metapb::Peer {
        let started = Instant::now();
        loop {
            if let Some((region, Some(leader))) = self.region(&encoded(key.as_bytes())).await {
                let full = region.peers.iter().filter(|peer| peer.role == metapb::PeerRole::Voter as i32).count();
                if full >= voters {
                    return leader;
                }
            }
            assert!(started.elapsed() < PATIENCE, "the region of {key} has not got {voters} voters");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
