//! How long the disk takes for a synced write: 4 KiB appended, then fdatasync.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use crate::{Error, result::SyncLatency};

/// Writes at most.
const WRITES: usize = 500;
/// Time at most.
const LIMIT: Duration = Duration::from_secs(2);

/// Measures in a file of its own in the directory.
pub fn measure(directory: &Path) -> Result<SyncLatency, Error> {
    let path = directory.join("sync-probe");
    let mut file = File::create(&path).map_err(Error::file("write", &path))?;
    let block = [0x5a_u8; 4096];
    let (start, mut micros) = (Instant::now(), Vec::new());
    while micros.len() < WRITES && (micros.is_empty() || start.elapsed() < LIMIT) {
        let began = Instant::now();
        file.write_all(&block).and_then(|()| file.sync_data()).map_err(Error::file("write", &path))?;
        micros.push(began.elapsed().as_secs_f64() * 1e6);
    }
    drop(file);
    std::fs::remove_file(&path).map_err(Error::file("remove", &path))?;
    micros.sort_by(f64::total_cmp);
    let at = |share: f64| micros[((micros.len() as f64 * share).ceil() as usize).clamp(1, micros.len()) - 1];
    Ok(SyncLatency { p50: at(0.5), p95: at(0.95), max: at(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_tells_ascending_times_and_leaves_nothing_behind() {
        let directory = tempfile::tempdir().expect("a directory");
        let SyncLatency { p50, p95, max } = measure(directory.path()).expect("measured");
        assert!(0.0 < p50 && p50 <= p95 && p95 <= max);
        assert_eq!(std::fs::read_dir(directory.path()).expect("the directory").count(), 0);
    }
}
