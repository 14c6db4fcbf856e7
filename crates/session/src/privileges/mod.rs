//! Privileges: what accounts and roles were granted, and what a statement needs.
//!
//! ```text
//! mysql.user, db, tables_priv, columns_priv, global_grants ─► Grants of each account and role ─┐
//! mysql.role_edges, default_roles ─► which roles are active ───────────────────────────────────┴─► Access of a session
//!
//! statement ─ has a plan ─► tables and columns the plan names ─┬─► Access ─► goes on, or 1142, 1143
//!           └ has none ───► its needs ([`needs`]) ─────────────┘           or 1044, 1142, 1227
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`set`] | sets of static and of dynamic privileges |
//! | [`grants`] | what one account or role was granted |
//! | [`access`] | what a session may do |
//! | [`needs`] | what each kind of statement needs |
//! | [`check`] | whether the session may; MySQL's errors |
//! | [`grant`], [`roles`], [`show`] | GRANT and REVOKE; roles; SHOW GRANTS |
//! | [`host`] | host patterns of accounts |
//! | [`rows`] | privileges in `information_schema` |
//!
//! Invariants:
//! - a change holds for the statements that begin after it, of connections that are open too (MySQL waits for the next connection where privileges
//!   on `*.*` are concerned);
//! - every kind of statement has an entry in [`needs`]: the match there has no arm for the rest;
//! - who may read and change all rows pays one comparison a statement; others one look into a set per plan they use again.

pub(crate) mod access;
pub(crate) mod check;
pub(crate) mod grant;
pub(crate) mod grants;
pub(crate) mod host;
pub(crate) mod needs;
pub(crate) mod roles;
mod rows;
pub(crate) mod set;
mod show;
pub(crate) mod tables;

pub(crate) use access::Access;
pub(crate) use grants::Grants;
pub(crate) use set::{DynamicSet, Privilege, PrivilegeSet};
pub(crate) use tables::GrantTables;
