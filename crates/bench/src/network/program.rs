//! Programs of others that are run to their end.

use std::process::Command;

use crate::{Error, target::find_program};

/// Runs a program; an error names the package when it is missing, and what it said when it fails.
fn run(program: &str, package: &'static str, arguments: &str) -> Result<String, Error> {
    let path = find_program(program, package, "")?;
    let output = Command::new(&path).args(arguments.split_whitespace()).output().map_err(Error::file("start", &path))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        return Err(Error::Machine { what: format!("`{program} {arguments}` failed"), reason });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `ip`.
pub(super) fn ip(arguments: &str) -> Result<String, Error> {
    run("ip", "iproute2", arguments)
}

/// Runs `tc`.
pub(super) fn tc(arguments: &str) -> Result<String, Error> {
    run("tc", "iproute2", arguments)
}
