//! Queries: SELECT, VALUES, TABLE, set operations and the clauses behind them.

use super::{Parser, Result, operand::unwrap_plain};
use crate::{
    ast::{
        Expr, IntoClause, Limit, LockClause, LockStrength, LockWait, OrderItem, Query, QueryBody, SelectItem, SelectOptions, SelectStmt,
        SetOperator, SetOpr, SourceText, TableName,
    },
    lexer::{Kw, Tok},
};

/// Binding power of UNION and EXCEPT, and of INTERSECT.
const UNION: u8 = 1;
const INTERSECT: u8 = 2;

impl Parser<'_> {
    /// `( query )`, the parenthesis included; `( ( query ) )` as well.
    pub(super) fn paren_query(&mut self) -> Result<Query> {
        self.expect(Tok::LParen)?;
        let query = self.query()?;
        self.expect(Tok::RParen)?;
        Ok(query)
    }

    /// A query expression with everything that belongs to it.
    pub(super) fn query(&mut self) -> Result<Query> {
        self.deeper(|p| {
            let with = p.opt_with()?;
            let mut query = p.query_without_with()?;
            if with.is_some() {
                // `WITH … (SELECT …)`: the clauses inside the parentheses stay inside.
                if query.with.is_some() {
                    query = empty_query(QueryBody::Query(Box::new(query)));
                }
                query.with = with;
            }
            Ok(query)
        })
    }

    fn query_without_with(&mut self) -> Result<Query> {
        let mut into = None;
        let body = self.set_operands(0, &mut into)?;
        self.query_clauses(body, into)
    }

    /// Whether the current token goes on with a query whose first part has been read.
    pub(super) fn continues_query(&self) -> bool {
        matches!(
            self.tok.tok,
            Tok::Kw(Kw::UNION | Kw::EXCEPT | Kw::INTERSECT | Kw::ORDER | Kw::LIMIT | Kw::FOR | Kw::INTO) | Tok::Kw(Kw::LOCK)
        )
    }

    /// The rest of a query whose first part has been read.
    pub(super) fn query_behind(&mut self, first: QueryBody) -> Result<Query> {
        let mut into = None;
        let body = self.set_operators_behind(first, 0, &mut into)?;
        self.query_clauses(body, into)
    }

    fn query_clauses(&mut self, body: QueryBody, into: Option<IntoClause>) -> Result<Query> {
        let mut query = empty_query(body);
        query.into = into;
        query.order_by = self.opt_order_by()?;
        query.limit = self.opt_limit()?;
        // INTO may stand before and behind the locking clauses.
        self.trailing_into(&mut query)?;
        while let Some(lock) = self.opt_lock_clause()? {
            query.locks.push(lock);
        }
        self.trailing_into(&mut query)?;
        // A parenthesised query with nothing behind it is the query itself.
        if let QueryBody::Query(_) = &query.body
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.locks.is_empty()
            && query.into.is_none()
            && let QueryBody::Query(inner) = query.body
        {
            return Ok(*inner);
        }
        Ok(query)
    }

    fn trailing_into(&mut self, query: &mut Query) -> Result<()> {
        if self.at(Kw::INTO) {
            if query.into.is_some() {
                return Err(self.syntax());
            }
            query.into = Some(self.parse_into()?);
        }
        Ok(())
    }

    /// Set operations that bind tighter than `above`.
    fn set_operands(&mut self, above: u8, into: &mut Option<IntoClause>) -> Result<QueryBody> {
        let left = self.query_primary(into)?;
        self.set_operators_behind(left, above, into)
    }

    fn set_operators_behind(&mut self, mut left: QueryBody, above: u8, into: &mut Option<IntoClause>) -> Result<QueryBody> {
        loop {
            let (op, power) = match self.tok.tok {
                Tok::Kw(Kw::UNION) => (SetOperator::Union, UNION),
                Tok::Kw(Kw::EXCEPT) => (SetOperator::Except, UNION),
                Tok::Kw(Kw::INTERSECT) => (SetOperator::Intersect, INTERSECT),
                _ => return Ok(left),
            };
            if power <= above {
                return Ok(left);
            }
            if into.is_some() {
                // Only the last part of a set operation may have INTO.
                return Err(self.syntax());
            }
            self.bump();
            let all = self.eat(Kw::ALL);
            if !all {
                self.eat(Kw::DISTINCT);
            }
            let below = std::mem::take(&mut self.height);
            let right = self.set_operands(power, into)?;
            self.grow(below)?;
            left = QueryBody::SetOpr(Box::new(SetOpr { op, all, left, right }));
        }
    }

    fn query_primary(&mut self, into: &mut Option<IntoClause>) -> Result<QueryBody> {
        match self.tok.tok {
            Tok::Kw(Kw::SELECT) => Ok(QueryBody::Select(Box::new(self.select(into)?))),
            Tok::Kw(Kw::VALUES) => {
                self.bump();
                let rows = self.comma_list(|p| {
                    p.expect(Kw::ROW)?;
                    p.paren_list(Self::expr)
                })?;
                Ok(QueryBody::Values(rows))
            }
            Tok::Kw(Kw::TABLE) => {
                self.bump();
                Ok(QueryBody::Table(self.table_name()?))
            }
            Tok::LParen => Ok(unwrap_plain(self.paren_query()?)),
            _ => Err(self.syntax()),
        }
    }

    /// One SELECT block, up to WINDOW.
    fn select(&mut self, into: &mut Option<IntoClause>) -> Result<SelectStmt> {
        self.bump();
        let hints = self.opt_hints();
        let options = self.select_options()?;
        let items = self.select_items()?;
        if self.at(Kw::INTO) {
            *into = Some(self.parse_into()?);
        }
        let mut select = SelectStmt {
            hints,
            options,
            items,
            from: Vec::new(),
            dual: false,
            where_clause: None,
            group_by: Vec::new(),
            rollup: false,
            having: None,
            windows: Vec::new(),
        };
        if self.eat(Kw::FROM) {
            if self.eat(Kw::DUAL) {
                select.dual = true;
            } else {
                select.from = self.table_refs()?;
            }
        }
        select.where_clause = self.opt_where()?;
        if self.eat(Kw::GROUP) {
            self.expect(Kw::BY)?;
            // MySQL 8.0 dropped ASC and DESC here.
            select.group_by = self.comma_list(|p| Ok(OrderItem { expr: p.expr()?, desc: false }))?;
            if self.at(Kw::WITH) {
                self.bump();
                self.expect(Kw::ROLLUP)?;
                select.rollup = true;
            }
        }
        if self.eat(Kw::HAVING) {
            select.having = Some(self.expr()?);
        }
        if self.eat(Kw::WINDOW) {
            select.windows = self.window_definitions()?;
        }
        Ok(select)
    }

    /// `[WHERE expr]`.
    pub(super) fn opt_where(&mut self) -> Result<Option<Expr>> {
        if self.eat(Kw::WHERE) { self.expr().map(Some) } else { Ok(None) }
    }

    fn select_options(&mut self) -> Result<SelectOptions> {
        let mut options = SelectOptions::default();
        let mut all = false;
        loop {
            let Tok::Kw(kw) = self.tok.tok else { return Ok(options) };
            let flag = match kw {
                Kw::DISTINCT | Kw::DISTINCTROW => &mut options.distinct,
                Kw::ALL => &mut all,
                Kw::STRAIGHT_JOIN => &mut options.straight_join,
                Kw::HIGH_PRIORITY => &mut options.high_priority,
                Kw::SQL_SMALL_RESULT => &mut options.sql_small_result,
                Kw::SQL_BIG_RESULT => &mut options.sql_big_result,
                Kw::SQL_BUFFER_RESULT if !self.peek_ends_item() => &mut options.sql_buffer_result,
                Kw::SQL_NO_CACHE if !self.peek_ends_item() => &mut options.sql_no_cache,
                Kw::SQL_CALC_FOUND_ROWS => &mut options.sql_calc_found_rows,
                _ => return Ok(options),
            };
            *flag = true;
            if all && options.distinct {
                return Err(self.syntax());
            }
            self.bump();
        }
    }

    /// Whether the current word stands alone as a select item, so that it is a column and not an option.
    fn peek_ends_item(&mut self) -> bool {
        matches!(self.peek(), Tok::Comma | Tok::Kw(Kw::FROM | Kw::AS) | Tok::Eof | Tok::Semi | Tok::RParen)
    }

    fn select_items(&mut self) -> Result<Vec<SelectItem>> {
        let mut items = Vec::new();
        if self.eat(Tok::Star) {
            items.push(SelectItem::Wildcard);
            if !self.eat(Tok::Comma) {
                return Ok(items);
            }
        }
        loop {
            items.push(self.select_item()?);
            if !self.eat(Tok::Comma) {
                return Ok(items);
            }
        }
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if self.at_ident()
            && self.peek_is(Tok::Dot)
            && let Some(table) = self.opt_table_wildcard()?
        {
            return Ok(SelectItem::TableWildcard(table));
        }
        let start = self.tok.start as usize;
        let expr = self.expr()?;
        let end = self.prev_end as usize;
        let alias = self.opt_select_alias()?;
        // The name is the text for anything that is neither a column nor named by an alias.
        let text = match (&alias, &expr) {
            (Some(_), _) | (None, Expr::Column(_)) => SourceText::default(),
            _ => SourceText(String::from_utf8_lossy(&self.text()[start..end]).into()),
        };
        Ok(SelectItem::Expr { expr, alias, text })
    }

    /// `t.*`, `db.t.*`, when that is what stands here.
    fn opt_table_wildcard(&mut self) -> Result<Option<TableName>> {
        let mut lexer = self.look_from_here();
        lexer.next();
        let second = lexer.next();
        if second.tok == Tok::Star {
            let name = self.ident()?;
            self.bump();
            self.bump();
            return Ok(Some(TableName { schema: None, name }));
        }
        if lexer.next().tok != Tok::Dot || lexer.next().tok != Tok::Star {
            return Ok(None);
        }
        let schema = Some(self.ident()?);
        self.bump();
        let name = self.ident_after_dot()?;
        self.bump();
        self.bump();
        Ok(Some(TableName { schema, name }))
    }

    /// `[[AS] alias]`, a word or a string.
    fn opt_select_alias(&mut self) -> Result<Option<crate::ast::Ident>> {
        if self.eat(Kw::AS) || self.at_ident() || self.at(Tok::Str) {
            return self.ident_or_text().map(Some);
        }
        Ok(None)
    }

    /// `[LIMIT …]`.
    pub(super) fn opt_limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        Ok(Some(if self.eat(Tok::Comma) {
            Limit { count: self.limit_value()?, offset: Some(first), comma: true }
        } else if self.eat(Kw::OFFSET) {
            Limit { count: first, offset: Some(self.limit_value()?), comma: false }
        } else {
            Limit { count: first, offset: None, comma: false }
        }))
    }

    /// An integer or a `?`.
    pub(super) fn limit_value(&mut self) -> Result<Expr> {
        match self.tok.tok {
            Tok::Int | Tok::Hex | Tok::Bit => {
                let (value, id) = self.literal()?;
                Ok(Expr::Literal(value, id))
            }
            Tok::Param => Ok(Expr::Param(self.param()?)),
            _ => Err(self.syntax()),
        }
    }

    /// `FOR {UPDATE | SHARE} [OF …] [NOWAIT | SKIP LOCKED]`, `LOCK IN SHARE MODE`.
    fn opt_lock_clause(&mut self) -> Result<Option<LockClause>> {
        if self.eat(Kw::LOCK) {
            self.expect(Kw::IN)?;
            self.expect(Kw::SHARE)?;
            self.expect(Kw::MODE)?;
            return Ok(Some(LockClause { strength: LockStrength::Share, of: Vec::new(), wait: LockWait::Wait }));
        }
        if !self.eat(Kw::FOR) {
            return Ok(None);
        }
        let strength = match self.eat_any(&[Kw::UPDATE, Kw::SHARE]) {
            Some(Kw::UPDATE) => LockStrength::Update,
            Some(_) => LockStrength::Share,
            None => return Err(self.syntax()),
        };
        let of = if self.eat(Kw::OF) { self.comma_list(Self::table_name)? } else { Vec::new() };
        let wait = if self.eat(Kw::NOWAIT) {
            LockWait::NoWait
        } else if self.at(Kw::SKIP) {
            self.bump();
            self.expect(Kw::LOCKED)?;
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(Some(LockClause { strength, of, wait }))
    }

    /// `INTO @a, …`, `INTO OUTFILE 'f' …`, `INTO DUMPFILE 'f'`.
    fn parse_into(&mut self) -> Result<IntoClause> {
        self.expect(Kw::INTO)?;
        if self.eat(Kw::OUTFILE) {
            let file = self.text_literal()?;
            let charset = if self.at_charset_clause() { self.charset_clause()? } else { None };
            let (fields, lines) = self.file_format()?;
            return Ok(IntoClause::Outfile(Box::new(crate::ast::OutfileSpec { file, charset, fields, lines })));
        }
        if self.eat(Kw::DUMPFILE) {
            return Ok(IntoClause::Dumpfile(self.text_literal()?));
        }
        Ok(IntoClause::Vars(self.comma_list(|p| if p.at(Tok::UserVar) || p.at(Tok::At) { p.user_var_name() } else { Err(p.syntax()) })?))
    }
}

fn empty_query(body: QueryBody) -> Query {
    Query { with: None, body, order_by: Vec::new(), limit: None, locks: Vec::new(), into: None }
}
