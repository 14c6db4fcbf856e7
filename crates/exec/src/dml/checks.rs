//! CHECK constraints: the conditions that every row is held to before it is written.

use catalog::TableInfo;
use planner::physical::Check;
use types::DatumRef;
use types::convert::to_bool;

use crate::dml::assign::{RowBuffer, layout_types};
use crate::{Error, ExecCtx, Result};

/// Fails with the first condition that is false for a row in the table's layout; one that is unknown holds.
pub(crate) fn hold(table: &TableInfo, checks: &[Check], row: &[DatumRef<'_>], ctx: &ExecCtx) -> Result<()> {
    if checks.is_empty() {
        return Ok(());
    }
    let values = row.iter().copied().map(DatumRef::to_owned).collect::<Vec<_>>();
    let buffer = RowBuffer::new(&layout_types(table), &values);
    for check in checks {
        if to_bool(buffer.eval(&check.condition, &ctx.eval)?.as_ref()) == Some(false) {
            return Err(Error::CheckViolated { name: check.name.clone() });
        }
    }
    Ok(())
}
