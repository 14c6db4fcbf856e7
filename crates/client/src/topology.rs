//! What a cluster is made of, for people to look at: members of the placement driver, stores, regions with what was measured of them, and who waits
//! for whose locks. Nothing that reads or writes data looks here.
//!
//! In one process there is no placement driver to be asked: one store, which has everything in one region.

use base::KeyRange;
use bytes::Bytes;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::{
    client::Client,
    cluster::{PageError, PdPages, user_key},
    error::{Error, Result, WaitEdge},
    placement::PlacementDriver,
};

/// Regions asked for at a time.
const PAGE: usize = 1024;

/// A member of the placement driver.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MemberPage {
    /// Its name.
    pub name: String,
    /// Where clients reach it, as URLs.
    pub client_urls: Vec<String>,
    /// Its version.
    pub binary_version: String,
    /// The commit it was built from.
    pub git_hash: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Members {
    members: Vec<MemberPage>,
}

/// A label of a store.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct LabelPage {
    /// What it says something about.
    pub key: String,
    /// What it says.
    pub value: String,
}

/// A store as it is known everywhere.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoreMeta {
    /// Its id.
    pub id: u64,
    /// Where clients reach it.
    pub address: String,
    /// Where its status page is.
    pub status_address: String,
    /// Its version.
    pub version: String,
    /// The commit it was built from.
    pub git_hash: String,
    /// Where it stands.
    pub labels: Vec<LabelPage>,
    /// The state's number.
    pub state: i64,
    /// The state's name.
    pub state_name: String,
    /// Seconds since the epoch.
    pub start_timestamp: i64,
}

/// What a store reports.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StoreStatus {
    /// Size of its disk, with unit.
    pub capacity: String,
    /// What is left of it, with unit.
    pub available: String,
    /// Regions it leads.
    pub leader_count: u64,
    /// Mebibytes of them.
    pub leader_size: u64,
    /// Regions it has replicas of.
    pub region_count: u64,
    /// Mebibytes of them.
    pub region_size: u64,
    /// When it was heard of last: milliseconds since the epoch.
    #[serde(rename = "last_heartbeat_ts", deserialize_with = "moment")]
    pub last_heartbeat_ms: Option<i64>,
}

/// A store.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StorePage {
    /// What is known everywhere.
    pub store: StoreMeta,
    /// What it reports.
    pub status: StoreStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stores {
    stores: Vec<StorePage>,
}

/// A replica.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PeerPage {
    /// Its id.
    pub id: u64,
    /// The store it is on.
    pub store_id: u64,
    /// `Voter`, `Learner`, or what it is on the way to.
    pub role_name: String,
}

/// A replica that its leader does not hear from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DownPeerPage {
    /// The replica.
    pub peer: PeerPage,
    /// For how long.
    pub down_seconds: u64,
}

/// How often borders and members of a region have changed.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EpochPage {
    /// Changes of members.
    pub conf_ver: u64,
    /// Changes of borders.
    pub version: u64,
}

/// A region.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RegionPage {
    /// Its id.
    pub id: u64,
    /// First key, in hexadecimal, as stores order keys; empty for the beginning.
    pub start_key: String,
    /// First key behind it; empty for the end.
    pub end_key: String,
    /// See [`EpochPage`].
    pub epoch: EpochPage,
    /// Its replicas.
    pub peers: Vec<PeerPage>,
    /// The one that leads, as far as it is known.
    pub leader: Option<PeerPage>,
    /// Replicas that are not heard of.
    pub down_peers: Vec<DownPeerPage>,
    /// Replicas that lag behind.
    pub pending_peers: Vec<PeerPage>,
    /// Bytes written lately.
    pub written_bytes: u64,
    /// Bytes read lately.
    pub read_bytes: u64,
    /// Mebibytes.
    pub approximate_size: u64,
    /// Keys.
    pub approximate_keys: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Regions {
    regions: Vec<RegionPage>,
}

impl RegionPage {
    /// The range it holds, in keys as transactions know them.
    pub fn range(&self) -> Result<KeyRange> {
        let key = |hex: &str| user_key(&from_hex(hex)?);
        Ok(KeyRange { start: key(&self.start_key)?, end: key(&self.end_key)? })
    }
}

fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<i64>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    // A store that was never heard of has a moment before all of them.
    Ok(text.and_then(|text| text.parse::<jiff::Timestamp>().ok()).map(jiff::Timestamp::as_millisecond).filter(|ms| *ms > 0))
}

fn from_hex(hex: &str) -> Result<Vec<u8>> {
    let wrong = || Error::Corrupted { reason: format!("{hex:?} is no key in hexadecimal") };
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return Err(wrong());
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| wrong())).collect()
}

fn to_hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// A border of a region around a key, in hexadecimal; nothing for the ends of all keys.
fn border(key: &[u8]) -> String {
    let mut encoded = Vec::new();
    if !key.is_empty() {
        codec::bytes::encode_bytes(&mut encoded, key);
    }
    to_hex(&encoded)
}

async fn page<T: DeserializeOwned>(pages: &PdPages, path: &str) -> Result<T> {
    let page = pages.get(path).await.map_err(|error| match error {
        PageError::Refused { status, message } => Error::PdRefused { kind: i32::from(status), message },
        PageError::NoMember { .. } | PageError::Unanswered { .. } => Error::PdUnavailable { reason: error.to_string() },
    })?;
    serde_json::from_value(page).map_err(|error| Error::PdUnavailable { reason: format!("its page {path} is not understood: {error}") })
}

impl Client {
    fn pages(&self) -> Option<PdPages> {
        match self.pd() {
            PlacementDriver::Embedded(_) => None,
            PlacementDriver::Cluster(pd) => Some(PdPages::new(pd.addresses())),
        }
    }

    /// The members of the placement driver; none where it is part of the process.
    pub async fn member_pages(&self) -> Result<Vec<MemberPage>> {
        let Some(pages) = self.pages() else { return Ok(Vec::new()) };
        Ok(page::<Members>(&pages, "members").await?.members)
    }

    /// The stores that were not removed for good.
    pub async fn store_pages(&self) -> Result<Vec<StorePage>> {
        let Some(pages) = self.pages() else {
            let store = StoreMeta { id: 1, state_name: "Up".to_owned(), ..StoreMeta::default() };
            let status = StoreStatus { leader_count: 1, region_count: 1, ..StoreStatus::default() };
            return Ok(vec![StorePage { store, status }]);
        };
        Ok(page::<Stores>(&pages, "stores").await?.stores)
    }

    /// The regions that hold a range of keys.
    pub async fn region_pages(&self, range: &KeyRange) -> Result<Vec<RegionPage>> {
        let Some(pages) = self.pages() else {
            let peer = PeerPage { id: 1, store_id: 1, role_name: "Voter".to_owned() };
            return Ok(vec![RegionPage { id: 1, peers: vec![peer.clone()], leader: Some(peer), ..RegionPage::default() }]);
        };
        let mut found: Vec<RegionPage> = Vec::new();
        let (mut next, end) = (border(&range.start), border(&range.end));
        loop {
            let path = format!("regions/key?key={next}&end_key={end}&format=hex&limit={PAGE}");
            let regions = page::<Regions>(&pages, &path).await?.regions;
            let behind = regions.last().map(|region| region.end_key.to_ascii_uppercase()).unwrap_or_default();
            let is_last = regions.len() < PAGE || behind.is_empty() || !end.is_empty() && behind >= end;
            found.extend(regions);
            if is_last {
                return Ok(found);
            }
            next = behind;
        }
    }

    /// Splits regions at keys and spreads what comes of it; answers how many regions begin at one of the keys now, and which part of them was
    /// spread. In one process there is one region, and nothing is done.
    pub async fn split_regions(&self, keys: &[Bytes]) -> Result<(usize, f64)> {
        let PlacementDriver::Cluster(pd) = self.pd() else { return Ok((0, 1.0)) };
        let encoded = keys.iter().map(|key| {
            let mut border = Vec::new();
            codec::bytes::encode_bytes(&mut border, key);
            border.into()
        });
        pd.split_and_scatter(encoded.collect()).await
    }

    /// Who waits for whose locks, everywhere.
    pub async fn all_lock_waits(&self) -> Result<Vec<WaitEdge>> {
        self.store().all_lock_waits().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_stores_and_regions_are_read() {
        let store = r#"{"store": {"id": 4, "address": "kv:20160", "state_name": "Up", "labels": [{"key": "zone", "value": "z1"}]},
            "status": {"capacity": "1.5TiB", "leader_count": 3, "last_heartbeat_ts": "2026-01-02T03:04:05.678Z", "is_busy": false}}"#;
        let store: StorePage = serde_json::from_str(store).unwrap();
        assert_eq!((store.store.id, store.status.capacity.as_str(), store.status.leader_count), (4, "1.5TiB", 3));
        assert_eq!(store.status.last_heartbeat_ms, Some(1_767_323_045_678));
        let region = r#"{"id": 7, "start_key": "7480000000000000FF0500000000000000F8", "end_key": "", "leader": null, "pending_peers": [{"id": 9}]}"#;
        let region: RegionPage = serde_json::from_str(region).unwrap();
        let range = region.range().unwrap();
        assert_eq!((&range.start[..], &range.end[..]), (&b"t\x80\0\0\0\0\0\0\x05"[..], &b""[..]));
        assert_eq!((region.pending_peers[0].id, region.leader.is_none(), border(&range.start)), (9, true, region.start_key));
        assert!(RegionPage { start_key: "7".to_owned(), ..RegionPage::default() }.range().is_err());
    }
}
