//! Random values of clauses 2.1.6 and 4.3.2: non-uniform numbers, last names, strings; repeatable from a seed.
//!
//! A generator belongs to a *stream*: one piece of the load, or one terminal. What a stream draws depends on the seed and the stream alone,
//! not on how many others run beside it.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};

/// Constant of NURand over last names while the database is loaded. It is the same for every load, so that a run knows it.
const C_LAST_OF_LOAD: u64 = 157;
/// Distance of that constant in a run from the one of the load (clause 2.1.6.1): at least, at most, and two that are excluded.
const C_LAST_DISTANCE: std::ops::RangeInclusive<u64> = 65..=119;
const C_LAST_NOT: [u64; 2] = [96, 112];

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const ALPHANUMERIC: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LETTERS: &[u8] = ALPHANUMERIC.split_at(26).0;
const DIGITS: &[u8] = b"0123456789";

/// The constants C of NURand, chosen once a run (clause 2.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Constants {
    last_name: u64,
    customer: u64,
    item: u64,
}

impl Constants {
    /// Those of the load.
    pub(super) fn of_load() -> Self {
        Self { last_name: C_LAST_OF_LOAD, customer: 0, item: 0 }
    }

    /// Those of a run with a seed.
    pub(super) fn of_run(seed: u64) -> Self {
        let mut random = Random::new(seed, Stream::Run);
        let last_name = loop {
            let constant = random.between(0, 255);
            let distance = constant.abs_diff(C_LAST_OF_LOAD);
            if C_LAST_DISTANCE.contains(&distance) && !C_LAST_NOT.contains(&distance) {
                break constant;
            }
        };
        Self { last_name, customer: random.between(0, 1023), item: random.between(0, 8191) }
    }
}

/// What a generator is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// A piece of the load, by its number.
    Load(u64),
    /// The constants of a run.
    Run,
    /// A terminal, by its number.
    Terminal(u64),
}

/// A generator.
#[derive(Debug)]
pub(super) struct Random(StdRng);

impl Random {
    pub(super) fn new(seed: u64, stream: Stream) -> Self {
        let (kind, number) = match stream {
            Stream::Load(piece) => (1, piece),
            Stream::Run => (2, 0),
            Stream::Terminal(terminal) => (3, terminal),
        };
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip([seed, kind, number, 0]) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Self(StdRng::from_seed(bytes))
    }

    /// Uniform, both ends included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high)
    }

    /// True so many times of a hundred.
    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.between(1, 100) <= share
    }

    /// Uniform between 0, excluded, and 1.
    pub(super) fn fraction(&mut self) -> f64 {
        1.0 - self.0.random::<f64>()
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        items.shuffle(&mut self.0);
    }

    /// NURand of clause 2.1.6: some numbers of `low..=high` come much more often than others.
    fn non_uniform(&mut self, a: u64, constant: u64, low: u64, high: u64) -> u64 {
        (((self.between(0, a) | self.between(low, high)) + constant) % (high - low + 1)) + low
    }

    /// A customer's number.
    pub(super) fn customer(&mut self, constants: &Constants, customers: u64) -> u64 {
        self.non_uniform(1023, constants.customer, 1, customers)
    }

    /// An item's number.
    pub(super) fn item(&mut self, constants: &Constants, items: u64) -> u64 {
        self.non_uniform(8191, constants.item, 1, items)
    }

    /// A last name out of so many.
    pub(super) fn last_name(&mut self, constants: &Constants, names: u64) -> String {
        last_name(self.non_uniform(255, constants.last_name, 0, names - 1))
    }

    fn text(&mut self, alphabet: &[u8], low: u64, high: u64) -> String {
        let length = self.between(low, high);
        (0..length).map(|_| alphabet[self.0.random_range(0..alphabet.len())] as char).collect()
    }

    /// Letters and digits, of a length between the two.
    pub(super) fn letters_and_digits(&mut self, low: u64, high: u64) -> String {
        self.text(ALPHANUMERIC, low, high)
    }

    /// Two capital letters.
    pub(super) fn state(&mut self) -> String {
        self.text(LETTERS, 2, 2)
    }

    /// So many digits.
    pub(super) fn digits(&mut self, length: u64) -> String {
        self.text(DIGITS, length, length)
    }

    /// A zip code (clause 4.3.2.7).
    pub(super) fn zip(&mut self) -> String {
        self.digits(4) + "11111"
    }

    /// Data of items and stock: 26 to 50 characters, one in ten with `ORIGINAL` somewhere in it.
    pub(super) fn data(&mut self) -> String {
        let mut data = self.letters_and_digits(26, 50);
        if self.percent(10) {
            let at = self.between(0, data.len() as u64 - 8) as usize;
            data.replace_range(at..at + 8, "ORIGINAL");
        }
        data
    }
}

/// The last name of a number below 1000: three syllables, one for each digit (clause 4.3.2.3).
pub(super) fn last_name(number: u64) -> String {
    [number / 100 % 10, number / 10 % 10, number % 10].iter().map(|digit| SYLLABLES[*digit as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_spelt_by_digits() {
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(999), "EINGEINGEING");
    }

    #[test]
    fn constants_of_runs_keep_the_distance_that_the_specification_asks_for() {
        let runs: Vec<_> = (0..200).map(Constants::of_run).collect();
        for constants in &runs {
            let distance = constants.last_name.abs_diff(Constants::of_load().last_name);
            assert!((65..=119).contains(&distance) && distance != 96 && distance != 112, "{constants:?}");
            assert!(constants.customer <= 1023 && constants.item <= 8191, "{constants:?}");
        }
        assert!(runs.iter().any(|constants| *constants != runs[0]), "every seed gives the same constants");
        assert_eq!(Constants::of_run(7), Constants::of_run(7));
    }

    #[test]
    fn non_uniform_numbers_stay_in_range_and_prefer_some() {
        let constants = Constants::of_run(1);
        let mut random = Random::new(1, Stream::Terminal(0));
        let mut counts = vec![0u32; 3001];
        for _ in 0..300_000 {
            counts[random.customer(&constants, 3000) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let mut sorted = counts[1..].to_vec();
        sorted.sort_unstable();
        let hottest: u32 = sorted[2700..].iter().sum();
        // A uniform choice would give the most frequent tenth little more than a tenth of all.
        assert!(hottest > 60_000, "the most frequent tenth came {hottest} times of 300000");
    }

    #[test]
    fn a_stream_repeats_itself_and_differs_from_others() {
        let draw = |seed, stream| {
            let mut random = Random::new(seed, stream);
            (0..8).map(|_| random.between(0, u64::MAX)).collect::<Vec<_>>()
        };
        assert_eq!(draw(5, Stream::Load(3)), draw(5, Stream::Load(3)));
        let others = [draw(6, Stream::Load(3)), draw(5, Stream::Load(4)), draw(5, Stream::Terminal(3)), draw(5, Stream::Run)];
        assert!(others.iter().all(|other| *other != draw(5, Stream::Load(3))));
    }

    #[test]
    fn one_in_ten_data_fields_names_the_original() {
        let mut random = Random::new(2, Stream::Load(0));
        let data: Vec<_> = (0..10_000).map(|_| random.data()).collect();
        assert!(data.iter().all(|data| (26..=50).contains(&data.len())));
        let originals = data.iter().filter(|data| data.contains("ORIGINAL")).count();
        assert!((800..1200).contains(&originals), "{originals} of 10000");
    }
}
