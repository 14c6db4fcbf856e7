//! `trine ctl`: shows and changes a running cluster through the pages of its placement driver (`/pd/api/v1`).
//!
//! ```text
//!   arguments ─▶ one module a noun ─▶ pages (http) ─▶ Answer ─▶ a table, or with --json what the placement driver said
//! ```
//!
//! | module | noun |
//! |---|---|
//! | `members` | `member`, `health` |
//! | `stores` | `store` |
//! | `regions` | `region`, `hot` |
//! | `operators` | `operator` |
//! | `schedulers` | `scheduler` |
//! | `config` | `config`, `cluster` |
//! | `safe_points` | `safe-point`, `tso` |
//!
//! Nouns and verbs are those of the reference system's `pd-ctl`, and so are the pages: either program works with either placement driver, as far
//! as that has the page. Nothing is kept between two runs.

mod config;
mod http;
mod members;
mod noun;
mod operators;
mod regions;
mod safe_points;
mod schedulers;
mod stores;
mod table;

use std::io::Write as _;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use serde_json::Value;

use self::{
    http::Pages,
    noun::{IdOrVerbs, Verbs},
    table::Table,
};

/// Flags of `trine ctl`.
#[derive(Args, Debug)]
pub struct CtlArgs {
    /// Client addresses of the placement driver's members; the first that answers is asked
    #[arg(short = 'u', long, value_name = "HOST:PORT,…", default_value = "127.0.0.1:2379", global = true)]
    pd: String,

    /// Prints what the placement driver answered, as JSON
    #[arg(long, global = true)]
    json: bool,

    /// What to look at or to change.
    #[command(subcommand)]
    noun: Noun,
}

/// What there is to look at and to change.
#[derive(Debug, Subcommand)]
enum Noun {
    /// Members of the placement driver
    #[command(visible_alias = "members")]
    Member(Verbs<members::Verb>),
    /// Stores: where they are, how full they are, emptying one
    #[command(visible_alias = "stores")]
    Store(IdOrVerbs<stores::Verb>),
    /// Regions: where data lie
    #[command(visible_alias = "regions")]
    Region(IdOrVerbs<regions::Verb>),
    /// Where load is
    #[command(subcommand)]
    Hot(regions::Hot),
    /// What is being moved, and asking for more
    #[command(visible_alias = "operators")]
    Operator(Verbs<operators::Verb>),
    /// Who decides what is moved
    #[command(visible_alias = "schedulers")]
    Scheduler(Verbs<schedulers::Verb>),
    /// Settings of placement
    Config(Verbs<config::Verb>),
    /// The cluster as a whole
    Cluster,
    /// How far garbage may be collected, and who holds that back
    #[command(visible_aliases = ["gc-safepoint", "service-gc-safepoint"])]
    SafePoint(Verbs<safe_points::Verb>),
    /// Whether the members of the placement driver can be reached
    Health,
    /// What a timestamp means; without one, takes one
    Tso {
        /// The timestamp
        timestamp: Option<u64>,
    },
}

/// What a command found or did.
enum Answer {
    /// Something to look at: as the placement driver said it, and as people read it.
    Shown(Value, Table),
    /// Something was done.
    Done(String),
}

impl Answer {
    /// What the placement driver says about something done.
    fn done(page: Value) -> Self {
        match page {
            Value::String(text) => Self::Done(text),
            Value::Null => Self::Done("Done.".to_owned()),
            other => Self::Done(other.to_string()),
        }
    }
}

/// Does what the arguments say, and prints the answer.
pub fn run(args: &CtlArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let answer = runtime.block_on(async {
        let pages = Pages::of(&args.pd)?;
        match &args.noun {
            Noun::Member(args) => members::run(&pages, args.or(members::Verb::List)).await,
            Noun::Store(args) => stores::run(&pages, args.or(|id| stores::Verb::Show { id }, stores::Verb::List { state: None })).await,
            Noun::Region(args) => {
                regions::run(&pages, args.or(|id| regions::Verb::Show { id }, regions::Verb::List { limit: regions::PAGE })).await
            }
            Noun::Hot(hot) => regions::hot(&pages, hot).await,
            Noun::Operator(args) => operators::run(&pages, args.or(operators::Verb::List)).await,
            Noun::Scheduler(args) => schedulers::run(&pages, args.or(schedulers::Verb::List)).await,
            Noun::Config(args) => config::run(&pages, args.or(config::Verb::Show { section: None })).await,
            Noun::Cluster => config::cluster(&pages).await,
            Noun::SafePoint(args) => safe_points::run(&pages, args.or(safe_points::Verb::Show)).await,
            Noun::Health => members::health(&pages).await,
            Noun::Tso { timestamp } => safe_points::timestamp(&pages, *timestamp).await,
        }
    })?;
    let text = match answer {
        Answer::Shown(page, _) if args.json => json(&page),
        Answer::Done(text) if args.json => json(&Value::String(text)),
        Answer::Shown(_, table) => table.render(),
        Answer::Done(text) => text + "\n",
    };
    // Whoever reads may have seen enough and gone: `trine ctl region | head`.
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot print"),
        _ => Ok(()),
    }
}

fn json(page: &Value) -> String {
    format!("{page:#}\n")
}
