//! SPLIT TABLE: regions where rows or index entries will come, before they do, so that a load does not fall on one store.
//!
//! ```text
//!   BY (v), …                 a region begins at each of the keys
//!   BETWEEN a AND b REGIONS n regions of as many keys each: integers by counting, other keys by their first bytes that differ
//! ```

use base::prefix_end;
use bytes::Bytes;
use catalog::{IndexInfo, PrimaryKey, TableInfo, layout::key_parts};
use codec::table::{index_prefix, int_record_key, record_prefix};
use copr::{KeyPart, index_entry::cut_prefix};
use parser::ast::{Expr, SplitAt, SplitTableStmt};
use types::{
    Datum, FieldType,
    convert::store,
    mysql_error::{self, MysqlError},
    value::encode_key_datum,
};

use crate::{
    Error,
    result::{ResultRows, StatementResult},
    session::Session,
};

/// Most regions one statement may make.
const MAX_REGIONS: u64 = 1000;

fn refuse(message: String) -> Error {
    MysqlError::new(mysql_error::ER_UNKNOWN_ERROR, message).into()
}

/// What keys are made of.
enum Keys<'a> {
    /// Rows by an integer.
    Int(&'a TableInfo),
    /// Rows by a clustered primary key, or entries of an index.
    Parts { prefix: Vec<u8>, parts: Vec<KeyPart> },
}

impl<'a> Keys<'a> {
    fn of(table: &'a TableInfo, index: Option<&IndexInfo>) -> Self {
        match (index.filter(|index| index.has_entries()), &table.pk) {
            (Some(index), _) => Self::Parts { prefix: index_prefix(table.id, index.id), parts: key_parts(table, index) },
            (None, PrimaryKey::Common { index }) => {
                Self::Parts { prefix: record_prefix(table.id), parts: key_parts(table, &table.indexes[*index]) }
            }
            (None, PrimaryKey::HiddenRowId | PrimaryKey::IntHandle { .. }) => Self::Int(table),
        }
    }

    /// The types of the values a key is written with.
    fn types(&self) -> Vec<FieldType> {
        match self {
            Self::Int(table) => match table.pk {
                PrimaryKey::IntHandle { column } => vec![table.columns[column].ty.clone()],
                PrimaryKey::HiddenRowId | PrimaryKey::Common { .. } => vec![FieldType::bigint()],
            },
            Self::Parts { parts, .. } => parts.iter().map(|part| part.ty.clone()).collect(),
        }
    }

    /// The borders that keep other keys of the table out of the regions.
    fn own_region(&self, table: &TableInfo) -> Vec<Vec<u8>> {
        let rows = record_prefix(table.id);
        match self {
            Self::Parts { prefix, .. } if *prefix != rows => vec![prefix_end(prefix), prefix.clone()],
            _ if table.indexes.iter().any(IndexInfo::has_entries) => vec![rows],
            _ => Vec::new(),
        }
    }

    /// The key of values, which may be the first ones only.
    fn key(&self, values: &[Datum]) -> Vec<u8> {
        match self {
            Self::Int(table) => int_record_key(table.id, handle_of(values)).to_vec(),
            Self::Parts { prefix, parts } => {
                let mut key = prefix.clone();
                for (part, value) in parts.iter().zip(values) {
                    encode_key_datum(&mut key, cut_prefix(value.as_ref(), &part.ty, part.prefix_len), &part.ty, part.desc);
                }
                key
            }
        }
    }
}

/// An unsigned handle stands in the key by its bits.
fn handle_of(values: &[Datum]) -> i64 {
    match values.first() {
        Some(Datum::Int(handle)) => *handle,
        Some(Datum::UInt(handle)) => handle.cast_signed(),
        _ => 0,
    }
}

/// `regions - 1` handles that cut `[lower, upper)` into equal parts.
fn int_steps(lower: i64, upper: i64, regions: u64) -> impl Iterator<Item = i64> {
    let span = i128::from(upper) - i128::from(lower);
    (1..regions).filter_map(move |step| i64::try_from(i128::from(lower) + span * i128::from(step) / i128::from(regions)).ok())
}

/// `regions - 1` keys that cut `[lower, upper)` into parts of about as many keys: the eight bytes behind what both begin with are counted.
fn byte_steps<'a>(lower: &'a [u8], upper: &[u8], regions: u64) -> impl Iterator<Item = Vec<u8>> + 'a {
    let common = lower.iter().zip(upper).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = &key[common..];
        let len = rest.len().min(8);
        bytes[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(bytes)
    };
    let (from, to) = (number(lower), number(upper));
    (1..regions).map(move |step| {
        let at = u128::from(from) + u128::from(to.saturating_sub(from)) * u128::from(step) / u128::from(regions);
        let mut key = lower[..common].to_vec();
        // It lies between two numbers of 64 bits.
        key.extend_from_slice(&(at as u64).to_be_bytes());
        key
    })
}

impl Session {
    /// SPLIT TABLE.
    pub(crate) async fn run_split(&mut self, split: &SplitTableStmt) -> Result<StatementResult, Error> {
        let table = self.table_info(&split.table)?;
        let index = match &split.index {
            None => None,
            Some(name) => Some(table.index(name).ok_or_else(|| {
                let message = format!("Key '{}' doesn't exist in table '{}'", name.as_str(), table.name);
                MysqlError::new(mysql_error::ER_KEY_DOES_NOT_EXITS, message)
            })?),
        };
        let keys = Keys::of(&table, index);
        let mut borders = match &split.at {
            SplitAt::By(list) => {
                let mut borders = Vec::new();
                for exprs in list {
                    borders.push(keys.key(&self.key_values(&keys, exprs).await?));
                }
                borders
            }
            SplitAt::Between { lower, upper, regions } => {
                let (lower, upper) = (self.key_values(&keys, lower).await?, self.key_values(&keys, upper).await?);
                between(&table, &keys, &lower, &upper, *regions)?
            }
        };
        borders.extend(keys.own_region(&table));
        borders.sort_unstable();
        borders.dedup();
        let borders: Vec<Bytes> = borders.into_iter().map(Bytes::from).collect();
        let (made, spread) = self.domain.client().split_regions(&borders).await?;
        let columns = [("TOTAL_SPLIT_REGION", FieldType::bigint()), ("SCATTER_FINISH_RATIO", FieldType::double())];
        let row = vec![Datum::Int(made as i64), Datum::Double(spread)];
        Ok(StatementResult::Rows(ResultRows::table(&columns, vec![row])))
    }

    /// The values of a key as its columns store them.
    async fn key_values(&mut self, keys: &Keys<'_>, exprs: &[Expr]) -> Result<Vec<Datum>, Error> {
        let types = keys.types();
        if exprs.is_empty() || exprs.len() > types.len() {
            return Err(refuse(format!("Split table region value count should be between 1 and {}", types.len())));
        }
        let mut values = Vec::new();
        for (expr, ty) in exprs.iter().zip(&types) {
            let value = self.evaluate(expr).await?;
            values.push(store(value, ty, self.vars.hot.convert_mode(), self.time_zone(), &mut |_| {})?);
        }
        Ok(values)
    }
}

fn between(table: &TableInfo, keys: &Keys<'_>, lower: &[Datum], upper: &[Datum], regions: u64) -> Result<Vec<Vec<u8>>, Error> {
    if !(1..=MAX_REGIONS).contains(&regions) {
        return Err(refuse(format!("Split table region num should be between 1 and {MAX_REGIONS}")));
    }
    let (first, last) = (keys.key(lower), keys.key(upper));
    if first >= last {
        return Err(refuse(format!("Split table `{}` region lower value should less than the upper value", table.name)));
    }
    Ok(match keys {
        Keys::Int(table) => {
            let steps = int_steps(handle_of(lower), handle_of(upper), regions);
            steps.map(|handle| int_record_key(table.id, handle).to_vec()).collect()
        }
        Keys::Parts { .. } => {
            let mut borders: Vec<Vec<u8>> = byte_steps(&first, &last, regions).collect();
            borders.push(first);
            borders
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_cut_into_equal_parts_over_their_whole_range() {
        assert_eq!(int_steps(0, 100, 4).collect::<Vec<_>>(), [25, 50, 75]);
        assert_eq!(int_steps(i64::MIN, i64::MAX, 2).collect::<Vec<_>>(), [-1]);
        assert_eq!(int_steps(5, 6, 1).count(), 0);
    }

    #[test]
    fn other_keys_are_cut_by_the_first_bytes_that_differ() {
        let steps: Vec<Vec<u8>> = byte_steps(b"t_a", b"t_c", 2).collect();
        assert_eq!(steps, [[&b"t_b"[..], &[0; 7]].concat()]);
        let steps: Vec<Vec<u8>> = byte_steps(b"t", b"t\x80", 2).collect();
        assert_eq!(steps, [[&b"t\x40"[..], &[0; 7]].concat()], "one key may begin with the other");
    }
}
