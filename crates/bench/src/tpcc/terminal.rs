//! A terminal: transaction after transaction over one connection, until the time is over.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use super::{
    Options,
    cardinality::DISTRICTS,
    deck::{Deck, keying_time, think_time},
    error::{Error, Result},
    meter::Sample,
    random::{Constants, Random, Stream},
    session::Session,
    transaction::{Place, Transaction},
};

/// How long a terminal tries to get its connection back.
const RECONNECT_LIMIT: Duration = Duration::from_secs(60);
const RECONNECT_PAUSE: Duration = Duration::from_millis(200);

/// Which terminal of how many.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    /// From 0.
    pub(super) number: u32,
    pub(super) terminals: u32,
    /// Whether its user takes time for keying and thinking.
    pub(super) paced: bool,
}

/// When a run began and when no transaction begins any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) began: Instant,
    pub(super) until: Instant,
}

pub(super) struct Terminal {
    options: Options,
    seat: Seat,
    /// Those of the run, the same for all terminals.
    constants: Constants,
    session: Session,
    random: Random,
    deck: Deck,
}

impl Terminal {
    pub(super) async fn connect(options: &Options, seat: Seat) -> Result<Self> {
        let session = connect(options, seat).await?;
        let random = Random::new(options.seed, Stream::Terminal(seat.number.into()));
        let constants = Constants::of_run(options.seed);
        Ok(Self { options: options.clone(), seat, constants, session, random, deck: Deck::default() })
    }

    /// Works until the span is over.
    pub(super) async fn work(mut self, span: Span, samples: UnboundedSender<Sample>) -> Result<()> {
        while Instant::now() < span.until {
            let kind = self.deck.next(&mut self.random);
            let place = self.place();
            let transaction = Transaction::draw(kind, &mut self.random, &place);
            if self.seat.paced && !pause(keying_time(kind), span.until).await {
                break;
            }
            let began = Instant::now();
            let statements_before = loop {
                let statements = self.session.statements();
                let Err(error) = transaction.execute(&mut self.session).await else { break statements };
                let message = error.to_string();
                let reconnected = self.recover(error, span).await?;
                let sent = if reconnected { 0 } else { self.session.statements() - statements };
                let _ = samples.send(Sample::Failed { kind, ended: span.began.elapsed(), statements: sent, message });
                if reconnected {
                    let _ = samples.send(Sample::Reconnected { ended: span.began.elapsed() });
                }
                if Instant::now() >= span.until {
                    self.session.close().await;
                    return Ok(());
                }
            };
            let statements = self.session.statements() - statements_before;
            // Nobody listens any more only when the run has failed elsewhere.
            let _ = samples.send(Sample::Done { kind, ended: span.began.elapsed(), latency: began.elapsed(), statements });
            if self.seat.paced && !pause(think_time(kind, &mut self.random), span.until).await {
                break;
            }
        }
        self.session.close().await;
        Ok(())
    }

    /// The terminal's warehouse and district; one of its warehouses when it has several.
    fn place(&mut self) -> Place {
        let warehouse = home_warehouse(self.seat, self.options.warehouses, &mut self.random);
        Place {
            warehouse,
            district: self.seat.number / self.options.warehouses % DISTRICTS + 1,
            warehouses: self.options.warehouses,
            cardinality: self.options.cardinality,
            constants: self.constants,
        }
    }

    /// Makes the terminal ready for another attempt, or hands the error back; answers whether the connection is a new one.
    async fn recover(&mut self, error: Error, span: Span) -> Result<bool> {
        if error.may_be_repeated() {
            match self.session.run("ROLLBACK").await {
                Ok(()) => return Ok(false),
                Err(error) if error.lost_connection() => {}
                Err(error) => return Err(error),
            }
        } else if !error.lost_connection() {
            return Err(error);
        }
        let patience = Instant::now() + RECONNECT_LIMIT;
        loop {
            match connect(&self.options, self.seat).await {
                Ok(session) => {
                    self.session = session;
                    return Ok(true);
                }
                Err(error) if Instant::now() >= patience.min(span.until) => return Err(error),
                Err(_) => tokio::time::sleep(RECONNECT_PAUSE).await,
            }
        }
    }
}

async fn connect(options: &Options, seat: Seat) -> Result<Session> {
    Session::connect(options, options.endpoint(seat.number as usize), Some(&options.database)).await
}

/// With fewer terminals than warehouses, terminal `t` has the warehouses `t + 1`, `t + 1 + terminals`, …
fn home_warehouse(seat: Seat, warehouses: u32, random: &mut Random) -> u32 {
    let first = seat.number % warehouses;
    let own = (warehouses - first).div_ceil(seat.terminals.max(1));
    first + seat.terminals * (random.between(1, own.into()) as u32 - 1) + 1
}

/// Sleeps; answers false when the time is over before.
async fn pause(length: Duration, until: Instant) -> bool {
    let end = Instant::now() + length;
    tokio::time::sleep_until(end.min(until).into()).await;
    end < until
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_share_all_warehouses_between_them() {
        let mut random = Random::new(1, Stream::Terminal(0));
        for (terminals, warehouses) in [(1, 1), (4, 1), (3, 10), (10, 3), (7, 7)] {
            let mut owners = std::collections::BTreeMap::<_, std::collections::BTreeSet<_>>::new();
            for number in 0..terminals {
                for _ in 0..200 {
                    let warehouse = home_warehouse(Seat { number, terminals, paced: false }, warehouses, &mut random);
                    owners.entry(warehouse).or_default().insert(number);
                }
            }
            assert_eq!(owners.keys().copied().collect::<Vec<_>>(), (1..=warehouses).collect::<Vec<_>>(), "{terminals} of {warehouses}");
            assert!(terminals > warehouses || owners.values().all(|owners| owners.len() == 1), "{owners:?}");
        }
    }
}
