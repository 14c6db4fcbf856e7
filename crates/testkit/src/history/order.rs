//! The instants of a history, which of them lie before which, and the search for a circle.
//!
//! ```text
//!   within a transaction                                S(t) before C(t)
//!   t read what w appended, from its snapshot           C(w) before S(t)       and did not read what came next, of x:  S(t) before C(x)
//!   t locked what it read                               C(w) before C(t)                                               C(t) before C(x)
//!   t appended behind what w had appended               C(w) before C(t)       where the first committer wins:         C(w) before S(t)
//!   t was acknowledged, or refused, before u was begun  C(t), or S(t), before S(u)
//! ```
//!
//! The last row would be as many pairs as there are pairs of transactions; a chain of ends stands for them: C(t) ─▶ end of t ─▶ next end ─▶ … ─▶ S(u).

use std::{collections::VecDeque, fmt};

use super::{Op, Outcome, Place, Placed, Transaction};

/// An instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instant {
    Snapshot(Place),
    Commit(Place),
    /// The so-manieth end of a transaction, by the clock.
    End(usize),
}

/// Why one instant lies before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Because {
    Own,
    Read(u32),
    DidNotRead(u32),
    Appended(u32),
    Clock,
}

/// Two instants of a circle, the first of which must lie before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    from: Instant,
    to: Instant,
    because: Because,
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(place) => write!(f, "S({place})"),
            Self::Commit(place) => write!(f, "C({place})"),
            Self::End(_) => write!(f, "…"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} before {}: ", self.from, self.to)?;
        match self.because {
            Because::Own => write!(f, "the same transaction"),
            Because::Read(list) => write!(f, "its value in list {list} was read"),
            Because::DidNotRead(list) => write!(f, "its value in list {list} was not read"),
            Because::Appended(list) => write!(f, "appended later to list {list}"),
            Because::Clock => write!(f, "by the clock"),
        }
    }
}

/// Instants by number: S and C of each transaction, then the ends.
struct Graph {
    transactions: usize,
    after: Vec<Vec<(usize, Because)>>,
}

impl Graph {
    fn number(&self, instant: Instant) -> usize {
        match instant {
            Instant::Snapshot(place) => 2 * place,
            Instant::Commit(place) => 2 * place + 1,
            Instant::End(rank) => 2 * self.transactions + rank,
        }
    }

    fn instant(&self, number: usize) -> Instant {
        match number.checked_sub(2 * self.transactions) {
            Some(rank) => Instant::End(rank),
            None if number.is_multiple_of(2) => Instant::Snapshot(number / 2),
            None => Instant::Commit(number / 2),
        }
    }

    fn add(&mut self, from: Instant, to: Instant, because: Because) {
        let (from, to) = (self.number(from), self.number(to));
        self.after[from].push((to, because));
    }
}

/// A circle among the instants, if there is one: one of the shortest through an instant that lies on some.
pub(super) fn circle(history: &[Transaction], placed: &Placed) -> Option<Vec<Step>> {
    let mut graph = Graph { transactions: history.len(), after: vec![Vec::new(); 3 * history.len()] };
    for (place, transaction) in history.iter().enumerate() {
        graph.add(Instant::Snapshot(place), Instant::Commit(place), Because::Own);
        add_ops(&mut graph, place, transaction, placed);
    }
    add_clock(&mut graph, history);
    let left = not_sorted(&graph.after);
    let start = left.iter().position(|&is_left| is_left)?;
    // Each instant that is left has one before it that is left, so the way back comes to a circle.
    let mut before = vec![usize::MAX; graph.after.len()];
    for (from, after) in graph.after.iter().enumerate().filter(|(from, _)| left[*from]) {
        after.iter().filter(|(to, _)| left[*to]).for_each(|(to, _)| before[*to] = from);
    }
    let mut at = start;
    for _ in 0..graph.after.len() {
        at = before[at];
    }
    Some(shortest(&graph, &left, at))
}

fn add_ops(graph: &mut Graph, place: Place, transaction: &Transaction, placed: &Placed) {
    let (snapshot, commit) = (Instant::Snapshot(place), Instant::Commit(place));
    for (at, op) in transaction.ops.iter().enumerate() {
        match op {
            Op::Append { list, value } => {
                let Some(index) = placed.list(*list).iter().position(|found| found == value) else { continue };
                let Some(writer) = index.checked_sub(1).and_then(|before| placed.writer_at(*list, before)) else { continue };
                if writer != place {
                    let to = if transaction.first_committer_wins { snapshot } else { commit };
                    graph.add(Instant::Commit(writer), to, Because::Appended(*list));
                }
            }
            Op::Read { list, values } | Op::LockingRead { list, values } => {
                let is_locking = matches!(op, Op::LockingRead { .. });
                // Who has written a row reads its newest version, and only a commit keeps a lock.
                if !transaction.appended_by(*list, at).is_empty() || is_locking && !placed.committed.contains(&place) {
                    continue;
                }
                let own = if is_locking { commit } else { snapshot };
                if let Some(writer) = values.len().checked_sub(1).and_then(|last| placed.writer_at(*list, last)) {
                    graph.add(Instant::Commit(writer), own, Because::Read(*list));
                }
                if let Some(next) = placed.writer_at(*list, values.len()).filter(|next| *next != place) {
                    graph.add(own, Instant::Commit(next), Because::DidNotRead(*list));
                }
            }
        }
    }
}

fn add_clock(graph: &mut Graph, history: &[Transaction]) {
    let known = |place: &Place| history[*place].outcome != Outcome::Unknown;
    let mut ends: Vec<Place> = (0..history.len()).filter(known).collect();
    ends.sort_by_key(|place| history[*place].end);
    for (rank, &place) in ends.iter().enumerate() {
        let last = if history[place].outcome == Outcome::Committed { Instant::Commit(place) } else { Instant::Snapshot(place) };
        graph.add(last, Instant::End(rank), Because::Clock);
        if rank > 0 {
            graph.add(Instant::End(rank - 1), Instant::End(rank), Because::Clock);
        }
    }
    for (place, transaction) in history.iter().enumerate() {
        let ended_before = ends.partition_point(|end| history[*end].end < transaction.begin);
        if let Some(rank) = ended_before.checked_sub(1) {
            graph.add(Instant::End(rank), Instant::Snapshot(place), Because::Clock);
        }
    }
}

/// What stays when whatever has nothing before it is taken away again and again: nothing, unless there are circles.
fn not_sorted(after: &[Vec<(usize, Because)>]) -> Vec<bool> {
    let mut before = vec![0usize; after.len()];
    after.iter().flatten().for_each(|(to, _)| before[*to] += 1);
    let mut free: Vec<usize> = (0..after.len()).filter(|instant| before[*instant] == 0).collect();
    let mut left = vec![true; after.len()];
    while let Some(instant) = free.pop() {
        left[instant] = false;
        for (to, _) in &after[instant] {
            before[*to] -= 1;
            if before[*to] == 0 {
                free.push(*to);
            }
        }
    }
    left
}

/// The shortest way from an instant on a circle back to itself.
fn shortest(graph: &Graph, left: &[bool], start: usize) -> Vec<Step> {
    let mut came: Vec<Option<(usize, Because)>> = vec![None; graph.after.len()];
    let mut next = VecDeque::from([start]);
    while came[start].is_none() {
        let from = next.pop_front().expect("the start lies on a circle");
        for &(to, because) in graph.after[from].iter().filter(|(to, _)| left[*to]) {
            if came[to].is_none() {
                came[to] = Some((from, because));
                next.push_back(to);
            }
        }
    }
    let mut steps = Vec::new();
    let mut to = start;
    while steps.is_empty() || to != start {
        let (from, because) = came[to].expect("the search came this way");
        steps.push(Step { from: graph.instant(from), to: graph.instant(to), because });
        to = from;
    }
    steps.reverse();
    steps
}
