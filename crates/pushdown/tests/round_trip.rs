//! Plans that go over the wire in parts against the same plans run here in one piece.
//!
//! A table lies in several regions; each is asked with the bytes that a store would receive, its rows come back as the bytes it would answer, and
//! what is left of the plan is done over all rows together.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{ColumnId, IndexId, TableId};
use codec::Handle;
use codec::row::RowBuilder;
use copr::index_entry::{EntryBuffer, IndexCodec};
use copr::record::{push_column, record_key};
use copr::{
    DagExecution, DagOp, DagPlan, DagRequest, HANDLE_COLUMN, HandleKind, IndexScan, KeyPart, RowLimit, ScanColumn, ScanSpec, SortKey, Step,
    TableScan,
};
use expr::{AggDesc, AggKind, AggMode, BuildCtx, EvalCtx, Expr, Op, build_call, build_op};
use proptest::prelude::*;
use prost::Message as _;
use proto::tipb;
use pushdown::{PushedPlan, StoreRequest};
use types::{Chunk, Collation, Datum, Decimal, Duration, FieldType, Time};

const TABLE: TableId = TableId(5);

fn types() -> Vec<FieldType> {
    vec![
        FieldType::bigint().with_not_null(),
        FieldType::int(),
        FieldType::unsigned_bigint(),
        FieldType::decimal(12, 2),
        FieldType::varchar(20).with_collation(Collation::Utf8mb4GeneralCi),
        FieldType::datetime(0),
        FieldType::double(),
        FieldType::time(3),
    ]
}

/// Row `id`; NULL, negative and large values among them.
fn row(id: i64) -> Vec<Datum> {
    let day = 1 + (id % 28) as u8;
    let mut row = vec![
        Datum::Int(id),
        Datum::Int(id * 7 % 13 - 5),
        Datum::UInt(if id % 5 == 0 { u64::MAX - id as u64 } else { id as u64 }),
        Datum::Decimal(Decimal::from_unscaled(i128::from(id * 31 % 101 - 50), 2)),
        Datum::from(["apple", "Apple", "pear ", "Birne", "birne", ""][(id % 6) as usize]),
        Datum::Time(Time::date(2020, 1 + (id % 12) as u8, day).expect("a date").with_kind(types::TimeKind::DateTime, 0)),
        Datum::Double((id % 9) as f64 / 4.0),
        Datum::Duration(Duration::from_micros((id - 50) * 1_500_000, 3)),
    ];
    let null = 1 + (id % 11) as usize;
    if null < row.len() {
        row[null] = Datum::Null;
    }
    row
}

fn scan_columns() -> Vec<ScanColumn> {
    let column = |(at, ty): (usize, FieldType)| ScanColumn { id: ColumnId(at as i64 + 1), ty, default: Datum::Null };
    types().into_iter().enumerate().map(column).collect()
}

fn pairs(rows: i64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let types = types();
    let mut builder = RowBuilder::new();
    let pair = |id| {
        builder.start();
        for (at, value) in row(id).iter().enumerate().skip(1) {
            push_column(&mut builder, ColumnId(at as i64 + 1), &types[at], value.as_ref()).expect("encodes");
        }
        (record_key(TABLE, &Handle::Int(id)), builder.finish())
    };
    (0..rows).map(pair).collect()
}

fn column(at: usize) -> Expr {
    Expr::column(at, types()[at].clone())
}

fn int(value: i64) -> Expr {
    Expr::constant(Datum::Int(value), FieldType::bigint())
}

fn text(value: &str) -> Expr {
    Expr::constant(Datum::from(value), FieldType::varchar(20).with_collation(Collation::Utf8mb4GeneralCi))
}

fn op(op: Op, args: Vec<Expr>) -> Expr {
    build_op(op, args, &BuildCtx::new(&EvalCtx::default())).expect("builds")
}

fn agg(kind: AggKind, args: Vec<Expr>) -> AggDesc {
    let desc = AggDesc::new(kind, args, false, &BuildCtx::new(&EvalCtx::default())).expect("builds");
    AggDesc { mode: AggMode::Partial, ..desc }
}

fn limit(count: i64) -> RowLimit {
    RowLimit { offset: Some(int(1)), count: int(count) }
}

fn plan(filters: Vec<Expr>, ops: Vec<DagOp>) -> DagPlan {
    let scan = TableScan { table: TABLE, columns: scan_columns(), handle: HandleKind::IntColumn { id: ColumnId(1) } };
    DagPlan { scan: ScanSpec::Table(scan), filters, ops, output: vec![] }
}

fn drain(execution: &mut DagExecution, out: &mut Vec<Chunk>) {
    while let Some(chunk) = execution.take_chunk().expect("runs") {
        out.push(chunk);
    }
}

/// Runs a plan over pairs in one piece.
fn run(plan: DagPlan, desc: bool, eval: EvalCtx, pairs: &[(Vec<u8>, Vec<u8>)]) -> (Vec<Chunk>, u64) {
    let request = DagRequest { desc, ..DagRequest::new(Arc::new(plan), vec![], Arc::new(eval)) };
    let mut execution = DagExecution::new(&request).expect("a valid plan");
    let mut out = vec![];
    let mut pairs = pairs.iter().collect::<Vec<_>>();
    if desc {
        pairs.reverse();
    }
    for (key, value) in pairs {
        if execution.feed(key, value).expect("runs") == Step::Done {
            break;
        }
        drain(&mut execution, &mut out);
    }
    execution.finish().expect("runs");
    drain(&mut execution, &mut out);
    (out, execution.scanned_rows())
}

/// What one store answers to the bytes of a request, as bytes.
fn answer(request: &[u8], pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<Vec<u8>> {
    let words = tipb::DagRequest::decode(request).expect("own words");
    let StoreRequest { plan, desc, outputs, columns, eval } = StoreRequest::decode(&words).expect("a store understands it");
    let (chunks, _) = run(plan, desc, eval, pairs);
    let rows = |chunk: &Chunk| {
        let mut rows = vec![];
        pushdown::datum::write_rows(&mut rows, chunk, &outputs, &columns);
        rows
    };
    chunks.iter().map(rows).collect()
}

/// Runs a plan in parts; the rows, and how many of them went over the wire.
fn run_pushed(plan: &DagPlan, desc: bool, pairs: &[(Vec<u8>, Vec<u8>)], regions: usize) -> (Vec<Chunk>, usize) {
    let eval = EvalCtx::default();
    let pushed = PushedPlan::of(plan, desc, &eval).expect("it is worth it");
    let bytes = pushed.request.encode_to_vec();
    let request = DagRequest { desc, ..DagRequest::new(Arc::new(pushed.rest), vec![], Arc::new(eval)) };
    let mut execution = DagExecution::new(&request).expect("a valid rest");
    let mut out = vec![];
    let mut wire = 0;
    let mut parts = pairs.chunks(pairs.len().div_ceil(regions).max(1)).collect::<Vec<_>>();
    if desc {
        parts.reverse();
    }
    for rows in parts.into_iter().flat_map(|part| answer(&bytes, part)) {
        let chunk = pushdown::datum::read_rows(&rows, &pushed.columns).expect("own rows");
        wire += chunk.rows();
        if execution.feed_rows(chunk).expect("runs") == Step::Done {
            break;
        }
        drain(&mut execution, &mut out);
    }
    execution.finish().expect("runs");
    drain(&mut execution, &mut out);
    (out, wire)
}

fn values(chunks: &[Chunk]) -> Vec<Vec<Datum>> {
    chunks.iter().flat_map(|chunk| chunk.iter().map(|row| row.to_datums()).collect::<Vec<_>>()).collect()
}

#[track_caller]
fn same_in_parts(plan: &DagPlan) -> usize {
    let pairs = pairs(100);
    let mut wire = 0;
    for desc in [false, true] {
        let (expected, _) = run(plan.clone(), desc, EvalCtx::default(), &pairs);
        for regions in [1, 3, 7] {
            let (found, rows) = run_pushed(plan, desc, &pairs, regions);
            assert_eq!(values(&found), values(&expected), "{regions} regions, desc {desc}");
            wire = rows;
        }
    }
    wire
}

fn conditions() -> Vec<Expr> {
    let date = Expr::constant(
        Datum::Time(Time::date(2020, 6, 1).expect("a date").with_kind(types::TimeKind::DateTime, 0)),
        FieldType::datetime(0),
    );
    let time = Expr::constant(Datum::Duration(Duration::from_micros(3_000_000, 3)), FieldType::time(3));
    let decimal = Expr::constant(Datum::Decimal("0.13".parse().expect("a number")), FieldType::decimal(3, 2));
    let like = Op::Like { escape: Some('\\') };
    let long_list = std::iter::once(column(1)).chain((-3..12).step_by(2).map(int)).collect();
    vec![
        op(Op::Gt, vec![column(1), int(0)]),
        op(Op::Lt, vec![column(2), Expr::constant(Datum::UInt(u64::MAX - 40), FieldType::unsigned_bigint())]),
        op(Op::Ge, vec![column(2), int(-1)]),
        op(Op::Le, vec![column(3), decimal]),
        op(Op::Eq, vec![column(4), text("APPLE")]),
        op(Op::Ne, vec![column(4), text("pear")]),
        op(like, vec![column(4), text("b%e")]),
        op(Op::Ge, vec![column(5), date.clone()]),
        op(Op::Lt, vec![column(6), Expr::constant(Datum::Double(1.3), FieldType::double())]),
        op(Op::Lt, vec![column(6), column(1)]),
        op(Op::Gt, vec![column(7), time]),
        op(Op::NullEq, vec![column(1), column(2)]),
        op(Op::IsNull, vec![column(5)]),
        op(Op::Not, vec![op(Op::IsNull, vec![column(3)])]),
        op(Op::IsTrue, vec![column(1)]),
        op(Op::In, vec![column(1), int(1), int(3), int(-5)]),
        op(Op::In, long_list),
        op(Op::In, vec![column(4), text("PEAR"), text("")]),
        op(Op::Or, vec![op(Op::Eq, vec![column(0), int(3)]), op(Op::And, vec![column(1), op(Op::Lt, vec![column(5), date])])]),
        op(Op::Xor, vec![column(1), op(Op::Gt, vec![column(0), int(50)])]),
        op(Op::Gt, vec![op(Op::Add, vec![column(0), column(1)]), int(20)]),
        op(Op::Lt, vec![op(Op::Mul, vec![column(3), column(3)]), column(3)]),
        op(Op::Gt, vec![op(Op::IfNull, vec![column(1), int(9)]), int(6)]),
        op(Op::Eq, vec![op(Op::Case, vec![op(Op::Gt, vec![column(0), int(9)]), column(4), text("Pear")]), text("pear")]),
        op(Op::Eq, vec![op(Op::If, vec![column(1), column(3), column(3)]), column(3)]),
    ]
}

#[test]
fn every_condition_that_has_words_filters_the_same_rows() {
    for condition in conditions() {
        let plan = plan(vec![condition.clone()], vec![]);
        let pushed = PushedPlan::of(&plan, false, &EvalCtx::default()).unwrap_or_else(|| panic!("{condition} has words"));
        assert!(pushed.rest.filters.is_empty(), "{condition}");
        let wire = same_in_parts(&plan);
        assert!((1..100).contains(&wire), "{condition} is true for {wire} of 100 rows: it proves nothing");
    }
}

#[test]
fn what_has_no_words_is_done_over_the_rows_of_the_stores() {
    let ctx = EvalCtx::default();
    let length = build_call("length", vec![column(4)], &BuildCtx::new(&ctx)).expect("builds");
    let filters = vec![op(Op::Gt, vec![column(0), int(60)]), op(Op::Eq, vec![length, int(5)])];
    let ops = vec![DagOp::Aggregate { group_by: vec![column(4)], aggs: vec![agg(AggKind::Count, vec![])], streamed: false }];
    let plan = plan(filters, ops);
    let pushed = PushedPlan::of(&plan, false, &ctx).expect("one filter has words");
    assert_eq!((pushed.rest.filters.len(), pushed.rest.ops.len()), (1, 1), "behind a filter that stays nothing travels");
    assert_eq!(same_in_parts(&plan), 39);
}

#[test]
fn operations_on_parameters_travel_as_their_values() {
    let param = Expr::Param { index: 0, ty: FieldType::bigint(), coercibility: expr::Coercibility::Numeric };
    // An integer beside a decimal column is cast when the statement is executed.
    let condition = op(Op::Gt, vec![column(3), param]);
    assert!(condition.as_call().is_some_and(|call| call.args[1].as_constant().is_none()));
    let plan = plan(vec![condition], vec![]);
    let eval = || EvalCtx { params: Arc::from([Datum::Int(-1)]), ..EvalCtx::default() };
    let pushed = PushedPlan::of(&plan, false, &eval()).expect("has words");
    assert!(pushed.rest.filters.is_empty());
    let pairs = pairs(100);
    let (expected, _) = run(plan, false, eval(), &pairs);
    let rows = answer(&pushed.request.encode_to_vec(), &pairs);
    let found = rows.iter().map(|rows| pushdown::datum::read_rows(rows, &pushed.columns).expect("own rows")).collect::<Vec<_>>();
    assert_eq!(values(&found), values(&expected));
    assert!((1..100).contains(&values(&found).len()));
}

#[test]
fn limits_and_first_rows_are_found_over_all_regions() {
    let positive = || vec![op(Op::Gt, vec![column(1), int(0)])];
    assert!(same_in_parts(&plan(positive(), vec![DagOp::Limit(limit(5))])) < 14);
    let by = vec![SortKey { expr: column(3), desc: true }, SortKey { expr: column(0), desc: false }];
    assert!(same_in_parts(&plan(vec![], vec![DagOp::TopN { by: by.clone(), limit: limit(4) }])) <= 7 * 5);
    let ops = vec![DagOp::TopN { by, limit: limit(4) }, DagOp::Projection(vec![column(0), op(Op::Add, vec![column(0), int(1)])])];
    same_in_parts(&plan(positive(), ops));
    let ops = vec![DagOp::Projection(vec![column(4)]), DagOp::Limit(limit(3))];
    same_in_parts(&plan(positive(), ops));
}

/// Merges partial groups as the reader of a plan does; groups by their keys in no order.
fn merged(group_by: &[Expr], partial: &[AggDesc], chunks: &[Chunk]) -> BTreeMap<String, Vec<String>> {
    let keys = (0..group_by.len()).map(|at| Expr::column(at, group_by[at].field_type().clone())).collect::<Vec<_>>();
    let mut first = keys.len();
    let finals = partial.iter().map(|desc| {
        let (_, last) = AggDesc { mode: AggMode::Complete, ..desc.clone() }.split(first).expect("splits");
        first += desc.partial_types().len();
        last
    });
    let finals = finals.collect::<Vec<_>>();
    let ctx = EvalCtx::default();
    let mut aggregator = copr::aggregator::Aggregator::new(&keys, &finals);
    for chunk in chunks {
        aggregator.update(&keys, &finals, &ctx, chunk).expect("merges");
    }
    let result = aggregator.result(&finals, &ctx, 0, aggregator.len()).expect("ends");
    let mut groups = BTreeMap::new();
    for row in result.iter() {
        let mut key = vec![];
        copr::sort_key::push_group_key(&mut key, &result.columns()[..keys.len()], &copr::sort_key::expr_types(&keys), row.index());
        let values = row.to_datums().split_off(keys.len()).iter().map(|value| format!("{value:?}")).collect();
        assert!(groups.insert(format!("{key:?}"), values).is_none());
    }
    groups
}

#[test]
fn aggregates_of_regions_merge_into_those_of_the_table() {
    let aggs = vec![
        agg(AggKind::Count, vec![]),
        agg(AggKind::Count, vec![column(1)]),
        agg(AggKind::Sum, vec![column(1)]),
        agg(AggKind::Sum, vec![column(2)]),
        agg(AggKind::Sum, vec![column(3)]),
        agg(AggKind::Sum, vec![column(6)]),
        agg(AggKind::Avg, vec![column(3)]),
        agg(AggKind::Avg, vec![column(1)]),
        agg(AggKind::Min, vec![column(2)]),
        agg(AggKind::Max, vec![column(5)]),
        agg(AggKind::Min, vec![column(7)]),
        agg(AggKind::BitXor, vec![column(2)]),
        agg(AggKind::BitAnd, vec![column(2)]),
    ];
    let groups: [Vec<Expr>; 4] = [vec![], vec![column(4)], vec![column(1), column(4)], vec![op(Op::Add, vec![column(1), int(1)])]];
    let pairs = pairs(100);
    for group_by in groups {
        for filters in [vec![], vec![op(Op::Gt, vec![column(0), int(30)])]] {
            let aggregate = DagOp::Aggregate { group_by: group_by.clone(), aggs: aggs.clone(), streamed: false };
            let plan = plan(filters, vec![aggregate]);
            let (expected, _) = run(plan.clone(), false, EvalCtx::default(), &pairs);
            let expected = merged(&group_by, &aggs, &expected);
            for regions in [1, 4] {
                let (found, wire) = run_pushed(&plan, false, &pairs, regions);
                assert_eq!(merged(&group_by, &aggs, &found), expected);
                assert!(wire <= expected.len() * regions);
            }
        }
    }
}

#[test]
fn rows_are_counted_without_a_column() {
    let scan = TableScan { table: TABLE, columns: vec![], handle: HandleKind::RowId };
    let aggs = vec![agg(AggKind::Count, vec![])];
    let ops = vec![DagOp::Aggregate { group_by: vec![], aggs: aggs.clone(), streamed: false }];
    let plan = DagPlan { scan: ScanSpec::Table(scan), filters: vec![], ops, output: vec![] };
    let (found, wire) = run_pushed(&plan, false, &pairs(100), 4);
    assert_eq!(wire, 4);
    assert_eq!(merged(&[], &aggs, &found).into_values().collect::<Vec<_>>(), [["Int(100)"]]);
}

#[test]
fn an_index_gives_its_columns_and_the_handle() {
    let types = types();
    let parts =
        [4usize, 1].map(|at| KeyPart { id: ColumnId(at as i64 + 1), ty: types[at].clone(), prefix_len: None, desc: false }).to_vec();
    let codec = IndexCodec { table: TABLE, index: IndexId(9), unique: false, parts: parts.clone(), handle: HandleKind::RowId };
    let mut buffer = EntryBuffer::default();
    let mut pairs = vec![];
    for id in 0..60 {
        let row = row(id);
        codec.encode(&[row[4].as_ref(), row[1].as_ref()], &Handle::Int(id), &[], &mut buffer).expect("encodes");
        pairs.push((buffer.key.clone(), buffer.value.clone()));
    }
    pairs.sort();
    let column = |id, ty| ScanColumn { id, ty, default: Datum::Null };
    // In another order than the index has them.
    let columns =
        vec![column(HANDLE_COLUMN, FieldType::bigint()), column(ColumnId(2), types[1].clone()), column(ColumnId(5), types[4].clone())];
    let scan = IndexScan { table: TABLE, index: IndexId(9), unique: false, parts, columns, handle: HandleKind::RowId };
    let filters = vec![
        op(Op::Gt, vec![Expr::column(1, types[1].clone()), int(0)]),
        op(Op::Eq, vec![Expr::column(2, types[4].clone()), text("birne")]),
    ];
    let plan = DagPlan { scan: ScanSpec::Index(scan), filters, ops: vec![], output: vec![] };
    for desc in [false, true] {
        let (expected, _) = run(plan.clone(), desc, EvalCtx::default(), &pairs);
        let (found, _) = run_pushed(&plan, desc, &pairs, 3);
        assert_eq!(values(&found), values(&expected));
        assert!(values(&found).len() > 3);
    }
}

#[test]
fn plain_scans_and_what_has_no_words_are_not_pushed() {
    let none = |plan: &DagPlan| PushedPlan::of(plan, false, &EvalCtx::default()).is_none();
    assert!(none(&plan(vec![], vec![])));
    assert!(none(&plan(vec![], vec![DagOp::Limit(limit(3))])));
    let ctx = EvalCtx::default();
    let length = build_call("length", vec![column(4)], &BuildCtx::new(&ctx)).expect("builds");
    assert!(none(&plan(vec![op(Op::Eq, vec![length, int(5)])], vec![])));
    // The value of an unsigned difference depends on the session.
    assert!(none(&plan(vec![op(Op::Gt, vec![op(Op::Sub, vec![column(2), int(1)]), int(5)])], vec![])));
    let mut bits = plan(vec![op(Op::Gt, vec![column(1), int(0)])], vec![]);
    if let ScanSpec::Table(scan) = &mut bits.scan {
        scan.columns[6].ty = FieldType::new(types::TypeKind::Bit);
    }
    assert!(none(&bits));
}

#[test]
fn the_request_has_the_bytes_of_the_protocol() {
    let scan = TableScan { table: TABLE, columns: scan_columns()[..2].to_vec(), handle: HandleKind::IntColumn { id: ColumnId(1) } };
    let filters = vec![op(Op::Gt, vec![column(1), int(7)])];
    let ops = vec![DagOp::Aggregate { group_by: vec![column(1)], aggs: vec![agg(AggKind::Count, vec![])], streamed: false }];
    let plan = DagPlan { scan: ScanSpec::Table(scan), filters, ops, output: vec![] };
    let request = PushedPlan::of(&plan, false, &EvalCtx::default()).expect("worth it").request;
    // The group's column stands behind the function's there.
    assert_eq!(request.output_offsets, [1, 0]);
    assert_eq!((request.flags, request.time_zone_name.as_str()), (0b1010_0010, "UTC"));
    let condition = &request.executors[1].selection.as_ref().expect("a selection").conditions[0];
    assert_eq!((condition.tp, condition.sig), (10_000, 120));
    let [left, right] = &condition.children[..] else { panic!("two operands") };
    assert_eq!((left.tp, &left.val[..]), (201, &[0x80, 0, 0, 0, 0, 0, 0, 1][..]));
    assert_eq!((right.tp, &right.val[..]), (1, &[0x80, 0, 0, 0, 0, 0, 0, 7][..]));
    let bytes = request.executors[2].encode_to_vec();
    // tp 3; aggregation { group_by { ColumnRef 1 }, agg_func { Count { Int64 1 } } }, as far as the types.
    assert_eq!(bytes[..2], [8, 3]);
    let aggregation = request.executors[2].aggregation.as_ref().expect("an aggregation");
    assert_eq!((aggregation.group_by[0].tp, aggregation.agg_func[0].tp, aggregation.agg_func[0].children[0].tp), (201, 3001, 1));
}

/// Changes one byte of a request: a store answers an error or some rows, and does not stop.
#[test]
fn damaged_requests_are_errors() {
    let ops = vec![DagOp::Aggregate {
        group_by: vec![column(4)],
        aggs: vec![agg(AggKind::Sum, vec![column(3)]), agg(AggKind::Max, vec![column(5)])],
        streamed: false,
    }];
    let filters = vec![op(Op::Gt, vec![column(1), int(0)]), op(Op::In, vec![column(4), text("a"), text("b")])];
    let request = PushedPlan::of(&plan(filters, ops), false, &EvalCtx::default()).expect("worth it").request.encode_to_vec();
    let pairs = pairs(10);
    let mut understood = 0;
    for at in 0..request.len() {
        for byte in [0, 1, 2, 100, 200, request[at].wrapping_add(1)] {
            let mut damaged = request.clone();
            damaged[at] = byte;
            let Ok(words) = tipb::DagRequest::decode(&damaged[..]) else { continue };
            let Ok(StoreRequest { plan, desc, outputs, columns, eval }) = StoreRequest::decode(&words) else { continue };
            understood += 1;
            let request = DagRequest { desc, ..DagRequest::new(Arc::new(plan), vec![], Arc::new(eval)) };
            let Ok(mut execution) = DagExecution::new(&request) else { continue };
            if pairs.iter().all(|(key, value)| execution.feed(key, value).is_ok()) && execution.finish().is_ok() {
                while let Ok(Some(chunk)) = execution.take_chunk() {
                    pushdown::datum::write_rows(&mut vec![], &chunk, &outputs, &columns);
                }
            }
        }
    }
    assert!(understood > 100, "{understood}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn conjunctions_filter_the_same_rows(picked in prop::collection::vec(0usize..25, 1..4), regions in 1usize..6, desc: bool) {
        let all = conditions();
        let plan = plan(picked.into_iter().map(|at| all[at].clone()).collect(), vec![]);
        let pairs = pairs(60);
        let (expected, _) = run(plan.clone(), desc, EvalCtx::default(), &pairs);
        prop_assert_eq!(values(&run_pushed(&plan, desc, &pairs, regions).0), values(&expected));
    }
}
