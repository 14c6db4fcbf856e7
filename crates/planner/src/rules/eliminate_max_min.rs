//! Rule `eliminate_max_min`: MIN and MAX without groups read one row in the order of their argument.
//!
//! ```text
//! Aggregate max(x)      →    Aggregate max(x)
//! └─ t                       └─ Limit 1
//!                               └─ Sort x DESC
//!                                  └─ Filter x IS NOT NULL
//!                                     └─ t
//! ```
//!
//! The aggregation stays: it gives the NULL of an empty table. With an index on `x` the limit reads one entry; without one it is a top-n
//! of one row, no worse than the aggregation.

use copr::{RowLimit, SortKey};
use expr::{AggKind, Expr, Op, build_op};
use types::{Datum, FieldType};

use super::RuleCx;
use crate::logical::{Limit, Plan, Sort};

pub(super) fn apply(plan: Plan, cx: &mut RuleCx<'_>) -> Plan {
    let mut plan = plan.map_children(&mut |child| apply(child, cx));
    let Plan::Aggregate(agg) = &mut plan else { return plan };
    let [(_, desc)] = &agg.aggs[..] else { return plan };
    let is_max = desc.kind == AggKind::Max;
    let [arg] = &desc.args[..] else { return plan };
    if !agg.group_by.is_empty() || !(is_max || desc.kind == AggKind::Min) || arg.as_column().is_none() || !is_table(&agg.child) {
        return plan;
    }
    let by = vec![SortKey { expr: arg.clone(), desc: is_max }];
    let mut conditions = vec![];
    if !arg.field_type().not_null {
        let is_null = build_op(Op::IsNull, vec![arg.clone()], &cx.build);
        match is_null.and_then(|is_null| build_op(Op::Not, vec![is_null], &cx.build)) {
            Ok(not_null) => conditions.push(not_null),
            Err(_) => return plan,
        }
    }
    let child = std::mem::replace(&mut *agg.child, Plan::empty());
    let child = match child {
        Plan::Scan(mut scan) => {
            scan.conditions.extend(conditions);
            Plan::Scan(scan)
        }
        other => other.filtered(conditions),
    };
    let sorted = Plan::Sort(Sort { child: Box::new(child), by });
    let one = Expr::constant(Datum::Int(1), FieldType::bigint().with_not_null());
    *agg.child = Plan::Limit(Limit { child: Box::new(sorted), limit: RowLimit { offset: None, count: one } });
    plan
}

fn is_table(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(_) => true,
        Plan::Filter(filter) => is_table(&filter.child),
        _ => false,
    }
}
