//! Three machines with a placement driver, a store and a SQL server each, in a network of their own.

use std::{
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use testkit::{
    Network, SmallDisk,
    mysql::{Conn, OptsBuilder},
    wait_until,
};

use crate::{pd::page, stores::cluster::Process};

/// How many machines there are: one may be lost.
pub const MACHINES: usize = 3;
/// Longer than everything takes that must happen before the next fault.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The disk of the store of machine 0, which is filled.
const DISK_BYTES: u64 = 768 << 20;
/// Longer than any statement waits for a cluster that cannot serve it.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// What runs on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Pd,
    Kv,
    Sql,
}

/// All roles, in the order they are started in.
pub const ROLES: [Role; 3] = [Role::Pd, Role::Kv, Role::Sql];

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Pd => "pd",
            Self::Kv => "kv",
            Self::Sql => "sql",
        }
    }

    /// What stands before the address in the banner.
    fn marker(self) -> &'static str {
        match self {
            Self::Pd => "clients:",
            Self::Kv => "stores and clients:",
            Self::Sql => "MySQL clients:",
        }
    }
}

/// The cluster. What does not run is `None`.
pub struct Machines {
    pub network: Network,
    processes: [[Option<Process>; 3]; MACHINES],
    /// A file system of its own for the store of machine 0.
    pub disk: SmallDisk,
    directory: Option<tempfile::TempDir>,
}

impl Machines {
    /// Starts all of it, in the private network of this thread.
    pub fn start() -> Self {
        let network = Network::create(MACHINES).expect("a network");
        let directory = tempfile::tempdir().expect("a temporary directory");
        // Replicas are made whatever the disk of the machine that runs the tests has left.
        std::fs::write(directory.path().join("pd.toml"), "[schedule]\nlow-space-ratio = 1.0\n").expect("the configuration can be written");
        std::fs::write(directory.path().join("sql.toml"), "[security]\nallow-empty-root-password = true\n").expect("and the other one");
        let disk = SmallDisk::create(&directory.path().join("small"), DISK_BYTES).expect("a small disk");
        let mut machines = Self { network, processes: Default::default(), disk, directory: Some(directory) };
        for role in ROLES {
            (0..MACHINES).for_each(|machine| machines.start_role(machine, role));
        }
        machines
    }

    fn root(&self) -> &Path {
        self.directory.as_ref().expect("it is kept until the end").path()
    }

    /// Where a store's data are.
    pub fn store_directory(&self, machine: usize) -> PathBuf {
        if machine == 0 { self.root().join("small/kv0") } else { self.root().join(format!("kv{machine}")) }
    }

    fn arguments(&self, machine: usize, role: Role) -> Vec<String> {
        let address = self.network.address(machine);
        let all = |port: u16| (0..MACHINES).map(|n| format!("{}:{port}", self.network.address(n))).collect::<Vec<_>>();
        let drivers = format!("--pd={}", all(2379).join(","));
        let own = match role {
            Role::Pd => {
                let initial = all(2380).iter().enumerate().map(|(n, peer)| format!("pd{n}=http://{peer}")).collect::<Vec<_>>().join(",");
                vec![
                    format!("--name=pd{machine}"),
                    format!("--config={}", self.root().join("pd.toml").display()),
                    format!("--data-dir={}", self.root().join(format!("pd{machine}")).display()),
                    format!("--client-urls=http://{address}:2379"),
                    format!("--peer-urls=http://{address}:2380"),
                    format!("--initial-cluster={initial}"),
                ]
            }
            Role::Kv => vec![
                drivers,
                format!("--addr={address}:20160"),
                format!("--status-addr={address}:20180"),
                format!("--data-dir={}", self.store_directory(machine).display()),
            ],
            // The clients are not on the machine.
            Role::Sql => vec![drivers, format!("--host={address}"), format!("--config={}", self.root().join("sql.toml").display())],
        };
        let level = std::env::var("TRINE_FAULTS_LOG").map(|level| format!("--log-level={level}"));
        std::iter::once(role.name().to_owned()).chain(own).chain(level).collect()
    }

    /// Starts a process that does not run, on the data it has.
    pub fn start_role(&mut self, machine: usize, role: Role) {
        let log = self.root().join(format!("{}{machine}.log", role.name()));
        let arguments = self.arguments(machine, role);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let process = self.network.within(machine, || Process::start(&arguments, role.marker(), &log)).expect("on the machine");
        self.processes[machine][role as usize] = Some(process);
    }

    /// `kill -9`
    pub fn kill_role(&mut self, machine: usize, role: Role) {
        self.processes[machine][role as usize].take().expect("it runs").kill();
    }

    /// Whether a process has not ended by itself.
    pub fn runs(&mut self, machine: usize, role: Role) -> bool {
        self.processes[machine][role as usize].as_mut().is_some_and(Process::runs)
    }

    /// Sends a signal to every process of a machine.
    pub fn signal(&self, machine: usize, signal: libc::c_int) {
        self.processes[machine].iter().flatten().for_each(|process| process.signal(signal));
    }

    /// Where the SQL server of a machine is.
    pub fn sql_address(&self, machine: usize) -> Ipv4Addr {
        self.network.address(machine)
    }

    /// A page of the placement driver, asked of the members in turn until one answers.
    pub fn ask(&self, method: &str, path: &str) -> Option<Value> {
        let members = (0..MACHINES).filter(|machine| self.processes[*machine][Role::Pd as usize].is_some());
        let mut answers = members.filter_map(|machine| page(&format!("{}:2379", self.network.address(machine)), method, path));
        answers.find(|(status, _)| *status == 200).map(|(_, page)| page)
    }

    /// The machine whose member of the placement driver leads.
    pub fn leader_of_pd(&self) -> usize {
        let leader = || self.ask("GET", "status")?["name"].as_str()?.strip_prefix("pd")?.parse().ok();
        wait_until("a leader of the placement driver", PATIENCE, leader).expect("a leader")
    }

    /// The machines in the order of how many regions their stores lead: the most first.
    pub fn by_leaders(&self) -> [usize; MACHINES] {
        let count = |machine| self.store(machine).and_then(|store| store["status"]["leader_count"].as_u64());
        let mut machines = [0, 1, 2];
        machines.sort_by_key(|machine| std::cmp::Reverse(wait_until("the store is known", PATIENCE, || count(*machine)).expect("known")));
        machines
    }

    /// The page of the store that a machine has now.
    pub fn store(&self, machine: usize) -> Option<Value> {
        let address = format!("{}:20160", self.network.address(machine));
        let page = self.ask("GET", "stores")?;
        let is_it = |store: &&Value| store["store"]["address"] == *address && store["store"]["state_name"] != "Offline";
        page["stores"].as_array()?.iter().find(is_it).cloned()
    }

    /// Waits until every region has three replicas that have caught up, and a leader.
    pub fn wait_for_replicas(&self) {
        let replicated = || {
            let page = self.ask("GET", "regions")?;
            let whole = |region: &Value| {
                let none = |list: &str| region[list].as_array().is_some_and(Vec::is_empty);
                let voters = region["peers"].as_array().map_or(0, |peers| peers.iter().filter(|peer| peer["role"] == 0).count());
                voters == MACHINES && none("pending_peers") && none("down_peers") && region["leader"].is_object()
            };
            page["regions"].as_array()?.iter().all(whole).then_some(())
        };
        if let Err(error) = wait_until("three replicas of everything", PATIENCE, replicated) {
            panic!("{error}: {:#}\n{:#}", self.ask("GET", "regions").unwrap_or_default(), self.ask("GET", "stores").unwrap_or_default());
        }
    }

    /// Keeps logs and data for whoever looks for the cause of a failure.
    fn keep(&mut self) {
        if let Some(directory) = self.directory.take() {
            println!("logs and data are kept in {}", directory.keep().display());
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.keep();
        }
    }
}

/// Connects to the SQL server at an address.
pub fn connect(address: Ipv4Addr) -> anyhow::Result<Conn> {
    let options = OptsBuilder::new().ip_or_hostname(Some(address.to_string())).tcp_port(4000).user(Some("root")).db_name(Some("test"));
    let options = options.prefer_socket(false).tcp_connect_timeout(Some(Duration::from_secs(2)));
    Ok(Conn::new(options.read_timeout(Some(READ_TIMEOUT)))?)
}
