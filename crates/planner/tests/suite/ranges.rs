//! Ranges against brute force: a row satisfies a condition exactly when its key lies in the plan's ranges and it passes the conditions
//! that the plan still checks.
//!
//! Random conditions are planned twice, once with every access path allowed (and constants as parameters of a cached plan) and once with
//! all rules off, which leaves one plain filter over a full scan.

use std::sync::Arc;

use crate::fixture::{Options, plan};
use base::KeyRange;
use catalog::{PrimaryKey, TableInfo};
use copr::{DagPlan, HANDLE_COLUMN, HandleKind, KeyPart, ScanColumn, index_entry::IndexCodec, record};
use expr::{EvalCtx, Expr};
use parser::{ParseOptions, ast::Literal};
use planner::{
    RuleSet,
    physical::{Node, Op},
    range::RangeBuilder,
};
use proptest::prelude::*;
use types::{Chunk, Datum, FieldType, Time};

/// A row of the table, one value for each column.
type Row = Vec<Datum>;

fn key_parts(table: &TableInfo, index: usize) -> Vec<KeyPart> {
    let part = |part: &catalog::IndexColumn| {
        let column = &table.columns[part.offset];
        KeyPart { id: column.id, ty: column.ty.clone(), prefix_len: part.prefix_len, desc: part.desc }
    };
    table.indexes[index].columns.iter().map(part).collect()
}

fn handle(table: &TableInfo, row: &Row) -> codec::Handle {
    match table.pk {
        PrimaryKey::IntHandle { column } => match row[column] {
            Datum::Int(value) => codec::Handle::Int(value),
            _ => panic!("an integer primary key"),
        },
        PrimaryKey::Common { index } => {
            let values: Vec<_> = table.indexes[index].columns.iter().map(|part| row[part.offset].as_ref()).collect();
            record::common_handle(&key_parts(table, index), &values).expect("a common handle")
        }
        PrimaryKey::HiddenRowId => codec::Handle::Int(1),
    }
}

fn record_key(table: &TableInfo, row: &Row) -> Vec<u8> {
    codec::table::record_key(table.id, &handle(table, row))
}

fn index_key(table: &TableInfo, index: usize, row: &Row) -> Vec<u8> {
    let codec = IndexCodec {
        table: table.id,
        index: table.indexes[index].id,
        unique: table.indexes[index].unique,
        parts: key_parts(table, index),
        handle: HandleKind::RowId,
    };
    let values: Vec<_> = table.indexes[index].columns.iter().map(|part| row[part.offset].as_ref()).collect();
    let mut key = vec![];
    codec.encode_key(&values, &handle(table, row), &mut key).expect("an index key");
    key
}

fn in_ranges(ranges: &RangeBuilder, ctx: &EvalCtx, key: &[u8]) -> bool {
    let ranges: Vec<KeyRange> = ranges.ranges(ctx).expect("ranges");
    for pair in ranges.windows(2) {
        assert!(pair[0].end <= pair[1].start, "ranges are ascending and disjoint: {ranges:?}");
    }
    ranges.iter().any(|range| range.contains(key))
}

fn passes(table: &TableInfo, columns: &[ScanColumn], filters: &[Expr], ctx: &EvalCtx, row: &Row) -> bool {
    let types: Vec<FieldType> = columns.iter().map(|column| column.ty.clone()).collect();
    let values: Vec<Datum> = columns
        .iter()
        .map(|column| match column.id {
            HANDLE_COLUMN => Datum::Null,
            id => row[table.columns.iter().position(|own| own.id == id).expect("a column of the table")].clone(),
        })
        .collect();
    let mut chunk = Chunk::new(&types, 1);
    chunk.push_row(&values);
    filters.iter().all(|filter| match filter.eval(ctx, chunk.row(0)).expect("a condition that can be evaluated") {
        Datum::Null => false,
        Datum::Int(value) => value != 0,
        Datum::UInt(value) => value != 0,
        Datum::Double(value) => value != 0.0,
        other => panic!("{other:?} is no condition's value"),
    })
}

fn dag_passes(table: &TableInfo, dag: &DagPlan, ctx: &EvalCtx, row: &Row) -> bool {
    passes(table, dag.scan.columns(), &dag.filters, ctx, row)
}

/// Whether a plan that does nothing but read a table yields the row.
fn yields(node: &Node, ctx: &EvalCtx, row: &Row) -> bool {
    match &node.op {
        Op::Selection(selection) => {
            yields(&selection.child, ctx, row) && {
                let columns = match &selection.child.op {
                    Op::TableReader(reader) => reader.dag.scan.columns().to_vec(),
                    Op::IndexReader(reader) => reader.dag.scan.columns().to_vec(),
                    Op::IndexLookup(lookup) => lookup.table_dag.scan.columns().to_vec(),
                    other => panic!("a filter over {other:?}"),
                };
                let table = table_of(&selection.child);
                passes(&table, &columns, &selection.conditions, ctx, row)
            }
        }
        Op::Projection(projection) => yields(&projection.child, ctx, row),
        Op::Values(values) => !values.rows.is_empty(),
        Op::TableReader(reader) => {
            in_ranges(&reader.ranges, ctx, &record_key(&reader.table, row)) && dag_passes(&reader.table, &reader.dag, ctx, row)
        }
        Op::IndexReader(reader) => {
            in_ranges(&reader.ranges, ctx, &index_key(&reader.table, reader.index, row)) && dag_passes(&reader.table, &reader.dag, ctx, row)
        }
        Op::IndexLookup(lookup) => {
            in_ranges(&lookup.ranges, ctx, &index_key(&lookup.table, lookup.index, row))
                && dag_passes(&lookup.table, &lookup.index_dag, ctx, row)
                && dag_passes(&lookup.table, &lookup.table_dag, ctx, row)
        }
        Op::PointGet(get) => {
            let wanted = get.key.builder.point_key(ctx, &get.key.values).expect("a key");
            let own = match get.index {
                None => record_key(&get.table, row),
                Some(index) => index_key(&get.table, index, row),
            };
            wanted == Some(own) && passes(&get.table, &get.columns, &get.filters, ctx, row)
        }
        Op::BatchPointGet(get) => {
            let own = match get.index {
                None => record_key(&get.table, row),
                Some(index) => index_key(&get.table, index, row),
            };
            let found = get.keys.iter().any(|key| get.builder.point_key(ctx, key).expect("a key") == Some(own.clone()));
            found && passes(&get.table, &get.columns, &get.filters, ctx, row)
        }
        other => panic!("unexpected operator {other:?}"),
    }
}

fn table_of(node: &Node) -> Arc<TableInfo> {
    match &node.op {
        Op::TableReader(reader) => Arc::clone(&reader.table),
        Op::IndexReader(reader) => Arc::clone(&reader.table),
        Op::IndexLookup(lookup) => Arc::clone(&lookup.table),
        other => panic!("{other:?} reads no table"),
    }
}

fn literal_datum(literal: &Literal) -> Datum {
    match literal {
        Literal::Int(value) => Datum::Int(*value),
        Literal::UInt(value) => Datum::UInt(*value),
        Literal::Decimal(digits) => Datum::Decimal(digits.parse().expect("digits")),
        Literal::Float(value) => Datum::Double(*value),
        Literal::Str(text) => Datum::Bytes(text.to_vec()),
        other => panic!("{other:?} is not extracted"),
    }
}

/// Checks a condition on every row, by every access path.
fn check(table: &str, hints: &[&str], condition: &str, rows: &[Row]) {
    let filter_sql = format!("SELECT * FROM {table} WHERE {condition}");
    let Ok(reference) = plan(&filter_sql, &Options { rules: RuleSet::all_off(), ..Options::default() }) else { return };
    let ctx = EvalCtx::default();
    let expected: Vec<bool> = rows.iter().map(|row| yields(&reference.root, &ctx, row)).collect();
    for hint in hints {
        let sql = format!("SELECT * FROM {table} {hint} WHERE {condition}");
        for cached in [false, true] {
            let options = Options { cached, ..Options::default() };
            let planned = plan(&sql, &options).expect("the statement was planned before");
            let mut ctx = EvalCtx::default();
            if cached {
                let normalized = parser::normalize(&sql, &ParseOptions::default()).expect("a plain SELECT");
                ctx.params = normalized.literals.iter().map(literal_datum).collect::<Vec<_>>().into();
            }
            for (row, expected) in rows.iter().zip(&expected) {
                let found = yields(&planned.root, &ctx, row);
                assert_eq!(found, *expected, "{sql}\nrow {row:?}\ncached {cached}\n{}", crate::fixture::explain(&planned));
            }
        }
    }
}

fn int_constant() -> BoxedStrategy<String> {
    prop_oneof![
        8 => (-2i64..10).prop_map(|value| value.to_string()),
        1 => Just("NULL".to_owned()),
        1 => Just("3000000000".to_owned()),
        1 => Just("-3000000000".to_owned()),
        1 => Just("18446744073709551615".to_owned()),
        2 => (-2i64..10).prop_map(|value| format!("{value}.5")),
        1 => (-2i64..10).prop_map(|value| format!("'{value}'")),
        1 => (-2i64..10).prop_map(|value| format!("{value}e0")),
        1 => (-2i64..10).prop_map(|value| format!("{value} + 1")),
    ]
    .boxed()
}

fn text_constant() -> BoxedStrategy<String> {
    prop_oneof![
        8 => "[aAbB ä]{0,3}".prop_map(|text| format!("'{text}'")),
        1 => Just("NULL".to_owned()),
        1 => Just("'abcdefgh'".to_owned()),
        1 => Just("5".to_owned()),
    ]
    .boxed()
}

fn date_constant() -> BoxedStrategy<String> {
    prop_oneof![
        4 => (1u8..5).prop_map(|day| format!("'2024-01-0{day}'")),
        3 => (1u8..5, 0u8..3).prop_map(|(day, hour)| format!("'2024-01-0{day} 0{hour}:00:00'")),
        1 => (1u8..5).prop_map(|day| format!("'2024-01-0{day} 00:00:00.5'")),
        1 => Just("NULL".to_owned()),
        1 => Just("20240102".to_owned()),
    ]
    .boxed()
}

fn comparison(column: &'static str, constant: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let operator = prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">=", "<=>", "="]);
    prop_oneof![
        6 => (operator.clone(), constant.clone()).prop_map(move |(op, value)| format!("{column} {op} {value}")),
        1 => (operator, constant.clone()).prop_map(move |(op, value)| format!("{value} {op} {column}")),
        2 => (constant.clone(), constant.clone()).prop_map(move |(low, high)| format!("{column} BETWEEN {low} AND {high}")),
        1 => (constant.clone(), constant.clone()).prop_map(move |(low, high)| format!("{column} NOT BETWEEN {low} AND {high}")),
        2 => prop::collection::vec(constant.clone(), 1..4).prop_map(move |list| format!("{column} IN ({})", list.join(", "))),
        1 => prop::collection::vec(constant, 1..3).prop_map(move |list| format!("{column} NOT IN ({})", list.join(", "))),
        1 => Just(format!("{column} IS NULL")),
        1 => Just(format!("{column} IS NOT NULL")),
    ]
    .boxed()
}

fn like(column: &'static str) -> BoxedStrategy<String> {
    "[aAb%_ ]{0,4}".prop_map(move |pattern| format!("{column} LIKE '{pattern}'")).boxed()
}

fn tree(leaf: BoxedStrategy<String>) -> BoxedStrategy<String> {
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" AND "))),
            3 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" OR "))),
            1 => inner.prop_map(|part| format!("NOT ({part})")),
        ]
    })
    .boxed()
}

fn maybe(values: Vec<Datum>) -> impl Strategy<Value = Datum> {
    prop_oneof![1 => Just(Datum::Null), 6 => prop::sample::select(values)]
}

fn ints() -> Vec<Datum> {
    (-2..10).map(Datum::Int).collect()
}

fn texts() -> Vec<Datum> {
    ["", "a", "A", "ab", "aB", "b ", "a ", "bb", "ä", "äb", "abcdefg", "abcde", "abcdef"].map(|text| Datum::Bytes(text.into())).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn common_handles_and_their_indexes(
        condition in tree(prop_oneof![
            3 => comparison("x", int_constant()),
            3 => comparison("y", text_constant()),
            2 => comparison("z", int_constant()),
            2 => comparison("v", text_constant()),
            1 => like("y"),
            1 => like("v"),
        ].boxed()),
        rows in prop::collection::vec((prop::sample::select(ints()), prop::sample::select(texts()), maybe(ints()), maybe(texts())), 12),
    ) {
        let rows: Vec<Row> = rows.into_iter().map(|(x, y, z, v)| vec![x, y, z, v]).collect();
        check("p", &["", "FORCE INDEX (PRIMARY)", "FORCE INDEX (z)", "FORCE INDEX (v5)"], &condition, &rows);
    }

    #[test]
    fn integer_handles_and_typed_indexes(
        condition in tree(prop_oneof![
            3 => comparison("a", int_constant()),
            3 => comparison("b", int_constant()),
            2 => comparison("c", text_constant()),
            2 => comparison("d", int_constant()),
            2 => comparison("e", date_constant()),
            1 => like("c"),
        ].boxed()),
        rows in prop::collection::vec(
            (prop::sample::select(ints()), maybe(ints()), maybe(texts()), maybe(decimals()), maybe(dates())), 12),
    ) {
        let rows: Vec<Row> = rows.into_iter().map(|(a, b, c, d, e)| vec![a, b, c, d, e]).collect();
        check("t", &["", "FORCE INDEX (PRIMARY)", "FORCE INDEX (ub)", "FORCE INDEX (c_d)", "FORCE INDEX (e_desc)"], &condition, &rows);
    }
}

fn decimals() -> Vec<Datum> {
    ["-2.00", "-1.50", "0.00", "0.01", "3.50", "3.51", "4.00", "9.00"].map(|text| Datum::Decimal(text.parse().expect("a decimal"))).to_vec()
}

fn dates() -> Vec<Datum> {
    let at = |day, hour| {
        let parts = types::TimeParts { year: 2024, month: 1, day, hour, ..types::TimeParts::default() };
        Datum::Time(Time::from_parts(parts, types::TimeKind::DateTime, 0).expect("a date"))
    };
    vec![at(1, 0), at(2, 0), at(2, 1), at(3, 0), at(3, 2), at(4, 0)]
}
