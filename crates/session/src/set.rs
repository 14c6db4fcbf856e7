//! SET of system and user variables, names and character sets; PREPARE, EXECUTE and DEALLOCATE, which live on user variables.

use parser::ast::{ExecuteStmt, Expr, Ident, PrepareSource, PrepareStmt, SetItem, SetStmt, SetValue, VarScope};
use types::{
    Charset, Collation, Datum, DatumRef, FieldType, TimeZone, TypeKind,
    mysql_error::{self, MysqlError},
};

use crate::{
    Error,
    plan_cache::param_type,
    result::{Outcome, StatementResult},
    session::Session,
    vars::{self, Definition},
};

/// A column's value as a user variable keeps it: a number, or else a text.
pub(crate) fn variable_value(value: DatumRef<'_>, ty: &FieldType, zone: &TimeZone) -> (Datum, FieldType) {
    let is_number = ty.tp.is_numeric() && ty.tp != TypeKind::Bit || ty.tp == TypeKind::Year;
    match value {
        DatumRef::Null => (Datum::Null, FieldType::null()),
        DatumRef::Int(value) if is_number => (Datum::Int(value), FieldType::bigint()),
        DatumRef::UInt(value) if is_number || ty.tp == TypeKind::Bit => (Datum::UInt(value), FieldType::unsigned_bigint()),
        DatumRef::Float(value) => (Datum::Double(f64::from(value)), FieldType::double()),
        DatumRef::Double(value) => (Datum::Double(value), FieldType::double()),
        DatumRef::Decimal(value) => {
            let ty = FieldType::decimal(value.precision(), value.scale());
            (Datum::Decimal(*value), ty)
        }
        value => {
            let mut text = Vec::new();
            value.write_text_in_zone(ty, zone, &mut text);
            let value = Datum::Bytes(text);
            let collation = match ty {
                ty if ty.is_text() => ty.collation,
                ty if ty.tp.is_string() => Collation::Binary,
                _ => Collation::Utf8mb4_0900AiCi,
            };
            let ty = param_type(&value, collation);
            (value, ty)
        }
    }
}

impl Session {
    /// SET: all names are looked up first, then the settings are applied in order; the first that fails ends the statement.
    pub(crate) async fn run_set(&mut self, set: &SetStmt) -> Result<Outcome, Error> {
        for item in &set.items {
            if let SetItem::System { scope, name, .. } = item {
                vars::settable(name, !matches!(scope, None | Some(VarScope::Session)))?;
            }
        }
        for item in &set.items {
            match item {
                SetItem::User { name, value } => {
                    let value = self.evaluate(value).await?;
                    let ty = match &value {
                        Datum::Decimal(value) => FieldType::decimal(value.precision(), value.scale()),
                        value => param_type(value, self.vars.hot.collation),
                    };
                    self.user_vars.set(name, value, ty);
                    self.tracked.something = true;
                }
                SetItem::System { scope, name, value } => self.set_system(*scope, name, value).await?,
                SetItem::Names { charset, collation } => self.set_names(charset.as_ref(), collation.as_ref())?,
                SetItem::CharacterSet(charset) => self.set_names(charset.as_ref(), None)?,
            }
        }
        Ok(Outcome::default())
    }

    async fn set_system(&mut self, scope: Option<VarScope>, name: &Ident, value: &SetValue) -> Result<(), Error> {
        let global = !matches!(scope, None | Some(VarScope::Session));
        let definition = vars::settable(name, global)?;
        let value = match value {
            SetValue::Default => None,
            SetValue::Word(word) => Some(Datum::Bytes(word.as_bytes().to_vec())),
            SetValue::Expr(Expr::Column(column)) if column.table.is_none() => Some(Datum::Bytes(column.name.as_bytes().to_vec())),
            SetValue::Expr(expr) => Some(self.evaluate(expr).await?),
        };
        match scope {
            None | Some(VarScope::Session) => self.set_session(definition, value.as_ref()).await,
            Some(scope) => self.set_global(scope, definition, value.as_ref()).await,
        }
    }

    /// SET GLOBAL, PERSIST (which is also for later starts) and PERSIST_ONLY (which is for later starts only).
    async fn set_global(&mut self, scope: VarScope, definition: &'static Definition, value: Option<&Datum>) -> Result<(), Error> {
        self.check_need(&crate::privileges::needs::VARIABLES)?;
        let text = match value {
            Some(value) => {
                let canonical = vars::check(definition, value)?;
                if canonical.cut {
                    self.warn_truncated(definition, value);
                }
                Some(canonical.text)
            }
            None => None,
        };
        if matches!(scope, VarScope::Persist | VarScope::PersistOnly) {
            crate::persisted::store(&self.domain, definition, text.as_deref().unwrap_or(definition.default)).await?;
        }
        if scope != VarScope::PersistOnly {
            crate::notices::variable_changed(&self.domain, definition.name, text.as_deref()).await?;
            self.domain.set_global(definition, text);
        }
        Ok(())
    }

    async fn set_session(&mut self, definition: &'static Definition, value: Option<&Datum>) -> Result<(), Error> {
        match definition.name {
            "last_insert_id" | "insert_id" => {
                let id = value.and_then(Datum::as_u64).unwrap_or(0);
                self.last_insert_id.set(id);
                return Ok(());
            }
            "tidb_snapshot" => return Err(Error::unsupported("tidb_snapshot")),
            "transaction_isolation" | "transaction_read_only" if self.next_txn.isolation.is_some() => self.next_txn = Default::default(),
            _ => {}
        }
        let was_autocommit = self.vars.hot.autocommit;
        if let Some(warning) = self.vars.set(definition, value)? {
            self.warnings.warn(mysql_error::ER_TRUNCATED_WRONG_VALUE.code, warning);
        }
        // Switching autocommit on commits what is open.
        if self.vars.hot.autocommit && !was_autocommit {
            self.commit().await?;
        }
        match definition.name {
            "collation_connection" => self.follow_collation(),
            "character_set_connection" => {
                let charset = self.vars.text(definition).to_owned();
                if let Some(charset) = Charset::by_name(&charset) {
                    self.vars.put("collation_connection", charset.default_collation().name());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn warn_truncated(&self, definition: &Definition, value: &Datum) {
        let text = String::from_utf8_lossy(&value.as_ref().to_text(&FieldType::varchar(255))).into_owned();
        let message = format!("Truncated incorrect {} value: '{text}'", definition.name);
        self.warnings.warn(mysql_error::ER_TRUNCATED_WRONG_VALUE.code, message);
    }

    fn follow_collation(&mut self) {
        let charset = self.vars.hot.collation.charset().name();
        self.vars.put("character_set_connection", charset);
    }

    /// SET NAMES and SET CHARACTER SET.
    fn set_names(&mut self, charset: Option<&Ident>, collation: Option<&Ident>) -> Result<(), Error> {
        let charset = charset.map_or("utf8mb4", |name| name.as_str());
        vars::check_charset(charset)?;
        let collation = match collation {
            Some(name) => {
                let collation = Collation::by_name(name)
                    .ok_or_else(|| MysqlError::new(mysql_error::ER_UNKNOWN_COLLATION, format!("Unknown collation: '{}'", name.as_str())))?;
                if Charset::by_name(charset).is_some_and(|charset| charset != collation.charset()) {
                    let message = format!("COLLATION '{}' is not valid for CHARACTER SET '{charset}'", collation.name());
                    return Err(MysqlError::new(mysql_error::ER_COLLATION_CHARSET_MISMATCH, message).into());
                }
                collation
            }
            // Character sets that are only spoken are stored and compared as utf8mb4.
            None => Charset::by_name(charset).unwrap_or(Charset::Utf8mb4).default_collation(),
        };
        let charset = charset.to_ascii_lowercase();
        for name in ["character_set_client", "character_set_connection", "character_set_results"] {
            self.vars.put(name, charset.clone());
        }
        self.vars.put("collation_connection", collation.name());
        Ok(())
    }

    /// PREPARE name FROM text.
    pub(crate) async fn run_prepare(&mut self, prepare: &PrepareStmt) -> Result<Outcome, Error> {
        let text = match &prepare.source {
            PrepareSource::Text(text) => text.clone().into_bytes(),
            PrepareSource::Var(name) => match self.user_vars.get(name) {
                Some((value, ty)) => value.as_ref().to_text(&ty),
                None => b"NULL".to_vec(),
            },
        };
        let name = prepare.name.to_ascii_lowercase();
        if let Some(old) = self.named.remove(&name) {
            self.close_statement(old);
        }
        let info = self.prepare_text(&text).await?;
        self.named.insert(name, info.id);
        Ok(Outcome::default())
    }

    /// EXECUTE name USING variables.
    pub(crate) async fn run_execute(&mut self, execute: &ExecuteStmt) -> Result<StatementResult, Error> {
        let id = self.named_statement(&execute.name, "EXECUTE")?;
        if self.param_count(id) != Some(execute.using.len()) {
            return Err(MysqlError::new(mysql_error::ER_WRONG_ARGUMENTS, "Incorrect arguments to EXECUTE").into());
        }
        let values = execute.using.iter().map(|name| self.user_vars.get(name).map_or(Datum::Null, |(value, _)| value)).collect();
        self.run_prepared(id, values).await
    }

    /// DEALLOCATE PREPARE name.
    pub(crate) fn run_deallocate(&mut self, name: &Ident) -> Result<(), Error> {
        let id = self.named_statement(name, "DEALLOCATE PREPARE")?;
        self.named.remove(&name.to_ascii_lowercase());
        self.close_statement(id);
        Ok(())
    }

    fn named_statement(&self, name: &Ident, statement: &str) -> Result<u32, Error> {
        self.named.get(&name.to_ascii_lowercase()).copied().ok_or_else(|| {
            let message = format!("Unknown prepared statement handler ({}) given to {statement}", name.as_str());
            MysqlError::new(mysql_error::ER_UNKNOWN_STMT_HANDLER, message).into()
        })
    }
}
