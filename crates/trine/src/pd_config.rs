//! The configuration file of `trine pd`: TOML under the names that operators of the reference system know. Flags win over it.

use std::path::Path;

use ::pd::core::config::{ReplicationConfig, ScheduleConfig};
use serde::{Deserialize, Serialize};

use crate::config::{self, ConfigError, LogSection};

/// Everything a file can say.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct PdConfig {
    /// Name of the member, unique in the cluster.
    pub name: String,
    /// Directory of log and snapshots.
    pub data_dir: String,
    /// URLs to serve clients on, with commas between them.
    pub client_urls: String,
    /// URLs clients are told; empty for `client-urls`.
    pub advertise_client_urls: String,
    /// URLs to serve the other members on.
    pub peer_urls: String,
    /// URLs the other members are told; empty for `peer-urls`.
    pub advertise_peer_urls: String,
    /// `name=peer-url` of the first members, with commas between them; empty for a cluster of one.
    pub initial_cluster: String,
    /// Client URLs of members to join; empty for a first member.
    pub join: String,
    /// Least severe level that is logged; `[log]` says the same.
    pub log_level: String,
    /// Logging.
    pub log: LogSection,
    /// How replicas are placed, when this file's member begins a new cluster. Changed in a running one through HTTP.
    pub replication: ReplicationConfig,
    /// How much may move at a time, likewise.
    pub schedule: ScheduleConfig,
}

impl Default for PdConfig {
    fn default() -> Self {
        Self {
            name: "pd".to_owned(),
            data_dir: String::new(),
            client_urls: "http://127.0.0.1:2379".to_owned(),
            advertise_client_urls: String::new(),
            peer_urls: "http://127.0.0.1:2380".to_owned(),
            advertise_peer_urls: String::new(),
            initial_cluster: String::new(),
            join: String::new(),
            log_level: String::new(),
            log: LogSection::default(),
            replication: ReplicationConfig::default(),
            schedule: ScheduleConfig::default(),
        }
    }
}

impl PdConfig {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        config::load(path, Self::parse)
    }

    fn parse(text: &str) -> Result<Self, String> {
        config::parse_checked(text, &[])
    }

    /// The directory; each name has one of its own by default.
    pub fn directory(&self) -> String {
        if self.data_dir.is_empty() { format!("trine-{}", self.name) } else { self.data_dir.clone() }
    }
}

/// The parts of a list with commas.
pub fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The parts of `name=url,name=url`.
pub fn named_list(text: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let part = |part: String| match part.split_once('=') {
        Some((name, url)) => Ok((name.trim().to_owned(), url.trim().to_owned())),
        None => Err(ConfigError::new(format!("initial-cluster: {part:?} is not of the form name=url"))),
    };
    list(text).into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_file_is_accepted_as_it_is() {
        let text = "[log]\nlevel = \"info\"\n[replication]\nlocation-labels = [\"region\", \"zone\", \"rack\", \"host\"]\n";
        let config = PdConfig::parse(text).expect("valid");
        assert_eq!(config.replication.location_labels, ["region", "zone", "rack", "host"]);
        assert_eq!(config.log.level_under(&config.log_level), "info");
    }

    #[test]
    fn unknown_key_is_named_with_the_nearest_known_one() {
        let error = PdConfig::parse("[replication]\nmax-replica = 3").expect_err("unknown");
        assert_eq!(error, "unknown key `replication.max-replica`; the nearest known key is `replication.max-replicas`");
    }

    #[test]
    fn first_members_are_named_with_their_urls() {
        let members = named_list("pd1=http://a:2380, pd2=http://b:2380").expect("valid");
        assert_eq!(members[1], ("pd2".to_owned(), "http://b:2380".to_owned()));
        assert!(named_list("http://a:2380").is_err());
    }
}
