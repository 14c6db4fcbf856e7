//! Prepared statements, of the protocol and of `PREPARE`.

use std::{pin::pin, sync::Arc};

use parser::{ParseOptions, Parsed, ast::Stmt};
use planner::physical::OutputColumn;
use types::mysql_error::{self, MysqlError};

use crate::{Error, panics::catching, session::Session};

/// A prepared statement.
pub(crate) struct Prepared {
    /// Its text.
    pub text: Arc<[u8]>,
    /// The statement.
    pub parsed: Arc<Parsed>,
}

/// What the client is told of a statement it prepared.
pub struct PreparedInfo {
    /// Handle for executions.
    pub id: u32,
    /// Number of markers.
    pub params: usize,
    /// Columns of the result; empty for a statement without one. They can change with the types of the values.
    pub columns: Arc<[OutputColumn]>,
}

impl Session {
    /// Prepares a statement; errors of names and grammar are found now.
    pub async fn prepare(&mut self, sql: &[u8]) -> Result<PreparedInfo, MysqlError> {
        let done = catching(pin!(self.prepare_text(sql))).await;
        match done {
            Ok(info) => Ok(info),
            Err(error) => Err(self.failed(error).await),
        }
    }

    pub(crate) async fn prepare_text(&mut self, sql: &[u8]) -> Result<PreparedInfo, Error> {
        let limit = self.domain.globals().number("max_prepared_stmt_count") as usize;
        if self.domain.prepared_statements() >= limit {
            return Err(MysqlError::new(
                mysql_error::ER_MAX_PREPARED_STMT_COUNT_REACHED,
                format!("Can't create more than max_prepared_stmt_count statements (current value: {limit})"),
            )
            .into());
        }
        let options = ParseOptions { markers: true, ..self.vars.hot.parse.clone() };
        let parsed = parser::parse_one_bytes(sql, &options)?;
        if sql[parsed.consumed..].iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';') {
            return Err(self.second_statement(sql, parsed.consumed));
        }
        if matches!(parsed.stmt, Stmt::Prepare(_) | Stmt::Execute(_) | Stmt::Deallocate(_) | Stmt::LoadData(_)) {
            let message = "This command is not supported in the prepared statement protocol yet";
            return Err(MysqlError::new(mysql_error::ER_UNSUPPORTED_PS, message).into());
        }
        let columns = self.columns_of(&parsed)?;
        let id = self.next_statement;
        self.next_statement = self.next_statement.wrapping_add(1).max(1);
        let params = parsed.params as usize;
        self.prepared.insert(id, Prepared { text: sql.into(), parsed: Arc::new(parsed) });
        self.domain.count_prepared(1);
        self.tracked.something = true;
        Ok(PreparedInfo { id, params, columns })
    }

    /// Number of markers of a statement; `None` when there is no such statement.
    pub fn param_count(&self, id: u32) -> Option<usize> {
        self.prepared.get(&id).map(|prepared| prepared.parsed.params as usize)
    }

    /// Forgets a statement.
    pub fn close_statement(&mut self, id: u32) {
        self.cursors.remove(&id);
        if self.prepared.remove(&id).is_some() {
            self.domain.count_prepared(-1);
        }
    }

    /// A text holds more than the one statement it may hold.
    pub(crate) fn second_statement(&self, sql: &[u8], consumed: usize) -> Error {
        let rest = String::from_utf8_lossy(&sql[consumed..]);
        let near: String = rest.trim_start().chars().take(80).collect();
        let line = 1 + sql[..consumed].iter().filter(|byte| **byte == b'\n').count();
        MysqlError::new(
            mysql_error::ER_PARSE_ERROR,
            format!(
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use \
                 near '{near}' at line {line}"
            ),
        )
        .into()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.domain.count_prepared(-(self.prepared.len() as isize));
    }
}
