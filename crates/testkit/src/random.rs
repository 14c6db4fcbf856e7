//! A small generator, so that a failure can be repeated from its seed.

/// xorshift64*.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator whose values are always the same.
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    /// A generator that is different in each run; prints its seed. `TRINE_TEST_SEED` repeats a run.
    pub fn seeded() -> Self {
        let given = std::env::var("TRINE_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
        let seed = given.unwrap_or(now);
        println!("TRINE_TEST_SEED={seed}");
        Self::new(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`, zero for zero.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 20) as usize % n.max(1)
    }
}
