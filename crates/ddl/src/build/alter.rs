//! ALTER TABLE, CREATE INDEX and DROP INDEX: into a list of changes that one job makes together.
//!
//! The actions are applied one after the other to a draft of the table, so that later ones see earlier ones and MySQL's checks hold
//! for the result as a whole. The job gets the changes by id, not the draft: another job may run before it. Columns and indexes that
//! are being added have no ids yet; the job's first step gives them theirs. Until then an added column goes by a negative
//! placeholder, under which an index of the same statement can name it.

use std::sync::Arc;

use base::{ColumnId, IndexId};
use catalog::{
    CheckInfo, ColumnDefault, ColumnInfo, IndexInfo, PrimaryKey, ReferenceRule, TableInfo, infoschema_tables::is_virtual_database,
    name::eq_ignore_case,
};
use parser::ast::{
    AlterAction, AlterTableStmt, CheckDef, ColumnDef, ColumnOption, ColumnPosition, CreateIndexStmt, DropIndexStmt, Expr, ForeignKeyDef,
    IndexDef, IndexKind, OnlineOptions, TableConstraint, TableName, TableOption,
};
use types::{Datum, MysqlError, mysql_error as codes};

use super::{
    BuildContext, check,
    column::{as_addition, is_lossless},
    foreign_key::{has_index, is_compatible},
    generated,
    index::{self, MAX_KEYS},
    names::{check_column_name, check_index_name, check_table_name},
    table::{check_columns, check_engine, check_other_option},
};
use crate::{
    Error, Result,
    job::{Position, TableChange},
};

/// What ALTER TABLE comes to.
pub struct Alteration {
    /// The table.
    pub table: Arc<TableInfo>,
    /// The changes; may be empty.
    pub changes: Vec<TableChange>,
}

/// ALTER TABLE.
pub fn alter_table(context: &mut BuildContext<'_>, stmt: &AlterTableStmt) -> Result<Alteration> {
    // WITH VALIDATION or without: the values of new generated columns are computed for all rows, and must fit.
    let table = context.table(&stmt.table)?;
    let mut draft = Draft::new(context, &table);
    for action in &stmt.actions {
        draft.action(action)?;
    }
    draft.add_constraints()?;
    let changes = draft.finish()?;
    check_online(&stmt.online, &changes)?;
    Ok(Alteration { table, changes })
}

/// CREATE INDEX.
pub fn create_index(context: &mut BuildContext<'_>, stmt: &CreateIndexStmt) -> Result<Alteration> {
    let table = context.table(&stmt.table)?;
    let mut draft = Draft::new(context, &table);
    draft.add_index(&stmt.index, stmt.if_not_exists)?;
    let changes = draft.finish()?;
    check_online(&stmt.online, &changes)?;
    Ok(Alteration { table, changes })
}

/// DROP INDEX.
pub fn drop_index(context: &mut BuildContext<'_>, stmt: &DropIndexStmt) -> Result<Alteration> {
    let table = context.table(&stmt.table)?;
    let mut draft = Draft::new(context, &table);
    draft.drop_index(&stmt.name, stmt.if_exists)?;
    let changes = draft.finish()?;
    check_online(&stmt.online, &changes)?;
    Ok(Alteration { table, changes })
}

/// Every change is made online and in place; what asks for more than that can have it, what asks for less gets it too. Only INSTANT is a
/// promise that building an index would break.
fn check_online(online: &OnlineOptions, changes: &[TableChange]) -> Result<()> {
    let instant = online.algorithm.as_ref().is_some_and(|word| word.eq_ignore_ascii_case("instant"));
    if instant && changes.iter().any(|change| matches!(change, TableChange::AddIndex { .. })) {
        let message = "ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=COPY/INPLACE.";
        return Err(Error::Mysql(MysqlError::new(codes::ER_ALTER_OPERATION_NOT_SUPPORTED, message)));
    }
    Ok(())
}

/// The table as it will be, and the changes that lead there.
struct Draft<'c, 'a, 's> {
    context: &'c mut BuildContext<'a>,
    /// The table as it is.
    before: TableInfo,
    table: TableInfo,
    changes: Vec<TableChange>,
    /// Constraints that are added when the table has all its columns and indexes.
    later: Vec<Later<'s>>,
    next_placeholder: i64,
}

/// A constraint that is added when the table has all its columns and indexes.
enum Later<'s> {
    /// With the column whose attribute it is.
    Check(&'s CheckDef, Option<&'s str>),
    ForeignKey(&'s ForeignKeyDef),
}

impl<'c, 'a, 's> Draft<'c, 'a, 's> {
    fn new(context: &'c mut BuildContext<'a>, table: &TableInfo) -> Self {
        let mut table = table.clone();
        // Elements that another job is adding or dropping are no business of this statement; names they hold are checked by the step.
        table.indexes.retain(|index| index.state.is_public() || index.primary);
        if let PrimaryKey::Common { .. } = table.pk {
            let index = table.indexes.iter().position(|index| index.primary).expect("a common handle has its primary index");
            table.pk = PrimaryKey::Common { index };
        }
        let public: Vec<usize> = (0..table.public_columns().len()).collect();
        table.reorder_columns(&public);
        Self { context, before: table.clone(), table, changes: Vec::new(), later: Vec::new(), next_placeholder: -1 }
    }

    fn finish(self) -> Result<Vec<TableChange>> {
        if self.table.columns.is_empty() {
            return Err(Error::CantRemoveAllColumns);
        }
        if self.table.indexes.len() > MAX_KEYS {
            return Err(Error::TooManyKeys { max: MAX_KEYS });
        }
        check_columns(&self.table)?;
        self.check_keys()?;
        self.context.check_generated(&self.table)?;
        Ok(self.changes)
    }

    fn action(&mut self, action: &'s AlterAction) -> Result<()> {
        match action {
            AlterAction::AddColumn { if_not_exists, column, position } => self.add_column(column, position.as_ref(), *if_not_exists),
            AlterAction::DropColumn { if_exists, name } => self.drop_column(name, *if_exists),
            AlterAction::ModifyColumn { column, position } => self.change_column(&column.name, column, position.as_ref()),
            AlterAction::ChangeColumn { old, column, position } => self.change_column(old, column, position.as_ref()),
            AlterAction::RenameColumn { old, new } => self.rename_column(old, new),
            AlterAction::AlterColumnDefault { name, default, parenthesized } => self.set_default(name, default.as_ref(), *parenthesized),
            AlterAction::AlterColumnVisible { name, visible } => self.edit_column(name, |column| column.hidden = !visible),
            AlterAction::AddConstraint { if_not_exists, constraint } => match constraint {
                TableConstraint::Index(index) => self.add_index(index, *if_not_exists),
                TableConstraint::ForeignKey(key) => {
                    self.later.push(Later::ForeignKey(key));
                    Ok(())
                }
                TableConstraint::Check(check) => {
                    self.later.push(Later::Check(check, None));
                    Ok(())
                }
            },
            AlterAction::DropIndex { if_exists, name } => self.drop_index(name, *if_exists),
            AlterAction::DropPrimaryKey => self.drop_index("PRIMARY", false),
            AlterAction::DropForeignKey(name) => self.drop_foreign_key(name),
            AlterAction::DropCheck(name) => self.drop_check(name),
            AlterAction::DropConstraint(name) => self.drop_constraint(name),
            AlterAction::AlterCheck { name, enforced } => self.enforce_check(name, *enforced),
            AlterAction::AlterIndexVisible { name, visible } => self.set_index_visible(name, *visible),
            AlterAction::RenameIndex { old, new } => self.rename_index(old, new),
            AlterAction::RenameTable(name) => self.rename_table(name),
            AlterAction::Options(options) => self.options(options),
            AlterAction::ConvertCharset { charset, collation } => self.convert_charset(charset.as_deref(), collation.as_deref()),
            // Rows have no order of their own and indexes are always maintained, as in InnoDB; FORCE rebuilds what needs no rebuilding.
            AlterAction::OrderBy(_) | AlterAction::EnableKeys(_) | AlterAction::Force => Ok(()),
            AlterAction::Tablespace { .. } => Err(Error::not_supported("DISCARD and IMPORT TABLESPACE")),
            _ => Err(Error::not_supported("partitioning")),
        }
    }

    /// A note instead of an error where IF EXISTS or IF NOT EXISTS was written.
    fn tolerate(&mut self, tolerated: bool, error: Error) -> Result<()> {
        if !tolerated {
            return Err(error);
        }
        self.context.warnings.push(error.to_mysql());
        Ok(())
    }

    fn column_named(&self, name: &str) -> Result<&ColumnInfo> {
        let place = self.table.name.clone();
        self.table.column(name).ok_or_else(|| Error::UnknownColumn { column: name.to_owned(), place })
    }

    fn position(&self, position: Option<&ColumnPosition>) -> Result<Option<Position>> {
        Ok(match position {
            None => None,
            Some(ColumnPosition::First) => Some(Position::First),
            Some(ColumnPosition::After(name)) => Some(Position::After(self.column_named(name)?.id)),
        })
    }

    /// Moves a column of the draft to its place; without one it goes behind the others.
    fn place(&mut self, id: ColumnId, position: Option<&Position>) {
        let offset_of = |id: ColumnId| self.table.columns.iter().position(|column| column.id == id);
        let Some(from) = offset_of(id) else { return };
        let mut order: Vec<usize> = (0..self.table.columns.len()).filter(|offset| *offset != from).collect();
        let at = match position {
            Some(Position::First) => 0,
            Some(Position::After(after)) => {
                let after = offset_of(*after);
                order.iter().position(|offset| Some(*offset) == after).map_or(order.len(), |at| at + 1)
            }
            None => order.len(),
        };
        order.insert(at, from);
        self.table.reorder_columns(&order);
    }

    fn add_column(&mut self, definition: &'s ColumnDef, position: Option<&ColumnPosition>, if_not_exists: bool) -> Result<()> {
        if self.table.column(&definition.name).is_some() {
            return self.tolerate(if_not_exists, Error::DuplicateColumn { name: definition.name.to_string() });
        }
        let built = self.context.column(definition, self.table.collation)?;
        if built.column.auto_increment {
            return Err(Error::not_supported("ADD COLUMN with AUTO_INCREMENT"));
        }
        let position = self.position(position)?;
        let id = ColumnId(self.next_placeholder);
        self.next_placeholder -= 1;
        let origin = self.context.origin_default(&built.column);
        let column = as_addition(built.column, id, origin);
        let mut drafted = ColumnInfo { offset: self.table.columns.len(), ..column.clone() };
        drafted.state = catalog::SchemaState::Public;
        self.table.columns.push(drafted);
        self.place(id, position.as_ref());
        self.changes.push(TableChange::AddColumn { column: Box::new(column), position });
        self.later.extend(column_checks(definition));
        built.indexes.iter().try_for_each(|index| self.add_index(index, false))
    }

    fn drop_column(&mut self, name: &str, if_exists: bool) -> Result<()> {
        let Some(column) = self.table.column(name) else {
            return self.tolerate(if_exists, Error::CantDropColumnOrKey { name: name.to_owned() });
        };
        let (id, offset) = (column.id, column.offset);
        if id.0 < 0 {
            return Err(Error::CantDropColumnOrKey { name: name.to_owned() });
        }
        if self.table.primary_key_columns().contains(&offset) {
            return Err(Error::not_supported("dropping a column of the primary key"));
        }
        let over_it = |index: &&IndexInfo| index.columns.iter().any(|part| part.offset == offset);
        if self.table.indexes.iter().filter(over_it).any(|index| index.columns.len() > 1) {
            return Err(Error::not_supported("dropping a column that an index of several columns uses"));
        }
        let indexes: Vec<String> = self.table.indexes.iter().filter(over_it).map(|index| index.name.clone()).collect();
        for index in indexes {
            self.drop_index(&index, false)?;
        }
        for check in check::without_column(&mut self.table, name)? {
            self.changes.push(TableChange::DropCheck(check));
        }
        let kept: Vec<usize> = (0..self.table.columns.len()).filter(|&other| other != offset).collect();
        self.table.reorder_columns(&kept);
        self.changes.push(TableChange::DropColumn(id));
        Ok(())
    }

    fn change_column(&mut self, old: &str, definition: &'s ColumnDef, position: Option<&ColumnPosition>) -> Result<()> {
        let current = self.column_named(old)?.clone();
        let built = self.context.column(definition, self.table.collation)?;
        let mut column = built.column;
        if !eq_ignore_case(old, &column.name) && self.table.column(&column.name).is_some() {
            return Err(Error::DuplicateColumn { name: column.name });
        }
        if self.table.primary_key_columns().contains(&current.offset) {
            if built.explicit_null {
                return Err(Error::PrimaryCantHaveNull);
            }
            column.ty.not_null = true;
        }
        if column.auto_increment && !current.auto_increment {
            return Err(Error::not_supported("adding AUTO_INCREMENT to an existing column"));
        }
        self.check_generated_change(&current, &column)?;
        self.check_rename(old, &column.name)?;
        self.later.extend(column_checks(definition));
        if !is_lossless(&current, &column) {
            return Err(Error::not_supported("changing the type of a column in a way that changes stored values"));
        }
        let position = self.position(position)?;
        column =
            ColumnInfo { id: current.id, offset: current.offset, origin_default: current.origin_default, state: current.state, ..column };
        self.table.columns[current.offset] = column.clone();
        if position.is_some() {
            self.place(column.id, position.as_ref());
        }
        self.changes.push(TableChange::ChangeColumn { column: Box::new(column), position });
        let additional = built.indexes.iter().filter(|index| index.kind != IndexKind::Primary || !self.table.has_primary_key());
        let additional: Vec<IndexDef> = additional.cloned().collect();
        if additional.len() < built.indexes.len() {
            return Err(Error::MultiplePrimaryKey);
        }
        additional.iter().try_for_each(|index| self.add_index(index, false))
    }

    /// A change of a column that needs nothing but its name.
    fn edit_column(&mut self, name: &str, edit: impl FnOnce(&mut ColumnInfo)) -> Result<()> {
        let mut column = self.column_named(name)?.clone();
        edit(&mut column);
        self.table.columns[column.offset] = column.clone();
        self.changes.push(TableChange::ChangeColumn { column: Box::new(column), position: None });
        Ok(())
    }

    fn rename_column(&mut self, old: &str, new: &str) -> Result<()> {
        check_column_name(new)?;
        if !eq_ignore_case(old, new) && self.table.column(new).is_some() {
            return Err(Error::DuplicateColumn { name: new.to_owned() });
        }
        self.column_named(old)?;
        self.check_rename(old, new)?;
        self.edit_column(old, |column| new.clone_into(&mut column.name))
    }

    /// A column that others are computed from, or that a constraint names, keeps its name.
    fn check_rename(&self, old: &str, new: &str) -> Result<()> {
        if eq_ignore_case(old, new) {
            return Ok(());
        }
        if generated::is_base(&self.table, old) {
            return Err(Error::GeneratedNeedsColumn { column: old.to_owned() });
        }
        let needs = |check: &&CheckInfo| check::columns_of(check).iter().any(|name| eq_ignore_case(name, old));
        match self.table.checks.iter().find(needs) {
            None => Ok(()),
            Some(check) => Err(Error::CheckNeedsColumn { name: check.name.clone(), column: old.to_owned() }),
        }
    }

    /// A column stays as it is computed: its values lie in the rows.
    fn check_generated_change(&self, old: &ColumnInfo, new: &ColumnInfo) -> Result<()> {
        match (&old.generated, &new.generated) {
            (None, None) => Ok(()),
            (Some(old), Some(new)) if old.stored != new.stored => Err(Error::GeneratedUnsupported { action: "Changing the STORED status" }),
            (Some(old), None) if !old.stored => Err(Error::GeneratedUnsupported { action: "Changing the STORED status" }),
            (None, Some(new)) if !new.stored => Err(Error::GeneratedUnsupported { action: "Changing the STORED status" }),
            // A stored column that is no longer computed keeps its values.
            (Some(_), None) => Ok(()),
            (Some(old), Some(new)) if old.expr == new.expr => Ok(()),
            _ => Err(Error::not_supported("changing the expression of a generated column")),
        }
    }

    fn set_default(&mut self, name: &str, default: Option<&Expr>, parenthesized: bool) -> Result<()> {
        let column = self.column_named(name)?.clone();
        let default = match default {
            None => ColumnDefault::None,
            Some(_) if column.auto_increment => return Err(Error::InvalidDefault { column: column.name }),
            Some(expr) if parenthesized => self.context.default_expr(&column.name, &column.ty, expr)?,
            Some(expr) => self.context.default_value(&column.name, &column.ty, expr)?,
        };
        self.table.columns[column.offset].default = default.clone();
        self.changes.push(TableChange::SetDefault { column: column.id, default });
        Ok(())
    }

    fn add_index(&mut self, definition: &IndexDef, if_not_exists: bool) -> Result<()> {
        if definition.kind == IndexKind::Primary {
            return match self.table.has_primary_key() {
                true => Err(Error::MultiplePrimaryKey),
                false => Err(Error::not_supported("adding a primary key to an existing table")),
            };
        }
        if let Some(name) = &definition.name
            && self.table.index(name).is_some()
        {
            return self.tolerate(if_not_exists, Error::DuplicateKeyName { name: name.to_string() });
        }
        let taken = |name: &str| self.table.index(name).is_some();
        let index = index::build(definition, IndexId(0), &self.table.columns, &taken)?;
        let columns = index.columns.iter().map(|part| self.table.columns[part.offset].id).collect();
        self.table.indexes.push(index.clone());
        self.changes.push(TableChange::AddIndex { index: Box::new(index), columns });
        Ok(())
    }

    fn drop_index(&mut self, name: &str, if_exists: bool) -> Result<()> {
        if name.eq_ignore_ascii_case("PRIMARY") && self.table.has_primary_key() {
            return Err(Error::not_supported("DROP PRIMARY KEY"));
        }
        let Some(at) = self.table.indexes.iter().position(|index| eq_ignore_case(&index.name, name)) else {
            return self.tolerate(if_exists, Error::CantDropColumnOrKey { name: name.to_owned() });
        };
        let index = self.table.indexes.remove(at);
        if let PrimaryKey::Common { index: primary } = &mut self.table.pk {
            *primary -= usize::from(*primary > at);
        }
        if index.id.0 == 0 {
            return Err(Error::CantDropColumnOrKey { name: name.to_owned() });
        }
        self.changes.push(TableChange::DropIndex(index.id));
        Ok(())
    }

    /// Adds what must see all columns and indexes of the statement.
    fn add_constraints(&mut self) -> Result<()> {
        for later in std::mem::take(&mut self.later) {
            match later {
                Later::Check(definition, column) => {
                    let check = self.context.add_check(&mut self.table, definition, column)?;
                    self.changes.push(TableChange::AddCheck(check));
                }
                Later::ForeignKey(definition) => {
                    let (key, index) = self.context.add_foreign_key(&mut self.table, definition)?;
                    if let Some(index) = index {
                        self.add_index(&index, false)?;
                    }
                    self.changes.push(TableChange::AddForeignKey { key, checked: self.context.foreign_key_checks });
                }
            }
        }
        Ok(())
    }

    fn drop_foreign_key(&mut self, name: &str) -> Result<()> {
        let Some(at) = self.table.foreign_keys.iter().position(|key| eq_ignore_case(&key.name, name)) else {
            return Err(Error::CantDropColumnOrKey { name: name.to_owned() });
        };
        let key = self.table.foreign_keys.remove(at);
        self.changes.push(TableChange::DropForeignKey(key.name));
        Ok(())
    }

    fn drop_check(&mut self, name: &str) -> Result<()> {
        let Some(at) = self.table.checks.iter().position(|check| eq_ignore_case(&check.name, name)) else {
            return Err(Error::CheckNotFound { name: name.to_owned() });
        };
        let check = self.table.checks.remove(at);
        self.changes.push(TableChange::DropCheck(check.name));
        Ok(())
    }

    /// DROP CONSTRAINT: whatever kind of constraint has the name.
    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        let unique = self.has_unique_key(name);
        match (unique, self.table.foreign_key(name).is_some(), self.table.check(name).is_some()) {
            (true, false, false) => self.drop_index(name, false),
            (false, true, false) => self.drop_foreign_key(name),
            (false, false, true) => self.drop_check(name),
            (false, false, false) => Err(Error::ConstraintNotFound { name: name.to_owned() }),
            _ => Err(Error::AmbiguousConstraint { name: name.to_owned() }),
        }
    }

    /// Whether the table has a primary key or unique index of that name.
    fn has_unique_key(&self, name: &str) -> bool {
        let primary = name.eq_ignore_ascii_case("PRIMARY") && self.table.has_primary_key();
        primary || self.table.index(name).is_some_and(|index| index.unique)
    }

    fn enforce_check(&mut self, name: &str, enforced: bool) -> Result<()> {
        let Some(check) = self.table.checks.iter_mut().find(|check| eq_ignore_case(&check.name, name)) else {
            let other = self.has_unique_key(name) || self.table.foreign_key(name).is_some();
            let name = name.to_owned();
            return Err(if other { Error::EnforcementNotSupported { name } } else { Error::CheckNotFound { name } });
        };
        if check.enforced != enforced {
            check.enforced = enforced;
            let name = check.name.clone();
            self.changes.push(if enforced { TableChange::EnforceCheck(name) } else { TableChange::RelaxCheck(name) });
        }
        Ok(())
    }

    /// What foreign keys of the table, and of others that lead to it, still need of it.
    fn check_keys(&self) -> Result<()> {
        let now = |old: &ColumnInfo| self.table.columns.iter().find(|column| column.id == old.id);
        let dropped_index = || {
            let gone = self.before.indexes.iter().find(|index| self.table.index_by_id(index.id).is_none());
            Error::ForeignKeyNeedsIndex { index: gone.map_or_else(|| "PRIMARY".to_owned(), |index| index.name.clone()) }
        };
        for column in &self.before.columns {
            if now(column).is_none() && generated::is_base(&self.table, &column.name) && self.table.column(&column.name).is_none() {
                return Err(Error::GeneratedNeedsColumn { column: column.name.clone() });
            }
        }
        // Until they are public new columns stand in the order they are added in, and are computed in it.
        for column in self.table.columns.iter().filter(|column| column.id.0 < 0) {
            let base_is_added_later =
                |name: &parser::ast::Ident| self.table.column(name).is_some_and(|base| base.generated.is_some() && base.id.0 < column.id.0);
            if generated::base_columns(column).iter().any(base_is_added_later) {
                return Err(Error::not_supported("a new generated column that is computed from one added behind it"));
            }
        }
        for key in &self.table.foreign_keys {
            let mut offsets = Vec::with_capacity(key.columns.len());
            for id in &key.columns {
                let old = self.before.column_by_id(*id);
                let Some(new) = self.table.columns.iter().find(|column| column.id == *id) else {
                    let column = old.map_or_else(String::new, |column| column.name.clone());
                    return Err(Error::ForeignKeyNeedsColumn { column, key: key.name.clone() });
                };
                if old.is_some_and(|old| !is_compatible(&old.ty, &new.ty)) {
                    return Err(Error::ForeignKeyColumnChange { column: new.name.clone(), key: key.name.clone() });
                }
                let sets_null = [key.on_delete, key.on_update].contains(&ReferenceRule::SetNull);
                if sets_null && new.ty.not_null {
                    return Err(Error::ForeignKeyNotNull { column: new.name.clone(), key: key.name.clone() });
                }
                offsets.push(new.offset);
            }
            if !has_index(&self.table, &offsets) {
                return Err(dropped_index());
            }
        }
        for (child, key) in self.context.referring(&self.before.database, &self.before.name) {
            if child.id == self.before.id && self.table.foreign_key(&key.name).is_none() {
                continue;
            }
            let mut offsets = Vec::with_capacity(key.columns.len());
            for name in &key.parent_columns {
                let Some(old) = self.before.column(name) else { continue };
                let Some(new) = now(old) else {
                    let (column, key, table) = (name.clone(), key.name.clone(), child.name.clone());
                    return Err(Error::ForeignKeyNeedsParentColumn { column, key, table });
                };
                if !is_compatible(&old.ty, &new.ty) {
                    let (column, key, table) = (name.clone(), key.name.clone(), child.name.clone());
                    return Err(Error::ForeignKeyParentColumnChange { column, key, table });
                }
                offsets.push(new.offset);
            }
            if !offsets.is_empty() && !has_index(&self.table, &offsets) {
                return Err(dropped_index());
            }
        }
        Ok(())
    }

    fn set_index_visible(&mut self, name: &str, visible: bool) -> Result<()> {
        let table = self.table.name.clone();
        let found = self.table.indexes.iter_mut().find(|index| eq_ignore_case(&index.name, name));
        let index = found.ok_or_else(|| Error::KeyDoesNotExist { key: name.to_owned(), table })?;
        if index.primary {
            return Err(Error::not_supported("an invisible primary key"));
        }
        index.invisible = !visible;
        self.changes.push(TableChange::SetIndexVisible { index: index.id, visible });
        Ok(())
    }

    fn rename_index(&mut self, old: &str, new: &str) -> Result<()> {
        check_index_name(new)?;
        let table = self.table.name.clone();
        if !eq_ignore_case(old, new) && self.table.index(new).is_some() {
            return Err(Error::DuplicateKeyName { name: new.to_owned() });
        }
        let found = self.table.indexes.iter_mut().find(|index| eq_ignore_case(&index.name, old) && !index.primary);
        let index = found.ok_or_else(|| Error::KeyDoesNotExist { key: old.to_owned(), table })?;
        new.clone_into(&mut index.name);
        self.changes.push(TableChange::RenameIndex { index: index.id, name: new.to_owned() });
        Ok(())
    }

    fn rename_table(&mut self, name: &TableName) -> Result<()> {
        check_table_name(&name.name)?;
        let database = match &name.schema {
            Some(schema) => schema.as_str(),
            None => &self.table.database,
        };
        if is_virtual_database(database) {
            return Err(Error::ReadOnlyDatabase { name: database.to_owned() });
        }
        let database = self.context.database(database)?;
        if let Some(other) = self.context.schema.table(&database.name, &name.name)
            && other.id != self.table.id
        {
            return Err(Error::TableExists { name: name.name.to_string() });
        }
        let (id, name, database_name) = (database.id, name.name.to_string(), database.name.clone());
        self.changes.push(TableChange::Rename { database: id, database_name, name });
        Ok(())
    }

    fn options(&mut self, options: &[TableOption]) -> Result<()> {
        let (mut charset, mut collation) = (None, None);
        for option in options {
            match option {
                TableOption::Engine(engine) => check_engine(self.context, engine, &self.table.name)?,
                TableOption::AutoIncrement(value) => self.changes.push(TableChange::SetAutoIncrement(*value)),
                TableOption::Comment(comment) => self.changes.push(TableChange::SetComment(comment.clone())),
                TableOption::Charset(name) => charset = Some(name.as_str()),
                TableOption::Collate(name) => collation = Some(name.as_str()),
                TableOption::Union(_) => return Err(Error::not_supported("UNION = (tables)")),
                TableOption::Other(name, value) => check_other_option(name, value)?,
            }
        }
        if charset.is_some() || collation.is_some() {
            let collation = self.context.charset_and_collation(charset, collation, self.table.collation)?;
            self.set_charset(collation);
        }
        Ok(())
    }

    fn set_charset(&mut self, collation: types::Collation) {
        (self.table.charset, self.table.collation) = (collation.charset(), collation);
        self.changes.push(TableChange::SetCharset { charset: collation.charset(), collation });
    }

    fn convert_charset(&mut self, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
        let collation = self.context.charset_and_collation(charset, collation, self.table.collation)?;
        if self.table.columns.iter().any(|column| column.ty.is_text() && column.ty.collation != collation) {
            return Err(Error::not_supported("CONVERT TO CHARACTER SET of columns with another collation"));
        }
        self.set_charset(collation);
        Ok(())
    }
}

/// The CHECK constraints among the attributes of a column.
fn column_checks(definition: &ColumnDef) -> impl Iterator<Item = Later<'_>> {
    definition.options.iter().filter_map(|option| match option {
        ColumnOption::Check(check) => Some(Later::Check(check, Some(definition.name.as_str()))),
        _ => None,
    })
}

/// The value of a column that is about to be dropped, for rows that are inserted meanwhile: never NULL where readers of the version
/// before still expect NOT NULL.
pub fn value_while_dropping(column: &ColumnInfo) -> Datum {
    match &column.default {
        ColumnDefault::Value(value) => value.clone(),
        _ if !column.ty.not_null => Datum::Null,
        _ if column.origin_default != Datum::Null => column.origin_default.clone(),
        _ => types::convert::implicit_default(&column.ty),
    }
}
