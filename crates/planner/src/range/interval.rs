//! Sets of values of one key column, as intervals of their memcomparable encoding.
//!
//! The encoding of a value is a *prefix*: the keys that hold the value are exactly the keys that begin with it. A bound therefore is a
//! position just before or just after all keys with some prefix:
//!
//! ```text
//! col >= v   starts before enc(v)        col >  v   starts after enc(v)
//! col <= v   ends   after  enc(v)        col <  v   ends   before enc(v)
//! ```
//!
//! Order, NULL (which has an encoding of its own, below all values) and collation (strings are encoded by their sort keys) are all in the
//! encoding, so the algebra here is that of byte strings.
//!
//! Invariants of an [`IntervalSet`]: intervals are not empty, sorted and disjoint; an interval marked `point` holds exactly one value.

use std::{borrow::Cow, cmp::Ordering};

use base::prefix_end;
use codec::flag;

/// A position between keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    prefix: Vec<u8>,
    after: bool,
}

impl Bound {
    /// Before all keys with this prefix.
    pub fn before(prefix: impl Into<Vec<u8>>) -> Self {
        Self { prefix: prefix.into(), after: false }
    }

    /// After all keys with this prefix.
    pub fn after(prefix: impl Into<Vec<u8>>) -> Self {
        Self { prefix: prefix.into(), after: true }
    }

    /// The smallest byte string behind the position; every key of a column is below `[0xff]`.
    pub fn position(&self) -> Cow<'_, [u8]> {
        if !self.after {
            return Cow::Borrowed(&self.prefix);
        }
        let end = prefix_end(&self.prefix);
        Cow::Owned(if end.is_empty() { vec![0xff; self.prefix.len() + 1] } else { end })
    }

    /// The same position in the descending encoding, where every byte is inverted.
    pub fn inverted(&self) -> Self {
        Self { prefix: self.prefix.iter().map(|byte| !byte).collect(), after: !self.after }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        self.position().cmp(&other.position())
    }
}

/// The values between two positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub start: Bound,
    pub end: Bound,
    /// It holds exactly one value.
    pub point: bool,
}

impl Interval {
    /// The interval of one value.
    pub fn point(encoded: Vec<u8>) -> Self {
        Self { start: Bound::before(encoded.clone()), end: Bound::after(encoded), point: true }
    }

    /// The encoding of a point's value.
    pub fn point_prefix(&self) -> &[u8] {
        &self.start.prefix
    }

    /// The same interval in the descending encoding.
    pub fn inverted(&self) -> Self {
        Self { start: self.end.inverted(), end: self.start.inverted(), point: self.point }
    }
}

/// A set of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IntervalSet(Vec<Interval>);

impl IntervalSet {
    /// No value.
    pub fn empty() -> Self {
        Self(vec![])
    }

    /// Every value and NULL.
    pub fn all() -> Self {
        Self::between(Bound::before([]), Bound::before([0xff]))
    }

    /// Every value but NULL.
    pub fn not_null() -> Self {
        Self::between(Bound::after([flag::NULL]), Bound::before([0xff]))
    }

    /// NULL alone.
    pub fn null() -> Self {
        Self(vec![Interval::point(vec![flag::NULL])])
    }

    /// One value.
    pub fn point(encoded: Vec<u8>) -> Self {
        Self(vec![Interval::point(encoded)])
    }

    /// The values between two positions.
    pub fn between(start: Bound, end: Bound) -> Self {
        if start.cmp(&end) == Ordering::Less { Self(vec![Interval { start, end, point: false }]) } else { Self::empty() }
    }

    /// The intervals in order.
    pub fn intervals(&self) -> &[Interval] {
        &self.0
    }

    /// The values in either set.
    pub fn union(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self.normalized()
    }

    /// The values in any of many sets.
    pub fn union_all(sets: impl IntoIterator<Item = Self>) -> Self {
        Self(sets.into_iter().flat_map(|set| set.0).collect()).normalized()
    }

    /// The values in both sets.
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut i, mut j) = (0, 0);
        let mut both = vec![];
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            let start = if a.start.cmp(&b.start) == Ordering::Less { &b.start } else { &a.start };
            let end = if a.end.cmp(&b.end) == Ordering::Less { &a.end } else { &b.end };
            if start.cmp(end) == Ordering::Less {
                // A point is never cut: positions lie before or after all keys of a value.
                both.push(Interval { start: start.clone(), end: end.clone(), point: a.point || b.point });
            }
            if a.end.cmp(&b.end) == Ordering::Less {
                i += 1;
            } else {
                j += 1;
            }
        }
        Self(both)
    }

    /// Sorts, and joins intervals that overlap. Neighbours that only touch stay apart, so that points stay points.
    fn normalized(mut self) -> Self {
        self.0.sort_by(|a, b| a.start.cmp(&b.start).then_with(|| b.end.cmp(&a.end)));
        let mut merged: Vec<Interval> = Vec::with_capacity(self.0.len());
        for interval in self.0 {
            match merged.last_mut() {
                Some(last) if interval.start.cmp(&last.end) == Ordering::Less => {
                    if last.end.cmp(&interval.end) == Ordering::Less {
                        last.end = interval.end;
                        last.point = false;
                    }
                }
                _ => merged.push(interval),
            }
        }
        Self(merged)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values are single bytes 1..=9 encoded as themselves; NULL is 0.
    fn members(set: &IntervalSet) -> Vec<u8> {
        (0..10u8)
            .filter(|value| {
                let key = [*value, 7];
                set.0.iter().any(|i| i.start.position()[..] <= key[..] && key[..] < i.end.position()[..])
            })
            .collect()
    }

    fn any_set() -> impl Strategy<Value = IntervalSet> {
        prop::collection::vec((0..10u8, 0..10u8, any::<bool>(), any::<bool>()), 0..5).prop_map(|parts| {
            IntervalSet::union_all(parts.into_iter().map(|(a, b, after, end_after)| {
                if a == b {
                    return IntervalSet::point(vec![a]);
                }
                let bound = |value: u8, after: bool| if after { Bound::after([value]) } else { Bound::before([value]) };
                IntervalSet::between(bound(a.min(b), after), bound(a.max(b), end_after))
            }))
        })
    }

    proptest! {
        #[test]
        fn union_and_intersection_are_those_of_sets(a in any_set(), b in any_set()) {
            let (ma, mb) = (members(&a), members(&b));
            let union: Vec<u8> = (0..10).filter(|v| ma.contains(v) || mb.contains(v)).collect();
            let both: Vec<u8> = (0..10).filter(|v| ma.contains(v) && mb.contains(v)).collect();
            prop_assert_eq!(members(&a.intersect(&b)), both);
            prop_assert_eq!(members(&a.union(b)), union);
        }
    }

    #[test]
    fn inverted_intervals_hold_the_inverted_keys() {
        let interval = Interval { start: Bound::after([3]), end: Bound::after([5]), point: false }.inverted();
        let holds = |key: u8| interval.start.position()[..] <= [!key, 9][..] && [!key, 9][..] < interval.end.position()[..];
        assert_eq!((0..10).filter(|key| holds(*key)).collect::<Vec<_>>(), [4, 5]);
    }
}
