//! Rule `eliminate_projections`: projections that only pass columns on disappear, neighbours merge, and a sort by passed-on columns moves
//! below, so that sorts and limits come next to the tables.

use expr::Expr;

use crate::logical::{Col, Plan, Project, columns_of, substitute};

pub(super) fn apply(plan: Plan) -> Plan {
    let plan = plan.map_children(&mut apply);
    match plan {
        Plan::Project(project) if is_identity(&project) => *project.child,
        Plan::Project(mut outer) => match *outer.child {
            Plan::Project(inner) if mergeable(&outer.exprs, &inner.exprs) => {
                let exprs = outer.exprs.into_iter().map(|(col, expr)| (col, substitute(expr, &inner.exprs))).collect();
                let merged = Project { child: inner.child, exprs };
                if is_identity(&merged) { *merged.child } else { Plan::Project(merged) }
            }
            child => {
                outer.child = Box::new(child);
                Plan::Project(outer)
            }
        },
        Plan::Sort(mut sort) => match *sort.child {
            Plan::Project(mut project) if sort.by.iter().all(|key| columns_of(&key.expr).iter().all(|col| passes(&project, *col))) => {
                sort.child = project.child;
                project.child = Box::new(Plan::Sort(sort));
                Plan::Project(project)
            }
            child => {
                sort.child = Box::new(child);
                Plan::Sort(sort)
            }
        },
        other => other,
    }
}

fn is_identity(project: &Project) -> bool {
    let below = project.child.columns();
    !project.exprs.is_empty() && project.exprs.iter().all(|(col, expr)| expr.as_column() == Some(*col) && below.contains(col))
}

fn passes(project: &Project, col: Col) -> bool {
    project.exprs.iter().any(|(out, expr)| *out == col && expr.as_column() == Some(col))
}

/// Merging must not evaluate anything twice, nor change how often something volatile is evaluated.
fn mergeable(outer: &[(Col, Expr)], inner: &[(Col, Expr)]) -> bool {
    inner.iter().all(|(col, expr)| {
        if matches!(expr, Expr::Column { .. } | Expr::Constant { .. } | Expr::Param { .. }) {
            return true;
        }
        let mut uses = 0;
        for (_, outer) in outer {
            outer.walk(&mut |node| uses += usize::from(node.as_column() == Some(*col)));
        }
        uses <= 1 && expr.is_deterministic()
    })
}
