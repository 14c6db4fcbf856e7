//! Functional dependence: which columns have one value for each combination of the group keys (ONLY_FULL_GROUP_BY).
//!
//! It starts from the keys that are bare columns and follows constants and equalities of the conditions, and a primary key or NOT NULL
//! unique key to all columns of its table. (SQL:2016 part 2, 4.26; MySQL 8.0 manual, 14.19.4.)

use expr::{Expr, Op};

use crate::logical::{Col, Plan, ScanSource, columns_of};

/// The columns that have one value for each combination of the group keys.
pub(super) fn dependent_columns(plan: &Plan, group_by: &[(Col, Expr)]) -> Vec<Col> {
    let mut known: Vec<Col> = group_by.iter().filter_map(|(_, expr)| expr.as_column()).collect();
    let mut facts = Facts::default();
    facts.collect(plan);
    loop {
        let before = known.len();
        for (from, to) in &facts.implied {
            if from.iter().all(|col| known.contains(col)) {
                for col in to {
                    if !known.contains(col) {
                        known.push(*col);
                    }
                }
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// Functional dependencies: the left columns determine the right ones.
#[derive(Default)]
struct Facts {
    implied: Vec<(Vec<Col>, Vec<Col>)>,
}

impl Facts {
    fn collect(&mut self, plan: &Plan) {
        match plan {
            Plan::Scan(scan) => {
                let col_of = |offset: usize| scan.columns.iter().find(|c| c.source == ScanSource::Offset(offset)).map(|c| c.col);
                let all: Vec<Col> = scan.columns.iter().map(|column| column.col).collect();
                let mut keys = vec![scan.table.primary_key_columns()];
                for (_, index) in scan.table.public_indexes().filter(|(_, index)| index.unique && !index.has_prefix()) {
                    let offsets: Vec<usize> = index.columns.iter().map(|part| part.offset).collect();
                    if offsets.iter().all(|offset| scan.table.columns[*offset].ty.not_null) {
                        keys.push(offsets);
                    }
                }
                for key in keys.into_iter().filter(|key| !key.is_empty()) {
                    if let Some(key) = key.into_iter().map(col_of).collect::<Option<Vec<_>>>() {
                        self.implied.push((key, all.clone()));
                    }
                }
            }
            Plan::Filter(filter) => {
                self.equalities(&filter.conditions, true);
                self.collect(&filter.child);
            }
            Plan::Join(join) => {
                let inner = join.kind == crate::physical::JoinKind::Inner;
                if inner {
                    self.equalities(&join.conditions, true);
                } else if join.kind == crate::physical::JoinKind::LeftOuter {
                    let right = join.right.columns();
                    for condition in &join.conditions {
                        if let Some((a, b)) = equal_columns(condition) {
                            // An unmatched row has NULLs on the right, which the left column determines too.
                            match (right.contains(&a), right.contains(&b)) {
                                (false, true) => self.implied.push((vec![a], vec![b])),
                                (true, false) => self.implied.push((vec![b], vec![a])),
                                _ => {}
                            }
                        }
                    }
                }
                self.collect(&join.left);
                self.collect(&join.right);
            }
            Plan::Project(project) => {
                for (col, expr) in &project.exprs {
                    if expr.is_deterministic() && expr.as_column() != Some(*col) {
                        self.implied.push((columns_of(expr), vec![*col]));
                    }
                }
                self.collect(&project.child);
            }
            Plan::Aggregate(agg) => {
                let keys: Vec<Col> = agg.group_by.iter().map(|(col, _)| *col).collect();
                // Under ROLLUP a group of NULLs and a super-aggregate row have the same keys.
                if agg.rollup.is_none() {
                    self.implied.push((keys, agg.aggs.iter().map(|(col, _)| *col).collect()));
                }
                // Dependencies below hold above for the columns that are handed up.
                self.collect(&agg.child);
            }
            Plan::Window(window) => self.collect(&window.child),
            Plan::Sort(sort) => self.collect(&sort.child),
            Plan::Limit(limit) => self.collect(&limit.child),
            Plan::Lock(lock) => self.collect(&lock.child),
            Plan::MaxOneRow(child) => self.collect(child),
            Plan::Values(_) | Plan::Union(_) => {}
        }
    }

    fn equalities(&mut self, conditions: &[Expr], both_ways: bool) {
        for condition in conditions {
            if let Some((a, b)) = equal_columns(condition) {
                self.implied.push((vec![a], vec![b]));
                if both_ways {
                    self.implied.push((vec![b], vec![a]));
                }
            } else if let Some((Op::Eq, [a, b])) = condition.as_op() {
                match (a.as_column(), b.as_column()) {
                    (Some(col), None) if b.is_constant() => self.implied.push((vec![], vec![col])),
                    (None, Some(col)) if a.is_constant() => self.implied.push((vec![], vec![col])),
                    _ => {}
                }
            }
        }
    }
}

/// The two columns of `a = b`.
fn equal_columns(condition: &Expr) -> Option<(Col, Col)> {
    match condition.as_op()? {
        (Op::Eq, [a, b]) => Some((a.as_column()?, b.as_column()?)),
        _ => None,
    }
}
