//! Window functions against their definitions: every row's frame is made by looking at all rows of the partition, and what is computed over
//! it begins anew for every row.

use expr::window::{
    Batch, Bound, Frame, FrameUnit, Mark, Offset, WindowDesc, WindowEval, WindowFunc, WindowKind, build_aggregate_window, build_window,
};
use expr::{AggDesc, AggKind, BuildCtx, EvalCtx, Expr, new_state};
use proptest::prelude::*;
use types::{Chunk, Collation, Datum, Decimal, FieldType};

use crate::script::context;

/// The columns behind the partition: order key, and values of several types.
const KEY: usize = 1;
const INT: usize = 2;
const DOUBLE: usize = 3;
const DECIMAL: usize = 4;
const TEXT: usize = 5;

fn types(key: FieldType) -> Vec<FieldType> {
    let text = FieldType::varchar(9).with_collation(Collation::Utf8mb4_0900AiCi);
    vec![FieldType::bigint(), key, FieldType::bigint(), FieldType::double(), FieldType::decimal(12, 3), text]
}

/// Rows in the window's order.
struct Sorted {
    types: Vec<FieldType>,
    rows: Chunk,
    /// Each row's partition and key.
    places: Vec<(i64, Option<i64>)>,
    desc: bool,
}

/// Keys are whole numbers, in one of the types that have distances.
fn key_type(kind: u8) -> FieldType {
    match kind {
        0 => FieldType::bigint(),
        1 => FieldType::unsigned_bigint(),
        2 => FieldType::double(),
        _ => FieldType::decimal(10, 2),
    }
}

fn key_value(kind: u8, key: Option<i64>) -> Datum {
    match (kind, key) {
        (_, None) => Datum::Null,
        (0, Some(key)) => Datum::Int(key),
        (1, Some(key)) => Datum::UInt(key as u64),
        (2, Some(key)) => Datum::Double(key as f64),
        (_, Some(key)) => Datum::Decimal(Decimal::from_unscaled(i128::from(key) * 100, 2)),
    }
}

fn sorted(seeds: &[u32], key_kind: u8, partitions: u32, desc: bool) -> Sorted {
    let types = types(key_type(key_kind));
    let mut drawn: Vec<(i64, Option<i64>, u32)> = seeds
        .iter()
        .map(|seed| (i64::from(seed % partitions), (seed / 7 % 6 != 0).then_some(i64::from(seed / 64 % 12)), seed / 1024))
        .collect();
    drawn.sort_by(|a, b| a.0.cmp(&b.0).then(if desc { b.1.cmp(&a.1) } else { a.1.cmp(&b.1) }));
    let mut rows = Chunk::new(&types, drawn.len());
    for (partition, key, seed) in &drawn {
        let small = i64::from(seed / 8 % 9) - 4;
        let or_null = |value: Datum, salt: u32| if (seed + salt).is_multiple_of(5) { Datum::Null } else { value };
        rows.push_row(&[
            Datum::Int(*partition),
            key_value(key_kind, *key),
            or_null(Datum::Int(small), 0),
            or_null(Datum::Double(small as f64 / 2.0), 1),
            or_null(Datum::Decimal(Decimal::from_unscaled(i128::from(small) * 1250, 3)), 2),
            or_null(Datum::from(["a", "A", "b", "ab", "á", "B", "", "c"][(seed / 8 % 8) as usize]), 3),
        ]);
    }
    let places = drawn.iter().map(|(partition, key, _)| (*partition, *key)).collect();
    Sorted { types, rows, places, desc }
}

impl Sorted {
    fn column(&self, at: usize) -> Expr {
        Expr::column(at, self.types[at].clone())
    }

    fn partition(&self, row: usize) -> Vec<usize> {
        (0..self.places.len()).filter(|other| self.places[*other].0 == self.places[row].0).collect()
    }

    /// How a row's key stands to another's in the window's order; NULL comes first, or last when descending.
    fn order(&self, a: usize, b: usize) -> std::cmp::Ordering {
        let order = self.places[a].1.cmp(&self.places[b].1);
        if self.desc { order.reverse() } else { order }
    }

    fn marks(&self) -> Vec<Mark> {
        let mark = |row: usize| match row.checked_sub(1) {
            None => Mark::Partition,
            Some(before) if self.places[before].0 != self.places[row].0 => Mark::Partition,
            Some(before) if self.places[before].1 != self.places[row].1 => Mark::Peers,
            Some(_) => Mark::Same,
        };
        (0..self.places.len()).map(mark).collect()
    }
}

/// A bound as it is drawn; offsets are small.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    Unbounded,
    Preceding(i64),
    Current,
    Following(i64),
}

impl Side {
    fn distance(self) -> i64 {
        match self {
            Side::Preceding(n) => -n,
            Side::Following(n) => n,
            Side::Unbounded | Side::Current => 0,
        }
    }

    fn bound(self, is_start: bool, unit: FrameUnit, rows: &Sorted, ctx: &EvalCtx) -> Bound {
        let offset = |n: i64, following: bool| {
            let amount = Expr::constant(Datum::Int(n), FieldType::bigint().with_not_null());
            match unit {
                FrameUnit::Rows => Offset::Rows(amount),
                FrameUnit::Range => {
                    Offset::of_number(rows.column(KEY), rows.desc, amount, following, &BuildCtx::new(ctx)).expect("an offset")
                }
            }
        };
        match self {
            Side::Unbounded if is_start => Bound::UnboundedPreceding,
            Side::Unbounded => Bound::UnboundedFollowing,
            Side::Current => Bound::CurrentRow,
            Side::Preceding(n) => Bound::Preceding(offset(n, false)),
            Side::Following(n) => Bound::Following(offset(n, true)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Drawn {
    unit: FrameUnit,
    start: Side,
    end: Side,
}

/// The rows of a frame, by its definition.
fn frame_of(rows: &Sorted, row: usize, frame: Drawn) -> Vec<usize> {
    let inside = |other: &usize| match frame.unit {
        FrameUnit::Rows => {
            let distance = *other as i64 - row as i64;
            (frame.start == Side::Unbounded || distance >= frame.start.distance())
                && (frame.end == Side::Unbounded || distance <= frame.end.distance())
        }
        FrameUnit::Range => not_before(rows, *other, row, frame.start) && not_behind(rows, *other, row, frame.end),
    };
    rows.partition(row).into_iter().filter(inside).collect()
}

/// The distance of two keys in the window's order; `None` where one is NULL.
fn distance(rows: &Sorted, other: usize, row: usize) -> Option<i64> {
    let distance = rows.places[other].1? - rows.places[row].1?;
    Some(if rows.desc { -distance } else { distance })
}

fn not_before(rows: &Sorted, other: usize, row: usize, start: Side) -> bool {
    match (start, distance(rows, other, row)) {
        (Side::Unbounded, _) => true,
        (Side::Current, _) => rows.order(other, row).is_ge(),
        (start, Some(distance)) => distance >= start.distance(),
        // NULLs are at no distance from others; they stand where the order puts them.
        (_, None) => rows.order(other, row).is_ge(),
    }
}

fn not_behind(rows: &Sorted, other: usize, row: usize, end: Side) -> bool {
    match (end, distance(rows, other, row)) {
        (Side::Unbounded, _) => true,
        (Side::Current, _) => rows.order(other, row).is_le(),
        (end, Some(distance)) => distance <= end.distance(),
        (_, None) => rows.order(other, row).is_le(),
    }
}

const AGGREGATES: &[(AggKind, Option<usize>)] = &[
    (AggKind::Count, None),
    (AggKind::Count, Some(INT)),
    (AggKind::Sum, Some(INT)),
    (AggKind::Avg, Some(INT)),
    (AggKind::Sum, Some(DECIMAL)),
    (AggKind::Avg, Some(DECIMAL)),
    (AggKind::Sum, Some(DOUBLE)),
    (AggKind::Avg, Some(DOUBLE)),
    (AggKind::Min, Some(INT)),
    (AggKind::Max, Some(DOUBLE)),
    (AggKind::Max, Some(TEXT)),
    (AggKind::Min, Some(TEXT)),
    (AggKind::BitAnd, Some(INT)),
    (AggKind::BitOr, Some(INT)),
    (AggKind::BitXor, Some(INT)),
    (AggKind::StddevPop, Some(DOUBLE)),
    (AggKind::VarSamp, Some(DOUBLE)),
    (AggKind::JsonArrayAgg, Some(INT)),
];

const OTHERS: &[WindowKind] = &[
    WindowKind::RowNumber,
    WindowKind::Rank,
    WindowKind::DenseRank,
    WindowKind::PercentRank,
    WindowKind::CumeDist,
    WindowKind::Ntile,
    WindowKind::Lag,
    WindowKind::Lead,
    WindowKind::FirstValue,
    WindowKind::LastValue,
    WindowKind::NthValue,
];

/// A function by its number, with `n` for buckets and distances.
fn function(number: usize, n: i64, rows: &Sorted, ctx: &EvalCtx) -> (WindowFunc, FieldType) {
    let build = BuildCtx::new(ctx);
    let count = |n: i64| Expr::constant(Datum::Int(n), FieldType::bigint().with_not_null());
    if let Some((kind, column)) = AGGREGATES.get(number) {
        let args = column.iter().map(|column| rows.column(*column)).collect();
        return build_aggregate_window(AggDesc::new(*kind, args, false, &build).expect("typed")).expect("a window function");
    }
    let kind = OTHERS[number - AGGREGATES.len()];
    let args = match kind {
        WindowKind::Ntile => vec![count(n + 1)],
        WindowKind::Lag => vec![rows.column(TEXT), count(n)],
        WindowKind::Lead => vec![rows.column(INT), count(n), rows.column(KEY)],
        WindowKind::FirstValue | WindowKind::LastValue => vec![rows.column(TEXT)],
        WindowKind::NthValue => vec![rows.column(INT), count(n + 1)],
        _ => vec![],
    };
    build_window(kind, args, &build).expect("a window function")
}

/// The value of a row, by the function's definition.
fn by_definition(func: &WindowFunc, n: i64, rows: &Sorted, row: usize, frame: Drawn, ctx: &EvalCtx) -> Datum {
    let partition = rows.partition(row);
    let at = partition.iter().position(|other| *other == row).expect("a row is in its partition");
    let before = partition.iter().filter(|other| rows.order(**other, row).is_lt()).count();
    let peers = partition.iter().filter(|other| rows.order(**other, row).is_eq()).count();
    let value = |column: usize, row: usize| rows.rows.column(column).datum(row);
    match func {
        WindowFunc::RowNumber => Datum::UInt(at as u64 + 1),
        WindowFunc::Rank => Datum::UInt(before as u64 + 1),
        WindowFunc::DenseRank => {
            let mut keys: Vec<_> =
                partition.iter().filter(|other| rows.order(**other, row).is_le()).map(|other| rows.places[*other].1).collect();
            keys.dedup();
            Datum::UInt(keys.len() as u64)
        }
        WindowFunc::PercentRank if partition.len() == 1 => Datum::Double(0.0),
        WindowFunc::PercentRank => Datum::Double(before as f64 / (partition.len() - 1) as f64),
        WindowFunc::CumeDist => Datum::Double((before + peers) as f64 / partition.len() as f64),
        WindowFunc::Ntile(_) => {
            // Rows are dealt into buckets as evenly as can be, the first ones getting one more.
            let buckets = n as usize + 1;
            let sizes = (0..buckets).map(|bucket| partition.len() / buckets + usize::from(bucket < partition.len() % buckets));
            let mut end = 0;
            let bucket = sizes
                .map(|size| {
                    end += size;
                    end
                })
                .position(|end| at < end)
                .expect("every row has a bucket");
            Datum::UInt(bucket as u64 + 1)
        }
        WindowFunc::Neighbour { ahead: false, .. } => at.checked_sub(n as usize).map_or(Datum::Null, |other| value(TEXT, partition[other])),
        WindowFunc::Neighbour { .. } => match partition.get(at + n as usize) {
            Some(other) => value(INT, *other),
            None => value(KEY, row),
        },
        WindowFunc::FirstValue(_) => frame_of(rows, row, frame).first().map_or(Datum::Null, |other| value(TEXT, *other)),
        WindowFunc::LastValue(_) => frame_of(rows, row, frame).last().map_or(Datum::Null, |other| value(TEXT, *other)),
        WindowFunc::NthValue(..) => frame_of(rows, row, frame).get(n as usize).map_or(Datum::Null, |other| value(INT, *other)),
        WindowFunc::Aggregate(desc) => {
            let inside: Vec<u32> = frame_of(rows, row, frame).into_iter().map(|row| row as u32).collect();
            let mut state = new_state(desc);
            state.update(desc, ctx, &rows.rows, &inside).expect("fed");
            state.result(desc, ctx, 0).expect("a result")
        }
    }
}

/// The values of all rows, through batches that end wherever they may and chunks of any size.
fn evaluated(desc: &WindowDesc, rows: &Sorted, cuts: u32, chunk_rows: usize, ctx: &EvalCtx) -> Vec<Datum> {
    let marks = rows.marks();
    let mut eval = WindowEval::new(std::slice::from_ref(desc), ctx).expect("constants in range");
    let (mut values, mut from) = (vec![], 0);
    for row in 1..=marks.len() {
        let wanted = cuts.rotate_left(row as u32).is_multiple_of(3);
        if row < marks.len() && !(wanted && eval.may_end_before(marks[row])) {
            continue;
        }
        eval.load(ctx, Batch { rows: rows.rows.slice(from, row), marks: marks[from..row].to_vec() }).expect("loaded");
        while let Some(chunk) = eval.next(ctx, chunk_rows).expect("evaluated") {
            assert_eq!(chunk.width(), rows.types.len() + 1);
            let added = chunk.column(rows.types.len());
            values.extend((0..chunk.rows()).map(|row| added.datum(row)));
        }
        from = row;
    }
    values
}

fn alike(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Double(a), Datum::Double(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
        // Unsigned keys are a default that is cast to the type of a signed value.
        (Datum::Decimal(a), b) | (b, Datum::Decimal(a)) => b.as_ref().number() == Some(a.to_f64()),
        (a, b) => a == b || (a.as_ref().number().is_some() && a.as_ref().number() == b.as_ref().number()),
    }
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Unbounded), Just(Side::Current), (0..5i64).prop_map(Side::Preceding), (0..5i64).prop_map(Side::Following)]
}

/// One evaluation: the rows, the function, its frame, and how the rows are cut.
struct Case {
    seeds: Vec<u32>,
    key_kind: u8,
    partitions: u32,
    desc: bool,
    frame: Drawn,
    number: usize,
    n: i64,
    cuts: u32,
    chunk_rows: usize,
}

fn check(case: Case) {
    let Case { frame, n, .. } = case;
    let ctx = context();
    let rows = sorted(&case.seeds, case.key_kind, case.partitions, case.desc);
    let (func, ty) = function(case.number, n, &rows, &ctx);
    let (start, end) = (frame.start.bound(true, frame.unit, &rows, &ctx), frame.end.bound(false, frame.unit, &rows, &ctx));
    let window = WindowDesc { func, frame: Frame { unit: frame.unit, start, end, window: "w".into() }, ty };
    let values = evaluated(&window, &rows, case.cuts, case.chunk_rows, &ctx);
    assert_eq!(values.len(), rows.places.len());
    for (row, value) in values.iter().enumerate() {
        let expected = by_definition(&window.func, n, &rows, row, frame, &ctx);
        assert!(alike(value, &expected), "{window} row {row} of {:?}: {value:?}, by definition {expected:?}", rows.places);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_function_over_every_frame(
        seeds in prop::collection::vec(any::<u32>(), 0..40),
        (key_kind, partitions, desc) in (0..4u8, 1..4u32, any::<bool>()),
        (is_range, start, end) in (any::<bool>(), side(), side()),
        (number, n) in (0..AGGREGATES.len() + OTHERS.len(), 0..5i64),
        (cuts, chunk_rows) in (any::<u32>(), prop_oneof![Just(1usize), Just(3), Just(1024)]),
    ) {
        let frame = Drawn { unit: if is_range { FrameUnit::Range } else { FrameUnit::Rows }, start, end };
        check(Case { seeds, key_kind, partitions, desc, frame, number, n, cuts, chunk_rows });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Frames that are wide enough for sums in twice the digits, and slide.
    #[test]
    fn aggregates_over_wide_frames(
        seeds in prop::collection::vec(any::<u32>(), 300..420),
        (number, wide, to) in (0..AGGREGATES.len(), 100..200i64, 0..60i64),
        (cuts, before) in (any::<u32>(), any::<bool>()),
    ) {
        let (start, end) = if before { (Side::Preceding(wide), Side::Preceding(to)) } else { (Side::Following(to), Side::Following(wide)) };
        let frame = Drawn { unit: FrameUnit::Rows, start, end };
        check(Case { seeds, key_kind: 0, partitions: 1, desc: false, frame, number, n: 0, cuts, chunk_rows: 64 });
    }
}
