//! Keeping up with the other servers of a cluster: the stored schema version and notices are looked at several times a second.
//!
//! ```text
//!   look ─▶ newer schema? reload ─▶ record changed, or lease half over? renew ─▶ notices changed? tell ─▶ rest, briefly after a change
//! ```

use std::{sync::Weak, time::Duration};

use base::TimeStamp;
use client::SnapshotOptions;
use codec::meta::value_key;
use serde::{Deserialize, Serialize};

use crate::{
    Catalog, Result,
    catalog::Inner,
    meta::keys,
    servers::{LEASE, Servers},
};

/// Pause between two looks when nothing happens.
const QUIET: Duration = Duration::from_millis(250);
/// Pause while the schema changes: changes come in steps.
const BUSY: Duration = Duration::from_millis(30);
/// How long after a change the next one is expected.
const EXPECT: Duration = Duration::from_secs(2);

/// Counts changes that all servers have to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notices {
    /// Changes of accounts and privileges.
    pub accounts: u64,
    /// Changes of global variables.
    pub variables: u64,
    /// Questions that servers have asked others.
    #[serde(default)]
    pub questions: u64,
}

/// What was told last.
struct Told {
    version: u64,
    behind: Vec<(base::TableId, u64)>,
    at: env::Instant,
}

/// Follows the others as long as the catalog lives.
pub(crate) async fn follow(catalog: Weak<Inner>, servers: Servers) {
    let mut told: Option<Told> = None;
    let mut changed: Option<env::Instant> = None;
    loop {
        let Some(inner) = catalog.upgrade() else { return };
        let catalog = Catalog { inner };
        let env = catalog.client().env().clone();
        match look(&catalog, &servers, &mut told).await {
            Ok(true) => changed = Some(env.now()),
            Ok(false) => {}
            Err(error) => tracing::info!(%error, "could not keep up with the other servers; trying again"),
        }
        drop(catalog);
        let is_busy = changed.is_some_and(|at| env.now() < at + EXPECT);
        env.sleep(if is_busy { BUSY } else { QUIET }).await;
    }
}

/// One look; whether anything has changed.
async fn look(catalog: &Catalog, servers: &Servers, told: &mut Option<Told>) -> Result<bool> {
    let before = catalog.version();
    let newest: u64 = newest_value(catalog, keys::SCHEMA_VERSION).await?.unwrap_or(0);
    let version = if newest > before { catalog.reload().await? } else { before };
    let behind = catalog.mdl().uses_behind(&catalog.current());
    let now = catalog.client().env().now();
    let has_news = servers.take_news();
    let is_due =
        has_news || told.as_ref().is_none_or(|told| told.version != version || told.behind != behind || now >= told.at + LEASE / 3);
    if is_due {
        if servers.has_lapsed(catalog.client().timestamp().await?) {
            // The others may have gone on: what began before must not commit by what it knew.
            let floor = catalog.client().timestamp().await?;
            tracing::warn!("this server has not renewed its lease in time; transactions begun before {floor} cannot commit any more");
            catalog.client().set_commit_floor(floor);
            catalog.reload().await?;
        }
        servers.renew(version, behind.clone()).await?;
        *told = Some(Told { version, behind, at: now });
    }
    let notices: Notices = newest_value(catalog, keys::NOTICES).await?.unwrap_or_default();
    catalog.inner.notices.send_if_modified(|known| std::mem::replace(known, notices) != notices);
    Ok(version != before)
}

/// The newest committed state of a value: one key needs no timestamp.
async fn newest_value<T: serde::de::DeserializeOwned>(catalog: &Catalog, name: &[u8]) -> Result<Option<T>> {
    let key = value_key(name);
    match catalog.client().snapshot(TimeStamp::MAX, SnapshotOptions::default()).get(&key).await? {
        Some(value) => crate::meta::decode(&key, &value).map(Some),
        None => Ok(None),
    }
}
