//! EXPLAIN: a plan as rows of text.
//!
//! ```text
//! id                        estRows  task  access object  operator info
//! HashAgg_7                 1.00     root                 funcs: count(Column#3)
//! └─TableReader_6           1.00     root  table: t       range: id >= ?0
//!   └─HashAgg_5             1.00     cop                  funcs: count(*)
//!     └─TableRangeScan_4    250.00   cop   table: t
//! ```
//!
//! What runs beside the data is shown below its reader as tasks of kind `cop`. Parameters of a cached plan print as parameters.

use std::{fmt::Display, time::Duration};

use copr::{DagOp, DagPlan, RowLimit, ScanSpec, SortKey};
use rustc_hash::FxHashMap;

use crate::{
    physical::{
        Aggregate, CopTask, InsertSource, JoinKey, JoinKind, LockWait, Node, NodeId, Op, OutputColumn, PhysicalPlan, RowLock, ScalarKind,
        Side,
    },
    statement::text_column,
};

/// What an operator did in one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RuntimeStats {
    /// Rows handed up.
    pub rows: u64,
    /// Time spent in it, children included.
    pub time: Duration,
    /// How often it was asked for rows.
    pub loops: u64,
}

/// One row of EXPLAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainRow {
    /// The operator.
    pub node: NodeId,
    /// Its name with the lines of the tree before it.
    pub id: String,
    /// Rows the planner expects.
    pub est_rows: f64,
    /// `root` or `cop`.
    pub task: &'static str,
    /// The table and index read.
    pub access_object: String,
    /// The rest.
    pub operator_info: String,
}

/// The columns of EXPLAIN's result.
pub fn output_columns(analyze: bool) -> Vec<OutputColumn> {
    let names: &[&str] = match analyze {
        false => &["id", "estRows", "task", "access object", "operator info"],
        true => &["id", "estRows", "actRows", "task", "access object", "execution info", "operator info"],
    };
    names.iter().map(|name| text_column(name)).collect()
}

/// The result of EXPLAIN, or of EXPLAIN ANALYZE when there are runtime statistics, as text cells.
pub fn explain_table(plan: &PhysicalPlan, runtime: Option<&FxHashMap<NodeId, RuntimeStats>>) -> Vec<Vec<String>> {
    let cells = |row: ExplainRow| {
        let est = format!("{:.2}", row.est_rows);
        match runtime {
            None => vec![row.id, est, row.task.to_owned(), row.access_object, row.operator_info],
            Some(stats) => {
                let (rows, info) = match stats.get(&row.node) {
                    Some(stats) => (stats.rows.to_string(), format!("time:{:?}, loops:{}", stats.time, stats.loops)),
                    None => (String::new(), String::new()),
                };
                vec![row.id, est, rows, row.task.to_owned(), row.access_object, info, row.operator_info]
            }
        }
    };
    explain_rows(plan).into_iter().map(cells).collect()
}

/// The rows of EXPLAIN.
pub fn explain_rows(plan: &PhysicalPlan) -> Vec<ExplainRow> {
    let mut writer = Writer::default();
    writer.node(&plan.root, "", "");
    for subquery in &plan.scalar_subqueries {
        let kind = match subquery.kind {
            ScalarKind::Value => "value",
            ScalarKind::Exists => "exists",
        };
        writer.rows.push(ExplainRow {
            node: 0,
            id: format!("ScalarSubquery_{}", subquery.slot),
            est_rows: 1.0,
            task: "root",
            access_object: String::new(),
            operator_info: format!("{kind} into ?{}", subquery.slot),
        });
        writer.node(&subquery.plan, "└─", "  ");
    }
    writer.rows
}

#[derive(Default)]
struct Writer {
    rows: Vec<ExplainRow>,
}

impl Writer {
    /// `lead`: what stands before the operator's name; `below`: what stands before its children's lines.
    fn node(&mut self, node: &Node, lead: &str, below: &str) {
        self.rows.push(ExplainRow {
            node: node.id,
            id: format!("{lead}{}_{}", name(node), node.id),
            est_rows: node.rows,
            task: "root",
            access_object: access_object(node),
            operator_info: operator_info(node),
        });
        match &node.op {
            Op::TableReader(reader) => self.dag(&reader.dag, &reader.tasks, below, "└─", reader.ranges.is_full()),
            Op::IndexReader(reader) => self.dag(&reader.dag, &reader.tasks, below, "└─", reader.ranges.is_full()),
            Op::IndexLookup(lookup) => {
                self.dag(&lookup.index_dag, &lookup.index_tasks, below, "├─", lookup.ranges.is_full());
                self.dag(&lookup.table_dag, &lookup.table_tasks, below, "└─", false);
            }
            _ => {
                let children = node.children();
                let last = children.len().saturating_sub(1);
                for (i, child) in children.into_iter().enumerate() {
                    let (branch, line) = if i == last { ("└─", "  ") } else { ("├─", "│ ") };
                    self.node(child, &format!("{below}{branch}"), &format!("{below}{line}"));
                }
            }
        }
    }

    /// The steps beside the data, last one first.
    fn dag(&mut self, dag: &DagPlan, tasks: &[CopTask], below: &str, branch: &str, full: bool) {
        let mut steps: Vec<(&'static str, String)> = vec![(scan_name(dag, full), String::new())];
        if !dag.filters.is_empty() {
            steps.push(("Selection", list(&dag.filters)));
        }
        for op in &dag.ops {
            steps.push(match op {
                DagOp::Projection(exprs) => ("Projection", list(exprs)),
                DagOp::Aggregate { group_by, aggs, streamed } => {
                    (if *streamed || group_by.is_empty() { "StreamAgg" } else { "HashAgg" }, aggregate_info(group_by, aggs))
                }
                DagOp::TopN { by, limit } => ("TopN", format!("{}, {}", keys(by), limit_info(limit))),
                DagOp::Limit(limit) => ("Limit", limit_info(limit)),
            });
        }
        let line = if branch == "├─" { "│ " } else { "  " };
        for (depth, ((name, info), task)) in steps.into_iter().zip(tasks).rev().enumerate() {
            let lead = match depth {
                0 => format!("{below}{branch}"),
                _ => format!("{below}{line}{}└─", "  ".repeat(depth - 1)),
            };
            self.rows.push(ExplainRow {
                node: task.id,
                id: format!("{lead}{name}_{}", task.id),
                est_rows: task.rows,
                task: "cop",
                access_object: String::new(),
                operator_info: info,
            });
        }
    }
}

fn scan_name(dag: &DagPlan, full: bool) -> &'static str {
    match (&dag.scan, full) {
        (ScanSpec::Table(_), true) => "TableFullScan",
        (ScanSpec::Table(_), false) => "TableRangeScan",
        (ScanSpec::Index(_), true) => "IndexFullScan",
        (ScanSpec::Index(_), false) => "IndexRangeScan",
    }
}

fn name(node: &Node) -> &'static str {
    match &node.op {
        Op::PointGet(_) => "PointGet",
        Op::BatchPointGet(_) => "BatchPointGet",
        Op::TableReader(_) => "TableReader",
        Op::IndexReader(_) => "IndexReader",
        Op::IndexLookup(_) => "IndexLookUp",
        Op::MemTable(_) => "MemTableScan",
        Op::Values(_) => "TableDual",
        Op::Selection(_) => "Selection",
        Op::Projection(_) => "Projection",
        Op::HashAgg(_) => "HashAgg",
        Op::StreamAgg(_) => "StreamAgg",
        Op::RollupAgg(_) => "RollupAgg",
        Op::Window(_) => "Window",
        Op::HashJoin(_) => "HashJoin",
        Op::IndexJoin(_) => "IndexJoin",
        Op::MergeJoin(_) => "MergeJoin",
        Op::Apply(_) => "Apply",
        Op::Sort(_) => "Sort",
        Op::TopN(_) => "TopN",
        Op::Limit(_) => "Limit",
        Op::UnionAll(_) => "Union",
        Op::SelectLock(_) => "SelectLock",
        Op::MaxOneRow(_) => "MaxOneRow",
        Op::Insert(insert) if insert.replace => "Replace",
        Op::Insert(_) => "Insert",
        Op::Update(_) => "Update",
        Op::Delete(_) => "Delete",
    }
}

fn access_object(node: &Node) -> String {
    let (table, index) = match &node.op {
        Op::PointGet(op) => (&op.table, op.index),
        Op::BatchPointGet(op) => (&op.table, op.index),
        Op::TableReader(op) => (&op.table, None),
        Op::IndexReader(op) => (&op.table, Some(op.index)),
        Op::IndexLookup(op) => (&op.table, Some(op.index)),
        Op::MemTable(op) => (&op.table, None),
        Op::Insert(op) => (&op.table, None),
        _ => return String::new(),
    };
    let mut object = format!("table:{}", table.name);
    if let Some(index) = index {
        let index = &table.indexes[index];
        let columns = index.columns.iter().map(|part| table.columns[part.offset].name.as_str());
        object.push_str(&format!(", index:{}({})", index.name, columns.collect::<Vec<_>>().join(", ")));
    }
    object
}

fn operator_info(node: &Node) -> String {
    let mut parts: Vec<String> = vec![];
    match &node.op {
        Op::PointGet(op) => {
            parts.push(format!("key:({})", list(&op.key.values)));
            parts.extend((!op.filters.is_empty()).then(|| format!("filter:{}", list(&op.filters))));
            parts.extend(op.lock.map(lock_info));
        }
        Op::BatchPointGet(op) => {
            let keys: Vec<String> = op.keys.iter().map(|key| format!("({})", list(key))).collect();
            parts.push(format!("keys:{}", keys.join(" ")));
            parts.extend((!op.filters.is_empty()).then(|| format!("filter:{}", list(&op.filters))));
            parts.push(order_info(op.keep_order, op.desc));
            parts.extend(op.lock.map(lock_info));
        }
        Op::TableReader(op) => {
            parts.extend(op.ranges.describe());
            parts.push(order_info(op.keep_order, op.desc));
        }
        Op::IndexReader(op) => {
            parts.extend(op.ranges.describe());
            parts.push(order_info(op.keep_order, op.desc));
        }
        Op::IndexLookup(op) => {
            parts.extend(op.ranges.describe());
            parts.push(order_info(op.keep_order, op.desc));
            parts.extend(op.limit.as_ref().map(limit_info));
        }
        Op::MemTable(op) => parts.extend((!op.filters.is_empty()).then(|| list(&op.filters))),
        Op::Values(op) => parts.push(format!("rows:{}", op.rows.len())),
        Op::Selection(op) => parts.push(list(&op.conditions)),
        Op::Projection(op) => parts.push(list(&op.exprs)),
        Op::HashAgg(op) | Op::StreamAgg(op) | Op::RollupAgg(op) => parts.push(aggregate(op)),
        Op::Window(op) => {
            parts.push(format!("funcs:{}", list(&op.funcs)));
            parts.extend((!op.partition_by.is_empty()).then(|| format!("partition by:{}", list(&op.partition_by))));
            parts.extend((!op.order_by.is_empty()).then(|| format!("order by:{}", keys(&op.order_by))));
        }
        Op::HashJoin(op) => {
            parts.push(join_name(op.kind).to_owned());
            parts.push(format!("build:{}", if op.build == Side::Left { "left" } else { "right" }));
            parts.extend(match_info(&op.keys, &op.conditions));
            parts.extend((op.null_aware_keys > 0).then(|| "null aware".to_owned()));
        }
        Op::IndexJoin(op) => {
            parts.push(join_name(op.kind).to_owned());
            parts.push(format!("lookup:({})", list(&op.lookup)));
            parts.extend(match_info(&op.keys, &op.conditions));
        }
        Op::MergeJoin(op) => {
            parts.push(join_name(op.kind).to_owned());
            parts.extend(match_info(&op.keys, &op.conditions));
        }
        Op::Apply(op) => {
            parts.push(join_name(op.kind).to_owned());
            parts.extend(op.bindings.iter().map(|(slot, column)| format!("?{slot}:=#{column}")));
            parts.extend(match_info(&op.keys, &op.conditions));
        }
        Op::Sort(op) => parts.push(keys(&op.by)),
        Op::TopN(op) => parts.push(format!("{}, {}", keys(&op.by), limit_info(&op.limit))),
        Op::Limit(op) => parts.push(limit_info(&op.limit)),
        Op::SelectLock(op) => parts.push(lock_info(op.lock)),
        Op::UnionAll(_) | Op::MaxOneRow(_) => {}
        Op::Insert(op) => parts.extend(match &op.source {
            InsertSource::Values(rows) => Some(format!("rows:{}", rows.len())),
            InsertSource::Query(_) => None,
        }),
        Op::Update(op) => {
            for target in &op.targets {
                let columns = target.assignments.iter().map(|a| format!("{} = {}", target.table.columns[a.column].name, a.value));
                parts.push(format!("{}: {}", target.table.name, columns.collect::<Vec<_>>().join(", ")));
            }
        }
        Op::Delete(op) => parts.extend(op.targets.iter().map(|target| target.table.name.clone())),
    }
    parts.join(", ")
}

fn list<T: Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

fn keys(by: &[SortKey]) -> String {
    by.iter().map(|key| format!("{}{}", key.expr, if key.desc { " desc" } else { "" })).collect::<Vec<_>>().join(", ")
}

fn limit_info(limit: &RowLimit) -> String {
    match &limit.offset {
        Some(offset) => format!("offset:{offset}, count:{}", limit.count),
        None => format!("count:{}", limit.count),
    }
}

fn order_info(keep_order: bool, desc: bool) -> String {
    format!("keep order:{keep_order}{}", if desc { ", desc" } else { "" })
}

fn lock_info(lock: RowLock) -> String {
    let strength = if lock.shared { "for share" } else { "for update" };
    let wait = match lock.wait {
        LockWait::Default => "",
        LockWait::NoWait => " nowait",
        LockWait::SkipLocked => " skip locked",
    };
    format!("lock:{strength}{wait}")
}

fn aggregate(op: &Aggregate) -> String {
    aggregate_info(&op.group_by, &op.aggs)
}

fn aggregate_info(group_by: &[expr::Expr], aggs: &[expr::AggDesc]) -> String {
    let groups = (!group_by.is_empty()).then(|| format!("group by:{}", list(group_by)));
    let funcs = (!aggs.is_empty()).then(|| format!("funcs:{}", list(aggs)));
    groups.into_iter().chain(funcs).collect::<Vec<_>>().join(", ")
}

fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner join",
        JoinKind::LeftOuter => "left outer join",
        JoinKind::Semi => "semi join",
        JoinKind::AntiSemi => "anti semi join",
        JoinKind::Mark => "mark join",
    }
}

fn match_info(keys: &[JoinKey], conditions: &[expr::Expr]) -> Vec<String> {
    let pair = |key: &JoinKey| format!("{} {} {}", key.left, if key.null_safe { "<=>" } else { "=" }, key.right);
    let mut parts = vec![];
    if !keys.is_empty() {
        parts.push(format!("equal:[{}]", keys.iter().map(pair).collect::<Vec<_>>().join(", ")));
    }
    if !conditions.is_empty() {
        parts.push(format!("other cond:{}", list(conditions)));
    }
    parts
}
