//! CREATE, DROP, TRUNCATE, RENAME: which object, and the statements about databases, tables, indexes and views.

use super::{Parser, Result};
use crate::{
    ast::{
        AlterDatabaseStmt, CreateDatabaseStmt, DatabaseOption, DropDatabaseStmt, DropIndexStmt, DropTableStmt, DropViewStmt, Ident,
        IndexKind, Stmt, UserSpec,
    },
    lexer::{Kw, Tok},
};

/// What may stand between CREATE or ALTER and VIEW.
#[derive(Default)]
pub(super) struct ViewPrefix {
    pub(super) or_replace: bool,
    pub(super) alter: bool,
    pub(super) algorithm: Option<Ident>,
    pub(super) definer: Option<UserSpec>,
    pub(super) invoker: Option<bool>,
}

impl Parser<'_> {
    /// `CREATE …`.
    pub(super) fn create(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        let Tok::Kw(kw) = self.tok.tok else { return self.unsupported_object("CREATE", start) };
        match kw {
            Kw::TABLE => {
                self.bump();
                Ok(Stmt::CreateTable(Box::new(self.create_table(false)?)))
            }
            Kw::TEMPORARY => {
                self.bump();
                self.expect(Kw::TABLE)?;
                Ok(Stmt::CreateTable(Box::new(self.create_table(true)?)))
            }
            Kw::INDEX => self.create_index_kind(IndexKind::Index),
            Kw::UNIQUE => {
                self.bump();
                self.create_index_kind(IndexKind::Unique)
            }
            Kw::FULLTEXT => {
                self.bump();
                self.create_index_kind(IndexKind::FullText)
            }
            Kw::SPATIAL if !self.peek_is(Kw::REFERENCE) => {
                self.bump();
                self.create_index_kind(IndexKind::Spatial)
            }
            Kw::DATABASE | Kw::SCHEMA => Ok(Stmt::CreateDatabase(self.create_database()?)),
            Kw::USER => Ok(Stmt::CreateUser(Box::new(self.create_user()?))),
            Kw::ROLE => Ok(Stmt::CreateRole(self.create_role()?)),
            Kw::OR | Kw::ALGORITHM | Kw::DEFINER | Kw::SQL | Kw::VIEW => {
                let mut prefix = ViewPrefix::default();
                if self.eat(Kw::OR) {
                    self.expect(Kw::REPLACE)?;
                    prefix.or_replace = true;
                }
                self.view_prefix(&mut prefix)?;
                if self.eat(Kw::VIEW) {
                    return Ok(Stmt::CreateView(Box::new(self.create_view(prefix)?)));
                }
                self.unsupported_object("CREATE", start)
            }
            _ => self.unsupported_object("CREATE", start),
        }
    }

    /// `[ALGORITHM = …] [DEFINER = user] [SQL SECURITY …]`.
    pub(super) fn view_prefix(&mut self, prefix: &mut ViewPrefix) -> Result<()> {
        if self.eat(Kw::ALGORITHM) {
            self.opt_eq();
            prefix.algorithm = Some(self.upper_word(&["UNDEFINED", "MERGE", "TEMPTABLE"])?);
        }
        if self.eat(Kw::DEFINER) {
            self.opt_eq();
            prefix.definer = Some(self.user_spec()?);
        }
        if self.at(Kw::SQL) {
            self.bump();
            self.expect(Kw::SECURITY)?;
            prefix.invoker = Some(match self.eat_any(&[Kw::INVOKER, Kw::DEFINER]) {
                Some(kw) => kw == Kw::INVOKER,
                None => return Err(self.syntax()),
            });
        }
        Ok(())
    }

    fn create_index_kind(&mut self, kind: IndexKind) -> Result<Stmt> {
        self.expect(Kw::INDEX)?;
        Ok(Stmt::CreateIndex(Box::new(self.create_index(kind)?)))
    }

    fn create_database(&mut self) -> Result<CreateDatabaseStmt> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        Ok(CreateDatabaseStmt { if_not_exists, name, options: self.database_options()? })
    }

    /// `ALTER {DATABASE | SCHEMA} [name] option …`; ALTER is taken.
    pub(super) fn alter_database(&mut self) -> Result<AlterDatabaseStmt> {
        self.bump();
        // The words that begin an option are not reserved; as names they need quotes here, as in MySQL.
        let option = self.at_charset_clause() || self.at(Kw::ENCRYPTION);
        let name = if self.at_ident() && !option { Some(self.ident()?) } else { None };
        let options = self.database_options()?;
        if options.is_empty() {
            return Err(self.syntax());
        }
        Ok(AlterDatabaseStmt { name, options })
    }

    fn database_options(&mut self) -> Result<Vec<DatabaseOption>> {
        let mut options = Vec::new();
        loop {
            let default = self.eat(Kw::DEFAULT);
            if self.at_charset_clause() {
                options.push(DatabaseOption::Charset(self.charset_clause()?.unwrap_or_else(|| "default".into())));
            } else if self.eat(Kw::COLLATE) {
                self.opt_eq();
                let name = if self.eat(Kw::DEFAULT) { "default".into() } else { self.collation_name()? };
                options.push(DatabaseOption::Collate(name));
            } else if self.eat(Kw::ENCRYPTION) {
                self.opt_eq();
                options.push(DatabaseOption::Encryption(self.text_literal()?));
            } else if !default && self.at(Kw::READ) {
                self.bump();
                self.expect(Kw::ONLY)?;
                self.opt_eq();
                options.push(DatabaseOption::ReadOnly(!self.eat(Kw::DEFAULT) && self.uint()? != 0));
            } else if default {
                return Err(self.syntax());
            } else {
                return Ok(options);
            }
        }
    }

    /// `DROP …`.
    pub(super) fn drop(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        let Tok::Kw(kw) = self.tok.tok else { return Err(self.syntax()) };
        match kw {
            Kw::TABLE | Kw::TABLES => self.drop_table(false),
            Kw::TEMPORARY => {
                self.bump();
                if !self.at(Kw::TABLE) && !self.at(Kw::TABLES) {
                    return Err(self.syntax());
                }
                self.drop_table(true)
            }
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let if_exists = self.if_exists();
                Ok(Stmt::DropDatabase(DropDatabaseStmt { if_exists, name: self.ident()? }))
            }
            Kw::INDEX => {
                self.bump();
                let if_exists = self.if_exists();
                let name = self.index_name()?;
                self.expect(Kw::ON)?;
                let table = self.table_name()?;
                Ok(Stmt::DropIndex(DropIndexStmt { if_exists, name, table, online: self.online_options()? }))
            }
            Kw::VIEW => {
                self.bump();
                let if_exists = self.if_exists();
                let views = self.comma_list(Self::table_name)?;
                Ok(Stmt::DropView(DropViewStmt { if_exists, views, cascade: self.opt_cascade() }))
            }
            Kw::USER => Ok(Stmt::DropUser(self.drop_user()?)),
            Kw::ROLE => Ok(Stmt::DropRole(self.drop_user()?)),
            Kw::PREPARE => {
                self.bump();
                Ok(Stmt::Deallocate(self.ident()?))
            }
            _ => self.unsupported_object("DROP", start),
        }
    }

    fn drop_table(&mut self, temporary: bool) -> Result<Stmt> {
        self.bump();
        let if_exists = self.if_exists();
        let tables = self.comma_list(Self::table_name)?;
        Ok(Stmt::DropTable(DropTableStmt { temporary, if_exists, tables, cascade: self.opt_cascade() }))
    }

    fn opt_cascade(&mut self) -> Option<bool> {
        self.eat_any(&[Kw::CASCADE, Kw::RESTRICT]).map(|kw| kw == Kw::CASCADE)
    }

    /// An index's name; PRIMARY may stand without quotes.
    pub(super) fn index_name(&mut self) -> Result<Ident> {
        if self.eat(Kw::PRIMARY) { Ok(Ident::from("PRIMARY")) } else { self.ident() }
    }

    /// `TRUNCATE [TABLE] t`.
    pub(super) fn truncate(&mut self) -> Result<Stmt> {
        self.bump();
        self.eat(Kw::TABLE);
        Ok(Stmt::TruncateTable(self.table_name()?))
    }

    /// `RENAME {TABLE | TABLES} a TO b, …`, `RENAME USER a TO b, …`.
    pub(super) fn rename(&mut self) -> Result<Stmt> {
        self.bump();
        if self.eat(Kw::USER) {
            return Ok(Stmt::RenameUser(self.comma_list(|p| {
                let from = p.account_name()?;
                p.expect(Kw::TO)?;
                Ok((from, p.account_name()?))
            })?));
        }
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
            return Err(self.syntax());
        }
        Ok(Stmt::RenameTable(self.comma_list(|p| {
            let from = p.table_name()?;
            p.expect(Kw::TO)?;
            Ok((from, p.table_name()?))
        })?))
    }
}
