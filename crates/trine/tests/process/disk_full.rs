//! A disk that fills up: writes are refused in time with an error that names the disk and the ways out, reads and what frees space go on,
//! and once there is room again so do writes. Nothing that was acknowledged is lost.

use std::time::{Duration, Instant};

use testkit::{
    Random, Server, ServerOptions, SmallDisk,
    mysql::{Conn, Error, prelude::Queryable as _},
    wait_until, with_private_mounts,
};

use crate::BINARY;

const DISK_BYTES: u64 = 192 << 20;
const LARGER_DISK_BYTES: u64 = 2 * DISK_BYTES;
const ER_DISK_FULL: u16 = 1021;
/// No statement on a full disk may hang.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Time for garbage collection and compaction to give space back.
const FREE_LIMIT: Duration = Duration::from_secs(60);
/// Rows of one statement, and bytes of a row: below the size from which values lie in blob files, and above it.
const SHAPES: [(usize, usize); 2] = [(100, 2000), (10, 20_000)];

/// A server on a small disk, and what it has acknowledged.
struct Small {
    options: ServerOptions,
    server: Server,
    disk: SmallDisk,
    directory: tempfile::TempDir,
    random: Random,
    /// Statements acknowledged: each wrote its number into `kept`.
    acknowledged: u64,
    /// Rows acknowledged in `ballast`.
    ballast: u64,
}

impl Small {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mount_point = directory.path().join("data");
        let disk = SmallDisk::create(&mount_point, DISK_BYTES).expect("a small file system");
        let options = ServerOptions::new(BINARY, &mount_point);
        let server = Server::start(&options).expect("the server starts");
        let small = Self { options, server, disk, directory, random: Random::new(0xd15c), acknowledged: 0, ballast: 0 };
        let mut conn = small.connect();
        for statement in [
            "CREATE TABLE ballast (id BIGINT AUTO_INCREMENT PRIMARY KEY, k BIGINT, v LONGBLOB, KEY (k))",
            "CREATE TABLE kept (id BIGINT PRIMARY KEY, k BIGINT, KEY (k))",
        ] {
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
        let number = self.acknowledged + 1;
        let random = &mut self.random;
        let mut random_bytes = || (0..bytes / 8).flat_map(|_| random.bits().to_le_bytes()).collect::<Vec<u8>>();
        let values: Vec<Vec<u8>> = (0..rows).map(|_| random_bytes()).collect();
        conn.query_drop("BEGIN")?;
        let places = vec![format!("({number}, ?)"); rows].join(", ");
        let written = conn.exec_drop(format!("INSERT INTO ballast (k, v) VALUES {places}"), values);
        let written = written.and_then(|()| conn.query_drop(format!("INSERT INTO kept VALUES ({number}, -{number})")));
        if let Err(error) = written.and_then(|()| conn.query_drop("COMMIT")) {
            conn.query_drop("ROLLBACK")?;
            return Err(error);
        }
        self.acknowledged = number;
        self.ballast += rows as u64;
        Ok(())
    }

    /// Writes until the disk is said to be full; answers the error's text.
    fn fill(&mut self, conn: &mut Conn) -> String {
        let bound = (LARGER_DISK_BYTES / (SHAPES[0].0 * SHAPES[0].1) as u64) * 2;
        for _ in 0..bound {
            if let Err(error) = self.insert(conn) {
                return disk_full(Err(error));
            }
        }
        panic!("{} rows were written to a disk of {DISK_BYTES} bytes, and it was never full", self.ballast);
    }

    /// Waits until a write is taken again.
    fn wait_until_written(&mut self, conn: &mut Conn) {
        let log = self.server.log_text();
        wait_until("room for a write", FREE_LIMIT, || self.insert(conn).ok())
            .unwrap_or_else(|error| panic!("{error}; {} bytes are free; log:\n{log}", self.disk.free_bytes().unwrap_or(0)));
    }

    /// Everything acknowledged is there, and nothing else.
    fn check(&self, conn: &mut Conn) {
        let kept: (u64, u64) = conn.query_first("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM kept").expect("reads").expect("one row");
        assert_eq!(kept, (self.acknowledged, self.acknowledged));
        let ballast: u64 = conn.query_first("SELECT COUNT(*) FROM ballast").expect("reads").expect("one row");
        assert_eq!(ballast, self.ballast);
        for table in ["kept", "ballast"] {
            conn.query_drop(format!("ADMIN CHECK TABLE {table}")).unwrap_or_else(|error| panic!("{table}: {error}"));
        }
        assert!(!self.server.log_text().contains("panicked"), "log:\n{}", self.server.log_text());
    }

    fn kill_and_restart(self) -> Self {
        self.server.kill().expect("is killed");
        let server = Server::start(&self.options).expect("starts on a disk that is nearly full");
        Self { server, ..self }
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
#[ignore = "open defect: on a disk of 192 MiB a compaction may still take the last free bytes, and then a restart cannot write out its log"]
fn full_disk_refuses_writes_in_time_and_lets_space_be_freed() {
    with_private_mounts(|| {
        let mut small = Small::start();
        let mut conn = small.connect();
        let message = small.fill(&mut conn);
        let path = small.directory.path().join("data");
        for part in [path.to_string_lossy().as_ref(), "DELETE, DROP and TRUNCATE", "enlarge"] {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert!(small.disk.free_bytes().expect("readable") > DISK_BYTES / 32, "the disk was filled to the brim");

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

        // A few rows are deleted; then the table goes.
        let before: u64 = conn.query_first("SELECT COUNT(*) FROM ballast").expect("reads").expect("one row");
        answered(&mut conn, "DELETE FROM ballast ORDER BY id LIMIT 100").expect("deleting is let through");
        small.ballast = before - 100;
        small.check(&mut conn);
        answered(&mut conn, "TRUNCATE TABLE ballast").expect("truncating is let through");
        small.ballast = 0;
        small.wait_until_written(&mut conn);
        small.check(&mut conn);

        // The other way out: a larger disk.
        small.fill(&mut conn);
        small.disk.resize(LARGER_DISK_BYTES).expect("a larger file system");
        small.wait_until_written(&mut conn);
        small.check(&mut conn);
        answered(&mut conn, "DROP TABLE ballast").expect("drops");
        answered(&mut conn, "CREATE TABLE ballast (id BIGINT AUTO_INCREMENT PRIMARY KEY, k BIGINT, v LONGBLOB, KEY (k))").expect("creates");
        small.ballast = 0;
        let small = small.kill_and_restart();
        small.check(&mut small.connect());
    });
}
