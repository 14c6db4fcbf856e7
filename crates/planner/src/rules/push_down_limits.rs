//! Rule `push_down_limits`: LIMIT moves below operators that keep the order and number of rows.
//!
//! Through projections and locks (but not SKIP LOCKED, which may leave rows out) it moves; into the children of UNION ALL and the preserved side
//! of a left join a copy goes, as long as no rows are skipped.

use crate::{
    logical::{Limit, Plan},
    physical::{JoinKind, LockWait},
};

pub(super) fn apply(plan: Plan) -> Plan {
    let plan = push(plan);
    plan.map_children(&mut apply)
}

fn push(plan: Plan) -> Plan {
    let Plan::Limit(limit) = plan else { return plan };
    let Limit { child, limit } = limit;
    let below = |child: Box<Plan>| Box::new(push(Plan::Limit(Limit { child, limit: limit.clone() })));
    match *child {
        Plan::Project(mut project) => {
            project.child = below(project.child);
            Plan::Project(project)
        }
        Plan::Lock(mut lock) if lock.lock.wait != LockWait::SkipLocked => {
            lock.child = below(lock.child);
            Plan::Lock(lock)
        }
        Plan::Union(mut union) if limit.offset.is_none() => {
            for child in &mut union.children {
                let old = std::mem::replace(child, Plan::empty());
                *child = *below(Box::new(old));
            }
            Plan::Limit(Limit { child: Box::new(Plan::Union(union)), limit })
        }
        Plan::Join(mut join) if limit.offset.is_none() && join.kind == JoinKind::LeftOuter && !join.apply => {
            if !matches!(join.left, Plan::Limit(_)) {
                let old = std::mem::replace(&mut join.left, Plan::empty());
                join.left = *below(Box::new(old));
            }
            Plan::Limit(Limit { child: Box::new(Plan::Join(join)), limit })
        }
        child => Plan::Limit(Limit { child: Box::new(child), limit }),
    }
}
