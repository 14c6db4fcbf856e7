//! Global variables that outlive the server: SET PERSIST writes them to `mysql.global_variables`, every start reads them.
//!
//! What is stored is the text that SHOW VARIABLES prints. A row that this version does not understand (a variable that is gone, a value that is
//! out of its range now) is skipped with a line in the log, never an error: a server must start.

use std::sync::Arc;

use types::Datum;

use crate::{
    Error,
    domain::Domain,
    session::Session,
    show::quote,
    vars::{self, Definition},
};

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
