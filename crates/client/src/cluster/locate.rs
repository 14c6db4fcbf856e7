//! From keys to regions: the cache first, then the placement driver.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use proto::metapb;

use super::{ClusterStore, patience::Patience, region_cache::Region};
use crate::error::Result;

/// A region's key in the form of borders.
fn border(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len() + 16);
    if !key.is_empty() {
        codec::bytes::encode_bytes(&mut out, key);
    }
    out
}

type Found = Option<(metapb::Region, Option<metapb::Peer>)>;

impl ClusterStore {
    /// The region that holds `key`.
    pub(super) async fn region_of(&self, key: &[u8], patience: &mut Patience) -> Result<Arc<Region>> {
        loop {
            if let Some(region) = self.inner.regions.read().find(key) {
                return Ok(region);
            }
            let found = self.inner.pd.region(&border(key)).await?;
            if let Some(region) = self.take_in(found, |region| region.range.contains(key))? {
                return Ok(region);
            }
            patience.pause(Duration::ZERO, "the placement driver knows no region for a key").await?;
        }
    }

    /// The region that holds the keys directly below `end`; empty for the last one.
    pub(super) async fn region_below(&self, end: &[u8], patience: &mut Patience) -> Result<Arc<Region>> {
        // Keys of users are shorter and smaller than this.
        let last = [0xff; 32];
        let at = border(if end.is_empty() { &last } else { end });
        loop {
            if let Some(region) = self.inner.regions.read().find_end(end) {
                return Ok(region);
            }
            let fits = |region: &Region| region.contains_end(end);
            let found = self.inner.pd.region(&at).await?;
            if let Some(region) = self.take_in(found, fits)? {
                return Ok(region);
            }
            // `end` is a border itself.
            let found = self.inner.pd.previous_region(&at).await?;
            if let Some(region) = self.take_in(found, fits)? {
                return Ok(region);
            }
            patience.pause(Duration::ZERO, "the placement driver knows no region below a key").await?;
        }
    }

    /// Takes what the placement driver has found into the cache and answers what is known then, if it is what was looked for.
    fn take_in(&self, found: Found, fits: impl Fn(&Region) -> bool) -> Result<Option<Arc<Region>>> {
        let Some((region, leader)) = found else { return Ok(None) };
        let region = Region::new(region, leader)?;
        if !fits(&region) {
            return Ok(None);
        }
        let mut regions = self.inner.regions.write();
        let is_new = regions.insert(region.clone());
        // Something newer is known of a part of it; the region as found is good for the rest, or will be refused.
        Ok(Some(if is_new { regions.find(&region.range.start) } else { None }.unwrap_or_else(|| Arc::new(region))))
    }

    /// Groups `items` by the regions that hold their keys; the order within a group is kept.
    pub(super) async fn group(
        &self,
        items: &[usize],
        key: impl Fn(usize) -> Bytes,
        patience: &mut Patience,
    ) -> Result<Vec<(Arc<Region>, Vec<usize>)>> {
        let mut groups: Vec<(Arc<Region>, Vec<usize>)> = Vec::new();
        for &item in items {
            let key = key(item);
            match groups.iter_mut().find(|(region, _)| region.range.contains(&key)) {
                Some((_, group)) => group.push(item),
                None => groups.push((self.region_of(&key, patience).await?, vec![item])),
            }
        }
        Ok(groups)
    }
}
