//! The statistics of one server: what planners read and what DML reports.
//!
//! Reading is one map look-up under a read lock and an `Arc` clone. DML adds its row counts to atomics without taking any lock that
//! a planner could wait for; they are folded into the published statistics now and then, and written down by
//! [`StatsCache::take_deltas`]'s caller.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use base::TableId;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use crate::TableStats;

/// A table is analyzed anew once this share of its rows has changed …
const AUTO_ANALYZE_RATIO: f64 = 0.5;
/// … and it has at least this many rows.
const AUTO_ANALYZE_MIN_ROWS: f64 = 1000.0;
/// Changes are folded into the published row count once there are this many of them or this share of the rows.
const FOLD_CHANGES: f64 = 1000.0;
const FOLD_RATIO: f64 = 0.1;

/// Changes of a table's rows that are not in its [`TableStats`] yet.
#[derive(Debug, Default)]
struct Delta {
    rows: AtomicI64,
    modified: AtomicU64,
}

#[derive(Default)]
struct Entry {
    stats: Option<Arc<TableStats>>,
    delta: Arc<Delta>,
    /// Changes were folded in that nobody has taken to write them down.
    changed: bool,
}

/// Called with a table that should be analyzed anew.
type StaleHook = Arc<dyn Fn(TableId) + Send + Sync>;

#[derive(Default)]
struct Inner {
    tables: RwLock<FxHashMap<TableId, Entry>>,
    on_stale: RwLock<Option<StaleHook>>,
}

/// The statistics of one server; clones share them.
#[derive(Clone, Default)]
pub struct StatsCache {
    inner: Arc<Inner>,
}

impl StatsCache {
    /// What is known about a table; pseudo statistics when nothing is.
    pub fn get(&self, table: TableId) -> Arc<TableStats> {
        match self.inner.tables.read().get(&table) {
            Some(Entry { stats: Some(stats), .. }) => Arc::clone(stats),
            _ => Arc::new(TableStats::pseudo(table)),
        }
    }

    /// Publishes statistics of a table.
    pub fn put(&self, stats: TableStats) {
        let mut tables = self.inner.tables.write();
        let entry = tables.entry(stats.table).or_default();
        entry.stats = Some(Arc::new(stats));
    }

    /// Forgets a table that is gone.
    pub fn remove(&self, table: TableId) {
        self.inner.tables.write().remove(&table);
    }

    /// Forgets all tables but those that `is_there` knows; answers which were forgotten.
    pub fn retain(&self, is_there: impl Fn(TableId) -> bool) -> Vec<TableId> {
        let mut tables = self.inner.tables.write();
        let gone: Vec<TableId> = tables.keys().copied().filter(|table| !is_there(*table)).collect();
        gone.iter().for_each(|table| drop(tables.remove(table)));
        gone
    }

    /// Counts the effect of a committed statement or transaction: rows added (or, negative, removed) and rows touched in any way.
    pub fn record_changes(&self, table: TableId, rows: i64, modified: u64) {
        let known = self.inner.tables.read().get(&table).map(|entry| (Arc::clone(&entry.delta), entry.stats.clone()));
        let (delta, stats) = match known {
            Some(known) => known,
            None => (Arc::clone(&self.inner.tables.write().entry(table).or_default().delta), None),
        };
        delta.rows.fetch_add(rows, Ordering::Relaxed);
        let waiting = delta.modified.fetch_add(modified, Ordering::Relaxed) + modified;
        let rows_known = stats.map_or(0.0, |stats| stats.row_count);
        if waiting as f64 >= FOLD_CHANGES.max(FOLD_RATIO * rows_known) {
            self.fold(table);
        }
    }

    /// Adds the waiting changes of a table to its published statistics.
    pub fn fold(&self, table: TableId) {
        let stale = {
            let mut tables = self.inner.tables.write();
            let Some(entry) = tables.get_mut(&table) else { return };
            let rows = entry.delta.rows.swap(0, Ordering::Relaxed) as f64;
            let modified = entry.delta.modified.swap(0, Ordering::Relaxed) as f64;
            let mut stats = match &entry.stats {
                Some(stats) => TableStats::clone(stats),
                // A table that was empty when this server first heard of it.
                None => TableStats { row_count: 0.0, ..TableStats::pseudo(table) },
            };
            stats.row_count = (stats.row_count + rows).max(0.0);
            stats.modify_count += modified;
            let stale = needs_analyze(&stats);
            entry.changed |= modified > 0.0 || rows != 0.0;
            entry.stats = Some(Arc::new(stats));
            stale
        };
        if stale {
            let hook = self.inner.on_stale.read().clone();
            if let Some(hook) = hook {
                hook(table);
            }
        }
    }

    /// Folds every table's changes and returns the statistics that have changed since the last call, to be written down.
    pub fn take_changed(&self) -> Vec<Arc<TableStats>> {
        let waiting: Vec<TableId> = {
            let tables = self.inner.tables.read();
            tables.iter().filter(|(_, entry)| entry.delta.modified.load(Ordering::Relaxed) > 0).map(|(table, _)| *table).collect()
        };
        waiting.into_iter().for_each(|table| self.fold(table));
        let mut tables = self.inner.tables.write();
        let taken = tables.values_mut().filter_map(|entry| std::mem::take(&mut entry.changed).then(|| entry.stats.clone()));
        taken.flatten().collect()
    }

    /// Installs what is called when a table should be analyzed anew; it must return at once (queue the table, wake a task).
    pub fn on_stale(&self, hook: impl Fn(TableId) + Send + Sync + 'static) {
        *self.inner.on_stale.write() = Some(Arc::new(hook));
    }
}

/// Whether so much has changed that the statistics mislead.
pub fn needs_analyze(stats: &TableStats) -> bool {
    stats.rows() >= AUTO_ANALYZE_MIN_ROWS && (stats.is_pseudo() || stats.modify_count > AUTO_ANALYZE_RATIO * stats.rows())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use base::TimeStamp;

    use super::*;

    #[test]
    fn tables_that_are_gone_are_forgotten() {
        let cache = StatsCache::default();
        cache.record_changes(TableId(1), 10, 10);
        cache.record_changes(TableId(2), 10, 10);
        assert_eq!(cache.retain(|table| table == TableId(2)), [TableId(1)]);
        assert_eq!(cache.take_changed().iter().map(|stats| stats.table).collect::<Vec<_>>(), [TableId(2)]);
    }

    #[test]
    fn changes_of_dml_move_the_row_count_and_trigger_analyze() {
        let cache = StatsCache::default();
        let calls = Arc::new(AtomicUsize::new(0));
        cache.on_stale({
            let calls = Arc::clone(&calls);
            move |_| {
                calls.fetch_add(1, Ordering::Relaxed);
            }
        });
        cache.record_changes(TableId(1), 500, 500);
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        cache.record_changes(TableId(1), 1500, 1500);
        assert_eq!(cache.get(TableId(1)).row_count, 2000.0);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        cache.put(TableStats {
            analyzed_ts: TimeStamp(1),
            analyzed_rows: 2000.0,
            modify_count: 0.0,
            ..TableStats::clone(&cache.get(TableId(1)))
        });
        cache.record_changes(TableId(1), -5, 5);
        assert_eq!(cache.take_changed()[0].row_count, 1995.0);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}
