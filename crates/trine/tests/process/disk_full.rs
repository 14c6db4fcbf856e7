//! A disk that fills up: writes are refused in time with an error that names the disk and the ways out, reads and what frees space go on,
//! and once there is room again so do writes. A server that is killed meanwhile starts again, and nothing that was acknowledged is lost.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use testkit::{
    Random, Server, ServerOptions, SmallDisk,
    mysql::{Conn, Error, prelude::Queryable as _},
    wait_until, with_private_mounts,
};

use crate::BINARY;

const DISK_BYTES: u64 = 192 << 20;
const LARGER_DISK_BYTES: u64 = 2 * DISK_BYTES;
/// Sizes of the disks on which servers are killed.
const KILL_DISK_BYTES: [u64; 3] = [96 << 20, 128 << 20, 256 << 20];
/// Kills on each of them, unless `TRINE_DISK_FULL_KILLS` says otherwise.
const KILLS: usize = 3;
/// Statements that are waited for before a kill are fewer than this.
const STATEMENTS_BEFORE_KILL: usize = 60;
/// A kill comes up to this long after the last of them.
const KILL_DELAY: Duration = Duration::from_millis(30);
const ER_DISK_FULL: u16 = 1021;
/// No statement on a full disk may hang.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Time for garbage collection and compaction to give space back.
const FREE_LIMIT: Duration = Duration::from_secs(60);
/// Rows of one statement, and bytes of a row: below the size from which values lie in blob files, and above it.
const SHAPES: [(usize, usize); 2] = [(100, 2000), (10, 20_000)];
const CREATE_BALLAST: &str = "CREATE TABLE ballast (id BIGINT AUTO_INCREMENT PRIMARY KEY, k BIGINT, v LONGBLOB, KEY (k))";

/// A server on a small disk, and what it has acknowledged.
struct Small {
    options: ServerOptions,
    server: Server,
    disk: SmallDisk,
    directory: tempfile::TempDir,
    random: Random,
    acknowledged: Acknowledged,
}

/// The contents of the two tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Acknowledged {
    /// Transactions that inserted: each wrote its number into `kept`, and as `k` into its rows of `ballast`.
    inserts: u64,
    /// Rows in `ballast` by `k`.
    ballast: BTreeMap<u64, u64>,
    /// Without an answer, as the server died.
    unanswered: Option<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Of so many rows, with the next number.
    Insert { rows: u64 },
    /// Of the rows with this `k`.
    Delete { k: u64 },
}

impl Acknowledged {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Insert { rows } => {
                self.inserts += 1;
                self.ballast.insert(self.inserts, rows);
            }
            Change::Delete { k } => drop(self.ballast.remove(&k)),
        }
    }
}

impl Small {
    fn start(disk_bytes: u64, random: Random) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mount_point = directory.path().join("data");
        let disk = SmallDisk::create(&mount_point, disk_bytes).expect("a small file system");
        let options = ServerOptions::new(BINARY, &mount_point);
        let server = Server::start(&options).expect("the server starts");
        let small = Self { options, server, disk, directory, random, acknowledged: Acknowledged::default() };
        let mut conn = small.connect();
        for statement in [CREATE_BALLAST, "CREATE TABLE kept (id BIGINT PRIMARY KEY, k BIGINT, KEY (k))"] {
            conn.query_drop(statement).expect(statement);
        }
        small
    }

    /// A connection to a server that collects garbage at once: global variables do not outlive the process.
    fn connect(&self) -> Conn {
        let mut conn = self.server.connect_to(Some("test")).expect("connects");
        conn.query_drop("SET GLOBAL tidb_gc_life_time = '1s', GLOBAL tidb_gc_run_interval = '1s'").expect("sets");
        conn
    }

    /// One transaction of incompressible rows.
    fn insert(&mut self, conn: &mut Conn) -> Result<(), Error> {
        let (rows, bytes) = SHAPES[self.random.below(SHAPES.len())];
        let number = self.acknowledged.inserts + 1;
        let random = &mut self.random;
        let mut random_bytes = || (0..bytes / 8).flat_map(|_| random.bits().to_le_bytes()).collect::<Vec<u8>>();
        let values: Vec<Vec<u8>> = (0..rows).map(|_| random_bytes()).collect();
        let change = Change::Insert { rows: rows as u64 };
        self.change(conn, change, |conn| {
            conn.query_drop("BEGIN")?;
            let places = vec![format!("({number}, ?)"); rows].join(", ");
            conn.exec_drop(format!("INSERT INTO ballast (k, v) VALUES {places}"), values)?;
            conn.query_drop(format!("INSERT INTO kept VALUES ({number}, -{number})"))?;
            conn.query_drop("COMMIT")
        })
    }

    /// Deletes the rows of one transaction, if there are any.
    fn delete(&mut self, conn: &mut Conn) -> Result<(), Error> {
        let at = self.random.below(self.acknowledged.ballast.len().max(1));
        let Some(k) = self.acknowledged.ballast.keys().nth(at).copied() else { return Ok(()) };
        self.change(conn, Change::Delete { k }, |conn| conn.query_drop(format!("DELETE FROM ballast WHERE k = {k}")))
    }

    /// Runs a transaction and notes what it changed once it is acknowledged.
    fn change(&mut self, conn: &mut Conn, change: Change, run: impl FnOnce(&mut Conn) -> Result<(), Error>) -> Result<(), Error> {
        let started = Instant::now();
        let result = run(conn);
        assert!(started.elapsed() < ANSWER_LIMIT, "{change:?} took {:?}", started.elapsed());
        match &result {
            Ok(()) => self.acknowledged.apply(change),
            Err(Error::MySqlError(_)) => conn.query_drop("ROLLBACK")?,
            Err(_) => self.acknowledged.unanswered = Some(change),
        }
        result
    }

    /// Writes until the disk is said to be full; answers the error's text.
    fn fill(&mut self, conn: &mut Conn) -> String {
        let bound = (LARGER_DISK_BYTES / (SHAPES[0].0 * SHAPES[0].1) as u64) * 2;
        for _ in 0..bound {
            if let Err(error) = self.insert(conn) {
                return disk_full(Err(error));
            }
        }
        panic!("{} transactions were written, and the disk was never full", self.acknowledged.inserts);
    }

    /// Waits until a write is taken again.
    fn wait_until_written(&mut self, conn: &mut Conn) {
        wait_until("room for a write", FREE_LIMIT, || self.insert(conn).ok())
            .unwrap_or_else(|error| panic!("{error}; {} bytes are free; log:\n{}", self.free_bytes(), self.server.log_text()));
    }

    fn free_bytes(&self) -> u64 {
        self.disk.free_bytes().expect("readable")
    }

    /// Everything acknowledged is there, and nothing else but perhaps what was not answered.
    fn check(&mut self, conn: &mut Conn) {
        let inserts: (u64, u64) = conn.query_first("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM kept").expect("reads").expect("one row");
        assert_eq!(inserts.0, inserts.1);
        let rows: Vec<(u64, u64)> = conn.query("SELECT k, COUNT(*) FROM ballast GROUP BY k").expect("reads");
        let found = Acknowledged { inserts: inserts.0, ballast: rows.into_iter().collect(), unanswered: None };
        if let Some(change) = self.acknowledged.unanswered.take()
            && found != self.acknowledged
        {
            self.acknowledged.apply(change);
        }
        assert_eq!(found, self.acknowledged);
        for table in ["kept", "ballast"] {
            conn.query_drop(format!("ADMIN CHECK TABLE {table}")).unwrap_or_else(|error| panic!("{table}: {error}"));
        }
        for failure in ["panicked", "could not be written"] {
            assert!(!self.server.log_text().contains(failure), "log:\n{}", self.server.log_text());
        }
    }

    fn kill_and_restart(self) -> Self {
        self.server.kill().expect("is killed");
        let server = Server::start(&self.options).expect("starts on a disk that is nearly full");
        Self { server, ..self }
    }

    /// Inserts and deletes, refused or not, until the server is killed at a random moment.
    fn churn_until_killed(&mut self) {
        let mut conn = self.connect();
        let statements = self.random.below(STATEMENTS_BEFORE_KILL);
        let delay = KILL_DELAY / 1000 * self.random.below(1000) as u32;
        let answered = &AtomicUsize::new(0);
        let kill = self.server.killer();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                wait_until("statements", FREE_LIMIT, || (answered.load(Ordering::Relaxed) >= statements).then_some(())).expect("in time");
                std::thread::sleep(delay);
                kill();
            });
            loop {
                let result = if self.random.below(3) == 0 { self.delete(&mut conn) } else { self.insert(&mut conn) };
                match result {
                    Ok(()) => {}
                    Err(Error::MySqlError(_)) => drop(disk_full(result)),
                    Err(_) => break,
                }
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
}

/// Asserts that a statement was refused because of the disk, and answers the message.
fn disk_full(result: Result<(), Error>) -> String {
    match result {
        Err(Error::MySqlError(error)) if error.code == ER_DISK_FULL => error.message,
        other => panic!("expected error {ER_DISK_FULL}, got {other:?}"),
    }
}

/// Runs a statement, which must be answered soon.
fn answered(conn: &mut Conn, statement: &str) -> Result<(), Error> {
    let started = Instant::now();
    let result = conn.query_drop(statement);
    assert!(started.elapsed() < ANSWER_LIMIT, "{statement} took {:?}", started.elapsed());
    result
}

#[test]
fn full_disk_refuses_writes_in_time_and_lets_space_be_freed() {
    with_private_mounts(|| {
        let mut small = Small::start(DISK_BYTES, Random::new(0xd15c));
        let mut conn = small.connect();
        let message = small.fill(&mut conn);
        let path = small.directory.path().join("data");
        for part in [path.to_string_lossy().as_ref(), "DELETE, DROP and TRUNCATE", "enlarge"] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert!(small.free_bytes() > DISK_BYTES / 32, "the disk was filled to the brim");
        assert!(small.free_bytes() < DISK_BYTES / 2, "the disk was half empty: {message}");

        // What takes space is refused, again and again; reads, locks and timestamps go on.
        for statement in ["INSERT INTO kept VALUES (0, 0)", "UPDATE ballast SET k = k + 1 LIMIT 10", "REPLACE INTO kept VALUES (1, 1)"] {
            for _ in 0..3 {
                disk_full(answered(&mut conn, statement));
            }
        }
        for statement in ["BEGIN", "SELECT * FROM kept WHERE id = 1 FOR UPDATE", "COMMIT"] {
            answered(&mut conn, statement).expect(statement);
        }
        small.check(&mut conn);

        // A server that is killed now starts again.
        let mut small = small.kill_and_restart();
        let mut conn = small.connect();
        small.check(&mut conn);

        // Rows are deleted, and their space comes back.
        let rows = small.acknowledged.ballast.len();
        small.delete(&mut conn).expect("deleting is let through");
        while small.acknowledged.ballast.len() > rows / 2 {
            wait_until("room for a deletion", FREE_LIMIT, || small.delete(&mut conn).ok())
                .unwrap_or_else(|error| panic!("{error}; {} bytes are free; log:\n{}", small.free_bytes(), small.server.log_text()));
        }
        small.wait_until_written(&mut conn);
        small.check(&mut conn);

        // The table goes.
        small.fill(&mut conn);
        answered(&mut conn, "TRUNCATE TABLE ballast").expect("truncating is let through");
        small.acknowledged.ballast.clear();
        small.wait_until_written(&mut conn);
        small.check(&mut conn);

        // The other way out: a larger disk.
        small.fill(&mut conn);
        small.disk.resize(LARGER_DISK_BYTES).expect("a larger file system");
        small.wait_until_written(&mut conn);
        small.check(&mut conn);
        answered(&mut conn, "DROP TABLE ballast").expect("drops");
        answered(&mut conn, CREATE_BALLAST).expect("creates");
        small.acknowledged.ballast.clear();
        let mut small = small.kill_and_restart();
        let mut conn = small.connect();
        small.check(&mut conn);
    });
}

#[test]
fn server_killed_at_any_moment_on_a_full_disk_starts_again() {
    let kills = std::env::var("TRINE_DISK_FULL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    with_private_mounts(move || {
        let mut random = Random::seeded();
        for disk_bytes in KILL_DISK_BYTES {
            let mut small = Small::start(disk_bytes, Random::new(random.bits()));
            let mut conn = small.connect();
            small.fill(&mut conn);
            for _ in 0..kills {
                small.churn_until_killed();
                let least = small.free_bytes();
                small = small.kill_and_restart();
                conn = small.connect();
                small.check(&mut conn);
                println!("{} MiB: {} KiB were free at the kill, {} after it", disk_bytes >> 20, least >> 10, small.free_bytes() >> 10);
            }
            answered(&mut conn, "TRUNCATE TABLE ballast").expect("truncating is let through");
            small.acknowledged.ballast.clear();
            small.wait_until_written(&mut conn);
            small.check(&mut conn);
        }
    });
}
