//! What can go wrong with a benchmark, told so that a person can act on it. What lies behind an error is its source, and not repeated in its text.

use std::{io, path::PathBuf, process::ExitStatus};

/// A benchmark that could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither a file nor a shipped scenario.
    #[error("there is no scenario file {name} and no shipped scenario of that name; the shipped ones are {}", shipped.join(", "))]
    NoScenario {
        /// What was asked for.
        name: String,
        /// What there is.
        shipped: Vec<String>,
    },
    /// A scenario that cannot be read.
    #[error("scenario {scenario}: {what}")]
    Scenario {
        /// Its name.
        scenario: String,
        /// What is wrong with it.
        what: String,
    },
    /// A file or directory.
    #[error("cannot {action} {}", path.display())]
    File {
        /// `read`, `write`, …
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program that others provide.
    #[error("{program} is not installed: install the Debian package `{package}`{hint}")]
    Missing {
        /// Its name or path.
        program: String,
        /// Where it is from.
        package: &'static str,
        /// Other ways out, or nothing.
        hint: &'static str,
    },
    /// The machine does not offer what a scenario needs.
    #[error("{what}: {reason}")]
    Machine {
        /// What cannot be done.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// A server process that ended by itself.
    #[error("{process} of {target} has ended ({status}); the end of its log:\n{log}")]
    ServerEnded {
        /// The target's name.
        target: String,
        /// The process's name.
        process: String,
        /// How it ended.
        status: ExitStatus,
        /// Its last lines.
        log: String,
    },
    /// A server process that does not say that it serves.
    #[error("{process} of {target} was not ready after {seconds} s; the end of its log:\n{log}")]
    NotReady {
        /// The target's name.
        target: String,
        /// The process's name.
        process: String,
        /// How long it was waited for.
        seconds: u64,
        /// Its last lines.
        log: String,
    },
    /// Nobody answers where a target should be.
    #[error("{target} does not take connections at {endpoint}")]
    Refused {
        /// The target's name.
        target: String,
        /// `host:port`.
        endpoint: String,
        /// What the client said.
        source: Box<mysql::Error>,
    },
    /// A statement of ours that a server refuses.
    #[error("{target} refuses `{statement}`")]
    Sql {
        /// The target's name.
        target: String,
        /// The statement.
        statement: String,
        /// What the server said.
        source: Box<mysql::Error>,
    },
    /// A driver that failed.
    #[error("{subject}: the driver failed ({reason}): {command}\n{output}")]
    Driver {
        /// The subject's name.
        subject: String,
        /// How.
        reason: String,
        /// Its command line.
        command: String,
        /// The end of what it said.
        output: String,
    },
    /// TPC-C could not be loaded, driven or checked.
    #[error("{subject}: TPC-C: {reason}")]
    Tpcc {
        /// The subject's name.
        subject: String,
        /// Why not, with what lies behind it.
        reason: Box<crate::tpcc::Error>,
    },
    /// A database of TPC-C that breaks its consistency conditions.
    #[error("{subject}: the database is inconsistent: {}", violated.join("; "))]
    Inconsistent {
        /// The subject's name.
        subject: String,
        /// Conditions that do not hold, with rows.
        violated: Vec<String>,
    },
    /// A driver's output in a form we do not know.
    #[error("the driver's output has no {what}:\n{output}")]
    Output {
        /// What was looked for.
        what: &'static str,
        /// The end of what it said.
        output: String,
    },
    /// A result file that cannot be used.
    #[error("{} is not a result file of this version: {reason}", path.display())]
    Result {
        /// Which.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Ctrl-C, or SIGTERM.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// What the system said about a file.
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}
