//! What operators read and change, as JSON under `/pd/api/v1`, in the shapes their programs know.
//!
//! | module | pages |
//! |---|---|
//! | `members` | `members`, `leader`, `health`, `status`, `version` |
//! | `stores` | `stores`, `store/…` |
//! | `regions` | `regions`, `region/…`, `stats/region` |
//! | `ranking` | `regions/size` and other orders, `regions/check/…` |
//! | `hotspot` | `hotspot/…` |
//! | `operators` | `operators` |
//! | `schedulers` | `schedulers`, `scheduler-config/…` |
//! | `config` | `config`, `cluster`, `gc/safepoint` |
//!
//! A member that does not lead passes requests on, but for the pages that show itself. Errors are `{"error": …}` with a status of HTTP.

mod config;
mod hotspot;
mod members;
mod operators;
mod ranking;
mod regions;
mod schedulers;
mod stores;

use std::sync::Arc;

use axum::{
    Json, Router,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use serde_json::{Value, json};

use crate::{Error, node::Node};

/// Shared by all pages.
type Member = axum::extract::State<Arc<Node>>;
/// What a page answers.
type Page = Result<Json<Value>, Failure>;

/// An error as a page.
#[derive(Debug)]
struct Failure(Error);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            Error::NoLeader | Error::Stopped | Error::Unreachable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Error::StoreNotFound(_) | Error::RegionNotFound(_) | Error::NoRegionForKey | Error::NoOperator(_) => StatusCode::NOT_FOUND,
            Error::StoreTombstone(_) => StatusCode::GONE,
            Error::Invalid(_)
            | Error::StoreState { .. }
            | Error::Member { .. }
            | Error::NotScheduled { .. }
            | Error::NotBootstrapped
            | Error::AlreadyBootstrapped
            | Error::DuplicateAddress { .. }
            | Error::StaleRegion { .. }
            | Error::ServiceTooLate { .. }
            | Error::RegionsHaveHoles => StatusCode::BAD_REQUEST,
            Error::Engine(_)
            | Error::Corrupted { .. }
            | Error::WrongCluster { .. }
            | Error::File { .. }
            | Error::Damaged { .. }
            | Error::Log(_)
            | Error::Raft(_)
            | Error::Address { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(json!({ "error": self.0.to_string() }))).into_response()
    }
}

/// The pages of a member.
pub(crate) fn router(node: Arc<Node>) -> Router {
    let pages = Router::new()
        .route("/ping", get(|| async { "" }))
        .route("/members", get(members::list))
        .route("/members/name/{name}", delete(members::remove_by_name))
        .route("/members/id/{id}", delete(members::remove_by_id))
        .route("/leader", get(members::leader))
        .route("/leader/resign", post(members::resign))
        .route("/leader/transfer/{name}", post(members::transfer))
        .route("/health", get(members::health))
        .route("/status", get(members::status))
        .route("/version", get(members::version))
        .route("/stores", get(stores::list))
        .route("/stores/remove-tombstone", delete(stores::remove_tombstones))
        .route("/store/{id}", get(stores::one).delete(stores::take_offline))
        .route("/store/{id}/state", post(stores::set_state))
        .route("/store/{id}/label", post(stores::set_labels))
        .route("/labels", get(stores::labels))
        .route("/regions", get(regions::list))
        .route("/regions/key", get(regions::range))
        .route("/regions/store/{id}", get(regions::of_store))
        .route("/regions/sibling/{id}", get(regions::siblings))
        .route("/regions/check/{what}", get(ranking::check))
        .route("/regions/{order}", get(ranking::top))
        .route("/region/id/{id}", get(regions::by_id))
        .route("/region/key/{key}", get(regions::by_key))
        .route("/stats/region", get(regions::stats))
        .route("/hotspot/regions/read", get(hotspot::reads))
        .route("/hotspot/regions/write", get(hotspot::writes))
        .route("/hotspot/stores", get(hotspot::stores))
        .route("/operators", get(operators::list).post(operators::add))
        .route("/operators/{region}", get(operators::one).delete(operators::remove))
        .route("/schedulers", get(schedulers::list).post(schedulers::add))
        .route("/schedulers/{name}", delete(schedulers::remove).post(schedulers::halt))
        .route("/scheduler-config/{name}/list", get(schedulers::settings))
        .route("/config", get(config::all).post(config::set))
        .route("/config/schedule", get(config::schedule).post(config::set))
        .route("/config/replicate", get(config::replication).post(config::set))
        .route("/cluster", get(config::cluster))
        .route("/gc/safepoint", get(config::safe_points))
        .route("/gc/safepoint/{service}", delete(config::remove_safe_point));
    Router::new().nest("/pd/api/v1", pages).with_state(node)
}

/// Bytes as operators' programs write them.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02X}").expect("writing to a string does not fail");
        text
    })
}

/// The bytes of a text in hexadecimal.
fn from_hex(text: &str) -> Result<Vec<u8>, Error> {
    let invalid = Error::Invalid("a key is written in hexadecimal");
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return Err(invalid);
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| invalid.clone())).collect()
}
