//! AUTO_INCREMENT values and hidden row ids.
//!
//! A server takes ranges of values from a persisted counter, outside of any user transaction, and hands them out from memory: consecutive
//! values for the users of one server, one small transaction per [`AutoIds::DEFAULT_STEP`] rows.
//!
//! ```text
//! persisted counter     ...........high
//! range of this server          [next .. end]      end <= high; other servers' ranges end elsewhere below high
//! ```
//!
//! Invariants:
//! - Every value ever handed out or rebased over is at most the persisted counter *before* it is used: no value is handed out twice, even
//!   after a crash. Unused values of a range are lost in a crash (a gap, as InnoDB's users know it); [`AutoIds::release`] gives
//!   them back on an orderly stop.
//! - The counter only grows.
//! - The fast path takes one uncontended mutex for a few instructions; refills of a table queue on an async mutex, so that no runtime
//!   worker blocks.

use std::{collections::hash_map::Entry, sync::Arc};

use base::TableId;
use client::{Client, TxnOptions};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use crate::{
    Error, Result,
    meta::{Meta, keys},
};

/// Which of a table's two counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AutoIdKind {
    /// The AUTO_INCREMENT column.
    AutoIncrement,
    /// Row ids of tables without a primary key.
    RowId,
}

impl AutoIdKind {
    fn key(self, table: TableId) -> Vec<u8> {
        let hash = match self {
            Self::AutoIncrement => keys::AUTO_ID,
            Self::RowId => keys::ROW_ID,
        };
        keys::numbered(hash, table.0)
    }
}

/// `auto_increment_increment` and `auto_increment_offset`: values are `offset + n * increment`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoIdStep {
    /// Distance between values; at least 1.
    pub increment: u64,
    /// The first value; ignored (taken as 1) when greater than the increment, as MySQL does.
    pub offset: u64,
}

impl Default for AutoIdStep {
    fn default() -> Self {
        Self { increment: 1, offset: 1 }
    }
}

impl AutoIdStep {
    /// The smallest value of the series that is at least `at_least`.
    fn first_from(self, at_least: u64) -> Option<u64> {
        let increment = self.increment.max(1);
        let offset = if self.offset > increment { 1 } else { self.offset.max(1) };
        let at_least = at_least.max(1);
        if at_least <= offset {
            return Some(offset);
        }
        (at_least - offset).div_ceil(increment).checked_mul(increment)?.checked_add(offset)
    }
}

/// Values for the rows of one statement: `first`, `first + increment`, … `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoIdRange {
    /// The first value; what LAST_INSERT_ID() shows.
    pub first: u64,
    /// Distance between values.
    pub increment: u64,
    /// How many.
    pub count: u64,
}

/// The allocator of one server; clones share it.
#[derive(Clone)]
pub struct AutoIds {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    step: u64,
    slots: RwLock<FxHashMap<(TableId, AutoIdKind), Arc<Slot>>>,
}

#[derive(Default)]
struct Slot {
    range: Mutex<Range>,
    refill: tokio::sync::Mutex<()>,
}

/// Values `next..=end` are free for this server; empty when `next > end`.
#[derive(Clone, Copy)]
struct Range {
    next: u64,
    end: u64,
}

impl Default for Range {
    fn default() -> Self {
        Self { next: 1, end: 0 }
    }
}

impl Range {
    /// Takes `count` values of the series, if they are all in the range.
    fn take(&mut self, step: AutoIdStep, count: u64) -> Option<AutoIdRange> {
        let first = step.first_from(self.next)?;
        let increment = step.increment.max(1);
        let last = increment.checked_mul(count - 1)?.checked_add(first)?;
        if self.next > self.end || last > self.end {
            return None;
        }
        // `end` is capped below u64::MAX, so the next value exists.
        self.next = last + 1;
        Some(AutoIdRange { first, increment, count })
    }
}

/// No value above this is ever handed out, so that "one more" always exists.
const MAX_VALUE: u64 = u64::MAX - 1;

impl AutoIds {
    /// Values a server takes at once.
    pub const DEFAULT_STEP: u64 = 30_000;

    /// An allocator that takes `step` values at once.
    pub fn new(client: Client, step: u64) -> Self {
        Self { inner: Arc::new(Inner { client, step: step.max(1), slots: RwLock::default() }) }
    }

    /// Takes `count` (at least 1) values; from memory as a rule, else by a small transaction of its own.
    pub async fn allocate(&self, table: TableId, kind: AutoIdKind, step: AutoIdStep, count: u64) -> Result<AutoIdRange> {
        let count = count.max(1);
        let slot = self.slot(table, kind);
        if let Some(range) = slot.range.lock().take(step, count) {
            return Ok(range);
        }
        let _refilling = slot.refill.lock().await;
        loop {
            let current = {
                let mut range = slot.range.lock();
                if let Some(taken) = range.take(step, count) {
                    return Ok(taken);
                }
                *range
            };
            let span = step.increment.max(1).checked_mul(count).ok_or(Error::AutoIncrementExhausted { table })?;
            let from = step.first_from(current.next).ok_or(Error::AutoIncrementExhausted { table })?;
            Box::pin(self.refill(table, kind, &slot, from, span.saturating_add(step.increment))).await?;
        }
    }

    /// Takes values only if they are in memory; `None` means: call [`AutoIds::allocate`].
    pub fn try_allocate(&self, table: TableId, kind: AutoIdKind, step: AutoIdStep, count: u64) -> Option<AutoIdRange> {
        let slot = self.inner.slots.read().get(&(table, kind)).cloned()?;
        let mut range = slot.range.lock();
        range.take(step, count.max(1))
    }

    /// Makes sure that values up to `used` are never handed out: a row with that explicit value is about to be written.
    pub async fn rebase(&self, table: TableId, kind: AutoIdKind, used: u64) -> Result<()> {
        let used = used.min(MAX_VALUE);
        let slot = self.slot(table, kind);
        if Self::rebase_in_memory(&slot, used) {
            return Ok(());
        }
        let _refilling = slot.refill.lock().await;
        if Self::rebase_in_memory(&slot, used) {
            return Ok(());
        }
        let key = kind.key(table);
        let target = used.saturating_add(self.inner.step).min(MAX_VALUE);
        let (old, high) = Box::pin(self.raise(&key, |high| if high >= used { None } else { Some(target) })).await?;
        let mut range = slot.range.lock();
        if high != old {
            *range = Range { next: used + 1, end: target };
        } else if range.next <= used {
            // Another server has gone past `used`; its values are not ours, ours below `used` are spent.
            *range = Range { next: used + 1, end: range.end };
        }
        Ok(())
    }

    /// The value the next allocation would return, for SHOW CREATE TABLE and `information_schema.tables`.
    pub async fn peek(&self, table: TableId, kind: AutoIdKind) -> Result<u64> {
        let slot = self.slot(table, kind);
        {
            let range = slot.range.lock();
            if range.next <= range.end {
                return Ok(range.next);
            }
        }
        let mut txn = self.inner.client.begin(TxnOptions::default());
        let high: Option<u64> = Meta::new(&mut txn).get(&kind.key(table)).await?;
        txn.rollback().await;
        Ok(high.unwrap_or(0) + 1)
    }

    /// As [`AutoIds::peek`], from memory only.
    pub fn peek_cached(&self, table: TableId, kind: AutoIdKind) -> Option<u64> {
        let slot = self.inner.slots.read().get(&(table, kind)).cloned()?;
        let range = slot.range.lock();
        (range.next <= range.end).then_some(range.next)
    }

    /// Drops what is cached for a table that is gone.
    pub fn forget(&self, table: TableId) {
        let mut slots = self.inner.slots.write();
        slots.remove(&(table, AutoIdKind::AutoIncrement));
        slots.remove(&(table, AutoIdKind::RowId));
    }

    /// Gives unused values back, as far as no other server has taken values since. For an orderly stop.
    pub async fn release(&self) -> Result<()> {
        let slots: Vec<_> = self.inner.slots.write().drain().collect();
        for ((table, kind), slot) in slots {
            let range = std::mem::take(&mut *slot.range.lock());
            if range.next <= range.end {
                self.raise(&kind.key(table), |high| (high == range.end).then_some(range.next - 1)).await?;
            }
        }
        Ok(())
    }

    fn slot(&self, table: TableId, kind: AutoIdKind) -> Arc<Slot> {
        if let Some(slot) = self.inner.slots.read().get(&(table, kind)) {
            return Arc::clone(slot);
        }
        match self.inner.slots.write().entry((table, kind)) {
            Entry::Occupied(slot) => Arc::clone(slot.get()),
            Entry::Vacant(vacant) => Arc::clone(vacant.insert(Arc::default())),
        }
    }

    fn rebase_in_memory(slot: &Slot, used: u64) -> bool {
        let mut range = slot.range.lock();
        if range.next > used && range.next <= range.end {
            return true;
        }
        if used <= range.end {
            range.next = range.next.max(used + 1);
            return true;
        }
        false
    }

    /// Takes a new range that has at least `span` values at or behind `from`.
    async fn refill(&self, table: TableId, kind: AutoIdKind, slot: &Slot, from: u64, span: u64) -> Result<()> {
        let step = self.inner.step;
        let wanted = |high: u64| {
            let base = high.max(from.saturating_sub(1));
            (base < MAX_VALUE).then(|| base.saturating_add(step.max(span)).min(MAX_VALUE))
        };
        let (old, high) = self.raise(&kind.key(table), wanted).await?;
        if high == old {
            return Err(Error::AutoIncrementExhausted { table });
        }
        let mut range = slot.range.lock();
        if range.end == old && range.next <= range.end {
            range.end = high;
        } else {
            *range = Range { next: (old + 1).max(range.next), end: high };
        }
        if high == MAX_VALUE && high - range.next < span {
            return Err(Error::AutoIncrementExhausted { table });
        }
        Ok(())
    }

    /// Changes the persisted counter in a transaction of its own; returns it before and after. `change` returns `None` to leave it.
    async fn raise(&self, key: &[u8], change: impl Fn(u64) -> Option<u64>) -> Result<(u64, u64)> {
        loop {
            let mut txn = self.inner.client.begin(TxnOptions::default());
            let mut meta = Meta::new(&mut txn);
            let old: u64 = meta.get(key).await?.unwrap_or(0);
            let Some(new) = change(old) else {
                txn.rollback().await;
                return Ok((old, old));
            };
            meta.put(key.to_vec(), &new)?;
            match txn.commit().await {
                Ok(_) => return Ok((old, new)),
                Err(error) if error.is_retryable() => continue,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_increment_and_offset() {
        let step = AutoIdStep { increment: 10, offset: 3 };
        assert_eq!([1, 3, 4, 13, 14].map(|v| step.first_from(v)), [3, 3, 13, 13, 23].map(Some));
        // An offset above the increment is ignored.
        assert_eq!(AutoIdStep { increment: 2, offset: 5 }.first_from(1), Some(1));
        assert_eq!(step.first_from(u64::MAX), None);
    }

    #[test]
    fn a_range_hands_out_only_what_it_holds() {
        let mut range = Range { next: 1, end: 5 };
        assert_eq!(range.take(AutoIdStep::default(), 3).map(|r| r.first), Some(1));
        assert_eq!(range.take(AutoIdStep::default(), 3), None);
        assert_eq!(range.take(AutoIdStep::default(), 2).map(|r| r.first), Some(4));
        assert_eq!(range.take(AutoIdStep::default(), 1), None);
    }
}
