//! FROM: tables, derived tables, joins, index hints.

use super::{Parser, Result, operand::unwrap_plain};
use crate::{
    ast::{
        DerivedTable, Ident, IndexHint, IndexHintKind, IndexHintScope, Join, JoinConstraint, JoinKind, Query, TableFactor, TableName,
        TableRef,
    },
    lexer::{Kw, Tok},
};

/// What a parenthesis in FROM turned out to hold.
enum Paren {
    Query(Box<Query>),
    Table(TableRef),
}

impl Parser<'_> {
    /// `a, b JOIN c …`.
    pub(super) fn table_refs(&mut self) -> Result<Vec<TableRef>> {
        self.comma_list(Self::table_ref)
    }

    /// One reference with its joins.
    pub(super) fn table_ref(&mut self) -> Result<TableRef> {
        self.deeper(|p| {
            // `{OJ … }` of ODBC.
            if p.at(Tok::LBrace) {
                p.bump();
                p.ident()?;
                let table = p.table_ref()?;
                p.expect(Tok::RBrace)?;
                return p.joins_behind(table);
            }
            let left = p.table_factor()?;
            p.joins_behind(left)
        })
    }

    fn joins_behind(&mut self, mut left: TableRef) -> Result<TableRef> {
        while let Some((kind, natural)) = self.opt_join_words()? {
            let below = std::mem::take(&mut self.height);
            let right = self.join_operand()?;
            let constraint = if natural { None } else { self.join_constraint(kind)? };
            self.grow(below)?;
            left = TableRef::Join(Box::new(Join { kind, natural, left, right, constraint }));
        }
        Ok(left)
    }

    /// The right side of a join. `a JOIN b JOIN c ON x ON y` nests to the right: the join inside takes the first ON.
    fn join_operand(&mut self) -> Result<TableRef> {
        let table = self.table_factor()?;
        if !matches!(self.tok.tok, Tok::Kw(Kw::JOIN | Kw::INNER | Kw::LEFT | Kw::RIGHT | Kw::STRAIGHT_JOIN | Kw::CROSS | Kw::NATURAL)) {
            return Ok(table);
        }
        if !self.pending_on() {
            return Ok(table);
        }
        self.deeper(|p| {
            let mut left = table;
            while p.pending_on() {
                let Some((kind, natural)) = p.opt_join_words()? else { break };
                let right = p.join_operand()?;
                let constraint = if natural { None } else { p.join_constraint(kind)? };
                left = TableRef::Join(Box::new(Join { kind, natural, left, right, constraint }));
            }
            Ok(left)
        })
    }

    /// Whether the joins that begin here are followed by more ON and USING than they need, so that one belongs to a join further left.
    ///
    /// Counts over the tokens up to the end of this FROM item: every JOIN that is not NATURAL or CROSS may take one.
    fn pending_on(&mut self) -> bool {
        let mut lexer = self.look_from_here();
        let mut token = self.tok.tok;
        let (mut depth, mut joins, mut constraints, mut natural) = (0u32, 0u32, 0u32, false);
        while self.look_ahead_budget > 0 {
            self.look_ahead_budget -= 1;
            match token {
                Tok::LParen => depth += 1,
                Tok::RParen if depth == 0 => break,
                Tok::RParen => depth -= 1,
                Tok::Eof | Tok::Bad | Tok::Semi => break,
                _ if depth > 0 => {}
                Tok::Comma => break,
                Tok::Kw(Kw::WHERE | Kw::GROUP | Kw::ORDER | Kw::LIMIT | Kw::SET | Kw::HAVING | Kw::UNION | Kw::WINDOW) => break,
                Tok::Kw(Kw::NATURAL | Kw::CROSS) => natural = true,
                Tok::Kw(Kw::JOIN | Kw::STRAIGHT_JOIN) => {
                    joins += u32::from(!natural);
                    natural = false;
                }
                Tok::Kw(Kw::ON | Kw::USING) => {
                    constraints += 1;
                    if constraints > joins {
                        return true;
                    }
                }
                _ => {}
            }
            token = lexer.next().tok;
        }
        false
    }

    fn opt_join_words(&mut self) -> Result<Option<(JoinKind, bool)>> {
        let Tok::Kw(kw) = self.tok.tok else { return Ok(None) };
        let found = match kw {
            Kw::JOIN => {
                self.bump();
                (JoinKind::Inner, false)
            }
            Kw::STRAIGHT_JOIN => {
                self.bump();
                (JoinKind::Straight, false)
            }
            Kw::INNER | Kw::CROSS => {
                self.bump();
                self.expect(Kw::JOIN)?;
                (JoinKind::Inner, false)
            }
            Kw::LEFT | Kw::RIGHT => (self.outer_join_words()?, false),
            Kw::NATURAL => {
                self.bump();
                let kind = match self.tok.tok {
                    Tok::Kw(Kw::LEFT | Kw::RIGHT) => self.outer_join_words()?,
                    _ => {
                        self.eat(Kw::INNER);
                        self.expect(Kw::JOIN)?;
                        JoinKind::Inner
                    }
                };
                (kind, true)
            }
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    fn outer_join_words(&mut self) -> Result<JoinKind> {
        let left = self.bump().tok == Tok::Kw(Kw::LEFT);
        self.eat(Kw::OUTER);
        self.expect(Kw::JOIN)?;
        Ok(if left { JoinKind::Left } else { JoinKind::Right })
    }

    /// `[ON expr | USING (columns)]`; outer joins must have one.
    fn join_constraint(&mut self, kind: JoinKind) -> Result<Option<JoinConstraint>> {
        if self.eat(Kw::ON) {
            return Ok(Some(JoinConstraint::On(self.expr()?)));
        }
        // MySQL has no USING behind STRAIGHT_JOIN before 8.0.
        if self.eat(Kw::USING) {
            return Ok(Some(JoinConstraint::Using(self.paren_idents()?)));
        }
        if matches!(kind, JoinKind::Left | JoinKind::Right) { Err(self.syntax()) } else { Ok(None) }
    }

    /// A table, a derived table, JSON_TABLE or a parenthesis.
    fn table_factor(&mut self) -> Result<TableRef> {
        match self.tok.tok {
            Tok::LParen => match self.paren_table()? {
                Paren::Query(query) => self.derived(*query, false),
                Paren::Table(table) => Ok(table),
            },
            Tok::Kw(Kw::LATERAL) => {
                self.bump();
                let query = self.paren_query()?;
                self.derived(query, true)
            }
            Tok::Kw(Kw::JSON_TABLE) => self.json_table(),
            _ => Ok(TableRef::Table(Box::new(self.named_table()?))),
        }
    }

    fn named_table(&mut self) -> Result<TableFactor> {
        let name = self.table_name()?;
        let partitions = self.opt_partition_names()?;
        let alias = self.opt_table_alias()?;
        let mut index_hints = Vec::new();
        while let Some(hint) = self.opt_index_hint()? {
            index_hints.push(hint);
            // MySQL separates hints by blanks; a comma would begin the next table.
        }
        Ok(TableFactor { name, partitions, alias, index_hints })
    }

    /// `[PARTITION (p, …)]`.
    pub(super) fn opt_partition_names(&mut self) -> Result<Vec<Ident>> {
        if self.eat(Kw::PARTITION) { self.paren_idents() } else { Ok(Vec::new()) }
    }

    /// `[[AS] alias]`.
    pub(super) fn opt_table_alias(&mut self) -> Result<Option<Ident>> {
        if self.eat(Kw::AS) || self.at_ident() {
            return self.long_ident().map(Some);
        }
        Ok(None)
    }

    fn derived(&mut self, query: Query, lateral: bool) -> Result<TableRef> {
        let alias = self.opt_table_alias()?;
        let columns = if alias.is_some() { self.opt_paren_idents()? } else { Vec::new() };
        Ok(TableRef::Derived(Box::new(DerivedTable { lateral, query, alias, columns })))
    }

    /// `( … )` in FROM: a query, or references to tables.
    fn paren_table(&mut self) -> Result<Paren> {
        self.deeper(|p| {
            if p.starts_query_behind_paren() {
                return Ok(Paren::Query(Box::new(p.paren_query()?)));
            }
            p.bump();
            if !p.at(Tok::LParen) {
                return Ok(Paren::Table(p.rest_of_paren_tables(None)?));
            }
            match p.paren_table()? {
                Paren::Query(query) if p.continues_query() => {
                    let query = p.query_behind(unwrap_plain(*query))?;
                    p.expect(Tok::RParen)?;
                    Ok(Paren::Query(Box::new(query)))
                }
                Paren::Query(query) if p.at(Tok::RParen) => {
                    p.bump();
                    Ok(Paren::Query(query))
                }
                Paren::Query(query) => {
                    let first = p.derived(*query, false)?;
                    Ok(Paren::Table(p.rest_of_paren_tables(Some(first))?))
                }
                Paren::Table(first) => Ok(Paren::Table(p.rest_of_paren_tables(Some(first))?)),
            }
        })
    }

    /// References up to the closing parenthesis; commas are inner joins here.
    fn rest_of_paren_tables(&mut self, first: Option<TableRef>) -> Result<TableRef> {
        let mut left = match first {
            Some(first) => self.joins_behind(first)?,
            None => self.table_ref()?,
        };
        while self.eat(Tok::Comma) {
            let below = std::mem::take(&mut self.height);
            let right = self.table_ref()?;
            self.grow(below)?;
            left = TableRef::Join(Box::new(Join { kind: JoinKind::Inner, natural: false, left, right, constraint: None }));
        }
        self.expect(Tok::RParen)?;
        Ok(left)
    }

    /// `{USE | FORCE | IGNORE} {INDEX | KEY} [FOR {JOIN | ORDER BY | GROUP BY}] ([name, …])`.
    fn opt_index_hint(&mut self) -> Result<Option<IndexHint>> {
        let kind = match self.tok.tok {
            Tok::Kw(Kw::USE) => IndexHintKind::Use,
            Tok::Kw(Kw::FORCE) => IndexHintKind::Force,
            Tok::Kw(Kw::IGNORE) => IndexHintKind::Ignore,
            _ => return Ok(None),
        };
        self.bump();
        if self.eat_any(&[Kw::INDEX, Kw::KEY]).is_none() {
            return Err(self.syntax());
        }
        let mut scope = None;
        if self.eat(Kw::FOR) {
            scope = Some(match self.eat_any(&[Kw::JOIN, Kw::ORDER, Kw::GROUP]) {
                Some(Kw::JOIN) => IndexHintScope::Join,
                Some(kw) => {
                    self.expect(Kw::BY)?;
                    if kw == Kw::ORDER { IndexHintScope::OrderBy } else { IndexHintScope::GroupBy }
                }
                None => return Err(self.syntax()),
            });
        }
        self.expect(Tok::LParen)?;
        let mut indexes = Vec::new();
        if kind != IndexHintKind::Use || !self.at(Tok::RParen) {
            indexes = self.comma_list(|p| if p.eat(Kw::PRIMARY) { Ok(Ident::from("PRIMARY")) } else { p.ident() })?;
        }
        self.expect(Tok::RParen)?;
        Ok(Some(IndexHint { kind, scope, indexes }))
    }

    /// `t [AS alias]` without anything else, for single-table DELETE.
    pub(super) fn plain_table(&mut self, name: TableName) -> Result<TableFactor> {
        let alias = self.opt_table_alias()?;
        let partitions = self.opt_partition_names()?;
        Ok(TableFactor { name, partitions, alias, index_hints: Vec::new() })
    }
}
