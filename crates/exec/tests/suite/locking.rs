//! Pessimistic statements beside each other: they wait, see the newest rows, and start again after a conflict.

use std::time::Duration;

use crate::support::{Server, Session};

async fn accounts() -> (Server, Session, Session) {
    let (server, s) = Server::with(&[
        "CREATE TABLE a (id INT PRIMARY KEY, v INT, u INT, UNIQUE KEY uu (u), KEY kv (v))",
        "INSERT INTO a VALUES (1, 10, 1), (2, 20, 2), (3, 30, 3)",
    ])
    .await;
    let other = server.session();
    (server, s, other)
}

#[tokio::test]
async fn increments_beside_each_other_are_all_counted() {
    let (server, mut s, _) = accounts().await;
    let mut tasks = Vec::new();
    for at in 0..4 {
        let mut session = server.session();
        tasks.push(tokio::spawn(async move {
            for _ in 0..25 {
                session.begin(true).await;
                session.run(if at % 2 == 0 { "UPDATE a SET v = v + 1 WHERE id = 1" } else { "UPDATE a SET v = v + 1 WHERE u = 1" }).await;
                session.commit().await.expect("commits");
            }
        }));
    }
    for task in tasks {
        task.await.expect("finishes");
    }
    assert_eq!(s.lines("SELECT v FROM a WHERE id = 1").await, ["110"]);
    s.check("a").await.expect("consistent");
}

#[tokio::test]
async fn range_updates_start_again_after_a_conflict() {
    let (server, mut s, mut other) = accounts().await;
    s.begin(true).await;
    assert_eq!(s.lines("SELECT v FROM a WHERE id = 2").await, ["20"]);
    other.begin(true).await;
    other.run("UPDATE a SET v = 100 WHERE id = 2").await;
    let waiting = tokio::spawn(async move {
        s.run("UPDATE a SET v = v + 1 WHERE v > 15").await;
        s.commit().await.expect("commits");
    });
    tokio::task::yield_now().await;
    other.commit().await.expect("commits");
    waiting.await.expect("finishes");
    let mut s = server.session();
    assert_eq!(s.lines("SELECT v FROM a ORDER BY id").await, ["10", "101", "31"]);
    s.check("a").await.expect("consistent");
}

#[tokio::test]
async fn nowait_and_skip_locked_do_not_wait() {
    let (_server, mut s, mut other) = accounts().await;
    s.begin(true).await;
    assert_eq!(s.lines("SELECT id FROM a WHERE id = 2 FOR UPDATE").await, ["2"]);
    other.begin(true).await;
    assert_eq!(&other.error("SELECT id FROM a WHERE id = 2 FOR UPDATE NOWAIT").await[..4], "3572");
    assert_eq!(&other.error("SELECT id FROM a WHERE v > 0 FOR UPDATE NOWAIT").await[..4], "3572");
    assert_eq!(other.sorted_lines("SELECT id FROM a WHERE v > 0 FOR UPDATE SKIP LOCKED").await, ["1", "3"]);
    assert_eq!(other.lines("SELECT id FROM a WHERE id = 2 FOR UPDATE SKIP LOCKED").await, Vec::<String>::new());
    other.settings.lock_wait = Duration::from_millis(50);
    assert_eq!(&other.error("UPDATE a SET v = 0 WHERE id = 2").await[..4], "1205");
    // A plain read is never blocked.
    assert_eq!(other.lines("SELECT v FROM a WHERE id = 2").await, ["20"]);
    s.rollback().await;
    assert_eq!(other.lines("SELECT id FROM a WHERE id = 2 FOR UPDATE NOWAIT").await, ["2"]);
    other.rollback().await;
}

#[tokio::test]
async fn a_locking_read_sees_the_newest_row_a_plain_one_the_snapshot() {
    let (_server, mut s, mut other) = accounts().await;
    s.begin(true).await;
    assert_eq!(s.lines("SELECT v FROM a WHERE id = 1").await, ["10"]);
    other.run("UPDATE a SET v = 11, u = 7 WHERE id = 1").await;
    assert_eq!(s.lines("SELECT v FROM a WHERE id = 1").await, ["10"]);
    assert_eq!(s.lines("SELECT v FROM a WHERE id = 1 FOR UPDATE").await, ["11"]);
    assert_eq!(s.lines("SELECT v FROM a WHERE u = 7 FOR UPDATE").await, ["11"]);
    s.run("UPDATE a SET v = v + 1 WHERE id = 1").await;
    assert_eq!(s.lines("SELECT v FROM a WHERE id = 1").await, ["12"]);
    s.commit().await.expect("commits");
    assert_eq!(other.lines("SELECT v, u FROM a WHERE id = 1").await, ["12,7"]);
}

#[tokio::test]
async fn an_insert_waits_for_the_deletion_of_its_unique_value() {
    let (server, mut s, mut other) = accounts().await;
    s.begin(true).await;
    s.run("DELETE FROM a WHERE id = 3").await;
    let waiting = tokio::spawn(async move {
        other.begin(true).await;
        other.run("INSERT INTO a VALUES (9, 9, 3)").await;
        other.commit().await.expect("commits");
    });
    tokio::task::yield_now().await;
    s.commit().await.expect("commits");
    waiting.await.expect("finishes");
    let mut s = server.session();
    assert_eq!(s.lines("SELECT id FROM a WHERE u = 3").await, ["9"]);
    s.check("a").await.expect("consistent");
}

#[tokio::test]
async fn a_circle_of_waits_is_broken() {
    let (_server, mut s, mut other) = accounts().await;
    s.begin(true).await;
    other.begin(true).await;
    s.run("UPDATE a SET v = 0 WHERE id = 1").await;
    other.run("UPDATE a SET v = 0 WHERE id = 2").await;
    let waiting = tokio::spawn(async move {
        let result = s.try_run("UPDATE a SET v = 0 WHERE id = 2").await.map_err(|error| error.code);
        s.rollback().await;
        result.err()
    });
    let result = other.try_run("UPDATE a SET v = 0 WHERE id = 1").await.map_err(|error| error.code).err();
    other.rollback().await;
    let first = waiting.await.expect("finishes");
    assert!([first, result].contains(&Some(1213)), "{first:?} {result:?}");
    assert!([first, result].contains(&None), "{first:?} {result:?}");
}
