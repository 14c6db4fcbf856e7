//! The factory of compaction filters.
//!
//! RocksDB asks it for one filter object per compaction, on the thread of that compaction; nothing but atomics is shared between them.

use std::ffi::CStr;

use rocksdb::{
    CompactionDecision,
    compaction_filter::CompactionFilter,
    compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory},
};

use crate::{Cf, GcFilter};

const NAME: &CStr = c"trine.gc";

pub(super) struct GcFilterFactory {
    pub(super) cf: Cf,
    pub(super) filter: GcFilter,
}

impl CompactionFilterFactory for GcFilterFactory {
    type Filter = GcCompactionFilter;

    fn create(&mut self, _context: CompactionFilterContext) -> GcCompactionFilter {
        GcCompactionFilter { cf: self.cf, safe_point: self.filter.current_safe_point(), filter: self.filter.clone() }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

/// The filter of one compaction: the safe point it started with, and the stateless decision.
pub(super) struct GcCompactionFilter {
    cf: Cf,
    safe_point: u64,
    filter: GcFilter,
}

impl CompactionFilter for GcCompactionFilter {
    fn filter(&mut self, _level: u32, key: &[u8], value: &[u8]) -> CompactionDecision {
        if self.safe_point > 0 && self.filter.removes(self.cf, key, value, self.safe_point) {
            CompactionDecision::Remove
        } else {
            CompactionDecision::Keep
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}
