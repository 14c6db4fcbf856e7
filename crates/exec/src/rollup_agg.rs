//! GROUP BY … WITH ROLLUP: groups of all levels from one pass over input that is ordered by the group keys.
//!
//! ```text
//!   input a b     level 2 (a, b)   level 1 (a)   level 0
//!         1 1     ┐
//!         1 1     ┘ 1 1
//!         1 2       1 2            1 NULL                       where key 0 changes, levels 2 and 1 end
//!         2 1       2 1            2 NULL        NULL NULL      at the end all do
//! ```
//!
//! Every level groups by its own prefix of the keys. Its finished groups wait in a queue until the borders between the input rows say in
//! which order the levels' rows come: a border where key `k` is the first to change ends the levels above `k`, the finest first.
//!
//! Invariants
//! - A level has finished exactly as many groups as there were borders that end it.
//! - Without input there is no row, not even the grand total (as in MySQL).

use std::cmp::Ordering;

use async_trait::async_trait;
use copr::aggregator::OrderedAggregator;
use copr::sort_key::eval_columns;
use planner::physical::Aggregate as Plan;
use types::{Chunk, Column, Datum, FieldType};

use crate::memory::Reservation;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{Error, ExecCtx, Result};

const OPERATOR: &str = "RollupAgg";

/// Groups ordered input on all levels.
pub(crate) struct RollupAgg {
    plan: PlanRef<Plan>,
    types: PlanRef<[FieldType]>,
    child: BoxOperator,
    /// By how many keys they group: 0 up to all.
    levels: Vec<Level>,
    /// The keys of the last row.
    last: Option<Vec<Column>>,
    reservation: Option<Reservation>,
    done: bool,
}

/// The groups by the first `keys` keys.
struct Level {
    keys: usize,
    running: OrderedAggregator,
    /// Finished groups: keys, then results.
    finished: Option<Chunk>,
    /// How many of them have been handed up.
    taken: usize,
}

impl RollupAgg {
    pub(crate) fn new(plan: PlanRef<Plan>, types: PlanRef<[FieldType]>, child: BoxOperator) -> Self {
        let level = |keys: usize| {
            let running = OrderedAggregator::new(&plan.group_by[..keys], &plan.aggs);
            Level { keys, running, finished: None, taken: 0 }
        };
        let levels = (0..=plan.group_by.len()).map(level).collect();
        Self { plan, types, child, levels, last: None, reservation: None, done: false }
    }

    /// Feeds a chunk to all levels; the rows of those groups that end in it.
    fn push(&mut self, chunk: &Chunk, ctx: &ExecCtx) -> Result<Chunk> {
        let keys = eval_columns(&self.plan.group_by, &ctx.eval, chunk)?;
        for level in &mut self.levels {
            level.push(&keys, &self.plan, chunk, ctx)?;
        }
        let mut out = Chunk::new(&self.types, 0);
        for row in 0..chunk.rows() {
            let changed = match row.checked_sub(1) {
                Some(before) => self.first_change((&keys, before), (&keys, row)),
                None => self.last.as_ref().and_then(|last| self.first_change((last, 0), (&keys, row))),
            };
            if let Some(changed) = changed {
                self.end_levels(changed + 1, &mut out)?;
            }
        }
        let last_row = chunk.rows() - 1;
        self.last = Some(keys.iter().map(|column| one_row(column, last_row)).collect());
        Ok(out)
    }

    /// The first key in which two rows differ.
    fn first_change(&self, a: (&[Column], usize), b: (&[Column], usize)) -> Option<usize> {
        let differ = |key: &usize| {
            let collation = self.plan.group_by[*key].field_type().collation;
            a.0[*key].compare_rows(a.1, &b.0[*key], b.1, collation) != Ordering::Equal
        };
        (0..self.plan.group_by.len()).find(differ)
    }

    /// Hands up one group of each level that groups by `keys` keys or more, the finest first.
    fn end_levels(&mut self, keys: usize, out: &mut Chunk) -> Result<()> {
        let group_keys = self.plan.group_by.len();
        for level in self.levels[keys..].iter_mut().rev() {
            level.take(group_keys, out)?;
        }
        Ok(())
    }

    fn finish(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        self.done = true;
        if self.last.is_none() {
            return Ok(None);
        }
        for level in &mut self.levels {
            let rest = level.running.finish(&self.plan.group_by[..level.keys], &self.plan.aggs, &ctx.eval)?;
            level.keep(rest);
        }
        let mut out = Chunk::new(&self.types, self.levels.len());
        self.end_levels(0, &mut out)?;
        Ok(Some(out))
    }

    fn account(&mut self, ctx: &ExecCtx) -> Result<()> {
        let bytes = self.levels.iter().map(Level::memory_bytes).sum();
        self.reservation.get_or_insert_with(|| ctx.memory.reserve(OPERATOR)).set(bytes)
    }
}

impl Level {
    fn push(&mut self, keys: &[Column], plan: &Plan, chunk: &Chunk, ctx: &ExecCtx) -> Result<()> {
        let group_by = &plan.group_by[..self.keys];
        let ended = self.running.update_keyed(&keys[..self.keys], group_by, &plan.aggs, &ctx.eval, chunk)?;
        self.keep(ended);
        Ok(())
    }

    fn keep(&mut self, groups: Option<Chunk>) {
        let Some(groups) = groups else { return };
        match &mut self.finished {
            Some(finished) if self.taken < finished.rows() => finished.append(&groups),
            finished => {
                *finished = Some(groups);
                self.taken = 0;
            }
        }
    }

    /// Appends the next finished group to `out`: its keys, NULL for the others, the results, the number of keys.
    fn take(&mut self, group_keys: usize, out: &mut Chunk) -> Result<()> {
        let Some(finished) = self.finished.as_ref().filter(|finished| self.taken < finished.rows()) else {
            return Err(Error::InvalidPlan("the input of a rollup is ordered by its keys"));
        };
        let row = finished.row(self.taken);
        let columns = out.columns_mut();
        let results = columns.len() - 1 - group_keys;
        for (at, column) in columns.iter_mut().enumerate() {
            match at {
                at if at < self.keys => column.push_ref(row.get(at)),
                at if at < group_keys => column.push_null(),
                at if at < group_keys + results => column.push_ref(row.get(at - group_keys + self.keys)),
                _ => column.push(&Datum::Int(self.keys as i64)),
            }
        }
        out.set_rows(out.rows() + 1);
        self.taken += 1;
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.running.memory_bytes() + self.finished.as_ref().map_or(0, Chunk::memory_bytes)
    }
}

fn one_row(column: &Column, row: usize) -> Column {
    let mut one = column.empty_like(1);
    one.push_from(column, row);
    one
}

#[async_trait]
impl Operator for RollupAgg {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if self.done {
            return Ok(None);
        }
        while let Some(chunk) = self.child.next(ctx).await? {
            ctx.checkpoint().await?;
            let out = self.push(&chunk, ctx)?;
            self.account(ctx)?;
            if out.rows() > 0 {
                return Ok(Some(out));
            }
        }
        self.finish(ctx)
    }
}
