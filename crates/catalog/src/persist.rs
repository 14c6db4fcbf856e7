//! How values are written in the catalog's JSON: tagged, readable, independent of their form in memory.
//!
//! Types, character sets and collations bring their own serde form. Each module here serves a `#[serde(with = "…")]` attribute.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Values, self-describing.
pub mod datum {
    use types::{Datum, Decimal, Duration, Time, TimeKind};

    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Stored {
        Null,
        Int(i64),
        UInt(u64),
        Float(f32),
        Double(f64),
        Decimal(String),
        Text(String),
        Hex(String),
        Time {
            kind: Kind,
            packed: u64,
            fsp: u8,
        },
        Duration {
            nanos: i64,
            fsp: u8,
        },
        /// JSON as its text.
        Json(String),
    }

    #[derive(Clone, Copy, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Date,
        DateTime,
        Timestamp,
    }

    impl Kind {
        fn of(kind: TimeKind) -> Self {
            match kind {
                TimeKind::Date => Self::Date,
                TimeKind::DateTime => Self::DateTime,
                TimeKind::Timestamp => Self::Timestamp,
            }
        }
    }

    impl From<Kind> for TimeKind {
        fn from(kind: Kind) -> Self {
            match kind {
                Kind::Date => Self::Date,
                Kind::DateTime => Self::DateTime,
                Kind::Timestamp => Self::Timestamp,
            }
        }
    }

    /// Writes a value.
    pub fn serialize<S: Serializer>(value: &Datum, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = match value {
            Datum::Null => Stored::Null,
            Datum::Int(v) => Stored::Int(*v),
            Datum::UInt(v) => Stored::UInt(*v),
            Datum::Float(v) => Stored::Float(*v),
            Datum::Double(v) => Stored::Double(*v),
            Datum::Decimal(v) => Stored::Decimal(v.to_string()),
            Datum::Bytes(v) => match std::str::from_utf8(v) {
                Ok(text) => Stored::Text(text.to_owned()),
                Err(_) => Stored::Hex(v.iter().map(|byte| format!("{byte:02x}")).collect()),
            },
            Datum::Time(v) => Stored::Time { kind: Kind::of(v.kind()), packed: v.packed(), fsp: v.fsp() },
            Datum::Duration(v) => Stored::Duration { nanos: v.nanos(), fsp: v.fsp() },
            Datum::Json(v) => Stored::Json(String::from_utf8_lossy(&types::JsonRef::new(v).to_text()).into_owned()),
        };
        stored.serialize(serializer)
    }

    /// Reads a value.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Datum, D::Error> {
        let damaged = |what: &str| de::Error::custom(format!("damaged {what} value"));
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Null => Datum::Null,
            Stored::Int(v) => Datum::Int(v),
            Stored::UInt(v) => Datum::UInt(v),
            Stored::Float(v) => Datum::Float(v),
            Stored::Double(v) => Datum::Double(v),
            Stored::Decimal(text) => Datum::Decimal(text.parse::<Decimal>().map_err(|_| damaged("decimal"))?),
            Stored::Text(text) => Datum::Bytes(text.into_bytes()),
            Stored::Hex(hex) => Datum::Bytes(unhex(&hex).ok_or_else(|| damaged("binary"))?),
            Stored::Time { kind, packed, fsp } => Datum::Time(Time::from_packed(packed, kind.into(), fsp).ok_or_else(|| damaged("time"))?),
            Stored::Duration { nanos, fsp } => Datum::Duration(Duration::from_nanos(nanos, fsp)),
            Stored::Json(text) => {
                let json = types::json::parse(text.as_bytes()).and_then(|json| json.to_binary());
                Datum::Json(json.map_err(|_| damaged("JSON"))?)
            }
        })
    }

    fn unhex(hex: &str) -> Option<Vec<u8>> {
        let digits = hex.as_bytes();
        if !digits.len().is_multiple_of(2) {
            return None;
        }
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
    }
}
