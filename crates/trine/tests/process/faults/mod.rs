//! Faults of a cluster of three machines under load: nothing acknowledged is lost, no transaction sees what snapshot isolation forbids, writes go on.
//!
//! ```text
//!   clients (appends, transfers) ──────────────────────────────────────────────────────────────▶ histories, checked as a whole at the end
//!   faults      wait until all is well ─▶ strike ─▶ probe: how long until a write succeeds ─▶ mend ─▶ probe all servers ─▶ ADMIN CHECK TABLE ─▶ next
//! ```
//!
//! A probe writes rows in every region in one transaction, so it needs the leader of each, and timestamps. It is sent to each SQL server that the fault
//! has left alone. The rows are used by probes only, each server's by its own: what is measured is the fault, not the load. A SQL server that is
//! killed holds locks on all of them.
//!
//! `TRINE_FAULTS_ROUNDS` says how often all faults are gone through, after the first time in random order. The test makes networks and mounts
//! file systems, so it must run as root.

mod append;
mod bank;
mod client;
mod machines;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use base::TableId;
use testkit::{
    Direction, Random,
    history::{self, Transaction},
    mysql::{self, Conn, Row, prelude::Queryable as _},
    wait_until, with_private_network,
};

use self::{
    append::Recorder,
    bank::Transfers,
    machines::{MACHINES, Machines, PATIENCE, ROLES, Role, connect},
};
use crate::stores::client::Client as StoreClient;

/// Seconds until a write succeeds after a fault, unless `TRINE_FAULTS_LIMIT` says otherwise. Ten are the goal; a machine that compiles beside
/// the test, or a binary without optimisation, needs longer.
const LIMIT_SECONDS: u64 = 30;
/// Longer than the leases of regions, placement driver and SQL servers: who comes back has lost all of them.
const LONGER_THAN_LEASES: Duration = Duration::from_secs(15);
/// Left on a nearly full disk: less than a store needs to take writes.
const DISK_LEFT: u64 = 64 << 20;
const TABLES: [&str; 3] = ["lists", "accounts", "ledger"];

/// Who is struck.
#[derive(Clone, Copy, Debug)]
enum Who {
    /// Whose member of the placement driver leads.
    PdLeader,
    /// One whose member does not.
    PdFollower,
    /// Whose store leads the most regions.
    MostRegions,
    /// Whose store leads the fewest.
    FewestRegions,
    /// This one.
    Machine(usize),
}

/// What happens.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// `kill -9` of one process.
    Kill(Role, Who),
    /// A machine is gone at once: nobody is told that its connections have ended.
    PowerOff(Who),
    /// All processes of a machine stop for a while and go on as if nothing had happened.
    Pause(Who),
    /// A machine does not reach the others, or is not reached by them. Clients reach it.
    Cut(Who, Direction),
    /// Little is free on the disk of a store, so that it refuses writes.
    NearlyFullDisk,
    /// No byte is free there, so that it cannot write what it has promised.
    FullDisk,
    /// A store comes back with an empty disk.
    LostDisk(Who),
}

const FAULTS: [Fault; 14] = [
    Fault::LostDisk(Who::MostRegions),
    Fault::Kill(Role::Kv, Who::MostRegions),
    Fault::Kill(Role::Kv, Who::FewestRegions),
    Fault::Kill(Role::Pd, Who::PdLeader),
    Fault::Kill(Role::Pd, Who::PdFollower),
    Fault::Kill(Role::Sql, Who::Machine(1)),
    Fault::PowerOff(Who::PdLeader),
    Fault::Pause(Who::MostRegions),
    Fault::Pause(Who::PdLeader),
    Fault::Cut(Who::PdLeader, Direction::Both),
    Fault::Cut(Who::MostRegions, Direction::Out),
    Fault::Cut(Who::PdLeader, Direction::In),
    Fault::NearlyFullDisk,
    Fault::FullDisk,
];

impl Fault {
    /// Which machine is struck.
    fn target(self, machines: &Machines) -> usize {
        let (Self::Kill(_, who) | Self::PowerOff(who) | Self::Pause(who) | Self::Cut(who, _) | Self::LostDisk(who)) = self else {
            return 0;
        };
        match who {
            Who::PdLeader => machines.leader_of_pd(),
            Who::PdFollower => (machines.leader_of_pd() + 1) % MACHINES,
            Who::MostRegions => machines.by_leaders()[0],
            Who::FewestRegions => machines.by_leaders()[MACHINES - 1],
            Who::Machine(machine) => machine,
        }
    }

    /// Whether the SQL server of the machine that is struck goes on serving.
    fn spares_sql(self) -> bool {
        matches!(self, Self::Kill(Role::Pd | Role::Kv, _) | Self::NearlyFullDisk | Self::FullDisk | Self::LostDisk(_))
    }

    /// Answers the moment from which on something is missing.
    fn strike(self, machines: &mut Machines, machine: usize) -> Instant {
        let mut struck = Instant::now();
        match self {
            Self::Kill(Role::Sql, _) => {
                // It dies with locks on everything.
                let mut connection = connect(machines.sql_address(machine)).expect("a connection");
                wait_until("locks", PATIENCE, || lock_all(&mut connection).ok()).expect("locks");
                struck = Instant::now();
                machines.kill_role(machine, Role::Sql);
            }
            Self::Kill(role, _) => machines.kill_role(machine, role),
            Self::PowerOff(_) => {
                machines.network.cut(machine, Direction::Both).expect("a cut");
                ROLES.into_iter().for_each(|role| machines.kill_role(machine, role));
            }
            Self::Pause(_) => machines.signal(machine, libc::SIGSTOP),
            Self::Cut(_, direction) => machines.network.cut(machine, direction).expect("a cut"),
            Self::NearlyFullDisk => machines.disk.fill(DISK_LEFT).expect("a nearly full disk"),
            Self::FullDisk => machines.disk.fill(0).expect("a full disk"),
            Self::LostDisk(_) => {
                let store = machines.store(machine).expect("it is known")["store"]["id"].clone();
                machines.kill_role(machine, Role::Kv);
                std::fs::remove_dir_all(machines.store_directory(machine)).expect("the disk is lost");
                machines.ask("DELETE", &format!("store/{store}?force=true")).expect("the placement driver is told");
                machines.start_role(machine, Role::Kv);
            }
        }
        struck
    }

    fn mend(self, machines: &mut Machines, machine: usize) {
        match self {
            Self::Kill(role, _) => machines.start_role(machine, role),
            Self::PowerOff(_) => {
                machines.network.heal(machine).expect("no cut");
                ROLES.into_iter().for_each(|role| machines.start_role(machine, role));
            }
            Self::Pause(_) => machines.signal(machine, libc::SIGCONT),
            Self::Cut(..) => machines.network.heal(machine).expect("no cut"),
            Self::NearlyFullDisk | Self::FullDisk => {
                machines.disk.free().expect("a disk with room");
                // A store that cannot write what it has promised ends.
                if !machines.runs(machine, Role::Kv) {
                    machines.start_role(machine, Role::Kv);
                }
            }
            Self::LostDisk(_) => {}
        }
    }
}

/// Locks the rows of all servers' probes.
fn lock_all(connection: &mut Conn) -> mysql::Result<()> {
    connection.query_drop("ROLLBACK")?;
    connection.query_drop("BEGIN PESSIMISTIC")?;
    for machine in 0..MACHINES {
        touch(connection, machine)?;
    }
    Ok(())
}

/// Changes the rows of a server's probes.
fn touch(connection: &mut Conn, machine: usize) -> mysql::Result<()> {
    let join = |ids: &mut dyn Iterator<Item = i64>| ids.map(|id| id.to_string()).collect::<Vec<_>>().join(",");
    let accounts = join(&mut bank::probe_rows(machine));
    connection.query_drop(format!("UPDATE accounts SET touched = touched + 1 WHERE id IN ({accounts})"))?;
    let lists = join(&mut append::probe_rows(machine));
    connection.query_drop(format!("UPDATE lists SET touched = touched + 1 WHERE id IN ({lists})"))
}

/// Writes to every region over one server.
fn write_all(machines: &Machines, machine: usize) -> anyhow::Result<()> {
    let mut connection = connect(machines.sql_address(machine))?;
    connection.query_drop("BEGIN PESSIMISTIC")?;
    touch(&mut connection, machine)?;
    Ok(connection.query_drop("COMMIT")?)
}

/// How long after `started` it takes until each of some servers has written.
fn probe(machines: &Machines, servers: &[usize], started: Instant) -> Vec<Duration> {
    let one = |machine| {
        let mut reason = String::new();
        let write = || write_all(machines, machine).map_err(|error| reason = error.to_string()).ok();
        let written = wait_until(&format!("a write over SQL server {machine}"), PATIENCE, write);
        written.unwrap_or_else(|error| panic!("{error}: {reason}"));
        started.elapsed()
    };
    std::thread::scope(|scope| {
        let probes: Vec<_> = servers.iter().map(|machine| scope.spawn(|| one(*machine))).collect();
        probes.into_iter().map(|probe| probe.join().expect("no panic")).collect()
    })
}

/// Strikes once, in a cluster where all is well; answers how long no write succeeded.
fn strike_once(machines: &mut Machines, fault: Fault) -> Duration {
    machines.wait_for_replicas();
    let machine = fault.target(machines);
    let servers = |spared: bool| (0..MACHINES).filter(|n| spared || *n != machine).collect::<Vec<_>>();
    let (left, all) = (servers(fault.spares_sql()), servers(true));
    println!("{fault:?} of machine {machine}");
    let struck = fault.strike(machines, machine);
    let without = probe(machines, &left, struck);
    if matches!(fault, Fault::Pause(_) | Fault::Cut(..)) {
        std::thread::sleep(LONGER_THAN_LEASES.saturating_sub(struck.elapsed()));
    }
    let mended = Instant::now();
    fault.mend(machines, machine);
    let again = probe(machines, &all, mended);
    let checked = Instant::now();
    let mut connection = connect(machines.sql_address((machine + 1) % MACHINES)).expect("a connection");
    for table in TABLES {
        connection.query_drop(format!("ADMIN CHECK TABLE {table}")).expect("rows and index entries agree");
    }
    let slowest = without.iter().max().copied().unwrap_or_default();
    println!(
        "{fault:?} of machine {machine}: first writes after {without:.1?}; mended: after {again:.1?}, {:.1?} in all; tables checked in {:.1?}",
        checked - mended,
        checked.elapsed()
    );
    slowest
}

/// The tables, each in several regions.
fn prepare(machines: &Machines) {
    let mut connection = connect(machines.sql_address(0)).expect("a connection");
    for table in bank::TABLES.into_iter().chain([append::TABLE]) {
        connection.query_drop(table).expect(table);
    }
    bank::prepare(&mut connection);
    append::prepare(&mut connection);
    let jobs: Vec<Row> = connection.query("ADMIN SHOW DDL JOBS 3").expect("jobs");
    // A table's id follows that of the job that made it; the newest job is the first.
    let table = |job: usize| TableId(jobs[job].get::<i64, _>(0).expect("an id") + 1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut client = StoreClient::new(&format!("http://{}:2379", machines.network.address(0)));
    let lists = (0..3).map(|part| (table(0), i64::from(part * append::STRIDE)));
    let accounts = [(table(1), 0), (table(2), 8 * bank::STRIDE), (table(2), 16 * bank::STRIDE)];
    for (table, row) in accounts.into_iter().chain(lists) {
        runtime.block_on(client.split(codec::table::int_record_key(table, row)));
    }
}

/// Runs the clients while `faults` are made; answers what they have recorded.
fn under_load(machines: &mut Machines, recorder: &Recorder, faults: impl FnOnce(&mut Machines)) -> (Vec<Transaction>, Transfers) {
    /// Stops the clients also when a fault panics.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        let servers = (0..MACHINES).map(|machine| (machines.sql_address(machine), machine as u64 + 1));
        let clients: Vec<_> = servers
            .map(|(address, seed)| {
                let stop = &stop;
                (scope.spawn(move || recorder.run(address, seed, stop)), scope.spawn(move || bank::run(address, seed, stop)))
            })
            .collect();
        faults(machines);
        stop.store(true, Ordering::SeqCst);
        let (mut history, mut transfers) = (Vec::new(), Transfers::new());
        for (appending, paying) in clients {
            history.extend(appending.join().expect("no panic"));
            transfers.extend(paying.join().expect("no panic"));
        }
        (history, transfers)
    })
}

#[test]
fn nothing_is_lost_or_torn_and_writes_go_on_whatever_fails_on_one_machine() {
    with_private_network(|| {
        let rounds = std::env::var("TRINE_FAULTS_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
        let only = std::env::var("TRINE_FAULTS_ONLY").unwrap_or_default();
        let seconds = std::env::var("TRINE_FAULTS_LIMIT").ok().and_then(|text| text.parse().ok()).unwrap_or(LIMIT_SECONDS);
        let limit = Duration::from_secs(seconds);
        let mut random = Random::seeded();
        let mut machines = Machines::start();
        prepare(&machines);
        let recorder = Recorder::new();
        let mut late = Vec::new();
        let (history, transfers) = under_load(&mut machines, &recorder, |machines| {
            for round in 0..rounds {
                let mut faults: Vec<_> = FAULTS.into_iter().filter(|fault| format!("{fault:?}").contains(&only)).collect();
                if round > 0 {
                    (1..faults.len()).for_each(|last| faults.swap(last, random.below(last + 1)));
                }
                for fault in faults {
                    let took = strike_once(machines, fault);
                    late.extend((took > limit).then(|| format!("{fault:?}: {took:.1?}")));
                }
            }
        });
        println!("appends and reads of lists: {}", append::summary(&history));
        println!("transfers: {}", bank::summary(&transfers));
        let mut connection = connect(machines.sql_address(0)).expect("a connection");
        bank::check(&mut connection, &transfers);
        let anomalies = history::anomalies(&history, &append::lists(&mut connection));
        for anomaly in anomalies.iter().take(20) {
            println!("{anomaly}");
        }
        if !anomalies.is_empty() {
            history.iter().enumerate().for_each(|(place, transaction)| println!("{place}: {transaction:?}"));
        }
        assert!(anomalies.is_empty(), "{} anomalies; the whole history stands above", anomalies.len());
        assert!(late.is_empty(), "no write within {limit:?}: {late:?}");
    });
}
