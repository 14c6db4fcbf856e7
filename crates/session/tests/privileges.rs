//! Each kind of statement is refused without its privilege and allowed with it; what is granted is seen, shown and taken away again.

mod support;

use std::{collections::BTreeSet, sync::Arc};

use env::SystemClock;
use parser::ast::Stmt;
use session::{Domain, Session};
use support::{connect, rows, run};
use types::{Datum, MysqlError};

/// A statement of `u`, who has nothing but what `grants` give.
struct Case {
    sql: &'static str,
    /// The error without them; 0 for a statement that needs none.
    refused: u16,
    grants: &'static [&'static str],
    /// The error with them, of a statement that is not supported yet; 0 for none.
    allowed: u16,
}

const fn case(sql: &'static str, refused: u16, grants: &'static [&'static str]) -> Case {
    Case { sql, refused, grants, allowed: 0 }
}

const fn unsupported(sql: &'static str, refused: u16, grants: &'static [&'static str]) -> Case {
    Case { sql, refused, grants, allowed: 1235 }
}

/// At least one statement of every kind.
const CASES: &[Case] = &[
    case("SELECT a FROM app.t", 1142, &["GRANT SELECT ON app.t TO u"]),
    case("SELECT a FROM app.t", 1142, &["GRANT SELECT (a) ON app.t TO u"]),
    case("TABLE app.t", 1142, &["GRANT SELECT ON app.* TO u"]),
    case("SELECT COUNT(*) FROM app.t", 1142, &["GRANT SELECT (b) ON app.t TO u"]),
    case("SELECT (SELECT MAX(b) FROM app.t)", 1142, &["GRANT SELECT ON app.t TO u"]),
    case("SELECT a FROM app.t FOR UPDATE", 1142, &["GRANT SELECT, UPDATE ON app.t TO u"]),
    case("INSERT INTO app.t VALUES (9, 9)", 1142, &["GRANT INSERT ON app.t TO u"]),
    case("INSERT INTO app.t (a) VALUES (9)", 1142, &["GRANT INSERT (a) ON app.t TO u"]),
    case(
        "INSERT INTO app.t (a, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE b = b + 1",
        1142,
        &["GRANT INSERT, UPDATE (b), SELECT (b) ON app.t TO u"],
    ),
    case("REPLACE INTO app.t VALUES (9, 9)", 1142, &["GRANT INSERT, DELETE ON app.t TO u"]),
    case("UPDATE app.t SET b = 1", 1142, &["GRANT UPDATE ON app.t TO u"]),
    case("UPDATE app.t SET b = 1 WHERE a = 1", 1142, &["GRANT UPDATE (b), SELECT (a) ON app.t TO u"]),
    case("DELETE FROM app.t", 1142, &["GRANT DELETE ON app.t TO u"]),
    case("UPDATE app.t AS x JOIN app.t AS y ON x.a = y.a SET x.b = 1", 1142, &["GRANT UPDATE (b), SELECT (a) ON app.t TO u"]),
    case(
        "UPDATE app.t JOIN app.s ON t.a = s.a SET t.b = 1",
        1142,
        &["GRANT UPDATE ON app.t TO u", "GRANT SELECT ON app.t TO u", "GRANT SELECT (a) ON app.s TO u"],
    ),
    case("UPDATE app.t JOIN app.s SET t.b = 1, s.b = 2", 1142, &["GRANT UPDATE ON app.t TO u", "GRANT UPDATE (b) ON app.s TO u"]),
    case("DELETE t FROM app.t JOIN app.s ON t.a = s.a", 1142, &["GRANT DELETE, SELECT ON app.t TO u", "GRANT SELECT ON app.s TO u"]),
    case("DELETE FROM app.t, app.s USING app.t JOIN app.s", 1142, &["GRANT DELETE ON app.t TO u", "GRANT DELETE ON app.s TO u"]),
    case("SELECT a FROM app.t INTO @a", 1142, &["GRANT SELECT (a) ON app.t TO u"]),
    case("DELETE FROM app.t WHERE a = 1", 1142, &["GRANT DELETE, SELECT (a) ON app.t TO u"]),
    unsupported("LOAD DATA INFILE 'f' INTO TABLE app.t", 1142, &["GRANT INSERT ON app.t TO u", "GRANT FILE ON *.* TO u"]),
    // The client of this test sends no files.
    Case { sql: "LOAD DATA LOCAL INFILE 'f' INTO TABLE app.t", refused: 1142, grants: &["GRANT INSERT ON app.t TO u"], allowed: 3948 },
    case("BEGIN", 0, &[]),
    case("COMMIT", 0, &[]),
    case("ROLLBACK", 0, &[]),
    case("SAVEPOINT s", 0, &[]),
    Case { sql: "ROLLBACK TO s", refused: 1305, grants: &[], allowed: 1305 },
    Case { sql: "RELEASE SAVEPOINT s", refused: 1305, grants: &[], allowed: 1305 },
    case("SET TRANSACTION READ WRITE", 0, &[]),
    case("SET GLOBAL TRANSACTION READ WRITE", 1227, &["GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO u"]),
    unsupported("LOCK TABLES app.t READ", 1142, &["GRANT SELECT, LOCK TABLES ON app.* TO u"]),
    case("UNLOCK TABLES", 0, &[]),
    case("SET autocommit = 1", 0, &[]),
    case("SET GLOBAL max_connections = 100", 1227, &["GRANT SUPER ON *.* TO u"]),
    case("SHOW DATABASES", 0, &[]),
    case("SHOW TABLES FROM app", 1044, &["GRANT INSERT (a) ON app.t TO u"]),
    case("SHOW COLUMNS FROM app.t", 1142, &["GRANT INSERT ON app.t TO u"]),
    case("SHOW CREATE TABLE app.t", 1142, &["GRANT SELECT ON app.t TO u"]),
    case("SHOW CREATE DATABASE app", 1044, &["GRANT SELECT ON app.* TO u"]),
    case("SHOW GRANTS", 0, &[]),
    case("SHOW GRANTS FOR v", 1044, &["GRANT SELECT ON mysql.* TO u"]),
    case("SHOW CREATE USER v", 1044, &["GRANT SELECT ON mysql.* TO u"]),
    unsupported("SHOW ENGINE INNODB STATUS", 1227, &["GRANT PROCESS ON *.* TO u"]),
    case("USE app", 1044, &["GRANT SELECT (a) ON app.t TO u"]),
    case("DESCRIBE app.t", 1142, &["GRANT UPDATE (a) ON app.t TO u"]),
    case("EXPLAIN SELECT a FROM app.t", 1142, &["GRANT SELECT ON app.t TO u"]),
    case("EXPLAIN DELETE FROM app.t", 1142, &["GRANT DELETE ON app.t TO u"]),
    case("FLUSH PRIVILEGES", 1227, &["GRANT RELOAD ON *.* TO u"]),
    case("FLUSH TABLES", 1227, &["GRANT FLUSH_TABLES ON *.* TO u"]),
    case("ANALYZE TABLE app.t", 1142, &["GRANT SELECT, INSERT ON app.t TO u"]),
    case("CHECK TABLE app.t", 1142, &["GRANT SELECT ON app.t TO u"]),
    case("OPTIMIZE TABLE app.t", 1142, &["GRANT SELECT, INSERT ON app.t TO u"]),
    case("ADMIN CHECK TABLE app.t", 1227, &["GRANT SUPER ON *.* TO u"]),
    case("PREPARE s FROM 'SELECT a FROM app.t'", 1142, &["GRANT SELECT ON app.t TO u"]),
    Case { sql: "EXECUTE s", refused: 1243, grants: &[], allowed: 1243 },
    Case { sql: "DEALLOCATE PREPARE s", refused: 1243, grants: &[], allowed: 1243 },
    case("DO (SELECT MAX(a) FROM app.t)", 1142, &["GRANT SELECT ON app.t TO u"]),
    case("SHUTDOWN", 1227, &["GRANT SHUTDOWN ON *.* TO u"]),
    case("CREATE DATABASE app2", 1044, &["GRANT CREATE ON app2.* TO u"]),
    case("ALTER DATABASE app CHARACTER SET utf8mb4", 1044, &["GRANT ALTER ON app.* TO u"]),
    case("DROP DATABASE app", 1044, &["GRANT DROP ON app.* TO u"]),
    case("CREATE TABLE app.n (a INT)", 1142, &["GRANT CREATE ON app.* TO u"]),
    case("CREATE TABLE app.n LIKE app.t", 1142, &["GRANT CREATE ON app.n TO u", "GRANT SELECT ON app.t TO u"]),
    case("ALTER TABLE app.t ADD COLUMN c INT", 1142, &["GRANT ALTER ON app.t TO u"]),
    case("ALTER TABLE app.t RENAME TO app.n", 1142, &["GRANT ALTER, DROP ON app.t TO u", "GRANT CREATE, INSERT ON app.n TO u"]),
    case("DROP TABLE app.t", 1142, &["GRANT DROP ON app.t TO u"]),
    case("TRUNCATE TABLE app.t", 1142, &["GRANT DROP ON app.* TO u"]),
    case("RENAME TABLE app.t TO app.n", 1142, &["GRANT ALTER, DROP, CREATE, INSERT ON app.* TO u"]),
    case("CREATE INDEX i ON app.t (b)", 1142, &["GRANT INDEX ON app.t TO u"]),
    case("DROP INDEX k ON app.t", 1142, &["GRANT INDEX ON app.t TO u"]),
    unsupported("CREATE VIEW app.v AS SELECT 1", 1142, &["GRANT CREATE VIEW ON app.* TO u"]),
    Case { sql: "DROP VIEW app.v", refused: 1142, grants: &["GRANT DROP ON app.* TO u"], allowed: 1051 },
    case("CREATE USER n", 1227, &["GRANT CREATE USER ON *.* TO u"]),
    case("ALTER USER v IDENTIFIED BY 'x'", 1227, &["GRANT CREATE USER ON *.* TO u"]),
    case("ALTER USER u IDENTIFIED BY 'x'", 0, &[]),
    case("ALTER USER u ACCOUNT UNLOCK", 1227, &["GRANT CREATE USER ON *.* TO u"]),
    case("ALTER USER root@'%' IDENTIFIED BY ''", 1227, &["GRANT CREATE USER, CREATE ROLE ON *.* TO u", "GRANT SYSTEM_USER ON *.* TO u"]),
    case("DROP USER v", 1227, &["GRANT CREATE USER ON *.* TO u"]),
    case("RENAME USER v TO n", 1227, &["GRANT CREATE USER ON *.* TO u"]),
    case("CREATE ROLE n", 1227, &["GRANT CREATE ROLE ON *.* TO u"]),
    case("DROP ROLE r", 1227, &["GRANT DROP ROLE ON *.* TO u"]),
    case("GRANT SELECT ON app.t TO v", 1142, &["GRANT SELECT ON app.t TO u WITH GRANT OPTION"]),
    case("GRANT SELECT ON app.* TO v", 1044, &["GRANT SELECT ON app.* TO u WITH GRANT OPTION"]),
    case("GRANT SELECT ON *.* TO v", 1045, &["GRANT SELECT ON *.* TO u WITH GRANT OPTION"]),
    case("GRANT BACKUP_ADMIN ON *.* TO v", 1227, &["GRANT BACKUP_ADMIN ON *.* TO u WITH GRANT OPTION"]),
    case("GRANT r TO v", 1227, &["GRANT r TO u WITH ADMIN OPTION"]),
    case("GRANT r TO v", 1227, &["GRANT ROLE_ADMIN ON *.* TO u"]),
    case("REVOKE INSERT ON app.t FROM w", 1142, &["GRANT INSERT ON app.t TO u WITH GRANT OPTION"]),
    case("REVOKE r FROM v", 1227, &["GRANT r TO u WITH ADMIN OPTION"]),
    case("REVOKE ALL PRIVILEGES, GRANT OPTION FROM v", 1227, &["GRANT CREATE USER ON *.* TO u"]),
    case("SET PASSWORD = 'x'", 0, &[]),
    case("SET PASSWORD FOR v = 'x'", 1227, &["GRANT CREATE USER ON *.* TO u"]),
    case("SET ROLE NONE", 0, &[]),
    case("SET ROLE r", 3530, &["GRANT r TO u"]),
    case("SET DEFAULT ROLE NONE TO u", 0, &[]),
    case("SET DEFAULT ROLE NONE TO v", 1227, &["GRANT CREATE USER ON *.* TO u"]),
    case("SPLIT TABLE app.t BETWEEN (0) AND (1000000) REGIONS 2", 1142, &["GRANT ALTER ON app.t TO u"]),
    case("RESET PERSIST", 1227, &["GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO u"]),
    case("RESET PERSIST IF EXISTS max_connections", 1227, &["GRANT SUPER ON *.* TO u"]),
    unsupported("CREATE PROCEDURE p() SELECT 1", 1235, &[]),
];

/// The number of a statement's kind. There is no arm for the rest: who adds a kind of statement is led here, and from here to [`CASES`].
fn kind(stmt: &Stmt) -> usize {
    match stmt {
        Stmt::Query(_) => 0,
        Stmt::Insert(_) => 1,
        Stmt::Update(_) => 2,
        Stmt::Delete(_) => 3,
        Stmt::LoadData(_) => 4,
        Stmt::Begin(_) => 5,
        Stmt::Commit(_) => 6,
        Stmt::Rollback(_) => 7,
        Stmt::Savepoint(_) => 8,
        Stmt::RollbackTo(_) => 9,
        Stmt::ReleaseSavepoint(_) => 10,
        Stmt::SetTransaction(_) => 11,
        Stmt::LockTables(_) => 12,
        Stmt::UnlockTables => 13,
        Stmt::Set(_) => 14,
        Stmt::Show(_) => 15,
        Stmt::Use(_) => 16,
        Stmt::Describe(_) => 17,
        Stmt::Explain(_) => 18,
        Stmt::Kill(_) => 19,
        Stmt::Flush(_) => 20,
        Stmt::AnalyzeTable(_) => 21,
        Stmt::TableMaintenance(_) => 22,
        Stmt::Admin(_) => 23,
        Stmt::SplitTable(_) => 24,
        Stmt::Prepare(_) => 25,
        Stmt::Execute(_) => 26,
        Stmt::Deallocate(_) => 27,
        Stmt::Do(_) => 28,
        Stmt::Shutdown => 29,
        Stmt::CreateDatabase(_) => 30,
        Stmt::AlterDatabase(_) => 31,
        Stmt::DropDatabase(_) => 32,
        Stmt::CreateTable(_) => 33,
        Stmt::AlterTable(_) => 34,
        Stmt::DropTable(_) => 35,
        Stmt::TruncateTable(_) => 36,
        Stmt::RenameTable(_) => 37,
        Stmt::CreateIndex(_) => 38,
        Stmt::DropIndex(_) => 39,
        Stmt::CreateView(_) => 40,
        Stmt::DropView(_) => 41,
        Stmt::CreateUser(_) => 42,
        Stmt::AlterUser(_) => 43,
        Stmt::DropUser(_) => 44,
        Stmt::RenameUser(_) => 45,
        Stmt::CreateRole(_) => 46,
        Stmt::DropRole(_) => 47,
        Stmt::Grant(_) => 48,
        Stmt::GrantRole(_) => 49,
        Stmt::Revoke(_) => 50,
        Stmt::RevokeRole(_) => 51,
        Stmt::SetPassword(_) => 52,
        Stmt::SetRole(_) => 53,
        Stmt::SetDefaultRole(_) => 54,
        Stmt::Unsupported(_) => 55,
        Stmt::ResetPersist(_) => 56,
    }
}

const KINDS: usize = 57;

async fn server() -> (Arc<Domain>, Session) {
    let domain = support::server(Arc::new(SystemClock::new())).await;
    let root = connect(&domain, "root");
    (domain, root)
}

/// What every case begins with.
async fn begin(root: &mut Session) {
    run(
        root,
        &[
            "DROP DATABASE IF EXISTS app",
            "DROP DATABASE IF EXISTS app2",
            "DROP USER IF EXISTS u, v, w, n, r",
            "CREATE DATABASE app",
            "CREATE TABLE app.t (a INT PRIMARY KEY, b INT, KEY k (b))",
            "INSERT INTO app.t VALUES (1, 1)",
            "CREATE TABLE app.s (a INT PRIMARY KEY, b INT)",
            "CREATE USER u, v, w",
            "CREATE ROLE r",
            "GRANT INSERT ON app.t TO w",
        ],
    )
    .await;
}

fn code(done: Result<Vec<Vec<Datum>>, MysqlError>) -> (u16, String) {
    done.map_or_else(|error| (error.code, error.message), |_| (0, String::new()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_statement_is_refused_without_its_privilege_and_allowed_with_it() {
    let (domain, mut root) = server().await;
    let mut kinds = BTreeSet::from([kind_of_kill(&domain, &mut root).await]);
    for case in CASES {
        let (stmt, _) = parser::parse_one(case.sql, &parser::ParseOptions::default()).expect(case.sql);
        kinds.insert(kind(&stmt));
        begin(&mut root).await;
        let mut session = connect(&domain, "u");
        let refused = code(rows(&mut session, case.sql).await);
        assert_eq!(refused.0, case.refused, "{} with nothing: {}", case.sql, refused.1);
        // All but the last are not enough; the last one counts for the session that is open.
        for (i, grant) in case.grants.iter().enumerate() {
            if i > 0 {
                let refused = code(rows(&mut session, case.sql).await);
                assert_ne!(refused.0, case.allowed, "{} with less than {:?}", case.sql, case.grants);
            }
            run(&mut root, &[grant]).await;
        }
        if case.refused != case.allowed {
            let allowed = code(rows(&mut session, case.sql).await);
            assert_eq!(allowed.0, case.allowed, "{} with {:?}: {}", case.sql, case.grants, allowed.1);
        }
        session.close().await;
    }
    let missing: Vec<usize> = (0..KINDS).filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "kinds of statements without a case: {missing:?}");
}

/// KILL names a connection, which no table of texts can.
async fn kind_of_kill(domain: &Arc<Domain>, root: &mut Session) -> usize {
    begin(root).await;
    let mut session = connect(domain, "u");
    let id = |rows: &[Vec<Datum>]| rows[0][0].as_u64().expect("an id");
    let of_root = id(&rows(root, "SELECT CONNECTION_ID()").await.expect("answers"));
    let kill = format!("KILL QUERY {of_root}");
    assert_eq!(code(rows(&mut session, &kill).await).0, 1095);
    run(root, &["GRANT CONNECTION_ADMIN ON *.* TO u"]).await;
    assert_eq!(code(rows(&mut session, &kill).await).0, 0);
    kind(&parser::parse_one(&kill, &parser::ParseOptions::default()).expect("parses").0)
}

/// The texts of a result's first column.
async fn texts(session: &mut Session, sql: &str) -> Vec<String> {
    let rows = rows(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.iter().map(|row| String::from_utf8_lossy(row[0].as_bytes().expect("a text")).into_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn privileges_on_columns_end_where_other_columns_begin() {
    let (domain, mut root) = server().await;
    begin(&mut root).await;
    run(&mut root, &["GRANT SELECT (a), UPDATE (b), INSERT (a) ON app.t TO u"]).await;
    let mut session = connect(&domain, "u");
    run(&mut session, &["SELECT a FROM app.t WHERE a = 1", "SELECT COUNT(*) FROM app.t", "UPDATE app.t SET b = 2 WHERE a = 1"]).await;
    for (sql, denied) in [
        ("SELECT b FROM app.t", "SELECT command denied to user 'u'@'127.0.0.1' for column 'b' in table 't'"),
        ("SELECT * FROM app.t", "SELECT command denied to user 'u'@'127.0.0.1' for column 'b' in table 't'"),
        ("TABLE app.t", "SELECT command denied to user 'u'@'127.0.0.1' for column 'b' in table 't'"),
        ("SELECT a FROM app.t ORDER BY b", "SELECT command denied to user 'u'@'127.0.0.1' for column 'b' in table 't'"),
        ("SELECT x.a FROM app.t x JOIN app.t y USING (b)", "SELECT command denied to user 'u'@'127.0.0.1' for column 'b' in table 't'"),
        (
            "SELECT 1 FROM app.t x WHERE EXISTS (SELECT 1 FROM app.t y WHERE y.a = x.b)",
            "SELECT command denied to user 'u'@'127.0.0.1' for column 'b' in table 't'",
        ),
        ("UPDATE app.t SET b = b + 1", "SELECT command denied to user 'u'@'127.0.0.1' for column 'b' in table 't'"),
        ("UPDATE app.t SET a = 3", "UPDATE command denied to user 'u'@'127.0.0.1' for column 'a' in table 't'"),
        ("INSERT INTO app.t VALUES (5, 5)", "INSERT command denied to user 'u'@'127.0.0.1' for column 'b' in table 't'"),
    ] {
        assert_eq!(code(rows(&mut session, sql).await), (1143, denied.to_owned()), "{sql}");
    }
    assert_eq!(code(rows(&mut session, "DELETE FROM app.t").await).0, 1142);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_one_may_use_is_listed() {
    let (domain, mut root) = server().await;
    begin(&mut root).await;
    run(&mut root, &["CREATE TABLE app.hidden (a INT)", "GRANT SELECT (a) ON app.t TO u"]).await;
    let mut session = connect(&domain, "u");
    assert_eq!(texts(&mut session, "SHOW DATABASES").await, ["app", "information_schema", "performance_schema", "sys"]);
    assert_eq!(texts(&mut session, "SHOW TABLES FROM app").await, ["t"]);
    let named = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ('app', 'mysql') ORDER BY 1";
    assert_eq!(texts(&mut session, named).await, ["t"]);
    let of_table = "SELECT DISTINCT TABLE_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'app'";
    assert_eq!(texts(&mut session, of_table).await, ["t"]);
    assert_eq!(texts(&mut session, "SHOW COLUMNS FROM app.t").await, ["a"]);
    let shown =
        "SELECT CONCAT(COLUMN_NAME, ':', PRIVILEGES) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 't'";
    assert_eq!(texts(&mut session, shown).await, ["a:select"]);
    assert_eq!(texts(&mut root, shown).await, ["a:select,insert,update,references", "b:select,insert,update,references"]);
    // Whether there is a table or a database is not told.
    for sql in ["SELECT 1 FROM app.hidden", "SELECT 1 FROM app.nothing", "SELECT 1 FROM nowhere.nothing"] {
        assert_eq!(code(rows(&mut session, sql).await).0, 1142, "{sql}");
    }
    for sql in ["USE nowhere", "USE mysql"] {
        assert_eq!(code(rows(&mut session, sql).await).0, 1044, "{sql}");
    }
    let own = "SELECT COUNT(DISTINCT GRANTEE) FROM information_schema.USER_PRIVILEGES";
    assert_eq!(rows(&mut session, own).await.expect("answers"), [[Datum::Int(1)]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cached_and_prepared_statements_are_checked_again_after_a_revoke() {
    let (domain, mut root) = server().await;
    begin(&mut root).await;
    run(&mut root, &["GRANT SELECT ON app.* TO u"]).await;
    let mut session = connect(&domain, "u");
    let sql = "SELECT b FROM app.t WHERE a = 1";
    let prepared = session.prepare(b"SELECT b FROM app.t WHERE a = ?").await.expect("prepares").id;
    for _ in 0..3 {
        run(&mut session, &[sql]).await;
        session.execute(prepared, vec![Datum::Int(1)]).await.expect("allowed");
    }
    run(&mut root, &["REVOKE SELECT ON app.* FROM u"]).await;
    assert_eq!(code(rows(&mut session, sql).await).0, 1142);
    let Err(error) = session.execute(prepared, vec![Datum::Int(1)]).await else { panic!("allowed") };
    assert_eq!(error.code, 1142);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_give_what_they_have_while_they_are_active() {
    let (domain, mut root) = server().await;
    begin(&mut root).await;
    run(
        &mut root,
        &["CREATE ROLE IF NOT EXISTS inner_role", "GRANT SELECT ON app.* TO inner_role", "GRANT inner_role TO r", "GRANT r TO u"],
    )
    .await;
    let mut session = connect(&domain, "u");
    let read = "SELECT a FROM app.t";
    assert_eq!(texts(&mut session, "SELECT CURRENT_ROLE()").await, ["NONE"]);
    assert_eq!(code(rows(&mut session, read).await).0, 1142);
    run(&mut session, &["SET ROLE r", read]).await;
    assert_eq!(texts(&mut session, "SELECT CURRENT_ROLE()").await, ["`r`@`%`"]);
    run(&mut session, &["SET ROLE NONE"]).await;
    assert_eq!(code(rows(&mut session, read).await).0, 1142);

    run(&mut root, &["SET DEFAULT ROLE r TO u"]).await;
    let mut later = connect(&domain, "u");
    run(&mut later, &[read]).await;
    run(&mut root, &["REVOKE r FROM u"]).await;
    assert_eq!(code(rows(&mut later, read).await).0, 1142, "a role that is no longer granted is no longer active");

    run(&mut root, &["SET GLOBAL mandatory_roles = 'r', GLOBAL activate_all_roles_on_login = ON"]).await;
    run(&mut connect(&domain, "v"), &[read]).await;
    assert_eq!(code(rows(&mut root, "DROP ROLE r").await).0, 3628);
    run(&mut root, &["SET GLOBAL mandatory_roles = '', GLOBAL activate_all_roles_on_login = OFF"]).await;
    assert_eq!(code(rows(&mut root, "GRANT r TO inner_role").await).0, 3524, "no circles");
    assert_eq!(code(rows(&mut root, "GRANT nobody TO u").await).0, 3523);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_password_has_to_be_changed_first() {
    let (domain, mut root) = server().await;
    begin(&mut root).await;
    let handle = domain.connections().register().expect("room");
    let info = session::ClientInfo {
        user: "u".to_owned(),
        login: "u".to_owned(),
        account_host: "%".to_owned(),
        password_expired: true,
        ..session::ClientInfo::default()
    };
    let mut session = Session::new(&domain, handle, info);
    for sql in ["SELECT 1", "SHOW DATABASES", "ALTER USER u ACCOUNT UNLOCK"] {
        assert_eq!(code(rows(&mut session, sql).await).0, 1820, "{sql}");
    }
    run(&mut session, &["ALTER USER CURRENT_USER() IDENTIFIED BY 'new'", "SELECT 1"]).await;
}
