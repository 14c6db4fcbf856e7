//! A MariaDB of our own: its data in a directory of ours, started from nothing.
//!
//! What it is told beyond its defaults, unless the scenario says otherwise: every commit is synced, there is no binary log, and the buffer pool holds the
//! data, so that it does what Trine does.

use std::{process::Command, time::Duration};

use toml::{Table, Value};

use super::{
    Endpoint, Launch, ServerProcess,
    child::{Start, find_program},
};
use crate::Error;

const PACKAGE: &str = "mariadb-server";

/// Options that the scenario's are laid over.
fn defaults() -> Table {
    Table::from_iter([
        ("innodb-flush-log-at-trx-commit".to_owned(), Value::Integer(1)),
        ("innodb-buffer-pool-size".to_owned(), Value::String("2G".to_owned())),
        ("innodb-log-file-size".to_owned(), Value::String("512M".to_owned())),
        ("max-connections".to_owned(), Value::Integer(2000)),
    ])
}

/// Makes its data directory and starts it.
pub fn start(launch: &mut Launch<'_>) -> Result<(), Error> {
    let program = find_program("mariadbd", PACKAGE, "")?;
    let install = find_program("mariadb-install-db", PACKAGE, "")?;
    let data = format!("--datadir={}", launch.data("mariadbd"));
    // SAFETY: a plain system call.
    let is_root = unsafe { libc::geteuid() } == 0;
    let user = is_root.then(|| "--user=root".to_owned());
    let mut making = Command::new(&install);
    making.args(["--no-defaults", &data, "--auth-root-authentication-method=normal", "--skip-test-db"]).args(&user);
    let made = making.output().map_err(Error::file("start", &install))?;
    if !made.status.success() {
        return Err(Error::ServerEnded {
            target: launch.name.clone(),
            process: "mariadb-install-db".to_owned(),
            status: made.status,
            log: String::from_utf8_lossy(&[made.stdout, made.stderr].concat()).trim_end().to_owned(),
        });
    }
    let place = launch.site.place(0)?;
    let port = launch.site.port(3306)?;
    let mut options = defaults();
    options.extend(launch.target.configuration.mariadb.clone());
    let mut arguments = vec!["--no-defaults".to_owned(), data];
    arguments.extend(user);
    arguments.extend([
        format!("--socket={}", launch.directory.join("socket").display()),
        format!("--pid-file={}", launch.directory.join("pid").display()),
        format!("--bind-address={}", place.host),
        format!("--port={port}"),
    ]);
    if !options.keys().any(|name| name.replace('_', "-") == "log-bin") {
        arguments.push("--skip-log-bin".to_owned());
    }
    arguments.extend(options.iter().map(|(name, value)| match value {
        Value::String(text) => format!("--{name}={text}"),
        value => format!("--{name}={value}"),
    }));
    let start =
        Start { target: launch.name.clone(), name: "mariadbd".to_owned(), program, arguments, log: launch.directory.join("mariadbd.log") };
    launch.configuration.insert("mariadbd".to_owned(), start.command_line());
    launch.begin_of_start();
    let mut process = ServerProcess::start(start, &place)?;
    process.wait_for("ready for connections", Duration::from_secs(120))?;
    launch.processes.push(process);
    launch.endpoints.push(Endpoint { host: place.host, port });
    Ok(())
}
