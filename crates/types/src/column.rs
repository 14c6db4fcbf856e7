//! A column of a chunk: values of one physical type and which of them are NULL.
//!
//! ```text
//! Int(Vec<i64>)   …   Bytes { offsets: [0, 3, 3, 7], data: "abcdefg" }      a NULL row holds a zero, or no bytes
//! nulls           one bit a row, no memory as long as there is no NULL
//! ```
//!
//! Invariants: the value vector, the bitmap and (`offsets.len() - 1`) have the same length; offsets begin with 0 and never fall.
//! The physical type never changes after construction; pushing a value of another family is a bug of the caller and stops it.

use std::cmp::Ordering;

use crate::{
    bitmap::Bitmap,
    collation::Collation,
    datum::{Datum, DatumRef},
    decimal::Decimal,
    field_type::{FieldType, TypeKind},
    time::{Duration, Time, TimeKind},
};

/// The values of a column.
#[derive(Clone, Debug)]
pub enum ColumnData {
    /// Signed integers; YEAR; also columns of the type NULL.
    Int(Vec<i64>),
    /// Unsigned integers; BIT, ENUM, SET.
    UInt(Vec<u64>),
    /// FLOAT.
    Float(Vec<f32>),
    /// DOUBLE.
    Double(Vec<f64>),
    /// DECIMAL.
    Decimal(Vec<Decimal>),
    /// Text and byte strings: value `i` is `data[offsets[i]..offsets[i + 1]]`.
    Bytes {
        /// One more than there are rows.
        offsets: Vec<u32>,
        /// All strings, one behind the other.
        data: Vec<u8>,
    },
    /// DATE, DATETIME, TIMESTAMP.
    Time(Vec<Time>),
    /// TIME.
    Duration(Vec<Duration>),
    /// JSON. Boxed, for two variants of this size would make all columns larger.
    Json(Box<JsonValues>),
}

/// JSON values in their stored form, laid out as strings are.
#[derive(Clone, Debug)]
pub struct JsonValues {
    offsets: Vec<u32>,
    data: Vec<u8>,
}

impl JsonValues {
    fn new(capacity: usize) -> Self {
        Self { offsets: first_offset(capacity), data: Vec::new() }
    }

    fn push(&mut self, stored: &[u8]) {
        self.data.extend_from_slice(stored);
        self.offsets.push(string_end(self.data.len()));
    }

    fn get(&self, i: usize) -> &[u8] {
        &self.data[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }
}

/// A column of values.
#[derive(Clone, Debug)]
pub struct Column {
    data: ColumnData,
    nulls: Bitmap,
}

/// Runs the same code for the vector of each fixed-width variant and other code for byte strings and JSON.
macro_rules! each_variant {
    ($data:expr, $parts:expr, $values:ident => $fixed:expr, ($offsets:ident, $bytes:ident) => $strings:expr) => {
        match $data {
            ColumnData::Int($values) => $fixed,
            ColumnData::UInt($values) => $fixed,
            ColumnData::Float($values) => $fixed,
            ColumnData::Double($values) => $fixed,
            ColumnData::Decimal($values) => $fixed,
            ColumnData::Time($values) => $fixed,
            ColumnData::Duration($values) => $fixed,
            ColumnData::Bytes { offsets: $offsets, data: $bytes } => $strings,
            ColumnData::Json(json) => {
                let ($offsets, $bytes) = $parts(json);
                $strings
            }
        }
    };
}

macro_rules! typed_access {
    ($($(#[$doc:meta])* $get:ident, $(#[$push_doc:meta])* $push:ident, $variant:ident, $ty:ty;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $get(&self) -> &[$ty] {
                match &self.data {
                    ColumnData::$variant(values) => values,
                    other => wrong_type(stringify!($variant), other),
                }
            }

            $(#[$push_doc])*
            #[inline]
            pub fn $push(&mut self, value: $ty) {
                match &mut self.data {
                    ColumnData::$variant(values) => values.push(value),
                    other => wrong_type(stringify!($variant), other),
                }
                self.nulls.push(false);
            }
        )*
    };
}

#[cold]
#[inline(never)]
fn wrong_type(wanted: &str, data: &ColumnData) -> ! {
    panic!("a value of type {wanted} meets a column of type {}", data.name())
}

impl ColumnData {
    fn name(&self) -> &'static str {
        match self {
            Self::Int(_) => "Int",
            Self::UInt(_) => "UInt",
            Self::Float(_) => "Float",
            Self::Double(_) => "Double",
            Self::Decimal(_) => "Decimal",
            Self::Bytes { .. } => "Bytes",
            Self::Time(_) => "Time",
            Self::Duration(_) => "Duration",
            Self::Json(_) => "Json",
        }
    }

    fn len(&self) -> usize {
        each_variant!(self, json_parts, values => values.len(), (offsets, _data) => offsets.len() - 1)
    }
}

impl Column {
    /// An empty column for values of a type.
    pub fn for_type(ty: &FieldType, capacity: usize) -> Self {
        let data = match ty.tp {
            TypeKind::Null | TypeKind::Year => ColumnData::Int(Vec::with_capacity(capacity)),
            TypeKind::Bit | TypeKind::Enum | TypeKind::Set => ColumnData::UInt(Vec::with_capacity(capacity)),
            TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
                if ty.unsigned {
                    ColumnData::UInt(Vec::with_capacity(capacity))
                } else {
                    ColumnData::Int(Vec::with_capacity(capacity))
                }
            }
            TypeKind::Float => ColumnData::Float(Vec::with_capacity(capacity)),
            TypeKind::Double => ColumnData::Double(Vec::with_capacity(capacity)),
            TypeKind::Decimal => ColumnData::Decimal(Vec::with_capacity(capacity)),
            TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => ColumnData::Time(Vec::with_capacity(capacity)),
            TypeKind::Time => ColumnData::Duration(Vec::with_capacity(capacity)),
            TypeKind::Json => ColumnData::Json(Box::new(JsonValues::new(capacity))),
            _ => ColumnData::Bytes { offsets: first_offset(capacity), data: Vec::new() },
        };
        Self { data, nulls: Bitmap::new() }
    }

    /// A column of values and the rows that are NULL; both have the same length.
    pub fn from_parts(data: ColumnData, nulls: Bitmap) -> Self {
        assert_eq!(data.len(), nulls.len(), "values and null bits of a column must be as many");
        Self { data, nulls }
    }

    /// A column of values without NULL.
    pub fn from_data(data: ColumnData) -> Self {
        let nulls = Bitmap::zeros(data.len());
        Self { data, nulls }
    }

    /// A column that repeats one value.
    pub fn repeat(ty: &FieldType, value: DatumRef<'_>, rows: usize) -> Self {
        let mut column = Self::for_type(ty, rows);
        (0..rows).for_each(|_| column.push_ref(value));
        column
    }

    /// An empty column of the same physical type.
    pub fn empty_like(&self, capacity: usize) -> Self {
        let data = match &self.data {
            ColumnData::Int(_) => ColumnData::Int(Vec::with_capacity(capacity)),
            ColumnData::UInt(_) => ColumnData::UInt(Vec::with_capacity(capacity)),
            ColumnData::Float(_) => ColumnData::Float(Vec::with_capacity(capacity)),
            ColumnData::Double(_) => ColumnData::Double(Vec::with_capacity(capacity)),
            ColumnData::Decimal(_) => ColumnData::Decimal(Vec::with_capacity(capacity)),
            ColumnData::Time(_) => ColumnData::Time(Vec::with_capacity(capacity)),
            ColumnData::Duration(_) => ColumnData::Duration(Vec::with_capacity(capacity)),
            ColumnData::Bytes { .. } => ColumnData::Bytes { offsets: first_offset(capacity), data: Vec::new() },
            ColumnData::Json(_) => ColumnData::Json(Box::new(JsonValues::new(capacity))),
        };
        Self { data, nulls: Bitmap::new() }
    }

    /// The values.
    #[inline]
    pub fn data(&self) -> &ColumnData {
        &self.data
    }

    /// The values and the null bits.
    pub fn into_parts(self) -> (ColumnData, Bitmap) {
        (self.data, self.nulls)
    }

    /// Which rows are NULL.
    #[inline]
    pub fn nulls(&self) -> &Bitmap {
        &self.nulls
    }

    /// Which rows are NULL, to be changed; the number of bits must stay.
    pub fn nulls_mut(&mut self) -> &mut Bitmap {
        &mut self.nulls
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.nulls.len()
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any row is NULL.
    #[inline]
    pub fn has_nulls(&self) -> bool {
        self.nulls.any()
    }

    /// Whether row `i` is NULL.
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.nulls.get(i)
    }

    /// The value of row `i`, copied.
    pub fn datum(&self, i: usize) -> Datum {
        self.datum_ref(i).to_owned()
    }

    /// The value of row `i`.
    #[inline]
    pub fn datum_ref(&self, i: usize) -> DatumRef<'_> {
        if self.nulls.get(i) {
            return DatumRef::Null;
        }
        match &self.data {
            ColumnData::Int(values) => DatumRef::Int(values[i]),
            ColumnData::UInt(values) => DatumRef::UInt(values[i]),
            ColumnData::Float(values) => DatumRef::Float(values[i]),
            ColumnData::Double(values) => DatumRef::Double(values[i]),
            ColumnData::Decimal(values) => DatumRef::Decimal(&values[i]),
            ColumnData::Bytes { offsets, data } => DatumRef::Bytes(&data[offsets[i] as usize..offsets[i + 1] as usize]),
            ColumnData::Time(values) => DatumRef::Time(values[i]),
            ColumnData::Duration(values) => DatumRef::Duration(values[i]),
            ColumnData::Json(values) => DatumRef::Json(values.get(i)),
        }
    }

    typed_access! {
        /// The integers of a signed column; 0 where NULL.
        i64s, /// Appends a signed integer.
        push_i64, Int, i64;
        /// The integers of an unsigned column; 0 where NULL.
        u64s, /// Appends an unsigned integer.
        push_u64, UInt, u64;
        /// The values of a FLOAT column; 0 where NULL.
        f32s, /// Appends a float.
        push_f32, Float, f32;
        /// The values of a DOUBLE column; 0 where NULL.
        f64s, /// Appends a double.
        push_f64, Double, f64;
        /// The values of a DECIMAL column; 0 where NULL.
        decimals, /// Appends a decimal.
        push_decimal, Decimal, Decimal;
        /// The values of a date column; the zero date where NULL.
        times, /// Appends a date.
        push_time, Time, Time;
        /// The values of a TIME column; 0 where NULL.
        durations, /// Appends a time.
        push_duration, Duration, Duration;
    }

    /// The string of row `i` of a string column; empty where NULL.
    #[inline]
    pub fn bytes(&self, i: usize) -> &[u8] {
        match &self.data {
            ColumnData::Bytes { offsets, data } => &data[offsets[i] as usize..offsets[i + 1] as usize],
            other => wrong_type("Bytes", other),
        }
    }

    /// Appends a JSON value in its stored form.
    #[inline]
    pub fn push_json(&mut self, stored: &[u8]) {
        match &mut self.data {
            ColumnData::Json(values) => {
                values.push(stored);
                self.nulls.push(false);
            }
            other => wrong_type("Json", other),
        }
    }

    /// Appends a string.
    #[inline]
    pub fn push_bytes(&mut self, value: &[u8]) {
        self.push_bytes_with(|data| data.extend_from_slice(value));
    }

    /// Appends the string that `write` appends to the buffer it is given; it must not touch what is there already.
    #[inline]
    pub fn push_bytes_with<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        match &mut self.data {
            ColumnData::Bytes { offsets, data } => {
                let result = write(data);
                offsets.push(string_end(data.len()));
                self.nulls.push(false);
                result
            }
            other => wrong_type("Bytes", other),
        }
    }

    /// Appends NULL.
    #[inline]
    pub fn push_null(&mut self) {
        match &mut self.data {
            ColumnData::Int(values) => values.push(0),
            ColumnData::UInt(values) => values.push(0),
            ColumnData::Float(values) => values.push(0.0),
            ColumnData::Double(values) => values.push(0.0),
            ColumnData::Decimal(values) => values.push(Decimal::ZERO),
            ColumnData::Bytes { offsets, data } => offsets.push(data.len() as u32),
            ColumnData::Json(values) => values.push(&[]),
            ColumnData::Time(values) => values.push(Time::zero(TimeKind::DateTime, 0)),
            ColumnData::Duration(values) => values.push(Duration::ZERO),
        }
        self.nulls.push(true);
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: &Datum) {
        self.push_ref(value.as_ref());
    }

    /// Appends a value. Numbers adapt to the column's number type where that loses nothing but digits of a fraction.
    #[inline]
    pub fn push_ref(&mut self, value: DatumRef<'_>) {
        match (&mut self.data, value) {
            (_, DatumRef::Null) => return self.push_null(),
            (ColumnData::Int(values), DatumRef::Int(value)) => values.push(value),
            (ColumnData::UInt(values), DatumRef::UInt(value)) => values.push(value),
            (ColumnData::Bytes { offsets, data }, DatumRef::Bytes(value)) => {
                data.extend_from_slice(value);
                offsets.push(string_end(data.len()));
            }
            (ColumnData::Decimal(values), DatumRef::Decimal(value)) => values.push(*value),
            (ColumnData::Double(values), DatumRef::Double(value)) => values.push(value),
            (ColumnData::Float(values), DatumRef::Float(value)) => values.push(value),
            (ColumnData::Time(values), DatumRef::Time(value)) => values.push(value),
            (ColumnData::Duration(values), DatumRef::Duration(value)) => values.push(value),
            (ColumnData::Json(values), DatumRef::Json(value)) => values.push(value),
            _ => return self.push_adapted(value),
        }
        self.nulls.push(false);
    }

    #[cold]
    fn push_adapted(&mut self, value: DatumRef<'_>) {
        match (&mut self.data, value) {
            (ColumnData::Int(values), DatumRef::UInt(value)) => values.push(value as i64),
            (ColumnData::UInt(values), DatumRef::Int(value)) => values.push(value as u64),
            (ColumnData::Float(values), DatumRef::Double(value)) => values.push(value as f32),
            (ColumnData::Double(values), DatumRef::Float(value)) => values.push(f64::from(value)),
            (ColumnData::Double(values), DatumRef::Int(value)) => values.push(value as f64),
            (ColumnData::Double(values), DatumRef::UInt(value)) => values.push(value as f64),
            (ColumnData::Decimal(values), DatumRef::Int(value)) => values.push(Decimal::from_i64(value)),
            (ColumnData::Decimal(values), DatumRef::UInt(value)) => values.push(Decimal::from_u64(value)),
            (data, value) => panic!("the value {value:?} meets a column of type {}", data.name()),
        }
        self.nulls.push(false);
    }

    /// Appends row `i` of a column of the same physical type.
    #[inline]
    pub fn push_from(&mut self, other: &Self, i: usize) {
        self.push_ref(other.datum_ref(i));
    }

    /// Appends rows of a column of the same physical type.
    pub fn extend_gather(&mut self, other: &Self, rows: &[u32]) {
        match (&mut self.data, &other.data) {
            (ColumnData::Int(to), ColumnData::Int(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (ColumnData::UInt(to), ColumnData::UInt(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (ColumnData::Float(to), ColumnData::Float(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (ColumnData::Double(to), ColumnData::Double(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (ColumnData::Decimal(to), ColumnData::Decimal(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (ColumnData::Time(to), ColumnData::Time(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (ColumnData::Duration(to), ColumnData::Duration(from)) => to.extend(rows.iter().map(|&row| from[row as usize])),
            (ColumnData::Bytes { offsets, data }, ColumnData::Bytes { offsets: from_offsets, data: from }) => {
                offsets.reserve(rows.len());
                for &row in rows {
                    let row = row as usize;
                    data.extend_from_slice(&from[from_offsets[row] as usize..from_offsets[row + 1] as usize]);
                    offsets.push(string_end(data.len()));
                }
            }
            _ => return rows.iter().for_each(|&row| self.push_ref(other.datum_ref(row as usize))),
        }
        if other.nulls.any() {
            rows.iter().for_each(|&row| self.nulls.push(other.nulls.get(row as usize)));
        } else {
            self.nulls.extend_zeros(rows.len());
        }
    }

    /// Appends the rows `start..end` of a column of the same physical type.
    pub fn extend_range(&mut self, other: &Self, start: usize, end: usize) {
        match (&mut self.data, &other.data) {
            (ColumnData::Int(to), ColumnData::Int(from)) => to.extend_from_slice(&from[start..end]),
            (ColumnData::UInt(to), ColumnData::UInt(from)) => to.extend_from_slice(&from[start..end]),
            (ColumnData::Float(to), ColumnData::Float(from)) => to.extend_from_slice(&from[start..end]),
            (ColumnData::Double(to), ColumnData::Double(from)) => to.extend_from_slice(&from[start..end]),
            (ColumnData::Decimal(to), ColumnData::Decimal(from)) => to.extend_from_slice(&from[start..end]),
            (ColumnData::Time(to), ColumnData::Time(from)) => to.extend_from_slice(&from[start..end]),
            (ColumnData::Duration(to), ColumnData::Duration(from)) => to.extend_from_slice(&from[start..end]),
            (ColumnData::Bytes { offsets, data }, ColumnData::Bytes { offsets: from_offsets, data: from }) => {
                let (first, last) = (from_offsets[start] as usize, from_offsets[end] as usize);
                let shift = data.len();
                data.extend_from_slice(&from[first..last]);
                string_end(data.len());
                offsets.extend(from_offsets[start + 1..=end].iter().map(|&offset| (offset as usize - first + shift) as u32));
            }
            _ => return (start..end).for_each(|row| self.push_ref(other.datum_ref(row))),
        }
        if other.nulls.any() {
            (start..end).for_each(|row| self.nulls.push(other.nulls.get(row)));
        } else {
            self.nulls.extend_zeros(end - start);
        }
    }

    /// Keeps the first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        if rows >= self.len() {
            return;
        }
        each_variant!(&mut self.data, json_parts_mut, values => values.truncate(rows), (offsets, data) => {
            offsets.truncate(rows + 1);
            data.truncate(offsets[rows] as usize);
        });
        self.nulls.truncate(rows);
    }

    /// Removes all rows, keeps the memory.
    pub fn clear(&mut self) {
        each_variant!(&mut self.data, json_parts_mut, values => values.clear(), (offsets, data) => {
            offsets.truncate(1);
            data.clear();
        });
        self.nulls.clear();
    }

    /// Orders row `i` and a row of another column; NULL first.
    #[inline]
    pub fn compare_rows(&self, i: usize, other: &Self, j: usize, collation: Collation) -> Ordering {
        self.datum_ref(i).compare(other.datum_ref(j), collation)
    }

    /// Bytes on the heap.
    pub fn memory_bytes(&self) -> usize {
        fn of<T>(values: &Vec<T>) -> usize {
            values.capacity() * size_of::<T>()
        }
        self.nulls.memory_bytes() + each_variant!(&self.data, json_parts, values => of(values), (offsets, data) => of(offsets) + of(data))
    }
}

fn json_parts(values: &JsonValues) -> (&Vec<u32>, &Vec<u8>) {
    (&values.offsets, &values.data)
}

fn json_parts_mut(values: &mut JsonValues) -> (&mut Vec<u32>, &mut Vec<u8>) {
    (&mut values.offsets, &mut values.data)
}

/// The offsets of a string column without rows.
fn first_offset(capacity: usize) -> Vec<u32> {
    let mut offsets = Vec::with_capacity(capacity + 1);
    offsets.push(0);
    offsets
}

/// The end offset of a string column's data.
#[inline]
fn string_end(len: usize) -> u32 {
    u32::try_from(len).expect("a chunk's strings stay far below 4 GiB: rows are limited to 64 MiB and chunks are cut by memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(tp: TypeKind) -> (FieldType, Vec<Datum>) {
        let ty = FieldType::new(tp);
        let values = match tp {
            TypeKind::BigInt | TypeKind::Year => vec![Datum::Int(1), Datum::Null, Datum::Int(-3), Datum::Int(4)],
            TypeKind::Bit => vec![Datum::UInt(1), Datum::Null, Datum::UInt(u64::MAX), Datum::UInt(4)],
            TypeKind::Float => vec![Datum::Float(1.5), Datum::Null, Datum::Float(-3.0), Datum::Float(4.0)],
            TypeKind::Double => vec![Datum::Double(1.5), Datum::Null, Datum::Double(-3.0), Datum::Double(4.0)],
            TypeKind::Decimal => {
                vec![Datum::Decimal(Decimal::ONE), Datum::Null, Datum::Decimal(Decimal::ZERO), Datum::Decimal(Decimal::from_i64(-4))]
            }
            TypeKind::Json => {
                let json = |text: &str| Datum::Json(crate::json::parse(text.as_bytes()).expect("valid").to_binary().expect("small"));
                vec![json("[1]"), Datum::Null, json("{}"), json("null")]
            }
            TypeKind::VarChar => vec![Datum::from("one"), Datum::Null, Datum::from(""), Datum::from("four")],
            TypeKind::Date => {
                (1..=4).map(|day| if day == 2 { Datum::Null } else { Datum::from(Time::date(2024, 1, day).expect("valid")) }).collect()
            }
            _ => (1..=4).map(|n| if n == 2 { Datum::Null } else { Datum::Duration(Duration::from_micros(n, 6)) }).collect(),
        };
        (ty, values)
    }

    #[test]
    fn rows_of_every_physical_type_are_appended_gathered_and_cut() {
        for tp in [
            TypeKind::BigInt,
            TypeKind::Year,
            TypeKind::Bit,
            TypeKind::Float,
            TypeKind::Double,
            TypeKind::Decimal,
            TypeKind::VarChar,
            TypeKind::Date,
            TypeKind::Time,
            TypeKind::Json,
        ] {
            let (ty, values) = sample(tp);
            let mut column = Column::for_type(&ty, 2);
            values.iter().for_each(|value| column.push(value));
            let all = |column: &Column| (0..column.len()).map(|i| column.datum(i)).collect::<Vec<_>>();
            assert_eq!(all(&column), values);
            let mut gathered = Column::for_type(&ty, 0);
            gathered.extend_gather(&column, &[3, 1, 1, 0]);
            assert_eq!(all(&gathered), [3, 1, 1, 0].map(|i: usize| values[i].clone()));
            gathered.extend_range(&column, 1, 3);
            assert_eq!(all(&gathered)[4..], values[1..3]);
            gathered.truncate(2);
            assert_eq!(all(&gathered), [values[3].clone(), values[1].clone()]);
            gathered.clear();
            gathered.extend_range(&column, 0, 1);
            assert_eq!(all(&gathered), values[..1]);
            assert!(column.memory_bytes() > 0);
        }
    }

    #[test]
    #[should_panic(expected = "meets a column of type Int")]
    fn a_string_in_a_number_column_stops_the_caller() {
        Column::for_type(&FieldType::bigint(), 1).push(&Datum::from("x"));
    }
}
