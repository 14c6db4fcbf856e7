//! The scenarios that come with the program, so that one binary is enough to repeat a report.

/// A scenario within the program.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its file's name without `.toml`.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! scenarios {
    ($($name:literal,)*) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../../../bench/scenarios/", $name, ".toml")) },)*]
    };
}

/// All of them, by name. A test compares this list with the folder.
pub fn shipped() -> &'static [Shipped] {
    scenarios![
        "configuration",
        "cpu-size",
        "embedded-against-mariadb",
        "multi-zone",
        "nvme-sweep",
        "pod-network",
        "range-selects",
        "single-zone",
        "through-service",
        "tpcc-latency",
        "tpcc-throughput",
    ]
}
