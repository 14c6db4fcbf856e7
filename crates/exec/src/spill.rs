//! Rows in temporary files, for operators that hold more than the statement's quota.
//!
//! ```text
//!   file    row*
//!   row     key length u32 | key | cell*           key: the sort or hash key the operator will want again; may be empty
//!   cell    length u32 (MAX for NULL) | row cell   as in row values
//! ```
//!
//! Files are unlinked as soon as they are created (where the system allows it), so that nothing is left behind by a crash. Reads and writes
//! go through large buffers. They block the calling thread: files are read outside the async workers (`ExecCtx::run_blocking`); unsynced
//! writes are taken by the page cache.
//!
//! Invariant: what a [`SpillReader`] yields is what was written, in order.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use types::value::{decode_row_value_into, encode_row_value};
use types::{Chunk, Column, DatumRef, FieldType};

use crate::{Error, Result};

const BUFFER_BYTES: usize = 256 << 10;
const NULL_LEN: u32 = u32::MAX;

/// Writes rows to a temporary file.
pub(crate) struct SpillWriter {
    operator: &'static str,
    types: Vec<FieldType>,
    file: BufWriter<File>,
    rows: u64,
    scratch: Vec<u8>,
}

/// A finished file.
pub(crate) struct SpillFile {
    operator: &'static str,
    types: Vec<FieldType>,
    file: File,
    rows: u64,
}

/// Reads rows back.
pub(crate) struct SpillReader {
    operator: &'static str,
    types: Vec<FieldType>,
    file: BufReader<File>,
    left: u64,
    scratch: Vec<u8>,
}

fn failed(operator: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Spill { operator, reason: error.to_string() }
}

impl SpillWriter {
    /// An empty file for rows of the given types.
    pub(crate) fn create(operator: &'static str, types: &[FieldType]) -> Result<Self> {
        let file = tempfile::tempfile().map_err(failed(operator))?;
        Ok(Self { operator, types: types.to_vec(), file: BufWriter::with_capacity(BUFFER_BYTES, file), rows: 0, scratch: Vec::new() })
    }

    /// Appends a row.
    pub(crate) fn write(&mut self, key: &[u8], columns: &[Column], row: usize) -> Result<()> {
        let out = &mut self.scratch;
        out.clear();
        out.extend_from_slice(&(key.len() as u32).to_le_bytes());
        out.extend_from_slice(key);
        for (column, ty) in columns.iter().zip(&self.types) {
            push_cell(out, column.datum_ref(row), ty)?;
        }
        self.file.write_all(out).map_err(failed(self.operator))?;
        self.rows += 1;
        Ok(())
    }

    /// Rows written so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<SpillFile> {
        let file = self.file.into_inner().map_err(|error| failed(self.operator)(error.into_error()))?;
        Ok(SpillFile { operator: self.operator, types: self.types, file, rows: self.rows })
    }
}

fn push_cell(out: &mut Vec<u8>, value: DatumRef<'_>, ty: &FieldType) -> Result<()> {
    let at = out.len();
    out.extend_from_slice(&NULL_LEN.to_le_bytes());
    if let DatumRef::Null = value {
        return Ok(());
    }
    encode_row_value(out, value, ty);
    let len = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

impl SpillFile {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Reads the file from its start.
    pub(crate) fn read(mut self) -> Result<SpillReader> {
        self.file.seek(SeekFrom::Start(0)).map_err(failed(self.operator))?;
        Ok(SpillReader {
            operator: self.operator,
            types: self.types,
            file: BufReader::with_capacity(BUFFER_BYTES, self.file),
            left: self.rows,
            scratch: Vec::new(),
        })
    }
}

impl SpillReader {
    /// The next rows without their keys, at most `rows` of them; `None` at the end.
    pub(crate) fn next_chunk(&mut self, rows: usize) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::new(&self.types, rows.min(1024));
        let mut key = Vec::new();
        while chunk.rows() < rows && self.next(&mut key, &mut chunk)? {}
        Ok((chunk.rows() > 0).then_some(chunk))
    }

    /// Reads the next row: its key replaces `key`, its cells are appended to `chunk`. False at the end.
    pub(crate) fn next(&mut self, key: &mut Vec<u8>, chunk: &mut Chunk) -> Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        let len = self.len()?;
        self.fill(len as usize)?;
        key.clear();
        key.extend_from_slice(&self.scratch);
        for at in 0..self.types.len() {
            let len = self.len()?;
            if len == NULL_LEN {
                chunk.columns_mut()[at].push_null();
                continue;
            }
            self.fill(len as usize)?;
            decode_row_value_into(&self.scratch, &self.types[at], &mut chunk.columns_mut()[at])?;
        }
        chunk.set_rows(chunk.rows() + 1);
        Ok(true)
    }

    fn len(&mut self) -> Result<u32> {
        let mut len = [0; 4];
        self.file.read_exact(&mut len).map_err(failed(self.operator))?;
        Ok(u32::from_le_bytes(len))
    }

    fn fill(&mut self, len: usize) -> Result<()> {
        self.scratch.resize(len, 0);
        self.file.read_exact(&mut self.scratch).map_err(failed(self.operator))
    }
}
