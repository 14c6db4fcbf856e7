//! Global variables that outlive the server: SET PERSIST writes them to `mysql.global_variables`, every start reads them,
//! RESET PERSIST removes them.
//!
//! What is stored is the text that SHOW VARIABLES prints. A row that this version does not understand (a variable that is gone, a value that is
//! out of its range now) is skipped with a line in the log, never an error: a server must start.

use std::sync::Arc;

use parser::ast::ResetPersistStmt;
use types::{
    Datum,
    mysql_error::{ErrorCode, MysqlError},
};

use crate::{
    Error,
    domain::Domain,
    session::Session,
    show::quote,
    vars::{self, Definition},
};

const ER_VAR_DOES_NOT_EXIST: ErrorCode = ErrorCode { code: 3615, sqlstate: "HY000" };

/// Applies what was persisted, at start.
pub(crate) async fn load(domain: &Arc<Domain>) -> Result<(), Error> {
    let mut session = Session::internal(domain)?;
    let rows = session.select("SELECT Variable_name, Variable_value FROM mysql.global_variables").await;
    session.close().await;
    for row in rows? {
        let [Datum::Bytes(name), value] = &row[..] else { continue };
        let name = String::from_utf8_lossy(name);
        match vars::settable(&name, true).and_then(|definition| Ok((definition, vars::check(definition, value)?))) {
            Ok((definition, value)) => domain.set_global(definition, Some(value.text)),
            Err(error) => tracing::warn!(variable = &*name, %error, "a persisted variable is skipped"),
        }
    }
    Ok(())
}

/// Keeps the value of a variable for later starts.
pub(crate) async fn store(domain: &Arc<Domain>, definition: &Definition, value: &str) -> Result<(), Error> {
    let values = format!("({}, {})", quote(definition.name), quote(value));
    let sql = format!("REPLACE INTO mysql.global_variables (Variable_name, Variable_value) VALUES {values}");
    let mut session = Session::internal(domain)?;
    let done = session.run_text(sql.as_bytes()).await;
    session.close().await;
    done.map(|_| ())
}

/// Forgets what was kept of one variable, or of all; answers how many there were.
async fn remove(domain: &Arc<Domain>, name: Option<&str>) -> Result<i64, Error> {
    let condition = name.map_or(String::new(), |name| format!(" WHERE Variable_name = {}", quote(name)));
    let mut session = Session::internal(domain)?;
    let done = session.run_text(format!("DELETE FROM mysql.global_variables{condition}").as_bytes()).await;
    let removed = session.row_count;
    session.close().await;
    done.map(|_| removed)
}

impl Session {
    /// RESET PERSIST: what was kept is for no later start any more; the values that hold now stay.
    pub(crate) async fn reset_persist(&mut self, reset: &ResetPersistStmt) -> Result<(), Error> {
        let name = reset.name.as_ref().map(|name| name.to_ascii_lowercase());
        if remove(&self.domain, name.as_deref()).await? > 0 {
            return Ok(());
        }
        let Some(name) = name else { return Ok(()) };
        let message = format!("Variable {name} does not exist in persisted config file");
        if !reset.if_exists {
            return Err(MysqlError::new(ER_VAR_DOES_NOT_EXIST, message).into());
        }
        self.warnings.warn(ER_VAR_DOES_NOT_EXIST.code, message);
        Ok(())
    }
}
