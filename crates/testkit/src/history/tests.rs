//! Histories with each anomaly, those that look like one and are none, and random histories of a store that keeps its promises or breaks one.

use super::*;
use crate::Random;

const S: fn(u64) -> Duration = Duration::from_secs;

fn append(list: List, value: Value) -> Op {
    Op::Append { list, value }
}

fn read(list: List, values: &[Value]) -> Op {
    Op::Read { list, values: values.to_vec() }
}

fn locking(list: List, values: &[Value]) -> Op {
    Op::LockingRead { list, values: values.to_vec() }
}

/// An acknowledged pessimistic transaction from one second to another.
fn transaction(seconds: (u64, u64), ops: &[Op]) -> Transaction {
    let (begin, end) = (S(seconds.0), S(seconds.1));
    Transaction { begin, end, first_committer_wins: false, ops: ops.to_vec(), outcome: Outcome::Committed }
}

fn optimistic(seconds: (u64, u64), ops: &[Op]) -> Transaction {
    Transaction { first_committer_wins: true, ..transaction(seconds, ops) }
}

fn ended(outcome: Outcome, transaction: Transaction) -> Transaction {
    Transaction { outcome, ..transaction }
}

fn found(history: &[Transaction], lists: &[(List, &[Value])]) -> Vec<Anomaly> {
    find(history, &lists.iter().map(|(list, values)| (*list, values.to_vec())).collect())
}

fn is_circle(found: &[Anomaly], length: usize) -> bool {
    matches!(found, [Anomaly::Circle(steps)] if steps.len() == length)
}

#[test]
fn what_is_missing_or_too_much_at_the_end_is_named() {
    let two = |outcome| [ended(outcome, transaction((0, 1), &[append(1, 10), append(2, 20)]))];
    let (list, value, by) = (2, 20, 0);
    assert_eq!(found(&two(Outcome::Committed), &[(1, &[10])]), [Anomaly::Lost { list, value, by }]);
    assert_eq!(found(&two(Outcome::Unknown), &[(1, &[10])]), [Anomaly::Torn { list, value, by }]);
    assert_eq!(found(&two(Outcome::Unknown), &[]), []);
    assert_eq!(found(&two(Outcome::Unknown), &[(1, &[10]), (2, &[20])]), []);
    assert_eq!(found(&two(Outcome::Aborted), &[(2, &[20])]), [Anomaly::Aborted { list, value, by }]);
    assert_eq!(found(&two(Outcome::Committed), &[(1, &[10]), (2, &[20, 20])]), [Anomaly::Twice { list, value }]);
    assert_eq!(found(&two(Outcome::Committed), &[(1, &[10, 7]), (2, &[20])]), [Anomaly::Unheard { list: 1, value: 7 }]);
}

#[test]
fn values_of_a_transaction_stand_together_and_are_read_together() {
    let both = transaction((0, 9), &[append(1, 10), append(1, 11)]);
    let other = transaction((0, 9), &[append(1, 20)]);
    let history = [both.clone(), other];
    assert_eq!(found(&history, &[(1, &[10, 20, 11])]), [Anomaly::Mixed { list: 1, by: 0 }]);
    assert_eq!(found(&history, &[(1, &[20, 11, 10])]), [Anomaly::Mixed { list: 1, by: 0 }]);
    assert_eq!(found(&history, &[(1, &[20, 10, 11])]), []);
    let history = [both, transaction((0, 9), &[read(1, &[10])])];
    assert_eq!(found(&history, &[(1, &[10, 11])]), [Anomaly::Intermediate { list: 1, reader: 1, value: 10 }]);
}

#[test]
fn dirty_reads_and_reads_of_another_order_are_named() {
    let refused = ended(Outcome::Aborted, transaction((0, 1), &[append(1, 10)]));
    let dirty = transaction((0, 9), &[read(1, &[10])]);
    let all = found(&[refused, dirty], &[]);
    assert!(all.contains(&Anomaly::Aborted { list: 1, value: 10, by: 0 }), "{all:?}");
    let (a, b) = (transaction((0, 9), &[append(1, 10)]), transaction((0, 9), &[append(1, 20)]));
    let reader = transaction((0, 9), &[read(1, &[20])]);
    let all = found(&[a, b, reader], &[(1, &[10, 20])]);
    assert_eq!(all, [Anomaly::Fork { list: 1, reader: 2, values: vec![20] }]);
}

#[test]
fn transactions_see_their_own_values() {
    let sees = transaction((0, 9), &[append(1, 10), read(1, &[10]), append(1, 11), locking(1, &[10, 11])]);
    assert_eq!(found(&[sees], &[(1, &[10, 11])]), []);
    let does_not = transaction((0, 9), &[append(1, 10), read(1, &[])]);
    assert_eq!(found(&[does_not], &[(1, &[10])]), [Anomaly::OwnWrite { list: 1, reader: 0 }]);
}

#[test]
fn a_read_after_an_acknowledged_append_sees_it() {
    let writer = transaction((0, 1), &[append(1, 10)]);
    let history = |begin| [writer.clone(), transaction((begin, 9), &[read(1, &[])])];
    assert_eq!(found(&history(1), &[(1, &[10])]), [], "they overlap");
    let stale = found(&history(2), &[(1, &[10])]);
    assert!(is_circle(&stale, 3), "{stale:?}");
    // Also where nothing was acknowledged but what was read.
    let writer = ended(Outcome::Unknown, writer.clone());
    let saw = ended(Outcome::Aborted, transaction((1, 2), &[read(1, &[10])]));
    let stale = found(&[writer, saw, transaction((3, 4), &[read(1, &[])])], &[(1, &[10])]);
    assert!(is_circle(&stale, 4), "{stale:?}");
}

#[test]
fn a_snapshot_has_all_of_a_transaction_or_nothing() {
    let writer = transaction((0, 9), &[append(1, 10), append(2, 20)]);
    let fractured = transaction((0, 9), &[read(1, &[10]), read(2, &[])]);
    let all = found(&[writer, fractured], &[(1, &[10]), (2, &[20])]);
    assert!(is_circle(&all, 2), "{all:?}");
}

#[test]
fn two_snapshots_do_not_see_two_transactions_in_different_orders() {
    let writers = [transaction((0, 9), &[append(1, 10)]), transaction((0, 9), &[append(2, 20)])];
    let reader = |first: &[Value], second: &[Value]| transaction((0, 9), &[read(1, first), read(2, second)]);
    let lists: &[(List, &[Value])] = &[(1, &[10]), (2, &[20])];
    let [a, b] = writers;
    let fork = found(&[a.clone(), b.clone(), reader(&[10], &[]), reader(&[], &[20])], lists);
    assert!(is_circle(&fork, 4), "{fork:?}");
    assert_eq!(found(&[a, b, reader(&[10], &[]), reader(&[10], &[20])], lists), []);
}

#[test]
fn lost_updates_are_found_where_the_isolation_forbids_them() {
    let lists: &[(List, &[Value])] = &[(1, &[10, 20])];
    let first = transaction((0, 9), &[read(1, &[]), append(1, 10)]);
    assert_eq!(found(&[first.clone(), transaction((0, 9), &[read(1, &[]), append(1, 20)])], lists), [], "as in MySQL");
    let lost = found(&[first.clone(), optimistic((0, 9), &[read(1, &[]), append(1, 20)])], lists);
    assert!(is_circle(&lost, 2), "{lost:?}");
    let lost = found(&[first.clone(), transaction((0, 9), &[locking(1, &[]), append(1, 20)])], lists);
    assert!(is_circle(&lost, 2), "{lost:?}");
    // A lock that was lost with a transaction that was refused promises nothing.
    let refused = ended(Outcome::Aborted, transaction((0, 9), &[locking(1, &[]), append(1, 20)]));
    assert_eq!(found(&[first, refused], &[(1, &[10])]), []);
}

#[test]
fn write_skew_is_no_anomaly_of_snapshots() {
    let a = optimistic((0, 9), &[read(1, &[]), append(2, 20)]);
    let b = optimistic((0, 9), &[read(2, &[]), append(1, 10)]);
    assert_eq!(found(&[a, b], &[(1, &[10]), (2, &[20])]), []);
    // With locks it is one.
    let a = transaction((0, 9), &[locking(1, &[]), append(2, 20)]);
    let b = transaction((0, 9), &[locking(2, &[]), append(1, 10)]);
    let skew = found(&[a, b], &[(1, &[10]), (2, &[20])]);
    assert!(is_circle(&skew, 2), "{skew:?}");
}

/// What a random store does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Each read has a snapshot of its own.
    NewSnapshots,
    /// Snapshots are older than the beginning of their transaction.
    StaleSnapshots,
    /// Conflicts of optimistic transactions are not seen.
    NoConflicts,
}

/// Runs random transactions of several clients against a list of versions. All of them are begun and ended at instants of a common clock.
fn random_history(seed: u64, fault: Fault) -> Vec<Anomaly> {
    struct Open {
        client: Transaction,
        snapshot: u64,
        writes: Vec<(List, Value)>,
    }
    let mut random = Random::new(seed);
    let (mut clock, mut next_value) = (10, 0);
    let mut versions: Vec<(u64, List, Value)> = Vec::new();
    let (mut open, mut history): (Vec<Option<Open>>, Vec<Transaction>) = ((0..5).map(|_| None).collect(), Vec::new());
    for _ in 0..1500 {
        clock += 1;
        let slot = &mut open[random.below(5)];
        let Some(current) = slot else {
            let late = if fault == Fault::StaleSnapshots && random.below(10) == 0 { 9 } else { 0 };
            let client = Transaction { outcome: Outcome::Unknown, ..optimistic((clock, clock), &[]) };
            *slot = Some(Open { client, snapshot: clock - late, writes: Vec::new() });
            continue;
        };
        let list = random.below(4) as List;
        match random.below(4) {
            0 => {
                next_value += 1;
                current.writes.push((list, next_value));
                current.client.ops.push(append(list, next_value));
            }
            1 | 2 => {
                let at = if fault == Fault::NewSnapshots { clock } else { current.snapshot };
                let seen = versions.iter().filter(|(commit, of, _)| *commit <= at && *of == list).map(|(_, _, value)| *value);
                let own = current.writes.iter().filter(|(of, _)| *of == list).map(|(_, value)| *value);
                current.client.ops.push(read(list, &seen.chain(own).collect::<Vec<_>>()));
            }
            _ => {
                let mut done = slot.take().expect("it is open");
                let conflict = versions.iter().any(|(commit, list, _)| {
                    *commit > done.snapshot && done.writes.iter().any(|(own, _)| own == list) && fault != Fault::NoConflicts
                });
                if !conflict {
                    versions.extend(done.writes.iter().map(|(list, value)| (clock, *list, *value)));
                }
                let answer = if conflict { Outcome::Aborted } else { Outcome::Committed };
                done.client.outcome = if random.below(20) == 0 { Outcome::Unknown } else { answer };
                done.client.end = S(clock);
                history.push(done.client);
            }
        }
    }
    let mut lists: BTreeMap<List, Vec<Value>> = BTreeMap::new();
    versions.iter().for_each(|(_, list, value)| lists.entry(*list).or_default().push(*value));
    find(&history, &lists)
}

#[test]
fn random_histories_are_clean_exactly_when_their_store_is() {
    for seed in 1..40 {
        assert_eq!(random_history(seed, Fault::None), [], "seed {seed}");
        for fault in [Fault::NewSnapshots, Fault::StaleSnapshots, Fault::NoConflicts] {
            assert!(!random_history(seed, fault).is_empty(), "seed {seed}");
        }
    }
}
