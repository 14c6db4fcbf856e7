//! What may be called a difference.
//!
//! ```text
//!   base   ├──•────┤            median •, spread = highest − lowest of the repeats
//!   other        ├────•──┤
//!             └──────┘          the medians' distance: a difference only if it is longer than both spreads,
//!                               and only if the ranges do not overlap
//! ```
//!
//! This is a guard, no test of significance. Of equal subjects with normally distributed figures it calls 22 % different after two repeats,
//! 4 % after three and 0.2 % after five; of subjects four standard deviations apart it finds nine in ten after three.
//!
//! Invariants: nothing measured once is judged (its noise is unknown), and nothing within the larger of the two spreads is called better or
//! worse. A percentile also cannot be told more exactly than the bucket that it fell in; that width counts as spread.

/// A figure that was measured once or several times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measure {
    /// Median of the repeats, or the percentile of all their samples together.
    pub value: f64,
    /// Lowest of the repeats.
    pub low: f64,
    /// Highest of the repeats.
    pub high: f64,
    /// How often it was measured.
    pub repeats: usize,
    /// Width of the bucket that the value fell in; 0 for what is not counted in buckets.
    pub resolution: f64,
}

impl Measure {
    /// The median of the values with their extremes; nothing for no values.
    pub fn median_of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&low, &high) = (sorted.first()?, sorted.last()?);
        let middle = sorted.len() / 2;
        let value = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Some(Self { value, low, high, repeats: sorted.len(), resolution: 0.0 })
    }

    /// How far repeats of the same thing lay apart.
    pub fn spread(&self) -> f64 {
        (self.high - self.low).max(self.resolution)
    }
}

/// Which way a figure improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    /// Throughput.
    Higher,
    /// Latency, processor time.
    Lower,
}

/// What may be said of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Larger than the noise, the good way.
    Better,
    /// Larger than the noise, the bad way.
    Worse,
    /// Not larger than the noise.
    WithinNoise,
    /// One of the two was measured once.
    NoiseUnknown,
}

/// One measure relative to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Difference {
    /// Share of the base: 0.1 is ten percent more.
    pub relative: f64,
    /// The larger of both spreads as a share of the base; nothing when either was measured once.
    pub noise: Option<f64>,
    /// What may be said.
    pub verdict: Verdict,
}

impl Difference {
    /// Compares `other` with `base`; nothing when the base is no positive number, of which there are no shares.
    pub fn between(base: &Measure, other: &Measure, better: Better) -> Option<Self> {
        if !(base.value > 0.0 && base.value.is_finite() && other.value.is_finite()) {
            return None;
        }
        let distance = other.value - base.value;
        let relative = distance / base.value;
        if base.repeats < 2 || other.repeats < 2 {
            return Some(Self { relative, noise: None, verdict: Verdict::NoiseUnknown });
        }
        let spread = base.spread().max(other.spread());
        // Neighbouring buckets lie one width apart, but for rounding.
        let overlap = base.low <= other.high && other.low <= base.high;
        let verdict = if overlap || distance.abs() <= spread * (1.0 + 1e-9) {
            Verdict::WithinNoise
        } else if (distance > 0.0) == (better == Better::Higher) {
            Verdict::Better
        } else {
            Verdict::Worse
        };
        Some(Self { relative, noise: Some(spread / base.value), verdict })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(base: &[f64], other: &[f64], better: Better) -> Verdict {
        let (base, other) = (Measure::median_of(base).unwrap(), Measure::median_of(other).unwrap());
        Difference::between(&base, &other, better).unwrap().verdict
    }

    #[test]
    fn median_lies_in_the_middle_with_its_extremes() {
        let odd = Measure::median_of(&[30.0, 10.0, 20.0]).unwrap();
        assert_eq!((odd.value, odd.low, odd.high, odd.repeats), (20.0, 10.0, 30.0, 3));
        assert_eq!(Measure::median_of(&[40.0, 10.0, 20.0, 30.0]).unwrap().value, 25.0);
        assert_eq!(Measure::median_of(&[]), None);
    }

    #[test]
    fn difference_needs_to_exceed_the_larger_spread() {
        // Medians 100 and 110: ten apart, whichever side spreads by more than that.
        assert_eq!(verdict(&[99.0, 100.0, 101.0], &[104.0, 110.0, 115.0], Better::Higher), Verdict::WithinNoise);
        assert_eq!(verdict(&[94.0, 100.0, 105.0], &[109.0, 110.0, 111.0], Better::Higher), Verdict::WithinNoise);
        assert_eq!(verdict(&[99.0, 100.0, 101.0], &[109.0, 110.0, 111.0], Better::Higher), Verdict::Better);
    }

    #[test]
    fn difference_as_large_as_the_spread_is_none() {
        assert_eq!(verdict(&[95.0, 100.0, 105.0], &[105.0, 110.0, 115.0], Better::Higher), Verdict::WithinNoise);
        assert_eq!(verdict(&[100.0, 100.0], &[100.0, 100.0], Better::Lower), Verdict::WithinNoise);
    }

    #[test]
    fn overlapping_ranges_are_no_difference_however_far_apart_the_medians() {
        assert_eq!(verdict(&[100.0, 101.0, 110.0], &[109.0, 112.5, 113.0], Better::Higher), Verdict::WithinNoise);
        assert_eq!(verdict(&[100.0, 101.0, 108.0], &[109.0, 112.5, 113.0], Better::Higher), Verdict::Better);
    }

    #[test]
    fn direction_decides_what_is_better() {
        let (slow, fast) = ([200.0, 201.0], [100.0, 101.0]);
        assert_eq!(verdict(&slow, &fast, Better::Lower), Verdict::Better);
        assert_eq!(verdict(&slow, &fast, Better::Higher), Verdict::Worse);
        assert_eq!(verdict(&fast, &slow, Better::Lower), Verdict::Worse);
    }

    #[test]
    fn nothing_measured_once_is_judged() {
        let (once, often) = (Measure::median_of(&[100.0]).unwrap(), Measure::median_of(&[500.0, 501.0, 502.0]).unwrap());
        for (base, other) in [(&once, &often), (&often, &once), (&once, &once)] {
            let difference = Difference::between(base, other, Better::Higher).unwrap();
            assert_eq!((difference.verdict, difference.noise), (Verdict::NoiseUnknown, None));
        }
    }

    #[test]
    fn width_of_a_bucket_is_noise_too() {
        let bucketed = |value| Measure { value, low: value, high: value, repeats: 3, resolution: 0.2 };
        let difference = Difference::between(&bucketed(5.0), &bucketed(5.2), Better::Lower).unwrap();
        assert_eq!(difference.verdict, Verdict::WithinNoise);
        let difference = Difference::between(&bucketed(5.0), &bucketed(5.6), Better::Lower).unwrap();
        assert_eq!(difference.verdict, Verdict::Worse);
    }

    #[test]
    fn there_are_no_shares_of_nothing() {
        let (zero, some) = (Measure::median_of(&[0.0, 0.0]).unwrap(), Measure::median_of(&[1.0, 1.0]).unwrap());
        assert_eq!(Difference::between(&zero, &some, Better::Higher), None);
    }
}
