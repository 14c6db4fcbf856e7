//! Where the placement driver's state lies in the `meta` column family of an embedded store.
//!
//! | key | value |
//! |---|---|
//! | `pd/cluster-id` | u64, big-endian |
//! | `pd/timestamp-limit` | u64: no timestamp at or above it was handed out |
//! | `pd/id-limit` | u64: no id at or above it was handed out |
//! | `pd/safe-points` | see `safe_points` |

use engine::{Cf, Engine, ReadTier, WriteBatch};

use crate::{Error, Result};

pub(crate) const CLUSTER_ID: &str = "pd/cluster-id";
pub(crate) const TIMESTAMP_LIMIT: &str = "pd/timestamp-limit";
pub(crate) const ID_LIMIT: &str = "pd/id-limit";
pub(crate) const SAFE_POINTS: &str = "pd/safe-points";

/// Durable storage of a few small values. Both calls may wait for the disk.
pub(crate) trait MetaStore: Send + Sync {
    fn get(&self, key: &'static str) -> Result<Option<Vec<u8>>>;

    /// Returns once the value is on disk.
    fn put(&self, key: &'static str, value: &[u8]) -> Result<()>;
}

impl dyn MetaStore + '_ {
    pub(crate) fn get_u64(&self, key: &'static str) -> Result<Option<u64>> {
        let Some(value) = self.get(key)? else { return Ok(None) };
        match <[u8; 8]>::try_from(&value[..]) {
            Ok(bytes) => Ok(Some(u64::from_be_bytes(bytes))),
            Err(_) => Err(Error::Corrupted { key, len: value.len() }),
        }
    }

    pub(crate) fn put_u64(&self, key: &'static str, value: u64) -> Result<()> {
        self.put(key, &value.to_be_bytes())
    }
}

/// The `meta` column family of an engine.
pub(crate) struct EngineMeta<E>(pub(crate) E);

impl<E: Engine> MetaStore for EngineMeta<E> {
    fn get(&self, key: &'static str) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(Cf::Meta, key.as_bytes(), ReadTier::Any)?.map(|value| value.to_vec()))
    }

    fn put(&self, key: &'static str, value: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.put(Cf::Meta, key.as_bytes(), value);
        Ok(self.0.write(batch, true)?)
    }
}
