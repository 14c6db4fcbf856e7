//! What a server says of itself: its version, and how safe its commits are.

use std::collections::BTreeMap;

use crate::target::Client;

/// Variables that bear on durability and isolation; a server has some of them.
const VARIABLES: [&str; 12] = [
    "version_comment",
    "transaction_isolation",
    "autocommit",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "log_bin",
    "sync_binlog",
    "tidb_txn_mode",
    "tidb_enable_prepared_plan_cache",
    "tidb_enable_1pc",
];

/// What a server said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// `SELECT VERSION()`.
    pub version: String,
    /// Commit it was built from.
    pub commit: Option<String>,
    /// Values of [`VARIABLES`] that it has.
    pub variables: BTreeMap<String, String>,
}

/// Asks a server; what it does not know it does not tell.
pub fn ask(client: &mut Client) -> Said {
    let mut one = |query: &str| client.row(query).ok().and_then(|row| row.into_iter().next_back()).filter(|value| !value.is_empty());
    let version = one("SELECT VERSION()").unwrap_or_default();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for name in VARIABLES {
        // MariaDB knows the isolation level of a session under its older name only.
        let asked = [name, if name == "transaction_isolation" { "tx_isolation" } else { name }];
        if let Some(value) = asked.iter().find_map(|asked| one(&format!("SHOW VARIABLES LIKE '{asked}'"))) {
            variables.insert(name.to_owned(), value);
        }
    }
    let commit = one("SELECT git_hash FROM information_schema.cluster_info LIMIT 1").filter(|commit| commit != "unknown");
    Said { version, commit, variables }
}

impl Said {
    /// Isolation level of a session.
    pub fn isolation(&self) -> String {
        self.variables.get("transaction_isolation").cloned().unwrap_or_else(|| "unknown".to_owned())
    }

    /// Whether an acknowledged commit is on disk, as the variables of MySQL and MariaDB tell; `unknown` for others, whose variables of that name mean nothing.
    pub fn durability(&self) -> String {
        let variable = |name: &str| self.variables.get(name).map_or("", String::as_str);
        let is_other = ["TiDB", "Trine"].iter().any(|name| self.version.contains(name) || variable("version_comment").contains(name));
        let flush = variable("innodb_flush_log_at_trx_commit");
        if is_other || flush.is_empty() {
            return "unknown".to_owned();
        }
        let mut lacks = Vec::new();
        if flush != "1" {
            lacks.push(format!("innodb_flush_log_at_trx_commit = {flush}: commits are not synced before they are acknowledged"));
        }
        if variable("log_bin") == "ON" && variable("sync_binlog") != "1" {
            lacks.push(format!("sync_binlog = {}: the binary log is not synced at every commit", variable("sync_binlog")));
        }
        if lacks.is_empty() { "synced".to_owned() } else { lacks.join("; ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(version: &str, variables: &[(&str, &str)]) -> Said {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Said { version: version.to_owned(), commit: None, variables }
    }

    #[test]
    fn durability_of_mysql_and_mariadb_is_told_by_their_variables_and_nobody_elses() {
        let flush = |value| ("innodb_flush_log_at_trx_commit", value);
        assert_eq!(said("10.11", &[flush("1"), ("log_bin", "OFF"), ("sync_binlog", "0")]).durability(), "synced");
        assert_eq!(said("8.0", &[flush("1"), ("log_bin", "ON"), ("sync_binlog", "1")]).durability(), "synced");
        assert!(said("8.0", &[flush("1"), ("log_bin", "ON"), ("sync_binlog", "0")]).durability().starts_with("sync_binlog = 0"));
        assert!(said("8.0", &[flush("2")]).durability().starts_with("innodb_flush_log_at_trx_commit = 2"));
        assert_eq!(said("8.0.11-TiDB-v7.1.0", &[flush("1")]).durability(), "unknown");
        assert_eq!(said("8.0.35", &[flush("1"), ("version_comment", "Trine")]).durability(), "unknown");
        assert_eq!(said("8.0", &[]).durability(), "unknown");
    }
}
