//! MySQL's own answers, written as `expression => answer`.
//!
//! Every expression is built and evaluated three times: as a constant, row by row with its literals as columns, and as a
//! vector over those columns; the last two must agree, and the first must be the answer.

mod aggregates;
mod casts;
mod info;
mod json;
mod numeric;
mod operators;
mod script;
mod strings;
mod time;
mod vectors;
mod windows;
