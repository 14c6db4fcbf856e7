//! Failed logins of one address are answered ever later, so that guessing passwords takes its time.
//!
//! ```text
//! failure   1 … 5   6        7        8        …   from then on
//! answer    at once 100 ms   200 ms   400 ms   …   2 s           until a login succeeds, or a minute passes without a failure
//! ```
//!
//! Memory is bounded: addresses that have not failed for a minute are forgotten when there are too many, and all of them if that does not help.

use std::{
    collections::HashMap,
    net::IpAddr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// Failures in a row that are answered at once.
const FREE: u32 = 5;
const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(2);
/// Failures are forgotten after this time without another one.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Addresses remembered.
const ADDRESSES: usize = 4096;

/// Failed logins by address.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<HashMap<IpAddr, (u32, Instant)>>);

impl Throttle {
    /// A login failed; how long its answer is to wait.
    pub fn failed(&self, peer: IpAddr, now: Instant) -> Duration {
        let mut addresses = self.0.lock();
        if addresses.len() >= ADDRESSES && !addresses.contains_key(&peer) {
            addresses.retain(|_, (_, last)| now.duration_since(*last) < FORGET_AFTER);
            if addresses.len() >= ADDRESSES {
                addresses.clear();
            }
        }
        let (failures, last) = addresses.entry(peer).or_insert((0, now));
        if now.duration_since(*last) >= FORGET_AFTER {
            *failures = 0;
        }
        *failures = failures.saturating_add(1);
        *last = now;
        match failures.checked_sub(FREE + 1) {
            None => Duration::ZERO,
            Some(beyond) => FIRST_DELAY.saturating_mul(1 << beyond.min(10)).min(LONGEST_DELAY),
        }
    }

    /// A login succeeded.
    pub fn succeeded(&self, peer: IpAddr) {
        self.0.lock().remove(&peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    #[test]
    fn answers_come_later_with_every_failure_until_one_succeeds_or_time_passes() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        let delays: Vec<u64> = (0..12).map(|_| throttle.failed(address(1), now).as_millis() as u64).collect();
        assert_eq!(delays, [0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(throttle.failed(address(2), now), Duration::ZERO, "another address");
        assert_eq!(throttle.failed(address(1), now + FORGET_AFTER), Duration::ZERO, "a minute later");
        for _ in 0..9 {
            throttle.failed(address(1), now + FORGET_AFTER);
        }
        throttle.succeeded(address(1));
        assert_eq!(throttle.failed(address(1), now + FORGET_AFTER), Duration::ZERO);
    }

    #[test]
    fn no_number_of_addresses_fills_the_memory() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..3 * ADDRESSES as u32 {
            throttle.failed(address(number), now);
        }
        assert!(throttle.0.lock().len() <= ADDRESSES);
    }
}
