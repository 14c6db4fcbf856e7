//! What follows a noun: a verb, or nothing for the list, or for some the id of one thing to be shown.

use clap::{Args, Subcommand};

/// A verb, or nothing.
#[derive(Args, Debug)]
pub struct Verbs<V: Subcommand> {
    #[command(subcommand)]
    verb: Option<V>,
}

impl<V: Subcommand + Clone> Verbs<V> {
    /// What was written, or else `list`.
    pub fn or(&self, list: V) -> V {
        self.verb.clone().unwrap_or(list)
    }
}

/// A verb, an id, or nothing.
#[derive(Args, Debug)]
pub struct IdOrVerbs<V: Subcommand> {
    /// Shows one alone
    id: Option<u64>,

    #[command(subcommand)]
    verb: Option<V>,
}

impl<V: Subcommand + Clone> IdOrVerbs<V> {
    /// What was written: `show` where it was an id, `list` where it was nothing.
    pub fn or(&self, show: impl FnOnce(u64) -> V, list: V) -> V {
        match (self.id, &self.verb) {
            (Some(id), _) => show(id),
            (None, Some(verb)) => verb.clone(),
            (None, None) => list,
        }
    }
}
