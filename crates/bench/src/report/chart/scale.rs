//! From figures to places on an axis.

/// A range of figures, laid out linearly or by their logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    logarithmic: bool,
}

/// Beyond this ratio of the largest to the smallest figure, the smallest would lie on a linear axis.
const LINEAR_UP_TO_RATIO: f64 = 20.0;

impl Scale {
    /// From zero to a round figure above all values.
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        let highest = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let to = if highest > 0.0 { highest } else { 1.0 };
        let step = step(to, 4);
        Self { from: 0.0, to: (to / step * 0.999_999).ceil() * step, logarithmic: false }
    }

    /// Exactly from the lowest to the highest value; a single value lies in the middle.
    pub fn exact(values: &[f64], logarithmic: bool) -> Self {
        let (from, to) = extremes(values.iter().copied()).unwrap_or((1.0, 1.0));
        if from < to {
            Self { from, to, logarithmic }
        } else if logarithmic {
            Self { from: from / 2.0, to: to * 2.0, logarithmic }
        } else {
            Self { from: from - 1.0, to: to + 1.0, logarithmic }
        }
    }

    /// From zero if all values can be told apart so, otherwise logarithmic between round figures.
    pub fn sensible(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite() && *value > 0.0).collect();
        match extremes(values.iter().copied()) {
            Some((low, high)) if high / low > LINEAR_UP_TO_RATIO => {
                let round = |value: f64, up: bool| {
                    let decade = 10f64.powf(value.log10().floor());
                    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
                    let near = |step: &&f64| if up { **step >= value * 0.999_999 } else { **step <= value * 1.000_001 };
                    if up { steps.iter().find(near) } else { steps.iter().rev().find(near) }.copied().unwrap_or(value)
                };
                Self { from: round(low, false), to: round(high, true), logarithmic: true }
            }
            _ => Self::from_zero(values),
        }
    }

    /// Whether equal distances are equal ratios.
    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// Where a figure lies: 0 at the beginning of the axis, 1 at its end.
    pub fn place(&self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(self.from) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        place.clamp(0.0, 1.0)
    }

    /// Round figures along the axis, at most ten of them.
    pub fn ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            let step = step(self.to - self.from, 4);
            let first = (self.from / step - 1e-9).ceil() as i64;
            return (first..).map(|n| n as f64 * step).take_while(|tick| *tick <= self.to + step * 1e-9).collect();
        }
        let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let within = |steps: &[f64]| -> Vec<f64> {
            let all = decades.clone().flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
            all.filter(|tick| *tick >= self.from * 0.999 && *tick <= self.to * 1.001).collect()
        };
        let fine = within(&[1.0, 2.0, 5.0]);
        if fine.len() <= 10 { fine } else { within(&[1.0]) }
    }
}

fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| Some(range.map_or((value, value), |(low, high): (f64, f64)| (low.min(value), high.max(value)))))
}

/// 1, 2, 2.5 or 5 times a power of ten, so that about that many steps make the length.
fn step(length: f64, about: usize) -> f64 {
    let rough = length / about as f64;
    let decade = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * decade).into_iter().find(|step| *step >= rough * 0.999_999).unwrap_or(rough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axis_begins_at_zero_and_ends_at_a_round_figure() {
        let scale = Scale::sensible([13_055.0, 41_000.0]);
        assert!(!scale.is_logarithmic());
        assert_eq!(scale.ticks(), [0.0, 20_000.0, 40_000.0, 60_000.0]);
        assert_eq!((scale.place(0.0), scale.place(30_000.0), scale.place(60_000.0)), (0.0, 0.5, 1.0));
    }

    #[test]
    fn figures_far_apart_get_a_logarithmic_axis() {
        let scale = Scale::sensible([0.3, 125.0, 0.0]);
        assert!(scale.is_logarithmic());
        assert_eq!(scale.ticks().first(), Some(&0.2));
        assert!((scale.ticks().last().unwrap() - 200.0).abs() < 1e-6);
        assert!((scale.place(2.0) - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(scale.place(0.0), 0.0);
    }

    #[test]
    fn axis_of_many_decades_shows_decades_only() {
        assert_eq!(Scale::sensible([0.1, 9_000.0]).ticks().len(), 6);
    }

    #[test]
    fn nothing_and_single_values_have_an_axis_too() {
        assert_eq!(Scale::from_zero([]).ticks(), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(Scale::exact(&[8.0], true).place(8.0), 0.5);
        assert_eq!(Scale::exact(&[8.0], false).place(8.0), 0.5);
    }
}
