//! Plans, ranges, errors and estimates from SQL text. One program, because each links all the crates below it.

mod errors;
mod explain;
mod fixture;
mod ranges;
mod statistics;
