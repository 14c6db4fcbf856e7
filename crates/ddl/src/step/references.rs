//! What a step does to other tables because foreign keys lead from one to the other.
//!
//! Keys name the table they lead to and its columns, so whoever renames those rewrites the keys. And whoever writes to a table must know the keys
//! that lead to it, although they are kept with another one: a step that adds or drops such a key writes the parent's definition again, so that
//! its users are waited for and its plans are made anew.

use base::TableId;
use catalog::{ForeignKeyInfo, InfoSchema, TableInfo, name::eq_ignore_case};

use super::Write;
use crate::{
    build::{check, foreign_key, names::generated_number},
    job::TableChange,
};

/// The name of a table with its database.
pub(super) type FullName = (String, String);

pub(super) fn full_name(table: &TableInfo) -> FullName {
    (table.database.clone(), table.name.clone())
}

fn leads_to(key: &ForeignKeyInfo, name: &FullName) -> bool {
    eq_ignore_case(&key.parent_database, &name.0) && eq_ignore_case(&key.parent_table, &name.1)
}

/// A table as the step leaves it, to be changed: as it stands among the writes, else as it is.
pub(super) fn edited<'w>(writes: &'w mut Vec<Write>, schema: &InfoSchema, id: TableId) -> Option<&'w mut TableInfo> {
    let written = writes.iter().position(|write| matches!(write, Write::PutTable { table, .. } if table.id == id));
    let at = match written {
        Some(at) => at,
        None => {
            let table = Box::new(TableInfo::clone(schema.table_ref(id)?));
            writes.push(Write::PutTable { table, fence: false });
            writes.len() - 1
        }
    };
    match &mut writes[at] {
        Write::PutTable { table, .. } => Some(table),
        _ => None,
    }
}

/// The tables that the keys a job adds or drops lead to. Their definitions are written again.
pub(super) fn parents(schema: &InfoSchema, table: TableId, changes: &[TableChange], writes: &mut Vec<Write>) -> Vec<TableId> {
    let before = schema.table_ref(table);
    let keys = changes.iter().filter_map(|change| match change {
        TableChange::AddForeignKey { key, .. } => Some(key),
        TableChange::DropForeignKey(name) => before.and_then(|table| table.foreign_key(name)),
        _ => None,
    });
    parents_of(schema, table, keys, writes)
}

/// The tables that keys of a table lead to, itself aside. Their definitions are written again.
pub(super) fn parents_of<'k>(
    schema: &InfoSchema,
    table: TableId,
    keys: impl Iterator<Item = &'k ForeignKeyInfo>,
    writes: &mut Vec<Write>,
) -> Vec<TableId> {
    let mut parents = Vec::new();
    for key in keys {
        let Some(parent) = schema.table(&key.parent_database, &key.parent_table).filter(|parent| parent.id != table) else { continue };
        if edited(writes, schema, parent.id).is_some() && !parents.contains(&parent.id) {
            parents.push(parent.id);
        }
    }
    parents
}

/// The tables whose keys lead to a name that a table is about to get or lose: their plans were made without it, or with it.
pub(super) fn touch_children(schema: &InfoSchema, name: &FullName, except: TableId, writes: &mut Vec<Write>) {
    for child in schema.children(&name.0, &name.1).filter(|child| child.id != except) {
        edited(writes, schema, child.id);
    }
}

/// Keys follow the tables they lead to: `renames` are old and new names, `moved` the tables that have their new names already.
pub(super) fn follow_renames(schema: &InfoSchema, renames: &[(FullName, FullName)], moved: &mut [TableInfo], writes: &mut Vec<Write>) {
    let mut children: Vec<TableId> =
        renames.iter().flat_map(|(old, _)| schema.children(&old.0, &old.1).map(|child| child.id).collect::<Vec<_>>()).collect();
    children.sort_unstable();
    children.dedup();
    for id in children {
        let child = match moved.iter_mut().find(|table| table.id == id) {
            Some(table) => table,
            None => match edited(writes, schema, id) {
                Some(table) => table,
                None => continue,
            },
        };
        for key in &mut child.foreign_keys {
            if let Some((_, new)) = renames.iter().find(|(old, _)| leads_to(key, old)) {
                (key.parent_database, key.parent_table) = new.clone();
            }
        }
    }
    for (_, new) in renames {
        for child in schema.children(&new.0, &new.1).map(|child| child.id).collect::<Vec<_>>() {
            if moved.iter().all(|table| table.id != child) {
                edited(writes, schema, child);
            }
        }
    }
}

/// Keys follow a column of the table they lead to.
pub(super) fn follow_column(schema: &InfoSchema, table: &mut TableInfo, old: &str, new: &str, writes: &mut Vec<Write>) {
    let name = full_name(table);
    let rename = |child: &mut TableInfo| {
        for key in child.foreign_keys.iter_mut().filter(|key| leads_to(key, &name)) {
            for column in key.parent_columns.iter_mut().filter(|column| eq_ignore_case(column, old)) {
                new.clone_into(column);
            }
        }
    };
    for child in schema.children(&name.0, &name.1).map(|child| child.id).collect::<Vec<_>>() {
        if child == table.id {
            rename(table);
        } else if let Some(child) = edited(writes, schema, child) {
            rename(child);
        }
    }
}

/// Constraints whose names were made up from the table's get theirs from its new one.
pub(super) fn rename_generated(table: &mut TableInfo, old: &str) {
    let renamed =
        |name: &str, between: &str, new: &str| generated_number(name, old, between).map(|number| format!("{new}{between}{number}"));
    let new = table.name.clone();
    for check in &mut table.checks {
        if let Some(name) = renamed(&check.name, check::GENERATED, &new) {
            check.name = name;
        }
    }
    for key in &mut table.foreign_keys {
        if let Some(name) = renamed(&key.name, foreign_key::GENERATED, &new) {
            key.name = name;
        }
    }
    table.sort_constraints();
}
