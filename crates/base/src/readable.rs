//! Sizes and durations as people write them in configuration files: `"96MB"`, `"1.5GiB"`, `"10s"`, `"1h30m"`.
//!
//! Units of size are binary, as in the reference system: `1KB` = `1KiB` = 1024 bytes.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A size or duration that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{input:?} is not a {kind}; write it like {example}")]
pub struct ParseReadableError {
    input: String,
    kind: &'static str,
    example: &'static str,
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadableSize(pub u64);

/// A span of time; milliseconds are the finest unit that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadableDuration(pub Duration);

const SIZE_UNITS: [(&str, u64); 6] = [("PB", 1 << 50), ("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10), ("B", 1)];
const DURATION_UNITS_MS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl ReadableSize {
    /// `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }
}

impl FromStr for ReadableSize {
    type Err = ParseReadableError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let error = || ParseReadableError { input: s.to_owned(), kind: "size", example: "\"96MB\" or \"1.5GiB\"" };
        let text = s.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| error())?;
        let unit = text[digits..].trim().to_ascii_uppercase().replace("IB", "B");
        let factor = match unit.as_str() {
            "" => 1,
            letter if letter.len() == 1 && letter != "B" => {
                SIZE_UNITS.iter().find(|(name, _)| name.starts_with(letter)).ok_or_else(error)?.1
            }
            name => SIZE_UNITS.iter().find(|(unit, _)| *unit == name).ok_or_else(error)?.1,
        };
        let bytes = number * factor as f64;
        if bytes.is_finite() && bytes < u64::MAX as f64 { Ok(Self(bytes as u64)) } else { Err(error()) }
    }
}

impl fmt::Display for ReadableSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = SIZE_UNITS.iter().find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor)).unwrap_or(&("B", 1));
        write!(f, "{}{unit}", self.0 / factor)
    }
}

impl FromStr for ReadableDuration {
    type Err = ParseReadableError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let error = || ParseReadableError { input: s.to_owned(), kind: "duration", example: "\"10s\", \"500ms\" or \"1h30m\"" };
        let mut rest = s.trim();
        let mut total_ms = 0f64;
        if rest.is_empty() {
            return Err(error());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(error)?;
            let number: f64 = rest[..digits].parse().map_err(|_| error())?;
            rest = &rest[digits..];
            let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let unit = rest[..letters].trim();
            let factor = DURATION_UNITS_MS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1;
            total_ms += number * factor as f64;
            rest = &rest[letters..];
        }
        if total_ms.is_finite() && total_ms < 1e15 { Ok(Self(Duration::from_micros((total_ms * 1000.0) as u64))) } else { Err(error()) }
    }
}

impl fmt::Display for ReadableDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ms = self.0.as_millis() as u64;
        if ms == 0 {
            return f.write_str("0s");
        }
        for (unit, factor) in DURATION_UNITS_MS {
            if ms >= factor {
                write!(f, "{}{unit}", ms / factor)?;
                ms %= factor;
            }
        }
        Ok(())
    }
}

/// Implements serde for a type through its text form; sizes also accept plain numbers.
macro_rules! serde_by_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a text such as \"96MB\" or \"10s\"")
                    }

                    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<$name, E> {
                        s.parse().map_err(E::custom)
                    }

                    fn visit_u64<E: serde::de::Error>(self, n: u64) -> Result<$name, E> {
                        n.to_string().parse().map_err(E::custom)
                    }

                    fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<$name, E> {
                        n.to_string().parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

serde_by_text!(ReadableSize);
serde_by_text!(ReadableDuration);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_binary_units() {
        for (text, bytes) in [("14GB", 14 << 30), ("1.5GiB", 3 << 29), ("64K", 64 << 10), ("0", 0), ("7", 7), ("96 MiB", 96 << 20)] {
            assert_eq!(text.parse::<ReadableSize>(), Ok(ReadableSize(bytes)), "{text}");
        }
        for bad in ["", "GB", "1XB", "1e999GB", "-1"] {
            assert!(bad.parse::<ReadableSize>().is_err(), "{bad}");
        }
        assert_eq!(ReadableSize::gib(14).to_string(), "14GB");
    }

    #[test]
    fn durations_are_read_and_written_with_mixed_units() {
        let duration: ReadableDuration = "1h30m".parse().expect("valid");
        assert_eq!(duration.0, Duration::from_secs(5400));
        assert_eq!(duration.to_string(), "1h30m");
        for bad in ["", "10", "s", "1y"] {
            assert!(bad.parse::<ReadableDuration>().is_err(), "{bad}");
        }
    }
}
