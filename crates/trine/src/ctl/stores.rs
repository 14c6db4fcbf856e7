//! Stores.

use anyhow::{Result, bail};
use clap::Subcommand;
use serde_json::{Map, Value};

use super::{
    Answer,
    http::{Pages, escaped},
    table::{Table, cell, entries},
};

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// All stores that are no tombstones (the default)
    List {
        /// Those in these states alone: Up, Disconnected, Down, Offline, Tombstone
        #[arg(long, value_name = "STATE,…")]
        state: Option<String>,
    },
    /// One store
    Show {
        /// The store
        id: u64,
    },
    /// Says where a store stands; an empty value takes a label away
    Label {
        /// The store
        id: u64,
        /// Labels
        #[arg(required = true, value_name = "KEY=VALUE")]
        labels: Vec<String>,
    },
    /// Empties a store: its replicas are made elsewhere, then it is a tombstone
    #[command(visible_alias = "delete")]
    Offline {
        /// The store
        id: u64,
        /// Its disk is lost: it is never waited for again
        #[arg(long)]
        force: bool,
    },
    /// Takes emptying back
    #[command(visible_alias = "cancel-delete")]
    Up {
        /// The store
        id: u64,
    },
    /// Forgets stores that were emptied
    RemoveTombstone,
}

/// Shows or changes stores.
pub async fn run(pages: &Pages, verb: Verb) -> Result<Answer> {
    match verb {
        Verb::List { state } => {
            let path = state.as_ref().map_or_else(|| "stores".to_owned(), |state| format!("stores?state={}", escaped(state)));
            let page = pages.get(&path).await?;
            let table = table(entries(&page, "stores"));
            Ok(Answer::Shown(page, table))
        }
        Verb::Show { id } => {
            let page = pages.get(&format!("store/{id}")).await?;
            let table = table(std::slice::from_ref(&page));
            Ok(Answer::Shown(page, table))
        }
        Verb::Label { id, labels } => {
            let labels = labels.iter().map(|label| pair(label)).collect::<Result<Map<String, Value>>>()?;
            pages.post(&format!("store/{id}/label"), Some(Value::Object(labels))).await.map(Answer::done)
        }
        Verb::Offline { id, force } => {
            let forced = if force { "?force=true" } else { "" };
            pages.delete(&format!("store/{id}{forced}")).await.map(Answer::done)
        }
        Verb::Up { id } => pages.post(&format!("store/{id}/state?state=Up"), None).await.map(Answer::done),
        Verb::RemoveTombstone => pages.delete("stores/remove-tombstone").await.map(Answer::done),
    }
}

fn pair(label: &str) -> Result<(String, Value)> {
    match label.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), Value::from(value))),
        _ => bail!("{label:?} is no label; they are written KEY=VALUE"),
    }
}

fn table(stores: &[Value]) -> Table {
    let headings = ["ID", "ADDRESS", "STATE", "LABELS", "LEADERS", "REGIONS", "SIZE MiB", "USED", "AVAILABLE", "CAPACITY", "HEARD OF"];
    let mut table = Table::new(headings);
    for page in stores {
        let (store, status) = (&page["store"], &page["status"]);
        let labels = entries(store, "labels").iter().map(|label| format!("{}={}", cell(&label["key"]), cell(&label["value"])));
        table.row([
            cell(&store["id"]),
            cell(&store["address"]),
            cell(&store["state_name"]),
            labels.collect::<Vec<_>>().join(","),
            cell(&status["leader_count"]),
            cell(&status["region_count"]),
            cell(&status["region_size"]),
            cell(&status["used_size"]),
            cell(&status["available"]),
            cell(&status["capacity"]),
            cell(&status["last_heartbeat_ts"]),
        ]);
    }
    table
}
