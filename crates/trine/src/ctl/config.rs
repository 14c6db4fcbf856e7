//! Settings of placement, and the cluster as a whole.

use anyhow::Result;
use clap::Subcommand;
use serde_json::{Map, Value};

use super::{
    Answer,
    http::Pages,
    table::{Table, cell},
};

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// All settings (the default)
    Show {
        /// One section alone: replication, schedule, schedulers
        section: Option<String>,
    },
    /// Changes a setting
    Set {
        /// Its name, with or without its section: max-replicas, schedule.leader-schedule-limit
        name: String,
        /// The new value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
}

/// Shows or changes settings.
pub async fn run(pages: &Pages, verb: Verb) -> Result<Answer> {
    match verb {
        Verb::Show { section } => {
            let mut page = pages.get("config").await?;
            if let Some(section) = section {
                let known = page.as_object().map(|page| page.keys().cloned().collect::<Vec<_>>().join(", ")).unwrap_or_default();
                page = match page.get_mut(&section).map(Value::take) {
                    Some(found) => Value::Object(Map::from_iter([(section, found)])),
                    None => anyhow::bail!("no section {section}; there are {known}"),
                };
            }
            let mut table = Table::new(["NAME", "VALUE"]);
            flatten("", &page, &mut table);
            Ok(Answer::Shown(page, table))
        }
        Verb::Set { name, value } => {
            // A number, a truth value or a list is meant as one; everything else is text, with or without quotes.
            let value = serde_json::from_str(&value).unwrap_or(Value::String(value));
            pages.post("config", Some(Value::Object(Map::from_iter([(name, value)])))).await.map(Answer::done)
        }
    }
}

fn flatten(name: &str, value: &Value, table: &mut Table) {
    match value {
        Value::Object(settings) => {
            for (inner, value) in settings {
                let name = if name.is_empty() { inner.clone() } else { format!("{name}.{inner}") };
                flatten(&name, value, table);
            }
        }
        value => table.row([name.to_owned(), cell(value)]),
    }
}

/// Shows the cluster as a whole.
pub async fn cluster(pages: &Pages) -> Result<Answer> {
    let page = pages.get("cluster").await?;
    let mut table = Table::new(["NAME", "VALUE"]);
    flatten("", &page, &mut table);
    Ok(Answer::Shown(page, table))
}
