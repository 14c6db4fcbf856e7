//! Trine as a target: one process with all roles, or a process for each.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use toml::{Table, Value};

use super::{Endpoint, Launch, ServerProcess, child::Start, site::Place};
use crate::{Error, scenario::Target};

/// Time a process has to say that it serves, also behind a recovery.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Starts one process with all roles.
pub fn start_embedded(launch: &mut Launch<'_>) -> Result<(), Error> {
    let place = launch.site.place(0)?;
    let port = launch.site.port(4000)?;
    let arguments = vec![
        format!("--data-dir={}", launch.data("trine")),
        format!("--host={}", place.host),
        format!("--port={port}"),
        "--status-port=0".to_owned(),
    ];
    let configuration = open_to_drivers(launch.target.configuration.embedded.clone(), &place);
    start(launch, "trine", arguments, configuration, &place)?;
    launch.endpoints.push(Endpoint { host: place.host, port });
    Ok(())
}

/// Starts placement drivers, then stores, then SQL servers.
pub fn start_cluster(launch: &mut Launch<'_>, [pd, kv, sql]: [usize; 3]) -> Result<(), Error> {
    let members = start_members(launch, pd)?;
    let first_store = launch.processes.len();
    for index in 0..kv {
        let place = launch.site.place(index)?;
        let (port, status) = (launch.site.port(20160)?, launch.site.port(20180)?);
        let name = format!("kv-{index}");
        let mut arguments = vec![
            "kv".to_owned(),
            format!("--pd={members}"),
            format!("--data-dir={}", launch.data(&name)),
            format!("--addr={}:{port}", place.host),
            format!("--status-addr={}:{status}", place.host),
        ];
        arguments.extend(place.zone.map(|zone| format!("--labels=zone=z{zone}")));
        let configuration = launch.target.configuration.kv.clone();
        start(launch, &name, arguments, configuration, &place)?;
    }
    ready(&mut launch.processes[first_store..])?;
    for index in 0..sql {
        let place = launch.site.place(index)?;
        let (port, status) = (launch.site.port(4000)?, launch.site.port(10080)?);
        let arguments = vec![
            "sql".to_owned(),
            format!("--pd={members}"),
            format!("--host={}", place.host),
            format!("--port={port}"),
            format!("--status-port={status}"),
        ];
        let configuration = open_to_drivers(launch.target.configuration.sql.clone(), &place);
        start(launch, &format!("sql-{index}"), arguments, configuration, &place)?;
        launch.endpoints.push(Endpoint { host: place.host, port });
    }
    Ok(())
}

/// Starts the placement drivers; returns their client addresses.
fn start_members(launch: &mut Launch<'_>, count: usize) -> Result<String, Error> {
    let mut members = Vec::new();
    for index in 0..count {
        let place = launch.site.place(index)?;
        let ports = (launch.site.port(2379)?, launch.site.port(2380)?);
        members.push((format!("pd-{index}"), place, ports));
    }
    let initial: Vec<String> = members.iter().map(|(name, place, (_, peers))| format!("{name}=http://{}:{peers}", place.host)).collect();
    // Several stores share one disk: how full it is says nothing about where replicas should be.
    let mut configuration: Table =
        Table::from_iter([("schedule".to_owned(), Value::Table(Table::from_iter([("low-space-ratio".to_owned(), Value::Float(1.0))])))]);
    if launch.target.network.zones > 1 {
        let labels = Value::Array(vec![Value::String("zone".to_owned())]);
        configuration.insert("replication".to_owned(), Value::Table(Table::from_iter([("location-labels".to_owned(), labels)])));
    }
    crate::scenario::lay_over(&mut configuration, &launch.target.configuration.pd);
    for (name, place, (clients, peers)) in &members {
        let arguments = vec![
            "pd".to_owned(),
            format!("--name={name}"),
            format!("--data-dir={}", launch.data(name)),
            format!("--client-urls=http://{}:{clients}", place.host),
            format!("--peer-urls=http://{}:{peers}", place.host),
            format!("--initial-cluster={}", initial.join(",")),
        ];
        start(launch, name, arguments, configuration.clone(), place)?;
    }
    ready(&mut launch.processes)?;
    Ok(members.iter().map(|(_, place, (clients, _))| format!("{}:{clients}", place.host)).collect::<Vec<_>>().join(","))
}

/// Root has no password; where drivers do not come over loopback, the server must be told to let it in.
fn open_to_drivers(mut configuration: Table, place: &Place) -> Table {
    let is_loopback = place.host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    let security = configuration.entry("security").or_insert_with(|| Value::Table(Table::new()));
    if let Some(security) = security.as_table_mut().filter(|_| !is_loopback) {
        security.entry("allow-empty-root-password").or_insert(Value::Boolean(true));
    }
    configuration
}

fn start(launch: &mut Launch<'_>, name: &str, mut arguments: Vec<String>, mut configuration: Table, place: &Place) -> Result<(), Error> {
    if !configuration.contains_key("log-level") && !configuration.contains_key("log") {
        configuration.insert("log-level".to_owned(), Value::String("warn".to_owned()));
    }
    let file = launch.directory.join(format!("{name}.toml"));
    let text = configuration.to_string();
    std::fs::write(&file, &text).map_err(Error::file("write", &file))?;
    arguments.push(format!("--config={}", file.display()));
    let start = Start {
        target: launch.name.clone(),
        name: name.to_owned(),
        program: binary(launch.target)?,
        arguments,
        log: launch.directory.join(format!("{name}.log")),
    };
    let mut applied = start.command_line();
    let _ = write!(applied, "\n\n{text}"); // Writing to a string cannot fail.
    launch.configuration.insert(name.to_owned(), applied);
    launch.processes.push(ServerProcess::start(start, place)?);
    Ok(())
}

fn ready(processes: &mut [ServerProcess]) -> Result<(), Error> {
    processes.iter_mut().try_for_each(|process| process.wait_for("is ready.", START_LIMIT))
}

/// The program: that of the target, or this one.
fn binary(target: &Target) -> Result<PathBuf, Error> {
    if target.binary.is_empty() {
        return std::env::current_exe().map_err(Error::file("find", "this program"));
    }
    let path = Path::new(&target.binary);
    std::path::absolute(path).map_err(Error::file("find", path))
}
