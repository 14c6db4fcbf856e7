//! INSERT, REPLACE, UPDATE, DELETE.

use super::{Parser, Result};
use crate::{
    ast::{
        Assignment, ColumnRef, DeleteStmt, DmlPriority, Expr, Ident, InsertSource, InsertStmt, Limit, RowAlias, TableName, TableRef,
        UpdateStmt, With,
    },
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `expr` or `DEFAULT`.
    pub(super) fn value_expr(&mut self) -> Result<Expr> {
        if self.at(Kw::DEFAULT) && !self.peek_is(Tok::LParen) {
            self.bump();
            return Ok(Expr::Default(None));
        }
        self.expr()
    }

    /// `column = value`.
    pub(super) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_ref()?;
        if !self.eat(Tok::Eq) {
            self.expect(Tok::Assign)?;
        }
        Ok(Assignment { column, value: self.value_expr()? })
    }

    /// `INSERT …` and `REPLACE …`.
    pub(super) fn insert(&mut self) -> Result<InsertStmt> {
        let replace = self.bump().tok == Tok::Kw(Kw::REPLACE);
        let hints = self.opt_hints();
        let priority = match self.eat_any(&[Kw::LOW_PRIORITY, Kw::DELAYED]) {
            Some(Kw::LOW_PRIORITY) => Some(DmlPriority::Low),
            Some(_) => Some(DmlPriority::Delayed),
            None if !replace && self.eat(Kw::HIGH_PRIORITY) => Some(DmlPriority::High),
            None => None,
        };
        let ignore = !replace && self.eat(Kw::IGNORE);
        self.eat(Kw::INTO);
        let table = self.table_name()?;
        let partitions = self.opt_partition_names()?;
        let source = InsertSource::Values(Vec::new());
        let mut insert = InsertStmt {
            replace,
            hints,
            priority,
            ignore,
            table,
            partitions,
            columns: Vec::new(),
            source,
            row_alias: None,
            on_duplicate: Vec::new(),
        };
        self.insert_rows(&mut insert)?;
        if !replace && self.at(Kw::ON) {
            self.bump();
            self.expect(Kw::DUPLICATE)?;
            self.expect(Kw::KEY)?;
            self.expect(Kw::UPDATE)?;
            insert.on_duplicate = self.comma_list(Self::assignment)?;
        }
        Ok(insert)
    }

    /// Columns, rows and the alias of the rows.
    fn insert_rows(&mut self, insert: &mut InsertStmt) -> Result<()> {
        if self.eat(Kw::SET) {
            let assignments = self.comma_list(Self::assignment)?;
            let (columns, row): (Vec<ColumnRef>, Vec<Expr>) = assignments.into_iter().map(|a| (a.column, a.value)).unzip();
            insert.columns = columns;
            insert.source = InsertSource::Values(vec![row]);
            insert.row_alias = self.opt_row_alias(insert.replace)?;
            return Ok(());
        }
        if self.at(Tok::LParen) && !self.starts_query_behind_paren() && !self.peek_is(Tok::LParen) {
            self.bump();
            if !self.at(Tok::RParen) {
                insert.columns = self.comma_list(Self::column_ref)?;
            }
            self.expect(Tok::RParen)?;
        }
        if self.eat(Kw::VALUE) || self.eat(Kw::VALUES) {
            insert.source = InsertSource::Values(self.insert_values()?);
            insert.row_alias = self.opt_row_alias(insert.replace)?;
            return Ok(());
        }
        insert.source = InsertSource::Query(Box::new(self.query()?));
        Ok(())
    }

    /// `(…), (…)` or `ROW(…), ROW(…)`.
    fn insert_values(&mut self) -> Result<Vec<Vec<Expr>>> {
        let constructor = self.at(Kw::ROW);
        let mut columns = 0;
        self.comma_list(|p| {
            if constructor {
                p.expect(Kw::ROW)?;
            }
            p.expect(Tok::LParen)?;
            if p.eat(Tok::RParen) {
                return Ok(Vec::new());
            }
            let mut row = Vec::with_capacity(columns);
            loop {
                row.push(p.value_expr()?);
                if !p.eat(Tok::Comma) {
                    break;
                }
            }
            p.expect(Tok::RParen)?;
            columns = row.len();
            Ok(row)
        })
    }

    fn opt_row_alias(&mut self, replace: bool) -> Result<Option<RowAlias>> {
        if replace || !self.eat(Kw::AS) {
            return Ok(None);
        }
        let name = self.ident()?;
        Ok(Some(RowAlias { name, columns: self.opt_paren_idents()? }))
    }

    /// `UPDATE …`.
    pub(super) fn update(&mut self, with: Option<With>) -> Result<UpdateStmt> {
        self.bump();
        let hints = self.opt_hints();
        let low_priority = self.eat(Kw::LOW_PRIORITY);
        let ignore = self.eat(Kw::IGNORE);
        let tables = self.table_refs()?;
        self.expect(Kw::SET)?;
        let assignments = self.comma_list(Self::assignment)?;
        let where_clause = self.opt_where()?;
        let order_by = self.opt_order_by()?;
        let limit = self.opt_row_limit()?;
        Ok(UpdateStmt { with, hints, low_priority, ignore, tables, assignments, where_clause, order_by, limit })
    }

    /// `[LIMIT n]`, without an offset.
    fn opt_row_limit(&mut self) -> Result<Option<Limit>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        Ok(Some(Limit { count: self.limit_value()?, offset: None, comma: false }))
    }

    /// `DELETE …`.
    pub(super) fn delete(&mut self, with: Option<With>) -> Result<DeleteStmt> {
        self.bump();
        let hints = self.opt_hints();
        let (mut low_priority, mut quick, mut ignore) = (false, false, false);
        loop {
            if self.eat(Kw::LOW_PRIORITY) {
                low_priority = true;
            } else if self.eat(Kw::IGNORE) {
                ignore = true;
            } else if self.at(Kw::QUICK) && !matches!(self.peek(), Tok::Comma | Tok::Dot) {
                self.bump();
                quick = true;
            } else {
                break;
            }
        }
        let mut delete = DeleteStmt {
            with,
            hints,
            low_priority,
            quick,
            ignore,
            targets: Vec::new(),
            using: false,
            from: Vec::new(),
            where_clause: None,
            order_by: Vec::new(),
            limit: None,
        };
        if !self.eat(Kw::FROM) {
            delete.targets = self.comma_list(|p| Ok(p.delete_target()?.0))?;
            self.expect(Kw::FROM)?;
            delete.from = self.table_refs()?;
            delete.where_clause = self.opt_where()?;
            return Ok(delete);
        }
        let (first, wildcard) = self.delete_target()?;
        if wildcard || self.at(Tok::Comma) || self.at(Kw::USING) {
            delete.targets.push(first);
            while self.eat(Tok::Comma) {
                delete.targets.push(self.delete_target()?.0);
            }
            self.expect(Kw::USING)?;
            delete.using = true;
            delete.from = self.table_refs()?;
            delete.where_clause = self.opt_where()?;
            return Ok(delete);
        }
        delete.from.push(TableRef::Table(Box::new(self.plain_table(first)?)));
        delete.where_clause = self.opt_where()?;
        delete.order_by = self.opt_order_by()?;
        delete.limit = self.opt_row_limit()?;
        Ok(delete)
    }

    /// `t`, `db.t`, `t.*`, `db.t.*`; whether `.*` was there.
    fn delete_target(&mut self) -> Result<(TableName, bool)> {
        let first = self.ident()?;
        if !self.eat(Tok::Dot) {
            return Ok((TableName { schema: None, name: first }, false));
        }
        if self.eat(Tok::Star) {
            return Ok((TableName { schema: None, name: first }, true));
        }
        let name: Ident = self.ident_after_dot()?;
        let wildcard = self.eat(Tok::Dot);
        if wildcard {
            self.expect(Tok::Star)?;
        }
        Ok((TableName { schema: Some(first), name }, wildcard))
    }
}
