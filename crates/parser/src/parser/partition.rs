//! PARTITION BY.

use super::{Parser, Result};
use crate::{
    ast::{Expr, PartitionBy, PartitionDef, PartitionMethod, PartitionValues},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `PARTITION BY method [PARTITIONS n] [SUBPARTITION BY …] [(definitions)]`.
    pub(super) fn partition_by(&mut self) -> Result<PartitionBy> {
        self.expect(Kw::PARTITION)?;
        self.expect(Kw::BY)?;
        let method = self.partition_method()?;
        let mut by = PartitionBy { method, count: None, subpartition: None, subpartition_count: None, partitions: Vec::new() };
        if self.eat(Kw::PARTITIONS) {
            by.count = Some(self.uint()?);
        }
        if self.eat(Kw::SUBPARTITION) {
            self.expect(Kw::BY)?;
            let method = self.partition_method()?;
            if !matches!(method, PartitionMethod::Hash { .. } | PartitionMethod::Key { .. }) {
                return Err(self.syntax());
            }
            by.subpartition = Some(method);
            if self.eat(Kw::SUBPARTITIONS) {
                by.subpartition_count = Some(self.uint()?);
            }
        }
        if self.at(Tok::LParen) && self.peek_is(Kw::PARTITION) {
            by.partitions = self.partition_defs()?;
        }
        Ok(by)
    }

    fn partition_method(&mut self) -> Result<PartitionMethod> {
        let linear = self.eat(Kw::LINEAR);
        if self.eat(Kw::HASH) {
            return Ok(PartitionMethod::Hash { linear, expr: self.paren_bit_expr()? });
        }
        if self.eat(Kw::KEY) {
            let mut algorithm = None;
            if self.eat(Kw::ALGORITHM) {
                self.opt_eq();
                algorithm = Some(self.uint()?);
            }
            self.expect(Tok::LParen)?;
            let columns = if self.at(Tok::RParen) { Vec::new() } else { self.comma_list(Self::ident)? };
            self.expect(Tok::RParen)?;
            return Ok(PartitionMethod::Key { linear, algorithm, columns });
        }
        if linear {
            return Err(self.syntax());
        }
        match self.eat_any(&[Kw::RANGE, Kw::LIST]) {
            Some(Kw::RANGE) if self.eat(Kw::COLUMNS) => Ok(PartitionMethod::RangeColumns(self.paren_idents()?)),
            Some(Kw::RANGE) => Ok(PartitionMethod::Range(self.paren_bit_expr()?)),
            Some(_) if self.eat(Kw::COLUMNS) => Ok(PartitionMethod::ListColumns(self.paren_idents()?)),
            Some(_) => Ok(PartitionMethod::List(self.paren_bit_expr()?)),
            None => Err(self.syntax()),
        }
    }

    fn paren_bit_expr(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let expr = self.deeper(|p| p.bit_expr(0))?;
        self.expect(Tok::RParen)?;
        Ok(expr)
    }

    /// `(PARTITION …, …)`.
    pub(super) fn partition_defs(&mut self) -> Result<Vec<PartitionDef>> {
        self.paren_list(Self::partition_def)
    }

    fn partition_def(&mut self) -> Result<PartitionDef> {
        self.expect(Kw::PARTITION)?;
        let name = self.ident()?;
        let mut values = None;
        if self.eat(Kw::VALUES) {
            values = Some(if self.eat(Kw::IN) {
                PartitionValues::In(self.paren_list(Self::expr)?)
            } else {
                self.expect(Kw::LESS)?;
                self.expect(Kw::THAN)?;
                self.less_than()?
            });
        }
        let options = self.table_options_without_commas()?;
        let mut subpartitions = Vec::new();
        if self.at(Tok::LParen) {
            subpartitions = self.paren_list(|p| {
                p.expect(Kw::SUBPARTITION)?;
                let name = p.ident_or_text()?;
                Ok((name, p.table_options_without_commas()?))
            })?;
        }
        Ok(PartitionDef { name, values, options, subpartitions })
    }

    fn less_than(&mut self) -> Result<PartitionValues> {
        if self.eat(Kw::MAXVALUE) {
            return Ok(PartitionValues::LessThan(vec![None]));
        }
        let bounds = self.paren_list(|p| if p.eat(Kw::MAXVALUE) { Ok(None) } else { p.expr().map(Some) })?;
        Ok(PartitionValues::LessThan(bounds))
    }
}
