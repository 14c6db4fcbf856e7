//! Window functions and rollups against what they mean in other SQL, over stored rows and a transaction's own, at every chunk size; memory and
//! cancellation.

use crate::support::{Server, Session};

/// A table with NULLs, few groups and repeated values; half of it is the transaction's own if `dirty`.
async fn rows(dirty: bool) -> Session {
    let (_, mut s) = Server::with(&["CREATE TABLE l (id INT PRIMARY KEY, g INT, v INT, x DOUBLE, KEY kg (g, v))"]).await;
    let row = |id: i64| {
        let g = if id % 7 == 0 { "NULL".to_owned() } else { (id * id % 5).to_string() };
        let v = if id % 11 == 0 { "NULL".to_owned() } else { (id * 37 % 19 - 9).to_string() };
        format!("({id},{g},{v},{})", (id * 13 % 8) as f64 / 2.0)
    };
    let insert = |from: i64, to: i64| format!("INSERT INTO l VALUES {}", (from..to).map(row).collect::<Vec<_>>().join(","));
    s.run(&insert(0, 30)).await;
    if dirty {
        s.begin(true).await;
    }
    s.run(&insert(30, 60)).await;
    s
}

/// Both queries give the same rows.
async fn alike(pairs: &[(&str, &str)]) {
    for dirty in [false, true] {
        let mut s = rows(dirty).await;
        for chunk_rows in [1, 3, 1024] {
            s.settings.chunk_rows = chunk_rows;
            for (sql, meaning) in pairs {
                let (found, expected) = (s.lines(sql).await, s.lines(meaning).await);
                assert!(!expected.is_empty());
                assert_eq!(found, expected, "{sql} dirty:{dirty} chunk:{chunk_rows}");
            }
        }
        s.rollback().await;
    }
}

#[tokio::test]
async fn windows_mean_what_subqueries_say() {
    alike(&[
        (
            "SELECT id, SUM(v) OVER (PARTITION BY g ORDER BY id) FROM l ORDER BY id",
            "SELECT id, (SELECT SUM(b.v) FROM l b WHERE b.g <=> a.g AND b.id <= a.id) FROM l a ORDER BY id",
        ),
        (
            "SELECT id, RANK() OVER (PARTITION BY g ORDER BY v DESC) FROM l WHERE v IS NOT NULL ORDER BY id",
            "SELECT id, (SELECT COUNT(*) FROM l b WHERE b.g <=> a.g AND b.v > a.v) + 1 FROM l a WHERE v IS NOT NULL ORDER BY id",
        ),
        (
            "SELECT id, COUNT(v) OVER (ORDER BY v RANGE BETWEEN 2 PRECEDING AND 3 FOLLOWING) FROM l WHERE v IS NOT NULL ORDER BY id",
            "SELECT id, (SELECT COUNT(*) FROM l b WHERE b.v BETWEEN a.v - 2 AND a.v + 3) FROM l a WHERE v IS NOT NULL ORDER BY id",
        ),
        (
            "SELECT id, MAX(x) OVER (ORDER BY id ROWS BETWEEN 4 PRECEDING AND 2 PRECEDING), LAG(g, 3) OVER (ORDER BY id) FROM l ORDER BY id",
            "SELECT id, (SELECT MAX(b.x) FROM l b WHERE b.id BETWEEN a.id - 4 AND a.id - 2), (SELECT g FROM l b WHERE b.id = a.id - 3) FROM l a ORDER BY id",
        ),
        (
            "SELECT g, SUM(v), SUM(SUM(v)) OVER (ORDER BY g), ROW_NUMBER() OVER (ORDER BY g DESC) FROM l WHERE g IS NOT NULL GROUP BY g ORDER BY g",
            "SELECT g, SUM(v), (SELECT SUM(v) FROM l b WHERE b.g <= l.g), 1 + (SELECT COUNT(DISTINCT g) FROM l b WHERE b.g > l.g) FROM l WHERE g IS NOT NULL GROUP BY g ORDER BY g",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_rollup_is_the_union_of_its_levels() {
    let levels = |functions: &str| {
        (
            format!("SELECT g, v, GROUPING(g, v), {functions} FROM l GROUP BY g, v WITH ROLLUP ORDER BY 3, 1, 2"),
            format!(
                "SELECT g, v, 0 AS level, {functions} FROM l GROUP BY g, v UNION ALL SELECT g, NULL, 1, {functions} FROM l GROUP BY g \
                 UNION ALL SELECT NULL, NULL, 3, {functions} FROM l ORDER BY 3, 1, 2"
            ),
        )
    };
    let in_parts = levels("COUNT(*), SUM(x), AVG(v), MIN(id), BIT_XOR(id)");
    let of_rows = levels("COUNT(DISTINCT x), SUM(DISTINCT v), COUNT(v)");
    alike(&[(&in_parts.0, &in_parts.1), (&of_rows.0, &of_rows.1)]).await;
}

#[tokio::test]
async fn what_needs_no_partition_in_memory_runs_within_the_quota() {
    let (_, mut s) = Server::with(&["CREATE TABLE big (id INT PRIMARY KEY, g INT, s VARCHAR(100))"]).await;
    for start in (0..6000).step_by(1000) {
        let values: Vec<String> = (start..start + 1000).map(|id| format!("({id},{},'text {}')", id % 40, id * 7919 % 6007)).collect();
        s.run(&format!("INSERT INTO big VALUES {}", values.join(","))).await;
    }
    s.settings.chunk_rows = 64;
    let running = [
        "SELECT id, ROW_NUMBER() OVER (ORDER BY s, id), RANK() OVER (ORDER BY s, id), DENSE_RANK() OVER (ORDER BY s, id) FROM big",
        "SELECT id, s, SUM(g) OVER (ORDER BY s, id), MAX(g) OVER (ORDER BY s, id ROWS UNBOUNDED PRECEDING) FROM big",
        "SELECT id, s, ROW_NUMBER() OVER (), COUNT(*) OVER (ROWS UNBOUNDED PRECEDING) FROM big",
        "SELECT id, s, LAG(s) OVER (PARTITION BY g ORDER BY id), AVG(id) OVER (PARTITION BY g) FROM big",
    ];
    for sql in running {
        s.settings.quota = None;
        let expected = s.lines(sql).await;
        s.settings.quota = Some(160 << 10);
        assert_eq!(s.lines(sql).await, expected, "{sql}");
    }
    for sql in ["SELECT id, s, COUNT(*) OVER () FROM big", "SELECT id, s, LEAD(s) OVER (ORDER BY s) FROM big"] {
        let error = s.error(sql).await;
        assert!(error.starts_with("8175 ") && error.contains("tidb_mem_quota_query"), "{sql}: {error}");
    }
}

#[tokio::test]
async fn a_cancelled_window_stops() {
    let mut s = rows(false).await;
    let schema = s.server.catalog.current();
    let plan = s.plan("SELECT SUM(a.id) OVER (ORDER BY a.id ROWS 9 PRECEDING) FROM l a, l b, l c", &schema).expect("plans");
    let ctx = s.ctx(&plan, schema, None, false, exec::ReadTs::Newest);
    let cancel = ctx.cancel.clone();
    let exec::Execution::Rows(mut rows) = exec::execute(&plan, ctx).await.expect("starts") else { panic!("rows expected") };
    rows.next().await.expect("runs").expect("a first chunk");
    cancel.cancel(env::CancelReason::KillQuery);
    assert_eq!(rows.next().await.expect_err("stopped").to_mysql().code, 1317);
    s.rollback().await;
}
