//! `trine`: the command line around the crates. Thin: reads configuration, wires the roles together, ends in order.

mod cli;
mod config;
mod embedded;
mod logging;

use std::process::ExitCode;

use clap::Parser as _;

/// One allocator for Rust and the C++ engine; it gives memory back to the system in the background.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match embedded::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trine: {error:#}");
            ExitCode::FAILURE
        }
    }
}
