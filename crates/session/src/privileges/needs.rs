//! What each kind of statement needs.
//!
//! Statements with a plan need what their plan touches ([`super::check`]); what is needed here is checked before anything else of the statement
//! happens, each time it is executed. Some statements look closer themselves: KILL at whose connection it is, statements on accounts at whose
//! account, SET at the scope.

use parser::ast::{
    AlterAction, AlterTableStmt, CreateTableStmt, ExplainTarget, FlushStmt, FlushTarget, Ident, LoadDataStmt, MaintenanceKind, ShowKind,
    Stmt, TableConstraint, TableName, VarScope,
};

use super::set::{Privilege as P, PrivilegeSet};

/// One thing a statement needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Need {
    /// A privilege on `*.*`: else 1227.
    Global(P),
    /// Any of these privileges on `*.*`, static or dynamic: else 1227 with `names`.
    Admin {
        /// Names of privileges.
        any: &'static [&'static str],
        /// As the error names them.
        names: &'static str,
    },
    /// A privilege on a database, the current one for `None`: else 1044.
    Database(Option<String>, P),
    /// Any privilege on a database or in it: else 1044.
    InDatabase(Option<String>),
    /// Privileges on a table: else 1142.
    Table(TableName, PrivilegeSet),
    /// Any privilege on a table: else 1142 with this command.
    AnyOnTable(TableName, &'static str),
}

/// Administration of variables.
pub(crate) const VARIABLES: Need = Need::Admin { any: &["SUPER", "SYSTEM_VARIABLES_ADMIN"], names: "SUPER or SYSTEM_VARIABLES_ADMIN" };
/// Administration of other users' connections.
pub(crate) const CONNECTIONS: Need = Need::Admin { any: &["SUPER", "CONNECTION_ADMIN"], names: "SUPER or CONNECTION_ADMIN" };
/// The server's own statements.
const ADMIN: Need = Need::Admin { any: &["SUPER"], names: "SUPER" };
/// State of replication.
const REPLICATION: Need = Need::Admin { any: &["SUPER", "REPLICATION CLIENT"], names: "SUPER, REPLICATION CLIENT" };

/// What a statement needs.
pub(crate) fn needs(stmt: &Stmt) -> Vec<Need> {
    match stmt {
        // What their plans touch.
        Stmt::Query(_) | Stmt::Insert(_) | Stmt::Update(_) | Stmt::Delete(_) | Stmt::Do(_) => vec![],
        Stmt::LoadData(load) => load_data(load),
        // Nothing but a connection.
        Stmt::Begin(_)
        | Stmt::Commit(_)
        | Stmt::Rollback(_)
        | Stmt::Savepoint(_)
        | Stmt::RollbackTo(_)
        | Stmt::ReleaseSavepoint(_)
        | Stmt::UnlockTables
        | Stmt::Deallocate(_)
        | Stmt::Unsupported(_) => vec![],
        // What the statement inside needs, when it runs.
        Stmt::Prepare(_) | Stmt::Execute(_) => vec![],
        // It depends on whose connection, account or variable it is.
        Stmt::Kill(_) | Stmt::Set(_) | Stmt::AlterUser(_) | Stmt::SetPassword(_) | Stmt::SetRole(_) | Stmt::SetDefaultRole(_) => vec![],
        // It depends on what is granted on what.
        Stmt::Grant(_) | Stmt::Revoke(_) | Stmt::GrantRole(_) | Stmt::RevokeRole(_) => vec![],
        Stmt::SetTransaction(set) if matches!(set.scope, None | Some(VarScope::Session)) => vec![],
        Stmt::SetTransaction(_) => vec![VARIABLES],
        Stmt::LockTables(locks) => {
            let both = PrivilegeSet::of(&[P::Select, P::LockTables]);
            locks.iter().map(|lock| Need::Table(lock.table.clone(), both)).collect()
        }
        Stmt::Show(show) => show_needs(&show.kind),
        Stmt::Use(name) => vec![Need::InDatabase(text(name))],
        Stmt::Describe(describe) => vec![Need::AnyOnTable(describe.table.clone(), "SELECT")],
        Stmt::Explain(explain) => match &explain.target {
            ExplainTarget::Stmt(stmt) => needs(stmt),
            ExplainTarget::Connection(_) => vec![],
        },
        Stmt::Flush(flush) => flush_needs(flush),
        Stmt::AnalyzeTable(analyze) => on_tables(&analyze.tables, &[P::Select, P::Insert]),
        Stmt::TableMaintenance(maintenance) => match maintenance.kind {
            MaintenanceKind::Check | MaintenanceKind::Checksum => on_tables(&maintenance.tables, &[P::Select]),
            MaintenanceKind::Optimize | MaintenanceKind::Repair => on_tables(&maintenance.tables, &[P::Select, P::Insert]),
        },
        Stmt::Admin(_) => vec![ADMIN],
        Stmt::SplitTable(split) => on_tables(std::slice::from_ref(&split.table), &[P::Alter]),
        Stmt::Shutdown => vec![Need::Global(P::Shutdown)],
        Stmt::ResetPersist(_) => vec![VARIABLES],
        Stmt::CreateDatabase(create) => vec![Need::Database(text(&create.name), P::Create)],
        Stmt::AlterDatabase(alter) => vec![Need::Database(alter.name.as_ref().and_then(text), P::Alter)],
        Stmt::DropDatabase(drop) => vec![Need::Database(text(&drop.name), P::Drop)],
        Stmt::CreateTable(create) => create_table(create),
        Stmt::AlterTable(alter) => alter_table(alter),
        Stmt::DropTable(drop) if drop.temporary => vec![],
        Stmt::DropTable(drop) => on_tables(&drop.tables, &[P::Drop]),
        Stmt::TruncateTable(name) => on_tables(std::slice::from_ref(name), &[P::Drop]),
        Stmt::RenameTable(pairs) => pairs.iter().flat_map(|(from, to)| rename(from, to)).collect(),
        Stmt::CreateIndex(create) => on_tables(std::slice::from_ref(&create.table), &[P::Index]),
        Stmt::DropIndex(drop) => on_tables(std::slice::from_ref(&drop.table), &[P::Index]),
        Stmt::CreateView(create) if create.or_replace || create.alter => {
            on_tables(std::slice::from_ref(&create.name), &[P::CreateView, P::Drop])
        }
        Stmt::CreateView(create) => on_tables(std::slice::from_ref(&create.name), &[P::CreateView]),
        Stmt::DropView(drop) => on_tables(&drop.views, &[P::Drop]),
        Stmt::CreateUser(_) | Stmt::DropUser(_) | Stmt::RenameUser(_) => vec![Need::Global(P::CreateUser)],
        Stmt::CreateRole(_) => vec![Need::Admin { any: &["CREATE ROLE", "CREATE USER"], names: "CREATE ROLE or CREATE USER" }],
        Stmt::DropRole(_) => vec![Need::Admin { any: &["DROP ROLE", "CREATE USER"], names: "DROP ROLE or CREATE USER" }],
    }
}

/// A name as it was written.
fn text(name: &Ident) -> Option<String> {
    Some(name.as_str().to_owned())
}

fn on_tables(tables: &[TableName], privileges: &[P]) -> Vec<Need> {
    tables.iter().map(|table| Need::Table(table.clone(), PrivilegeSet::of(privileges))).collect()
}

fn rename(from: &TableName, to: &TableName) -> [Need; 2] {
    [Need::Table(from.clone(), PrivilegeSet::of(&[P::Alter, P::Drop])), Need::Table(to.clone(), PrivilegeSet::of(&[P::Create, P::Insert]))]
}

fn load_data(load: &LoadDataStmt) -> Vec<Need> {
    let mut needs = on_tables(std::slice::from_ref(&load.table), &[P::Insert]);
    if !load.local {
        needs.push(Need::Global(P::File));
    }
    needs
}

fn create_table(create: &CreateTableStmt) -> Vec<Need> {
    let database = || create.name.schema.as_ref().and_then(text);
    let mut needs = match create.temporary {
        true => vec![Need::Database(database(), P::CreateTemporaryTables)],
        false => on_tables(std::slice::from_ref(&create.name), &[P::Create]),
    };
    if let Some(like) = &create.like {
        needs.extend(on_tables(std::slice::from_ref(like), &[P::Select]));
    }
    if create.query.is_some() {
        needs.extend(on_tables(std::slice::from_ref(&create.name), &[P::Insert]));
    }
    needs.extend(create.constraints.iter().filter_map(|constraint| references(&create.name, constraint)));
    needs
}

/// A foreign key needs REFERENCES on the table it points to, which is in the database of its own table unless it says another one.
fn references(table: &TableName, constraint: &TableConstraint) -> Option<Need> {
    let TableConstraint::ForeignKey(key) = constraint else { return None };
    let mut parent = key.reference.table.clone();
    parent.schema = parent.schema.or_else(|| table.schema.clone());
    Some(Need::Table(parent, PrivilegeSet::of(&[P::References])))
}

fn alter_table(alter: &AlterTableStmt) -> Vec<Need> {
    let mut needs = on_tables(std::slice::from_ref(&alter.table), &[P::Alter]);
    for action in &alter.actions {
        match action {
            AlterAction::RenameTable(to) => needs.extend(rename(&alter.table, to)),
            AlterAction::AddConstraint { constraint, .. } => needs.extend(references(&alter.table, constraint)),
            _ => {}
        }
    }
    needs
}

fn show_needs(kind: &ShowKind) -> Vec<Need> {
    match kind {
        ShowKind::Columns { table, .. } | ShowKind::Index { table, .. } | ShowKind::TableRegions { table, .. } => {
            vec![Need::AnyOnTable(table.clone(), "SELECT")]
        }
        ShowKind::CreateTable(table) | ShowKind::CreateView(table) => vec![Need::AnyOnTable(table.clone(), "SHOW")],
        ShowKind::CreateDatabase { name, .. } => vec![Need::InDatabase(text(name))],
        ShowKind::Tables { schema, .. } | ShowKind::TableStatus(schema) | ShowKind::OpenTables(schema) => {
            vec![Need::InDatabase(schema.as_ref().and_then(text))]
        }
        ShowKind::Engine { .. } => vec![Need::Global(P::Process)],
        ShowKind::BinaryLogStatus | ShowKind::BinaryLogs | ShowKind::ReplicaStatus => vec![REPLICATION],
        ShowKind::Replicas => vec![Need::Global(P::ReplicationSlave)],
        // They show what the session may see and nothing else; those about accounts look at whose account it is.
        _ => vec![],
    }
}

fn flush_needs(flush: &FlushStmt) -> Vec<Need> {
    let reload = |also: &'static [&'static str], names: &'static str| Need::Admin { any: also, names };
    let needs = flush.targets.iter().map(|target| match target {
        FlushTarget::Status => reload(&["RELOAD", "FLUSH_STATUS"], "RELOAD or FLUSH_STATUS"),
        FlushTarget::Tables { .. } => reload(&["RELOAD", "FLUSH_TABLES"], "RELOAD or FLUSH_TABLES"),
        FlushTarget::UserResources => reload(&["RELOAD", "FLUSH_USER_RESOURCES"], "RELOAD or FLUSH_USER_RESOURCES"),
        FlushTarget::OptimizerCosts => reload(&["RELOAD", "FLUSH_OPTIMIZER_COSTS"], "RELOAD or FLUSH_OPTIMIZER_COSTS"),
        FlushTarget::Privileges | FlushTarget::Hosts | FlushTarget::Logs(_) => Need::Global(P::Reload),
    });
    needs.collect()
}
