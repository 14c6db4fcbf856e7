//! What operators can set about placement, under the names they know. Replicated as a whole; changed while running.

use base::ReadableDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The replicated configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct PlacementConfig {
    /// How replicas are placed.
    pub replication: ReplicationConfig,
    /// How much may move at a time.
    pub schedule: ScheduleConfig,
    /// Schedulers that are switched off or take arguments.
    pub schedulers: SchedulersConfig,
}

/// `[replication]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ReplicationConfig {
    /// Replicas of each region.
    pub max_replicas: u64,
    /// Labels of stores that say where they stand, widest first.
    #[serde(serialize_with = "join_labels", deserialize_with = "split_labels")]
    pub location_labels: Vec<String>,
    /// Whether a store must have all location labels to be let in.
    pub strictly_match_label: bool,
}

/// `[schedule]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ScheduleConfig {
    /// A store sending, receiving or applying more snapshots than this is given no more replicas.
    pub max_snapshot_count: u64,
    /// A store with more lagging replicas than this is given no more.
    pub max_pending_peer_count: u64,
    /// Silence after which a store's replicas are made anew elsewhere.
    pub max_store_down_time: ReadableDuration,
    /// Moves of leaders at a time.
    pub leader_schedule_limit: u64,
    /// Moves of replicas for balance at a time.
    pub region_schedule_limit: u64,
    /// Repairs of replicas at a time.
    pub replica_schedule_limit: u64,
    /// Moves for the sake of load at a time.
    pub hot_region_schedule_limit: u64,
    /// Operators of merges at a time; a merge takes two.
    pub merge_schedule_limit: u64,
    /// Mebibytes up to which a region is merged into a neighbour; 0 for no merges.
    pub max_merge_region_size: u64,
    /// Keys up to which a region is merged; 0 for ten thousand a mebibyte.
    pub max_merge_region_keys: u64,
    /// How long a region that came from a split is not merged, and how long none is after this member has begun to lead.
    pub split_merge_interval: ReadableDuration,
    /// Whether regions of different tables may become one.
    pub enable_cross_table_merge: bool,
    /// Reports in a row that make a region hot.
    pub hot_region_cache_hits_threshold: u64,
    /// A store with a greater share of its disk in use is given nothing more.
    pub low_space_ratio: f64,
    /// Replicas a store may be given, or be relieved of, a minute.
    pub store_limit: f64,
    /// Whether replicas on stores that are down are removed.
    pub enable_remove_down_replica: bool,
    /// Whether replicas on stores being emptied are moved.
    pub enable_replace_offline_replica: bool,
    /// Whether missing replicas are made.
    pub enable_make_up_replica: bool,
    /// Whether replicas beyond their number are removed.
    pub enable_remove_extra_replica: bool,
    /// Whether replicas move to be further apart.
    pub enable_location_replacement: bool,
}

/// Schedulers and their arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct SchedulersConfig {
    /// Names of schedulers that do not run.
    pub disabled: Vec<String>,
    /// Stores that are to lead nothing.
    pub evict_leader_stores: Vec<u64>,
}

impl Default for ReplicationConfig {
    fn default() -> Self {
        Self { max_replicas: 3, location_labels: Vec::new(), strictly_match_label: false }
    }
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self {
            max_snapshot_count: 64,
            max_pending_peer_count: 64,
            max_store_down_time: ReadableDuration(std::time::Duration::from_secs(30 * 60)),
            leader_schedule_limit: 4,
            region_schedule_limit: 64,
            replica_schedule_limit: 64,
            hot_region_schedule_limit: 4,
            merge_schedule_limit: 8,
            max_merge_region_size: 20,
            max_merge_region_keys: 0,
            split_merge_interval: ReadableDuration(std::time::Duration::from_secs(60 * 60)),
            enable_cross_table_merge: true,
            hot_region_cache_hits_threshold: 3,
            low_space_ratio: 0.8,
            store_limit: 60.0,
            enable_remove_down_replica: true,
            enable_replace_offline_replica: true,
            enable_make_up_replica: true,
            enable_remove_extra_replica: true,
            enable_location_replacement: true,
        }
    }
}

impl PlacementConfig {
    /// Why these settings cannot be taken, if they cannot.
    pub fn check(&self) -> Result<(), &'static str> {
        if !(1..=9).contains(&self.replication.max_replicas) {
            return Err("replication.max-replicas must be between 1 and 9");
        }
        if !(0.0..=1.0).contains(&self.schedule.low_space_ratio) {
            return Err("schedule.low-space-ratio must be between 0 and 1");
        }
        if !self.schedule.store_limit.is_finite() || self.schedule.store_limit <= 0.0 {
            return Err("schedule.store-limit must be above 0");
        }
        if self.replication.location_labels.len() > 8 {
            return Err("replication.location-labels must be 8 at most");
        }
        Ok(())
    }
}

/// In JSON, as operators' programs read it, the labels are one text with commas.
fn join_labels<S: Serializer>(labels: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&labels.join(","))
}

fn split_labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Labels {
        List(Vec<String>),
        Text(String),
    }
    Ok(match Labels::deserialize(deserializer)? {
        Labels::List(labels) => labels,
        Labels::Text(text) => text.split(',').map(str::trim).filter(|label| !label.is_empty()).map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_as_a_list_or_as_one_text() {
        let list: ReplicationConfig = serde_json::from_str(r#"{"location-labels": ["zone", "host"]}"#).unwrap();
        let text: ReplicationConfig = serde_json::from_str(r#"{"location-labels": "zone, host"}"#).unwrap();
        assert_eq!(list, text);
        assert_eq!(list.location_labels, ["zone", "host"]);
        let config = PlacementConfig { replication: list, ..PlacementConfig::default() };
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<PlacementConfig>(&json).unwrap(), config);
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let mut config = PlacementConfig::default();
        assert_eq!(config.check(), Ok(()));
        config.replication.max_replicas = 0;
        assert!(config.check().is_err());
    }
}
