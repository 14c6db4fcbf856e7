//! What statements give back.

use std::{collections::VecDeque, sync::Arc};

use exec::RowStream;
use planner::physical::OutputColumn;
use types::{Chunk, Datum, FieldType};

use crate::{load::LocalLoad, transaction::StatementEnd};

/// The result of a statement.
pub enum StatementResult {
    /// Rows, to be fetched chunk by chunk.
    Rows(ResultRows),
    /// No rows.
    Done(Outcome),
    /// A file that the client has to send first.
    LocalFile(Box<LocalLoad>),
}

/// What a statement without rows reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows changed, as MySQL counts them.
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value the statement generated.
    pub last_insert_id: u64,
    /// Text for people, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: String,
}

/// Rows on their way. They must be fetched to the end or abandoned: until then the statement is running.
pub struct ResultRows {
    /// The columns; the same allocation for every execution of one plan.
    pub columns: Arc<[OutputColumn]>,
    pub(crate) source: RowSource,
    /// Rows fetched so far.
    pub(crate) rows: u64,
}

pub(crate) enum RowSource {
    /// A running statement.
    Stream(Box<RowStream>, StatementEnd),
    /// Rows that were computed in one go.
    Ready(VecDeque<Chunk>),
    /// Fetched to the end.
    Finished,
}

impl ResultRows {
    pub(crate) fn stream(columns: Arc<[OutputColumn]>, stream: RowStream, end: StatementEnd) -> Self {
        Self { columns, source: RowSource::Stream(Box::new(stream), end), rows: 0 }
    }

    pub(crate) fn ready(columns: Arc<[OutputColumn]>, chunks: impl Into<VecDeque<Chunk>>) -> Self {
        Self { columns, source: RowSource::Ready(chunks.into()), rows: 0 }
    }

    /// A small table computed by the server itself.
    pub(crate) fn table(columns: &[(&str, FieldType)], rows: Vec<Vec<Datum>>) -> Self {
        let types: Vec<FieldType> = columns.iter().map(|(_, ty)| ty.clone()).collect();
        let mut chunk = Chunk::new(&types, rows.len());
        for row in &rows {
            chunk.push_row(row);
        }
        let columns: Arc<[OutputColumn]> = columns.iter().map(|(name, ty)| plain_column(name, ty.clone())).collect();
        Self::ready(columns, vec![chunk])
    }
}

/// A column that comes from no table.
pub(crate) fn plain_column(name: &str, ty: FieldType) -> OutputColumn {
    OutputColumn {
        name: name.to_owned(),
        org_name: String::new(),
        table: String::new(),
        org_table: String::new(),
        database: String::new(),
        ty,
    }
}

/// Text for a small table.
pub(crate) fn text(value: impl Into<String>) -> Datum {
    Datum::Bytes(value.into().into_bytes())
}
