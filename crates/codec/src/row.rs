//! Row format v2: the value behind a record key.
//!
//! ```text
//! offset  small               large (flag bit 0)
//! 0       version 0x80
//! 1       flags
//! 2       columns that are not NULL: n, u16
//! 4       columns that are NULL: m, u16
//! 6       n + m column ids    u8 each, or u32 each      ascending among the n, then ascending among the m
//!         n end offsets       u16 each, or u32 each     from the start of the data
//!         data
//! ```
//!
//! All integers are little-endian. A row is large when an id exceeds 255 or the data exceeds 65,535 bytes. A column that stands in neither
//! list was added after the row was written: its default applies. Cells carry no type; the schema knows it.

use base::ColumnId;

use crate::error::{Error, Result};

/// First byte of every row; also tells restored values in an index value.
pub const ROW_VERSION: u8 = 0x80;

const FLAG_LARGE: u8 = 1;
const HEADER_LEN: usize = 6;
const WHAT: &str = "row";

/// Builds rows one after the other and keeps its buffers.
///
/// Per row: [`start`](Self::start), then for each column [`push_null`](Self::push_null) or [`push_with`](Self::push_with) in any order of ids,
/// then [`finish_into`](Self::finish_into).
#[derive(Debug, Default)]
pub struct RowBuilder {
    /// Id, start and end in `data` of every column that is not NULL.
    cells: Vec<(u32, u32, u32)>,
    nulls: Vec<u32>,
    data: Vec<u8>,
    cells_sorted: bool,
}

impl RowBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the previous row.
    #[inline]
    pub fn start(&mut self) {
        self.cells.clear();
        self.nulls.clear();
        self.data.clear();
        self.cells_sorted = true;
    }

    /// Adds a NULL column. Ids are from 1 to `u32::MAX`; a table cannot hold more.
    #[inline]
    pub fn push_null(&mut self, id: ColumnId) {
        self.nulls.push(column_id(id));
    }

    /// Adds a column whose cell is `value`.
    #[inline]
    pub fn push(&mut self, id: ColumnId, value: &[u8]) {
        self.push_with(id, |out| out.extend_from_slice(value));
    }

    /// Adds a column whose cell `write` appends to the buffer it is given. It must not touch what is there already.
    #[inline]
    pub fn push_with<R>(&mut self, id: ColumnId, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let id = column_id(id);
        self.cells_sorted &= self.cells.last().is_none_or(|&(last, ..)| last < id);
        let start = self.data.len();
        let result = write(&mut self.data);
        assert!(self.data.len() >= start && self.data.len() <= u32::MAX as usize, "a cell must only append, and a row stays below 4 GiB");
        self.cells.push((id, start as u32, self.data.len() as u32));
        result
    }

    /// Appends the row to `out`.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) {
        if !self.cells_sorted {
            self.cells.sort_unstable_by_key(|&(id, ..)| id);
        }
        self.nulls.sort_unstable();
        assert!(
            self.cells.len() <= usize::from(u16::MAX) && self.nulls.len() <= usize::from(u16::MAX),
            "a table has at most 4,096 columns"
        );
        let max_id = self.cells.last().map_or(0, |&(id, ..)| id).max(self.nulls.last().copied().unwrap_or(0));
        let large = max_id > u32::from(u8::MAX) || self.data.len() > usize::from(u16::MAX);
        out.reserve(HEADER_LEN + (self.cells.len() * 2 + self.nulls.len()) * 4 + self.data.len());
        out.extend_from_slice(&[ROW_VERSION, if large { FLAG_LARGE } else { 0 }]);
        out.extend_from_slice(&(self.cells.len() as u16).to_le_bytes());
        out.extend_from_slice(&(self.nulls.len() as u16).to_le_bytes());
        let ids = self.cells.iter().map(|&(id, ..)| id).chain(self.nulls.iter().copied());
        let mut end = 0u32;
        let ends = self.cells.iter().map(|&(_, start, stop)| {
            end += stop - start;
            end
        });
        if large {
            ids.for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
            ends.for_each(|end| out.extend_from_slice(&end.to_le_bytes()));
        } else {
            ids.for_each(|id| out.push(id as u8));
            ends.for_each(|end| out.extend_from_slice(&(end as u16).to_le_bytes()));
        }
        if self.cells_sorted {
            out.extend_from_slice(&self.data);
        } else {
            self.cells.iter().for_each(|&(_, start, stop)| out.extend_from_slice(&self.data[start as usize..stop as usize]));
        }
    }

    /// The row as a new vector.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.finish_into(&mut out);
        out
    }
}

fn column_id(id: ColumnId) -> u32 {
    u32::try_from(id.0).expect("column ids are given out from 1 upwards and never reach 2^32")
}

/// A row as it lies in memory; nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    large: bool,
    not_null: usize,
    nulls: usize,
    ids: &'a [u8],
    ends: &'a [u8],
    data: &'a [u8],
}

impl<'a> RowView<'a> {
    /// Checks the header and that the lists are there. Single cells are checked when they are asked for.
    #[inline]
    pub fn parse(row: &'a [u8]) -> Result<Self> {
        let (view, _) = Self::parse_lists(row)?;
        Ok(view)
    }

    #[inline]
    fn parse_lists(row: &'a [u8]) -> Result<(Self, usize)> {
        let Some((header, rest)) = row.split_first_chunk::<HEADER_LEN>() else {
            return Err(Error::Truncated { what: WHAT, needed: HEADER_LEN, left: row.len() });
        };
        if header[0] != ROW_VERSION {
            return Err(Error::UnknownFlag { what: "version of a row", found: header[0] });
        }
        let large = header[1] & FLAG_LARGE != 0;
        if header[1] & !FLAG_LARGE != 0 {
            return Err(Error::UnknownFlag { what: "flags of a row", found: header[1] });
        }
        let not_null = usize::from(u16::from_le_bytes([header[2], header[3]]));
        let nulls = usize::from(u16::from_le_bytes([header[4], header[5]]));
        let (id_len, end_len) = if large { (4, 4) } else { (1, 2) };
        let ids_len = (not_null + nulls) * id_len;
        let lists_len = ids_len + not_null * end_len;
        if rest.len() < lists_len {
            return Err(Error::Truncated { what: "lists of a row", needed: lists_len, left: rest.len() });
        }
        let (ids, rest) = rest.split_at(ids_len);
        let (ends, data) = rest.split_at(not_null * end_len);
        Ok((Self { large, not_null, nulls, ids, ends, data }, HEADER_LEN + lists_len))
    }

    /// Length in bytes of the row at the front of `bytes`, which may go on behind it.
    pub fn encoded_len(bytes: &[u8]) -> Result<usize> {
        let (view, lists) = RowView::parse_lists(bytes)?;
        let data = if view.not_null == 0 { 0 } else { view.end(view.not_null - 1) };
        if view.data.len() < data {
            return Err(Error::Truncated { what: "data of a row", needed: data, left: view.data.len() });
        }
        Ok(lists + data)
    }

    #[inline]
    fn id(&self, at: usize) -> u32 {
        if self.large {
            let i = at * 4;
            u32::from_le_bytes([self.ids[i], self.ids[i + 1], self.ids[i + 2], self.ids[i + 3]])
        } else {
            u32::from(self.ids[at])
        }
    }

    #[inline]
    fn end(&self, at: usize) -> usize {
        if self.large {
            let i = at * 4;
            u32::from_le_bytes([self.ends[i], self.ends[i + 1], self.ends[i + 2], self.ends[i + 3]]) as usize
        } else {
            let i = at * 2;
            usize::from(u16::from_le_bytes([self.ends[i], self.ends[i + 1]]))
        }
    }

    /// The cell at a position among the columns that are not NULL; `None` when the offsets contradict the data.
    #[inline]
    fn cell(&self, at: usize) -> Option<&'a [u8]> {
        let start = if at == 0 { 0 } else { self.end(at - 1) };
        self.data.get(start..self.end(at))
    }

    #[inline]
    fn find(&self, id: u32, from: usize, len: usize) -> Option<usize> {
        if !self.large {
            // Ids are bytes here: short lists, and a scan of them beats a binary search.
            let id = u8::try_from(id).ok()?;
            return self.ids[from..from + len].iter().position(|&found| found == id);
        }
        let (mut low, mut high) = (from, from + len);
        while low < high {
            let middle = (low + high) / 2;
            match self.id(middle).cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle - from),
            }
        }
        None
    }

    /// The cell of a column: `None` when the row does not know the column, `Some(None)` when it is NULL.
    ///
    /// A damaged offset answers `None`, as if the column were absent; use [`try_get`](Self::try_get) where that must be told apart.
    #[inline]
    pub fn get(&self, id: ColumnId) -> Option<Option<&'a [u8]>> {
        self.try_get(id).ok().flatten()
    }

    /// As [`get`](Self::get), with an error for a damaged offset.
    #[inline]
    pub fn try_get(&self, id: ColumnId) -> Result<Option<Option<&'a [u8]>>> {
        let Ok(id) = u32::try_from(id.0) else { return Ok(None) };
        if let Some(at) = self.find(id, 0, self.not_null) {
            return match self.cell(at) {
                Some(cell) => Ok(Some(Some(cell))),
                None => Err(Error::Malformed { what: WHAT, problem: "end offset of a cell lies outside of the data" }),
            };
        }
        Ok(self.find(id, self.not_null, self.nulls).map(|_| None))
    }

    /// All columns of the row: those that are not NULL by id, then the NULL ones by id.
    pub fn columns(&self) -> impl Iterator<Item = Result<(ColumnId, Option<&'a [u8]>)>> + '_ {
        (0..self.not_null + self.nulls).map(move |at| {
            let id = ColumnId(i64::from(self.id(at)));
            if at >= self.not_null {
                return Ok((id, None));
            }
            let cell = self.cell(at).ok_or(Error::Malformed { what: WHAT, problem: "end offset of a cell lies outside of the data" })?;
            Ok((id, Some(cell)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn build(columns: &BTreeMap<u32, Option<Vec<u8>>>, reverse: bool) -> Vec<u8> {
        let mut builder = RowBuilder::new();
        builder.push(ColumnId(9), b"left over from the row before");
        builder.start();
        let mut add = |(&id, value): (&u32, &Option<Vec<u8>>)| match value {
            Some(value) => builder.push(ColumnId(i64::from(id)), value),
            None => builder.push_null(ColumnId(i64::from(id))),
        };
        if reverse {
            columns.iter().rev().for_each(&mut add)
        } else {
            columns.iter().for_each(&mut add)
        }
        builder.finish()
    }

    proptest! {
        #[test]
        fn rows_come_back_whatever_the_order_of_columns(
            columns in prop::collection::btree_map(prop_oneof![1u32..20, 250u32..300], prop::option::of(prop::collection::vec(any::<u8>(), 0..9)), 0..12),
            reverse: bool, absent in 400i64..500, tail: Vec<u8>,
        ) {
            let mut row = build(&columns, reverse);
            prop_assert_eq!(&row, &build(&columns, !reverse));
            let view = RowView::parse(&row).expect("own bytes");
            for (&id, value) in &columns {
                prop_assert_eq!(view.get(ColumnId(i64::from(id))), Some(value.as_deref()));
            }
            prop_assert_eq!(view.get(ColumnId(absent)), None);
            prop_assert_eq!(view.columns().count(), columns.len());
            let len = row.len();
            row.extend_from_slice(&tail);
            prop_assert_eq!(RowView::encoded_len(&row), Ok(len));
        }

        #[test]
        fn damaged_rows_are_errors_never_panics(mut row in prop::collection::vec(any::<u8>(), 0..40), id in 0i64..300) {
            if let [version, flags, rest @ ..] = &mut row[..] {
                *version = ROW_VERSION;
                *flags &= 1;
                if let [_, high_n, _, high_m, ..] = rest { (*high_n, *high_m) = (0, 0); }
            }
            if let Ok(view) = RowView::parse(&row) {
                let _ = view.try_get(ColumnId(id));
                view.columns().for_each(|column| { let _ = column; });
            }
            let _ = RowView::encoded_len(&row);
        }
    }

    #[test]
    fn known_bytes_of_the_small_format() {
        let columns = BTreeMap::from([(1, Some(vec![5])), (3, None), (2, Some(b"ab".to_vec()))]);
        assert_eq!(build(&columns, false), [0x80, 0, 2, 0, 1, 0, 1, 2, 3, 1, 0, 3, 0, 5, b'a', b'b']);
    }

    #[test]
    fn a_row_turns_large_by_id_or_by_data() {
        let by_id = BTreeMap::from([(256, Some(vec![1]))]);
        assert_eq!(build(&by_id, false), [0x80, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1]);
        let value = vec![7; 65_536];
        let row = build(&BTreeMap::from([(1, Some(value.clone()))]), false);
        assert_eq!(row[1], 1);
        assert_eq!(RowView::parse(&row).expect("own bytes").get(ColumnId(1)), Some(Some(&value[..])));
    }
}
