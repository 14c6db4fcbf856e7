//! What a server does by itself: garbage collection, statistics that have gone stale.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use base::ReadableDuration;
use client::GcOptions;
use tokio::task::JoinHandle;

use crate::{domain::Domain, vars::find};

/// How often garbage collection is looked at. A round is cheap when there is nothing to collect.
const GC_EVERY: Duration = Duration::from_secs(60);
/// How often counts of changed rows are looked at.
const STATS_EVERY: Duration = Duration::from_secs(30);

/// Starts the background tasks. They end when the domain is gone or aborts them.
pub(crate) fn start(domain: &Arc<Domain>) -> Vec<JoinHandle<()>> {
    let (gc, stats) = (Arc::downgrade(domain), Arc::downgrade(domain));
    vec![tokio::spawn(collect_garbage(gc)), tokio::spawn(refresh_statistics(stats))]
}

async fn collect_garbage(domain: Weak<Domain>) {
    loop {
        tokio::time::sleep(GC_EVERY).await;
        let Some(domain) = domain.upgrade() else { return };
        let variable = |name| find(name).map(|definition| domain.globals().get(definition)).unwrap_or_default();
        if variable("tidb_gc_enable") != "ON" {
            continue;
        }
        let life_time = variable("tidb_gc_life_time").parse::<ReadableDuration>().map_or(Duration::from_secs(600), |duration| duration.0);
        match domain.client().run_gc(&GcOptions { life_time, ..GcOptions::default() }).await {
            Ok(report) => tracing::debug!(safe_point = report.safe_point.0, "garbage collection"),
            Err(error) => tracing::warn!(%error, "garbage collection failed; it is tried again"),
        }
    }
}

async fn refresh_statistics(domain: Weak<Domain>) {
    loop {
        tokio::time::sleep(STATS_EVERY).await;
        let Some(domain) = domain.upgrade() else { return };
        for stats in domain.stats().take_changed() {
            if stats::needs_analyze(&stats)
                && let Err(error) = crate::analyze::analyze_table(&domain, stats.table).await
            {
                tracing::warn!(table = stats.table.0, %error, "statistics could not be refreshed; they are tried again");
            }
        }
    }
}
