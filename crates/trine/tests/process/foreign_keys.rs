//! Foreign keys under concurrency: whatever sessions insert, move and delete at once, no row is left without the row it refers to.
//!
//! Children are inserted and moved by some sessions while others delete their parents, give them other keys and put them back; in statements of
//! their own, in pessimistic and in optimistic transactions. The same storm without `foreign_key_checks` leaves rows without parents, or the
//! test would show nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use testkit::{
    Random,
    mysql::{Conn, Error::MySqlError, prelude::Queryable as _},
};

use crate::{Scratch, cluster_sql, stores::cluster::Cluster};

const PARENTS: u64 = 6;
const SESSIONS: u64 = 6;

/// How statements of a session are put into transactions.
const BEGINNINGS: [&str; 3] = ["", "BEGIN PESSIMISTIC", "BEGIN OPTIMISTIC"];

const TABLES: [&str; 5] = [
    "CREATE TABLE p (id INT PRIMARY KEY, code VARCHAR(10) NOT NULL, UNIQUE KEY (code))",
    "CREATE TABLE guarded (id INT PRIMARY KEY AUTO_INCREMENT, pid INT, FOREIGN KEY (pid) REFERENCES p (id))",
    "CREATE TABLE follows (id INT PRIMARY KEY AUTO_INCREMENT, code VARCHAR(10), FOREIGN KEY (code) REFERENCES p (code) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE forgets (id INT PRIMARY KEY AUTO_INCREMENT, pid INT, FOREIGN KEY (pid) REFERENCES p (id) ON DELETE SET NULL)",
    "CREATE TABLE below (id INT PRIMARY KEY AUTO_INCREMENT, fid INT, FOREIGN KEY (fid) REFERENCES follows (id) ON DELETE CASCADE)",
];

/// Rows without the row they refer to.
const ORPHANS: [&str; 4] = [
    "SELECT COUNT(*) FROM guarded c LEFT JOIN p ON c.pid = p.id WHERE c.pid IS NOT NULL AND p.id IS NULL",
    "SELECT COUNT(*) FROM follows c LEFT JOIN p ON c.code = p.code WHERE c.code IS NOT NULL AND p.id IS NULL",
    "SELECT COUNT(*) FROM forgets c LEFT JOIN p ON c.pid = p.id WHERE c.pid IS NOT NULL AND p.id IS NULL",
    "SELECT COUNT(*) FROM below c LEFT JOIN follows f ON c.fid = f.id WHERE c.fid IS NOT NULL AND f.id IS NULL",
];

/// What came of the statements of a storm.
#[derive(Default)]
struct Outcomes {
    done: AtomicU64,
    /// 1451 and 1452.
    refused: AtomicU64,
    parents_gone: AtomicU64,
}

impl Outcomes {
    /// Runs a statement; whether it was done.
    fn run(&self, connection: &mut Conn, statement: &str) -> bool {
        match connection.query_drop(statement) {
            Ok(()) => {
                self.done.fetch_add(1, Ordering::Relaxed);
                if statement.starts_with("DELETE FROM p") && connection.affected_rows() > 0 {
                    self.parents_gone.fetch_add(1, Ordering::Relaxed);
                }
                true
            }
            // Duplicates, lock waits, deadlocks, conflicts; a table that is being changed under an older snapshot.
            Err(MySqlError(error)) if [1062, 1205, 1213, 1412].contains(&error.code) => false,
            Err(MySqlError(error)) if [1451, 1452].contains(&error.code) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                false
            }
            Err(error) => panic!("{statement}: {error}"),
        }
    }
}

/// The statements of one turn of a session: some add and move children, others let parents go and put new ones in their place, under numbers that
/// were never used, so that a row that was left behind stays behind.
fn turn(random: &mut Random, connection: &mut Conn, session: u64, numbers: &AtomicU64) -> Vec<String> {
    let there: Vec<u64> = connection.query("SELECT id FROM p ORDER BY RAND() LIMIT 2").expect("parents");
    let new = numbers.fetch_add(1, Ordering::Relaxed);
    let replacement = format!("INSERT INTO p VALUES ({new}, 'c{new}')");
    let (Some(parent), Some(other)) = (there.first(), there.last()) else { return vec![replacement] };
    if session.is_multiple_of(2) {
        return match random.below(5) {
            0 => vec![format!("INSERT INTO guarded (pid) VALUES ({parent})")],
            1 => vec![format!("INSERT INTO follows (code) VALUES ('c{parent}'), ('C{other}')")],
            2 => vec![
                format!("INSERT INTO forgets (pid) VALUES ({parent})"),
                format!("UPDATE forgets SET pid = {other} WHERE pid = {parent} LIMIT 2"),
            ],
            3 => vec![format!("INSERT INTO below (fid) SELECT id FROM follows WHERE code = 'c{parent}' LIMIT 2")],
            _ => vec![format!("UPDATE guarded SET pid = {other} WHERE pid = {parent} LIMIT 1")],
        };
    }
    match random.below(3) {
        0 => vec![
            format!("UPDATE p SET code = CONCAT('x', id) WHERE id = {parent}"),
            format!("UPDATE p SET code = CONCAT('c', id) WHERE id = {parent}"),
        ],
        _ => vec![format!("DELETE FROM guarded WHERE pid = {parent}"), format!("DELETE FROM p WHERE id = {parent}"), replacement],
    }
}

/// Sessions insert, move and delete at once, each `turns` times.
fn storm(connect: &(impl Fn(u64) -> Conn + Sync), turns: u64, checks: bool) -> Outcomes {
    let (outcomes, numbers) = (Outcomes::default(), AtomicU64::new(PARENTS));
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let (outcomes, numbers) = (&outcomes, &numbers);
            scope.spawn(move || {
                let mut connection = connect(session);
                let mut random = Random::new(session + 1);
                connection
                    .query_drop(format!("SET foreign_key_checks = {}, innodb_lock_wait_timeout = 5", u8::from(checks)))
                    .expect("settings");
                for _ in 0..turns {
                    let beginning = BEGINNINGS[random.below(3)];
                    let statements = turn(&mut random, &mut connection, session, numbers);
                    if beginning.is_empty() {
                        for statement in &statements {
                            outcomes.run(&mut connection, statement);
                        }
                        continue;
                    }
                    connection.query_drop(beginning).expect("begins");
                    let done = statements.iter().all(|statement| outcomes.run(&mut connection, statement));
                    // What was done before a statement that failed may be kept as well as taken back.
                    let end = if done || random.below(2) == 0 { "COMMIT" } else { "ROLLBACK" };
                    outcomes.run(&mut connection, end);
                }
            });
        }
    });
    outcomes
}

fn make_tables(connection: &mut Conn) {
    for table in TABLES {
        connection.query_drop(table).unwrap_or_else(|error| panic!("{table}: {error}"));
    }
    for parent in 0..PARENTS {
        connection.query_drop(format!("INSERT INTO p VALUES ({parent}, 'c{parent}')")).expect("a parent");
    }
}

fn orphans(connection: &mut Conn) -> Vec<u64> {
    ORPHANS.iter().map(|query| connection.query_first(query).expect("reads").expect("one row")).collect()
}

fn storm_leaves_no_orphans(connect: &(impl Fn(u64) -> Conn + Sync), turns: u64) {
    let mut connection = connect(0);
    make_tables(&mut connection);
    let outcomes = storm(connect, turns, true);
    assert_eq!(orphans(&mut connection), [0; 4], "every row has the row it refers to");
    let (done, refused) = (outcomes.done.into_inner(), outcomes.refused.into_inner());
    assert!(done > turns && refused > 0, "{done} statements were done, {refused} refused");
    assert!(outcomes.parents_gone.into_inner() > 0, "parents went meanwhile");
    for table in ["p", "guarded", "follows", "forgets", "below"] {
        connection.query_drop(format!("ADMIN CHECK TABLE {table}")).expect("rows and index entries agree");
    }
}

#[test]
fn concurrent_sessions_leave_no_row_without_its_parent() {
    let scratch = Scratch::start();
    storm_leaves_no_orphans(&|_| scratch.server.connect_to(Some("test")).expect("connects"), 150);
}

#[test]
fn without_checks_the_same_sessions_leave_orphans() {
    let scratch = Scratch::start();
    let connect = |_| scratch.server.connect_to(Some("test")).expect("connects");
    make_tables(&mut connect(0));
    storm(&connect, 60, false);
    assert!(orphans(&mut connect(0)).iter().sum::<u64>() > 0, "the storm is one that leaves orphans where nothing is checked");
}

#[test]
fn concurrent_sessions_of_two_servers_leave_no_row_without_its_parent() {
    let cluster = Cluster::start(3);
    let servers = [cluster.start_sql("sql0"), cluster.start_sql("sql1")];
    storm_leaves_no_orphans(&|session| cluster_sql::connect(&servers[(session / 2 % 2) as usize]), 60);
}

/// Rows are added while the key that will hold them is: it is there without orphans, or not there at all.
#[test]
fn a_key_that_is_added_under_writes_holds_or_is_refused() {
    let scratch = Scratch::start();
    let connect = || scratch.server.connect_to(Some("test")).expect("connects");
    let mut connection = connect();
    connection.query_drop("CREATE TABLE p (id INT PRIMARY KEY)").expect("a table");
    connection.query_drop("CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, pid INT)").expect("a table");
    let (mut made, mut refused) = (0, 0);
    for round in 0..12u64 {
        connection.query_drop("INSERT IGNORE INTO p VALUES (0), (1), (2), (3)").expect("parents");
        connection.query_drop("DELETE FROM c").expect("no children");
        std::thread::scope(|scope| {
            for session in 0..3u64 {
                scope.spawn(move || {
                    let mut connection = connect();
                    let outcomes = Outcomes::default();
                    let mut random = Random::new(round * 10 + session);
                    for _ in 0..30 {
                        let parent = random.below(4);
                        let statement = match (session, round % 3) {
                            // Rows that refer to nothing, which no key can come over.
                            (0, 0) => "INSERT INTO c (pid) VALUES (99)".to_owned(),
                            // Parents that go while nobody refers to them, as far as their session can see.
                            (2, 1) => format!("DELETE FROM p WHERE id = {parent} AND NOT EXISTS (SELECT 1 FROM c WHERE pid = {parent})"),
                            _ => format!("INSERT INTO c (pid) VALUES ({parent})"),
                        };
                        outcomes.run(&mut connection, &statement);
                    }
                });
            }
            match connection.query_drop("ALTER TABLE c ADD CONSTRAINT k FOREIGN KEY (pid) REFERENCES p (id)") {
                Ok(()) => made += 1,
                Err(MySqlError(error)) if error.code == 1452 => refused += 1,
                Err(error) => panic!("{error}"),
            }
        });
        let there: u64 = connection
            .query_first("SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = 'test'")
            .expect("reads")
            .expect("one row");
        if there == 1 {
            let orphans: u64 = connection
                .query_first("SELECT COUNT(*) FROM c LEFT JOIN p ON c.pid = p.id WHERE c.pid IS NOT NULL AND p.id IS NULL")
                .expect("reads")
                .expect("one row");
            assert_eq!(orphans, 0, "round {round}: the key is there, and every row has its parent");
            connection.query_drop("ALTER TABLE c DROP FOREIGN KEY k, DROP INDEX k").expect("drops");
        }
    }
    assert!(made > 0 && refused > 0, "{made} keys were made, {refused} refused");
}
