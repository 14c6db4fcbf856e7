//! Power loss: what was never synced is gone, what was acknowledged is not.
//!
//! The data directory is an ext4 file system whose page cache is dropped at a random moment under the running server (see
//! [`testkit::Ext4Disk`]). That this can fail at all is shown by the same with `sync-log = false`.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use testkit::{Ext4Disk, Random, Server, ServerOptions, wait_until, with_private_mounts};

use crate::{
    BINARY,
    recording::{Record, Writers},
};

/// Room for the store and its logs; a sparse file.
const DISK_BYTES: u64 = 1 << 30;
/// `TRINE_POWER_LOSS_ROUNDS` makes more of them.
const ROUNDS: u64 = 6;

/// Write buffers that fill within a round, so that flushes, new logs and new manifests are under way when the power goes.
const SMALL_BUFFERS: &str = "[rocksdb.defaultcf]\nwrite-buffer-size = \"64KB\"\n[rocksdb.writecf]\nwrite-buffer-size = \"64KB\"\n\
                             [rocksdb.lockcf]\nwrite-buffer-size = \"64KB\"\n";
const RELAXED: &str = "[raftstore]\nsync-log = false\n";

/// A server on a disk that can lose power.
struct Machine {
    options: ServerOptions,
    server: Server,
    disk: Ext4Disk,
    _directory: tempfile::TempDir,
}

impl Machine {
    fn start(config: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mount_point = directory.path().join("data");
        let disk = Ext4Disk::create(&mount_point, DISK_BYTES).expect("an ext4 file system");
        let options = ServerOptions { config: config.to_owned(), ..ServerOptions::new(BINARY, &mount_point) };
        let server = Server::start(&options).expect("the server starts");
        Self { options, server, disk, _directory: directory }
    }

    /// Starts the server again in the usual way, with another configuration.
    fn restart_with(mut self, config: &str) -> Self {
        self.server.terminate().expect("the server ends");
        self.options.config = config.to_owned();
        let server = Server::start(&self.options).expect("the server starts again");
        Self { server, ..self }
    }

    /// Loses power under the writers, and starts again; answers what they knew before that, and how long the server took to recover.
    ///
    /// The kernel may let a sync end well that was under way at that instant although it came too late; a machine without power could
    /// not have told anybody. So what counts is what was acknowledged before. A server that cannot write its log any more must
    /// stop by itself, for it cannot keep what it would promise.
    fn lose_power_and_restart(mut self, writers: Writers) -> (Self, Record, Duration) {
        let acknowledged = writers.acknowledged();
        self.disk.lose_power().expect("the file system is shut down");
        wait_until("the server stops", Duration::from_secs(20), || (!self.server.is_running()).then_some(()))
            .expect("a failed write or sync of the log stops the server");
        self.disk.power_on().expect("the file system is mounted again");
        let started = Instant::now();
        let server = Server::start(&self.options).expect("the server starts again");
        (Self { server, ..self }, writers.stop().known_at(&acknowledged), started.elapsed())
    }
}

#[test]
fn acknowledged_commits_survive_power_loss() {
    with_private_mounts(|| {
        let mut random = Random::seeded();
        let mut machine = Machine::start("");
        let mut record = Record::prepare(&machine.server);
        let mut report = String::new();
        let rounds = std::env::var("TRINE_POWER_LOSS_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
        for round in 0..rounds {
            let writers = record.write(&machine.server);
            writers.wait_for(20 + random.below(500) as u64);
            machine.options.config = if round % 2 == 0 { SMALL_BUFFERS.to_owned() } else { String::new() };
            let commits = writers.commits();
            let (restarted, recorded, recovery) = machine.lose_power_and_restart(writers);
            (machine, record) = (restarted, recorded);
            writeln!(report, "round {round}: {commits} commits, recovered in {recovery:?}").expect("a string takes it");
            record.check(&machine.server);
        }
        print!("{report}");
    });
}

#[test]
fn without_syncs_power_loss_loses_acknowledged_commits() {
    with_private_mounts(|| {
        let machine = Machine::start("");
        let mut record = Record::prepare(&machine.server);
        let mut machine = machine.restart_with(RELAXED);
        let mut lost = 0;
        for _ in 0..3 {
            let writers = record.write(&machine.server);
            writers.wait_for(500);
            let (restarted, recorded, _) = machine.lose_power_and_restart(writers);
            (machine, record) = (restarted, recorded);
            lost += record.lost(&machine.server);
        }
        println!("{lost} acknowledged commits were lost with sync-log = false");
        assert!(lost > 0, "nothing was lost although nothing was synced: the test of durability could not fail");
    });
}
