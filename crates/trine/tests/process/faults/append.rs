//! Clients that append to lists and read them, and remember every transaction.
//!
//! A list is a row: its values as text, and how many there are, with an index. New lists come as old ones get long. Their rows lie in all regions of the table.
//!
//! ```text
//!   one statement       an append or a read by itself                                                        committed in one phase
//!   pessimistic         reads of the snapshot, appends `items = CONCAT(items, …)` to what is newest
//!   read, then write    SELECT … FOR UPDATE, then the whole list is written back: a lost lock would lose what others appended
//!   optimistic          reads and appends of the snapshot; the first to commit wins
//! ```

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use testkit::{
    Random,
    history::{List, Op, Outcome, Transaction, Value},
    mysql::{self, Conn, prelude::Queryable as _},
};

use super::{client::Client, machines::MACHINES};

/// What the tables are made with.
pub const TABLE: &str = "CREATE TABLE lists (id INT PRIMARY KEY, items TEXT, n INT, touched INT DEFAULT 0, KEY (n))";
/// Lists that are in use at a time.
const OPEN_LISTS: u64 = 8;
/// A list is followed by a new one after about so many values.
const VALUES: u64 = 50;
/// Consecutive lists lie so far apart, in this many parts of the table.
pub const STRIDE: List = 1_000_000;
const PARTS: u64 = 4;

/// Rows of a server's probes, one in every part of the table; they are no lists.
pub fn probe_rows(machine: usize) -> impl Iterator<Item = i64> {
    (1..=PARTS as i64).map(move |part| part * i64::from(STRIDE) - 1 - machine as i64)
}

/// Makes the rows of probes.
pub fn prepare(connection: &mut Conn) {
    let rows = (0..MACHINES).flat_map(probe_rows).map(|id| format!("({id}, '', 0)")).collect::<Vec<_>>().join(",");
    connection.query_drop(format!("INSERT INTO lists (id, items, n) VALUES {rows}")).expect("rows");
}

/// What all clients share.
pub struct Recorder {
    started: Instant,
    next_value: AtomicU64,
}

impl Recorder {
    pub fn new() -> Self {
        Self { started: Instant::now(), next_value: AtomicU64::new(1) }
    }

    /// The lists that are in use.
    pub fn open_lists(&self) -> impl Iterator<Item = List> + use<> {
        let first = self.next_value.load(Ordering::Relaxed) / VALUES;
        (first..first + OPEN_LISTS).map(|number| (number % PARTS) as List * STRIDE + number as List)
    }

    /// One of them.
    fn list(&self, random: &mut Random) -> List {
        self.open_lists().nth(random.below(OPEN_LISTS as usize)).expect("so many are open")
    }

    /// Runs transactions over one server until it is time to stop.
    pub fn run(&self, address: Ipv4Addr, seed: u64, stop: &AtomicBool) -> Vec<Transaction> {
        let mut random = Random::new(seed);
        let mut client = Client::new(address, stop);
        let mut history = Vec::new();
        while let Some(connection) = client.next("SET autocommit = 1") {
            let begin = self.started.elapsed();
            let mut open = Open { recorder: self, random: &mut random, ops: Vec::new(), is_commit: false };
            let kind = open.random.below(6);
            let result = open.run(connection, kind);
            let (ops, is_commit) = (open.ops, open.is_commit);
            let outcome = client.outcome(&result, is_commit);
            history.push(Transaction { begin, end: self.started.elapsed(), first_committer_wins: kind == 4, ops, outcome });
        }
        history
    }
}

/// A transaction under way.
struct Open<'a> {
    recorder: &'a Recorder,
    random: &'a mut Random,
    ops: Vec<Op>,
    /// Whether what is being sent may commit it.
    is_commit: bool,
}

impl Open<'_> {
    fn run(&mut self, connection: &mut Conn, kind: usize) -> mysql::Result<()> {
        match kind {
            0 | 1 => {
                let list = self.recorder.list(self.random);
                self.is_commit = true;
                return if kind == 0 { self.append(connection, list) } else { self.read(connection, list) };
            }
            4 => connection.query_drop("BEGIN OPTIMISTIC")?,
            _ => connection.query_drop("BEGIN PESSIMISTIC")?,
        }
        for _ in 0..2 + self.random.below(3) {
            let list = self.recorder.list(self.random);
            match (kind, self.random.below(2)) {
                (_, 0) => self.read(connection, list)?,
                (3, _) => self.read_then_write(connection, list)?,
                _ => self.append(connection, list)?,
            }
        }
        self.is_commit = true;
        connection.query_drop("COMMIT")
    }

    fn value(&self) -> Value {
        self.recorder.next_value.fetch_add(1, Ordering::Relaxed)
    }

    fn read(&mut self, connection: &mut Conn, list: List) -> mysql::Result<()> {
        let values = parse(connection.query_first(format!("SELECT items FROM lists WHERE id = {list}"))?);
        self.ops.push(Op::Read { list, values });
        Ok(())
    }

    fn append(&mut self, connection: &mut Conn, list: List) -> mysql::Result<()> {
        let value = self.value();
        // Whatever becomes of the statement, it may append no more than this.
        self.ops.push(Op::Append { list, value });
        connection.query_drop(format!(
            "INSERT INTO lists (id, items, n) VALUES ({list}, '{value}', 1) ON DUPLICATE KEY UPDATE items = CONCAT(items, ',{value}'), n = n + 1"
        ))
    }

    fn read_then_write(&mut self, connection: &mut Conn, list: List) -> mysql::Result<()> {
        let found: Option<String> = connection.query_first(format!("SELECT items FROM lists WHERE id = {list} FOR UPDATE"))?;
        // A row that is not there is not locked by everybody who looks for it.
        let Some(found) = found else { return self.append(connection, list) };
        let values = parse(Some(found.clone()));
        let (value, n) = (self.value(), values.len() + 1);
        self.ops.extend([Op::LockingRead { list, values }, Op::Append { list, value }]);
        connection.query_drop(format!("UPDATE lists SET items = '{found},{value}', n = {n} WHERE id = {list}"))
    }
}

/// A list from its text; a row that is not there is the empty list.
fn parse(text: Option<String>) -> Vec<Value> {
    text.map_or(Vec::new(), |text| text.split(',').map(|value| value.parse().expect("a value")).collect())
}

/// The lists as they are.
pub fn lists(connection: &mut Conn) -> BTreeMap<List, Vec<Value>> {
    let rows: Vec<(List, String, usize)> = connection.query("SELECT id, items, n FROM lists WHERE n > 0").expect("the lists");
    let list = |(list, items, n)| {
        let values = parse(Some(items));
        assert_eq!(values.len(), n, "the number of values in list {list}");
        (list, values)
    };
    rows.into_iter().map(list).collect()
}

/// How many transactions ended in which way, to be printed.
pub fn summary(history: &[Transaction]) -> String {
    let count = |outcome| history.iter().filter(|transaction| transaction.outcome == outcome).count();
    let slowest = history.iter().map(|transaction| transaction.end - transaction.begin).max().unwrap_or(Duration::ZERO);
    let [committed, aborted, unknown] = [Outcome::Committed, Outcome::Aborted, Outcome::Unknown].map(count);
    format!("{committed} committed, {aborted} refused, {unknown} without an answer, the slowest took {slowest:.1?}")
}
