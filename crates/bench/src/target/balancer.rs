//! A TCP balancer between drivers and SQL servers, as a service in front of them is one: HAProxy.

use super::{
    Endpoint, Launch, ServerProcess,
    child::{Start, find_program},
    site::Place,
};
use crate::Error;

/// Name of its process, which is not one of the servers.
pub const PROCESS: &str = "haproxy";

/// Puts it in front of the endpoints that there are; it is the only one then.
pub fn start(launch: &mut Launch<'_>) -> Result<(), Error> {
    let program = find_program("haproxy", "haproxy", "")?;
    let port = launch.site.free_port()?;
    let servers: Vec<String> =
        launch.endpoints.iter().enumerate().map(|(number, endpoint)| format!("  server sql-{number} {endpoint}\n")).collect();
    let text = format!(
        "global\n  maxconn 4000\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\nlisten mysql\n  \
         bind 127.0.0.1:{port}\n  balance leastconn\n{}",
        servers.concat()
    );
    let file = launch.directory.join("haproxy.cfg");
    std::fs::write(&file, &text).map_err(Error::file("write", &file))?;
    let start = Start {
        target: launch.name.clone(),
        name: PROCESS.to_owned(),
        program,
        arguments: vec!["-db".to_owned(), "-f".to_owned(), file.display().to_string()],
        log: launch.directory.join("haproxy.log"),
    };
    launch.configuration.insert(PROCESS.to_owned(), format!("{}\n\n{text}", start.command_line()));
    launch.processes.push(ServerProcess::start(start, &Place::on_this_machine())?);
    launch.endpoints = vec![Endpoint { host: "127.0.0.1".to_owned(), port }];
    Ok(())
}
