//! How far garbage may be collected: the cluster's safe point, and what services want kept.
//!
//! A service (a backup, a change feed) registers the oldest timestamp it still reads at, for a limited time. Invariants: the cluster's
//! safe point never goes backwards and never passes a service's; a service cannot ask for what is collected already.

use std::collections::BTreeMap;

use base::TimeStamp;

use crate::{Error, Result};

/// Safe point and registered services; what changes is persisted by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SafePoints {
    pub(crate) gc: TimeStamp,
    services: BTreeMap<String, Service>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Service {
    safe_point: TimeStamp,
    /// Wall clock in milliseconds after which the service is forgotten.
    expires_ms: u64,
}

impl SafePoints {
    /// The least safe point of the services that have not expired.
    pub(crate) fn min_service(&self, wall_ms: u64) -> Option<TimeStamp> {
        self.services.values().filter(|service| service.expires_ms > wall_ms).map(|service| service.safe_point).min()
    }

    /// Registers a service, or renews it.
    pub(crate) fn set_service(&mut self, name: &str, safe_point: TimeStamp, expires_ms: u64) -> Result<()> {
        if safe_point < self.gc {
            return Err(Error::ServiceTooLate { service: name.to_owned(), wanted: safe_point, safe_point: self.gc });
        }
        self.services.insert(name.to_owned(), Service { safe_point, expires_ms });
        Ok(())
    }

    /// Registers or renews a service unless what it wants kept may be collected already: below the safe point, or below what all
    /// other services want, which the collector may have begun with. Answers whether it was done.
    pub(crate) fn register(&mut self, name: &str, safe_point: TimeStamp, expires_ms: u64, wall_ms: u64) -> bool {
        self.services.retain(|_, service| service.expires_ms > wall_ms);
        let in_time = safe_point >= self.gc && self.min_service(wall_ms).is_none_or(|min| safe_point >= min);
        if in_time {
            self.services.insert(name.to_owned(), Service { safe_point, expires_ms });
        }
        in_time
    }

    /// The service that holds the safe point back most: name, safe point, and when it expires.
    pub(crate) fn holder(&self, wall_ms: u64) -> Option<(&str, TimeStamp, u64)> {
        let living = self.services.iter().filter(|(_, service)| service.expires_ms > wall_ms);
        living.min_by_key(|(_, service)| service.safe_point).map(|(name, service)| (name.as_str(), service.safe_point, service.expires_ms))
    }

    /// All services that have not expired: name, safe point, and when it expires.
    pub(crate) fn services(&self, wall_ms: u64) -> impl Iterator<Item = (&str, TimeStamp, u64)> {
        let living = self.services.iter().filter(move |(_, service)| service.expires_ms > wall_ms);
        living.map(|(name, service)| (name.as_str(), service.safe_point, service.expires_ms))
    }

    pub(crate) fn remove_service(&mut self, name: &str) {
        self.services.remove(name);
    }

    /// Moves the cluster's safe point; answers where it is then.
    pub(crate) fn update_gc(&mut self, safe_point: TimeStamp, wall_ms: u64) -> TimeStamp {
        self.services.retain(|_, service| service.expires_ms > wall_ms);
        let bound = self.min_service(wall_ms).unwrap_or(TimeStamp::MAX);
        self.gc = self.gc.max(safe_point.min(bound));
        self.gc
    }

    /// `gc | (safe point | expiry | name length | name)*`, integers big-endian.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.gc.0.to_be_bytes().to_vec();
        for (name, service) in &self.services {
            out.extend_from_slice(&service.safe_point.0.to_be_bytes());
            out.extend_from_slice(&service.expires_ms.to_be_bytes());
            out.extend_from_slice(&(name.len() as u64).to_be_bytes());
            out.extend_from_slice(name.as_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let number = |rest: &mut &[u8]| {
            let (head, tail) = rest.split_first_chunk::<8>()?;
            *rest = tail;
            Some(u64::from_be_bytes(*head))
        };
        let mut safe_points = Self { gc: TimeStamp(number(&mut rest)?), services: BTreeMap::new() };
        while !rest.is_empty() {
            let safe_point = TimeStamp(number(&mut rest)?);
            let expires_ms = number(&mut rest)?;
            let len = usize::try_from(number(&mut rest)?).ok()?;
            let (name, tail) = rest.split_at_checked(len)?;
            rest = tail;
            safe_points.services.insert(String::from_utf8(name.to_vec()).ok()?, Service { safe_point, expires_ms });
        }
        Some(safe_points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_asks_for_less_than_the_others_comes_too_late() {
        let mut points = SafePoints::default();
        assert!(points.register("collector", TimeStamp(50), 1000, 10));
        assert!(!points.register("backup", TimeStamp(40), 1000, 10));
        assert!(points.register("backup", TimeStamp(60), 1000, 10) && points.register("collector", TimeStamp(70), 1000, 10));
        assert_eq!(points.holder(10), Some(("backup", TimeStamp(60), 1000)));
        assert_eq!(points.services(10).count(), 2);
        assert_eq!((points.holder(1000), points.services(1000).count()), (None, 0));
    }

    #[test]
    fn a_service_holds_the_safe_point_back_until_it_expires() {
        let mut points = SafePoints::default();
        points.set_service("backup", TimeStamp(50), 1000).unwrap();
        assert_eq!(points.update_gc(TimeStamp(80), 900), TimeStamp(50));
        assert_eq!(points.update_gc(TimeStamp(40), 900), TimeStamp(50));
        assert_eq!(SafePoints::decode(&points.encode()), Some(points.clone()));
        assert_eq!(points.update_gc(TimeStamp(80), 1001), TimeStamp(80));
        assert!(points.set_service("late", TimeStamp(79), 2000).is_err());
        assert_eq!(SafePoints::decode(b"short"), None);
    }
}
