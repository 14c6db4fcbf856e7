//! Operands of expressions: literals, names, variables, parentheses, CASE, and what is neither operator nor function.

use super::{Parser, Result};
use crate::{
    ast::{
        BinaryOp, CaseExpr, CastExpr, CastType, ColumnRef, DateArith, Expr, FuncCall, Ident, Literal, LiteralId, Query, QueryBody,
        TemporalKind, UnaryOp, VarScope,
    },
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `simple_expr` of MySQL's grammar: an operand with its unary operators and postfix COLLATE.
    pub(super) fn operand(&mut self) -> Result<Expr> {
        let expr = match self.tok.tok {
            Tok::Minus => self.unary(UnaryOp::Neg)?,
            Tok::Plus => self.unary(UnaryOp::Plus)?,
            Tok::Tilde => self.unary(UnaryOp::BitNot)?,
            Tok::Bang => self.unary(UnaryOp::Not)?,
            Tok::Kw(Kw::NOT) if self.opts.high_not_precedence => self.unary(UnaryOp::Not)?,
            Tok::Kw(Kw::BINARY) => {
                self.bump();
                let expr = self.deeper(Self::operand)?;
                Expr::Cast(Box::new(CastExpr { expr, target: CastType::Binary(None), array: false, binary_operator: true }))
            }
            _ => self.operand_without_collate()?,
        };
        self.postfix(expr)
    }

    /// The operand of a unary operator takes COLLATE for itself, as in MySQL.
    fn unary(&mut self, op: UnaryOp) -> Result<Expr> {
        self.bump();
        let expr = Box::new(self.deeper(Self::operand)?);
        Ok(Expr::Unary { op, expr })
    }

    fn postfix(&mut self, mut expr: Expr) -> Result<Expr> {
        while self.at(Kw::COLLATE) {
            self.bump();
            let collation = self.collation_name()?;
            self.grow(0)?;
            expr = Expr::Collate { expr: Box::new(expr), collation };
        }
        Ok(expr)
    }

    /// An operand without unary operators and without COLLATE.
    pub(super) fn operand_without_collate(&mut self) -> Result<Expr> {
        match self.tok.tok {
            tok if tok.is_literal() => {
                let (literal, id) = self.literal()?;
                Ok(Expr::Literal(literal, id))
            }
            Tok::Ident | Tok::QuotedIdent => self.name_expr(),
            Tok::Param => Ok(Expr::Param(self.param()?)),
            Tok::LParen => self.paren_expr(),
            Tok::UserVar | Tok::At => self.user_var_expr(),
            Tok::AtAt => self.system_var_expr(),
            Tok::LBrace => self.odbc_expr(),
            Tok::Kw(kw) => self.keyword_expr(kw),
            _ => Err(self.syntax()),
        }
    }

    /// An operand that begins with a keyword.
    fn keyword_expr(&mut self, kw: Kw) -> Result<Expr> {
        match kw {
            Kw::NULL => self.constant(Literal::Null),
            Kw::TRUE => self.constant(Literal::Bool(true)),
            Kw::FALSE => self.constant(Literal::Bool(false)),
            Kw::CASE => self.case_expr(),
            Kw::EXISTS => {
                self.bump();
                Ok(Expr::Exists(Box::new(self.paren_query()?)))
            }
            Kw::ROW if self.peek_is(Tok::LParen) => {
                self.bump();
                let values = self.paren_list(Self::expr)?;
                if values.len() < 2 { Err(self.syntax()) } else { Ok(Expr::Row(values)) }
            }
            Kw::INTERVAL => self.interval_expr(),
            Kw::DEFAULT => {
                self.bump();
                if !self.at(Tok::LParen) {
                    return Err(self.syntax());
                }
                Ok(Expr::Default(Some(self.paren_column()?)))
            }
            Kw::VALUES => {
                self.bump();
                Ok(Expr::Values(self.paren_column()?))
            }
            Kw::DATE | Kw::TIME | Kw::TIMESTAMP if self.peek_is(Tok::Str) => self.temporal_literal(kw),
            _ => match self.special_function(kw)? {
                Some(expr) => Ok(expr),
                None if kw.is_reserved() => Err(self.syntax()),
                None => self.name_expr(),
            },
        }
    }

    fn constant(&mut self, literal: Literal) -> Result<Expr> {
        self.bump();
        Ok(Expr::Literal(literal, LiteralId::NONE))
    }

    fn temporal_literal(&mut self, kw: Kw) -> Result<Expr> {
        self.bump();
        let kind = match kw {
            Kw::DATE => TemporalKind::Date,
            Kw::TIME => TemporalKind::Time,
            _ => TemporalKind::Timestamp,
        };
        self.temporal_text(kind)
    }

    fn temporal_text(&mut self, kind: TemporalKind) -> Result<Expr> {
        let id = LiteralId(self.literals);
        let text = self.text_literal()?.into_boxed_str();
        self.expr_literals += 1;
        Ok(Expr::TemporalLiteral { kind, text, id })
    }

    /// A column, or a call of a function by name.
    fn name_expr(&mut self) -> Result<Expr> {
        let next = self.peek();
        if next == Tok::LParen {
            return self.named_call();
        }
        let first = self.ident()?;
        if next != Tok::Dot {
            let column = ColumnRef { schema: None, table: None, name: first };
            return self.json_path(Expr::Column(column));
        }
        self.bump();
        let second = self.ident_after_dot()?;
        if self.at(Tok::LParen) {
            let args = self.call_args()?;
            return Ok(Expr::Func(Box::new(FuncCall { schema: Some(first), name: second, args })));
        }
        let column = if self.eat(Tok::Dot) {
            ColumnRef { schema: Some(first), table: Some(second), name: self.ident_after_dot()? }
        } else {
            ColumnRef { schema: None, table: Some(first), name: second }
        };
        self.json_path(Expr::Column(column))
    }

    /// `-> 'path'` and `->> 'path'` behind a column.
    fn json_path(&mut self, column: Expr) -> Result<Expr> {
        let op = match self.tok.tok {
            Tok::Arrow => BinaryOp::JsonExtract,
            Tok::ArrowArrow => BinaryOp::JsonUnquote,
            _ => return Ok(column),
        };
        self.bump();
        if !self.at(Tok::Str) {
            return Err(self.syntax());
        }
        let (path, id) = self.literal()?;
        self.grow(0)?;
        Ok(Expr::binary(op, column, Expr::Literal(path, id)))
    }

    /// `[[schema.]table.]column`.
    pub(super) fn column_ref(&mut self) -> Result<ColumnRef> {
        let first = self.ident()?;
        if !self.eat(Tok::Dot) {
            return Ok(ColumnRef { schema: None, table: None, name: first });
        }
        let second = self.ident_after_dot()?;
        if !self.eat(Tok::Dot) {
            return Ok(ColumnRef { schema: None, table: Some(first), name: second });
        }
        Ok(ColumnRef { schema: Some(first), table: Some(second), name: self.ident_after_dot()? })
    }

    fn paren_column(&mut self) -> Result<ColumnRef> {
        self.expect(Tok::LParen)?;
        let column = self.column_ref()?;
        self.expect(Tok::RParen)?;
        Ok(column)
    }

    /// Whether the token `behind` places behind the current one (1 or more) opens a parenthesis whose first token begins a query.
    pub(super) fn starts_query_behind(&self, behind: usize) -> bool {
        let mut lexer = self.look_from_here();
        let token = (0..behind).map(|_| lexer.next()).last().map_or(self.tok, |t| t);
        if token.tok != Tok::LParen {
            return false;
        }
        let first = lexer.next().tok;
        let second = if first == Tok::Kw(Kw::VALUES) { lexer.next().tok } else { Tok::Eof };
        match first {
            Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE) => true,
            Tok::Kw(Kw::VALUES) => second == Tok::Kw(Kw::ROW),
            _ => false,
        }
    }

    /// Whether the current token is `(` and a query begins behind it.
    pub(super) fn starts_query_behind_paren(&mut self) -> bool {
        match self.peek() {
            Tok::Kw(Kw::SELECT | Kw::WITH | Kw::TABLE) => true,
            Tok::Kw(Kw::VALUES) => self.starts_query_behind(0),
            _ => false,
        }
    }

    /// `( … )`: a subquery, a row or an expression.
    fn paren_expr(&mut self) -> Result<Expr> {
        if self.starts_query_behind_paren() {
            return Ok(Expr::Subquery(Box::new(self.paren_query()?)));
        }
        self.bump();
        let first = self.expr()?;
        // `((SELECT 1) UNION (SELECT 2))`: what looked like an expression was the first part of a query.
        if matches!(first, Expr::Subquery(_)) && self.continues_query() {
            let Expr::Subquery(inner) = first else { return Err(self.syntax()) };
            let query = self.query_behind(unwrap_plain(*inner))?;
            self.expect(Tok::RParen)?;
            return Ok(Expr::Subquery(Box::new(query)));
        }
        if !self.at(Tok::Comma) {
            self.expect(Tok::RParen)?;
            return Ok(first);
        }
        let mut values = vec![first];
        while self.eat(Tok::Comma) {
            values.push(self.expr()?);
        }
        self.expect(Tok::RParen)?;
        Ok(Expr::Row(values))
    }

    fn case_expr(&mut self) -> Result<Expr> {
        self.bump();
        let operand = if self.at(Kw::WHEN) { None } else { Some(self.expr()?) };
        let mut whens = Vec::new();
        while self.eat(Kw::WHEN) {
            let when = self.expr()?;
            self.expect(Kw::THEN)?;
            whens.push((when, self.expr()?));
        }
        if whens.is_empty() {
            return Err(self.syntax());
        }
        let otherwise = if self.eat(Kw::ELSE) { Some(self.expr()?) } else { None };
        self.expect(Kw::END)?;
        Ok(Expr::Case(Box::new(CaseExpr { operand, whens, otherwise })))
    }

    /// `INTERVAL n unit + x`, or the function INTERVAL.
    fn interval_expr(&mut self) -> Result<Expr> {
        if self.at_interval_function() {
            self.bump();
            let args = self.call_args()?;
            return Ok(Expr::func("interval", args));
        }
        self.bump();
        let (amount, unit) = self.interval_behind()?;
        self.expect(Tok::Plus)?;
        let date = self.deeper(Self::operand)?;
        Ok(Expr::DateArith(Box::new(DateArith { date, subtract: false, amount, unit })))
    }

    /// `@name` in lower case; the name may be quoted.
    pub(super) fn user_var_name(&mut self) -> Result<Ident> {
        let token = self.bump();
        if token.tok == Tok::UserVar {
            let name = &self.span(token)[1..];
            let Ok(name) = std::str::from_utf8(name) else { return Err(self.syntax()) };
            return Ok(Ident::from(name.to_lowercase()));
        }
        if token.tok != Tok::At || token.end != self.tok.start {
            return Err(self.syntax());
        }
        let name = match self.tok.tok {
            Tok::Str => self.text_literal()?,
            Tok::QuotedIdent => self.long_ident()?.into_string(),
            _ => return Err(self.syntax()),
        };
        Ok(Ident::from(name.to_lowercase()))
    }

    fn user_var_expr(&mut self) -> Result<Expr> {
        let name = self.user_var_name()?;
        if !self.eat(Tok::Assign) {
            return Ok(Expr::UserVar(name));
        }
        let value = Box::new(self.expr()?);
        Ok(Expr::AssignUserVar { name, value })
    }

    /// `@@[scope.]name[.name]`; returns the scope and the name in lower case.
    pub(super) fn system_var(&mut self) -> Result<(Option<VarScope>, Ident)> {
        self.expect(Tok::AtAt)?;
        let first = self.ident_after_dot()?;
        let scope = if self.at(Tok::Dot) { scope_word(&first) } else { None };
        let mut name = first.to_ascii_lowercase();
        if scope.is_some() {
            self.bump();
            name = self.ident_after_dot()?.to_ascii_lowercase();
        }
        if self.eat(Tok::Dot) {
            name.push('.');
            name.push_str(&self.ident_after_dot()?.to_ascii_lowercase());
        }
        Ok((scope, Ident::from(name)))
    }

    fn system_var_expr(&mut self) -> Result<Expr> {
        let (scope, name) = self.system_var()?;
        match scope {
            Some(VarScope::Persist | VarScope::PersistOnly) => Err(self.syntax()),
            _ => Ok(Expr::SystemVar { scope, name }),
        }
    }

    /// `{d '…'}`, `{t '…'}`, `{ts '…'}`, and `{anything expr}`, which is the expression.
    fn odbc_expr(&mut self) -> Result<Expr> {
        self.bump();
        let word = self.long_ident()?.to_ascii_lowercase();
        let kind = match word.as_str() {
            "d" => Some(TemporalKind::Date),
            "t" => Some(TemporalKind::Time),
            "ts" => Some(TemporalKind::Timestamp),
            _ => None,
        };
        let expr = match kind {
            Some(kind) if self.at(Tok::Str) && self.peek_is(Tok::RBrace) => self.temporal_text(kind)?,
            _ => self.expr()?,
        };
        self.expect(Tok::RBrace)?;
        Ok(expr)
    }
}

/// The scope a word before a dot names.
pub(crate) fn scope_word(word: &str) -> Option<VarScope> {
    const WORDS: &[(&str, VarScope)] = &[
        ("global", VarScope::Global),
        ("session", VarScope::Session),
        ("local", VarScope::Session),
        ("persist", VarScope::Persist),
        ("persist_only", VarScope::PersistOnly),
    ];
    WORDS.iter().find(|(w, _)| w.eq_ignore_ascii_case(word)).map(|(_, scope)| *scope)
}

/// A parenthesised query as a part of a larger one: its body alone, when it has no clauses of its own.
pub(super) fn unwrap_plain(query: Query) -> QueryBody {
    let plain =
        query.with.is_none() && query.order_by.is_empty() && query.limit.is_none() && query.locks.is_empty() && query.into.is_none();
    if plain { query.body } else { QueryBody::Query(Box::new(query)) }
}
