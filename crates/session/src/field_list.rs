//! COM_FIELD_LIST: a table's columns with their defaults, as completion of old clients asks for them.

use planner::physical::OutputColumn;
use types::{Datum, mysql_error::MysqlError};

use crate::{Error, result::StatementResult, session::Session, show::quote};

/// A column of a table.
pub struct Field {
    /// How results announce it.
    pub column: OutputColumn,
    /// Its default as text; `None` for NULL, and for none.
    pub default: Option<Vec<u8>>,
}

impl Session {
    /// The columns of a table of the current database whose names are LIKE `wildcard`; all of them if it is empty.
    pub async fn field_list(&mut self, table: &str, wildcard: &str) -> Result<Vec<Field>, MysqlError> {
        match Box::pin(self.fields(table, wildcard)).await {
            Ok(fields) => Ok(fields),
            Err(error) => Err(self.failed(error).await),
        }
    }

    async fn fields(&mut self, table: &str, wildcard: &str) -> Result<Vec<Field>, Error> {
        let table = table.replace('`', "``");
        let (result, _) = self.run_text(format!("SELECT * FROM `{table}` LIMIT 0").as_bytes()).await?;
        let StatementResult::Rows(rows) = result else { return Ok(Vec::new()) };
        let columns = rows.columns.clone();
        self.abandon(rows).await;
        let like = if wildcard.is_empty() { String::new() } else { format!(" LIKE {}", quote(wildcard)) };
        let shown = self.select(&format!("SHOW COLUMNS FROM `{table}`{like}")).await?;
        let field = |row: Vec<Datum>| {
            let [Datum::Bytes(name), _, _, _, default, ..] = &row[..] else { return None };
            let column = columns.iter().find(|column| column.org_name.as_bytes() == &name[..])?.clone();
            let default = match default {
                Datum::Bytes(text) => Some(text.clone()),
                _ => None,
            };
            Some(Field { column, default })
        };
        Ok(shown.into_iter().filter_map(field).collect())
    }
}
