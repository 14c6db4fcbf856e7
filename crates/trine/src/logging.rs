//! Structured log lines on standard error.

use anyhow::{Result, bail};
use tracing_subscriber::{EnvFilter, fmt::time::UtcTime};

/// Levels that can be asked for.
pub const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Starts logging at `level`, as text or JSON lines.
pub fn start(level: &str, format: &str) -> Result<()> {
    let level = level.to_ascii_lowercase();
    let level = if level == "warning" { "warn" } else { level.as_str() };
    if !LEVELS.contains(&level) {
        bail!("log level {level:?} is none of {}", LEVELS.join(", "));
    }
    // What goes over each connection is for those who debug HTTP/2.
    let directives = format!("{level},h2=info,hyper_util=info,tower=info");
    let directives = if ["error", "warn"].contains(&level) { level.to_owned() } else { directives };
    let builder =
        tracing_subscriber::fmt().with_env_filter(EnvFilter::new(directives)).with_writer(std::io::stderr).with_timer(UtcTime::rfc_3339());
    match format {
        "text" => builder.with_ansi(false).init(),
        "json" => builder.json().init(),
        _ => bail!("log format {format:?} is neither text nor json"),
    }
    Ok(())
}
