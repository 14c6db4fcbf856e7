//! WITH: common table expressions.

use super::{Parser, Result};
use crate::{
    ast::{Cte, With},
    lexer::Kw,
};

impl Parser<'_> {
    /// `[WITH [RECURSIVE] name [(columns)] AS (query), …]`.
    pub(super) fn opt_with(&mut self) -> Result<Option<With>> {
        if !self.eat(Kw::WITH) {
            return Ok(None);
        }
        let recursive = self.eat(Kw::RECURSIVE);
        let ctes = self.comma_list(|p| {
            let name = p.ident()?;
            let columns = p.opt_paren_idents()?;
            p.expect(Kw::AS)?;
            Ok(Cte { name, columns, query: p.paren_query()? })
        })?;
        Ok(Some(With { recursive, ctes }))
    }
}
