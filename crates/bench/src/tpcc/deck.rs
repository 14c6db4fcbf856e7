//! Which transaction comes next, and how long a terminal's user takes for it (clause 5.2).

use std::time::Duration;

use super::{random::Random, transaction::Kind};

/// How often each kind is in a deck (clause 5.2.4.2).
const SHARES: [(Kind, usize); 5] =
    [(Kind::NewOrder, 10), (Kind::Payment, 10), (Kind::OrderStatus, 1), (Kind::Delivery, 1), (Kind::StockLevel, 1)];

/// Cards that are dealt to the last one, then shuffled again.
#[derive(Debug, Default)]
pub(super) struct Deck {
    left: Vec<Kind>,
}

impl Deck {
    pub(super) fn next(&mut self, random: &mut Random) -> Kind {
        loop {
            if let Some(kind) = self.left.pop() {
                return kind;
            }
            self.left.extend(SHARES.iter().flat_map(|(kind, share)| std::iter::repeat_n(*kind, *share)));
            random.shuffle(&mut self.left);
        }
    }
}

/// Time of typing the input, which comes before the transaction (clause 5.2.5.7).
pub(super) fn keying_time(kind: Kind) -> Duration {
    Duration::from_secs(match kind {
        Kind::NewOrder => 18,
        Kind::Payment => 3,
        Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 2,
    })
}

/// Time of reading the answer: exponentially distributed, cut at ten times its mean (clause 5.2.5.4).
pub(super) fn think_time(kind: Kind, random: &mut Random) -> Duration {
    let mean_seconds = match kind {
        Kind::NewOrder | Kind::Payment => 12.0,
        Kind::OrderStatus => 10.0,
        Kind::Delivery | Kind::StockLevel => 5.0,
    };
    Duration::from_secs_f64(mean_seconds * (-random.fraction().ln()).min(10.0))
}

#[cfg(test)]
mod tests {
    use super::{super::random::Stream, *};

    #[test]
    fn every_deck_has_the_specified_mix_in_another_order() {
        let (mut random, mut deck) = (Random::new(1, Stream::Terminal(0)), Deck::default());
        let decks: Vec<Vec<_>> = (0..20).map(|_| (0..23).map(|_| deck.next(&mut random)).collect()).collect();
        for cards in &decks {
            for (kind, share) in SHARES {
                assert_eq!(cards.iter().filter(|card| **card == kind).count(), share, "{kind:?}");
            }
        }
        assert!(decks[1..].iter().any(|cards| *cards != decks[0]), "the deck is never shuffled");
    }

    #[test]
    fn think_times_have_their_mean_and_their_end() {
        let mut random = Random::new(1, Stream::Terminal(0));
        let times: Vec<_> = (0..50_000).map(|_| think_time(Kind::Payment, &mut random).as_secs_f64()).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((11.7..12.3).contains(&mean), "{mean}");
        assert!(times.iter().all(|time| (0.0..=120.0).contains(time)));
    }
}
