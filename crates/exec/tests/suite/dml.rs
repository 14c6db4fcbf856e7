//! Statements that change rows: what they write, report, warn about and refuse.

use crate::support::{Server, Session};
use exec::InfoKind;
use expr::SqlMode;

const USERS: &str = "CREATE TABLE u (id BIGINT PRIMARY KEY AUTO_INCREMENT, email VARCHAR(40) UNIQUE, n INT NOT NULL DEFAULT 7, note VARCHAR(10), KEY k (n))";

async fn users() -> (Server, Session) {
    Server::with(&[USERS]).await
}

#[tokio::test]
async fn inserted_rows_come_back_by_every_path() {
    let (_server, mut s) = users().await;
    let affected = s.affected("INSERT INTO u (email, n) VALUES ('a@x', 1), ('b@x', 2), (NULL, 3), (NULL, 3)").await;
    assert_eq!((affected.rows, affected.last_insert_id, affected.info), (4, 1, InfoKind::Records));
    assert_eq!(affected.info(0), "Records: 4  Duplicates: 0  Warnings: 0");
    assert_eq!(s.lines("SELECT * FROM u ORDER BY id").await, ["1,a@x,1,NULL", "2,b@x,2,NULL", "3,NULL,3,NULL", "4,NULL,3,NULL"]);
    assert_eq!(s.lines("SELECT n FROM u WHERE id = 2").await, ["2"]);
    assert_eq!(s.lines("SELECT id, email FROM u WHERE email = 'B@X'").await, ["2,b@x"]);
    assert_eq!(s.sorted_lines("SELECT id FROM u WHERE n = 3").await, ["3", "4"]);
    assert_eq!(s.sorted_lines("SELECT email FROM u FORCE INDEX (k) WHERE n < 3").await, ["a@x", "b@x"]);
    assert_eq!(s.lines("SELECT COUNT(*), COUNT(email), SUM(n), MIN(email) FROM u").await, ["4,2,9,a@x"]);
    let checked = s.check("u").await.expect("consistent");
    assert_eq!((checked.rows, checked.entries), (4, 8));
}

#[tokio::test]
async fn duplicates_are_found_in_every_kind_of_transaction() {
    let (_server, mut s) = users().await;
    s.run("INSERT INTO u VALUES (1, 'a@x', 1, NULL)").await;
    for pessimistic in [None, Some(true), Some(false)] {
        if let Some(pessimistic) = pessimistic {
            s.begin(pessimistic).await;
        }
        if pessimistic == Some(false) {
            s.run("INSERT INTO u VALUES (1, 'c@x', 1, NULL)").await;
            let error = s.commit().await.expect_err("the key is there");
            assert_eq!((error.code, error.message.as_str()), (1062, "Duplicate entry '1' for key 'u.PRIMARY'"));
            continue;
        }
        assert_eq!(s.error("INSERT INTO u VALUES (1, 'c@x', 1, NULL)").await, "1062 Duplicate entry '1' for key 'u.PRIMARY'");
        assert_eq!(s.error("INSERT INTO u VALUES (2, 'A@X', 1, NULL)").await, "1062 Duplicate entry 'A@X' for key 'u.email'");
        assert_eq!(
            s.error("INSERT INTO u VALUES (5, 'n@x', 1, NULL), (5, 'm@x', 1, NULL)").await,
            "1062 Duplicate entry '5' for key 'u.PRIMARY'"
        );
        s.rollback().await;
    }
    assert_eq!(s.lines("SELECT id FROM u").await, ["1"]);
}

#[tokio::test]
async fn a_failed_statement_takes_back_its_writes_but_not_the_transactions() {
    let (_server, mut s) = users().await;
    s.begin(true).await;
    s.run("INSERT INTO u (id, n) VALUES (1, 1)").await;
    s.error("INSERT INTO u (id, n) VALUES (2, 1), (3, 1), (1, 1)").await;
    s.run("INSERT INTO u (id, n) VALUES (4, 1)").await;
    assert_eq!(s.lines("SELECT id FROM u ORDER BY id").await, ["1", "4"]);
    s.commit().await.expect("commits");
    assert_eq!(s.lines("SELECT id FROM u ORDER BY id").await, ["1", "4"]);
    s.check("u").await.expect("consistent");
}

#[tokio::test]
async fn ignore_turns_errors_of_rows_into_warnings() {
    let (_server, mut s) = users().await;
    s.run("INSERT INTO u (id, email) VALUES (1, 'a')").await;
    let affected = s
        .affected("INSERT IGNORE INTO u (id, email, n, note) VALUES (1, 'x', 1, ''), (2, 'A', 1, ''), (3, 'c', NULL, 'much too long')")
        .await;
    assert_eq!((affected.rows, affected.changed), (1, 2));
    assert_eq!(
        s.last_warnings,
        [
            "1048 Column 'n' cannot be null",
            "1265 Data truncated for column 'note' at row 3",
            "1062 Duplicate entry '1' for key 'u.PRIMARY'",
            "1062 Duplicate entry 'A' for key 'u.email'",
        ]
    );
    assert_eq!(s.lines("SELECT * FROM u ORDER BY id").await, ["1,a,7,NULL", "3,c,0,much too l"]);
    s.check("u").await.expect("consistent");
}

#[tokio::test]
async fn on_duplicate_key_update_counts_one_two_or_nothing() {
    for pessimistic in [None, Some(true), Some(false)] {
        let (_server, mut s) = users().await;
        if let Some(pessimistic) = pessimistic {
            s.begin(pessimistic).await;
        }
        let sql = "INSERT INTO u (id, email, n) VALUES (1, 'a', 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n), note = CONCAT('n=', n)";
        assert_eq!(s.affected(sql).await.rows, 1);
        assert_eq!(s.affected(sql).await.rows, 2);
        assert_eq!(s.lines("SELECT * FROM u").await, ["1,a,2,n=2"]);
        assert_eq!(s.affected("INSERT INTO u (id) VALUES (1) ON DUPLICATE KEY UPDATE n = 2").await.rows, 0);
        s.settings.found_rows = true;
        assert_eq!(s.affected("INSERT INTO u (id) VALUES (1) ON DUPLICATE KEY UPDATE n = 2").await.rows, 1);
        // By the other unique key; the row moves to another primary key.
        assert_eq!(s.affected("INSERT INTO u (id, email) VALUES (9, 'A') ON DUPLICATE KEY UPDATE id = id + 10").await.rows, 2);
        s.commit().await.expect("commits");
        assert_eq!(s.lines("SELECT * FROM u").await, ["11,a,2,n=2"]);
        s.check("u").await.expect("consistent");
    }
}

#[tokio::test]
async fn replace_deletes_every_row_in_the_way() {
    for pessimistic in [None, Some(true)] {
        let (_server, mut s) = users().await;
        s.run("INSERT INTO u (id, email, n) VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)").await;
        if let Some(pessimistic) = pessimistic {
            s.begin(pessimistic).await;
        }
        assert_eq!(s.affected("REPLACE INTO u (id, email, n) VALUES (1, 'b', 9)").await.rows, 3);
        assert_eq!(s.affected("REPLACE INTO u (id, email, n) VALUES (4, 'd', 4)").await.rows, 1);
        s.commit().await.expect("commits");
        assert_eq!(s.lines("SELECT id, email, n FROM u ORDER BY id").await, ["1,b,9", "3,c,3", "4,d,4"]);
        s.check("u").await.expect("consistent");
    }
}

#[tokio::test]
async fn updates_write_only_rows_that_change() {
    let (_server, mut s) = Server::with(&[
        "CREATE TABLE c (id INT PRIMARY KEY, a INT, b VARCHAR(5), changed TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, UNIQUE KEY ua (a))",
        "INSERT INTO c VALUES (1, 1, 'x', NULL), (2, 2, 'y', NULL), (3, NULL, 'z', NULL)",
    ])
    .await;
    let affected = s.affected("UPDATE c SET b = 'x' WHERE id < 3").await;
    assert_eq!((affected.rows, affected.matched, affected.changed), (1, 2, 1));
    assert_eq!(affected.info(0), "Rows matched: 2  Changed: 1  Warnings: 0");
    assert_eq!(s.lines("SELECT id, b, changed IS NULL FROM c ORDER BY id").await, ["1,x,1", "2,x,0", "3,z,1"]);
    s.settings.found_rows = true;
    assert_eq!(s.affected("UPDATE c SET b = 'x' WHERE id < 3").await.rows, 2);
    // Each assignment sees the ones before it.
    s.run("UPDATE c SET a = a + 10, b = a WHERE id = 1").await;
    assert_eq!(s.lines("SELECT a, b FROM c WHERE id = 1").await, ["11,11"]);
    // The primary key moves; the order decides whether values collide on the way.
    s.run("UPDATE c SET id = id + 1 ORDER BY id DESC").await;
    assert_eq!(s.lines("SELECT id, a FROM c ORDER BY id").await, ["2,11", "3,2", "4,NULL"]);
    assert_eq!(s.affected("UPDATE c SET b = 'q' ORDER BY id DESC LIMIT 1").await.rows, 1);
    assert_eq!(s.lines("SELECT id FROM c WHERE b = 'q'").await, ["4"]);
    assert_eq!(s.error("UPDATE c SET a = 2 WHERE id = 2").await, "1062 Duplicate entry '2' for key 'c.ua'");
    assert_eq!(s.affected("UPDATE IGNORE c SET a = 2").await.changed, 0);
    assert_eq!(s.last_warnings.len(), 2);
    s.check("c").await.expect("consistent");
}

#[tokio::test]
async fn deletes_remove_rows_with_their_entries() {
    for pessimistic in [None, Some(true), Some(false)] {
        let (_server, mut s) = users().await;
        s.run("INSERT INTO u (id, email, n) VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 1), (4, 'd', 2), (5, NULL, 2)").await;
        if let Some(pessimistic) = pessimistic {
            s.begin(pessimistic).await;
        }
        assert_eq!(s.affected("DELETE FROM u WHERE n = 1 ORDER BY id DESC LIMIT 2").await.rows, 2);
        assert_eq!(s.affected("DELETE FROM u WHERE id = 4").await.rows, 1);
        assert_eq!(s.affected("DELETE FROM u WHERE id = 4").await.rows, 0);
        // A deleted value can be used again at once.
        s.run("INSERT INTO u (id, email, n) VALUES (4, 'b', 8)").await;
        s.commit().await.expect("commits");
        assert_eq!(s.lines("SELECT id, email FROM u ORDER BY id").await, ["1,a", "4,b", "5,NULL"]);
        s.check("u").await.expect("consistent");
    }
}

#[tokio::test]
async fn several_tables_are_changed_by_one_statement() {
    let (_server, mut s) = Server::with(&[
        "CREATE TABLE a (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE b (id INT PRIMARY KEY, a_id INT, v INT)",
        "INSERT INTO a VALUES (1, 10), (2, 20), (3, 30)",
        "INSERT INTO b VALUES (1, 1, 0), (2, 1, 0), (3, 2, 0)",
    ])
    .await;
    let affected = s.affected("UPDATE a JOIN b ON b.a_id = a.id SET a.v = a.v + 1, b.v = a.v").await;
    assert_eq!(affected.rows, 5);
    assert_eq!(s.lines("SELECT * FROM a ORDER BY id").await, ["1,11", "2,21", "3,30"]);
    assert_eq!(s.affected("DELETE a, b FROM a LEFT JOIN b ON b.a_id = a.id WHERE a.id <> 2").await.rows, 4);
    assert_eq!(s.lines("SELECT * FROM a").await, ["2,21"]);
    assert_eq!(s.lines("SELECT id FROM b").await, ["3"]);
}

#[tokio::test]
async fn columns_without_values_get_defaults_or_errors() {
    let (_server, mut s) =
        Server::with(&["CREATE TABLE d (a INT NOT NULL, b INT NOT NULL DEFAULT 5, c VARCHAR(3), e DATETIME DEFAULT CURRENT_TIMESTAMP)"])
            .await;
    assert_eq!(s.error("INSERT INTO d (b) VALUES (1)").await, "1364 Field 'a' doesn't have a default value");
    assert_eq!(s.error("INSERT INTO d (a) VALUES (NULL)").await, "1048 Column 'a' cannot be null");
    assert_eq!(s.error("INSERT INTO d (a, c) VALUES (1, 'ok'), (2, 'toolong')").await, "1406 Data too long for column 'c' at row 2");
    assert_eq!(s.error("INSERT INTO d (a) VALUES (99999999999)").await, "1264 Out of range value for column 'a' at row 1");
    s.run("INSERT INTO d (a, b) VALUES (1, DEFAULT), (2, a + 1)").await;
    assert_eq!(s.lines("SELECT a, b, c, e FROM d ORDER BY a").await, ["1,5,NULL,2023-11-14 22:13:20", "2,3,NULL,2023-11-14 22:13:20"]);
    s.settings.sql_mode = SqlMode::EMPTY;
    s.run("INSERT INTO d (b) VALUES (1)").await;
    assert_eq!(s.last_warnings, ["1364 Field 'a' doesn't have a default value"]);
    assert_eq!(s.error("INSERT INTO d (a) VALUES (NULL)").await, "1048 Column 'a' cannot be null");
    s.run("INSERT INTO d (a, c) VALUES (NULL, 'toolong'), (99999999999, NULL)").await;
    assert_eq!(s.lines("SELECT a, c FROM d WHERE b = 5 AND a <> 1 ORDER BY a").await, ["0,too", "2147483647,NULL"]);
}

#[tokio::test]
async fn auto_increment_follows_explicit_values() {
    let (_server, mut s) = users().await;
    assert_eq!(s.affected("INSERT INTO u (id, n) VALUES (NULL, 1), (0, 1), (10, 1), (NULL, 1)").await.last_insert_id, 1);
    assert_eq!(s.lines("SELECT id FROM u ORDER BY id").await, ["1", "2", "10", "11"]);
    assert_eq!(s.affected("INSERT INTO u (id) VALUES (500)").await.last_insert_id, 500);
    assert_eq!(s.affected("INSERT INTO u (n) VALUES (1), (2)").await.last_insert_id, 501);
    assert_eq!(s.lines("SELECT id FROM u WHERE id > 400 ORDER BY id").await, ["500", "501", "502"]);
    s.settings.sql_mode = SqlMode::default().union(SqlMode::NO_AUTO_VALUE_ON_ZERO);
    s.run("INSERT INTO u (id) VALUES (0)").await;
    assert_eq!(s.lines("SELECT id FROM u WHERE id < 1").await, ["0"]);
    s.run("INSERT INTO u (id) VALUES (-5)").await;
    assert_eq!(s.affected("INSERT INTO u (n) VALUES (1)").await.last_insert_id, 503);
}

#[tokio::test]
async fn insert_select_reads_what_was_there_before() {
    let (_server, mut s) = Server::with(&["CREATE TABLE h (a INT, b INT, KEY (b))", "INSERT INTO h VALUES (1, 1), (2, 2), (3, 3)"]).await;
    for pessimistic in [None, Some(true)] {
        if let Some(pessimistic) = pessimistic {
            s.begin(pessimistic).await;
            s.run("INSERT INTO h VALUES (9, 9)").await;
        }
        for chunk_rows in [1, 1024] {
            s.settings.chunk_rows = chunk_rows;
            let before = s.lines("SELECT COUNT(*) FROM h").await[0].parse::<u64>().expect("a number");
            assert_eq!(s.affected("INSERT INTO h SELECT a + 10, b FROM h").await.rows, before);
            assert_eq!(s.affected("INSERT INTO h SELECT a, b FROM h USE INDEX (b) WHERE b = 2 LIMIT 1").await.rows, 1);
            assert_eq!(s.lines("SELECT COUNT(*) FROM h").await, [(2 * before + 1).to_string()]);
        }
    }
    s.commit().await.expect("commits");
    s.check("h").await.expect("consistent");
}

#[tokio::test]
async fn primary_keys_of_any_shape_work_with_every_index() {
    for (collation, same) in [("utf8mb4_0900_ai_ci", true), ("utf8mb4_bin", false)] {
        let create = format!(
            "CREATE TABLE p (x VARCHAR(20) COLLATE {collation}, y DECIMAL(6,2), z VARCHAR(20) COLLATE {collation}, w INT, \
             PRIMARY KEY (x, y), UNIQUE KEY uz (z), KEY kw (w), KEY kz (z(2), w DESC))"
        );
        let (_server, mut s) = Server::with(&[&create]).await;
        s.run("INSERT INTO p VALUES ('Abc', 1.50, 'Zed ', 1), ('abd', 1.5, 'zeE', 2), ('', 0, NULL, 2)").await;
        s.begin(true).await;
        for pass in 0..2 {
            assert_eq!(
                s.sorted_lines("SELECT x, y, w FROM p FORCE INDEX (kw) WHERE w >= 1").await,
                [",0.00,2", "Abc,1.50,1", "abd,1.50,2"],
                "{pass}"
            );
            let by_unique = if same { ["Abc,Zed ", "abd,zeE"].to_vec() } else { ["abd,zeE"].to_vec() };
            assert_eq!(s.lines("SELECT x, z FROM p FORCE INDEX (uz) WHERE z > 'a' ORDER BY z").await, by_unique);
            assert_eq!(s.lines("SELECT y FROM p WHERE x = 'ABC' AND y = 1.5").await.len(), usize::from(same));
            assert_eq!(s.lines("SELECT z FROM p WHERE x = 'Abc' AND y = 1.5").await, ["Zed "]);
            assert_eq!(s.sorted_lines("SELECT w FROM p FORCE INDEX (kz) WHERE z LIKE 'z%'").await.len(), if same { 2 } else { 1 });
            let duplicate = s.try_run("INSERT INTO p VALUES ('ABC', 1.50, 'other', 3)").await;
            assert_eq!(duplicate.is_err(), same);
            if !same {
                s.run("DELETE FROM p WHERE x = 'ABC'").await;
            }
            // The second pass reads the transaction's own view.
            s.run("UPDATE p SET w = w WHERE w = 1").await;
            s.run("INSERT INTO p VALUES ('tmp', 1, 'tmp', 9)").await;
            s.run("DELETE FROM p WHERE z = 'tmp'").await;
        }
        s.run("UPDATE p SET x = 'abD', z = 'ZEE' WHERE x = 'abd'").await;
        s.commit().await.expect("commits");
        assert_eq!(s.lines("SELECT x, z FROM p WHERE z = 'ZEE'").await, ["abD,ZEE"]);
        s.check("p").await.expect("consistent");
    }
}

#[tokio::test]
async fn check_finds_what_is_wrong() {
    let (server, mut s) = users().await;
    s.run("INSERT INTO u (id, email, n) VALUES (1, 'a', 1), (2, 'b', 2)").await;
    let table = server.catalog.current().table("test", "u").expect("there");
    let key = codec::table::record_key(table.id, &codec::Handle::Int(2));
    let mut txn = server.client.begin(client::TxnOptions::default());
    let row = txn.get(&key).await.expect("reads").expect("there");
    txn.delete(key.clone().into());
    txn.commit().await.expect("commits");
    let error = s.check("u").await.expect_err("an entry without a row").to_mysql();
    assert_eq!(error.code, 8223);
    assert!(error.message.contains("index: email, handle: 2"), "{}", error.message);
    let mut txn = server.client.begin(client::TxnOptions::default());
    txn.ensure_start_ts().await.expect("a timestamp");
    txn.set(key.into(), row, client::WriteFlags::default()).expect("fits");
    let index = base::KeyRange::prefix(&codec::table::index_prefix(table.id, table.indexes[1].id));
    let entry = txn.scan(index, client::ScanOptions::default()).next().await.expect("reads").expect("there");
    txn.delete(entry.0);
    txn.commit().await.expect("commits");
    let error = s.check("u").await.expect_err("a row without an entry").to_mysql();
    assert!(error.message.contains("index: k, handle: 1"), "{}", error.message);
}

#[tokio::test]
async fn a_row_larger_than_the_limit_is_refused() {
    let (_server, mut s) = Server::with(&["CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)"]).await;
    s.run("INSERT INTO big VALUES (1, REPEAT('x', 100000))").await;
    assert!(s.error("INSERT INTO big VALUES (2, REPEAT('x', 7000000))").await.starts_with("8025 "));
    assert_eq!(s.lines("SELECT id, LENGTH(b) FROM big").await, ["1,100000"]);
}

#[tokio::test]
async fn short_common_handles_are_no_integers() {
    let (_server, mut s) = Server::with(&[
        "CREATE TABLE k (d DECIMAL(8,3) PRIMARY KEY, n INT, UNIQUE KEY (n))",
        "CREATE TABLE two (d DECIMAL(2,0) PRIMARY KEY, n INT, KEY (n))",
    ])
    .await;
    s.run("INSERT INTO k VALUES (1.5, 1), (-10.25, 6), (99999, 7)").await;
    s.run("INSERT INTO two VALUES (1, 1), (-2, 6), (3, 6)").await;
    assert_eq!(s.lines("SELECT n FROM k WHERE d = 1.5").await, ["1"]);
    assert_eq!(s.lines("SELECT n FROM k WHERE d IN (1.5, -10.25, 3) ORDER BY d").await, ["6", "1"]);
    assert_eq!(s.lines("SELECT d FROM k WHERE n = 6").await, ["-10.250"]);
    assert_eq!(s.lines("SELECT d FROM k ORDER BY d").await, ["-10.250", "1.500", "99999.000"]);
    assert_eq!(s.sorted_lines("SELECT d FROM two FORCE INDEX (n) WHERE n = 6").await, ["-2", "3"]);
    assert_eq!(s.lines("SELECT n FROM two WHERE d > -3 AND d <= 1 ORDER BY d").await, ["6", "1"]);
    assert_eq!(s.error("INSERT INTO k VALUES (1.5, 9)").await, "1062 Duplicate entry '1.500' for key 'k.PRIMARY'");
    s.run("UPDATE k SET d = d - 1").await;
    s.run("DELETE FROM two WHERE d = 3").await;
    s.check("k").await.expect("consistent");
    s.check("two").await.expect("consistent");
}

#[tokio::test]
async fn only_inserted_rows_leave_their_generated_value() {
    let (_server, mut s) = users().await;
    assert_eq!(s.affected("INSERT INTO u (email) VALUES ('a'), ('b')").await.last_insert_id, 1);
    // The second row takes a value too, but is not inserted.
    let sql = "INSERT INTO u (email) VALUES ('a'), ('c') ON DUPLICATE KEY UPDATE n = 1";
    assert_eq!(s.affected(sql).await.last_insert_id, 4);
    assert_eq!(s.affected("INSERT INTO u (email) VALUES ('a') ON DUPLICATE KEY UPDATE n = 9").await.last_insert_id, 1);
    assert_eq!(s.affected("INSERT IGNORE INTO u (email) VALUES ('b'), ('d')").await.last_insert_id, 7);
    assert_eq!(s.lines("SELECT id, email FROM u ORDER BY id").await, ["1,a", "2,b", "4,c", "7,d"]);
}
