//! sqllogictest scripts against a server, under a matrix of session settings that must not change any result.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use mysql::{Conn, Value, prelude::Queryable as _};
use sqllogictest::{DBOutput, DefaultColumnType, Runner};

/// One row of the matrix: statements that every connection of a script begins with.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Named in failures, and a label that scripts can skip by (`skipif`, `onlyif`).
    pub name: &'static str,
    /// Statements run first on each connection.
    pub setup: &'static [&'static str],
    /// Scripts that are left out, by the beginning of their path below the folder.
    pub skip: &'static [&'static str],
}

impl Matrix {
    /// What every script is run under: as shipped, one row a chunk, every optional planner rule off.
    pub fn all() -> [Matrix; 3] {
        [
            Matrix { name: "default", setup: &[], skip: &[] },
            Matrix { name: "chunk-1", setup: &["SET tidb_max_chunk_size = 1"], skip: &[] },
            Matrix { name: "rules-off", setup: &["SET trine_disabled_rules = 'all'"], skip: &[] },
        ]
    }

    /// What every script is run under over a cluster whose servers are used in turn, but for those about what each server has for itself:
    /// its connections, and the moment at which a variable is set.
    pub fn servers_in_turn() -> [Matrix; 1] {
        [Matrix { name: "cluster", setup: &[], skip: &["admin/kill", "expressions/user_locks", "variables/persist"] }]
    }

    /// What is left out there, over one server of a cluster.
    pub fn one_server() -> [Matrix; 1] {
        [Matrix { name: "cluster", setup: &[], skip: &[] }]
    }
}

struct Database(Conn);

impl sqllogictest::DB for Database {
    type Error = mysql::Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, mysql::Error> {
        let mut result = self.0.query_iter(sql)?;
        let columns = result.columns().as_ref().len();
        if columns == 0 {
            return Ok(DBOutput::StatementComplete(result.affected_rows()));
        }
        let mut rows = Vec::new();
        for row in result.by_ref() {
            rows.push(row?.unwrap().into_iter().map(text).collect());
        }
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Any; columns], rows })
    }

    fn engine_name(&self) -> &str {
        "trine"
    }

    fn shutdown(&mut self) {}
}

/// A value as scripts show it.
fn text(value: Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) if bytes.is_empty() => "(empty)".to_owned(),
        Value::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text.replace('\n', "\\n"),
            Err(error) => error.as_bytes().iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02X}")),
        },
        other => other.as_sql(true),
    }
}

/// Connects to a server, with a default database or without.
pub type Connect<'a> = &'a dyn Fn(Option<&str>) -> Result<Conn>;

/// Runs every `.slt` file below `folder` whose path from there begins with `only`, each in a fresh database, once for each row of the
/// matrix.
pub fn run_scripts(connect: Connect<'_>, folder: &Path, only: &str, matrix: &[Matrix]) -> Result<usize> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.retain(|file| file.strip_prefix(folder).is_ok_and(|path| path.to_string_lossy().starts_with(only)));
    files.sort();
    if files.is_empty() {
        bail!("no .slt file below {} begins with {only:?}", folder.display());
    }
    let mut failures = Vec::new();
    for row in matrix {
        let is_skipped = |file: &Path| {
            file.strip_prefix(folder).is_ok_and(|path| row.skip.iter().any(|begin| path.to_string_lossy().starts_with(begin)))
        };
        for file in files.iter().filter(|file| !is_skipped(file)) {
            if let Err(error) = run_script(connect, file, row) {
                failures.push(format!("[{}] {}: {error:#}", row.name, file.display()));
            }
        }
    }
    if !failures.is_empty() {
        bail!("{} of {} scripts failed:\n{}", failures.len(), files.len() * matrix.len(), failures.join("\n"));
    }
    Ok(files.len() * matrix.len())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "slt") {
            files.push(path);
        }
    }
    Ok(())
}

fn run_script(connect: Connect<'_>, file: &Path, row: &Matrix) -> Result<()> {
    const SCRATCH: &str = "slt";
    let mut conn = connect(None)?;
    conn.query_drop(format!("DROP DATABASE IF EXISTS {SCRATCH}"))?;
    conn.query_drop(format!("CREATE DATABASE {SCRATCH}"))?;
    let begin = || {
        let conn = (|| {
            let mut conn = connect(Some(SCRATCH))?;
            for statement in row.setup {
                conn.query_drop(statement)?;
            }
            anyhow::Ok(conn)
        })();
        std::future::ready(match conn {
            Ok(conn) => Ok(Database(conn)),
            Err(error) => Err(mysql::Error::IoError(std::io::Error::other(format!("{error:#}")))),
        })
    };
    let mut runner = Runner::new(begin);
    runner.add_label(row.name);
    runner.run_file(file)?;
    Ok(())
}
