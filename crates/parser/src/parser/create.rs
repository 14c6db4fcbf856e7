//! CREATE TABLE, CREATE INDEX, CREATE VIEW and the definitions of indexes and constraints.

use super::{Parser, Result};
use crate::{
    ast::{
        CheckOption, ColumnDef, CreateIndexStmt, CreateTableStmt, CreateViewStmt, ForeignKeyDef, Ident, IndexDef, IndexKey, IndexKind,
        IndexOption, IndexPart, MatchKind, OnlineOptions, ReferenceAction, ReferenceDef, TableConstraint,
    },
    lexer::{Kw, Tok},
};

/// An entry of the list in CREATE TABLE and ALTER TABLE ADD.
pub(super) enum TableElement {
    Column(ColumnDef),
    Constraint(TableConstraint),
}

impl Parser<'_> {
    /// `CREATE [TEMPORARY] TABLE …`; the words up to TABLE are taken.
    pub(super) fn create_table(&mut self, temporary: bool) -> Result<CreateTableStmt> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.table_name()?;
        let mut stmt = CreateTableStmt {
            temporary,
            if_not_exists,
            name,
            like: None,
            columns: Vec::new(),
            constraints: Vec::new(),
            options: Vec::new(),
            partition_by: None,
            duplicate_mode: None,
            query: None,
        };
        if self.eat(Kw::LIKE) {
            stmt.like = Some(self.table_name()?);
            return Ok(stmt);
        }
        if self.at(Tok::LParen) && self.peek_is(Kw::LIKE) {
            self.bump();
            self.bump();
            stmt.like = Some(self.table_name()?);
            self.expect(Tok::RParen)?;
            return Ok(stmt);
        }
        if self.at(Tok::LParen) && !self.starts_query_behind_paren() && !self.peek_is(Tok::LParen) {
            for element in self.paren_list(Self::table_element)? {
                match element {
                    TableElement::Column(column) => stmt.columns.push(column),
                    TableElement::Constraint(constraint) => stmt.constraints.push(constraint),
                }
            }
        }
        stmt.options = self.table_options()?;
        if self.at(Kw::PARTITION) {
            stmt.partition_by = Some(self.partition_by()?);
        }
        stmt.duplicate_mode = self.opt_duplicate_mode();
        let as_query = self.eat(Kw::AS);
        if as_query || stmt.duplicate_mode.is_some() || self.at_query() {
            stmt.query = Some(Box::new(self.query()?));
        }
        if stmt.columns.is_empty() && stmt.query.is_none() && stmt.constraints.is_empty() {
            return Err(self.syntax());
        }
        Ok(stmt)
    }

    fn at_query(&self) -> bool {
        matches!(self.tok.tok, Tok::Kw(Kw::SELECT | Kw::WITH | Kw::VALUES | Kw::TABLE) | Tok::LParen)
    }

    /// A column, index or constraint.
    pub(super) fn table_element(&mut self) -> Result<TableElement> {
        match self.opt_table_constraint()? {
            Some(constraint) => Ok(TableElement::Constraint(constraint)),
            None => Ok(TableElement::Column(self.column_def()?)),
        }
    }

    /// An index or constraint, when its first word stands here.
    pub(super) fn opt_table_constraint(&mut self) -> Result<Option<TableConstraint>> {
        let mut name = None;
        let constraint = self.eat(Kw::CONSTRAINT);
        if constraint && !matches!(self.tok.tok, Tok::Kw(Kw::PRIMARY | Kw::UNIQUE | Kw::FOREIGN | Kw::CHECK)) {
            name = Some(self.ident()?);
        }
        let Tok::Kw(kw) = self.tok.tok else { return if constraint { Err(self.syntax()) } else { Ok(None) } };
        let definition = match kw {
            Kw::PRIMARY => {
                self.bump();
                self.expect(Kw::KEY)?;
                let mut index = self.index_def(IndexKind::Primary, None)?;
                index.name = None;
                TableConstraint::Index(index)
            }
            Kw::UNIQUE => {
                self.bump();
                self.eat_any(&[Kw::INDEX, Kw::KEY]);
                TableConstraint::Index(self.index_def(IndexKind::Unique, name)?)
            }
            Kw::FOREIGN => TableConstraint::ForeignKey(self.foreign_key(name)?),
            Kw::CHECK => TableConstraint::Check(self.check_def(name)?),
            Kw::INDEX | Kw::KEY if !constraint => {
                self.bump();
                TableConstraint::Index(self.index_def(IndexKind::Index, None)?)
            }
            Kw::FULLTEXT | Kw::SPATIAL if !constraint => {
                self.bump();
                self.eat_any(&[Kw::INDEX, Kw::KEY]);
                let kind = if kw == Kw::FULLTEXT { IndexKind::FullText } else { IndexKind::Spatial };
                TableConstraint::Index(self.index_def(kind, None)?)
            }
            _ if constraint => return Err(self.syntax()),
            _ => return Ok(None),
        };
        Ok(Some(definition))
    }

    /// `[name] [USING type] (parts) options`.
    fn index_def(&mut self, kind: IndexKind, constraint: Option<Ident>) -> Result<IndexDef> {
        let mut name = constraint;
        // `TYPE` begins an option unless it is the index's name.
        if self.at_ident() && (!self.at(Kw::TYPE) || self.peek_is(Tok::LParen)) {
            name = Some(self.ident()?);
        }
        let mut options = Vec::new();
        if self.at(Kw::USING) || self.at(Kw::TYPE) {
            options.push(self.index_type()?);
        }
        let parts = self.index_parts()?;
        self.index_options(&mut options)?;
        Ok(IndexDef { kind, name, parts, options })
    }

    fn index_type(&mut self) -> Result<IndexOption> {
        self.bump();
        Ok(IndexOption::Using(self.upper_word(&["BTREE", "HASH", "RTREE"])?))
    }

    fn index_parts(&mut self) -> Result<Vec<IndexPart>> {
        self.paren_list(|p| {
            let key = if p.eat(Tok::LParen) {
                let expr = p.expr()?;
                p.expect(Tok::RParen)?;
                IndexKey::Expr(expr)
            } else {
                let name = p.ident()?;
                let mut length = None;
                if p.eat(Tok::LParen) {
                    length = Some(p.small_uint()?);
                    p.expect(Tok::RParen)?;
                }
                IndexKey::Column { name, length }
            };
            let desc = p.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
            Ok(IndexPart { key, desc })
        })
    }

    fn index_options(&mut self, options: &mut Vec<IndexOption>) -> Result<()> {
        loop {
            let Tok::Kw(kw) = self.tok.tok else { return Ok(()) };
            let option = match kw {
                Kw::USING | Kw::TYPE => self.index_type()?,
                Kw::KEY_BLOCK_SIZE => {
                    self.bump();
                    self.opt_eq();
                    IndexOption::KeyBlockSize(self.uint()?)
                }
                Kw::WITH => {
                    self.bump();
                    self.expect(Kw::PARSER)?;
                    IndexOption::Parser(self.ident()?)
                }
                Kw::COMMENT => {
                    self.bump();
                    IndexOption::Comment(self.text_literal()?)
                }
                Kw::VISIBLE | Kw::INVISIBLE => {
                    self.bump();
                    IndexOption::Visible(kw == Kw::VISIBLE)
                }
                Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => {
                    self.bump();
                    self.opt_eq();
                    IndexOption::EngineAttribute { secondary: kw == Kw::SECONDARY_ENGINE_ATTRIBUTE, value: self.text_literal()? }
                }
                _ => return Ok(()),
            };
            options.push(option);
        }
    }

    fn foreign_key(&mut self, name: Option<Ident>) -> Result<ForeignKeyDef> {
        self.bump();
        self.expect(Kw::KEY)?;
        let index_name = if self.at_ident() { Some(self.ident()?) } else { None };
        let columns = self.paren_idents()?;
        if !self.at(Kw::REFERENCES) {
            return Err(self.syntax());
        }
        Ok(ForeignKeyDef { name, index_name, columns, reference: self.reference_def()? })
    }

    /// `REFERENCES t [(columns)] [MATCH …] [ON DELETE …] [ON UPDATE …]`.
    pub(super) fn reference_def(&mut self) -> Result<ReferenceDef> {
        self.bump();
        let table = self.table_name()?;
        let columns = self.opt_paren_idents()?;
        let mut reference = ReferenceDef { table, columns, match_kind: None, on_delete: None, on_update: None };
        if self.eat(Kw::MATCH) {
            reference.match_kind = Some(match self.eat_any(&[Kw::FULL, Kw::PARTIAL, Kw::SIMPLE]) {
                Some(Kw::FULL) => MatchKind::Full,
                Some(Kw::PARTIAL) => MatchKind::Partial,
                Some(_) => MatchKind::Simple,
                None => return Err(self.syntax()),
            });
        }
        while self.at(Kw::ON) {
            let slot_taken = match self.peek() {
                Tok::Kw(Kw::DELETE) => reference.on_delete.is_some(),
                Tok::Kw(Kw::UPDATE) => reference.on_update.is_some(),
                _ => true,
            };
            self.bump();
            if slot_taken {
                return Err(self.syntax());
            }
            let delete = self.bump().tok == Tok::Kw(Kw::DELETE);
            let action = self.reference_action()?;
            *(if delete { &mut reference.on_delete } else { &mut reference.on_update }) = Some(action);
        }
        Ok(reference)
    }

    fn reference_action(&mut self) -> Result<ReferenceAction> {
        Ok(match self.eat_any(&[Kw::RESTRICT, Kw::CASCADE, Kw::SET, Kw::NO]) {
            Some(Kw::RESTRICT) => ReferenceAction::Restrict,
            Some(Kw::CASCADE) => ReferenceAction::Cascade,
            Some(Kw::NO) => {
                self.expect(Kw::ACTION)?;
                ReferenceAction::NoAction
            }
            Some(_) if self.eat(Kw::NULL) => ReferenceAction::SetNull,
            Some(_) => {
                self.expect(Kw::DEFAULT)?;
                ReferenceAction::SetDefault
            }
            None => return Err(self.syntax()),
        })
    }

    /// `CREATE [UNIQUE | FULLTEXT | SPATIAL] INDEX …`; the words up to INDEX are taken.
    pub(super) fn create_index(&mut self, kind: IndexKind) -> Result<CreateIndexStmt> {
        let if_not_exists = self.if_not_exists()?;
        let name = Some(self.ident()?);
        let mut options = Vec::new();
        if self.at(Kw::USING) || self.at(Kw::TYPE) {
            options.push(self.index_type()?);
        }
        self.expect(Kw::ON)?;
        let table = self.table_name()?;
        let parts = self.index_parts()?;
        self.index_options(&mut options)?;
        let online = self.online_options()?;
        Ok(CreateIndexStmt { if_not_exists, table, index: IndexDef { kind, name, parts, options }, online })
    }

    /// `[ALGORITHM [=] word] [LOCK [=] word]` in any order.
    pub(super) fn online_options(&mut self) -> Result<OnlineOptions> {
        let mut online = OnlineOptions::default();
        while self.opt_online_option(&mut online)? {}
        Ok(online)
    }

    /// One of ALGORITHM and LOCK, when it stands here.
    pub(super) fn opt_online_option(&mut self, online: &mut OnlineOptions) -> Result<bool> {
        if self.eat(Kw::ALGORITHM) {
            self.opt_eq();
            online.algorithm = Some(self.upper_word(&["DEFAULT", "INPLACE", "INSTANT", "COPY"])?);
        } else if self.eat(Kw::LOCK) {
            self.opt_eq();
            online.lock = Some(self.upper_word(&["DEFAULT", "NONE", "SHARED", "EXCLUSIVE"])?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// `VIEW name [(columns)] AS query [WITH … CHECK OPTION]`; VIEW is taken, and what stood before it is in `stmt`'s fields.
    pub(super) fn create_view(&mut self, prefix: super::ddl::ViewPrefix) -> Result<CreateViewStmt> {
        let name = self.table_name()?;
        let columns = self.opt_paren_idents()?;
        self.expect(Kw::AS)?;
        let query = Box::new(self.query()?);
        let mut check_option = None;
        if self.eat(Kw::WITH) {
            check_option = Some(match self.eat_any(&[Kw::CASCADED, Kw::LOCAL]) {
                Some(Kw::LOCAL) => CheckOption::Local,
                _ => CheckOption::Cascaded,
            });
            self.expect(Kw::CHECK)?;
            self.expect(Kw::OPTION)?;
        }
        Ok(CreateViewStmt {
            or_replace: prefix.or_replace,
            alter: prefix.alter,
            algorithm: prefix.algorithm,
            definer: prefix.definer,
            invoker: prefix.invoker,
            name,
            columns,
            query,
            check_option,
        })
    }
}
