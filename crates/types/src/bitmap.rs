//! A growable set of bits, one per row of a column: set where the value is NULL.
//!
//! Most columns have no NULL. As long as none was pushed the bitmap holds only its length, so that a push is one addition and a test one
//! comparison.

/// One bit per row.
///
/// Invariants: `words` is empty while no bit is set; otherwise it covers `len` bits and all bits at or behind `len` are zero.
#[derive(Clone, Debug, Default)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
    ones: usize,
}

impl Bitmap {
    /// No bits.
    pub fn new() -> Self {
        Self::default()
    }

    /// `len` bits, none set.
    pub fn zeros(len: usize) -> Self {
        Self { words: Vec::new(), len, ones: 0 }
    }

    /// `len` bits, all set.
    pub fn ones(len: usize) -> Self {
        let mut map = Self::new();
        (0..len).for_each(|_| map.push(true));
        map
    }

    /// Number of bits.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of bits that are set.
    #[inline]
    pub fn count_ones(&self) -> usize {
        self.ones
    }

    /// Whether any bit is set.
    #[inline]
    pub fn any(&self) -> bool {
        self.ones != 0
    }

    /// The bit at `at`.
    #[inline]
    pub fn get(&self, at: usize) -> bool {
        debug_assert!(at < self.len);
        self.ones != 0 && self.words[at / 64] >> (at % 64) & 1 != 0
    }

    /// Appends a bit.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        let at = self.len;
        self.len += 1;
        if !self.words.is_empty() || bit {
            self.words.resize(self.len.div_ceil(64), 0);
            self.words[at / 64] |= u64::from(bit) << (at % 64);
            self.ones += usize::from(bit);
        }
    }

    /// Appends `n` bits that are not set.
    #[inline]
    pub fn extend_zeros(&mut self, n: usize) {
        self.len += n;
        if !self.words.is_empty() {
            self.words.resize(self.len.div_ceil(64), 0);
        }
    }

    /// Sets or clears the bit at `at`, which must be there.
    pub fn set(&mut self, at: usize, bit: bool) {
        assert!(at < self.len, "bit {at} of {}", self.len);
        if self.get(at) == bit {
            return;
        }
        self.words.resize(self.len.div_ceil(64), 0);
        self.words[at / 64] ^= 1 << (at % 64);
        self.ones = if bit { self.ones + 1 } else { self.ones - 1 };
        self.forget_words_without_ones();
    }

    /// Keeps the first `len` bits.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.len = len;
        if !self.words.is_empty() {
            self.words.truncate(len.div_ceil(64));
            if let (Some(last), true) = (self.words.last_mut(), !len.is_multiple_of(64)) {
                *last &= (1 << (len % 64)) - 1;
            }
            self.ones = self.words.iter().map(|word| word.count_ones() as usize).sum();
            self.forget_words_without_ones();
        }
    }

    /// Removes all bits.
    #[inline]
    pub fn clear(&mut self) {
        self.words.clear();
        (self.len, self.ones) = (0, 0);
    }

    /// Bytes on the heap.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * 8
    }

    fn forget_words_without_ones(&mut self) {
        if self.ones == 0 {
            self.words.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_vector_of_bools(bits in prop::collection::vec(prop::bool::weighted(0.05), 0..300), cut in 0usize..300, flips in prop::collection::vec(any::<prop::sample::Index>(), 0..5)) {
            let mut map = Bitmap::new();
            let mut model = bits.clone();
            bits.iter().for_each(|&bit| map.push(bit));
            map.truncate(cut);
            model.truncate(cut);
            for at in flips {
                if !model.is_empty() {
                    let at = at.index(model.len());
                    model[at] = !model[at];
                    map.set(at, model[at]);
                }
            }
            map.extend_zeros(3);
            map.push(true);
            model.extend([false, false, false, true]);
            prop_assert_eq!((0..map.len()).map(|i| map.get(i)).collect::<Vec<_>>(), model.clone());
            prop_assert_eq!(map.count_ones(), model.iter().filter(|&&bit| bit).count());
        }
    }
}
