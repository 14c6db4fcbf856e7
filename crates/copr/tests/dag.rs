//! Pushed-down plans against the obvious computation, at every chunk size.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{ColumnId, TableId};
use codec::Handle;
use codec::row::RowBuilder;
use copr::record::{push_column, record_key};
use copr::{DagExecution, DagOp, DagPlan, DagRequest, HandleKind, RowLimit, ScanColumn, ScanSpec, SortKey, Step, TableScan};
use expr::{AggDesc, AggKind, BuildCtx, EvalCtx, Expr, Op, build_op};
use proptest::prelude::*;
use types::{Chunk, Datum, FieldType};

const TABLE: TableId = TableId(5);

/// id (handle), group, value.
type Row = (i64, Option<i64>, i64);

fn columns() -> Vec<ScanColumn> {
    let column = |id, ty| ScanColumn { id: ColumnId(id), ty, default: Datum::Null };
    vec![column(1, FieldType::bigint().with_not_null()), column(2, FieldType::bigint()), column(3, FieldType::bigint())]
}

fn pairs(rows: &[Row]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut builder = RowBuilder::new();
    let pair = |(id, group, value): &Row| {
        builder.start();
        let group = group.map_or(Datum::Null, Datum::Int);
        push_column(&mut builder, ColumnId(2), &FieldType::bigint(), group.as_ref()).expect("encodes");
        push_column(&mut builder, ColumnId(3), &FieldType::bigint(), Datum::Int(*value).as_ref()).expect("encodes");
        (record_key(TABLE, &Handle::Int(*id)), builder.finish())
    };
    rows.iter().map(pair).collect()
}

fn column(at: usize) -> Expr {
    Expr::column(at, FieldType::bigint())
}

fn constant(value: i64) -> Expr {
    Expr::constant(Datum::Int(value), FieldType::bigint())
}

fn limit(count: i64, offset: i64) -> RowLimit {
    RowLimit { offset: Some(constant(offset)), count: constant(count) }
}

fn run(filters: Vec<Expr>, ops: Vec<DagOp>, rows: &[Row], chunk_rows: usize) -> (Vec<Vec<Option<i64>>>, u64) {
    let scan = TableScan { table: TABLE, columns: columns(), handle: HandleKind::IntColumn { id: ColumnId(1) } };
    let plan = DagPlan { scan: ScanSpec::Table(scan), filters, ops, output: Vec::new() };
    let request = DagRequest { chunk_rows, ..DagRequest::new(Arc::new(plan), Vec::new(), Arc::new(EvalCtx::default())) };
    let mut execution = DagExecution::new(&request).expect("a valid plan");
    let mut out = Vec::new();
    let take = |execution: &mut DagExecution, out: &mut Vec<Vec<Option<i64>>>| {
        while let Some(chunk) = execution.take_chunk().expect("runs") {
            assert!(chunk.rows() > 0, "chunks are never empty");
            out.extend(values(&chunk));
        }
    };
    for (key, value) in pairs(rows) {
        match execution.feed(&key, &value).expect("runs") {
            Step::More => {}
            Step::ChunkReady => take(&mut execution, &mut out),
            Step::Done => break,
        }
    }
    execution.finish().expect("runs");
    take(&mut execution, &mut out);
    (out, execution.scanned_rows())
}

fn values(chunk: &Chunk) -> Vec<Vec<Option<i64>>> {
    let number = |datum: Datum| match datum {
        Datum::Null => None,
        Datum::Decimal(value) => Some(value.to_i64().expect("small")),
        datum => datum.as_i64(),
    };
    chunk.iter().map(|row| row.to_datums().into_iter().map(number).collect()).collect()
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((prop::option::weighted(0.8, 0i64..6), -20i64..20), 0..80)
        .prop_map(|rows| rows.into_iter().enumerate().map(|(id, (group, value))| (id as i64, group, value)).collect())
}

fn positive(ctx: &EvalCtx) -> Vec<Expr> {
    vec![build_op(Op::Gt, vec![column(2), constant(0)], &BuildCtx::new(ctx)).expect("builds")]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn filters_projections_and_limits(rows in rows(), chunk_rows in prop::sample::select(vec![1usize, 3, 1024]), count in 0i64..20, offset in 0i64..3) {
        let ctx = EvalCtx::default();
        let doubled = build_op(Op::Add, vec![column(2), column(2)], &BuildCtx::new(&ctx)).expect("builds");
        let ops = vec![DagOp::Projection(vec![column(0), doubled]), DagOp::Limit(limit(count, offset))];
        let (found, _) = run(positive(&ctx), ops.clone(), &rows, chunk_rows);
        let expected = rows.iter().filter(|row| row.2 > 0).map(|row| vec![Some(row.0), Some(row.2 * 2)]).take((count + offset) as usize);
        prop_assert_eq!(found, expected.collect::<Vec<_>>());
        // Without a filter the scan stops by itself.
        let (found, scanned) = run(Vec::new(), ops, &rows, chunk_rows);
        prop_assert_eq!(found.len() as i64, (count + offset).min(rows.len() as i64));
        prop_assert!(scanned as i64 <= count + offset);
    }

    #[test]
    fn aggregates_by_hash_and_by_order(mut rows in rows(), chunk_rows in prop::sample::select(vec![1usize, 3, 1024]), streamed: bool) {
        let ctx = EvalCtx::default();
        let build = BuildCtx::new(&ctx);
        if streamed {
            rows.sort_by_key(|row| row.1);
        }
        let aggs = vec![
            AggDesc::new(AggKind::Count, vec![], false, &build).expect("builds"),
            AggDesc::new(AggKind::Sum, vec![column(2)], false, &build).expect("builds"),
            AggDesc::new(AggKind::Max, vec![column(2)], false, &build).expect("builds"),
        ];
        let mut expected: BTreeMap<Option<i64>, (i64, i64, i64)> = BTreeMap::new();
        for (_, group, value) in rows.iter().filter(|row| row.2 > 0) {
            let entry = expected.entry(*group).or_insert((0, 0, i64::MIN));
            *entry = (entry.0 + 1, entry.1 + value, entry.2.max(*value));
        }
        let grouped = DagOp::Aggregate { group_by: vec![column(1)], aggs: aggs.clone(), streamed };
        let (mut found, _) = run(positive(&ctx), vec![grouped], &rows, chunk_rows);
        if streamed {
            prop_assert!(found.is_sorted_by_key(|row| row[0]));
        }
        found.sort();
        let lines = expected.iter().map(|(group, (count, sum, max))| vec![*group, Some(*count), Some(*sum), Some(*max)]);
        prop_assert_eq!(found, lines.collect::<Vec<_>>());
        let one = DagOp::Aggregate { group_by: vec![], aggs, streamed };
        let (found, _) = run(positive(&ctx), vec![one], &rows, chunk_rows);
        let count = rows.iter().filter(|row| row.2 > 0).count() as i64;
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(found[0][0], Some(count));
        prop_assert_eq!(found[0][2].is_none(), count == 0);
    }

    #[test]
    fn partial_aggregates_merge_to_the_complete_ones(rows in rows(), chunk_rows in prop::sample::select(vec![1usize, 3, 1024])) {
        let ctx = EvalCtx::default();
        let average = AggDesc::new(AggKind::Avg, vec![column(2)], false, &BuildCtx::new(&ctx)).expect("builds");
        let (partial, _) = average.split(1).expect("can be split");
        let (found, _) = run(vec![], vec![DagOp::Aggregate { group_by: vec![column(1)], aggs: vec![partial], streamed: false }], &rows, chunk_rows);
        for line in found {
            let group = rows.iter().filter(|row| row.1 == line[0]).map(|row| row.2).collect::<Vec<_>>();
            prop_assert_eq!(&line[1..], [Some(group.len() as i64), Some(group.iter().sum::<i64>())]);
        }
    }

    #[test]
    fn top_n_is_a_sort_cut_short(rows in rows(), chunk_rows in prop::sample::select(vec![1usize, 3, 1024]), count in 0i64..90, desc: bool) {
        let by = vec![SortKey { expr: column(1), desc }, SortKey { expr: column(2), desc: !desc }];
        let (found, _) = run(vec![], vec![DagOp::TopN { by, limit: limit(count, 0) }], &rows, chunk_rows);
        let mut expected = rows.clone();
        expected.sort_by(|a, b| {
            let (group, value) = (a.1.cmp(&b.1), b.2.cmp(&a.2));
            if desc { group.reverse().then(value.reverse()) } else { group.then(value) }
        });
        expected.truncate(count as usize);
        prop_assert_eq!(found, expected.iter().map(|row| vec![Some(row.0), row.1, Some(row.2)]).collect::<Vec<_>>());
    }
}

#[test]
fn a_scan_of_no_columns_counts_rows() {
    let scan = TableScan { table: TABLE, columns: Vec::new(), handle: HandleKind::IntColumn { id: ColumnId(1) } };
    let count = AggDesc::new(AggKind::Count, vec![], false, &BuildCtx::new(&EvalCtx::default())).expect("builds");
    let ops = vec![DagOp::Aggregate { group_by: vec![], aggs: vec![count], streamed: false }];
    let plan = DagPlan { scan: ScanSpec::Table(scan), filters: vec![], ops, output: Vec::new() };
    let mut execution = DagExecution::new(&DagRequest::new(Arc::new(plan), Vec::new(), Arc::new(EvalCtx::default()))).expect("valid");
    assert!(!execution.needs_values());
    for id in 0..2500 {
        execution.feed(&record_key(TABLE, &Handle::Int(id)), b"").expect("runs");
    }
    execution.finish().expect("runs");
    let chunk = execution.take_chunk().expect("runs").expect("one row");
    assert_eq!(chunk.row(0).to_datums(), [Datum::Int(2500)]);
}
