//! CREATE TABLE, and CREATE TABLE … LIKE.

use base::TableId;
use catalog::{DatabaseInfo, PrimaryKey, TableInfo, name::eq_ignore_case};
use parser::ast::{
    CheckDef, ColumnOption, CreateTableStmt, ForeignKeyDef, IndexDef, IndexKind, OptionValue, TableConstraint, TableName, TableOption,
};
use types::{MysqlError, TypeKind, mysql_error::ER_TABLE_EXISTS_ERROR};

use super::{
    BuildContext, check,
    index::{self, MAX_KEYS, leads_some_key, row_bytes},
    names::check_table_name,
};
use crate::{Error, Result};

/// Most columns of a table, as InnoDB has it.
pub const MAX_COLUMNS: usize = 1017;
const MAX_ROW_BYTES: u32 = 65_535;

/// The table a CREATE TABLE makes, without an id; `None` when it exists and IF NOT EXISTS was written.
pub fn create_table(context: &mut BuildContext<'_>, stmt: &CreateTableStmt) -> Result<Option<TableInfo>> {
    if stmt.temporary {
        return Err(Error::not_supported("CREATE TEMPORARY TABLE"));
    }
    if stmt.query.is_some() {
        return Err(Error::not_supported("CREATE TABLE … SELECT"));
    }
    if stmt.partition_by.is_some() {
        return Err(Error::not_supported("PARTITION BY"));
    }
    check_table_name(&stmt.name.name)?;
    let database = context.database_of(&stmt.name)?;
    if let Some(existing) = context.find_table(&stmt.name)? {
        let error = Error::TableExists { name: existing.name.clone() };
        if !stmt.if_not_exists {
            return Err(error);
        }
        context.warnings.push(MysqlError::new(ER_TABLE_EXISTS_ERROR, error.to_string()));
        return Ok(None);
    }
    if let Some(like) = &stmt.like {
        return create_like(context, &database, &stmt.name, like).map(Some);
    }
    let mut table = TableInfo::new(TableId(0), database.id, &database.name, stmt.name.name.as_str());
    table.created_ms = context.now_ms;
    (table.charset, table.collation) = (database.charset, database.collation);
    table_options(context, &stmt.options, &mut table)?;
    let definitions = definitions(context, stmt, &mut table)?;
    add_indexes(&mut table, &definitions.indexes)?;
    check_table(&table)?;
    context.check_generated(&table)?;
    for (check, column) in definitions.checks {
        context.add_check(&mut table, check, column)?;
    }
    for key in definitions.foreign_keys {
        if let (_, Some(index)) = context.add_foreign_key(&mut table, key)? {
            add_indexes(&mut table, &[index])?;
        }
    }
    context.check_waiting_children(&table)?;
    table.refresh_flags();
    Ok(Some(table))
}

fn create_like(context: &BuildContext<'_>, database: &DatabaseInfo, name: &TableName, like: &TableName) -> Result<TableInfo> {
    let mut table = TableInfo::clone(&*context.table(like)?);
    table.id = TableId(0);
    table.name = name.name.to_string();
    (table.database_id, table.database) = (database.id, database.name.clone());
    table.created_ms = context.now_ms;
    table.auto_increment_start = 0;
    // Checks are copied under names of the new table's own, foreign keys are not.
    table.foreign_keys.clear();
    for (check, number) in table.checks.iter_mut().zip(1..) {
        check.name = format!("{}{}{number}", table.name, check::GENERATED);
    }
    table.indexes.retain(|index| index.state.is_public());
    if let PrimaryKey::Common { .. } = table.pk {
        let index = table.indexes.iter().position(|index| index.primary).expect("the primary key is public as long as the table is");
        table.pk = PrimaryKey::Common { index };
    }
    let public: Vec<usize> = (0..table.public_columns().len()).collect();
    table.reorder_columns(&public);
    table.refresh_flags();
    Ok(table)
}

/// What CREATE TABLE says beside its columns, or among their attributes: in MySQL's order, those of columns first.
#[derive(Default)]
struct Definitions<'s> {
    indexes: Vec<IndexDef>,
    /// With the column whose attribute it is.
    checks: Vec<(&'s CheckDef, Option<&'s str>)>,
    foreign_keys: Vec<&'s ForeignKeyDef>,
}

/// Builds the columns, and gathers what else is defined.
fn definitions<'s>(context: &mut BuildContext<'_>, stmt: &'s CreateTableStmt, table: &mut TableInfo) -> Result<Definitions<'s>> {
    let mut all = Definitions::default();
    let definitions = &mut all.indexes;
    for definition in &stmt.columns {
        let built = context.column(definition, table.collation)?;
        if table.columns.iter().any(|column| eq_ignore_case(&column.name, &built.column.name)) {
            return Err(Error::DuplicateColumn { name: built.column.name });
        }
        let primary = built.indexes.iter().any(|index| index.kind == IndexKind::Primary);
        if primary && built.explicit_null {
            return Err(Error::PrimaryCantHaveNull);
        }
        let mut column = built.column;
        column.id = table.take_column_id();
        column.offset = table.columns.len();
        table.columns.push(column);
        definitions.extend(built.indexes);
        let checks = definition.options.iter().filter_map(|option| match option {
            ColumnOption::Check(check) => Some((check, Some(definition.name.as_str()))),
            _ => None,
        });
        all.checks.extend(checks);
    }
    for constraint in &stmt.constraints {
        match constraint {
            TableConstraint::Index(index) => definitions.push(index.clone()),
            TableConstraint::ForeignKey(key) => all.foreign_keys.push(key),
            TableConstraint::Check(check) => all.checks.push((check, None)),
        }
    }
    // A column that was declared NULL cannot be in the primary key; one that said nothing becomes NOT NULL.
    let primary_parts = definitions.iter().filter(|index| index.kind == IndexKind::Primary).flat_map(|index| &index.parts);
    for part in primary_parts {
        let parser::ast::IndexKey::Column { name, .. } = &part.key else { continue };
        let declared_null = stmt
            .columns
            .iter()
            .any(|column| eq_ignore_case(&column.name, name) && column.options.iter().any(|option| matches!(option, ColumnOption::Null)));
        if declared_null {
            return Err(Error::PrimaryCantHaveNull);
        }
        if let Some(column) = table.columns.iter_mut().find(|column| eq_ignore_case(&column.name, name)) {
            if column.default == catalog::ColumnDefault::Value(types::Datum::Null) {
                return Err(Error::InvalidDefault { column: column.name.clone() });
            }
            column.ty.not_null = true;
        }
    }
    Ok(all)
}

fn add_indexes(table: &mut TableInfo, definitions: &[IndexDef]) -> Result<()> {
    if definitions.len() > MAX_KEYS {
        return Err(Error::TooManyKeys { max: MAX_KEYS });
    }
    if definitions.iter().filter(|index| index.kind == IndexKind::Primary).count() > 1 {
        return Err(Error::MultiplePrimaryKey);
    }
    // Names that were written come before names that are made up, so that the latter avoid the former.
    let written: Vec<&str> = definitions.iter().filter_map(|index| index.name.as_deref()).collect();
    for definition in definitions {
        let existing: Vec<String> = table.indexes.iter().map(|index| index.name.clone()).collect();
        let taken = |name: &str| {
            existing.iter().any(|known| eq_ignore_case(known, name))
                || (definition.name.is_none() && written.iter().any(|known| eq_ignore_case(known, name)))
        };
        let id = table.take_index_id();
        let built = index::build(definition, id, &table.columns, &taken)?;
        if built.primary && is_int_handle(table, &built) {
            table.pk = PrimaryKey::IntHandle { column: built.columns[0].offset };
            continue;
        }
        if built.primary {
            table.pk = PrimaryKey::Common { index: table.indexes.len() };
        }
        table.indexes.push(built);
    }
    Ok(())
}

/// Whether a primary key is a single integer whose values fit an `i64`, in ascending order and without anything to remember of its index.
fn is_int_handle(table: &TableInfo, index: &catalog::IndexInfo) -> bool {
    let [part] = &index.columns[..] else { return false };
    let ty = &table.columns[part.offset].ty;
    let fits = ty.is_integer() && !(ty.tp == TypeKind::BigInt && ty.unsigned);
    fits && !part.desc && index.comment.is_empty()
}

fn check_table(table: &TableInfo) -> Result<()> {
    if table.columns.is_empty() {
        return Err(Error::TableMustHaveColumns);
    }
    check_columns(table)
}

/// What holds for all columns together, after CREATE TABLE and after every change of columns.
pub fn check_columns(table: &TableInfo) -> Result<()> {
    if table.columns.len() > MAX_COLUMNS {
        return Err(Error::TooManyColumns);
    }
    if table.columns.iter().map(|column| u64::from(row_bytes(&column.ty))).sum::<u64>() > u64::from(MAX_ROW_BYTES) {
        return Err(Error::RowTooBig);
    }
    let mut counters = table.columns.iter().filter(|column| column.auto_increment);
    match (counters.next(), counters.next()) {
        (Some(_), Some(_)) => Err(Error::WrongAutoKey),
        (Some(column), None) if !leads_some_key(table, column.offset) => Err(Error::WrongAutoKey),
        _ => Ok(()),
    }
}

fn table_options(context: &mut BuildContext<'_>, options: &[TableOption], table: &mut TableInfo) -> Result<()> {
    let (mut charset, mut collation) = (None, None);
    for option in options {
        match option {
            TableOption::Engine(engine) => check_engine(context, engine, &table.name)?,
            TableOption::AutoIncrement(start) => table.auto_increment_start = *start,
            TableOption::Charset(name) => charset = Some(name.as_str()),
            TableOption::Collate(name) => collation = Some(name.as_str()),
            TableOption::Comment(comment) => table.comment.clone_from(comment),
            TableOption::Union(_) => return Err(Error::not_supported("UNION = (tables)")),
            TableOption::Other(name, value) => check_other_option(name, value)?,
        }
    }
    let default = table.collation;
    table.collation = context.charset_and_collation(charset, collation, default)?;
    table.charset = table.collation.charset();
    Ok(())
}

/// MySQL's own engines beside InnoDB. Every table is stored by the one engine there is, which does what they do but for their shortcuts.
const OTHER_ENGINES: [&str; 10] =
    ["MyISAM", "MEMORY", "HEAP", "CSV", "ARCHIVE", "BLACKHOLE", "MERGE", "MRG_MYISAM", "FEDERATED", "NDBCLUSTER"];

/// ENGINE: InnoDB, or with a warning another engine of MySQL.
pub fn check_engine(context: &mut BuildContext<'_>, engine: &str, table: &str) -> Result<()> {
    if engine.eq_ignore_ascii_case("InnoDB") {
        return Ok(());
    }
    if !OTHER_ENGINES.iter().any(|known| known.eq_ignore_ascii_case(engine)) {
        return Err(Error::UnknownEngine { name: engine.to_owned() });
    }
    context.warnings.push(Error::OtherEngine { table: table.to_owned() }.to_mysql());
    Ok(())
}

/// Options without meaning for this storage are accepted as InnoDB accepts them; those that would change what a table is are not.
pub fn check_other_option(name: &str, value: &OptionValue) -> Result<()> {
    let off = matches!(value, OptionValue::Int(0))
        || matches!(value, OptionValue::Str(text) if text.is_empty() || text.eq_ignore_ascii_case("n"))
        || matches!(value, OptionValue::Word(word) if word.eq_ignore_ascii_case("default") || word.eq_ignore_ascii_case("no"));
    match name {
        "ENCRYPTION"
        | "DATA DIRECTORY"
        | "INDEX DIRECTORY"
        | "CONNECTION"
        | "TABLESPACE"
        | "ENGINE_ATTRIBUTE"
        | "SECONDARY_ENGINE"
        | "SECONDARY_ENGINE_ATTRIBUTE"
            if !off =>
        {
            Err(Error::not_supported(name))
        }
        _ => Ok(()),
    }
}
