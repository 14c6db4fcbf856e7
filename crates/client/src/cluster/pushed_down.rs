//! Pushed-down plans: ranges cut at the borders of regions, and one request to one region.
//!
//! ```text
//!   ranges  [a──────f) [h──────────p)          regions  ─────d─────────k─────
//!   parts   [a──d)  │ [d──f) [h──k)  │ [k──p)            one part a region, in the direction of the scan
//! ```
//!
//! Invariant: parts are disjoint and together are the ranges, whatever happens to regions between two cuts.

use std::{collections::VecDeque, sync::Arc};

use base::KeyRange;
use proto::coprocessor;

use super::{ClusterStore, patience::Patience, region_cache::Region};
use crate::error::Result;

/// Disjoint ranges of user keys, ascending.
pub(crate) type Ranges = VecDeque<KeyRange>;

/// Takes off `ranges` what lies in `region`, beginning with the first range (with the last one if `desc`), of which some does.
fn cut(ranges: &mut Ranges, region: &KeyRange, desc: bool) -> Vec<KeyRange> {
    let mut part = Vec::new();
    while let Some(range) = if desc { ranges.pop_back() } else { ranges.pop_front() } {
        let inside = intersection(&range, region);
        if inside.is_empty() {
            if desc {
                ranges.push_back(range)
            } else {
                ranges.push_front(range)
            }
            break;
        }
        let left = match desc {
            false => KeyRange { start: inside.end.clone(), end: range.end.clone() },
            true => KeyRange { start: range.start.clone(), end: inside.start.clone() },
        };
        let is_whole = if desc { left.start == left.end } else { inside.end == range.end };
        part.push(inside);
        if !is_whole {
            if desc {
                ranges.push_back(left)
            } else {
                ranges.push_front(left)
            }
            break;
        }
    }
    if desc {
        part.reverse();
    }
    part
}

/// What lies in both ranges; an empty end is beyond all keys.
fn intersection(a: &KeyRange, b: &KeyRange) -> KeyRange {
    let end = match (a.end.is_empty(), b.end.is_empty()) {
        (true, _) => &b.end,
        (_, true) => &a.end,
        _ => (&a.end).min(&b.end),
    };
    KeyRange { start: (&a.start).max(&b.start).clone(), end: end.clone() }
}

/// What of `part` is not in an answer that was of `read`.
pub(super) fn left_of(part: Vec<KeyRange>, read: &coprocessor::KeyRange, desc: bool) -> Ranges {
    let unread = match desc {
        false => KeyRange { start: read.end.clone(), end: bytes::Bytes::new() },
        true => KeyRange { start: bytes::Bytes::new(), end: read.start.clone() },
    };
    // Read to the end of all keys, or, in reverse, to the very first.
    let is_all = if desc { unread.end.is_empty() } else { unread.start.is_empty() };
    if is_all {
        return Ranges::new();
    }
    part.iter().map(|range| intersection(range, &unread)).filter(|range| !range.is_empty()).collect()
}

/// The first part of some ranges in the direction of a scan, and its region.
struct RegionPart {
    region: Arc<Region>,
    ranges: Vec<KeyRange>,
}

impl ClusterStore {
    async fn first_part(&self, ranges: &mut Ranges, desc: bool, patience: &mut Patience) -> Result<Option<RegionPart>> {
        loop {
            let Some(first) = (if desc { ranges.back() } else { ranges.front() }) else { return Ok(None) };
            if first.is_empty() {
                if desc {
                    ranges.pop_back()
                } else {
                    ranges.pop_front()
                };
                continue;
            }
            let region = match desc {
                false => self.region_of(&first.start, patience).await?,
                true => self.region_below(&first.end, patience).await?,
            };
            let part = cut(ranges, &region.range, desc);
            return Ok(Some(RegionPart { region, ranges: part }));
        }
    }

    /// Takes the first part off `ranges`: what lies in one region, as regions are known now.
    pub(crate) async fn take_part(&self, ranges: &mut Ranges, desc: bool) -> Result<Option<Ranges>> {
        let part = self.first_part(ranges, desc, &mut self.patience()).await?;
        Ok(part.map(|part| part.ranges.into()))
    }

    /// Asks for one page of a plan over the first part of `ranges`, again and again until a store has served it, and takes off `ranges` what the
    /// answer is of. An answer with a lock is of nothing. `None` when there is nothing left to read.
    pub(crate) async fn pushed_down_page(
        &self,
        ranges: &mut Ranges,
        desc: bool,
        request: &coprocessor::Request,
    ) -> Result<Option<coprocessor::Response>> {
        let mut patience = self.patience();
        loop {
            let mut others = ranges.clone();
            let Some(RegionPart { region, ranges: part }) = self.first_part(&mut others, desc, &mut patience).await? else {
                return Ok(None);
            };
            let words = part.iter().map(|range| coprocessor::KeyRange { start: range.start.clone(), end: range.end.clone() });
            let asked = coprocessor::Request { ranges: words.collect(), ..request.clone() };
            let Some(answer) = self.send(&region, asked, &mut patience).await? else { continue };
            if answer.locked.is_none() {
                let mut left = answer.range.as_ref().map_or_else(Ranges::new, |read| left_of(part, read, desc));
                if desc {
                    others.append(&mut left);
                } else {
                    left.append(&mut others);
                    others = left;
                }
                *ranges = others;
            }
            return Ok(Some(answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range((start, end): (&'static str, &'static str)) -> KeyRange {
        KeyRange { start: start.into(), end: end.into() }
    }

    /// Cuts ranges at borders; the parts and how they look.
    fn parts(ranges: &[(&'static str, &'static str)], borders: &[&'static str], desc: bool) -> String {
        let mut ranges: Ranges = ranges.iter().copied().map(range).collect();
        let mut regions: Vec<KeyRange> = [""].iter().chain(borders).zip(borders.iter().chain(&[""])).map(|(a, b)| range((a, b))).collect();
        if desc {
            regions.reverse();
        }
        let mut out = Vec::new();
        for region in regions {
            let part = cut(&mut ranges, &region, desc);
            let one = |range: &KeyRange| format!("{}-{}", range.start.escape_ascii(), range.end.escape_ascii());
            out.push(part.iter().map(one).collect::<Vec<_>>().join(" "));
        }
        assert!(ranges.is_empty(), "{ranges:?}");
        out.join(" | ")
    }

    #[test]
    fn parts_are_cut_at_borders_in_both_directions() {
        let ranges = [("a", "f"), ("h", "p")];
        assert_eq!(parts(&ranges, &["d", "k"], false), "a-d | d-f h-k | k-p");
        assert_eq!(parts(&ranges, &["d", "k"], true), "k-p | d-f h-k | a-d");
        assert_eq!(parts(&ranges, &["g"], false), "a-f | h-p");
        assert_eq!(parts(&ranges, &["g"], true), "h-p | a-f");
        assert_eq!(parts(&[("", "")], &["m"], false), "-m | m-");
        assert_eq!(parts(&[("", "")], &["m"], true), "m- | -m");
        assert_eq!(parts(&[("a", "m")], &["m"], true), " | a-m");
    }

    #[test]
    fn what_an_answer_was_not_of_is_left() {
        let part = || vec![range(("a", "f")), range(("h", "p"))];
        let read = |start: &'static str, end: &'static str| coprocessor::KeyRange { start: start.into(), end: end.into() };
        assert_eq!(left_of(part(), &read("a", "c"), false), [range(("c", "f")), range(("h", "p"))]);
        assert_eq!(left_of(part(), &read("a", "i"), false), [range(("i", "p"))]);
        assert_eq!(left_of(part(), &read("i", "p"), true), [range(("a", "f")), range(("h", "i"))]);
        assert_eq!(left_of(part(), &read("c", "p"), true), [range(("a", "c"))]);
        assert!(left_of(part(), &read("a", "p"), false).is_empty());
        assert!(left_of(part(), &read("", ""), true).is_empty());
    }
}
