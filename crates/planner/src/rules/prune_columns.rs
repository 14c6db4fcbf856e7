//! Rule `prune_columns`: no operator hands up a column that nobody above reads.

use crate::logical::{Col, Plan, columns_of};

/// `output`: what the plan's reader wants.
pub(super) fn apply(mut plan: Plan, output: &[Col]) -> Plan {
    prune(&mut plan, output);
    plan
}

fn prune(plan: &mut Plan, wanted: &[Col]) {
    let mut own: Vec<Col> = plan.expressions_mut().iter().flat_map(|expr| columns_of(expr)).collect();
    match plan {
        Plan::Scan(scan) => {
            scan.columns.retain(|column| wanted.contains(&column.col) || own.contains(&column.col));
            scan.wanted = Some(scan.columns.iter().map(|column| column.col).filter(|col| wanted.contains(col)).collect());
        }
        Plan::Values(values) => {
            let keep: Vec<bool> = values.columns.iter().map(|col| wanted.contains(col)).collect();
            let mut flags = keep.iter();
            values.columns.retain(|_| flags.next().copied().unwrap_or(true));
            for row in &mut values.rows {
                let mut flags = keep.iter();
                row.retain(|_| flags.next().copied().unwrap_or(true));
            }
        }
        Plan::Filter(filter) => {
            own.extend_from_slice(wanted);
            prune(&mut filter.child, &own);
        }
        Plan::Project(project) => {
            project.exprs.retain(|(col, _)| wanted.contains(col));
            let read: Vec<Col> = project.exprs.iter().flat_map(|(_, expr)| columns_of(expr)).collect();
            prune(&mut project.child, &read);
            if project.exprs.is_empty() {
                *plan = std::mem::replace(&mut *project.child, Plan::empty());
            }
        }
        Plan::Aggregate(agg) => {
            let first = agg.aggs.first().cloned();
            agg.aggs.retain(|(col, _)| wanted.contains(col));
            if agg.aggs.is_empty() && agg.group_by.is_empty() {
                // One row comes up even when nobody reads its value.
                agg.aggs.extend(first);
            }
            let read: Vec<Col> = agg
                .group_by
                .iter()
                .map(|(_, expr)| expr)
                .chain(agg.aggs.iter().flat_map(|(_, desc)| desc.args.iter().chain(desc.order_by.iter().map(|key| &key.expr))))
                .flat_map(columns_of)
                .collect();
            prune(&mut agg.child, &read);
        }
        Plan::Window(window) => {
            window.funcs.retain(|(col, _)| wanted.contains(col));
            if window.funcs.is_empty() {
                prune(&mut window.child, wanted);
                *plan = std::mem::replace(&mut *window.child, Plan::empty());
                return;
            }
            let mut read: Vec<Col> =
                window.funcs.iter_mut().flat_map(|(_, desc)| desc.exprs_mut()).flat_map(|expr| columns_of(expr)).collect();
            read.extend(window.partition_by.iter().chain(window.order_by.iter().map(|(col, _)| col)));
            read.extend(wanted);
            prune(&mut window.child, &read);
        }
        Plan::Join(join) => {
            own.extend_from_slice(wanted);
            own.extend(join.bindings.iter().map(|(_, col)| *col));
            prune(&mut join.left, &own);
            prune(&mut join.right, &own);
        }
        Plan::Sort(sort) => {
            own.extend_from_slice(wanted);
            prune(&mut sort.child, &own);
        }
        Plan::Limit(limit) => prune(&mut limit.child, wanted),
        Plan::MaxOneRow(child) => prune(child, wanted),
        Plan::Lock(lock) => {
            own.extend_from_slice(wanted);
            own.extend(lock.targets.iter().map(|(_, col)| *col));
            prune(&mut lock.child, &own);
        }
        Plan::Union(union) => {
            let keep: Vec<usize> = (0..union.columns.len()).filter(|i| wanted.contains(&union.columns[*i])).collect();
            union.columns = keep.iter().map(|i| union.columns[*i]).collect();
            for (child, inputs) in union.children.iter_mut().zip(&mut union.inputs) {
                *inputs = keep.iter().map(|i| inputs[*i]).collect();
                prune(child, inputs);
            }
        }
    }
}
