//! Schedulers: who decides what is moved.

use anyhow::{Result, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use super::{
    Answer,
    http::{Pages, escaped},
    table::{Table, cell, entries},
};

/// The one that is told stores.
const EVICT_LEADER: &str = "evict-leader-scheduler";

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// All schedulers (the default)
    #[command(visible_alias = "show")]
    List,
    /// Switches a scheduler on
    Add {
        /// Its name
        name: String,
        /// For evict-leader-scheduler: the store that is to lead nothing
        store: Option<u64>,
    },
    /// Switches a scheduler off
    Remove {
        /// Its name; evict-leader-scheduler-ID ends it for one store
        name: String,
    },
    /// Halts a scheduler for a while
    Pause {
        /// Its name, or all
        name: String,
        /// For how long
        seconds: u64,
    },
    /// Lets a halted scheduler go on
    Resume {
        /// Its name, or all
        name: String,
    },
}

/// Shows or changes schedulers.
pub async fn run(pages: &Pages, verb: Verb) -> Result<Answer> {
    match verb {
        Verb::List => list(pages).await,
        Verb::Add { name, store } => {
            if name == EVICT_LEADER && store.is_none() {
                bail!("{EVICT_LEADER} wants a store: `trine ctl scheduler add {EVICT_LEADER} ID`");
            }
            let mut wanted = json!({ "name": name });
            if let Some(store) = store {
                wanted["store_id"] = json!(store);
            }
            pages.post("schedulers", Some(wanted)).await.map(Answer::done)
        }
        Verb::Remove { name } => pages.delete(&format!("schedulers/{}", escaped(&name))).await.map(Answer::done),
        Verb::Pause { name, seconds } => {
            pages.post(&format!("schedulers/{}", escaped(&name)), Some(json!({ "delay": seconds }))).await.map(Answer::done)
        }
        Verb::Resume { name } => pages.post(&format!("schedulers/{}", escaped(&name)), Some(json!({ "delay": 0 }))).await.map(Answer::done),
    }
}

async fn list(pages: &Pages) -> Result<Answer> {
    let running = pages.get("schedulers").await?;
    let paused = pages.get("schedulers?status=paused").await?;
    let disabled = pages.get("schedulers?status=disabled").await?;
    let mut table = Table::new(["NAME", "STATUS", "STORES"]);
    for scheduler in entries(&running, "") {
        let status = if entries(&paused, "").contains(scheduler) { "paused" } else { "running" };
        let mut stores = String::new();
        if scheduler == EVICT_LEADER {
            let settings = pages.get(&format!("scheduler-config/{EVICT_LEADER}/list")).await?;
            let ranges = settings["store-id-ranges"].as_object();
            stores = ranges.into_iter().flatten().map(|(store, _)| store.clone()).collect::<Vec<_>>().join(",");
        }
        table.row([cell(scheduler), status.to_owned(), stores]);
    }
    for scheduler in entries(&disabled, "") {
        table.row([cell(scheduler), "off".to_owned(), String::new()]);
    }
    let page: Value = json!({ "running": running, "paused": paused, "disabled": disabled });
    Ok(Answer::Shown(page, table))
}
