//! Rows of `information_schema` and `performance_schema` for one session: what the catalog computes, and what describes sessions and the
//! server, which the session takes a picture of when its statement begins.

use std::sync::Arc;

use base::TableId;
use catalog::{
    TableInfo,
    infoschema_tables::{self, RowProvider, TableFacts, VirtualContext},
    name::eq_ignore_case,
};
use exec::{ExecCtx, VirtualScan, VirtualTables};
use parser::ast::AccountName;
use types::{Chunk, Datum, FieldType};

use crate::{
    domain::Domain,
    peers::{self, ProcessRow},
    privileges::Access,
    result::text,
    session::Session,
    transport::Transport,
    vars::{DEFINITIONS, Scope},
};

/// What a session shows in virtual tables.
pub(crate) struct SessionTables {
    pub(crate) domain: Arc<Domain>,
    pub(crate) user: String,
    pub(crate) account: AccountName,
    pub(crate) sees_all: bool,
    pub(crate) access: Arc<Access>,
    transport: Option<Transport>,
    compression: Option<(&'static str, u8)>,
    /// Session values of all variables.
    variables: Vec<(&'static str, String)>,
}

impl Session {
    /// The provider of virtual tables for a statement that names one.
    pub(crate) fn virtual_tables(&self) -> Arc<dyn VirtualTables> {
        let variables = DEFINITIONS
            .iter()
            .map(|definition| {
                let global_only = matches!(definition.scope, Scope::Global | Scope::ReadOnly);
                let value = if global_only { self.domain.globals().get(definition) } else { self.vars.text(definition).to_owned() };
                (definition.name, value)
            })
            .collect();
        Arc::new(SessionTables {
            domain: self.domain.clone(),
            user: self.client.login.clone(),
            account: self.own_account(),
            sees_all: self.sees_all(),
            access: self.access.clone(),
            transport: self.client.transport.clone(),
            compression: self.client.compression,
            variables,
        })
    }
}

#[async_trait::async_trait]
impl VirtualTables for SessionTables {
    async fn rows(&self, scan: &VirtualScan, ctx: &ExecCtx) -> exec::Result<Vec<Chunk>> {
        let rows = match self.cluster_rows(&scan.table, ctx).await? {
            Some(rows) => rows,
            None => {
                let visible = |database: &str, table: Option<&str>| match table {
                    Some(table) => self.access.sees_table(database, table),
                    None => self.access.sees_database(database),
                };
                let context = VirtualContext {
                    schema: &ctx.infoschema,
                    time_zone: &ctx.eval.time_zone,
                    facts: self,
                    provider: self,
                    visible: &visible,
                    column_privileges: &|database, table, column| self.access.shown_on_column(database, table, column),
                };
                infoschema_tables::rows(&scan.table, &context)
            }
        };
        let types: Vec<FieldType> = scan.table.columns.iter().map(|column| column.ty.clone()).collect();
        Ok(rows
            .chunks(ctx.vars.chunk_rows)
            .map(|rows| {
                let mut chunk = Chunk::new(&types, rows.len());
                rows.iter().for_each(|row| chunk.push_row(row));
                chunk
            })
            .collect())
    }
}

impl TableFacts for SessionTables {
    fn row_count(&self, table: TableId) -> u64 {
        self.domain.stats().get(table).row_count as u64
    }

    fn mean_row_size(&self, _table: TableId) -> u64 {
        0
    }

    fn next_auto_increment(&self, table: TableId) -> Option<u64> {
        self.domain.catalog().auto_ids().peek_cached(table, catalog::AutoIdKind::AutoIncrement)
    }

    fn index_cardinality(&self, table: &TableInfo, _index: &str, _parts: usize) -> Option<u64> {
        Some(self.domain.stats().get(table.id).row_count as u64)
    }
}

impl RowProvider for SessionTables {
    fn rows(&self, database: &str, table: &TableInfo) -> Option<Vec<Vec<Datum>>> {
        if !eq_ignore_case(database, "information_schema") && !eq_ignore_case(database, "performance_schema") {
            return None;
        }
        let name = table.name.to_ascii_uppercase();
        match name.as_str() {
            "PROCESSLIST" => Some(self.processes()),
            "GLOBAL_VARIABLES" => Some(self.global_variables()),
            "SESSION_VARIABLES" => Some(self.variables.iter().map(|(name, value)| vec![text(*name), text(value.clone())]).collect()),
            "GLOBAL_STATUS" => Some(self.status(None, None)),
            "SESSION_STATUS" => Some(self.status(self.transport.as_ref(), self.compression)),
            _ => self.privilege_rows(&name),
        }
    }
}

impl SessionTables {
    fn processes(&self) -> Vec<Vec<Datum>> {
        peers::processes_here(&self.domain, self.only_of()).into_iter().map(process_row).collect()
    }

    /// The user whose connections alone are shown; `None` for those of all.
    pub(crate) fn only_of(&self) -> Option<&str> {
        (!self.sees_all).then_some(self.user.as_str())
    }

    fn global_variables(&self) -> Vec<Vec<Datum>> {
        let global = DEFINITIONS.iter().filter(|definition| definition.scope != Scope::Session);
        global.map(|definition| vec![text(definition.name), text(self.domain.globals().get(definition))]).collect()
    }

    /// Status variables; those of TLS and compression are about one connection.
    fn status(&self, transport: Option<&Transport>, compression: Option<(&str, u8)>) -> Vec<Vec<Datum>> {
        let (hits, misses) = self.domain.plans().hits_and_misses();
        let figures = [
            ("Compression", if compression.is_some() { "ON" } else { "OFF" }.to_owned()),
            ("Compression_algorithm", compression.map_or("", |(name, _)| name).to_owned()),
            ("Compression_level", compression.map_or(0, |(_, level)| level).to_string()),
            ("Threads_connected", self.domain.connections().len().to_string()),
            ("Threads_running", self.domain.connections().running().to_string()),
            ("Uptime", self.domain.uptime().as_secs().to_string()),
            ("Plan_cache_hits", hits.to_string()),
            ("Plan_cache_misses", misses.to_string()),
            ("Prepared_stmt_count", self.domain.prepared_statements().to_string()),
            ("Ssl_cipher", transport.map_or("", |tls| tls.cipher).to_owned()),
            ("Ssl_version", transport.map_or("", |tls| tls.version).to_owned()),
        ];
        figures.into_iter().map(|(name, value)| vec![text(name), text(value)]).collect()
    }
}

/// A row of PROCESSLIST.
pub(crate) fn process_row(process: ProcessRow) -> Vec<Datum> {
    let state = if process.statement.is_some() { "executing" } else { "" };
    vec![
        Datum::UInt(process.id),
        text(process.user),
        text(process.host),
        process.database.map_or(Datum::Null, text),
        text(process.command),
        Datum::Int(process.seconds as i64),
        text(state),
        process.statement.map_or(Datum::Null, text),
    ]
}
