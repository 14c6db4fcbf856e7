//! A batch of rows, stored by column: what operators hand to each other.

use crate::{
    column::Column,
    datum::{Datum, DatumRef},
    field_type::FieldType,
};

/// A batch of rows.
///
/// Invariant: every column has `rows` rows. A chunk without columns may have rows all the same (`SELECT 1 FROM t` needs no column of `t`).
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    columns: Vec<Column>,
    rows: usize,
}

impl Chunk {
    /// An empty chunk for rows of the types, with room for `capacity` of them.
    pub fn new(types: &[FieldType], capacity: usize) -> Self {
        Self { columns: types.iter().map(|ty| Column::for_type(ty, capacity)).collect(), rows: 0 }
    }

    /// A chunk of whole columns, which must have the same number of rows.
    pub fn from_columns(columns: Vec<Column>) -> Self {
        let rows = columns.first().map_or(0, Column::len);
        assert!(columns.iter().all(|column| column.len() == rows), "the columns of a chunk must have the same number of rows");
        Self { columns, rows }
    }

    /// A chunk of rows without columns.
    pub fn without_columns(rows: usize) -> Self {
        Self { columns: Vec::new(), rows }
    }

    /// All columns.
    #[inline]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns as they are taken out of the chunk.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// Column `i`.
    #[inline]
    pub fn column(&self, i: usize) -> &Column {
        &self.columns[i]
    }

    /// The columns, to be appended to one by one. All must have the same number of rows again before
    /// [`set_rows`](Self::set_rows) is called, and nothing else may be called before.
    #[inline]
    pub fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// Declares how many rows the chunk has after its columns were appended to.
    #[inline]
    pub fn set_rows(&mut self, rows: usize) {
        assert!(self.columns.iter().all(|column| column.len() == rows), "the columns of a chunk must have the same number of rows");
        self.rows = rows;
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Number of columns.
    #[inline]
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> RowRef<'_> {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        RowRef { chunk: self, index: i }
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = RowRef<'_>> {
        (0..self.rows).map(move |index| RowRef { chunk: self, index })
    }

    /// Appends a row; one datum a column.
    #[inline]
    pub fn push_row(&mut self, row: &[Datum]) {
        assert_eq!(row.len(), self.columns.len(), "a row has one value for every column");
        self.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        self.rows += 1;
    }

    /// Appends a row of another chunk with the same columns.
    pub fn push_row_ref(&mut self, row: RowRef<'_>) {
        assert_eq!(row.len(), self.columns.len(), "a row has one value for every column");
        self.columns.iter_mut().enumerate().for_each(|(i, column)| column.push_ref(row.get(i)));
        self.rows += 1;
    }

    /// Appends all rows of another chunk with the same columns.
    pub fn append(&mut self, other: &Self) {
        self.append_range(other, 0, other.rows);
    }

    /// Appends the rows `start..end` of another chunk with the same columns.
    pub fn append_range(&mut self, other: &Self, start: usize, end: usize) {
        assert_eq!(other.width(), self.width(), "chunks of the same columns are appended");
        self.columns.iter_mut().zip(&other.columns).for_each(|(to, from)| to.extend_range(from, start, end));
        self.rows += end - start;
    }

    /// Appends rows of another chunk with the same columns, in the order given.
    pub fn extend_gather(&mut self, other: &Self, rows: &[u32]) {
        assert_eq!(other.width(), self.width(), "chunks of the same columns are appended");
        self.columns.iter_mut().zip(&other.columns).for_each(|(to, from)| to.extend_gather(from, rows));
        self.rows += rows.len();
    }

    /// A new chunk of the rows, in the order given.
    pub fn gather(&self, rows: &[u32]) -> Self {
        let mut out = self.empty_like(rows.len());
        out.extend_gather(self, rows);
        out
    }

    /// A new chunk of the rows `start..end`.
    pub fn slice(&self, start: usize, end: usize) -> Self {
        let mut out = self.empty_like(end - start);
        out.append_range(self, start, end);
        out
    }

    /// An empty chunk with the same columns.
    pub fn empty_like(&self, capacity: usize) -> Self {
        Self { columns: self.columns.iter().map(|column| column.empty_like(capacity)).collect(), rows: 0 }
    }

    /// A new chunk of the columns, in the order given.
    pub fn project(&self, columns: &[usize]) -> Self {
        Self { columns: columns.iter().map(|&i| self.columns[i].clone()).collect(), rows: self.rows }
    }

    /// Adds a column on the right; it must have as many rows. A chunk without columns takes its number of rows.
    pub fn push_column(&mut self, column: Column) {
        if self.columns.is_empty() && self.rows == 0 {
            self.rows = column.len();
        }
        assert_eq!(column.len(), self.rows, "the columns of a chunk must have the same number of rows");
        self.columns.push(column);
    }

    /// Keeps the first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        self.columns.iter_mut().for_each(|column| column.truncate(rows));
        self.rows = self.rows.min(rows);
    }

    /// Removes all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.rows = 0;
    }

    /// The chunk itself; an empty one with the same columns stays behind.
    pub fn take(&mut self) -> Self {
        let empty = self.empty_like(0);
        std::mem::replace(self, empty)
    }

    /// Bytes on the heap.
    pub fn memory_bytes(&self) -> usize {
        self.columns.iter().map(Column::memory_bytes).sum()
    }
}

/// A row of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'a> {
    chunk: &'a Chunk,
    index: usize,
}

impl<'a> RowRef<'a> {
    /// The row of a chunk.
    #[inline]
    pub fn new(chunk: &'a Chunk, index: usize) -> Self {
        chunk.row(index)
    }

    /// The value of column `i`.
    #[inline]
    pub fn get(&self, i: usize) -> DatumRef<'a> {
        self.chunk.columns[i].datum_ref(self.index)
    }

    /// Number of columns.
    #[inline]
    pub fn len(&self) -> usize {
        self.chunk.columns.len()
    }

    /// Whether there are no columns.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.chunk.columns.is_empty()
    }

    /// The chunk.
    #[inline]
    pub fn chunk(&self) -> &'a Chunk {
        self.chunk
    }

    /// The position in the chunk.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = DatumRef<'a>> + use<'a> {
        let row = *self;
        (0..row.len()).map(move |i| row.get(i))
    }

    /// All values, copied.
    pub fn to_datums(&self) -> Vec<Datum> {
        self.iter().map(DatumRef::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(range: std::ops::Range<i64>) -> Chunk {
        let mut chunk = Chunk::new(&[FieldType::bigint(), FieldType::varchar(10)], 4);
        range.for_each(|n| chunk.push_row(&[Datum::Int(n), if n % 2 == 0 { Datum::Null } else { Datum::from(format!("n{n}")) }]));
        chunk
    }

    fn text(chunk: &Chunk) -> String {
        chunk.iter().map(|row| format!("{:?}", row.to_datums())).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn chunks_are_cut_gathered_and_put_together() {
        let chunk = numbers(0..5);
        assert_eq!(text(&chunk.gather(&[4, 1])), text(&numbers(4..5)) + " " + &text(&numbers(1..2)));
        let mut both = chunk.slice(0, 2);
        both.append(&chunk.slice(2, 5));
        assert_eq!(text(&both), text(&chunk));
        both.truncate(1);
        assert_eq!((both.rows(), text(&both)), (1, text(&numbers(0..1))));
        assert_eq!(text(&chunk.project(&[0])), "[Int(0)] [Int(1)] [Int(2)] [Int(3)] [Int(4)]");
        let mut taken = numbers(0..2);
        assert_eq!((taken.take().rows(), taken.rows(), taken.width()), (2, 0, 2));
        assert_eq!(Chunk::without_columns(3).iter().count(), 3);
    }

    #[test]
    fn values_and_columns_stay_small() {
        // Hot paths copy them: a new kind of value must not make all of them larger.
        assert_eq!((size_of::<Datum>(), size_of::<DatumRef<'_>>(), size_of::<Column>()), (40, 24, 88));
    }

    #[test]
    #[should_panic(expected = "same number of rows")]
    fn columns_of_different_length_are_refused() {
        let mut columns = numbers(0..2).into_columns();
        columns[0].truncate(1);
        Chunk::from_columns(columns);
    }
}
