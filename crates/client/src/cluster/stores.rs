//! Addresses of stores and connections to them.
//!
//! A store has a few connections, taken in turn, so that no single one is the bottleneck. They connect when they are first used and again after
//! a loss; a store that did not answer is looked up again, since it may have come back at another address.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::RwLock;
use proto::{metapb::StoreState, tikvpb::tikv_client::TikvClient};
use rustc_hash::FxHashMap;
use tonic::transport::{Channel, Endpoint};

use super::{batch::BatchStream, pd_client::PdClient};
use crate::error::{Error, Result};

const CONNECTIONS: usize = 2;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A store that does not answer a ping for the second time while requests are under way is not there.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// Largest answer.
const MAX_MESSAGE_BYTES: usize = 128 << 20;

pub(super) type Stub = TikvClient<Channel>;

/// A connection to a store.
#[derive(Clone)]
pub(super) struct Connection {
    /// For calls by themselves.
    pub stub: Stub,
    /// For those that share messages.
    pub batch: BatchStream,
}

/// Connections to one store.
struct Connections {
    list: Vec<Connection>,
    next: AtomicUsize,
}

/// The stores of the cluster.
pub(super) struct Stores {
    pd: PdClient,
    known: RwLock<FxHashMap<u64, Arc<Connections>>>,
}

impl Stores {
    pub(super) fn new(pd: PdClient) -> Self {
        Self { pd, known: RwLock::default() }
    }

    /// A connection to a store.
    pub(super) async fn connection(&self, store_id: u64) -> Result<Connection> {
        let known = self.known.read().get(&store_id).cloned();
        let connections = match known {
            Some(connections) => connections,
            None => self.look_up(store_id).await?,
        };
        let turn = connections.next.fetch_add(1, Ordering::Relaxed);
        Ok(connections.list[turn % connections.list.len()].clone())
    }

    async fn look_up(&self, store_id: u64) -> Result<Arc<Connections>> {
        let unavailable = |reason: String| Error::StoreUnavailable { reason, unanswered: false };
        let store = self.pd.store(store_id).await?.filter(|store| store.state != StoreState::Tombstone as i32);
        let store = store.ok_or_else(|| unavailable(format!("the placement driver knows no store {store_id}")))?;
        let endpoint = Endpoint::from_shared(format!("http://{}", store.address));
        let endpoint = endpoint.map_err(|error| unavailable(format!("{}: {error}", store.address)))?;
        let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT).tcp_nodelay(true).http2_keep_alive_interval(KEEP_ALIVE);
        let endpoint = endpoint.keep_alive_timeout(KEEP_ALIVE).initial_stream_window_size(4 << 20).initial_connection_window_size(16 << 20);
        // The connection's task belongs to the client's runtime, not to whoever came first.
        let _runtime = self.pd.runtime().enter();
        let stub = || {
            TikvClient::new(endpoint.connect_lazy())
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES)
        };
        let connection = |_| {
            let stub = stub();
            Connection { batch: BatchStream::open(stub.clone(), self.pd.runtime()), stub }
        };
        let connections = Arc::new(Connections { list: (0..CONNECTIONS).map(connection).collect(), next: AtomicUsize::new(0) });
        Ok(self.known.write().entry(store_id).or_insert(connections).clone())
    }

    /// The store did not answer, or another one has its address: it is looked up again.
    pub(super) fn forget(&self, store_id: u64) {
        self.known.write().remove(&store_id);
    }
}
