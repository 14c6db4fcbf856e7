//! `kill -9` under write load: what was acknowledged is there, nothing is torn, indexes agree with rows.

use std::time::Instant;

use crate::{Scratch, recording::Record};

const ROUNDS: usize = 10;
/// Acknowledged commits to wait for before each kill.
const COMMITS_PER_ROUND: u64 = 200;

#[test]
fn acknowledged_commits_survive_ten_kills() {
    let mut scratch = Scratch::start();
    let mut record = Record::prepare(&scratch.server);
    for round in 0..ROUNDS {
        let writers = record.write(&scratch.server);
        writers.wait_for(COMMITS_PER_ROUND);
        let started = Instant::now();
        scratch = scratch.crash_and_restart();
        println!("round {round}: {} commits, recovered in {:?}", writers.commits(), started.elapsed());
        record = writers.stop();
        record.check(&scratch.server);
    }
}
