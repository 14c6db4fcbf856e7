//! Regions, and where load is.

use anyhow::{Result, bail};
use clap::{Subcommand, ValueEnum};
use serde_json::Value;

use super::{
    Answer,
    http::Pages,
    table::{Table, cell, entries},
};

/// Regions asked for at a time when all of them are wanted.
pub const PAGE: usize = 1000;

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// Regions from the first key on (the default)
    List {
        /// So many at most
        #[arg(long, value_name = "N", default_value_t = PAGE)]
        limit: usize,
    },
    /// One region
    Show {
        /// The region
        id: u64,
    },
    /// The region that holds a key
    Key {
        /// The key, in hexadecimal as regions' borders are shown
        key: String,
        /// The key is given as it is, not in hexadecimal
        #[arg(long)]
        raw: bool,
    },
    /// Regions with replicas on a store
    Store {
        /// The store
        id: u64,
        /// So many at most
        #[arg(long, value_name = "N", default_value_t = PAGE)]
        limit: usize,
    },
    /// Regions of a range of keys, however many there are
    Scan {
        /// First key, in hexadecimal
        #[arg(default_value = "")]
        start: String,
        /// First key behind the range, in hexadecimal; the end of all keys when it is not given
        #[arg(default_value = "")]
        end: String,
    },
    /// The regions that come first in some order
    Top {
        /// By what
        by: Order,
        /// So many
        #[arg(default_value_t = 16)]
        limit: usize,
    },
    /// Regions something is amiss with
    Check {
        /// With what
        what: Amiss,
    },
    /// The regions before and behind one
    Sibling {
        /// The region
        id: u64,
    },
    /// Sums over a range of keys
    Stats {
        /// First key, in hexadecimal
        #[arg(default_value = "")]
        start: String,
        /// First key behind the range, in hexadecimal
        #[arg(default_value = "")]
        end: String,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Order {
    Size,
    Keys,
    Write,
    Read,
    Confver,
    Version,
}

impl Order {
    fn page(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Keys => "keys",
            Self::Write => "writeflow",
            Self::Read => "readflow",
            Self::Confver => "confver",
            Self::Version => "version",
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Amiss {
    MissPeer,
    ExtraPeer,
    DownPeer,
    PendingPeer,
    LearnerPeer,
    OfflinePeer,
    EmptyRegion,
}

/// Arguments of `hot`.
#[derive(Debug, Subcommand)]
pub enum Hot {
    /// Regions that are read much
    Read,
    /// Regions that are written much
    Write,
    /// Load of stores
    Store,
}

/// Shows regions.
pub async fn run(pages: &Pages, verb: Verb) -> Result<Answer> {
    let path = match verb {
        Verb::List { limit } => format!("regions/key?key=&format=hex&limit={limit}"),
        Verb::Show { id } => return one(pages.get(&format!("region/id/{id}")).await?),
        Verb::Key { key, raw } => {
            let key = if raw { key.bytes().map(|byte| format!("{byte:02X}")).collect() } else { key_of(&key)?.to_owned() };
            return one(pages.get(&format!("region/key/{key}?format=hex")).await?);
        }
        Verb::Store { id, limit } => {
            // A store without regions and one that does not exist look the same on the page of regions.
            pages.get(&format!("store/{id}")).await?;
            format!("regions/store/{id}?limit={limit}")
        }
        Verb::Scan { start, end } => return scan(pages, key_of(&start)?, key_of(&end)?).await,
        Verb::Top { by, limit } => format!("regions/{}?limit={limit}", by.page()),
        Verb::Check { what } => {
            let what = what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            format!("regions/check/{what}")
        }
        Verb::Sibling { id } => format!("regions/sibling/{id}"),
        Verb::Stats { start, end } => {
            return stats(pages.get(&format!("stats/region?start_key={}&end_key={}&format=hex", key_of(&start)?, key_of(&end)?)).await?);
        }
    };
    let page = pages.get(&path).await?;
    let table = table(entries(&page, "regions"));
    Ok(Answer::Shown(page, table))
}

/// A key in hexadecimal, or an error that says so.
fn key_of(text: &str) -> Result<&str> {
    if text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text);
    }
    bail!("{text:?} is no key in hexadecimal; a key as it is goes with `region key --raw`")
}

fn one(page: Value) -> Result<Answer> {
    if page.is_null() {
        bail!("no such region is known; `trine ctl region` lists those there are");
    }
    let table = table(std::slice::from_ref(&page));
    Ok(Answer::Shown(page, table))
}

/// All regions of a range, page after page.
async fn scan(pages: &Pages, start: &str, end: &str) -> Result<Answer> {
    let mut found: Vec<Value> = Vec::new();
    let mut next = start.to_owned();
    loop {
        let page = pages.get(&format!("regions/key?key={next}&end_key={end}&format=hex&limit={PAGE}")).await?;
        let regions = entries(&page, "regions");
        found.extend_from_slice(regions);
        let behind = regions.last().map(|region| cell(&region["end_key"])).unwrap_or_default();
        // Keys of the same length or not compare in hexadecimal as they do in bytes.
        let at_end = behind.is_empty() || !end.is_empty() && behind.to_ascii_uppercase() >= end.to_ascii_uppercase();
        if regions.len() < PAGE || at_end {
            break;
        }
        next = behind;
    }
    let table = table(&found);
    Ok(Answer::Shown(serde_json::json!({ "count": found.len(), "regions": found }), table))
}

fn table(regions: &[Value]) -> Table {
    let headings = ["ID", "LEADER", "STORES", "START", "END", "SIZE MiB", "KEYS", "WRITTEN", "READ", "AMISS"];
    let mut table = Table::new(headings);
    for region in regions {
        let stores = entries(region, "peers").iter().map(|peer| {
            let learner = peer["role_name"].as_str().is_some_and(|role| role == "Learner");
            format!("{}{}", cell(&peer["store_id"]), if learner { " (learner)" } else { "" })
        });
        let number = |name: &str| entries(region, name).len();
        let amiss = [("down", number("down_peers")), ("pending", number("pending_peers"))];
        let amiss = amiss.iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what}"));
        table.row([
            cell(&region["id"]),
            cell(&region["leader"]["store_id"]),
            stores.collect::<Vec<_>>().join(","),
            border(&region["start_key"]),
            border(&region["end_key"]),
            cell(&region["approximate_size"]),
            cell(&region["approximate_keys"]),
            cell(&region["written_bytes"]),
            cell(&region["read_bytes"]),
            amiss.collect::<Vec<_>>().join(", "),
        ]);
    }
    table.note(format!("{} regions; LEADER and STORES are ids of stores", regions.len()));
    table
}

/// A border of a region; the ends of all keys have none.
fn border(key: &Value) -> String {
    match key.as_str() {
        None | Some("") => "-".to_owned(),
        Some(key) => key.to_owned(),
    }
}

fn stats(page: Value) -> Result<Answer> {
    let mut table = Table::new(["REGIONS", "EMPTY", "SIZE MiB", "KEYS"]);
    table.row([cell(&page["count"]), cell(&page["empty_count"]), cell(&page["storage_size"]), cell(&page["storage_keys"])]);
    Ok(Answer::Shown(page, table))
}

/// Shows where load is.
pub async fn hot(pages: &Pages, hot: &Hot) -> Result<Answer> {
    let page = match hot {
        Hot::Read => pages.get("hotspot/regions/read").await?,
        Hot::Write => pages.get("hotspot/regions/write").await?,
        Hot::Store => {
            let page = pages.get("hotspot/stores").await?;
            let mut table = Table::new(["STORE", "WRITTEN B/s", "READ B/s"]);
            let rates = page["bytes-write-rate"].as_object();
            for (store, written) in rates.into_iter().flatten() {
                table.row([store.clone(), cell(written), cell(&page["bytes-read-rate"][store])]);
            }
            return Ok(Answer::Shown(page, table));
        }
    };
    let mut table = Table::new(["STORE", "REGION", "B/s", "DEGREE"]);
    for (store, regions) in page["as_leader"].as_object().into_iter().flatten() {
        // The reference system has the list one level deeper.
        let regions = if regions.is_array() { entries(regions, "") } else { entries(regions, "statistics") };
        for region in regions {
            table.row([store.clone(), cell(&region["region_id"]), cell(&region["flow_bytes"]), cell(&region["hot_degree"])]);
        }
    }
    Ok(Answer::Shown(page, table))
}
