//! What a server does by itself: garbage collection, renewing locks, statistics that have gone stale.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use base::ReadableDuration;
use env::CancelToken;
use tokio::task::JoinHandle;

use crate::{Error, domain::Domain, vars::find};

/// How often it is looked whether a round of garbage collection is due (`tidb_gc_run_interval`).
const GC_LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the placement driver of a cluster is told what this server still reads, and how long that is good.
const HOLD_EVERY: Duration = Duration::from_secs(5);
const HOLD_FOR: Duration = Duration::from_secs(60);
/// How often counts of changed rows are looked at.
const STATS_EVERY: Duration = Duration::from_secs(30);

/// Starts the background tasks. They end when the domain is gone or aborts them.
pub(crate) fn start(domain: &Arc<Domain>) -> Vec<JoinHandle<()>> {
    let weak = || Arc::downgrade(domain);
    let mut tasks = vec![
        tokio::spawn(collect_garbage(weak())),
        tokio::spawn(destroy_dropped(weak())),
        tokio::spawn(refresh_statistics(weak())),
        tokio::spawn(renew_locks(weak())),
    ];
    if domain.catalog().servers().is_some() {
        tasks.push(tokio::spawn(hold_safe_point(weak())));
        tasks.push(tokio::spawn(crate::notices::follow(weak())));
        tasks.push(tokio::spawn(crate::peers::answer_questions(weak())));
    }
    tasks
}

/// Keeps the locks of transactions that live long from being taken for those of a dead client.
async fn renew_locks(domain: Weak<Domain>) {
    loop {
        let Some(pause) = domain.upgrade().map(|domain| domain.client().options().lock_ttl / 3) else { return };
        tokio::time::sleep(pause).await;
        let Some(domain) = domain.upgrade() else { return };
        domain.client().renew_locks().await;
    }
}

/// The name under which a server tells what it still reads.
pub(crate) fn service_name(server: i64) -> String {
    format!("trine-sql-{server}")
}

/// Keeps versions that this server still reads from being collected by another one.
async fn hold_safe_point(domain: Weak<Domain>) {
    loop {
        let Some(domain) = domain.upgrade() else { return };
        let Some(server) = domain.catalog().servers().map(catalog::Servers::id) else { return };
        if let Err(error) = domain.client().hold_safe_point(&service_name(server), HOLD_FOR).await {
            tracing::warn!(%error, "the placement driver does not know what this server reads; it is told again");
        }
        drop(domain);
        tokio::time::sleep(HOLD_EVERY).await;
    }
}

/// Whether a round of garbage collection is due that was last begun at `last`, which it then sets.
fn is_due(domain: &Domain, last: &mut tokio::time::Instant) -> bool {
    let due =
        last.elapsed() >= duration(domain, "tidb_gc_run_interval", Duration::from_secs(60)) && variable(domain, "tidb_gc_enable") == "ON";
    if due {
        *last = tokio::time::Instant::now();
    }
    due
}

fn variable(domain: &Domain, name: &str) -> String {
    find(name).map(|definition| domain.globals().get(definition)).unwrap_or_default()
}

fn duration(domain: &Domain, name: &str, default: Duration) -> Duration {
    variable(domain, name).parse::<ReadableDuration>().map_or(default, |duration| duration.0)
}

async fn collect_garbage(domain: Weak<Domain>) {
    let mut last = tokio::time::Instant::now();
    loop {
        tokio::time::sleep(GC_LOOK_EVERY).await;
        let Some(domain) = domain.upgrade() else { return };
        if !is_due(&domain, &mut last) {
            continue;
        }
        match domain.client().run_gc(duration(&domain, "tidb_gc_life_time", Duration::from_secs(600))).await {
            Ok(report) => tracing::debug!(safe_point = report.safe_point.0, resolved_locks = report.resolved_locks, "garbage collection"),
            Err(error) => tracing::warn!(%error, "garbage collection failed; it is tried again"),
        }
    }
}

/// Dropped tables go beside the rounds of garbage collection: a round may compact for long, and on a full disk what a table gives back is
/// waited for.
async fn destroy_dropped(domain: Weak<Domain>) {
    let mut last = tokio::time::Instant::now();
    loop {
        tokio::time::sleep(GC_LOOK_EVERY).await;
        let Some(domain) = domain.upgrade() else { return };
        if is_due(&domain, &mut last)
            && let Err(error) = domain.ddl().destroy_old_ranges().await
        {
            tracing::warn!(%error, "data of dropped tables could not be removed; it is tried again");
        }
    }
}

/// Removes the statistics of tables that are gone, in memory and in the store.
pub(crate) async fn forget_dropped_tables(domain: &Domain) -> Result<(), Error> {
    let schema = domain.catalog().current();
    let gone = domain.stats().retain(|table| schema.table_ref(table).is_some());
    Ok(stats::store::remove(domain.client(), &gone).await?)
}

async fn refresh_statistics(domain: Weak<Domain>) {
    loop {
        tokio::time::sleep(STATS_EVERY).await;
        let Some(domain) = domain.upgrade() else { return };
        if let Err(error) = forget_dropped_tables(&domain).await {
            tracing::warn!(%error, "statistics of dropped tables could not be removed; the next start removes them");
        }
        let changed = domain.stats().take_changed();
        if let Err(error) = stats::store::save_counts(domain.client(), &changed).await {
            tracing::warn!(%error, "row counts could not be stored; they are tried again");
        }
        for stats in changed.iter().filter(|stats| stats::needs_analyze(stats)) {
            if let Err(error) = crate::analyze::analyze_table(&domain, stats.table, CancelToken::never()).await {
                tracing::warn!(table = stats.table.0, %error, "statistics could not be refreshed; they are tried again");
            }
        }
    }
}
