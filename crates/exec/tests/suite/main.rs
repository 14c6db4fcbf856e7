//! The executor against an embedded store: statements as SQL text. One program, because each links all the crates below it.

mod dml;
mod locking;
mod queries;
mod random_statements;
mod schema_states;
mod support;
mod windows;
