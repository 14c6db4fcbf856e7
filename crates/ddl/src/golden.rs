//! Golden scripts for statements and the state machine: SQL in, every step out, over a schema in memory.
//!
//! A script under `tests/golden` is a list of commands, each a line beginning with `> `, and what they print:
//!
//! | command | prints |
//! |---|---|
//! | `> SQL` | the job's steps with their writes, or the error |
//! | `> cancel in STATE: SQL` | the same, with the job cancelled when its elements have reached that state |
//! | `> fail backfill: SQL` | the same, with a duplicate key found by the backfill |
//! | `> show TABLE` | SHOW CREATE TABLE |
//! | `> quiet SQL` | nothing, unless it fails |
//!
//! `UPDATE_GOLDEN=1` rewrites the scripts; people review the difference.

use std::{fmt::Write as _, path::Path};

use base::DatabaseId;
use catalog::{DatabaseInfo, InfoSchema, InfoSchemaBuilder, SchemaState, TableInfo, show_create};
use parser::ParseOptions;
use types::{Charset, Collation, TimeZone, convert::ConvertMode};

use crate::{
    Error,
    build::BuildContext,
    ddl::{Plan, plan},
    job::{Action, Job, JobError},
    step::{Advance, Step, Write, step},
};

#[test]
fn golden_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut failed = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the folder is there") {
        let path = entry.expect("readable").path();
        let script = std::fs::read_to_string(&path).expect("readable");
        let actual = Runner::new().run(&script);
        if actual == script {
            continue;
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, actual).expect("writable");
        } else {
            let line = actual.lines().zip(script.lines()).position(|(a, b)| a != b).unwrap_or(0);
            failed.push(format!("{} differs at line {}:\n{actual}", path.display(), line + 1));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

struct Runner {
    schema: InfoSchema,
    next_id: i64,
}

impl Runner {
    fn new() -> Self {
        let mut builder = InfoSchemaBuilder::default();
        catalog::infoschema_tables::define(&mut builder);
        for (id, name) in [(1, "test"), (2, "other")] {
            builder.put_database(DatabaseInfo {
                id: DatabaseId(id),
                name: name.into(),
                charset: Charset::Utf8mb4,
                collation: Collation::Utf8mb4_0900AiCi,
                state: SchemaState::Public,
            });
        }
        Self { schema: builder.build(), next_id: 10 }
    }

    fn run(&mut self, script: &str) -> String {
        let mut out = String::new();
        let mut lines = script.lines().peekable();
        while let Some(line) = lines.next() {
            let _ = writeln!(out, "{line}");
            let Some(command) = line.strip_prefix("> ") else { continue };
            // What follows up to the next blank line is the old output.
            while lines.peek().is_some_and(|line| !line.is_empty()) {
                lines.next();
            }
            out.push_str(&self.command(command));
        }
        out
    }

    fn command(&mut self, command: &str) -> String {
        if let Some(name) = command.strip_prefix("show ") {
            let Some(table) = self.schema.table("test", name) else { return format!("no table {name}\n") };
            return format!("{}\n", show_create::show_create_table(&table, None, &TimeZone::Offset(0)));
        }
        if let Some(sql) = command.strip_prefix("quiet ") {
            let output = self.statement(sql, &|_| None);
            return if output.starts_with("ERROR") { output } else { String::new() };
        }
        if let Some((state, sql)) = command.strip_prefix("cancel in ").and_then(|rest| rest.split_once(": ")) {
            return self.statement(sql, &|job| (job.schema_state.name() == state).then_some(Error::Cancelled));
        }
        if let Some(sql) = command.strip_prefix("fail backfill: ") {
            let duplicate = || Error::DuplicateEntry { entry: "1".into(), key: "t.k".into() };
            return self.statement(sql, &|job| (job.schema_state == SchemaState::WriteReorg).then(duplicate));
        }
        self.statement(command, &|_| None)
    }

    fn statement(&mut self, sql: &str, disturb: &dyn Fn(&Job) -> Option<Error>) -> String {
        let stmt = match parser::parse(sql, &ParseOptions::default()) {
            Ok(mut stmts) if stmts.len() == 1 => stmts.remove(0),
            Ok(stmts) => return format!("{} statements\n", stmts.len()),
            Err(error) => return format!("ERROR {} ({}): {error}\n", error.code(), error.sqlstate()),
        };
        let mut out = String::new();
        let mut context = BuildContext {
            schema: &self.schema,
            database: Some("test"),
            mode: ConvertMode::STRICT,
            time_zone: &TimeZone::Offset(0),
            now_ms: 1_700_000_000_000,
            foreign_key_checks: true,
            warnings: Vec::new(),
        };
        let plans = plan(&mut context, &stmt);
        for warning in &context.warnings {
            let _ = writeln!(out, "note {}: {}", warning.code, warning.message);
        }
        match plans {
            Ok(plans) => plans.into_iter().for_each(|plan| out.push_str(&self.job(plan, disturb))),
            Err(error) => out.push_str(&shown(&error)),
        }
        if out.is_empty() { "nothing to do\n".to_owned() } else { out }
    }

    fn job(&mut self, plan: Plan, disturb: &dyn Fn(&Job) -> Option<Error>) -> String {
        let id = self.next_id;
        self.next_id += 2;
        let mut job = Job::new(id, plan.action.with_new_id(id + 1), plan.database, plan.table, "", 0);
        let mut out = String::new();
        let mut backfilled = false;
        while !job.is_finished() {
            let disturbance = if job.error.is_none() { disturb(&job) } else { None };
            let result = match disturbance {
                Some(error) => Err(error),
                None => step(&job, &self.schema),
            };
            match result {
                Ok(Step::Backfill) => {
                    assert!(!backfilled, "a finished backfill is asked for again");
                    backfilled = true;
                    out.push_str("backfill\n");
                    if let Action::AlterTable { backfill, .. } = &mut job.action {
                        backfill.finished = true;
                    }
                }
                Ok(Step::Advance(advance)) => {
                    self.apply(&advance);
                    job = advance.job;
                    let _ = write!(out, "{} {:?} {}", job.state.name(), job.phase, job.schema_state);
                    for write in &advance.writes {
                        let _ = write!(out, "; {}", describe(write));
                    }
                    if !advance.wait_for.is_empty() {
                        let _ = write!(out, "; wait for users of {}", ids(advance.wait_for.iter().map(|id| id.0)));
                    }
                    out.push('\n');
                }
                Err(error) => {
                    out.push_str(&shown(&error));
                    let error = error.to_mysql();
                    match job.fail(JobError { code: error.code, message: error.message }) {
                        Some(failed) => job = failed,
                        None => return out + "cannot be cancelled any more\n",
                    }
                }
            }
        }
        out
    }

    fn apply(&mut self, advance: &Advance) {
        let mut builder = InfoSchemaBuilder::from(&self.schema);
        builder.version(self.schema.version() + 1);
        for write in &advance.writes {
            match write {
                Write::PutDatabase(info) => {
                    builder.put_database(info.clone());
                }
                Write::RemoveDatabase(id) => {
                    builder.remove_database(*id);
                }
                Write::PutTable { table, .. } => {
                    check(table);
                    builder.put_table((**table).clone());
                }
                Write::RemoveTable(_, id) => {
                    builder.remove_table(*id);
                }
                Write::UnlinkTable(..) | Write::RaiseAutoId(..) | Write::DestroyRanges(_) => {}
            }
        }
        self.schema = builder.build();
    }
}

/// The invariants of a definition.
fn check(table: &TableInfo) {
    assert!(table.columns.iter().enumerate().all(|(i, column)| column.offset == i), "offsets are positions");
    let public = table.public_columns().len();
    assert!(table.columns[public..].iter().all(|column| !column.state.is_public()), "public columns come first");
    for index in &table.indexes {
        assert!(index.columns.iter().all(|part| part.offset < table.columns.len()), "parts point at columns");
        let public = index.columns.iter().all(|part| table.columns[part.offset].state >= index.state);
        assert!(public, "an index is never ahead of its columns");
    }
}

fn shown(error: &Error) -> String {
    let error = error.to_mysql();
    format!("ERROR {} ({}): {}\n", error.code, error.sqlstate, error.message)
}

fn ids(ids: impl Iterator<Item = i64>) -> String {
    ids.map(|id| id.to_string()).collect::<Vec<_>>().join(",")
}

fn describe(write: &Write) -> String {
    match write {
        Write::PutDatabase(info) => format!("put database {} {} {}", info.id, info.name, info.collation.name()),
        Write::RemoveDatabase(id) => format!("remove database {id}"),
        Write::PutTable { table, fence } => {
            let columns: Vec<String> = table.columns.iter().map(|column| element(&column.name, column.id.0, column.state)).collect();
            let indexes: Vec<String> = table.indexes.iter().map(|index| element(&index.name, index.id.0, index.state)).collect();
            let fence = if *fence { " fenced" } else { "" };
            let constraint = |name: &str, state: SchemaState| match state.is_public() {
                true => format!(" {name}"),
                false => format!(" {name}:{}", state.name().replace(' ', "-")),
            };
            let checks = table.checks.iter().map(|check| constraint(&check.name, check.state));
            let keys = table.foreign_keys.iter().map(|key| constraint(&key.name, key.state));
            let constraints: String = keys.chain(checks).collect();
            let state = if table.state.is_public() { "" } else { " hidden" };
            let (name, columns, indexes) = (format!("{}.{}", table.database, table.name), columns.join(" "), indexes.join(" "));
            format!("put table {} {name} ({columns}) [{indexes}]{constraints}{state}{fence}", table.id)
        }
        Write::UnlinkTable(database, id) => format!("unlink table {id} from database {database}"),
        Write::RemoveTable(_, id) => format!("remove table {id}"),
        Write::RaiseAutoId(id, value) => format!("raise auto id of {id} to {value}"),
        Write::DestroyRanges(ranges) => format!("destroy {} range(s)", ranges.len()),
    }
}

fn element(name: &str, id: i64, state: SchemaState) -> String {
    if state.is_public() { format!("{name}#{id}") } else { format!("{name}#{id}:{}", state.name().replace(' ', "-")) }
}
