//! Targets: servers that are started for a measurement and stopped behind it, or are given.
//!
//! | module | what it is |
//! |---|---|
//! | `trine`, `mariadb` | what is started for a topology, with which command lines and files |
//! | `site` | addresses, ports, network and processors of a target's processes |
//! | `child` | one process |
//! | `balancer` | a TCP balancer in front of them |
//! | `account` | connections to a target, as a client |
//!
//! Every process of a started target is known, so that its processor time and memory can be told; of given endpoints nothing is.

mod account;
mod balancer;
mod child;
mod mariadb;
mod site;
mod trine;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

pub use self::{
    account::{Account, Client, Endpoint},
    child::{end_of_file, end_with_us, find_program},
};
use self::{child::ServerProcess, site::Site};
use crate::{
    Error, interrupt,
    measure::process,
    result::ProcessUse,
    scenario::{SubjectPlan, Target, Topology},
};

/// Time a started target has to answer its first query.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// Time a target is waited for to become idle.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// Cores that a target may use beyond its use at rest and still be called idle.
const IDLE_CORES: f64 = 0.02;

/// A target that serves. Its processes are stopped when it goes.
#[derive(Debug)]
pub struct Running {
    /// Who connects.
    pub account: Account,
    /// Where drivers connect.
    pub endpoints: Vec<Endpoint>,
    /// Command line and file of each process.
    pub configuration: BTreeMap<String, String>,
    /// Network between drivers and servers, in words.
    pub network: String,
    /// From start of the processes to the first answered query.
    pub start_seconds: Option<f64>,
    processes: Vec<ServerProcess>,
    /// Cores used at rest.
    idle_cores: f64,
    _site: Site,
}

/// A target that is being started.
struct Launch<'a> {
    name: String,
    target: &'a Target,
    directory: PathBuf,
    site: Site,
    processes: Vec<ServerProcess>,
    endpoints: Vec<Endpoint>,
    configuration: BTreeMap<String, String>,
    began: Instant,
}

impl Launch<'_> {
    /// The data directory of a process.
    fn data(&self, process: &str) -> String {
        self.directory.join(process).display().to_string()
    }

    /// What was done until now is not part of the start.
    fn begin_of_start(&mut self) {
        self.began = Instant::now();
    }
}

impl Running {
    /// Starts a subject's target with its data under `directory`, or connects to it, and waits until every endpoint answers.
    pub fn start(plan: &SubjectPlan, directory: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(directory).map_err(Error::file("make", directory))?;
        let target = &plan.target;
        let mut launch = Launch {
            name: plan.name.clone(),
            target,
            directory: directory.to_owned(),
            site: Site::new(target, plan.topology)?,
            processes: Vec::new(),
            endpoints: Vec::new(),
            configuration: BTreeMap::new(),
            began: Instant::now(),
        };
        match plan.topology {
            Topology::Embedded => trine::start_embedded(&mut launch)?,
            Topology::Cluster { pd, kv, sql } => trine::start_cluster(&mut launch, [pd, kv, sql])?,
            Topology::MariaDb => mariadb::start(&mut launch)?,
            Topology::Endpoints => {
                launch.endpoints = target.endpoints.iter().map(|text| Endpoint::parse(&plan.name, text)).collect::<Result<_, _>>()?
            }
        }
        if target.network.balancer {
            balancer::start(&mut launch)?;
        }
        let is_ours = plan.topology != Topology::Endpoints;
        let network = if is_ours { launch.site.in_words() } else { "as given".to_owned() };
        let began = launch.began;
        let mut running = Self {
            account: Account::new(&plan.name, target),
            endpoints: std::mem::take(&mut launch.endpoints),
            configuration: std::mem::take(&mut launch.configuration),
            network,
            start_seconds: None,
            processes: std::mem::take(&mut launch.processes),
            idle_cores: 0.0,
            _site: std::mem::take(&mut launch.site),
        };
        running.wait_for_answers(if is_ours { ANSWER_LIMIT } else { Duration::ZERO })?;
        running.start_seconds = is_ours.then(|| began.elapsed().as_secs_f64());
        Ok(running)
    }

    fn wait_for_answers(&mut self, limit: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + limit;
        for endpoint in &self.endpoints {
            loop {
                match self.account.connect(endpoint) {
                    Ok(_) => break,
                    Err(error) if Instant::now() >= deadline => return Err(error),
                    Err(_) => {}
                }
                self.processes.iter_mut().try_for_each(ServerProcess::check)?;
                interrupt::sleep(Duration::from_millis(5))?;
            }
        }
        Ok(())
    }

    /// An error if a process has ended.
    pub fn check(&mut self) -> Result<(), Error> {
        self.processes.iter_mut().try_for_each(ServerProcess::check)
    }

    /// Whether the processes are ours, so that what they use is known.
    pub fn is_watched(&self) -> bool {
        self.processes.iter().any(|process| process.name() != balancer::PROCESS)
    }

    /// Processor time and memory of each process until now.
    pub fn uses(&mut self) -> Result<Vec<ProcessUse>, Error> {
        let mut uses = Vec::new();
        for process in &mut self.processes {
            process.check()?;
            let pid = process.pid();
            let cpu_seconds = process::cpu_seconds(pid).unwrap_or_default();
            uses.push(ProcessUse {
                name: process.name().to_owned(),
                cpu_seconds,
                resident_bytes: process::resident_bytes(pid).unwrap_or_default(),
            });
        }
        Ok(uses)
    }

    /// Processor time of the servers among such processes: a balancer is none.
    pub fn server_seconds(uses: &[ProcessUse]) -> f64 {
        uses.iter().filter(|process| process.name != balancer::PROCESS).map(|process| process.cpu_seconds).sum()
    }

    /// Processor time of all processes together until now.
    fn cpu_seconds(&self) -> f64 {
        self.processes.iter().filter_map(|process| process::cpu_seconds(process.pid())).sum()
    }

    /// Waits until the target does nothing but what it does at rest: for a second, no more than a fiftieth of a core beyond it.
    pub fn wait_until_idle(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + IDLE_LIMIT;
        while self.is_watched() && Instant::now() < deadline {
            let (before, began) = (self.cpu_seconds(), Instant::now());
            interrupt::sleep(Duration::from_secs(1))?;
            self.check()?;
            if (self.cpu_seconds() - before) / began.elapsed().as_secs_f64() <= self.idle_cores * 1.3 + IDLE_CORES {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Cores used over a time at rest; what is used then is not called busy later.
    pub fn measure_idle(&mut self, time: Duration) -> Result<f64, Error> {
        let (before, began) = (self.cpu_seconds(), Instant::now());
        interrupt::sleep(time)?;
        self.check()?;
        self.idle_cores = (self.cpu_seconds() - before) / began.elapsed().as_secs_f64();
        Ok(self.idle_cores)
    }

    /// Stops the processes, those that others depend on last.
    fn stop(&mut self) {
        let mut left = std::mem::take(&mut self.processes);
        while let Some(last) = left.last() {
            let role = last.name().split('-').next().unwrap_or_default().to_owned();
            let first = left.iter().position(|process| process.name().starts_with(&role)).unwrap_or_default();
            let mut of_role = left.split_off(first);
            of_role.iter().for_each(ServerProcess::terminate);
            of_role.iter_mut().for_each(ServerProcess::wait);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Drop for Launch<'_> {
    /// A start that failed leaves nothing behind.
    fn drop(&mut self) {
        self.processes.iter().for_each(ServerProcess::terminate);
        self.processes.iter_mut().for_each(ServerProcess::wait);
    }
}
