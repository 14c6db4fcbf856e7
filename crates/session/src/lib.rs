//! Sessions: what a connection remembers between statements, and how a statement finds its way to planner and executor.
//!
//! | module | what it is |
//! |---|---|
//! | `session` | one client's session and the calls the server makes on it |
//! | `run` | statements with a plan: cache, transactions, repeats |
//! | `statements` | statements the session does itself |
//! | `transaction` | explicit and implied transactions, savepoints |
//! | `plan_cache` | plans of prepared and text statements |
//! | `prepared` | prepared statements |
//! | [`vars`] | system variables |
//! | `set`, `show`, `admin`, `explain`, `analyze`, `split` | the statements of these names |
//! | `accounts`, `users`, `transport`, `logins` | accounts and passwords; the statements that change them; what accounts ask of connections; failed logins |
//! | `privileges` | what accounts were granted, what statements need; GRANT, REVOKE, roles |
//! | `secrets` | statements without their passwords |
//! | `virtual_tables` | rows of `information_schema` that describe sessions |
//! | `connections`, `deadlocks` | who is connected; KILL; who ran into each other |
//! | `notices`, `peers`, `cluster_tables`, `regions` | what servers of a cluster tell and ask each other; tables about all of them; regions of tables |
//! | `domain`, `background` | what all sessions share, and what the server does by itself |
//!
//! Invariants:
//! - a statement happens whole or not at all; what was acknowledged is never repeated;
//! - no lock is shared by all sessions on the path of a statement whose plan the session has used before.

mod accounts;
mod admin;
mod analyze;
mod background;
mod cluster_tables;
mod connections;
mod cursor;
mod deadlocks;
mod domain;
mod error;
mod explain;
mod field_list;
mod host;
mod load;
mod logins;
mod notices;
mod panics;
mod peers;
mod persisted;
mod plan_cache;
mod prepared;
mod privileges;
mod regions;
mod result;
mod run;
mod secrets;
mod session;
mod set;
mod show;
mod split;
mod statements;
mod track;
mod transaction;
mod transport;
mod user_locks;
mod users;
pub mod vars;
mod virtual_tables;

pub use accounts::{Account, Accounts};
pub use connections::{ConnectionHandle, ConnectionRegistry, Identity, Process};
pub use cursor::CursorRows;
pub use domain::{Domain, DomainConfig};
pub use error::Error;
pub use field_list::Field;
pub use load::LocalLoad;
pub use logins::Logins;
pub use prepared::PreparedInfo;
pub use result::{Outcome, ResultRows, StatementResult};
pub use session::{ClientInfo, Session};
pub use track::Change;
pub use transport::{Certificate, Requirement, Transport};
pub use users::PasswordHasher;
