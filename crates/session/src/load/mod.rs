//! LOAD DATA LOCAL INFILE: rows of a file that the client sends.
//!
//! ```text
//!   start ─▶ the client is asked for the file ─▶ pieces ─▶ rows of fields ─▶ INSERT of up to 256 rows, again and again ─▶ commit
//!                                                (file)                       (insert)
//! ```
//!
//! It is one statement: in a transaction of its own if none is open, and nothing of it stays when it fails. As nobody can stop a client that
//! sends, what is wrong with single rows is a warning, as with IGNORE: values that do not fit, and duplicates, unless REPLACE was said. A
//! failure that ends the statement is told when the file has been read to its end.
//!
//! Invariant: memory holds one batch of rows besides what the transaction holds.
//!
//! Left out on purpose: files of the server's own machine, and fields of fixed size (error 1235).

mod file;
mod insert;

use std::pin::pin;

use client::Stage;
use expr::Warning;
use parser::ast::{DuplicateMode, Expr, LoadDataStmt};
use types::{
    Datum,
    mysql_error::{self, MysqlError},
};

use self::{
    file::{FileReader, Format, Row},
    insert::Inserts,
};
use crate::{Error, panics::catching, result::Outcome, session::Session};

/// Rows inserted together.
const BATCH_ROWS: usize = 256;
/// Bytes of fields inserted together, if there are more than one row.
const BATCH_BYTES: usize = 1 << 20;
/// Conditions kept for SHOW WARNINGS.
const STORED_WARNINGS: usize = 1024;

/// A LOAD DATA LOCAL whose file is on its way.
pub struct LocalLoad {
    file: String,
    reader: FileReader,
    charset: TextOf,
    inserts: Inserts,
    /// Rows of the batch in progress; all with the same number of fields.
    rows: Vec<Vec<Datum>>,
    row_bytes: usize,
    /// Conditions of the batches before.
    warnings: Vec<Warning>,
    counts: Counts,
    /// The transaction is of this statement alone.
    own: bool,
    /// Where the transaction stood before.
    stage: Option<Stage>,
}

/// What the answer counts.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    records: u64,
    deleted: u64,
    skipped: u64,
    warnings: u64,
    affected: u64,
}

/// What the file's bytes stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextOf {
    /// UTF-8, or bytes without characters.
    Bytes,
    Latin1,
}

impl LocalLoad {
    /// The file the client is to send, as the statement calls it.
    pub fn file_name(&self) -> &str {
        &self.file
    }
}

impl Session {
    /// Begins a LOAD DATA; the client is asked for the file next.
    pub(crate) async fn start_load(&mut self, stmt: LoadDataStmt) -> Result<LocalLoad, Error> {
        if !stmt.local {
            return Err(Error::unsupported("LOAD DATA without LOCAL"));
        }
        if !self.client.local_files || !self.domain.globals().is_on("local_infile") {
            let message = "Loading local data is disabled; this must be enabled on both the client and server sides";
            return Err(MysqlError::new(mysql_error::ER_CLIENT_LOCAL_FILES_DISABLED, message).into());
        }
        if !stmt.partitions.is_empty() {
            return Err(Error::unsupported("PARTITION"));
        }
        self.check_writable()?;
        let charset = match stmt.charset.as_ref() {
            Some(name) => charset(name.as_str())?,
            None => TextOf::Bytes,
        };
        let format = Format::new(&stmt.fields, &stmt.lines)?;
        let inserts = Inserts::new(self, &stmt)?;
        let row_limit = usize::try_from(self.vars.hot.max_allowed_packet).unwrap_or(usize::MAX);
        let reader = FileReader::new(format, inserts.field_count(), stmt.ignore_lines, row_limit);
        let own = self.open_for_statement();
        let stage = match &self.txn {
            Some(open) if !own => Some(open.handle.lock().await.stage()),
            _ => None,
        };
        let mut load = LocalLoad {
            file: stmt.file,
            reader,
            charset,
            inserts,
            rows: Vec::new(),
            row_bytes: 0,
            warnings: Vec::new(),
            counts: Counts::default(),
            own,
            stage,
        };
        // What is wrong with the statement itself is told before a file is asked for.
        if let Err(error) = load.inserts.check(self).await {
            self.undo_load(&mut load).await;
            return Err(error);
        }
        Ok(load)
    }

    /// Takes the next piece of the file, which is not empty. On an error nothing of the statement is left; the rest of the file is to be thrown
    /// away.
    pub async fn load_piece(&mut self, load: &mut LocalLoad, piece: &[u8]) -> Result<(), MysqlError> {
        if piece.is_empty() {
            return Ok(());
        }
        let done = catching(pin!(self.take_piece(load, piece))).await;
        match done {
            Ok(()) => Ok(()),
            Err(error) => Err(self.fail_load(load, error).await),
        }
    }

    /// The file has been read to its end.
    pub async fn finish_load(&mut self, mut load: LocalLoad) -> Result<Outcome, MysqlError> {
        let done = catching(pin!(self.end_load(&mut load))).await;
        match done {
            Ok(outcome) => Ok(outcome),
            Err(error) => Err(self.fail_load(&mut load, error).await),
        }
    }

    /// Nobody waits for the rest any more.
    pub async fn abandon_load(&mut self, mut load: LocalLoad) {
        self.undo_load(&mut load).await;
    }

    async fn fail_load(&mut self, load: &mut LocalLoad, error: Error) -> MysqlError {
        self.undo_load(load).await;
        self.failed(error).await
    }

    /// Takes back what the statement has done.
    async fn undo_load(&mut self, load: &mut LocalLoad) {
        if std::mem::take(&mut load.own) {
            self.rollback().await;
        } else if let (Some(stage), Some(open)) = (load.stage.take(), &self.txn) {
            open.handle.lock().await.revert(stage);
        }
    }

    async fn take_piece(&mut self, load: &mut LocalLoad, piece: &[u8]) -> Result<(), Error> {
        load.reader.feed(piece);
        while let Some(row) = load.reader.next_row()? {
            self.take_row(load, row).await?;
        }
        Ok(())
    }

    async fn end_load(&mut self, load: &mut LocalLoad) -> Result<Outcome, Error> {
        self.take_piece(load, &[]).await?;
        self.insert_rows(load).await?;
        load.inserts.keep_variables(self);
        if std::mem::take(&mut load.own) {
            self.commit().await?;
        } else if let (Some(stage), Some(open)) = (load.stage.take(), &self.txn) {
            open.handle.lock().await.release(stage);
        }
        let Counts { records, deleted, skipped, warnings, affected } = load.counts;
        load.warnings.drain(..).for_each(|warning| self.warnings.push(warning));
        self.row_count = affected as i64;
        let info = format!("Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}");
        Ok(Outcome { affected_rows: affected, last_insert_id: 0, info })
    }

    /// Puts a row into the batch.
    async fn take_row(&mut self, load: &mut LocalLoad, row: Row) -> Result<(), Error> {
        let size: usize = row.fields.iter().flatten().map(Vec::len).sum();
        let full = load.rows.len() >= BATCH_ROWS || (load.row_bytes + size > BATCH_BYTES && !load.rows.is_empty());
        if full || load.rows.first().is_some_and(|first| first.len() != row.fields.len()) {
            self.insert_rows(load).await?;
        }
        let number = load.counts.records + load.rows.len() as u64 + 1;
        if row.fields.len() < load.inserts.field_count() {
            let message = format!("Row {number} doesn't contain data for all columns");
            self.warnings.warn(mysql_error::ER_WARN_TOO_FEW_RECORDS.code, message);
        }
        if row.had_more {
            let message = format!("Row {number} was truncated; it contained more data than there were input columns");
            self.warnings.warn(mysql_error::ER_WARN_TOO_MANY_RECORDS.code, message);
        }
        let charset = load.charset;
        load.rows.push(row.fields.into_iter().map(|field| field.map_or(Datum::Null, |bytes| Datum::Bytes(charset.utf8(bytes)))).collect());
        load.row_bytes += size;
        Ok(())
    }

    /// Inserts the batch.
    async fn insert_rows(&mut self, load: &mut LocalLoad) -> Result<(), Error> {
        let rows = std::mem::take(&mut load.rows);
        load.row_bytes = 0;
        if rows.is_empty() {
            return Ok(());
        }
        // A batch that meets a conflict is repeated, and its conditions are forgotten; those from before stay.
        load.keep_warnings(self);
        let records = rows.len() as u64;
        let affected = load.inserts.run(self, rows, load.counts.records).await?;
        load.counts.records += records;
        load.counts.affected += affected.rows;
        match load.inserts.replaces() {
            true => load.counts.deleted += affected.changed,
            false => load.counts.skipped += affected.changed,
        }
        load.keep_warnings(self);
        Ok(())
    }
}

impl LocalLoad {
    /// Sets the session's conditions aside, as many as it would keep.
    fn keep_warnings(&mut self, session: &Session) {
        self.counts.warnings += session.warnings.count();
        let room = STORED_WARNINGS.saturating_sub(self.warnings.len());
        self.warnings.extend(session.warnings.take().into_iter().take(room));
    }
}

/// Whether rows in the way of new ones are replaced.
fn replaces(stmt: &LoadDataStmt) -> bool {
    stmt.on_duplicate == Some(DuplicateMode::Replace)
}

/// CHARACTER SET.
fn charset(name: &str) -> Result<TextOf, MysqlError> {
    crate::vars::check_charset(name)?;
    Ok(if name.eq_ignore_ascii_case("latin1") { TextOf::Latin1 } else { TextOf::Bytes })
}

impl TextOf {
    fn utf8(self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            TextOf::Latin1 if !bytes.is_ascii() => bytes.iter().map(|byte| latin1(*byte)).collect::<String>().into_bytes(),
            _ => bytes,
        }
    }
}

/// MySQL's latin1 is Windows-1252, with the five bytes that it leaves open as control characters.
fn latin1(byte: u8) -> char {
    const FROM_80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’', '“', '”', '•',
        '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => FROM_80[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The name of the user variable that a field is read into.
fn variable(target: &Expr) -> Option<&str> {
    match target {
        Expr::UserVar(name) => Some(name.as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_has_the_characters_of_windows_1252() {
        let text = TextOf::Latin1.utf8(b"caf\xe9 \x80 \x81\xff".to_vec());
        assert_eq!(String::from_utf8(text).expect("UTF-8"), "café € \u{81}ÿ");
        assert_eq!(charset("nonsense").expect_err("unknown").code, 1115);
        assert_eq!(charset("utf8mb4").expect("known"), TextOf::Bytes);
    }
}
