//! Rows of a result that are kept until somebody asks for them: a client's cursor.
//!
//! ```text
//!   push, push, push ─┬─ the first mebibyte ──▶ chunks in memory ─┐
//!                     └─ what follows ──▶ temporary file ─────────┴─▶ next, in the order of push
//! ```
//!
//! Invariant: rows come back in the order they were pushed.

use std::collections::VecDeque;

use env::Env;
use types::{Chunk, FieldType};

use crate::spill::{SpillReader, SpillWriter};
use crate::{Error, Result};

const OPERATOR: &str = "Cursor";
/// Bytes of rows kept in memory; what follows goes to a file.
const MEMORY_BYTES: usize = 1 << 20;
/// Rows read from a file together.
const READ_ROWS: usize = 256;

/// Rows on their way in.
pub struct RowKeeper {
    types: Vec<FieldType>,
    memory: VecDeque<Chunk>,
    bytes: usize,
    file: Option<SpillWriter>,
}

/// Rows on their way out.
pub struct KeptRows {
    types: Vec<FieldType>,
    memory: VecDeque<Chunk>,
    file: Option<SpillReader>,
}

impl RowKeeper {
    /// For rows of the given types.
    pub fn new(types: Vec<FieldType>) -> Self {
        Self { types, memory: VecDeque::new(), bytes: 0, file: None }
    }

    /// Keeps the rows of a chunk. Writes go to the page cache and wait for no disk.
    pub fn push(&mut self, chunk: Chunk) -> Result<()> {
        if self.file.is_none() {
            self.bytes += chunk.memory_bytes();
            if self.bytes <= MEMORY_BYTES {
                self.memory.push_back(chunk);
                return Ok(());
            }
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(SpillWriter::create(OPERATOR, &self.types)?),
        };
        (0..chunk.rows()).try_for_each(|row| file.write(&[], chunk.columns(), row))
    }

    /// All rows are there.
    pub fn finish(self) -> Result<KeptRows> {
        let file = self.file.map(|file| file.finish()?.read()).transpose()?;
        Ok(KeptRows { types: self.types, memory: self.memory, file })
    }
}

impl KeptRows {
    /// The next rows; `None` at the end.
    pub async fn next(&mut self, env: &Env) -> Result<Option<Chunk>> {
        if let Some(chunk) = self.memory.pop_front() {
            return Ok(Some(chunk));
        }
        let Some(mut file) = self.file.take() else { return Ok(None) };
        let stopped = || Error::Spill { operator: OPERATOR, reason: "the pool for blocking work has stopped".to_owned() };
        let mut chunk = Chunk::new(&self.types, READ_ROWS);
        let read = move || -> Result<_> {
            let mut key = Vec::new();
            while chunk.rows() < READ_ROWS && chunk.memory_bytes() < MEMORY_BYTES && file.next(&mut key, &mut chunk)? {}
            Ok((file, chunk))
        };
        let (file, chunk) = env.run_blocking(read).await.ok_or_else(stopped)??;
        if chunk.is_empty() {
            return Ok(None);
        }
        self.file = Some(file);
        Ok(Some(chunk))
    }
}

#[cfg(test)]
mod tests {
    use types::Datum;

    use super::*;

    #[tokio::test]
    async fn rows_come_back_in_order_from_memory_and_file() {
        let types = vec![FieldType::bigint(), FieldType::varchar(2000)];
        let mut keeper = RowKeeper::new(types.clone());
        let total = 3000;
        for first in (0..total).step_by(100) {
            let mut chunk = Chunk::new(&types, 100);
            for id in first..first + 100 {
                let text = if id % 7 == 0 { Datum::Null } else { Datum::Bytes(vec![b'x'; 1000]) };
                chunk.push_row(&[Datum::Int(id), text]);
            }
            keeper.push(chunk).expect("kept");
        }
        assert!(keeper.bytes > MEMORY_BYTES && keeper.file.is_some() && !keeper.memory.is_empty());
        let mut kept = keeper.finish().expect("a file");
        let env = Env::production();
        let mut next = 0;
        while let Some(chunk) = kept.next(&env).await.expect("readable") {
            for row in chunk.iter() {
                let id = Datum::Int(next);
                let text = if next % 7 == 0 { Datum::Null } else { Datum::Bytes(vec![b'x'; 1000]) };
                assert_eq!(row.to_datums(), [id, text]);
                next += 1;
            }
        }
        assert_eq!(next, total);
        assert!(kept.next(&env).await.expect("still the end").is_none());
    }
}
