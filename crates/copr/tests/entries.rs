//! Index entries and rows come back whatever the types, the handle and the collation.

use base::{ColumnId, IndexId, TableId};
use codec::Handle;
use codec::row::RowBuilder;
use copr::decode::EntryDecoder;
use copr::index_entry::{EntryBuffer, IndexCodec, cut_prefix};
use copr::record::{common_handle, is_in_row_value, push_column, record_key};
use copr::{HANDLE_COLUMN, HandleKind, IndexScan, KeyPart, ScanColumn, ScanSpec, TableScan};
use proptest::prelude::*;
use types::{Chunk, Collation, Datum, DatumRef, FieldType, Time};

/// The types a column may have here.
fn types() -> Vec<FieldType> {
    vec![
        FieldType::bigint(),
        FieldType::unsigned_bigint(),
        FieldType::varchar(20),
        FieldType::varchar(20).with_collation(Collation::Utf8mb4Bin),
        FieldType::varbinary(20),
        FieldType::char(20).with_collation(Collation::Utf8mb4GeneralCi),
        FieldType::decimal(10, 3),
        FieldType::double(),
        FieldType::datetime(6),
        FieldType::time(3),
    ]
}

fn value(ty: &FieldType, seed: i64) -> Datum {
    use types::EvalType;
    match ty.eval_type() {
        EvalType::Int if ty.unsigned => Datum::UInt(seed as u64),
        EvalType::Int => Datum::Int(seed),
        EvalType::Real => Datum::Double(seed as f64 / 7.0),
        EvalType::Decimal => Datum::Decimal(types::Decimal::from_unscaled(i128::from(seed % 1_000_000), 3)),
        EvalType::Time => Datum::Time(Time::from_unix_micros(seed.rem_euclid(1 << 50), types::TimeKind::DateTime, 6).expect("in range")),
        EvalType::Duration => Datum::Duration(types::Duration::from_micros((seed % 1_000_000_000) / 1000 * 1000, 3)),
        _ => {
            let words = ["", "a", "A ", "Straße  ", "été", "zebra crossing", "日本語"];
            let mut text = words[seed.rem_euclid(7) as usize].to_owned();
            if ty.tp == types::TypeKind::Char {
                text.truncate(text.trim_end().len());
            }
            Datum::Bytes(text.into_bytes())
        }
    }
}

#[derive(Clone, Debug)]
struct Case {
    /// Type, value and whether the index cuts and inverts the column, for each part.
    parts: Vec<(usize, Option<i64>, Option<u32>, bool)>,
    handle: Vec<(usize, i64, bool)>,
    common: bool,
    unique: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let part = (0..types().len(), prop::option::weighted(0.9, any::<i64>()), prop::option::weighted(0.2, 1u32..6), any::<bool>());
    let handle = (0..types().len(), any::<i64>(), any::<bool>());
    (prop::collection::vec(part, 1..4), prop::collection::vec(handle, 1..3), any::<bool>(), any::<bool>())
        .prop_map(|(parts, handle, common, unique)| Case { parts, handle, common, unique })
}

struct Built {
    codec: IndexCodec,
    values: Vec<Datum>,
    handle: Handle,
    handle_values: Vec<Datum>,
}

fn build(case: &Case) -> Built {
    let types = types();
    let is_string = |ty: &FieldType| ty.eval_type() == types::EvalType::String;
    let parts = case.parts.iter().enumerate().map(|(at, (ty, _, prefix, desc))| KeyPart {
        id: ColumnId(at as i64 + 1),
        ty: types[*ty].clone(),
        prefix_len: prefix.filter(|_| is_string(&types[*ty])),
        desc: *desc,
    });
    let parts = parts.collect::<Vec<_>>();
    let values = case.parts.iter().map(|(ty, seed, ..)| seed.map_or(Datum::Null, |seed| value(&types[*ty], seed))).collect();
    if !case.common {
        let codec = IndexCodec { table: TableId(7), index: IndexId(3), unique: case.unique, parts, handle: HandleKind::RowId };
        return Built { codec, values, handle: Handle::Int(case.handle[0].1), handle_values: Vec::new() };
    }
    let handle_parts = case.handle.iter().enumerate().map(|(at, (ty, _, desc))| KeyPart {
        id: ColumnId(at as i64 + 20),
        ty: types[*ty].clone(),
        prefix_len: None,
        desc: *desc,
    });
    let handle_parts = handle_parts.collect::<Vec<_>>();
    let handle_values = case.handle.iter().map(|(ty, seed, _)| value(&types[*ty], *seed)).collect::<Vec<_>>();
    let refs = handle_values.iter().map(Datum::as_ref).collect::<Vec<_>>();
    let handle = common_handle(&handle_parts, &refs).expect("encodes");
    let codec =
        IndexCodec { table: TableId(7), index: IndexId(3), unique: case.unique, parts, handle: HandleKind::Common { parts: handle_parts } };
    Built { codec, values, handle, handle_values }
}

fn same(a: DatumRef<'_>, b: DatumRef<'_>) -> bool {
    a.compare(b, Collation::Binary) == std::cmp::Ordering::Equal
}

proptest! {
    #[test]
    fn entries_give_back_values_and_handle(case in cases()) {
        let Built { codec, values, handle, handle_values } = build(&case);
        let refs = values.iter().map(Datum::as_ref).collect::<Vec<_>>();
        let handle_refs = handle_values.iter().map(Datum::as_ref).collect::<Vec<_>>();
        let mut entry = EntryBuffer::default();
        let distinct = codec.encode(&refs, &handle, &handle_refs, &mut entry).expect("encodes");
        prop_assert_eq!(distinct, case.unique && values.iter().all(|value| !value.is_null()));
        let (found, decoded) = codec.decode(&entry.key, &entry.value).expect("own entry");
        prop_assert_eq!(&found, &handle);
        for ((value, decoded), part) in refs.iter().zip(&decoded).zip(&codec.parts) {
            let cut = cut_prefix(*value, &part.ty, part.prefix_len);
            prop_assert!(same(cut, decoded.as_ref()), "{:?} {:?}", cut, decoded);
        }
        // A covering scan: whole parts, the handle's columns, the handle itself.
        let mut columns = Vec::new();
        let mut expected = Vec::new();
        for (part, value) in codec.parts.iter().zip(&values).filter(|(part, _)| part.prefix_len.is_none()) {
            columns.push(ScanColumn { id: part.id, ty: part.ty.clone(), default: Datum::Null });
            expected.push(value.clone());
        }
        if let HandleKind::Common { parts } = &codec.handle {
            for (part, value) in parts.iter().zip(&handle_values) {
                columns.push(ScanColumn { id: part.id, ty: part.ty.clone(), default: Datum::Null });
                expected.push(value.clone());
            }
        }
        let (ty, datum) = match &handle {
            Handle::Int(value) => (FieldType::bigint(), Datum::Int(*value)),
            Handle::Common(bytes) => (FieldType::varbinary(3072), Datum::Bytes(bytes.to_vec())),
        };
        columns.push(ScanColumn { id: HANDLE_COLUMN, ty, default: Datum::Null });
        expected.push(datum);
        let scan = IndexScan {
            table: codec.table, index: codec.index, unique: codec.unique, parts: codec.parts.clone(), columns: columns.clone(), handle: codec.handle.clone(),
        };
        let row = decode(&ScanSpec::Index(scan), &columns, &entry.key, &entry.value);
        for (found, expected) in row.iter().zip(&expected) {
            prop_assert!(same(found.as_ref(), expected.as_ref()), "{:?} {:?}", found, expected);
        }
    }

    #[test]
    fn rows_give_back_every_column(case in cases()) {
        let Built { codec, values, handle, handle_values } = build(&case);
        let mut columns = Vec::new();
        let mut expected = Vec::new();
        let mut row = RowBuilder::new();
        row.start();
        let mut add = |part: &KeyPart, value: &Datum| {
            columns.push(ScanColumn { id: part.id, ty: part.ty.clone(), default: Datum::Null });
            expected.push(value.clone());
            if is_in_row_value(part.id, &codec.handle) {
                push_column(&mut row, part.id, &part.ty, value.as_ref()).expect("encodes");
            }
        };
        codec.parts.iter().zip(&values).for_each(|(part, value)| add(part, value));
        if let HandleKind::Common { parts } = &codec.handle {
            parts.iter().zip(&handle_values).for_each(|(part, value)| add(part, value));
        }
        // A column that was added later shows its default.
        columns.push(ScanColumn { id: ColumnId(99), ty: FieldType::bigint(), default: Datum::Int(5) });
        expected.push(Datum::Int(5));
        let scan = TableScan { table: codec.table, columns: columns.clone(), handle: codec.handle.clone() };
        let found = decode(&ScanSpec::Table(scan), &columns, &record_key(codec.table, &handle), &row.finish());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!(same(found.as_ref(), expected.as_ref()), "{:?} {:?}", found, expected);
        }
    }

    #[test]
    fn damaged_entries_are_errors_never_panics(case in cases(), at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>()) {
        let Built { codec, values, handle, handle_values } = build(&case);
        let refs = values.iter().map(Datum::as_ref).collect::<Vec<_>>();
        let handle_refs = handle_values.iter().map(Datum::as_ref).collect::<Vec<_>>();
        let mut entry = EntryBuffer::default();
        codec.encode(&refs, &handle, &handle_refs, &mut entry).expect("encodes");
        for bytes in [&mut entry.key, &mut entry.value] {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(cut.index(bytes.len()) + 1);
        }
        let _ = codec.decode(&entry.key, &entry.value);
    }
}

fn decode(scan: &ScanSpec, columns: &[ScanColumn], key: &[u8], value: &[u8]) -> Vec<Datum> {
    let mut decoder = EntryDecoder::new(scan).expect("all columns are there");
    let types = columns.iter().map(|column| column.ty.clone()).collect::<Vec<_>>();
    let mut chunk = Chunk::new(&types, 1);
    decoder.decode(columns, key, value, &mut chunk).expect("own bytes");
    chunk.set_rows(1);
    chunk.row(0).to_datums()
}
