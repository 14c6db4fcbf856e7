//! Safe points and timestamps.

use anyhow::{Context as _, Result, bail};
use base::TimeStamp;
use clap::Subcommand;
use client::PdClient;
use env::Env;
use serde_json::{Value, json};

use super::{
    Answer,
    http::{Pages, escaped},
    table::{Table, cell, entries},
};

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// The safe point of garbage collection and the services that hold it back (the default)
    Show,
    /// Lets a service hold the safe point back no more: what it still reads may be collected
    #[command(visible_alias = "delete")]
    Remove {
        /// Its name
        service: String,
    },
}

/// Shows or changes safe points.
pub async fn run(pages: &Pages, verb: Verb) -> Result<Answer> {
    match verb {
        Verb::Show => {
            let page = pages.get("gc/safepoint").await?;
            let mut table = Table::new(["NAME", "SAFE POINT", "TIME", "EXPIRES"]);
            let row = |table: &mut Table, name: String, safe_point: &Value, expires: String| {
                let time = safe_point.as_u64().filter(|ts| *ts > 0).and_then(|ts| moment(TimeStamp(ts).physical_ms()));
                table.row([name, cell(safe_point), time.unwrap_or_default(), expires]);
            };
            row(&mut table, "(garbage collection)".to_owned(), &page["gc_safe_point"], String::new());
            for service in entries(&page, "service_gc_safe_points") {
                let seconds = service["expired_at"].as_u64().and_then(|seconds| moment(seconds.checked_mul(1000)?));
                row(&mut table, cell(&service["service_id"]), &service["safe_point"], seconds.unwrap_or_else(|| "never".to_owned()));
            }
            Ok(Answer::Shown(page, table))
        }
        Verb::Remove { service } => {
            let page = pages.get("gc/safepoint").await?;
            if entries(&page, "service_gc_safe_points").iter().all(|known| known["service_id"] != service.as_str()) {
                bail!("no service {service:?} holds the safe point back; `trine ctl safe-point` lists those that do");
            }
            pages.delete(&format!("gc/safepoint/{}", escaped(&service))).await.map(Answer::done)
        }
    }
}

/// What a timestamp means; a new one when none is given.
pub async fn timestamp(pages: &Pages, timestamp: Option<u64>) -> Result<Answer> {
    let timestamp = match timestamp {
        Some(timestamp) => TimeStamp(timestamp),
        None => {
            // Says at once what is wrong where the client would wait for it to pass.
            let cluster = pages.get("cluster").await?;
            if cluster["bootstrapped"] == false {
                bail!("the cluster has no store yet: timestamps are taken once it has one");
            }
            let client = PdClient::connect(pages.addresses().to_vec(), Env::production()).await.context("cannot take a timestamp")?;
            client.timestamp().await.context("cannot take a timestamp")?
        }
    };
    let (physical, logical) = (timestamp.physical_ms(), timestamp.logical());
    let time = moment(physical).unwrap_or_default();
    let mut table = Table::new(["TIMESTAMP", "PHYSICAL ms", "LOGICAL", "TIME"]);
    table.row([timestamp.0.to_string(), physical.to_string(), logical.to_string(), time.clone()]);
    Ok(Answer::Shown(json!({ "tso": timestamp.0, "physical": physical, "logical": logical, "time": time }), table))
}

/// A moment as text (RFC 3339).
fn moment(wall_ms: u64) -> Option<String> {
    jiff::Timestamp::from_millisecond(i64::try_from(wall_ms).ok()?).ok().map(|moment| moment.to_string())
}
