//! Statistics steer the choice of access paths; values of parameters steer it without being built into the plan.

use std::sync::{Arc, LazyLock};

use crate::fixture::{Options, explain, plan_over};
use base::{ColumnId, TableId, TimeStamp};
use planner::StatsSource;
use stats::{Histogram, TableStats, TopN, ValueStats};
use types::{DatumRef, FieldType, value::encode_key_datum};

/// 100,000 rows of `sbtest1`; `k` is uniform over 1 … 1000.
struct Uniform;

static STATS: LazyLock<Arc<TableStats>> = LazyLock::new(uniform);

impl StatsSource for Uniform {
    fn table_stats(&self, _: TableId) -> Option<Arc<TableStats>> {
        Some(Arc::clone(&STATS))
    }
}

fn uniform() -> Arc<TableStats> {
    let key = |value: i64| {
        let mut key = vec![];
        encode_key_datum(&mut key, DatumRef::Int(value), &FieldType::int(), false);
        key
    };
    let column = |values: i64| ValueStats {
        distinct: values as f64,
        nulls: 0.0,
        mean_size: 9.0,
        prefix_distinct: vec![],
        top_n: TopN::default(),
        histogram: Histogram::build((1..=1000).map(|value| (key(value * values / 1000), 100.0)), values as f64, 100),
    };
    Arc::new(TableStats {
        table: TableId(100),
        analyzed_ts: TimeStamp(1),
        analyzed_rows: 100_000.0,
        row_count: 100_000.0,
        columns: [(ColumnId(1), column(100_000)), (ColumnId(2), column(1000))].into_iter().collect(),
        ..TableStats::default()
    })
}

fn plan(sql: &str, cached: bool) -> String {
    let planned = plan_over(sql, &Options { cached, ..Options::default() }, &expr::EvalCtx::default(), &Uniform).expect("planned");
    explain(&planned)
}

#[test]
fn a_narrow_range_takes_the_index_and_a_wide_one_the_table() {
    assert!(plan("SELECT * FROM sbtest1 WHERE k BETWEEN 5 AND 6", false).contains("IndexLookUp"));
    assert!(plan("SELECT * FROM sbtest1 WHERE k > 50", false).contains("TableFullScan"));
    assert!(plan("SELECT k FROM sbtest1 WHERE k > 50", false).contains("IndexReader"));
}

#[test]
fn a_plan_that_owes_its_path_to_a_value_is_not_kept() {
    let wide = plan("SELECT * FROM sbtest1 WHERE k > 50", true);
    assert!(wide.contains("TableFullScan") && !wide.contains("cacheable"), "{wide}");
    let narrow = plan("SELECT * FROM sbtest1 WHERE k BETWEEN 5 AND 6", true);
    assert!(narrow.contains("IndexLookUp") && narrow.contains("cacheable"), "{narrow}");
    assert!(plan("SELECT c FROM sbtest1 WHERE id BETWEEN 5 AND 104", true).contains("cacheable"));
    assert!(plan("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5 AND 104", true).contains("cacheable"));
}

#[test]
fn the_smaller_side_of_a_join_looks_up_the_larger() {
    let text = plan("SELECT * FROM sbtest1 a JOIN sbtest1 b ON a.k = b.id WHERE a.id BETWEEN 1 AND 10", false);
    assert!(text.contains("IndexJoin"), "{text}");
}
