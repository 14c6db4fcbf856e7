//! Rows, and the values in their cells and in keys.

use base::ColumnId;
use codec::row::{RowBuilder, RowView};
use types::{
    FieldType,
    value::{decode_key_datum, decode_row_value},
};

use crate::mutation::fuzz;

fn field_types() -> Vec<FieldType> {
    vec![
        FieldType::bigint(),
        FieldType::unsigned_bigint(),
        FieldType::int(),
        FieldType::float(),
        FieldType::double(),
        FieldType::decimal(20, 4),
        FieldType::char(10),
        FieldType::varchar(20),
        FieldType::varbinary(20),
        FieldType::text(),
        FieldType::blob(),
        FieldType::date(),
        FieldType::datetime(6),
        FieldType::timestamp(0),
        FieldType::time(3),
        FieldType::year(),
    ]
}

#[test]
fn rows_and_their_cells() {
    let types = field_types();
    let mut small = RowBuilder::new();
    small.start();
    small.push(ColumnId(1), &[42]);
    small.push_null(ColumnId(2));
    small.push(ColumnId(3), b"text of a column");
    let mut large = RowBuilder::new();
    large.start();
    large.push(ColumnId(1), &[1, 2, 3, 4, 5, 6, 7, 8]);
    large.push(ColumnId(300), &[20, 4, 0x80, 0, 0, 1, 0x88]);
    large.push_null(ColumnId(70_000));
    fuzz("rows", vec![small.finish(), large.finish()], |input| {
        let _ = RowView::encoded_len(input);
        let Ok(row) = RowView::parse(input) else { return false };
        let mut whole = true;
        for cell in row.columns() {
            let Ok((id, cell)) = cell else {
                whole = false;
                continue;
            };
            let _ = row.try_get(id);
            for ty in &types {
                let _ = cell.map(|cell| decode_row_value(cell, ty));
            }
        }
        for id in [0, 1, 2, 3, 255, 256, 300, i64::MAX, -1] {
            let _ = row.get(ColumnId(id));
            let _ = row.try_get(ColumnId(id));
        }
        whole
    });
}

#[test]
fn values_in_keys() {
    let types = field_types();
    let mut seeds = Vec::new();
    for (flag, payload) in
        [(3u8, &[0x80, 0, 0, 0, 0, 0, 0, 7][..]), (4, &[0; 8]), (5, &[0xc0; 8]), (6, &[20, 4, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0])]
    {
        seeds.push([&[flag][..], payload].concat());
    }
    let mut text = vec![1];
    codec::bytes::encode_bytes(&mut text, b"text");
    seeds.extend([text, vec![0]]);
    fuzz("values in keys", seeds, |input| {
        let mut accepted = false;
        for ty in &types {
            for desc in [false, true] {
                let mut rest = input;
                if decode_key_datum(&mut rest, ty, desc).is_ok() {
                    assert!(rest.len() < input.len(), "a value of no bytes");
                    accepted = true;
                }
            }
        }
        accepted
    });
}
