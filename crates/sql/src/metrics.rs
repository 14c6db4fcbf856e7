//! What the server counts. Registered once a process in the registry the status port shows.

use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// Buckets of statement latencies: 16 µs to about 17 s, doubling.
const LATENCY_BUCKETS: (f64, f64, usize) = (0.000_016, 2.0, 21);

/// Counters of one server.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Connections open now.
    pub connections: IntGauge,
    /// Connections accepted since start.
    pub accepted: IntCounter,
    /// Connections refused because there were too many, or because authentication failed.
    pub refused: IntCounterVec,
    /// Commands served.
    pub commands: IntCounter,
    /// Statements that failed.
    pub errors: IntCounter,
    /// Time from a command's arrival until its answer was handed to the socket, in seconds.
    pub latency: Histogram,
}

impl Metrics {
    /// Creates the counters and registers them.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let (start, factor, count) = LATENCY_BUCKETS;
        let metrics = Self {
            connections: IntGauge::new("trine_sql_connections", "Client connections open now")?,
            accepted: IntCounter::new("trine_sql_connections_accepted_total", "Client connections accepted")?,
            refused: IntCounterVec::new(Opts::new("trine_sql_connections_refused_total", "Client connections refused"), &["reason"])?,
            commands: IntCounter::new("trine_sql_commands_total", "Commands served")?,
            errors: IntCounter::new("trine_sql_errors_total", "Commands answered with an error")?,
            latency: Histogram::with_opts(
                HistogramOpts::new("trine_sql_command_seconds", "Time from a command's arrival to its answer")
                    .buckets(prometheus::exponential_buckets(start, factor, count)?),
            )?,
        };
        registry.register(Box::new(metrics.connections.clone()))?;
        registry.register(Box::new(metrics.accepted.clone()))?;
        registry.register(Box::new(metrics.refused.clone()))?;
        registry.register(Box::new(metrics.commands.clone()))?;
        registry.register(Box::new(metrics.errors.clone()))?;
        registry.register(Box::new(metrics.latency.clone()))?;
        Ok(metrics)
    }
}
