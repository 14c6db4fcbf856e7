//! Foreign keys: which columns may refer to which, and what must not be taken away under them.

use catalog::{ColumnInfo, ForeignKeyInfo, ReferenceRule, SchemaState, TableInfo, name::eq_ignore_case};
use parser::ast::{ForeignKeyDef, Ident, IndexDef, IndexKey, IndexKind, IndexPart, ReferenceAction};
use types::{FieldType, TypeKind};

use super::{
    BuildContext, check,
    names::{check_column_name, generated_number},
};
use crate::{Error, Result};

/// What stands between the table's name and the number in the name of a key that was given none.
pub const GENERATED: &str = "_ibfk_";

impl BuildContext<'_> {
    /// Adds a key to a table that has all its columns and indexes but the one the key itself may need, which is answered with it.
    pub fn add_foreign_key(&self, table: &mut TableInfo, definition: &ForeignKeyDef) -> Result<(ForeignKeyInfo, Option<IndexDef>)> {
        let name = self.foreign_key_name(table, definition)?;
        let reference = &definition.reference;
        if reference.columns.len() != definition.columns.len() {
            let given = definition.name.as_ref().or(definition.index_name.as_ref());
            return Err(Error::WrongForeignKey { key: given.map_or_else(|| "foreign key without name".to_owned(), Ident::to_string) });
        }
        let mut own: Vec<&ColumnInfo> = Vec::new();
        for column in &definition.columns {
            let found = table.column(column).ok_or_else(|| Error::KeyColumnMissing { column: column.to_string() })?;
            if own.iter().any(|known| known.offset == found.offset) {
                return Err(Error::DuplicateColumn { name: found.name.clone() });
            }
            own.push(found);
        }
        let parent_database = self.database_of_parent(table, definition)?;
        let key = ForeignKeyInfo {
            columns: own.iter().map(|column| column.id).collect(),
            parent_table: reference.table.name.to_string(),
            parent_columns: reference.columns.iter().map(Ident::to_string).collect(),
            on_delete: rule(reference.on_delete)?,
            on_update: rule(reference.on_update)?,
            state: SchemaState::Public,
            parent_database,
            name,
        };
        self.check_actions(table, &key, &own)?;
        let index = (!has_index(table, &own.iter().map(|column| column.offset).collect::<Vec<_>>())).then(|| index_for(definition));
        let key = self.check_parent(table, key, &own)?;
        table.foreign_keys.push(key.clone());
        table.sort_constraints();
        Ok((key, index))
    }

    fn foreign_key_name(&self, table: &TableInfo, definition: &ForeignKeyDef) -> Result<String> {
        let name = match definition.name.as_ref().or(definition.index_name.as_ref()) {
            Some(name) => {
                check_column_name(name)?;
                name.to_string()
            }
            None => {
                let numbers = table.foreign_keys.iter().filter_map(|key| generated_number(&key.name, &table.name, GENERATED));
                format!("{}{GENERATED}{}", table.name, numbers.max().unwrap_or(0) + 1)
            }
        };
        let mut others = self.schema.tables(&table.database).into_iter().filter(|other| other.id != table.id);
        if table.foreign_key(&name).is_some() || others.any(|other| other.foreign_key(&name).is_some()) {
            return Err(Error::DuplicateForeignKeyName { key: name });
        }
        Ok(name)
    }

    /// The parent's database: written, or that of the table. It need not exist.
    fn database_of_parent(&self, table: &TableInfo, definition: &ForeignKeyDef) -> Result<String> {
        let Some(written) = &definition.reference.table.schema else { return Ok(table.database.clone()) };
        Ok(self.schema.database(written).map_or_else(|| written.to_string(), |database| database.name.clone()))
    }

    /// What the key would do to its own columns.
    fn check_actions(&self, table: &TableInfo, key: &ForeignKeyInfo, own: &[&ColumnInfo]) -> Result<()> {
        let sets_null = key.on_delete == ReferenceRule::SetNull || key.on_update == ReferenceRule::SetNull;
        let changes = sets_null || key.on_update == ReferenceRule::Cascade;
        for column in own {
            if sets_null && column.ty.not_null {
                return Err(Error::ForeignKeyNotNull { column: column.name.clone(), key: key.name.clone() });
            }
            if let Some(generated) = &column.generated {
                if !generated.stored {
                    return Err(Error::ForeignKeyVirtual { key: key.name.clone(), column: column.name.clone() });
                }
                let clause = match (key.on_delete, key.on_update) {
                    (ReferenceRule::SetNull, _) => Some("ON DELETE SET NULL"),
                    (_, ReferenceRule::SetNull) => Some("ON UPDATE SET NULL"),
                    (_, ReferenceRule::Cascade) => Some("ON UPDATE CASCADE"),
                    _ => None,
                };
                if let Some(clause) = clause {
                    return Err(Error::ForeignKeyGenerated { clause });
                }
            }
            let stored = table.columns.iter().filter(|other| other.generated.as_ref().is_some_and(|generated| generated.stored));
            let mut bases = stored.flat_map(super::generated::base_columns);
            if changes && bases.any(|base| eq_ignore_case(&base, &column.name)) {
                return Err(Error::CannotAddForeignKey);
            }
            if changes
                && let Some(check) =
                    table.checks.iter().find(|check| check::columns_of(check).iter().any(|name| eq_ignore_case(name, &column.name)))
            {
                let (name, key) = (check.name.clone(), key.name.clone());
                return Err(Error::CheckOverKeyAction { column: column.name.clone(), name, key });
            }
        }
        Ok(())
    }

    /// The key with the parent's names as they are, once its columns and their index are found to do. A parent that is not there is none of the
    /// key's business without `foreign_key_checks`.
    fn check_parent(&self, table: &TableInfo, mut key: ForeignKeyInfo, own: &[&ColumnInfo]) -> Result<ForeignKeyInfo> {
        let itself = eq_ignore_case(&key.parent_database, &table.database) && eq_ignore_case(&key.parent_table, &table.name);
        let found = if itself { None } else { self.schema.table(&key.parent_database, &key.parent_table) };
        let parent: &TableInfo = match (itself, &found) {
            (true, _) => table,
            (false, Some(parent)) => parent,
            (false, None) if self.foreign_key_checks => return Err(Error::NoParentTable { table: key.parent_table }),
            (false, None) => return Ok(key),
        };
        key.parent_table.clone_from(&parent.name);
        let offsets = referred_columns(&key, own, parent)?;
        for (name, offset) in key.parent_columns.iter_mut().zip(offsets) {
            let column = &parent.columns[offset];
            if column.generated.as_ref().is_some_and(|generated| !generated.stored) {
                return Err(Error::ForeignKeyVirtual { key: key.name, column: column.name.clone() });
            }
            name.clone_from(&column.name);
        }
        Ok(key)
    }

    /// A new table may be the one that keys have been waiting for: their columns must do.
    pub fn check_waiting_children(&self, parent: &TableInfo) -> Result<()> {
        for (child, key) in self.referring(&parent.database, &parent.name) {
            let own: Vec<&ColumnInfo> = key.columns.iter().filter_map(|id| child.column_by_id(*id)).collect();
            referred_columns(&key, &own, parent)?;
        }
        Ok(())
    }

    /// The keys that lead to the table of that name, with the tables they belong to.
    pub fn referring(&self, database: &str, table: &str) -> Vec<(std::sync::Arc<TableInfo>, ForeignKeyInfo)> {
        let leads_here = |key: &&ForeignKeyInfo| eq_ignore_case(&key.parent_database, database) && eq_ignore_case(&key.parent_table, table);
        let children = self.schema.children(database, table);
        children.flat_map(|child| child.foreign_keys.iter().filter(leads_here).map(|key| (child.clone(), key.clone()))).collect()
    }

    /// Refuses to drop a table that others refer to, those aside that are dropped with it.
    pub fn check_droppable(&self, table: &TableInfo, dropped_with: &dyn Fn(&TableInfo) -> bool) -> Result<()> {
        if !self.foreign_key_checks {
            return Ok(());
        }
        let mut referring = self.referring(&table.database, &table.name).into_iter().filter(|(child, _)| child.id != table.id);
        match referring.find(|(child, _)| !dropped_with(child)) {
            None => Ok(()),
            Some((child, key)) => Err(Error::ForeignKeyNeedsTable { table: table.name.clone(), key: key.name, child: child.name.clone() }),
        }
    }

    /// Refuses to empty a table that others refer to.
    pub fn check_truncatable(&self, table: &TableInfo) -> Result<()> {
        if !self.foreign_key_checks {
            return Ok(());
        }
        match self.referring(&table.database, &table.name).into_iter().find(|(child, _)| child.id != table.id) {
            None => Ok(()),
            Some((child, key)) => {
                let quote = catalog::show_create::quote_name;
                Err(Error::ForeignKeyNeedsRows {
                    key: format!("{}.{}, CONSTRAINT {}", quote(&child.database), quote(&child.name), quote(&key.name)),
                })
            }
        }
    }
}

/// Positions of the columns that a key refers to: they are there, of the types of the columns that refer, and lead some key.
fn referred_columns(key: &ForeignKeyInfo, own: &[&ColumnInfo], parent: &TableInfo) -> Result<Vec<usize>> {
    let mut offsets = Vec::with_capacity(own.len());
    for (column, name) in own.iter().zip(&key.parent_columns) {
        let missing = || Error::NoParentColumn { column: name.clone(), key: key.name.clone(), table: parent.name.clone() };
        let theirs = parent.column(name).ok_or_else(missing)?;
        if !is_compatible(&column.ty, &theirs.ty) {
            let (child, parent) = (column.name.clone(), theirs.name.clone());
            return Err(Error::IncompatibleKeyColumns { child, parent, key: key.name.clone() });
        }
        offsets.push(theirs.offset);
    }
    match has_index(parent, &offsets) {
        true => Ok(offsets),
        false => Err(Error::NoParentIndex { key: key.name.clone(), table: parent.name.clone() }),
    }
}

fn rule(action: Option<ReferenceAction>) -> Result<ReferenceRule> {
    Ok(match action {
        None | Some(ReferenceAction::NoAction) => ReferenceRule::NoAction,
        Some(ReferenceAction::Restrict) => ReferenceRule::Restrict,
        Some(ReferenceAction::Cascade) => ReferenceRule::Cascade,
        Some(ReferenceAction::SetNull) => ReferenceRule::SetNull,
        // Parsed by MySQL, and refused by InnoDB.
        Some(ReferenceAction::SetDefault) => return Err(Error::CannotAddForeignKey),
    })
}

/// The index that a key gets when none leads with its columns.
fn index_for(definition: &ForeignKeyDef) -> IndexDef {
    let part = |name: &Ident| IndexPart { key: IndexKey::Column { name: name.clone(), length: None }, desc: false };
    IndexDef {
        kind: IndexKind::Index,
        name: definition.name.clone().or_else(|| definition.index_name.clone()),
        parts: definition.columns.iter().map(part).collect(),
        options: Vec::new(),
    }
}

/// Whether some key of a table begins with these columns, in their order and in full.
pub fn has_index(table: &TableInfo, offsets: &[usize]) -> bool {
    if table.pk == (catalog::PrimaryKey::IntHandle { column: offsets[0] }) && offsets.len() == 1 {
        return true;
    }
    let leads = |index: &catalog::IndexInfo| {
        let parts = &index.columns;
        parts.len() >= offsets.len() && parts.iter().zip(offsets).all(|(part, offset)| part.offset == *offset && part.prefix_len.is_none())
    };
    table.indexes.iter().filter(|index| index.state.is_public()).any(leads)
}

/// Whether values of one type are compared with those of another as they are stored.
pub fn is_compatible(child: &FieldType, parent: &FieldType) -> bool {
    let text = |ty: &FieldType| ty.is_text() && !matches!(ty.tp, TypeKind::Enum | TypeKind::Set | TypeKind::Json);
    if text(child) && text(parent) {
        return child.collation == parent.collation;
    }
    let binary = |ty: &FieldType| ty.tp.is_string() && !ty.is_text();
    if binary(child) && binary(parent) {
        return true;
    }
    child.tp == parent.tp
        && child.unsigned == parent.unsigned
        && (child.tp != TypeKind::Decimal || (child.flen, child.decimal) == (parent.flen, parent.decimal))
        && (!matches!(child.tp, TypeKind::Enum | TypeKind::Set) || child.elems == parent.elems)
        && child.fsp() == parent.fsp()
}
