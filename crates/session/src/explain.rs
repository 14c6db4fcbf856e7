//! EXPLAIN and EXPLAIN ANALYZE: the plan, and what an execution really did, as rows.

use std::sync::Arc;

use exec::RuntimeStats;
use planner::{
    explain,
    physical::{Node, NodeId, PhysicalPlan},
};
use rustc_hash::FxHashMap;
use types::{Chunk, FieldType};

use crate::{
    plan_cache::CachedPlan,
    result::{ResultRows, text},
};

/// Room for the figures of every operator of a plan.
pub(crate) fn runtime_stats(plan: &PhysicalPlan) -> Arc<RuntimeStats> {
    let mut most = 0;
    let mut visit = |node: &Node| most = most.max(highest_id(node));
    visit(&plan.root);
    plan.scalar_subqueries.iter().for_each(|subquery| visit(&subquery.plan));
    Arc::new(RuntimeStats::new(most))
}

fn highest_id(node: &Node) -> NodeId {
    node.children().into_iter().map(highest_id).max().unwrap_or(0).max(node.id)
}

/// The result of EXPLAIN, with figures that of EXPLAIN ANALYZE.
pub(crate) fn plan_rows(cached: &CachedPlan, stats: Option<&RuntimeStats>) -> ResultRows {
    let plan = &cached.plan;
    let measured = stats.map(|stats| {
        let mut figures = FxHashMap::default();
        collect(&plan.root, stats, &mut figures);
        plan.scalar_subqueries.iter().for_each(|subquery| collect(&subquery.plan, stats, &mut figures));
        figures
    });
    let columns = explain::output_columns(stats.is_some());
    let types: Vec<FieldType> = columns.iter().map(|column| column.ty.clone()).collect();
    let rows = explain::explain_table(plan, measured.as_ref());
    let mut chunk = Chunk::new(&types, rows.len());
    for row in rows {
        chunk.push_row(&row.into_iter().map(text).collect::<Vec<_>>());
    }
    ResultRows::ready(columns.into(), vec![chunk])
}

fn collect(node: &Node, stats: &RuntimeStats, figures: &mut FxHashMap<NodeId, explain::RuntimeStats>) {
    use std::sync::atomic::Ordering::Relaxed;
    if let Some(found) = stats.node(node.id) {
        let figure = explain::RuntimeStats { rows: found.rows.load(Relaxed), time: found.time(), loops: found.loops.load(Relaxed) };
        figures.insert(node.id, figure);
    }
    node.children().into_iter().for_each(|child| collect(child, stats, figures));
}
