//! Queries against the obvious computation, over stored rows and over a transaction's own, at every chunk size, within and over the memory quota.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::support::{Server, Session};
use copr::SortKey;
use planner::physical::{JoinKey, MergeJoin, Node, Op, PhysicalPlan, Sort};
use planner::{Rule, RuleSet};

/// Deterministic numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// One row of `l` (id, g, v, s) or `r` (id, l_g, w).
type Left = (i64, Option<i64>, i64, String);
type Right = (i64, Option<i64>, i64);

struct Data {
    session: Session,
    left: Vec<Left>,
    right: Vec<Right>,
}

fn text<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or("NULL".to_owned(), T::to_string)
}

fn left_values(rows: &[Left]) -> String {
    rows.iter().map(|(id, g, v, s)| format!("({id},{},{v},'{s}')", text(g))).collect::<Vec<_>>().join(",")
}

fn right_values(rows: &[Right]) -> String {
    rows.iter().map(|(id, g, w)| format!("({id},{},{w})", text(g))).collect::<Vec<_>>().join(",")
}

/// Two tables of random rows. With `dirty`, half of the rows, some changes and some deletions are the transaction's own.
async fn data(seed: u64, dirty: bool) -> Data {
    let mut numbers = Numbers(seed);
    let (_, mut session) = Server::with(&[
        "CREATE TABLE l (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(20), KEY kg (g), KEY ks (s, v))",
        "CREATE TABLE r (id INT PRIMARY KEY, l_g INT, w INT, UNIQUE KEY kw (w), KEY kg (l_g))",
    ])
    .await;
    let mut nullable = |limit| if numbers.below(6) == 0 { None } else { Some(numbers.below(limit) as i64) };
    let groups = (0..60).map(|_| nullable(9)).collect::<Vec<_>>();
    let right_groups = (0..40).map(|_| nullable(12)).collect::<Vec<_>>();
    let left = groups.iter().enumerate().map(|(id, g)| (id as i64, *g, numbers.below(30) as i64 - 15, format!("s{}", numbers.below(7))));
    let left = left.collect::<Vec<Left>>();
    let right = right_groups.iter().enumerate().map(|(id, g)| (id as i64, *g, id as i64 * 3)).collect::<Vec<Right>>();
    let stored = if dirty { 30 } else { 60 };
    session.run(&format!("INSERT INTO l VALUES {}", left_values(&left[..stored]))).await;
    session.run(&format!("INSERT INTO r VALUES {}", right_values(&right[..stored.min(20)]))).await;
    if dirty {
        // What the transaction changes was different before.
        session.run("UPDATE l SET g = 77, s = 'before' WHERE id < 10").await;
        session.run("INSERT INTO l VALUES (900, 1, 1, 's1'), (901, NULL, 2, 's2')").await;
        session.begin(true).await;
        session.run("DELETE FROM l WHERE id >= 900").await;
        for row in &left[..10] {
            session.run(&format!("UPDATE l SET g = {}, s = '{}' WHERE id = {}", text(&row.1), row.3, row.0)).await;
        }
        session.run(&format!("INSERT INTO l VALUES {}", left_values(&left[30..]))).await;
    }
    session.run(&format!("INSERT INTO r VALUES {}", right_values(&right[20..]))).await;
    Data { session, left, right }
}

/// Runs a test over stored and own rows, at several chunk sizes.
async fn everywhere(test: impl AsyncFn(&mut Data)) {
    for dirty in [false, true] {
        let mut data = data(42 + u64::from(dirty), dirty).await;
        for chunk_rows in [1, 3, 1024] {
            data.session.settings.chunk_rows = chunk_rows;
            test(&mut data).await;
        }
    }
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

#[tokio::test]
async fn every_access_path_finds_the_same_rows() {
    everywhere(async |data: &mut Data| {
        let wanted = |keep: &dyn Fn(&Left) -> bool| sorted(data.left.iter().filter(|row| keep(row)).map(|row| row.0.to_string()).collect());
        let by_group = wanted(&|row| row.1 == Some(3));
        let by_range = wanted(&|row| row.1.is_some_and(|g| (2..6).contains(&g)) && row.2 > 0);
        let nulls = wanted(&|row| row.1.is_none());
        let by_text = wanted(&|row| row.3 == "s3" && row.2 >= 0);
        let points = wanted(&|row| [3, 5, 58, 59].contains(&row.0));
        for hint in ["USE INDEX ()", "FORCE INDEX (kg)", ""] {
            let s = &mut data.session;
            assert_eq!(s.sorted_lines(&format!("SELECT id FROM l {hint} WHERE g = 3")).await, by_group);
            assert_eq!(s.sorted_lines(&format!("SELECT id FROM l {hint} WHERE g >= 2 AND g < 6 AND v > 0")).await, by_range);
            assert_eq!(s.sorted_lines(&format!("SELECT id FROM l {hint} WHERE g IS NULL")).await, nulls);
        }
        for hint in ["USE INDEX ()", "FORCE INDEX (ks)"] {
            assert_eq!(data.session.sorted_lines(&format!("SELECT id FROM l {hint} WHERE s = 'S3' AND v >= 0")).await, by_text);
        }
        assert_eq!(data.session.sorted_lines("SELECT id FROM l WHERE id IN (59, 3, 5, 3, 1000, 58)").await, points);
        assert_eq!(data.session.lines("SELECT v FROM l WHERE id = 17").await, [data.left[17].2.to_string()]);
        assert_eq!(data.session.lines("SELECT id FROM r WHERE w = 21").await, ["7"]);
        assert_eq!(data.session.sorted_lines("SELECT id FROM r WHERE w IN (21, 22, 24)").await, ["7", "8"]);
    })
    .await;
}

#[tokio::test]
async fn orders_and_limits() {
    everywhere(async |data: &mut Data| {
        let mut rows = data.left.clone();
        rows.sort_by(|a, b| a.1.cmp(&b.1).then(b.2.cmp(&a.2)).then(a.0.cmp(&b.0)));
        let ids = rows.iter().map(|row| row.0.to_string()).collect::<Vec<_>>();
        let s = &mut data.session;
        assert_eq!(s.lines("SELECT id FROM l ORDER BY g, v DESC, id").await, ids);
        assert_eq!(s.lines("SELECT id FROM l ORDER BY g, v DESC, id LIMIT 7 OFFSET 5").await, ids[5..12]);
        assert_eq!(s.lines("SELECT id FROM l ORDER BY id DESC LIMIT 3").await, ["59", "58", "57"]);
        assert_eq!(s.lines("SELECT g FROM l FORCE INDEX (kg) WHERE g > 1 ORDER BY g DESC LIMIT 4").await.len(), 4);
        let by_index = s.lines("SELECT g, v FROM l FORCE INDEX (kg) WHERE g > 1 ORDER BY g").await;
        assert!(by_index.is_sorted_by_key(|line| line.split(',').next().map(str::to_owned)));
        assert_eq!(s.lines("SELECT id FROM l LIMIT 0").await, Vec::<String>::new());
        assert_eq!(s.lines("SELECT id FROM l WHERE v > 1000 LIMIT 5").await, Vec::<String>::new());
        assert_eq!(s.lines("SELECT COUNT(*) FROM (SELECT id FROM l LIMIT 11) x").await, ["11"]);
    })
    .await;
}

#[tokio::test]
async fn groups() {
    everywhere(async |data: &mut Data| {
        let mut groups: BTreeMap<Option<i64>, Vec<&Left>> = BTreeMap::new();
        data.left.iter().for_each(|row| groups.entry(row.1).or_default().push(row));
        let lines = groups.iter().map(|(g, rows)| {
            let sum = rows.iter().map(|row| row.2).sum::<i64>();
            let distinct = rows.iter().map(|row| &row.3).collect::<BTreeSet<_>>().len();
            let least = rows.iter().map(|row| &row.3).min().expect("never empty");
            format!("{},{},{sum},{distinct},{least}", text(g), rows.len())
        });
        let lines = sorted(lines.collect());
        let having = groups.iter().filter(|(_, rows)| rows.len() > 6).map(|(g, _)| text(g));
        let having = sorted(having.collect());
        for hint in ["USE INDEX ()", "FORCE INDEX (kg)"] {
            let s = &mut data.session;
            let sql = format!("SELECT g, COUNT(*), SUM(v), COUNT(DISTINCT s), MIN(s) FROM l {hint} GROUP BY g");
            assert_eq!(s.sorted_lines(&sql).await, lines, "{hint}");
            assert_eq!(s.sorted_lines(&format!("SELECT g FROM l {hint} GROUP BY g HAVING COUNT(*) > 6")).await, having);
        }
        let s = &mut data.session;
        assert_eq!(s.lines("SELECT COUNT(*), SUM(v), MAX(s) FROM l WHERE v > 1000").await, ["0,NULL,NULL"]);
        assert_eq!(s.lines("SELECT g FROM l WHERE v > 1000 GROUP BY g").await, Vec::<String>::new());
        let distinct = data.left.iter().map(|row| (row.1, row.3.clone())).collect::<BTreeSet<_>>().len();
        assert_eq!(s.lines("SELECT COUNT(*) FROM (SELECT DISTINCT g, s FROM l) x").await, [distinct.to_string()]);
    })
    .await;
}

#[tokio::test]
async fn joins() {
    everywhere(async |data: &mut Data| {
        let mut inner = Vec::new();
        let mut outer = Vec::new();
        for l in &data.left {
            let matches = data.right.iter().filter(|r| l.1.is_some() && l.1 == r.1 && r.2 + l.2 > 20).collect::<Vec<_>>();
            inner.extend(matches.iter().map(|r| format!("{},{}", l.0, r.0)));
            match matches.is_empty() {
                true => outer.push(format!("{},NULL", l.0)),
                false => outer.extend(matches.iter().map(|r| format!("{},{}", l.0, r.0))),
            }
        }
        let (inner, outer) = (sorted(inner), sorted(outer));
        let right_outer =
            data.right.iter().filter(|r| !inner.iter().any(|line| line.ends_with(&format!(",{}", r.0)))).count() + inner.len();
        let s = &mut data.session;
        let on = "ON r.l_g = l.g AND r.w + l.v > 20";
        for (join, expected) in [("JOIN", &inner), ("LEFT JOIN", &outer)] {
            let sql = format!("SELECT l.id, r.id FROM l {join} r {on}");
            assert_eq!(s.sorted_lines(&sql).await, *expected);
            let mut plan = PhysicalPlan::clone(&*s.plan(&sql, &s.server.catalog.current()).expect("plans"));
            assert!(to_merge_join(&mut plan.root), "the plan has a hash join");
            assert_eq!(s.sorted_lines_of(Arc::new(plan)).await, *expected);
        }
        assert_eq!(s.lines(&format!("SELECT l.id, r.id FROM l RIGHT JOIN r {on}")).await.len(), right_outer);
        let cross = data.left.len() * data.right.iter().filter(|r| r.2 < 30).count();
        assert_eq!(data.session.lines("SELECT COUNT(*) FROM l CROSS JOIN r WHERE r.w < 30").await, [cross.to_string()]);
    })
    .await;
}

/// Turns the hash joins of a plan into merge joins over sorted inputs.
fn to_merge_join(node: &mut Node) -> bool {
    match &mut node.op {
        Op::Projection(projection) => to_merge_join(&mut projection.child),
        Op::Selection(selection) => to_merge_join(&mut selection.child),
        Op::HashJoin(join) => {
            let sorted = |child: &Node, side: fn(&JoinKey) -> &expr::Expr| {
                let by = join.keys.iter().map(|key| SortKey { expr: side(key).clone(), desc: true }).collect();
                let op = Op::Sort(Sort { child: Box::new(child.clone()), by });
                Box::new(Node { id: 0, output: child.output.clone(), rows: 1.0, cost: 1.0, op })
            };
            node.op = Op::MergeJoin(MergeJoin {
                kind: join.kind,
                left: sorted(&join.left, |key| &key.left),
                right: sorted(&join.right, |key| &key.right),
                keys: join.keys.clone(),
                desc: true,
                conditions: join.conditions.clone(),
            });
            true
        }
        _ => false,
    }
}

#[tokio::test]
async fn index_joins_look_up_what_hash_joins_find() {
    everywhere(async |data: &mut Data| {
        let s = &mut data.session;
        for sql in [
            "SELECT l.id, r.id, r.w FROM l JOIN r ON r.l_g = l.g AND r.w > l.v WHERE l.id = 3",
            "SELECT l.id, r.id, r.w FROM l JOIN r ON r.l_g = l.g WHERE l.id IN (1, 2, 3, 4, 5, 6, 7, 40, 41, 42)",
            "SELECT l.id, r.id FROM l LEFT JOIN r ON r.w = l.v WHERE l.id IN (1, 2, 3, 4, 5, 6, 7, 40, 41, 42)",
            "SELECT l.id, b.id FROM l JOIN l b ON b.id = l.g WHERE l.id IN (1, 2, 3, 4, 5, 6, 7, 40, 41, 42)",
        ] {
            s.settings.rules = RuleSet::default();
            assert!(s.explain(sql).contains("IndexJoin"), "{sql}\n{}", s.explain(sql));
            let found = s.sorted_lines(sql).await;
            s.settings.rules = RuleSet::default().without(Rule::IndexJoin);
            assert!(!s.explain(sql).contains("IndexJoin"), "{sql}");
            assert_eq!(s.sorted_lines(sql).await, found, "{sql}");
            assert!(!found.is_empty(), "{sql}");
        }
        s.settings.rules = RuleSet::default();
    })
    .await;
}

/// `x [NOT] IN (set)` as SQL has it.
fn sql_in(x: Option<i64>, set: &[Option<i64>]) -> Option<bool> {
    if set.is_empty() {
        return Some(false);
    }
    match x {
        None => None,
        Some(_) if set.contains(&x) => Some(true),
        Some(_) if set.contains(&None) => None,
        Some(_) => Some(false),
    }
}

#[tokio::test]
async fn subqueries() {
    everywhere(async |data: &mut Data| {
        for low in [-1, 60, 300] {
            let set = data.right.iter().filter(|r| r.2 > low).map(|r| r.1).collect::<Vec<_>>();
            let ids = |wanted: Option<bool>| {
                sorted(data.left.iter().filter(|l| sql_in(l.1, &set) == wanted).map(|l| l.0.to_string()).collect::<Vec<_>>())
            };
            let (yes, no, unknown) = (ids(Some(true)), ids(Some(false)), ids(None));
            let s = &mut data.session;
            let set = format!("(SELECT l_g FROM r WHERE w > {low})");
            assert_eq!(s.sorted_lines(&format!("SELECT id FROM l WHERE g IN {set}")).await, yes);
            assert_eq!(s.sorted_lines(&format!("SELECT id FROM l WHERE g NOT IN {set}")).await, no);
            assert_eq!(s.sorted_lines(&format!("SELECT id FROM l WHERE (g IN {set}) IS NULL")).await, unknown);
        }
        let s = &mut data.session;
        let top = data.left.iter().map(|row| row.2).max().expect("rows");
        let best = data.left.iter().filter(|row| row.2 == top).count();
        assert_eq!(s.lines("SELECT COUNT(*) FROM l WHERE v = (SELECT MAX(v) FROM l)").await, [best.to_string()]);
        assert_eq!(s.lines("SELECT (SELECT w FROM r WHERE id = 3), (SELECT w FROM r WHERE id = 3000)").await, ["9,NULL"]);
        assert_eq!(s.error("SELECT (SELECT w FROM r)").await, "1242 Subquery returns more than 1 row");
        let with_match = data.left.iter().filter(|l| data.right.iter().any(|r| r.1 == l.1 && l.1.is_some() && r.2 > l.2)).count();
        let exists = "SELECT COUNT(*) FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.l_g = l.g AND r.w > l.v)";
        assert_eq!(s.lines(exists).await, [with_match.to_string()]);
        let counted = sorted(
            data.left.iter().map(|l| format!("{},{}", l.0, data.right.iter().filter(|r| r.1 == l.1 && l.1.is_some()).count())).collect(),
        );
        assert_eq!(s.sorted_lines("SELECT id, (SELECT COUNT(*) FROM r WHERE r.l_g = l.g) FROM l").await, counted);
    })
    .await;
}

#[tokio::test]
async fn unions_and_constants() {
    everywhere(async |data: &mut Data| {
        let s = &mut data.session;
        assert_eq!(s.lines("SELECT 1, 'a', NULL").await, ["1,a,NULL"]);
        assert_eq!(s.lines("SELECT COUNT(*) FROM (SELECT id FROM l UNION ALL SELECT id FROM r) x").await, ["100"]);
        assert_eq!(s.lines("SELECT COUNT(*) FROM (SELECT id FROM l UNION SELECT id FROM r) x").await, ["60"]);
        assert_eq!(s.lines("SELECT id FROM l WHERE 1 = 0").await, Vec::<String>::new());
        assert_eq!(s.lines("SELECT id FROM l WHERE NULL AND id > 0").await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn over_the_quota_sorts_groups_and_joins_spill() {
    let (_, mut s) = Server::with(&["CREATE TABLE big (id INT PRIMARY KEY, g INT, s VARCHAR(100))"]).await;
    let mut numbers = Numbers(7);
    let mut rows = Vec::new();
    for start in (0..6000).step_by(1000) {
        let part =
            (start..start + 1000).map(|id| (id, numbers.below(4000), format!("text {}", numbers.below(1_000_000)))).collect::<Vec<_>>();
        let values = part.iter().map(|(id, g, text)| format!("({id},{g},'{text}')")).collect::<Vec<_>>().join(",");
        s.run(&format!("INSERT INTO big VALUES {values}")).await;
        rows.extend(part);
    }
    let queries = [
        "SELECT id, s FROM big ORDER BY s DESC, id",
        "SELECT g, COUNT(*), MIN(s), MAX(id) FROM big GROUP BY g",
        "SELECT DISTINCT s, g FROM big",
        "SELECT g, GROUP_CONCAT(id ORDER BY id) FROM big GROUP BY g",
        "SELECT a.id, b.id, b.s FROM big a JOIN big b ON a.g = b.g",
        "SELECT a.id, b.id FROM big a LEFT JOIN big b ON a.g = b.id + 0 AND b.g > 2000",
        "SELECT a.id, b.s FROM big a RIGHT JOIN big b ON a.g = b.g + 2000 AND a.id <> b.id",
        "SELECT a.id FROM big a WHERE a.s IN (SELECT b.s FROM big b WHERE b.id > a.g)",
        "SELECT a.id FROM big a WHERE NOT EXISTS (SELECT 1 FROM big b WHERE b.g = a.id AND b.s > a.s)",
        "SELECT a.id, EXISTS (SELECT 1 FROM big b WHERE b.g = a.id) FROM big a",
    ];
    for sql in queries {
        s.settings.quota = None;
        let expected = s.lines(sql).await;
        for chunk_rows in [7, 1024] {
            s.settings.chunk_rows = chunk_rows;
            s.settings.quota = Some(100 << 10);
            s.settings.spill = true;
            let found = s.lines(sql).await;
            if sql.contains("DESC") {
                assert_eq!(found, expected);
            } else {
                assert_eq!(sorted(found), sorted(expected.clone()), "{sql}");
            }
            s.settings.spill = false;
            assert!(s.error(sql).await.starts_with("8175 "), "{sql}");
        }
    }
    s.settings.spill = true;
    // Neither what has no key nor one key with too many rows can be divided.
    for sql in [
        "SELECT COUNT(*) FROM big a JOIN big b ON CONCAT(a.s, a.g) < CONCAT(b.s, b.id)",
        "SELECT MAX(CONCAT(a.s, b.s)) FROM big a JOIN big b ON a.id % 1 = b.id % 1",
    ] {
        let error = s.error(sql).await;
        assert!(error.starts_with("8175 ") && error.contains("tidb_mem_quota_query"), "{error}");
    }
}

#[tokio::test]
async fn long_strings_that_begin_alike_are_sorted_by_their_ends() {
    let (_, mut s) = Server::with(&["CREATE TABLE t (id INT PRIMARY KEY, g INT, s VARCHAR(100))"]).await;
    let mut numbers = Numbers(11);
    // Few rows, then most rows, begin like another one; some of them are not of ASCII.
    for (alike, rows) in [(3, 2000), (2000, 9000)] {
        s.run("DELETE FROM t").await;
        let mut expected = Vec::new();
        for start in (0..rows).step_by(1000) {
            let mut values = Vec::new();
            for id in start..start + 1000 {
                let beginning = if numbers.below(rows) < alike { "the same beginning " } else { "" };
                let number = 100_000 + numbers.below(900_000);
                let text = if number.is_multiple_of(5) { format!("{beginning}é{number}") } else { format!("{beginning}E{number}") };
                let g = numbers.below(3);
                values.push(format!("({id},{g},'{text}')"));
                expected.push((text.replace('é', "e").to_lowercase(), g, id));
            }
            s.run(&format!("INSERT INTO t VALUES {}", values.join(","))).await;
        }
        let ids = |rows: &[(String, u64, u64)]| rows.iter().map(|row| row.2.to_string()).collect::<Vec<_>>();
        for quota in [None, Some(2 << 20), Some(300 << 10)] {
            s.settings.quota = quota;
            expected.sort_by_key(|(text, _, id)| (text.clone(), *id));
            assert_eq!(s.lines("SELECT id FROM t ORDER BY s, id").await, ids(&expected), "{alike} {quota:?}");
            // Equal strings keep the order in which they were read, which is that of the key.
            assert_eq!(s.lines("SELECT id FROM t ORDER BY s").await, ids(&expected), "{alike} {quota:?}");
            expected.sort_by_key(|(text, g, id)| (std::cmp::Reverse(*g), text.clone(), *id));
            assert_eq!(s.lines("SELECT id FROM t ORDER BY g DESC, s").await, ids(&expected), "{alike} {quota:?}");
        }
        s.settings.quota = None;
        let distinct = expected.iter().map(|row| row.0.clone()).collect::<BTreeSet<_>>().len();
        assert_eq!(s.lines("SELECT COUNT(DISTINCT s) FROM t").await, [distinct.to_string()]);
        assert_eq!(s.lines("SELECT DISTINCT s FROM t").await.len(), distinct);
    }
}

#[tokio::test]
async fn a_cancelled_statement_stops() {
    let mut data = data(1, false).await;
    let schema = data.session.server.catalog.current();
    let plan = data.session.plan("SELECT a.id FROM l a, l b, l c, l d", &schema).expect("plans");
    let ctx = data.session.ctx(&plan, schema, None, false, exec::ReadTs::Newest);
    let cancel = ctx.cancel.clone();
    let exec::Execution::Rows(mut rows) = exec::execute(&plan, ctx).await.expect("starts") else { panic!("rows expected") };
    rows.next().await.expect("runs").expect("a first chunk");
    cancel.cancel(env::CancelReason::KillQuery);
    assert_eq!(rows.next().await.expect_err("stopped").to_mysql().code, 1317);
    data.session.rollback().await;
}
