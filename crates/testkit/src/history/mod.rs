//! Histories of transactions that append to lists and read them, and the check of a whole history for anomalies.
//!
//! Every appended value is appended once, so a list that was read tells by itself which transactions came before and in which order, and the list as it is
//! found at the end is the order of all of them. What a history may contain follows from that:
//!
//! ```text
//!   list by list    values found at the end: each once, of transactions that may have committed, those of one transaction together;
//!                   every value whose commit was acknowledged; every list ever read is a beginning of it that ends between transactions
//!   all of it       each transaction has an instant S at which it reads and an instant C at which it commits, S before C. What it read, what it
//!                   wrote over and when it ran say which of them lie before which (`order`); that must not go round in a circle
//! ```
//!
//! Snapshot isolation is the existence of such instants. So one search for circles finds dirty and fractured reads, lost updates, long forks, stale reads
//! and commits out of order, and allows write skew. A pessimistic transaction under `REPEATABLE READ` writes over what was
//! committed after its snapshot, as MySQL does it: there a write is only ordered by C.
//!
//! What is not checked: predicates, and deletions.

mod order;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    time::Duration,
};

/// A list.
pub type List = u32;
/// What is appended, never twice in a history.
pub type Value = u64;
/// The place of a transaction in its history.
pub type Place = usize;

/// One thing a transaction did, in its order, as far as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Put a value at the end of a list.
    Append {
        /// Where.
        list: List,
        /// What.
        value: Value,
    },
    /// Read a list from the transaction's snapshot.
    Read {
        /// Which.
        list: List,
        /// What was found.
        values: Vec<Value>,
    },
    /// Locked a list and read its newest version (`SELECT … FOR UPDATE`).
    LockingRead {
        /// Which.
        list: List,
        /// What was found.
        values: Vec<Value>,
    },
}

/// What the client was told of its transaction's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is committed.
    Committed,
    /// It has not happened and never will.
    Aborted,
    /// The answer was lost.
    Unknown,
}

/// A transaction as its client saw it.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// When it was begun: a time before anything of it was sent.
    pub begin: Duration,
    /// When its outcome was known.
    pub end: Duration,
    /// Whether a commit is refused when another transaction has written the same list since the snapshot (optimistic transactions).
    pub first_committer_wins: bool,
    /// What it did.
    pub ops: Vec<Op>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Anomaly {
    /// A value that was acknowledged is not there at the end.
    Lost { list: List, value: Value, by: Place },
    /// A value stands in a list more than once.
    Twice { list: List, value: Value },
    /// A value that nobody appended to this list.
    Unheard { list: List, value: Value },
    /// A value of a transaction that was refused.
    Aborted { list: List, value: Value, by: Place },
    /// Of a transaction's values some are there and some are not.
    Torn { list: List, value: Value, by: Place },
    /// A transaction's values in a list have others between them, or stand in another order.
    Mixed { list: List, by: Place },
    /// A list was read that is no beginning of the list at the end.
    Fork { list: List, reader: Place, values: Vec<Value> },
    /// A list was read that ends within the values of one transaction.
    Intermediate { list: List, reader: Place, value: Value },
    /// A transaction did not see what it had appended itself.
    OwnWrite { list: List, reader: Place },
    /// Instants that would have to lie before each other.
    Circle(Vec<order::Step>),
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { list, value, by } => write!(f, "lost: {value} in list {list} of transaction {by}, which was acknowledged"),
            Self::Twice { list, value } => write!(f, "{value} stands twice in list {list}"),
            Self::Unheard { list, value } => write!(f, "nobody appended {value} to list {list}"),
            Self::Aborted { list, value, by } => write!(f, "{value} in list {list} is of transaction {by}, which was refused"),
            Self::Torn { list, value, by } => write!(f, "transaction {by} is there in part: not {value} in list {list}"),
            Self::Mixed { list, by } => write!(f, "the values of transaction {by} in list {list} are not together"),
            Self::Fork { list, reader, values } => {
                write!(f, "transaction {reader} read list {list} as {values:?}, which is no beginning of it")
            }
            Self::Intermediate { list, reader, value } => {
                write!(f, "transaction {reader} read list {list} up to {value}, in the middle of another transaction")
            }
            Self::OwnWrite { list, reader } => write!(f, "transaction {reader} did not see its own values in list {list}"),
            Self::Circle(steps) => {
                write!(f, "a circle:")?;
                steps.iter().try_for_each(|step| write!(f, " {step};"))
            }
        }
    }
}

/// Where a value stands in its list at the end.
struct Placed {
    /// Lists as they are at the end.
    lists: BTreeMap<List, Vec<Value>>,
    /// Who appended a value.
    writers: HashMap<(List, Value), Place>,
    /// Transactions that have committed, acknowledged or not.
    committed: HashSet<Place>,
}

impl Placed {
    fn list(&self, list: List) -> &[Value] {
        self.lists.get(&list).map_or(&[], Vec::as_slice)
    }

    /// Who appended the value at a place of a list.
    fn writer_at(&self, list: List, at: usize) -> Option<Place> {
        self.list(list).get(at).and_then(|value| self.writers.get(&(list, *value)).copied())
    }
}

impl Transaction {
    fn appends(&self) -> impl Iterator<Item = (List, Value)> {
        self.ops.iter().filter_map(|op| match op {
            Op::Append { list, value } => Some((*list, *value)),
            _ => None,
        })
    }

    /// The values appended to a list by the first `ops` operations.
    fn appended_by(&self, list: List, ops: usize) -> Vec<Value> {
        let own = self.ops[..ops].iter().filter_map(|op| match op {
            Op::Append { list: of, value } if *of == list => Some(*value),
            _ => None,
        });
        own.collect()
    }
}

/// Everything that is wrong with a history, in words, given the lists as they are found after its end.
pub fn anomalies(history: &[Transaction], lists: &BTreeMap<List, Vec<Value>>) -> Vec<String> {
    find(history, lists).iter().map(Anomaly::to_string).collect()
}

/// Circles are only searched where the lists are right.
fn find(history: &[Transaction], lists: &BTreeMap<List, Vec<Value>>) -> Vec<Anomaly> {
    let mut writers = HashMap::new();
    for (place, transaction) in history.iter().enumerate() {
        for append in transaction.appends() {
            assert!(writers.insert(append, place).is_none(), "the recorder has appended {append:?} twice");
        }
    }
    let mut found = Vec::new();
    let committed = check_values(history, lists, &writers, &mut found);
    let placed = Placed { lists: lists.clone(), writers, committed };
    check_transactions(history, &placed, &mut found);
    for (reader, transaction) in history.iter().enumerate() {
        check_reads(reader, transaction, &placed, &mut found);
    }
    if found.is_empty() {
        found.extend(order::circle(history, &placed).map(Anomaly::Circle));
    }
    found
}

/// The lists at the end, value by value; answers who has committed.
fn check_values(
    history: &[Transaction],
    lists: &BTreeMap<List, Vec<Value>>,
    writers: &HashMap<(List, Value), Place>,
    found: &mut Vec<Anomaly>,
) -> HashSet<Place> {
    let acknowledged = |(_, transaction): &(Place, &Transaction)| transaction.outcome == Outcome::Committed;
    let mut committed: HashSet<Place> = history.iter().enumerate().filter(acknowledged).map(|(place, _)| place).collect();
    for (&list, values) in lists {
        let mut seen = HashSet::new();
        for &value in values {
            if !seen.insert(value) {
                found.push(Anomaly::Twice { list, value });
            }
            match writers.get(&(list, value)) {
                None => found.push(Anomaly::Unheard { list, value }),
                Some(&by) if history[by].outcome == Outcome::Aborted => found.push(Anomaly::Aborted { list, value, by }),
                Some(&by) => drop(committed.insert(by)),
            }
        }
    }
    committed
}

/// Committed transactions are there, whole and with their values together.
fn check_transactions(history: &[Transaction], placed: &Placed, found: &mut Vec<Anomaly>) {
    for (by, transaction) in history.iter().enumerate().filter(|(place, _)| placed.committed.contains(place)) {
        let mut lists = Vec::new();
        for (list, value) in transaction.appends() {
            if !placed.list(list).contains(&value) {
                found.push(match transaction.outcome {
                    Outcome::Committed => Anomaly::Lost { list, value, by },
                    _ => Anomaly::Torn { list, value, by },
                });
            } else if !lists.contains(&list) {
                lists.push(list);
            }
        }
        for list in lists {
            let own = transaction.appended_by(list, transaction.ops.len());
            let values = placed.list(list);
            let together = values.windows(own.len()).any(|window| window == own);
            if !together && own.iter().all(|value| values.contains(value)) {
                found.push(Anomaly::Mixed { list, by });
            }
        }
    }
}

/// Every list that was read is a beginning of the list at the end that ends between two transactions, and what the reader appended itself.
fn check_reads(reader: Place, transaction: &Transaction, placed: &Placed, found: &mut Vec<Anomaly>) {
    for (at, op) in transaction.ops.iter().enumerate() {
        let (Op::Read { list, values } | Op::LockingRead { list, values }) = op else { continue };
        let list = *list;
        let own = transaction.appended_by(list, at);
        let Some(others) = values.strip_suffix(&own[..]) else {
            found.push(Anomaly::OwnWrite { list, reader });
            continue;
        };
        for value in others {
            match placed.writers.get(&(list, *value)) {
                None => found.push(Anomaly::Unheard { list, value: *value }),
                Some(&by) if !placed.committed.contains(&by) => found.push(Anomaly::Aborted { list, value: *value, by }),
                Some(_) => {}
            }
        }
        if !placed.list(list).starts_with(others) {
            found.push(Anomaly::Fork { list, reader, values: others.to_vec() });
        } else if let Some(last) = others.len().checked_sub(1)
            && placed.writer_at(list, last) == placed.writer_at(list, last + 1)
        {
            found.push(Anomaly::Intermediate { list, reader, value: others[last] });
        }
    }
}
