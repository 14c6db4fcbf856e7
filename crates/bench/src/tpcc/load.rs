//! Makes and fills the tables: several connections, each with a piece of the population at a time, in `INSERT` statements of many rows.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    Options,
    error::{Error, Result},
    population::{Piece, Population},
    schema::TABLES,
    session::Session,
};

/// A statement of a load is sent when its text has this length: well below the smallest `max_allowed_packet` in use.
const STATEMENT_BYTES: usize = 256 << 10;
/// How often a statement of the load is sent again after a conflict or while a part of a cluster is away, and the pause before each.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);
/// `ER_TABLE_EXISTS_ERROR`.
const ER_TABLE_EXISTS: u16 = 1050;

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Rows inserted.
    pub rows: u64,
    /// Rows there are to insert; the number of order lines is random, so the end is met within a percent.
    pub total_rows: u64,
    /// Time since the load began.
    pub elapsed: Duration,
}

/// What a load did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loaded {
    /// Rows inserted.
    pub rows: u64,
    /// Making the tables and inserting, from the first statement to the last.
    pub elapsed: Duration,
}

/// Loads the database that the options describe. `progress` is called after every statement.
pub async fn load(options: &Options, progress: &(dyn Fn(Progress) + Send + Sync)) -> Result<Loaded> {
    options.check()?;
    let began = Instant::now();
    make_tables(options).await?;
    let loaded_at = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
    let population = Population { cardinality: options.cardinality, seed: options.seed, loaded_at };
    let pieces = population.pieces(options.warehouses);
    let total_rows = pieces.iter().map(|piece| population.row_count(*piece)).sum();
    let work = Work { options, population, pieces, next: AtomicUsize::new(0), rows: Mutex::new(0) };
    let report = |rows| progress(Progress { rows, total_rows, elapsed: began.elapsed() });
    let connections = (0..options.load_connections).map(|number| work.insert_pieces(number, &report));
    futures_util::future::try_join_all(connections).await?;
    let rows = *work.rows.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Loaded { rows, elapsed: began.elapsed() })
}

async fn make_tables(options: &Options) -> Result<()> {
    let mut session = Session::connect(options, options.endpoint(0), None).await?;
    session.run(&format!("CREATE DATABASE IF NOT EXISTS {}", options.quoted_database())).await?;
    session.run(&format!("USE {}", options.quoted_database())).await?;
    if options.replace {
        for (table, _) in TABLES {
            session.run(&format!("DROP TABLE IF EXISTS {table}")).await?;
        }
    }
    for (table, definition) in TABLES {
        session.run(definition).await.map_err(|error| match error.server_code() {
            Some(ER_TABLE_EXISTS) => Error::TableExists { database: options.database.clone(), table: table.to_owned() },
            _ => error,
        })?;
    }
    session.close().await;
    Ok(())
}

/// What the connections of a load share.
struct Work<'a> {
    options: &'a Options,
    population: Population,
    pieces: Vec<Piece>,
    /// The first piece that nobody has taken.
    next: AtomicUsize,
    /// Rows inserted; told under the lock, so that the numbers never go back.
    rows: Mutex<u64>,
}

impl Work<'_> {
    async fn insert_pieces(&self, number: u32, report: &(dyn Fn(u64) + Send + Sync)) -> Result<()> {
        let endpoint = self.options.endpoint(number as usize);
        let mut session = Session::connect(self.options, endpoint, Some(&self.options.database)).await?;
        while let Some(piece) = self.pieces.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let mut statements = BTreeMap::<_, Statement>::new();
            for (table, row) in self.population.rows(*piece) {
                let statement = statements.entry(table).or_insert_with(|| Statement::new(table));
                statement.push(&row);
                if statement.text.len() >= STATEMENT_BYTES {
                    self.send(&mut session, &std::mem::replace(statement, Statement::new(table)), report).await?;
                }
            }
            for statement in statements.values().filter(|statement| statement.rows > 0) {
                self.send(&mut session, statement, report).await?;
            }
        }
        session.close().await;
        Ok(())
    }

    async fn send(&self, session: &mut Session, statement: &Statement, report: &(dyn Fn(u64) + Send + Sync)) -> Result<()> {
        let mut attempts = 1..ATTEMPTS;
        while let Err(error) = session.run(&statement.text).await {
            if !error.may_be_repeated() || attempts.next().is_none() {
                return Err(error);
            }
            tokio::time::sleep(PAUSE).await;
        }
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        *rows += statement.rows;
        report(*rows);
        Ok(())
    }
}

/// An `INSERT` that grows.
struct Statement {
    text: String,
    rows: u64,
}

impl Statement {
    fn new(table: &str) -> Self {
        Self { text: format!("INSERT INTO {table} VALUES "), rows: 0 }
    }

    fn push(&mut self, row: &str) {
        if self.rows > 0 {
            self.text.push(',');
        }
        self.text.push_str(row);
        self.rows += 1;
    }
}
