//! Window functions, OVER, and the WINDOW clause.

use super::{Parser, Result};
use crate::{
    ast::{Expr, FrameBound, FrameUnit, Ident, Over, WindowCall, WindowFrame, WindowFunc, WindowSpec},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// A window function named by `kw`, `(` behind it; `None` when `kw` is no window function.
    pub(super) fn window_function(&mut self, kw: Kw) -> Result<Option<Expr>> {
        use WindowFunc::*;
        let (func, args) = match kw {
            Kw::ROW_NUMBER => (RowNumber, 0..=0),
            Kw::RANK => (Rank, 0..=0),
            Kw::DENSE_RANK => (DenseRank, 0..=0),
            Kw::CUME_DIST => (CumeDist, 0..=0),
            Kw::PERCENT_RANK => (PercentRank, 0..=0),
            Kw::NTILE => (Ntile, 1..=1),
            Kw::LEAD => (Lead, 1..=3),
            Kw::LAG => (Lag, 1..=3),
            Kw::FIRST_VALUE => (FirstValue, 1..=1),
            Kw::LAST_VALUE => (LastValue, 1..=1),
            Kw::NTH_VALUE => (NthValue, 2..=2),
            _ => return Ok(None),
        };
        self.bump();
        let values = self.call_args()?;
        if !args.contains(&values.len()) {
            return Err(self.syntax());
        }
        let mut from_last = false;
        if func == NthValue && self.at(Kw::FROM) {
            self.bump();
            from_last = self.eat(Kw::LAST);
            if !from_last {
                self.expect(Kw::FIRST)?;
            }
        }
        let mut ignore_nulls = false;
        if matches!(func, Lead | Lag | FirstValue | LastValue | NthValue) && (self.at(Kw::RESPECT) || self.at(Kw::IGNORE)) {
            ignore_nulls = self.bump().tok == Tok::Kw(Kw::IGNORE);
            self.expect(Kw::NULLS)?;
        }
        let Some(over) = self.opt_over()? else { return Err(self.syntax()) };
        Ok(Some(Expr::Window(Box::new(WindowCall { func, args: values, from_last, ignore_nulls, over }))))
    }

    /// `[OVER name | OVER ( … )]`.
    pub(super) fn opt_over(&mut self) -> Result<Option<Over>> {
        if !self.eat(Kw::OVER) {
            return Ok(None);
        }
        if self.at(Tok::LParen) {
            return Ok(Some(Over::Spec(self.window_spec()?)));
        }
        Ok(Some(Over::Named(self.ident()?)))
    }

    /// `WINDOW name AS ( … ), …`; WINDOW is taken.
    pub(super) fn window_definitions(&mut self) -> Result<Vec<(Ident, WindowSpec)>> {
        self.comma_list(|p| {
            let name = p.ident()?;
            p.expect(Kw::AS)?;
            Ok((name, p.window_spec()?))
        })
    }

    fn window_spec(&mut self) -> Result<WindowSpec> {
        self.expect(Tok::LParen)?;
        let mut spec = WindowSpec::default();
        if self.at_ident() {
            spec.base = Some(self.ident()?);
        }
        if self.eat(Kw::PARTITION) {
            self.expect(Kw::BY)?;
            spec.partition_by = self.expr_list()?;
        }
        spec.order_by = self.opt_order_by()?;
        if let Some(kw) = self.eat_any(&[Kw::ROWS, Kw::RANGE, Kw::GROUPS]) {
            let unit = match kw {
                Kw::ROWS => FrameUnit::Rows,
                Kw::RANGE => FrameUnit::Range,
                _ => FrameUnit::Groups,
            };
            spec.frame = Some(self.window_frame(unit)?);
        }
        self.expect(Tok::RParen)?;
        Ok(spec)
    }

    fn window_frame(&mut self, unit: FrameUnit) -> Result<WindowFrame> {
        if !self.eat(Kw::BETWEEN) {
            return Ok(WindowFrame { unit, start: self.frame_bound()?, end: None });
        }
        let start = self.frame_bound()?;
        self.expect(Kw::AND)?;
        let end = Some(self.frame_bound()?);
        Ok(WindowFrame { unit, start, end })
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.eat(Kw::CURRENT) {
            self.expect(Kw::ROW)?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat(Kw::UNBOUNDED) {
            return match self.eat_any(&[Kw::PRECEDING, Kw::FOLLOWING]) {
                Some(Kw::PRECEDING) => Ok(FrameBound::UnboundedPreceding),
                Some(_) => Ok(FrameBound::UnboundedFollowing),
                None => Err(self.syntax()),
            };
        }
        let (amount, unit) = if self.eat(Kw::INTERVAL) {
            let (amount, unit) = self.interval_behind()?;
            (amount, Some(unit))
        } else {
            (self.row_offset()?, None)
        };
        match self.eat_any(&[Kw::PRECEDING, Kw::FOLLOWING]) {
            Some(Kw::PRECEDING) => Ok(FrameBound::Preceding(amount, unit)),
            Some(_) => Ok(FrameBound::Following(amount, unit)),
            None => Err(self.syntax()),
        }
    }

    /// A number without a sign, or `?`.
    fn row_offset(&mut self) -> Result<Expr> {
        match self.tok.tok {
            Tok::Int | Tok::Decimal | Tok::Float => {
                let (value, id) = self.literal()?;
                Ok(Expr::Literal(value, id))
            }
            Tok::Param => Ok(Expr::Param(self.param()?)),
            _ => Err(self.syntax()),
        }
    }
}
