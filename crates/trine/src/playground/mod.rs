//! `trine playground`: a whole cluster on this machine, each role a process of its own, for trying things out.
//!
//! ```text
//!   first start ─▶ free ports, written down ─▶ placement drivers ─▶ stores ─▶ SQL servers ─▶ how to connect
//!   later ones  ─▶ the same ports and directories                          stop: in the opposite order, on a signal
//! ```
//!
//! What the processes log comes out here, each line behind the name of its process. A process that ends is reported and stays away: that is how one
//! sees what a cluster does without it.

mod child;
mod layout;

use std::{io::Write as _, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result, bail};

use self::{
    child::Child,
    layout::{Layout, Role},
};
use crate::{cli::PlaygroundArgs, process::Signals};

/// Between two looks whether all processes are still there.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Placement drivers share one disk with everything else: how full it is says nothing about where replicas should be.
const PD_SETTINGS: &str = "[schedule]\nlow-space-ratio = 1.0\n";

/// Starts the cluster, and stops it on a signal.
pub fn run(args: &PlaygroundArgs) -> Result<()> {
    let directory = std::path::absolute(&args.data_dir).context("the data directory has no absolute path")?;
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let layout = Layout::load_or_make(&directory, args.pd, args.kv, args.sql)?;
    std::fs::write(directory.join("pd.toml"), PD_SETTINGS).context("cannot write the placement drivers' settings")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(serve(&directory, &layout, args.log_level.as_deref().unwrap_or("warn")))
}

async fn serve(directory: &std::path::Path, layout: &Layout, log_level: &str) -> Result<()> {
    let mut signals = Signals::listen()?;
    let mut children = Vec::new();
    let started = start_all(directory, layout, log_level, &mut children, &mut signals).await;
    if let Ok(true) = started {
        say(&layout.how_to_connect(directory));
        watch(&mut children, &mut signals).await;
    }
    stop_all(children);
    started.map(|_| ())
}

/// Starts role after role; `false` when a signal came before all were ready.
async fn start_all(
    directory: &std::path::Path,
    layout: &Layout,
    log_level: &str,
    children: &mut Vec<Child>,
    signals: &mut Signals,
) -> Result<bool> {
    for role in [Role::Pd, Role::Kv, Role::Sql] {
        let first = children.len();
        for index in 0..layout.count(role) {
            let mut arguments = layout.arguments(role, index, directory);
            arguments.push(format!("--log-level={log_level}"));
            children.push(Child::start(layout::name(role, index), &arguments)?);
        }
        for child in &mut children[first..] {
            loop {
                if child.is_ready() {
                    break;
                }
                if let Some(ended) = child.ended()? {
                    bail!("{} did not start: {ended}", child.name());
                }
                tokio::select! {
                    _ = signals.next() => return Ok(false),
                    () = tokio::time::sleep(Duration::from_millis(20)) => {}
                }
            }
        }
    }
    Ok(true)
}

/// Reports processes that end, until a signal comes.
async fn watch(children: &mut Vec<Child>, signals: &mut Signals) {
    loop {
        tokio::select! {
            signal = signals.next() => {
                say(&format!("stopping ({signal})"));
                return;
            }
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        children.retain_mut(|child| match child.ended() {
            Ok(None) => true,
            Ok(Some(ended)) => {
                say(&format!("{} has ended ({ended}); the others go on", child.name()));
                false
            }
            Err(error) => {
                say(&format!("{} cannot be watched: {error:#}", child.name()));
                false
            }
        });
    }
}

/// SQL servers first, placement drivers last: who stops can still say good-bye to the others. Those of one role stop together.
fn stop_all(children: Vec<Child>) {
    let mut left = children;
    for role in [Role::Sql, Role::Kv, Role::Pd] {
        let (of_role, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|child| child.name().starts_with(role.name()));
        of_role.iter().for_each(Child::terminate);
        of_role.into_iter().for_each(Child::wait);
        left = others;
    }
}

/// Tells whoever started the playground; that nobody listens any more is no reason to end.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The default data directory.
pub fn default_directory() -> PathBuf {
    PathBuf::from("trine-playground")
}
