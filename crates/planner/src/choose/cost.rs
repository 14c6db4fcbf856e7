//! The cost model: what things cost in units of one row handled by the executor (about a third of a microsecond).
//!
//! Only ratios matter. They were set from the engine's measured times: a row read by a running scan, a seek, a point lookup.

/// A row of a table scan.
pub(crate) const TABLE_ROW: f64 = 1.0;
/// An entry of an index scan.
pub(crate) const INDEX_ROW: f64 = 0.8;
/// Positioning a scan at a range.
pub(crate) const SEEK: f64 = 6.0;
/// A row fetched by its key.
pub(crate) const LOOKUP: f64 = 6.0;
/// Starting the two sides of an index lookup.
pub(crate) const LOOKUP_START: f64 = 8.0;
/// A condition evaluated for a row.
pub(crate) const CONDITION: f64 = 0.1;
/// A row handed from the store to the executor.
pub(crate) const HAND_UP: f64 = 0.3;
/// An expression computed for a row.
pub(crate) const COMPUTE: f64 = 0.1;
/// A row put into a hash table.
pub(crate) const HASH_BUILD: f64 = 2.0;
/// A row looked up in a hash table.
pub(crate) const HASH_PROBE: f64 = 1.0;
/// A row compared with its predecessor.
pub(crate) const STREAM: f64 = 0.4;
/// A comparison of a sort.
pub(crate) const COMPARE: f64 = 0.12;
/// What a table scan costs more under FORCE INDEX.
pub(crate) const FORCED_AWAY: f64 = 1e9;

/// Sorting `rows` rows.
pub(crate) fn sort(rows: f64) -> f64 {
    rows * (1.0 + rows.max(2.0).log2() * COMPARE)
}

/// Keeping the first `kept` of `rows` rows.
pub(crate) fn top_n(rows: f64, kept: f64) -> f64 {
    rows * (0.3 + kept.max(2.0).log2() * COMPARE) + sort(kept.min(rows)) * 0.5
}
