//! The placement driver: part of this process, or somewhere else.

use std::time::Duration;

use base::{ClusterId, TimeStamp};

use crate::{cluster::PdClient, error::Result};

/// A placement driver that can be asked.
#[derive(Clone, Debug)]
pub enum PlacementDriver {
    /// In this process.
    Embedded(pd::EmbeddedPd),
    /// A cluster's.
    Cluster(PdClient),
}

impl PlacementDriver {
    /// The cluster's id.
    pub fn cluster_id(&self) -> ClusterId {
        match self {
            Self::Embedded(pd) => pd.cluster_id(),
            Self::Cluster(pd) => pd.cluster_id(),
        }
    }

    /// A timestamp greater than all handed out before.
    #[inline]
    pub async fn timestamp(&self) -> Result<TimeStamp> {
        match self {
            Self::Embedded(pd) => Ok(pd.timestamp().await?),
            Self::Cluster(pd) => Box::pin(pd.timestamp()).await,
        }
    }

    /// A timestamp, if one can be had without waiting.
    #[inline]
    pub fn try_timestamp(&self) -> Option<TimeStamp> {
        match self {
            Self::Embedded(pd) => pd.try_timestamp(),
            Self::Cluster(_) => None,
        }
    }

    /// An id that was never handed out before.
    pub async fn allocate_id(&self) -> Result<u64> {
        match self {
            Self::Embedded(pd) => Ok(pd.allocate_id().await?),
            Self::Cluster(pd) => pd.allocate_id().await,
        }
    }

    /// Moves the cluster's safe point, not past any service's; answers where it is then.
    pub async fn update_gc_safe_point(&self, safe_point: TimeStamp) -> Result<TimeStamp> {
        match self {
            Self::Embedded(pd) => Ok(pd.update_gc_safe_point(safe_point).await?),
            Self::Cluster(pd) => pd.update_gc_safe_point(safe_point).await,
        }
    }

    /// Keeps versions visible at `safe_point` and later from garbage collection for `ttl`, on behalf of a service.
    pub async fn set_service_safe_point(&self, service: &str, safe_point: TimeStamp, ttl: Duration) -> Result<()> {
        match self {
            Self::Embedded(pd) => Ok(pd.set_service_safe_point(service, safe_point, ttl).await?),
            Self::Cluster(pd) => pd.update_service_safe_point(service, safe_point, ttl).await.map(|_| ()),
        }
    }

    /// Forgets a service.
    pub async fn remove_service_safe_point(&self, service: &str) -> Result<()> {
        match self {
            Self::Embedded(pd) => Ok(pd.remove_service_safe_point(service).await?),
            Self::Cluster(pd) => pd.update_service_safe_point(service, TimeStamp::ZERO, Duration::ZERO).await.map(|_| ()),
        }
    }
}
