//! Running statements that have a plan.
//!
//! A statement of autocommit that fails for a conflict with another transaction is repeated: nobody has seen anything of it. In a
//! pessimistic transaction the statement is repeated at a newer `for_update_ts`, after what it had written is undone. An optimistic
//! transaction is never repeated.

use std::{sync::Arc, time::Duration};

use catalog::InfoSchema;
use env::CancelToken;
use exec::{ExecCtx, Execution, MemTracker, RuntimeStats, TxnHandle, dml::Affected};
use expr::EvalCtx;
use parser::{
    Parsed,
    ast::{self, ExplainTarget, Literal, LiteralId, Stmt},
};
use planner::{
    PlanCtx, SystemVariables,
    physical::{ExplainMode, Node, Op, OutputColumn},
};
use types::{
    Datum, Decimal, FieldType,
    mysql_error::{ER_SP_FETCH_NO_DATA, ER_TOO_MANY_ROWS, MysqlError},
};

use crate::{
    Error,
    plan_cache::{CachedPlan, PlanKey, param_type},
    result::{Outcome, ResultRows, StatementResult},
    session::Session,
    transaction::{Placement, StatementEnd},
    vars::{GlobalVars, SessionVars},
};

/// Statements of autocommit run this often without locks before they take them.
const OPTIMISTIC_TRIES: usize = 2;
/// A statement that conflicts this often in a row gives up.
const MAX_TRIES: usize = 256;

/// System variables as the planner reads them.
pub(crate) struct VariableReader<'a> {
    pub vars: &'a SessionVars,
    pub global: &'a GlobalVars,
    pub session: SessionFigures,
}

/// Variables that are figures of the session rather than settings.
#[derive(Clone, Copy)]
pub(crate) struct SessionFigures {
    pub last_insert_id: u64,
    pub warnings: u64,
    pub errors: u64,
    pub current_ts: u64,
}

impl SystemVariables for VariableReader<'_> {
    fn system_variable(&self, scope: Option<parser::ast::VarScope>, name: &str) -> Result<(Datum, FieldType), MysqlError> {
        let figure = match name.to_ascii_lowercase().as_str() {
            "last_insert_id" | "identity" => Some(self.session.last_insert_id),
            "warning_count" => Some(self.session.warnings),
            "error_count" => Some(self.session.errors),
            "tidb_current_ts" => Some(self.session.current_ts),
            _ => None,
        };
        match figure {
            Some(figure) => Ok((Datum::UInt(figure), FieldType::unsigned_bigint())),
            None => self.vars.read(scope, name, self.global),
        }
    }
}

/// What a statement is executed with.
struct Run<'a> {
    cached: &'a Arc<CachedPlan>,
    params: Arc<[Datum]>,
    /// Rows of a file that a LOAD DATA has inserted before; none for any other statement.
    loaded_rows: Option<u64>,
}

impl Session {
    /// Runs the first statement of a text.
    pub(crate) async fn run_text(&mut self, sql: &[u8]) -> Result<(StatementResult, usize), Error> {
        if self.client.password_expired {
            self.check_password_change(sql)?;
        }
        let mut normalized = std::mem::take(&mut self.normalized);
        let is_normal = parser::normalize_into(sql, &self.vars.hot.parse, &mut normalized);
        if is_normal && self.vars.hot.cache_text {
            let env = self.plan_env();
            let key = PlanKey { text: &normalized.key, param_types: &[], env: &env };
            let current = self.domain.catalog().current();
            if let Some(cached) = self.plans.get(self.domain.plans(), &key, &current)
                && self.admit(&cached)?
            {
                let params = literal_values(&normalized.literals);
                self.normalized = normalized;
                self.forget_diagnostics();
                let result = self.run_plan(&cached, params).await?;
                return Ok((result, sql.len()));
            }
        }
        let parsed = parser::parse_one_bytes(sql, &self.vars.hot.parse);
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                self.normalized = normalized;
                self.forget_diagnostics();
                return Err(error.into());
            }
        };
        let more = sql[parsed.consumed..].iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';');
        if more && !self.client.multi_statements {
            return Err(self.second_statement(sql, parsed.consumed));
        }
        let consumed = if more { parsed.consumed } else { sql.len() };
        if !has_plan(&parsed.stmt) {
            self.normalized = normalized;
            return Ok((Box::pin(self.run_other(parsed.stmt)).await?, consumed));
        }
        self.forget_diagnostics();
        let parametrized = is_normal && !parsed.structural_literals && normalized.literals.len() == parsed.literals as usize;
        let params = if parametrized { literal_values(&normalized.literals) } else { Arc::from([]) };
        let env = self.plan_env();
        let text: &[u8] = if parametrized { &normalized.key } else { b"" };
        let key = PlanKey { text, param_types: &[], env: &env };
        let literals = parametrized.then_some(params.len());
        let cached = loop {
            let cached = self.make_plan(&parsed.stmt, &key, literals, &params)?;
            if self.admit(&cached)? {
                break cached;
            }
        };
        if parametrized && self.vars.hot.cache_text {
            self.plans.put(self.domain.plans(), &key, &cached);
        }
        self.normalized = normalized;
        let result = self.run_plan(&cached, params).await?;
        Ok((result, consumed))
    }

    /// Runs a prepared statement with the values of its markers.
    pub(crate) async fn run_prepared(&mut self, id: u32, values: Vec<Datum>) -> Result<StatementResult, Error> {
        let Some(prepared) = self.prepared.get(&id) else {
            let message = format!("Unknown prepared statement handler ({id}) given to EXECUTE");
            return Err(MysqlError::new(types::mysql_error::ER_UNKNOWN_STMT_HANDLER, message).into());
        };
        let (text, parsed) = (prepared.text.clone(), prepared.parsed.clone());
        if self.client.password_expired {
            self.check_password_change(&text)?;
        }
        if !has_plan(&parsed.stmt) {
            return Box::pin(self.run_other(parsed.stmt.clone())).await;
        }
        self.forget_diagnostics();
        let collation = self.vars.hot.collation;
        let types: smallvec::SmallVec<[FieldType; 8]> = values.iter().map(|value| param_type(value, collation)).collect();
        let env = self.plan_env();
        let key = PlanKey { text: &text, param_types: &types, env: &env };
        let current = self.domain.catalog().current();
        let found = self.vars.hot.cache_prepared.then(|| self.plans.get(self.domain.plans(), &key, &current)).flatten();
        let params: Arc<[Datum]> = values.into();
        let cached = match found {
            Some(cached) if self.admit(&cached)? => cached,
            _ => loop {
                let cached = self.make_plan(&parsed.stmt, &key, None, &params)?;
                if self.admit(&cached)? {
                    if self.vars.hot.cache_prepared {
                        self.plans.put(self.domain.plans(), &key, &cached);
                    }
                    break cached;
                }
            },
        };
        self.run_plan(&cached, params).await
    }

    /// The result columns of a statement before the types of its values are known.
    pub(crate) fn columns_of(&mut self, parsed: &Parsed) -> Result<Arc<[OutputColumn]>, Error> {
        if !has_plan(&parsed.stmt) {
            return Ok(Arc::from([]));
        }
        let env = self.plan_env();
        let key = PlanKey { text: b"", param_types: &[], env: &env };
        let cached = self.make_plan(&parsed.stmt, &key, None, &[])?;
        self.check_plan(&cached)?;
        if !cached.plan.into.is_empty() {
            return Ok(Arc::from([]));
        }
        Ok(cached.columns.clone())
    }

    /// Plans a statement with the current schema.
    pub(crate) fn make_plan(
        &self,
        stmt: &Stmt,
        key: &PlanKey<'_>,
        literals: Option<usize>,
        values: &[Datum],
    ) -> Result<Arc<CachedPlan>, Error> {
        let schema = self.domain.catalog().current();
        let eval = self.eval_ctx(Arc::from([]), false);
        let gate = self.gate(stmt);
        let variables = VariableReader { vars: &self.vars, global: self.domain.globals(), session: self.figures() };
        let ctx = PlanCtx {
            infoschema: &schema,
            stats: self.domain.stats_source(),
            database: self.connection.database.as_deref(),
            eval: &eval,
            variables: &variables,
            literal_count: literals,
            param_types: key.param_types,
            param_values: if literals.is_some() { &[] } else { values },
            rules: self.vars.hot.rules,
            gate: if self.access.covers_all_rows() { None } else { Some(&gate) },
        };
        let limited = self.vars.hot.select_limit.and_then(|limit| limited(stmt, limit));
        let plan = planner::plan(limited.as_ref().unwrap_or(stmt), &ctx)?;
        Ok(CachedPlan::new(plan, schema, key, self.domain.plans()))
    }

    fn figures(&self) -> SessionFigures {
        SessionFigures {
            last_insert_id: self.last_insert_id.get(),
            warnings: self.forgotten.conditions,
            errors: self.forgotten.errors,
            current_ts: 0,
        }
    }

    /// Checks privileges and writes down which tables the statement uses. `false`: one of them has changed since the plan was made.
    pub(crate) fn admit(&mut self, cached: &CachedPlan) -> Result<bool, Error> {
        self.check_plan(cached)?;
        Ok(self.mdl.enter(|| self.domain.catalog().current(), &cached.schema, &cached.tables).is_ok())
    }

    /// Executes a plan that was admitted. Only plain reads are executed in place: the others' futures are large, and would be moved by every
    /// caller of every statement.
    async fn run_plan(&mut self, cached: &Arc<CachedPlan>, params: Arc<[Datum]>) -> Result<StatementResult, Error> {
        let run = Run { cached, params, loaded_rows: None };
        let plan = &cached.plan;
        let analyzes = plan.explain == Some(ExplainMode::Analyze);
        let result = if !plan.into.is_empty() {
            Box::pin(self.run_into(&run)).await
        } else if plan.explain == Some(ExplainMode::Plan) {
            Ok(StatementResult::Rows(crate::explain::plan_rows(cached, None)))
        } else if plan.is_write {
            Box::pin(self.run_write(&run)).await
        } else if plan.locks_rows {
            Box::pin(self.run_locking_read(&run)).await
        } else if analyzes {
            Box::pin(self.run_analyzed(&run)).await
        } else {
            return self.run_read(&run).await;
        };
        if result.is_err() || self.txn.is_none() {
            self.leave_if_free();
        }
        result
    }

    /// Metadata locks end with the statement outside a transaction.
    fn leave_if_free(&self) {
        if self.txn.is_none() {
            self.mdl.leave();
        }
    }

    fn exec_ctx(&self, run: &Run<'_>, placement: &Placement, stats: Option<Arc<RuntimeStats>>) -> ExecCtx {
        let plan = &run.cached.plan;
        let eval = self.eval_ctx(run.params.clone(), plan.is_write);
        // Virtual tables show the schema of now; no metadata lock keeps their plans from growing older than it.
        let of_now = run.cached.has_virtual_tables.then(|| self.domain.catalog().current());
        let mut ctx = self.bare_ctx(placement, of_now.unwrap_or_else(|| run.cached.schema.clone()), eval);
        ctx.virtual_tables = run.cached.has_virtual_tables.then(|| self.virtual_tables());
        ctx.deadline = self.vars.hot.max_execution_time.filter(|_| !plan.is_write).map(|limit| ctx.env.now() + limit);
        ctx.stats = stats;
        ctx.loaded_rows = run.loaded_rows;
        if plan.waits && plan.explain.is_none() && yields_one_row_of_its_own(&plan.root) && plan.scalar_subqueries.is_empty() {
            // A query that does nothing but SLEEP gives the answer that it was interrupted, and no error.
            ctx.cancel = CancelToken::never();
        }
        ctx
    }

    /// A context without a plan, for what the session executes itself.
    pub(crate) fn bare_ctx(&self, placement: &Placement, schema: Arc<InfoSchema>, eval: EvalCtx) -> ExecCtx {
        let client = self.domain.client();
        ExecCtx {
            client: client.clone(),
            txn: placement.txn.clone(),
            pessimistic: placement.pessimistic,
            read_ts: placement.read_ts,
            eval: Arc::new(eval),
            infoschema: schema,
            auto_ids: self.domain.catalog().auto_ids().clone(),
            virtual_tables: None,
            cancel: self.handle.token().clone(),
            deadline: None,
            env: client.env().clone(),
            memory: MemTracker::new(self.vars.hot.memory_quota),
            vars: self.vars.hot.exec.clone(),
            stats: None,
            loaded_rows: None,
        }
    }

    async fn run_read(&mut self, run: &Run<'_>) -> Result<StatementResult, Error> {
        self.note_read(run.cached);
        let placed = match self.place_read().await {
            Ok(placement) => self.check_definitions(run.cached, &placement).map(|()| placement),
            Err(error) => Err(error),
        };
        let done = match placed {
            Ok(placement) => {
                let ctx = self.exec_ctx(run, &placement, None);
                exec::execute(&run.cached.plan, ctx).await.map_err(Error::from)
            }
            Err(error) => Err(error),
        };
        match done {
            Ok(Execution::Rows(stream)) => {
                Ok(StatementResult::Rows(ResultRows::stream(run.cached.columns.clone(), stream, StatementEnd { own: None })))
            }
            Ok(Execution::Affected(_)) => {
                self.leave_if_free();
                Ok(StatementResult::Done(Outcome::default()))
            }
            Err(error) => {
                self.leave_if_free();
                Err(error)
            }
        }
    }

    /// INSERT, REPLACE, UPDATE, DELETE; also their EXPLAIN ANALYZE.
    async fn run_write(&mut self, run: &Run<'_>) -> Result<StatementResult, Error> {
        self.check_writable()?;
        let analyzes = run.cached.plan.explain == Some(ExplainMode::Analyze);
        let stats = analyzes.then(|| crate::explain::runtime_stats(&run.cached.plan));
        let (execution, _) = self.run_until_settled(run, stats.clone()).await?;
        let Execution::Affected(affected) = execution else { return Ok(StatementResult::Done(Outcome::default())) };
        match self.txn.is_some() {
            true => {
                self.note_activity(|activity| activity.wrote = true);
                self.note_changes(&affected.changes);
            }
            false => self.count_changes(&affected.changes),
        }
        if let Some(stats) = stats {
            return Ok(StatementResult::Rows(crate::explain::plan_rows(run.cached, Some(&stats))));
        }
        self.row_count = affected.rows as i64;
        Ok(StatementResult::Done(Outcome {
            affected_rows: affected.rows,
            last_insert_id: affected.last_insert_id,
            info: affected.info(self.warnings.count()),
        }))
    }

    /// One INSERT of a LOAD DATA, in the open transaction.
    pub(crate) async fn run_insert(&mut self, cached: &Arc<CachedPlan>, params: Arc<[Datum]>, before: u64) -> Result<Affected, Error> {
        let run = Run { cached, params, loaded_rows: Some(before) };
        let (execution, _) = Box::pin(self.run_until_settled(&run, None)).await?;
        let Execution::Affected(affected) = execution else { return Ok(Affected::default()) };
        self.note_changes(&affected.changes);
        Ok(affected)
    }

    /// SELECT … FOR UPDATE / FOR SHARE: all rows are locked before the first is given out, so that a conflict can repeat it unseen.
    async fn run_locking_read(&mut self, run: &Run<'_>) -> Result<StatementResult, Error> {
        let (_, chunks) = self.run_until_settled(run, None).await?;
        self.note_read(run.cached);
        Ok(StatementResult::Rows(ResultRows::ready(run.cached.columns.clone(), chunks)))
    }

    /// SELECT … INTO @a, …: the variables take the values of the first row; a second one is an error, none a warning.
    async fn run_into(&mut self, run: &Run<'_>) -> Result<StatementResult, Error> {
        let mut found = 0;
        if run.cached.plan.locks_rows {
            let (_, chunks) = self.run_until_settled(run, None).await?;
            chunks.iter().try_for_each(|chunk| self.fill_variables(run, chunk, &mut found))?;
        } else {
            let placement = self.place_read().await?;
            self.check_definitions(run.cached, &placement)?;
            let ctx = self.exec_ctx(run, &placement, None);
            if let Execution::Rows(mut stream) = exec::execute(&run.cached.plan, ctx).await? {
                while let Some(chunk) = stream.next().await? {
                    self.fill_variables(run, &chunk, &mut found)?;
                }
            }
        }
        if found == 0 {
            self.warnings.warn(ER_SP_FETCH_NO_DATA.code, "No data - zero rows fetched, selected, or processed");
        }
        self.row_count = found as i64;
        Ok(StatementResult::Done(Outcome { affected_rows: found, ..Outcome::default() }))
    }

    fn fill_variables(&self, run: &Run<'_>, chunk: &types::Chunk, found: &mut u64) -> Result<(), Error> {
        for row in chunk.iter() {
            *found += 1;
            if *found > 1 {
                return Err(MysqlError::new(ER_TOO_MANY_ROWS, "Result consisted of more than one row").into());
            }
            for (at, (name, column)) in run.cached.plan.into.iter().zip(run.cached.columns.iter()).enumerate() {
                let (value, ty) = crate::set::variable_value(row.get(at), &column.ty, self.time_zone());
                self.user_vars.set(name, value, ty);
            }
        }
        Ok(())
    }

    /// EXPLAIN ANALYZE of a read: the rows are counted and dropped.
    async fn run_analyzed(&mut self, run: &Run<'_>) -> Result<StatementResult, Error> {
        let placement = self.place_read().await?;
        self.check_definitions(run.cached, &placement)?;
        let stats = crate::explain::runtime_stats(&run.cached.plan);
        let ctx = self.exec_ctx(run, &placement, Some(stats.clone()));
        if let Execution::Rows(mut stream) = exec::execute(&run.cached.plan, ctx).await? {
            while stream.next().await?.is_some() {}
        }
        Ok(StatementResult::Rows(crate::explain::plan_rows(run.cached, Some(&stats))))
    }

    /// Executes to the end, and again after conflicts, as the module's text says.
    async fn run_until_settled(
        &mut self,
        run: &Run<'_>,
        stats: Option<Arc<RuntimeStats>>,
    ) -> Result<(Execution, Vec<types::Chunk>), Error> {
        let keeps_keys = run.cached.has_foreign_keys && self.vars.hot.exec.foreign_key_checks;
        let mut lock = keeps_keys || (run.cached.plan.locks_rows && !run.cached.plan.is_write);
        for attempt in 0.. {
            lock |= attempt >= OPTIMISTIC_TRIES;
            let placement = self.place_write(lock).await?;
            if let Err(error) = self.check_definitions(run.cached, &placement) {
                if placement.own
                    && let Some(handle) = &placement.txn
                {
                    handle.lock().await.rollback().await;
                }
                return Err(error);
            }
            let done = self.run_once(run, &placement, stats.clone()).await;
            let error = match done {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            // Who meets a lock without taking locks queues for it next time, first come, first served.
            let queues = placement.own && !placement.pessimistic && error.is_lock_wait();
            lock |= queues;
            let repeatable = placement.own || placement.pessimistic;
            if !(repeatable && (error.is_retryable() || queues) && attempt + 1 < MAX_TRIES) {
                if error.ends_transaction() && !placement.own {
                    self.rollback().await;
                }
                return Err(error);
            }
            self.handle.token().check().map_err(exec::Error::from)?;
            tracing::debug!(connection = self.handle.id().0, attempt, %error, "repeating a statement after a conflict");
            if self.warnings.count() > 0 {
                self.warnings.take();
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// One try. On an error nothing of it is left.
    async fn run_once(
        &mut self,
        run: &Run<'_>,
        placement: &Placement,
        stats: Option<Arc<RuntimeStats>>,
    ) -> Result<(Execution, Vec<types::Chunk>), Error> {
        let ctx = self.exec_ctx(run, placement, stats);
        let handle = placement.txn.clone().ok_or(exec::Error::NoTransaction)?;
        if placement.own {
            let done = collect(run, ctx).await;
            return match done {
                Ok(done) => self.commit_own(handle, placement.pessimistic).await.map(|()| done),
                Err(error) => {
                    handle.lock().await.rollback().await;
                    Err(error)
                }
            };
        }
        // Execution undoes its own writes when it fails.
        collect(run, ctx).await
    }

    /// Commits a statement's own transaction. Without locks of its own it waits for nobody.
    async fn commit_own(&self, handle: TxnHandle, pessimistic: bool) -> Result<(), Error> {
        let mut txn = handle.lock().await;
        let mut options = self.commit_options();
        if !pessimistic {
            options.lock_wait = Duration::ZERO;
        }
        match Box::pin(txn.commit_with(options)).await {
            Ok(_) => Ok(()),
            Err(error) => {
                if !txn.has_ended() {
                    txn.rollback().await;
                }
                Err(self.commit_error(error))
            }
        }
    }

    /// The rows of a read have been fetched, or nobody wants them any more.
    pub(crate) async fn end_statement(&mut self, own: Option<TxnHandle>, complete: bool) -> Result<(), Error> {
        let done = match own {
            Some(handle) => Box::pin(self.end_own(handle, complete)).await,
            None => Ok(()),
        };
        self.leave_if_free();
        done
    }

    /// Ends the transaction of a statement whose rows were fetched, or left.
    async fn end_own(&self, handle: TxnHandle, complete: bool) -> Result<(), Error> {
        if complete {
            return self.commit_own(handle, true).await;
        }
        handle.lock().await.rollback().await;
        Ok(())
    }
}

/// Whether a plan reads nothing: it computes one row, as a SELECT without FROM does.
fn yields_one_row_of_its_own(node: &Node) -> bool {
    match &node.op {
        Op::Values(values) => values.rows.len() == 1,
        Op::Projection(_) => node.children().into_iter().all(yields_one_row_of_its_own),
        _ => false,
    }
}

/// Executes and reads all rows.
async fn collect(run: &Run<'_>, ctx: ExecCtx) -> Result<(Execution, Vec<types::Chunk>), Error> {
    let mut chunks = Vec::new();
    let mut execution = exec::execute(&run.cached.plan, ctx).await?;
    if let Execution::Rows(stream) = &mut execution {
        while let Some(chunk) = stream.next().await? {
            chunks.push(chunk);
        }
    }
    Ok((execution, chunks))
}

/// A query without a LIMIT of its own under `sql_select_limit`.
fn limited(stmt: &Stmt, limit: u64) -> Option<Stmt> {
    let Stmt::Query(query) = stmt else { return None };
    if query.limit.is_some() {
        return None;
    }
    let mut query = query.clone();
    let count = ast::Expr::Literal(Literal::UInt(limit), LiteralId::NONE);
    query.limit = Some(ast::Limit { count, offset: None, comma: false });
    Some(Stmt::Query(query))
}

/// Whether a statement is planned and executed, rather than done by the session itself.
pub(crate) fn has_plan(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Query(_) | Stmt::Insert(_) | Stmt::Update(_) | Stmt::Delete(_) => true,
        Stmt::Explain(explain) => matches!(&explain.target, ExplainTarget::Stmt(target) if has_plan(target)),
        _ => false,
    }
}

/// Values of literals as parameters.
fn literal_values(literals: &[parser::ast::Literal]) -> Arc<[Datum]> {
    literals.iter().map(literal_value).collect()
}

/// The value of a literal that stands for a parameter, in the type the planner gives such a parameter.
fn literal_value(literal: &Literal) -> Datum {
    match literal {
        Literal::Null => Datum::Null,
        Literal::Bool(value) => Datum::Int(i64::from(*value)),
        Literal::Int(value) => Datum::Int(*value),
        Literal::UInt(value) => Datum::UInt(*value),
        Literal::Decimal(digits) => match Decimal::parse(digits.as_bytes()) {
            Ok(value) => Datum::Decimal(value),
            Err(_) => Datum::Double(digits.parse().unwrap_or(f64::MAX)),
        },
        Literal::Float(value) => Datum::Double(*value),
        Literal::Str(text) | Literal::Hex(text) | Literal::Bit(text) => Datum::Bytes(text.to_vec()),
        Literal::Introduced(introduced) => Datum::Bytes(introduced.value.to_vec()),
    }
}
