//! Random statements give the same answers however they are planned, cut into chunks, and wherever their rows lie. The seed of a difference is
//! printed; `TRINE_TEST_SEED` repeats it.

use crate::support::random_sql::{Numbers, TABLES, change, query};
use crate::support::{Answer, Server, Session};
use planner::{Rule, RuleSet};

/// Queries in one run.
const QUERIES: usize = 300;
/// Changes in one run.
const CHANGES: usize = 150;

fn seed() -> u64 {
    std::env::var("TRINE_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7)
}

async fn answer(s: &mut Session, sql: &str, ordered: bool) -> Result<Vec<String>, u16> {
    match s.try_run(sql).await {
        Ok(Answer::Rows(rows)) => {
            let mut lines = rows.into_iter().map(|row| row.join(",")).collect::<Vec<_>>();
            if !ordered {
                lines.sort();
            }
            Ok(lines)
        }
        Ok(Answer::Affected(affected)) => Ok(vec![format!("{} {} {}", affected.rows, affected.matched, affected.changed)]),
        Ok(Answer::Done) => Ok(Vec::new()),
        Err(error) => Err(error.code),
    }
}

async fn fill(s: &mut Session, r: &mut Numbers) {
    let mut done = 0;
    while done < 60 {
        let sql = change(r);
        if sql.starts_with("INSERT") && s.try_run(&sql).await.is_ok() {
            done += 1;
        }
    }
}

#[tokio::test]
async fn queries_do_not_depend_on_rules_chunks_or_where_rows_lie() {
    let mut r = Numbers(seed());
    let (_server, mut s) = Server::with(&TABLES).await;
    fill(&mut s, &mut r).await;
    // What the transaction has changed is seen only by one of the two sessions; the other one sees it after the commit.
    s.begin(true).await;
    for _ in 0..40 {
        let _ = s.try_run(&change(&mut r)).await;
    }
    let queries = (0..QUERIES).map(|_| query(&mut r)).collect::<Vec<_>>();
    let mut own = Vec::new();
    for (sql, ordered) in &queries {
        own.push(answer(&mut s, sql, *ordered).await);
    }
    s.commit().await.expect("commits");
    for ((sql, ordered), own) in queries.iter().zip(own) {
        let one_off = RuleSet::ALL_ON.without(Rule::ALL[r.below(Rule::ALL.len() as u64) as usize]);
        for (rules, chunk_rows) in [(RuleSet::ALL_ON, 1024), (RuleSet::ALL_ON, 1), (RuleSet::all_off(), 3), (one_off, 1024)] {
            s.settings.rules = rules;
            s.settings.chunk_rows = chunk_rows;
            assert_eq!(
                answer(&mut s, sql, *ordered).await,
                own,
                "seed {}, {rules:?}, {chunk_rows} rows a chunk\n{sql}\n{}",
                seed(),
                s.explain(sql)
            );
        }
    }
}

#[tokio::test]
async fn changes_do_not_depend_on_rules_chunks_or_the_kind_of_transaction() {
    let mut servers = Vec::new();
    for at in 0..3 {
        let (_, mut s) = Server::with(&TABLES).await;
        if at == 1 {
            s.settings.chunk_rows = 1;
        } else if at == 2 {
            s.settings.rules = RuleSet::all_off();
        }
        fill(&mut s, &mut Numbers(seed())).await;
        servers.push(s);
    }
    let mut r = Numbers(seed().wrapping_add(1));
    for _ in 0..CHANGES {
        let sql = change(&mut r);
        let mut results = Vec::new();
        for (at, s) in servers.iter_mut().enumerate() {
            if at == 2 {
                s.begin(true).await;
            }
            let result = answer(s, &sql, true).await;
            s.commit().await.expect("commits");
            results.push(result);
        }
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "seed {}: {sql}\n{results:?}", seed());
        let mut states = Vec::new();
        for s in &mut servers {
            let mut state = Vec::new();
            for table in ["t", "h", "p"] {
                s.check(table).await.unwrap_or_else(|error| panic!("seed {}: {sql}\n{error}", seed()));
                state.push(s.sorted_lines(&format!("SELECT * FROM {table}")).await);
            }
            states.push(state);
        }
        assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "seed {}: {sql}\n{states:?}", seed());
    }
}
