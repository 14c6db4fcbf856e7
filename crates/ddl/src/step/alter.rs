//! Steps of ALTER TABLE.
//!
//! ```text
//! Start ─ additions? ─▶ Adding: delete-only ─▶ write-only ─▶ reorg ⟲ backfill ─┐
//!   └────────────────────── none ─────────────────────────────────────────────▶│ publish ─ removals? ─▶ Removing: write-only ─▶ delete-only
//!                                                                              └─ none ─▶ Done         ─▶ gone ─▶ Cleanup ─▶ Done
//! rolling back:  Adding (any) ─▶ delete-only ─▶ gone ─▶ Cleanup ─▶ Cancelled
//! ```

use base::{ColumnId, IndexId, KeyRange, TableId};
use catalog::{CheckInfo, ColumnInfo, ForeignKeyInfo, IndexColumn, InfoSchema, PrimaryKey, SchemaState, TableInfo, name::eq_ignore_case};
use codec::table::index_prefix;

use super::{
    Advance, Step, Write,
    references::{follow_column, follow_renames, full_name, parents, rename_generated},
    table::{existing, move_table},
};
use crate::{
    Error, Result,
    build::alter::value_while_dropping,
    job::{Action, Job, JobState, Phase, Position, TableChange},
};

pub(super) fn step(job: &Job, schema: &InfoSchema) -> Result<Step> {
    let Action::AlterTable { id, changes, backfill, .. } = &job.action else {
        return Err(Error::BrokenJob { job: job.id, problem: "its action is not ALTER TABLE" });
    };
    if job.phase == Phase::Cleanup {
        return cleanup(job, *id, changes);
    }
    let table = existing(job, schema, *id)?;
    if job.state == JobState::RollingBack {
        return roll_back(job, schema, table, changes);
    }
    let needs_rows = changes.iter().any(TableChange::needs_rows);
    match (job.phase, job.schema_state) {
        (Phase::Start, _) if !changes.iter().any(TableChange::is_addition) => publish(job, schema, table, changes),
        (Phase::Start, _) => start(job, schema, table, changes),
        (Phase::Adding, SchemaState::DeleteOnly) => set_additions(job, schema, table, changes, SchemaState::WriteOnly),
        (Phase::Adding, SchemaState::WriteOnly) if needs_rows => set_additions(job, schema, table, changes, SchemaState::WriteReorg),
        (Phase::Adding, SchemaState::WriteReorg) if !backfill.finished => Ok(Step::Backfill),
        (Phase::Adding, SchemaState::WriteOnly | SchemaState::WriteReorg) => publish(job, schema, table, changes),
        (Phase::Removing, SchemaState::WriteOnly) => set_removals(job, schema, table, changes),
        (Phase::Removing, SchemaState::DeleteOnly) => remove(job, schema, table, changes),
        _ => Err(Error::BrokenJob { job: job.id, problem: "it is in a state that no step leads to" }),
    }
}

/// A step that writes the table and waits for the users of its older definition.
fn advance(job: Job, schema: &InfoSchema, mut table: TableInfo, fence: bool, mut more: Vec<Write>) -> Result<Step> {
    table.normalize_columns();
    table.refresh_flags();
    table.sort_constraints();
    let mut wait_for = vec![table.id];
    if let Action::AlterTable { changes, .. } = &job.action {
        wait_for.extend(parents(schema, table.id, changes, &mut more));
    }
    more.insert(0, Write::PutTable { table: Box::new(table), fence });
    Advance::new(job, more).waiting_for(wait_for).into_step()
}

/// The first step: additions get their ids and become delete-only.
fn start(job: &Job, schema: &InfoSchema, mut table: TableInfo, changes: &[TableChange]) -> Result<Step> {
    let mut next = job.clone();
    let mut given: Vec<(ColumnId, ColumnId)> = Vec::new();
    let real =
        |given: &[(ColumnId, ColumnId)], id: ColumnId| given.iter().find(|(placeholder, _)| *placeholder == id).map_or(id, |(_, id)| *id);
    let mut resolved = changes.to_vec();
    for change in &mut resolved {
        match change {
            TableChange::AddColumn { column, position } => {
                if table.columns.iter().any(|other| eq_ignore_case(&other.name, &column.name) && !drops_column(changes, other.id)) {
                    return Err(Error::DuplicateColumn { name: column.name.clone() });
                }
                let id = table.take_column_id();
                given.push((column.id, id));
                column.id = id;
                if let Some(Position::After(after)) = position {
                    *after = real(&given, *after);
                }
                let added = ColumnInfo { offset: table.columns.len(), state: SchemaState::DeleteOnly, ..(**column).clone() };
                table.columns.push(added);
            }
            TableChange::AddIndex { index, columns } => {
                if table.indexes.iter().any(|other| eq_ignore_case(&other.name, &index.name) && !drops_index(changes, other.id)) {
                    return Err(Error::DuplicateKeyName { name: index.name.clone() });
                }
                index.id = table.take_index_id();
                columns.iter_mut().for_each(|id| *id = real(&given, *id));
                let mut added = (**index).clone();
                added.columns = place_parts(&table, &index.columns, columns)?;
                added.state = SchemaState::DeleteOnly;
                table.indexes.push(added);
            }
            TableChange::ChangeColumn { column, position } => {
                column.id = real(&given, column.id);
                if let Some(Position::After(after)) = position {
                    *after = real(&given, *after);
                }
            }
            TableChange::SetDefault { column, .. } => *column = real(&given, *column),
            TableChange::AddCheck(check) => {
                if table.check(&check.name).is_some() && !changes.contains(&TableChange::DropCheck(check.name.clone())) {
                    return Err(Error::DuplicateCheckName { name: check.name.clone() });
                }
                if check.enforced {
                    table.checks.push(CheckInfo { state: SchemaState::DeleteOnly, ..check.clone() });
                }
            }
            TableChange::EnforceCheck(name) => {
                let found = table.checks.iter_mut().find(|check| check.name == *name);
                let check = found.ok_or_else(|| Error::CheckNotFound { name: name.clone() })?;
                (check.enforced, check.state) = (true, SchemaState::DeleteOnly);
            }
            TableChange::AddForeignKey { key, checked } => {
                if table.foreign_key(&key.name).is_some() && !changes.contains(&TableChange::DropForeignKey(key.name.clone())) {
                    return Err(Error::DuplicateForeignKeyName { key: key.name.clone() });
                }
                let parent = schema.table(&key.parent_database, &key.parent_table);
                if *checked && parent.is_none() {
                    return Err(Error::NoParentTable { table: key.parent_table.clone() });
                }
                key.columns.iter_mut().for_each(|id| *id = real(&given, *id));
                table.foreign_keys.push(ForeignKeyInfo { state: SchemaState::DeleteOnly, ..key.clone() });
            }
            _ => {}
        }
    }
    if let Action::AlterTable { changes, .. } = &mut next.action {
        *changes = resolved;
    }
    next.enter(Phase::Adding, SchemaState::DeleteOnly);
    advance(next, schema, table, false, Vec::new())
}

/// Whether a job drops a column, so that its name is free for another.
fn drops_column(changes: &[TableChange], id: ColumnId) -> bool {
    changes.iter().any(|change| matches!(change, TableChange::DropColumn(dropped) if *dropped == id))
}

/// Whether a job drops an index, so that its name is free for another.
fn drops_index(changes: &[TableChange], id: IndexId) -> bool {
    changes.iter().any(|change| matches!(change, TableChange::DropIndex(dropped) if *dropped == id))
}

/// The parts of an index with the offsets their columns have now.
fn place_parts(table: &TableInfo, parts: &[IndexColumn], columns: &[ColumnId]) -> Result<Vec<IndexColumn>> {
    let place = |(part, id): (&IndexColumn, &ColumnId)| {
        let missing = || Error::KeyColumnMissing { column: format!("#{id}") };
        let column = table.column_by_id(*id).ok_or_else(missing)?;
        Ok(IndexColumn { offset: column.offset, ..*part })
    };
    parts.iter().zip(columns).map(place).collect()
}

fn set_additions(job: &Job, schema: &InfoSchema, mut table: TableInfo, changes: &[TableChange], state: SchemaState) -> Result<Step> {
    set_addition_states(&mut table, changes, state);
    let mut next = job.clone();
    next.enter(Phase::Adding, state);
    advance(next, schema, table, false, Vec::new())
}

fn set_addition_states(table: &mut TableInfo, changes: &[TableChange], state: SchemaState) {
    for change in changes {
        match change {
            TableChange::AddColumn { column, .. } => set_column_state(table, column.id, state),
            TableChange::AddIndex { index, .. } => set_index_state(table, index.id, state),
            TableChange::AddCheck(CheckInfo { name, .. }) | TableChange::EnforceCheck(name) => {
                if let Some(check) = added_check(table, name) {
                    check.state = state;
                }
            }
            TableChange::AddForeignKey { key: added, .. } => {
                if let Some(key) = table.foreign_keys.iter_mut().find(|key| key.name == added.name && key.columns == added.columns) {
                    key.state = state;
                }
            }
            _ => {}
        }
    }
}

/// The constraint that a job adds or begins to enforce, not another one of the name that it drops.
fn added_check<'t>(table: &'t mut TableInfo, name: &str) -> Option<&'t mut CheckInfo> {
    table.checks.iter_mut().find(|check| check.name == name && !check.state.is_public())
}

fn set_column_state(table: &mut TableInfo, id: ColumnId, state: SchemaState) {
    if let Some(column) = table.columns.iter_mut().find(|column| column.id == id) {
        column.state = state;
    }
}

fn set_index_state(table: &mut TableInfo, id: IndexId, state: SchemaState) {
    if let Some(index) = table.indexes.iter_mut().find(|index| index.id == id) {
        index.state = state;
    }
}

/// The step that makes everything visible and starts the removals.
fn publish(job: &Job, schema: &InfoSchema, mut table: TableInfo, changes: &[TableChange]) -> Result<Step> {
    let mut writes = Vec::new();
    let old_database = table.database_id;
    set_addition_states(&mut table, changes, SchemaState::Public);
    table.normalize_columns();
    // Removals last: a column that is no longer public would stand among the public ones while others are placed.
    let (removals, others): (Vec<_>, Vec<_>) = changes.iter().partition(|change| change.is_removal());
    for change in others.into_iter().chain(removals) {
        apply(schema, &mut table, changes, change, &mut writes)?;
    }
    if table.database_id != old_database {
        writes.push(Write::UnlinkTable(old_database, table.id));
    }
    let mut next = job.clone();
    if changes.iter().any(TableChange::is_removal) {
        next.enter(Phase::Removing, SchemaState::WriteOnly);
    } else {
        next.finish(SchemaState::Public);
    }
    let fence = changes.iter().any(TableChange::is_addition);
    advance(next, schema, table, fence, writes)
}

fn apply(schema: &InfoSchema, table: &mut TableInfo, all: &[TableChange], change: &TableChange, writes: &mut Vec<Write>) -> Result<()> {
    let gone = |name: String| Error::CantDropColumnOrKey { name };
    match change {
        TableChange::AddColumn { column, position } => place_column(table, column.id, position.as_ref()),
        TableChange::AddIndex { .. } => {}
        TableChange::ChangeColumn { column, position } => {
            let at = table.columns.iter().position(|known| known.id == column.id).ok_or_else(|| gone(column.name.clone()))?;
            let clash = table.columns.iter().any(|other| {
                other.id != column.id
                    && other.state.is_public()
                    && eq_ignore_case(&other.name, &column.name)
                    && !drops_column(all, other.id)
            });
            if clash {
                return Err(Error::DuplicateColumn { name: column.name.clone() });
            }
            if table.columns[at].name != column.name {
                let old = table.columns[at].name.clone();
                follow_column(schema, table, &old, &column.name, writes);
            }
            let known = &table.columns[at];
            let changed = ColumnInfo { offset: at, state: known.state, origin_default: known.origin_default.clone(), ..(**column).clone() };
            table.columns[at] = changed;
            if position.is_some() {
                place_column(table, column.id, position.as_ref());
            }
        }
        TableChange::SetDefault { column, default } => {
            let found = table.columns.iter_mut().find(|known| known.id == *column).ok_or_else(|| gone(format!("#{column}")))?;
            found.default = default.clone();
        }
        TableChange::DropColumn(id) => {
            let column = table.columns.iter_mut().find(|column| column.id == *id).ok_or_else(|| gone(format!("#{id}")))?;
            column.origin_default = value_while_dropping(column);
            column.state = SchemaState::WriteOnly;
        }
        TableChange::DropIndex(id) => {
            let index = table.indexes.iter_mut().find(|index| index.id == *id).ok_or_else(|| gone(format!("#{id}")))?;
            index.state = SchemaState::WriteOnly;
        }
        TableChange::RenameIndex { index, name } => {
            if table.indexes.iter().any(|other| other.id != *index && eq_ignore_case(&other.name, name) && !drops_index(all, other.id)) {
                return Err(Error::DuplicateKeyName { name: name.clone() });
            }
            let found = table.indexes.iter_mut().find(|known| known.id == *index).ok_or_else(|| gone(name.clone()))?;
            found.name.clone_from(name);
        }
        TableChange::SetIndexVisible { index, visible } => {
            let found = table.indexes.iter_mut().find(|known| known.id == *index).ok_or_else(|| gone(format!("#{index}")))?;
            found.invisible = !visible;
        }
        TableChange::Rename { database, database_name, name } => {
            if schema.table(database_name, name).is_some_and(|other| other.id != table.id) {
                return Err(Error::TableExists { name: name.clone() });
            }
            if schema.database_by_id(*database).is_none() {
                return Err(Error::UnknownDatabase { name: database_name.clone() });
            }
            let (database, database_name) = (*database, database_name);
            let old = full_name(table);
            move_table(table, database, database_name, name);
            let names = [(old.clone(), full_name(table))];
            follow_renames(schema, &names, std::slice::from_mut(table), writes);
            rename_generated(table, &old.1);
        }
        TableChange::SetComment(comment) => table.comment.clone_from(comment),
        TableChange::SetCharset { charset, collation } => (table.charset, table.collation) = (*charset, *collation),
        TableChange::SetAutoIncrement(value) => {
            if table.auto_increment_column().is_some() && *value > 1 {
                writes.push(Write::RaiseAutoId(table.id, value - 1));
            }
        }
        TableChange::AddCheck(check) => {
            if !check.enforced {
                table.checks.push(check.clone());
            }
        }
        TableChange::DropCheck(name) => {
            let kept = |check: &CheckInfo| check.name != *name || is_added(all, check);
            table.checks.retain(kept);
        }
        TableChange::EnforceCheck(_) | TableChange::AddForeignKey { .. } => {}
        TableChange::RelaxCheck(name) => {
            let found = table.checks.iter_mut().find(|check| check.name == *name);
            found.ok_or_else(|| Error::CheckNotFound { name: name.clone() })?.enforced = false;
        }
        TableChange::DropForeignKey(name) => {
            let added = |key: &ForeignKeyInfo| {
                all.iter().any(|change| matches!(change, TableChange::AddForeignKey { key: added, .. } if added == key))
            };
            table.foreign_keys.retain(|key| key.name != *name || added(key));
        }
    }
    Ok(())
}

/// Moves a public column to its place among the public ones.
fn place_column(table: &mut TableInfo, id: ColumnId, position: Option<&Position>) {
    let Some(from) = table.columns.iter().position(|column| column.id == id) else { return };
    let public = table.public_columns().len();
    let mut order: Vec<usize> = (0..table.columns.len()).filter(|&offset| offset != from).collect();
    let at = match position {
        Some(Position::First) => 0,
        Some(Position::After(after)) => order.iter().position(|&offset| table.columns[offset].id == *after).map_or(public - 1, |at| at + 1),
        None => public - 1,
    };
    order.insert(at, from);
    table.reorder_columns(&order);
}

/// Whether a job adds a constraint, and does not only drop one of its name.
fn is_added(changes: &[TableChange], check: &CheckInfo) -> bool {
    changes.iter().any(|change| matches!(change, TableChange::AddCheck(added) if added == check))
}

fn set_removals(job: &Job, schema: &InfoSchema, mut table: TableInfo, changes: &[TableChange]) -> Result<Step> {
    for change in changes {
        match change {
            TableChange::DropColumn(id) => set_column_state(&mut table, *id, SchemaState::DeleteOnly),
            TableChange::DropIndex(id) => set_index_state(&mut table, *id, SchemaState::DeleteOnly),
            _ => {}
        }
    }
    let mut next = job.clone();
    next.enter(Phase::Removing, SchemaState::DeleteOnly);
    advance(next, schema, table, false, Vec::new())
}

/// The step after which what was dropped is in no definition any more.
fn remove(job: &Job, schema: &InfoSchema, mut table: TableInfo, changes: &[TableChange]) -> Result<Step> {
    let indexes: Vec<IndexId> =
        changes.iter().filter_map(|change| if let TableChange::DropIndex(id) = change { Some(*id) } else { None }).collect();
    let columns: Vec<ColumnId> =
        changes.iter().filter_map(|change| if let TableChange::DropColumn(id) = change { Some(*id) } else { None }).collect();
    remove_elements(&mut table, &indexes, &columns);
    let mut next = job.clone();
    if indexes.is_empty() {
        next.finish(SchemaState::None);
    } else {
        next.enter(Phase::Cleanup, SchemaState::None);
    }
    advance(next, schema, table, false, Vec::new())
}

fn remove_elements(table: &mut TableInfo, indexes: &[IndexId], columns: &[ColumnId]) {
    let primary = match table.pk {
        PrimaryKey::Common { index } => Some(table.indexes[index].id),
        _ => None,
    };
    table.indexes.retain(|index| !indexes.contains(&index.id));
    if let Some(primary) = primary {
        let index = table.indexes.iter().position(|index| index.id == primary).expect("the primary key is never dropped");
        table.pk = PrimaryKey::Common { index };
    }
    let kept: Vec<usize> = (0..table.columns.len()).filter(|&offset| !columns.contains(&table.columns[offset].id)).collect();
    table.reorder_columns(&kept);
}

/// Takes additions back.
fn roll_back(job: &Job, schema: &InfoSchema, mut table: TableInfo, changes: &[TableChange]) -> Result<Step> {
    let mut next = job.clone();
    if job.schema_state != SchemaState::DeleteOnly {
        set_addition_states(&mut table, changes, SchemaState::DeleteOnly);
        next.enter(Phase::Adding, SchemaState::DeleteOnly);
        next.state = JobState::RollingBack;
        return advance(next, schema, table, false, Vec::new());
    }
    let (mut indexes, mut columns) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            TableChange::AddColumn { column, .. } => columns.push(column.id),
            TableChange::AddIndex { index, .. } => indexes.push(index.id),
            TableChange::AddCheck(check) => table.checks.retain(|known| known.name != check.name || known.state.is_public()),
            TableChange::EnforceCheck(name) => {
                if let Some(check) = added_check(&mut table, name) {
                    (check.enforced, check.state) = (false, SchemaState::Public);
                }
            }
            TableChange::AddForeignKey { key, .. } => {
                table.foreign_keys.retain(|known| known.name != key.name || known.state.is_public());
            }
            _ => {}
        }
    }
    remove_elements(&mut table, &indexes, &columns);
    next.enter(Phase::Cleanup, SchemaState::None);
    next.state = JobState::RollingBack;
    advance(next, schema, table, false, Vec::new())
}

/// The last step: nobody writes the removed indexes any more, their entries can go.
fn cleanup(job: &Job, table: TableId, changes: &[TableChange]) -> Result<Step> {
    let rolled_back = job.state == JobState::RollingBack;
    let gone = changes.iter().filter_map(|change| match change {
        TableChange::AddIndex { index, .. } if rolled_back => Some(index.id),
        TableChange::DropIndex(id) if !rolled_back => Some(*id),
        _ => None,
    });
    let ranges: Vec<KeyRange> = gone.map(|index| KeyRange::prefix(&index_prefix(table, index))).collect();
    let mut next = job.clone();
    if rolled_back {
        next.state = JobState::Cancelled;
    } else {
        next.finish(SchemaState::None);
    }
    let writes = if ranges.is_empty() { Vec::new() } else { vec![Write::DestroyRanges(ranges)] };
    Advance::new(next, writes).into_step()
}
