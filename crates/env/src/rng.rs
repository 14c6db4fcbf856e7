//! Randomness.

use parking_lot::Mutex;
use rand::{Rng as _, RngCore as _, SeedableRng as _, rngs::StdRng};

/// Source of random bits.
pub trait Rng: Send + Sync + 'static {
    /// 64 random bits.
    fn next_u64(&self) -> u64;
}

/// The thread's cryptographically seeded generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRng;

impl Rng for SystemRng {
    fn next_u64(&self) -> u64 {
        rand::rng().random()
    }
}

/// The same bits for the same seed.
#[derive(Debug)]
pub struct SeededRng(Mutex<StdRng>);

impl SeededRng {
    /// A generator that starts from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl Rng for SeededRng {
    fn next_u64(&self) -> u64 {
        self.0.lock().next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_bits() {
        let (a, b) = (SeededRng::new(7), SeededRng::new(7));
        assert_eq!([a.next_u64(), a.next_u64()], [b.next_u64(), b.next_u64()]);
    }
}
