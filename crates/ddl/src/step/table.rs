//! Steps of CREATE, DROP, TRUNCATE and RENAME TABLE.

use base::{DatabaseId, TableId};
use catalog::{InfoSchema, SchemaState, TableInfo, name::eq_ignore_case};

use super::{
    Advance, Step, Write,
    references::{FullName, follow_renames, full_name, parents_of, rename_generated, touch_children},
    table_range,
};
use crate::{
    Error, Result,
    job::{Action, Job, JobState, Phase, TableRename},
};

pub(super) fn step(job: &Job, schema: &InfoSchema) -> Result<Step> {
    match &job.action {
        Action::CreateTable(table) => match (job.phase, job.state) {
            (Phase::Start, _) => create(job, schema, table),
            (_, JobState::RollingBack) => {
                let mut next = job.clone();
                next.state = JobState::Cancelled;
                Advance::new(next, vec![Write::RemoveTable(table.database_id, table.id)]).into_step()
            }
            // Everybody who writes to the tables it refers to knows of it.
            _ => publish(job, schema, table),
        },
        Action::DropTable { database, id } => match job.phase {
            Phase::Cleanup => destroy(job, *id),
            _ => {
                existing(job, schema, *id)?;
                let mut next = job.clone();
                next.enter(Phase::Cleanup, SchemaState::None);
                Advance::new(next, vec![Write::RemoveTable(*database, *id)]).waiting_for(vec![*id]).into_step()
            }
        },
        Action::TruncateTable { database, id, new_id } => match job.phase {
            Phase::Cleanup => destroy(job, *id),
            _ => truncate(job, schema, *database, *id, *new_id),
        },
        Action::RenameTables(renames) => rename(job, schema, renames),
        _ => Err(Error::BrokenJob { job: job.id, problem: "its action is not one on whole tables" }),
    }
}

/// The table of a job; error 1146 when another job has dropped it.
pub(super) fn existing(job: &Job, schema: &InfoSchema, id: TableId) -> Result<TableInfo> {
    let missing = || Error::NoSuchTable { database: job.database.clone(), table: job.table.clone() };
    schema.table_ref(id).map(|table| TableInfo::clone(table)).ok_or_else(missing)
}

fn create(job: &Job, schema: &InfoSchema, table: &TableInfo) -> Result<Step> {
    let database = schema.database_by_id(table.database_id);
    let database = database.ok_or_else(|| Error::UnknownDatabase { name: table.database.clone() })?;
    if schema.table(&database.name, &table.name).is_some() {
        return Err(Error::TableExists { name: table.name.clone() });
    }
    let mut writes = Vec::new();
    let parents = parents_of(schema, table.id, table.foreign_keys.iter(), &mut writes);
    if parents.is_empty() {
        return publish(job, schema, table);
    }
    // Nobody may add rows to it before all who write to its parents keep the keys.
    let mut hidden = table.clone();
    hidden.state = SchemaState::WriteOnly;
    writes.push(Write::PutTable { table: Box::new(hidden), fence: true });
    let mut next = job.clone();
    next.enter(Phase::Adding, SchemaState::WriteOnly);
    Advance::new(next, writes).waiting_for(parents).into_step()
}

/// The step after which the table is there.
fn publish(job: &Job, schema: &InfoSchema, table: &TableInfo) -> Result<Step> {
    let mut writes = vec![Write::PutTable { table: Box::new(table.clone()), fence: true }];
    if table.auto_increment_start > 1 {
        writes.push(Write::RaiseAutoId(table.id, table.auto_increment_start - 1));
    }
    touch_children(schema, &full_name(table), table.id, &mut writes);
    let mut next = job.clone();
    next.finish(SchemaState::Public);
    Advance::new(next, writes).into_step()
}

fn truncate(job: &Job, schema: &InfoSchema, database: DatabaseId, id: TableId, new_id: TableId) -> Result<Step> {
    let mut table = existing(job, schema, id)?;
    let mut writes = vec![Write::RemoveTable(database, id)];
    table.id = new_id;
    if table.auto_increment_start > 1 {
        writes.push(Write::RaiseAutoId(new_id, table.auto_increment_start - 1));
    }
    writes.push(Write::PutTable { table: Box::new(table), fence: true });
    let mut next = job.clone();
    next.enter(Phase::Cleanup, SchemaState::None);
    Advance::new(next, writes).waiting_for(vec![id]).into_step()
}

/// The last step of DROP and TRUNCATE: nobody uses the table any more.
fn destroy(job: &Job, id: TableId) -> Result<Step> {
    let mut next = job.clone();
    next.finish(SchemaState::None);
    Advance::new(next, vec![Write::DestroyRanges(vec![table_range(id)])]).into_step()
}

fn rename(job: &Job, schema: &InfoSchema, renames: &[TableRename]) -> Result<Step> {
    let mut writes = Vec::new();
    let mut moved: Vec<TableInfo> = Vec::new();
    for rename in renames {
        // One table may be renamed twice (a swap goes through a third name); each name must be free when its turn comes.
        let mut table = match moved.iter().position(|table| table.id == rename.id) {
            Some(at) => moved.remove(at),
            None => existing(job, schema, rename.id)?,
        };
        let taken_now = moved.iter().any(|other| other.database_id == rename.new_database && eq_ignore_case(&other.name, &rename.new_name));
        let taken_before = schema
            .table(&rename.new_database_name, &rename.new_name)
            .is_some_and(|other| other.id != rename.id && !moved.iter().any(|table| table.id == other.id));
        if taken_now || taken_before {
            return Err(Error::TableExists { name: rename.new_name.clone() });
        }
        move_table(&mut table, rename.new_database, &rename.new_database_name, &rename.new_name);
        moved.push(table);
    }
    let ids: Vec<_> = moved.iter().map(|table| table.id).collect();
    let mut names: Vec<(FullName, FullName)> = Vec::with_capacity(moved.len());
    for table in &moved {
        names.push((full_name(&existing(job, schema, table.id)?), full_name(table)));
    }
    let mut children = Vec::new();
    follow_renames(schema, &names, &mut moved, &mut children);
    for (table, (old, _)) in moved.iter_mut().zip(&names) {
        rename_generated(table, &old.1);
    }
    for table in moved {
        let before = existing(job, schema, table.id)?;
        if before.database_id != table.database_id {
            writes.push(Write::UnlinkTable(before.database_id, table.id));
        }
        writes.push(Write::PutTable { table: Box::new(table), fence: false });
    }
    writes.append(&mut children);
    let mut next = job.clone();
    next.finish(SchemaState::Public);
    Advance::new(next, writes).waiting_for(ids).into_step()
}

/// Gives a table another name, in the same or another database.
pub(super) fn move_table(table: &mut TableInfo, database: DatabaseId, database_name: &str, name: &str) {
    table.database_id = database;
    database_name.clone_into(&mut table.database);
    name.clone_into(&mut table.name);
}
