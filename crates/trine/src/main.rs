//! `trine`: the command line around the crates. Thin: reads configuration, wires the roles together, ends in order.

mod bench;
mod cli;
mod config;
mod ctl;
mod embedded;
mod front;
mod kv;
mod kv_config;
mod logging;
mod pd;
mod pd_config;
mod playground;
mod process;
mod sql;
mod store_metrics;
mod tls;
mod version;

use std::process::ExitCode;

use clap::Parser as _;

/// One allocator for Rust and the C++ engine; it gives memory back to the system in the background.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Read by the allocator when the process starts. A statement takes and gives back some kilobytes, so by default (64 KiB) a thread would look
/// through its cache of free blocks for ones to give back every few statements.
// SAFETY: the allocator looks for a pointer to a C string under this name; a reference to an array is one, and the array ends with a zero.
#[unsafe(export_name = "malloc_conf")]
pub static ALLOCATOR_SETTINGS: &[u8; 29] = b"tcache_gc_incr_bytes:4194304\0";

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let ended = match &cli.command {
        Some(cli::Command::Pd(args)) => pd::run(args),
        Some(cli::Command::Kv(args)) => kv::run(args),
        Some(cli::Command::Sql(args)) => sql::run(args),
        Some(cli::Command::Playground(args)) => playground::run(args),
        Some(cli::Command::Ctl(args)) => ctl::run(args),
        Some(cli::Command::Bench { command }) => bench::run(command),
        None => embedded::run(&cli),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trine: {error:#}");
            ExitCode::FAILURE
        }
    }
}
