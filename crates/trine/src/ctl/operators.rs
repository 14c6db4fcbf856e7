//! Operators: what is being moved.

use anyhow::Result;
use clap::Subcommand;
use serde_json::{Value, json};

use super::{
    Answer,
    http::Pages,
    table::{Table, cell, entries},
};

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// Operators under way (the default)
    #[command(visible_alias = "show")]
    List,
    /// A region's operator, or how its last one ended
    Check {
        /// The region
        region: u64,
    },
    /// Asks for something to be moved
    #[command(subcommand)]
    Add(Wanted),
    /// Gives up a region's operator
    #[command(visible_alias = "remove")]
    Cancel {
        /// The region
        region: u64,
    },
}

#[derive(Clone, Debug, Subcommand)]
pub enum Wanted {
    /// Lets the replica on a store lead a region
    TransferLeader {
        /// The region
        region: u64,
        /// The store
        store: u64,
    },
    /// Moves a replica from a store to another
    TransferPeer {
        /// The region
        region: u64,
        /// The store that has it
        from: u64,
        /// The store that is to have it
        to: u64,
    },
    /// Makes a replica on a store
    AddPeer {
        /// The region
        region: u64,
        /// The store
        store: u64,
    },
    /// Removes the replica on a store
    RemovePeer {
        /// The region
        region: u64,
        /// The store
        store: u64,
    },
    /// Splits a region: at keys, or where its leader sees fit
    SplitRegion {
        /// The region
        region: u64,
        /// Keys, in hexadecimal
        #[arg(long, value_name = "HEX,…", value_delimiter = ',')]
        keys: Vec<String>,
    },
    /// Puts a region's replicas and leader where the fewest of its group are
    ScatterRegion {
        /// The region
        region: u64,
        /// The group
        #[arg(long, default_value = "")]
        group: String,
    },
}

impl Wanted {
    fn request(&self) -> Value {
        match self {
            Self::TransferLeader { region, store } => json!({ "name": "transfer-leader", "region_id": region, "to_store_id": store }),
            Self::TransferPeer { region, from, to } => {
                json!({ "name": "transfer-peer", "region_id": region, "from_store_id": from, "to_store_id": to })
            }
            Self::AddPeer { region, store } => json!({ "name": "add-peer", "region_id": region, "store_id": store }),
            Self::RemovePeer { region, store } => json!({ "name": "remove-peer", "region_id": region, "store_id": store }),
            Self::SplitRegion { region, keys } => {
                let policy = if keys.is_empty() { "approximate" } else { "usekey" };
                json!({ "name": "split-region", "region_id": region, "policy": policy, "keys": keys })
            }
            Self::ScatterRegion { region, group } => json!({ "name": "scatter-region", "region_id": region, "group": group }),
        }
    }
}

/// Shows or changes operators.
pub async fn run(pages: &Pages, verb: Verb) -> Result<Answer> {
    match verb {
        Verb::List => {
            let page = pages.get("operators").await?;
            let table = table(entries(&page, ""));
            Ok(Answer::Shown(page, table))
        }
        Verb::Check { region } => {
            let page = pages.get(&format!("operators/{region}")).await?;
            let table = table(std::slice::from_ref(&page));
            Ok(Answer::Shown(page, table))
        }
        Verb::Add(wanted) => pages.post("operators", Some(wanted.request())).await.map(Answer::done),
        Verb::Cancel { region } => pages.delete(&format!("operators/{region}")).await.map(Answer::done),
    }
}

fn table(operators: &[Value]) -> Table {
    if operators.iter().any(Value::is_string) {
        // The reference system describes each in one line.
        let mut table = Table::new(["OPERATOR"]);
        operators.iter().for_each(|operator| table.row([cell(operator)]));
        return table;
    }
    let mut table = Table::new(["REGION", "KIND", "WHY", "STATUS", "AT", "STEPS"]);
    for operator in operators {
        let steps = entries(operator, "steps").iter().map(step).collect::<Vec<_>>().join(", ");
        let of = |name: &str| cell(&operator[name]);
        table.row([of("region_id"), of("kind"), of("desc"), of("status"), of("current_step"), steps]);
    }
    table
}

fn step(step: &Value) -> String {
    let Some((name, of)) = step.as_object().and_then(|step| step.iter().next()) else { return cell(step) };
    match of.get("store").or_else(|| of.get("to")) {
        Some(store) => format!("{name} {}", cell(store)),
        None => name.clone(),
    }
}
