//! The way to stores in other processes: which region a key lies in, who leads it, and asking again when that has changed.
//!
//! ```text
//!   request with keys ─▶ spread over regions (region cache, placement driver) ─▶ context ─▶ gRPC ─▶ leader's store
//!         ▲                                                                                           │
//!         └──────────── look again, wait a little ◀── region error, or no answer at all ◀─────────────┤
//!                                                                      answers put together ◀─────────┘
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | `pd_client`, `tso` | the placement driver: its leader, calls, timestamps many at a time |
//! | `pages` | the placement driver's pages for operators |
//! | `region_cache`, `locate` | regions by key; looking up what is not known |
//! | `stores`, `batch` | addresses and connections; many requests over one stream |
//! | `command`, `send` | one request to one region; what its refusal teaches |
//! | `spread`, `requests` | requests over many regions, and their answers made into one |
//! | `pushed_down` | ranges cut at the borders of regions; one page of a pushed-down plan |
//! | `patience` | how long an operation goes on trying |
//!
//! Invariants:
//! - Nothing but the public protocols is used: `pdpb.PD` and `tikvpb.Tikv`.
//! - An answer is one of the leader's at the epoch that was asked for; everything else is asked again.
//! - An operation that gives up says whether a request may have been carried out without an answer.

mod batch;
mod command;
mod locate;
mod pages;
mod patience;
mod pd_client;
mod pushed_down;
mod region_cache;
mod requests;
mod send;
mod spread;
mod stores;
mod tso;

use std::sync::Arc;

use env::Env;
use parking_lot::RwLock;

pub use self::{
    pages::{PageError, PdPages},
    pd_client::PdClient,
};
use self::{patience::Patience, region_cache::RegionCache, stores::Stores};
pub(crate) use self::{pushed_down::Ranges, region_cache::user_key};

/// The stores of a cluster, asked as if they were one; cheap to clone.
#[derive(Clone)]
pub struct ClusterStore {
    inner: Arc<Inner>,
}

struct Inner {
    pd: PdClient,
    env: Env,
    regions: RwLock<RegionCache>,
    stores: Stores,
}

impl std::fmt::Debug for ClusterStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterStore").field("pd", &self.inner.pd).finish_non_exhaustive()
    }
}

impl ClusterStore {
    /// The stores that a placement driver knows.
    pub fn new(pd: PdClient, env: Env) -> Self {
        let stores = Stores::new(pd.clone());
        Self { inner: Arc::new(Inner { pd, env, regions: RwLock::default(), stores }) }
    }

    /// The oldest timestamp that can be read, as it was when it was last asked for.
    pub(crate) fn safe_point(&self) -> base::TimeStamp {
        self.inner.pd.known_gc_safe_point()
    }

    fn patience(&self) -> Patience {
        Patience::new(&self.inner.env)
    }
}
