//! Mutated bytes against everything that reads bytes it did not write: packets, SQL, keys, rows, records.
//!
//! Each target has a corpus of good inputs. They are mutated with a fixed seed, some ten thousand times; inputs that a decoder accepts join the
//! corpus, so that mutations get deeper. A target answers whether the input was accepted and asserts what must hold of it, mostly
//! that encoding it again gives the same bytes. A panic is a failure and prints the input.
//!
//! `TRINE_FUZZ_SECONDS=600 cargo test --release -p trine --test fuzz` fuzzes each target for that long, with new seeds; `TRINE_FUZZ_SEED`
//! repeats a run.

mod keys;
mod mutation;
mod packets;
mod records;
mod rows;
mod sql;
