//! What a server says about itself, and what the kernel says about it.

use std::{process::Command, time::Duration};

use testkit::Server;

/// The value of a metric of the status port; fails when there is none of that name and labels.
pub fn store_metric(server: &Server, name: &str) -> u64 {
    let url = format!("http://127.0.0.1:{}/metrics", server.status_port());
    let output = Command::new("curl").args(["-sf", &url]).output().expect("curl runs");
    assert!(output.status.success(), "{url}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
    value.unwrap_or_else(|| panic!("{name} is not in\n{text}")) as u64
}

/// CPU time of all threads of a server. Threads that ended are not counted; those that do the work live as long as the process.
pub fn cpu_time(server: &Server) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("the process runs");
    let nanos = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
