//! What the placement driver knows and decides, without input or output.
//!
//! | module | what it is |
//! |---|---|
//! | `state` | what all members replicate; commands and their effect |
//! | `region`, `region_tree` | regions by key, id and store |
//! | `config` | what operators can set |
//! | `store` | what the leading member sees of a store: health, space, budget |
//! | `isolation` | how far apart replicas stand |
//! | `operator`, `controller` | what is to happen with a region, step by step; what is under way |
//! | `checker` | repairs one region |
//! | `merge_checker` | finds a neighbour for a region that is small |
//! | `hot`, `scheduler` | balance of the whole cluster |
//! | `view` | what checkers and schedulers look at |
//! | `cluster` | heartbeats in, effects out |
//!
//! Time comes in as an argument, randomness from a seed, and what is to be done goes out as [`Effect`]s.

mod checker;
pub mod cluster;
pub mod config;
pub mod controller;
pub mod hot;
mod isolation;
mod merge_checker;
pub mod operator;
pub mod region;
pub mod region_tree;
pub mod scheduler;
pub mod state;
pub mod store;
pub mod view;

pub use cluster::{Cluster, Effect};
pub use config::PlacementConfig;
pub use region::RegionInfo;
pub use state::{Answer, State};
