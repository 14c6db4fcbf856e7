//! Clients that move money between accounts, and a ledger in which each transfer stands.
//!
//! The sum of all balances never changes, whoever looks and whenever. At the end the balances are those of the ledger, and the ledger has every transfer
//! that was acknowledged, none that was refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    sync::atomic::AtomicBool,
};

use testkit::{
    Random,
    history::Outcome,
    mysql::{self, Conn, prelude::Queryable as _},
};

use super::{client::Client, machines::MACHINES};

const ACCOUNTS: i64 = 24;
const BALANCE: i64 = 1000;
/// Consecutive accounts lie so far apart in their table.
pub const STRIDE: i64 = 1000;

/// What the tables are made with.
pub const TABLES: [&str; 2] = [
    "CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT, touched INT DEFAULT 0, KEY (balance))",
    "CREATE TABLE ledger (id BIGINT PRIMARY KEY, payer BIGINT, payee BIGINT, amount BIGINT, KEY (payer), KEY (payee))",
];

/// Accounts of a server's probes, some in every region: nothing lies on them.
pub fn probe_rows(machine: usize) -> impl Iterator<Item = i64> {
    (0..ACCOUNTS).step_by(4).map(move |account| account * STRIDE + 1 + machine as i64)
}

/// Opens the accounts.
pub fn prepare(connection: &mut Conn) {
    let open = (0..ACCOUNTS).map(|account| format!("({}, {BALANCE})", account * STRIDE));
    let empty = (0..MACHINES).flat_map(probe_rows).map(|id| format!("({id}, 0)"));
    let rows = open.chain(empty).collect::<Vec<_>>().join(",");
    connection.query_drop(format!("INSERT INTO accounts (id, balance) VALUES {rows}")).expect("accounts");
}

/// What became of the transfers of a client, by their numbers.
pub type Transfers = BTreeMap<i64, Outcome>;

/// Moves money until it is time to stop, and looks at all accounts now and then.
pub fn run(address: Ipv4Addr, seed: u64, stop: &AtomicBool) -> Transfers {
    let mut random = Random::new(seed);
    let mut client = Client::new(address, stop);
    let mut transfers = Transfers::new();
    for id in (seed as i64 * 1_000_000).. {
        let Some(connection) = client.next("SET autocommit = 1") else { break };
        if random.below(4) == 0 {
            let seen = look(connection, &mut random);
            client.outcome(&seen, false);
            continue;
        }
        let mut is_commit = false;
        let result = transfer(connection, &mut random, id, &mut is_commit);
        transfers.insert(id, client.outcome(&result, is_commit));
    }
    transfers
}

fn transfer(connection: &mut Conn, random: &mut Random, id: i64, is_commit: &mut bool) -> mysql::Result<()> {
    let [payer, payee] = [0; 2].map(|_| random.below(ACCOUNTS as usize) as i64 * STRIDE);
    let amount = 1 + random.below(9);
    connection.query_drop(if random.below(3) == 0 { "BEGIN OPTIMISTIC" } else { "BEGIN PESSIMISTIC" })?;
    connection.query_drop(format!("UPDATE accounts SET balance = balance - {amount} WHERE id = {payer}"))?;
    connection.query_drop(format!("UPDATE accounts SET balance = balance + {amount} WHERE id = {payee}"))?;
    connection.query_drop(format!("INSERT INTO ledger VALUES ({id}, {payer}, {payee}, {amount})"))?;
    *is_commit = true;
    connection.query_drop("COMMIT")
}

/// Looks at all accounts, by rows or by the index, in one statement or account by account.
fn look(connection: &mut Conn, random: &mut Random) -> mysql::Result<()> {
    let sum = match random.below(3) {
        0 => connection.query_first("SELECT SUM(balance) FROM accounts")?,
        1 => connection.query_first("SELECT SUM(balance) FROM accounts FORCE INDEX (balance) WHERE balance > -1000000")?,
        _ => {
            connection.query_drop("BEGIN")?;
            let mut sum = 0;
            for account in 0..ACCOUNTS {
                let balance: Option<i64> =
                    connection.query_first(format!("SELECT balance FROM accounts WHERE id = {}", account * STRIDE))?;
                sum += balance.expect("accounts are never closed");
            }
            connection.query_drop("COMMIT")?;
            Some(sum)
        }
    };
    assert_eq!(sum, Some(ACCOUNTS * BALANCE), "money was made or lost");
    Ok(())
}

/// Balances and ledger against each other and against what clients know.
pub fn check(connection: &mut Conn, transfers: &Transfers) {
    connection.query_drop("BEGIN").expect("a transaction");
    let balances: Vec<(i64, i64)> = connection.query("SELECT id, balance FROM accounts WHERE id MOD 1000 = 0").expect("accounts");
    let ledger: Vec<(i64, i64, i64, i64)> = connection.query("SELECT * FROM ledger").expect("the ledger");
    connection.query_drop("COMMIT").expect("a commit");
    let mut expected: BTreeMap<i64, i64> = (0..ACCOUNTS).map(|account| (account * STRIDE, BALANCE)).collect();
    for (_, payer, payee, amount) in &ledger {
        *expected.entry(*payer).or_default() -= amount;
        *expected.entry(*payee).or_default() += amount;
    }
    assert_eq!(balances.into_iter().collect::<BTreeMap<_, _>>(), expected, "balances are not those of the ledger");
    let found: BTreeSet<i64> = ledger.iter().map(|(id, ..)| *id).collect();
    let ended = |outcome| transfers.iter().filter(move |(_, of)| **of == outcome).map(|(id, _)| *id).collect::<BTreeSet<_>>();
    let lost: Vec<i64> = ended(Outcome::Committed).difference(&found).copied().collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let raised: Vec<i64> = ended(Outcome::Aborted).intersection(&found).copied().collect();
    assert!(raised.is_empty(), "refused and carried out: {raised:?}");
    let unheard: Vec<i64> = found.into_iter().filter(|id| !transfers.contains_key(id)).collect();
    assert!(unheard.is_empty(), "nobody asked for {unheard:?}");
}

/// How many transfers ended in which way, to be printed.
pub fn summary(transfers: &Transfers) -> String {
    let count = |outcome| transfers.values().filter(|of| **of == outcome).count();
    let [committed, aborted, unknown] = [Outcome::Committed, Outcome::Aborted, Outcome::Unknown].map(count);
    format!("{committed} committed, {aborted} refused, {unknown} without an answer")
}
