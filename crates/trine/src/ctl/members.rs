//! Members of the placement driver.

use anyhow::Result;
use clap::Subcommand;
use serde_json::Value;

use super::{
    Answer,
    http::{Pages, escaped},
    table::{Table, cell, entries},
};

/// What can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// All members (the default)
    List,
    /// The leader
    #[command(subcommand)]
    Leader(Leader),
    /// Hands leadership to another member
    Transfer {
        /// Its name
        name: String,
    },
    /// The leader hands over to another member
    Resign,
    /// Takes a member out of the cluster for good
    #[command(visible_alias = "delete")]
    Remove {
        /// Its name, or its id behind `id:`
        name: String,
    },
}

/// As `pd-ctl` groups it.
#[derive(Clone, Debug, Subcommand)]
pub enum Leader {
    /// Shows it
    Show,
    /// It hands over to another member
    Resign,
    /// Hands leadership to another member
    Transfer {
        /// Its name
        name: String,
    },
}

/// Shows or changes members.
pub async fn run(pages: &Pages, verb: Verb) -> Result<Answer> {
    match verb {
        Verb::List => {
            let page = pages.get("members").await?;
            let table = table(entries(&page, "members"), &page["leader"]["member_id"]);
            Ok(Answer::Shown(page, table))
        }
        Verb::Leader(Leader::Show) => {
            let page = pages.get("leader").await?;
            let table = table(std::slice::from_ref(&page), &page["member_id"]);
            Ok(Answer::Shown(page, table))
        }
        Verb::Transfer { name } | Verb::Leader(Leader::Transfer { name }) => {
            pages.post(&format!("leader/transfer/{}", escaped(&name)), None).await.map(Answer::done)
        }
        Verb::Resign | Verb::Leader(Leader::Resign) => pages.post("leader/resign", None).await.map(Answer::done),
        Verb::Remove { name } => {
            let path = match name.strip_prefix("id:") {
                Some(id) => format!("members/id/{}", escaped(id)),
                None => format!("members/name/{}", escaped(&name)),
            };
            pages.delete(&path).await.map(Answer::done)
        }
    }
}

fn table(members: &[Value], leader: &Value) -> Table {
    let mut table = Table::new(["NAME", "ID", "ROLE", "CLIENTS", "PEERS", "VERSION"]);
    for member in members {
        let role = if member["member_id"] == *leader { "leader" } else { "follower" };
        let of = |name: &str| cell(&member[name]);
        table.row([of("name"), of("member_id"), role.to_owned(), of("client_urls"), of("peer_urls"), of("binary_version")]);
    }
    table
}

/// Whether members can be reached.
pub async fn health(pages: &Pages) -> Result<Answer> {
    let page = pages.get("health").await?;
    let mut table = Table::new(["NAME", "ID", "CLIENTS", "HEALTH"]);
    for member in entries(&page, "") {
        let health = if member["health"] == true { "healthy" } else { "unreachable" };
        table.row([cell(&member["name"]), cell(&member["member_id"]), cell(&member["client_urls"]), health.to_owned()]);
    }
    Ok(Answer::Shown(page, table))
}
