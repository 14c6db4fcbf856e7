//! The stores, driven by the client that the ecosystem's Rust programs use: the raw and the transactional API over several regions.

mod cluster;

use std::time::{Duration, Instant};

use tikv_client::{
    Backoff, CheckLevel, KvPair, RawClient, Result, RetryOptions, TimestampExt, Transaction, TransactionClient, TransactionOptions, Value,
};

use cluster::Cluster;

/// Enough, at the stores' settings here, for several regions.
const KEYS: usize = 2000;
/// How often a client is cut off in its commit.
const ATTEMPTS: u32 = 20;

/// Waits longer for locks than a dead client's live; what is dropped is dropped.
fn patient(options: TransactionOptions) -> TransactionOptions {
    let backoff = || Backoff::no_jitter_backoff(50, 200, 200);
    options.drop_check(CheckLevel::None).retry_options(RetryOptions { region_backoff: backoff(), lock_backoff: backoff() })
}

fn optimistic() -> TransactionOptions {
    patient(TransactionOptions::new_optimistic())
}

fn pessimistic() -> TransactionOptions {
    patient(TransactionOptions::new_pessimistic())
}

fn key(n: usize) -> Vec<u8> {
    format!("k{n:05}").into_bytes()
}

fn value(text: &str) -> Vec<u8> {
    format!("{text:>1500}").into_bytes()
}

fn text(value: Value) -> String {
    String::from_utf8(value).expect("text").trim_start().to_owned()
}

fn pairs(pairs: impl IntoIterator<Item = KvPair>) -> Vec<(String, String)> {
    let text_of = |pair: KvPair| {
        let KvPair(key, value) = pair;
        (String::from_utf8(key.into()).expect("text"), text(value))
    };
    pairs.into_iter().map(text_of).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_keys_are_put_scanned_swapped_and_deleted_over_several_regions() -> Result<()> {
    let cluster = Cluster::start();
    let client = RawClient::new(cluster.endpoints()).await?;
    for first in (0..KEYS).step_by(500) {
        client.batch_put((first..first + 500).map(|n| (key(n), value(&n.to_string())))).await?;
    }
    cluster.wait_for_regions(3);

    assert_eq!(client.get(key(7)).await?.map(text), Some("7".to_owned()));
    assert_eq!(client.get(b"missing".to_vec()).await?, None);
    let mut found = pairs(client.batch_get([key(1), b"missing".to_vec(), key(1999), key(1000)]).await?);
    // The client puts them together by region.
    found.sort();
    assert_eq!(found.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["1", "1000", "1999"]);
    let all = pairs(client.scan(key(0)..key(KEYS), KEYS as u32).await?);
    assert_eq!(all.len(), KEYS);
    assert!(all.iter().enumerate().all(|(n, (_, value))| *value == n.to_string()));
    // Backwards this client looks in one region only.
    let last = client.scan_keys_reverse(key(10)..key(100), 2).await?;
    assert_eq!(last, [key(99).into(), key(98).into()]);

    client.put_with_ttl(b"short".to_vec(), b"lived".to_vec(), 1000).await?;
    let left = client.get_key_ttl_secs(b"short".to_vec()).await?.expect("a time to live");
    assert!((900..=1000).contains(&left), "{left} s");

    let atomic = client.with_atomic_for_cas();
    let (before, swapped) = atomic.compare_and_swap(key(0), b"other".to_vec(), b"two".to_vec()).await?;
    assert!(!swapped && before.map(text) == Some("0".to_owned()));
    let (_, swapped) = atomic.compare_and_swap(key(0), value("0"), b"two".to_vec()).await?;
    assert!(swapped && client.get(key(0)).await?.map(text) == Some("two".to_owned()));

    client.delete(key(1)).await?;
    client.batch_delete([key(2), key(3)]).await?;
    client.delete_range(key(5)..key(KEYS - 2)).await?;
    // At the end of the last region this client begins again, unless it has as many pairs as it was asked for.
    let left = pairs(client.scan(key(0)..key(KEYS), 4).await?);
    assert_eq!(left.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["two", "4", "1998", "1999"]);
    Ok(())
}

/// Writes all keys in one transaction.
async fn fill(client: &TransactionClient, text: &str) -> Result<()> {
    let mut txn = client.begin_with_options(optimistic()).await?;
    for n in 0..KEYS {
        txn.put(key(n), value(text)).await?;
    }
    txn.commit().await?;
    Ok(())
}

/// What a new transaction reads.
async fn read(client: &TransactionClient, key: Vec<u8>) -> Result<Option<String>> {
    let mut txn = client.begin_with_options(optimistic().read_only()).await?;
    Ok(txn.get(key).await?.map(text))
}

async fn put_all(txn: &mut Transaction, keys: &[usize], text: &str) -> Result<()> {
    for &n in keys {
        txn.put(key(n), value(text)).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_commit_in_every_way_conflict_and_wait() -> Result<()> {
    let cluster = Cluster::start();
    let client = TransactionClient::new(cluster.endpoints()).await?;
    fill(&client, "first").await?;
    cluster.wait_for_regions(3);
    fill(&client, "second").await?;
    let keys = [3, 700, 1300, 1999];

    let shapes = [
        ("two phases", optimistic(), &keys[..]),
        ("async commit", optimistic().use_async_commit(), &keys[..]),
        ("one phase", optimistic().try_one_pc(), &keys[..1]),
        ("pessimistic", pessimistic(), &keys[..]),
        ("pessimistic, async commit", pessimistic().use_async_commit(), &keys[..]),
        ("pessimistic, one phase", pessimistic().try_one_pc(), &keys[..1]),
    ];
    for (name, options, keys) in shapes {
        let mut txn = client.begin_with_options(options).await?;
        put_all(&mut txn, keys, name).await?;
        let commit_ts = txn.commit().await?.expect("a commit timestamp");
        assert!(commit_ts.version() > txn.start_timestamp().version(), "{name}");
        for &n in keys {
            assert_eq!(read(&client, key(n)).await?.as_deref(), Some(name), "{n}");
        }
    }

    // A snapshot sees what was there then, over all regions.
    let before = client.current_timestamp().await?;
    let mut txn = client.begin_with_options(optimistic()).await?;
    txn.delete(key(3)).await?;
    txn.put(key(4), value("later")).await?;
    txn.commit().await?;
    let mut snapshot = client.snapshot(before, optimistic());
    let seen = pairs(snapshot.scan(key(0)..key(KEYS), KEYS as u32).await?);
    assert!(seen.len() == KEYS && seen[3].1 == "pessimistic, one phase" && seen[4].1 == "second");
    assert_eq!(read(&client, key(3)).await?, None);

    // Of two that write the same key, the second to commit fails.
    let (mut one, mut other) = (client.begin_with_options(optimistic()).await?, client.begin_with_options(optimistic()).await?);
    put_all(&mut one, &[9], "one").await?;
    put_all(&mut other, &[9], "other").await?;
    one.commit().await?;
    assert!(other.commit().await.is_err());
    other.rollback().await?;
    assert_eq!(read(&client, key(9)).await?.as_deref(), Some("one"));

    // Under a pessimistic lock the second waits, and counts on.
    let mut txn = client.begin_with_options(optimistic()).await?;
    txn.put(b"counter".to_vec(), b"0".to_vec()).await?;
    txn.commit().await?;
    let count = async |client: &TransactionClient| -> Result<()> {
        let mut txn = client.begin_with_options(pessimistic()).await?;
        let before = loop {
            match txn.get_for_update(b"counter".to_vec()).await {
                Ok(before) => break before.map(text).expect("a counter"),
                // Somebody has counted since the transaction began: the client leaves it to its users to begin anew.
                Err(_) => {
                    txn.rollback().await?;
                    txn = client.begin_with_options(pessimistic()).await?;
                }
            }
        };
        txn.put(b"counter".to_vec(), (before.parse::<u32>().expect("a number") + 1).to_string()).await?;
        txn.commit().await?;
        Ok(())
    };
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let client = client.clone();
        all.spawn(async move { count(&client).await });
    }
    all.join_all().await.into_iter().collect::<Result<Vec<()>>>()?;
    assert_eq!(read(&client, b"counter".to_vec()).await?.as_deref(), Some("8"));
    Ok(())
}

/// Clients that vanish anywhere in their commits, or with locks in their hands: others see all of a transaction or nothing of it, and go on.
#[tokio::test(flavor = "multi_thread")]
async fn what_dead_clients_leave_is_resolved() -> Result<()> {
    let cluster = Cluster::start();
    let client = TransactionClient::new(cluster.endpoints()).await?;
    fill(&client, "none").await?;
    cluster.wait_for_regions(3);
    fill(&client, "none").await?;
    let keys = [10, 800, 1900];
    let mut written = 0;
    for attempt in 0..ATTEMPTS {
        let name = attempt.to_string();
        let options = if attempt % 2 == 0 { optimistic() } else { optimistic().use_async_commit() };
        let mut txn = client.begin_with_options(options).await?;
        put_all(&mut txn, &keys, &name).await?;
        let acknowledged = tokio::time::timeout(Duration::from_micros(u64::from(attempt) * 500), txn.commit()).await;
        drop(txn);
        let other = TransactionClient::new(cluster.endpoints()).await?;
        if attempt % 2 == 1 {
            // This client's readers wait for locks of async commits for ever; its garbage collection resolves them.
            other.gc(other.current_timestamp().await?).await?;
        }
        let mut reader = other.begin_with_options(optimistic().read_only()).await?;
        let mut seen = Vec::new();
        for n in keys {
            seen.push(reader.get(key(n)).await?.map(text).expect("a value"));
        }
        assert!(seen.iter().all(|value| *value == seen[0]), "attempt {attempt} is torn: {seen:?}");
        written += u32::from(seen[0] == name);
        if let Ok(Ok(_)) = acknowledged {
            assert_eq!(seen[0], name, "an acknowledged commit is missing");
        }
    }
    assert!((1..ATTEMPTS).contains(&written), "{written} of {ATTEMPTS} commits: none was cut, or all were");

    let endpoints = cluster.endpoints();
    std::thread::spawn(move || {
        // With its runtime all that the client does ends, the renewing of its locks too.
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let client = TransactionClient::new(endpoints).await.expect("a client");
            let mut txn = client.begin_with_options(pessimistic()).await.expect("a transaction");
            txn.lock_keys(keys.map(key)).await.expect("locks");
        });
        runtime.shutdown_background();
    })
    .join()
    .expect("no panic");
    // A waiter takes the first lock over; where the transaction's first key is not locked any more, this client leaves the others to garbage collection.
    let started = Instant::now();
    loop {
        let mut txn = client.begin_with_options(pessimistic()).await?;
        match txn.get_for_update(key(10)).await {
            Ok(_) => {
                put_all(&mut txn, &keys[..1], "after").await?;
                txn.commit().await?;
                break;
            }
            Err(error) => assert!(started.elapsed() < Duration::from_secs(60), "the lock of a dead client stays: {error}"),
        }
        txn.rollback().await?;
    }
    let now = client.current_timestamp().await?;
    assert!(client.gc(now).await?);
    let mut txn = client.begin_with_options(pessimistic()).await?;
    put_all(&mut txn, &keys[1..], "after").await?;
    txn.commit().await?;
    for n in keys {
        assert_eq!(read(&client, key(n)).await?.as_deref(), Some("after"));
    }
    Ok(())
}
