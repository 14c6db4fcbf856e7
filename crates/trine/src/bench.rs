//! `trine bench`: a report from one scenario file. What it does is in the crate of that name; here are its flags.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use ::bench::{
    result::BenchResult,
    run,
    scenario::{self, Loaded, Override, Size},
};
use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand, ValueEnum};

/// What is done.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Runs a scenario: a file, or the name of a shipped one. Writes result.json and the report
    Run(Box<RunArgs>),
    /// Names the shipped scenarios.
    List,
    /// Writes the report of a result again, and shows its essence.
    Report(ReportArgs),
    /// Writes a comparison of two results, and shows its essence.
    Compare(CompareArgs),
}

/// Flags of `trine bench report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A result.json, or the directory it is in
    #[arg(value_name = "RESULT")]
    result: PathBuf,

    /// Directory of report.md and report.html [default: that of the result]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Figures of a run, in this order: tpm-c, qps, tps, latency-50, latency-95, latency-99, server-cpu [default: the scenario's]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    figures: Option<Vec<scenario::Figure>>,

    /// Parts beside the figures: glance, charts, series, details, resources, repeat [default: the scenario's]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    parts: Option<Vec<scenario::ReportPart>>,
}

/// Flags of `trine bench compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The result that is compared with: a result.json, or the directory it is in
    #[arg(value_name = "A")]
    a: PathBuf,

    /// The result that is compared
    #[arg(value_name = "B")]
    b: PathBuf,

    /// Directory of compare.md and compare.html
    #[arg(long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
}

/// Flags of `trine bench run`; they win over the file.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Scenario files, or names of shipped ones (trine bench list), one after the other
    #[arg(value_name = "FILE|NAME", required_unless_present = "all")]
    scenarios: Vec<String>,

    /// All shipped scenarios
    #[arg(long, conflicts_with = "scenarios")]
    all: bool,

    /// Which size: small ends within minutes on two cores
    #[arg(long, value_enum, default_value_t = SizeArg::Full)]
    size: SizeArg,

    /// Directory of result and report; with several scenarios each has one of its own in it [default: bench-results/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Sets any key: data.rows=1000, target.Trine.configuration.embedded.rocksdb.block-cache-size=128MB
    #[arg(long, value_name = "KEY.PATH=VALUE")]
    set: Vec<String>,

    /// Connections, each number is measured: 1,8,64
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    threads: Vec<u32>,

    /// Measured time of a run
    #[arg(long, value_name = "N")]
    seconds: Option<u32>,

    /// Load before a run that is not counted
    #[arg(long, value_name = "N")]
    warm_up_seconds: Option<u32>,

    /// How often each run is repeated
    #[arg(long, value_name = "N")]
    repeats: Option<u32>,

    /// Driver processes that run together
    #[arg(long, value_name = "N")]
    drivers: Option<u32>,

    /// Tables of sysbench
    #[arg(long, value_name = "N")]
    tables: Option<u32>,

    /// Rows of each table
    #[arg(long, value_name = "N")]
    rows: Option<u64>,

    /// Warehouses of TPC-C
    #[arg(long, value_name = "N")]
    warehouses: Option<u32>,

    /// Names of sysbench scripts
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    workloads: Vec<String>,

    /// Only these targets of the scenario
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    targets: Vec<String>,

    /// Measure running servers instead of the scenario's targets: host:port of each
    #[arg(long, value_name = "HOST:PORT,…", value_delimiter = ',')]
    endpoint: Vec<String>,

    /// User at all targets
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// Their password
    #[arg(long, value_name = "TEXT")]
    password: Option<String>,

    /// The trine binary that is started [default: this one]
    #[arg(long, value_name = "FILE")]
    binary: Option<String>,

    /// Text protocol instead of prepared statements
    #[arg(long)]
    text: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SizeArg {
    Full,
    Small,
}

/// Does what was asked for.
pub fn run(command: &BenchCommand) -> Result<()> {
    match command {
        BenchCommand::Run(args) => run_scenarios(args),
        BenchCommand::List => list(),
        BenchCommand::Report(args) => {
            let directory = args.output.clone().unwrap_or_else(|| match args.result.is_dir() {
                true => args.result.clone(),
                false => args.result.parent().unwrap_or(Path::new(".")).to_owned(),
            });
            let mut result = run::read(&args.result)?;
            let shown = &mut result.report;
            shown.figures = args.figures.clone().unwrap_or_else(|| std::mem::take(&mut shown.figures));
            shown.parts = args.parts.clone().unwrap_or_else(|| std::mem::take(&mut shown.parts));
            report(&result, &directory)
        }
        BenchCommand::Compare(args) => compare(args),
    }
}

/// One after the other. One that fails does not hold up the next, unless it was stopped.
fn run_scenarios(args: &RunArgs) -> Result<()> {
    let size = match args.size {
        SizeArg::Full => Size::Full,
        SizeArg::Small => Size::Small,
    };
    let names = match args.all {
        true => scenario::shipped().iter().map(|shipped| shipped.name.to_owned()).collect(),
        false => args.scenarios.clone(),
    };
    // What cannot be read is said before hours are spent on others.
    let loaded = names.iter().map(|name| scenario::load(name, size, &args.overrides())).collect::<Result<Vec<_>, _>>()?;
    let mut failed = Vec::new();
    for one in &loaded {
        let output = match &args.output {
            Some(output) if loaded.len() > 1 => output.join(&one.name),
            Some(output) => output.clone(),
            None => Path::new("bench-results").join(format!("{}-{}", one.name, jiff::Zoned::now().strftime("%Y%m%d-%H%M%S"))),
        };
        match run_scenario(one, &output) {
            Err(error) if loaded.len() > 1 && !matches!(error.downcast_ref(), Some(::bench::Error::Interrupted)) => {
                let _ = writeln!(std::io::stderr(), "trine: {}: {error:#}", one.name);
                failed.push(one.name.clone());
            }
            ended => ended?,
        }
    }
    if !failed.is_empty() {
        bail!("{} of {} scenarios failed: {}", failed.len(), loaded.len(), failed.join(", "));
    }
    Ok(())
}

fn run_scenario(loaded: &Loaded, output: &Path) -> Result<()> {
    let result = run::run(loaded, output).with_context(|| format!("what was measured until then is in {}", output.display()))?;
    say(&format!("result: {}", output.join("result.json").display()));
    report(&result, output)
}

fn report(result: &BenchResult, directory: &Path) -> Result<()> {
    let written = ::bench::report::write(result, directory)?;
    say(&::bench::report::terminal(result));
    say(&format!("report: {}, {}", written.html.display(), written.markdown.display()));
    Ok(())
}

fn compare(args: &CompareArgs) -> Result<()> {
    let (a, b) = (run::read(&args.a)?, run::read(&args.b)?);
    let written = ::bench::compare::write(&a, &b, &args.output)?;
    say(&::bench::compare::terminal(&a, &b));
    say(&format!("comparison: {}, {}", written.html.display(), written.markdown.display()));
    Ok(())
}

fn list() -> Result<()> {
    let shipped = scenario::shipped();
    let width = shipped.iter().map(|shipped| shipped.name.len()).max().unwrap_or(0);
    for shipped in shipped {
        let loaded = scenario::load(shipped.name, Size::Full, &[])?;
        say(&format!("{:width$}  {}", shipped.name, loaded.scenario.title));
    }
    Ok(())
}

/// Nobody may be listening; that is no reason to fail.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

impl RunArgs {
    /// Assignments in the order in which they are laid over the scenario: `--set` first, named flags over it.
    fn overrides(&self) -> Vec<Override> {
        let mut overrides: Vec<Override> = self.set.iter().map(|text| Override::Set(text.clone())).collect();
        let numbers = [
            ("seconds", self.seconds.map(u64::from)),
            ("warm-up-seconds", self.warm_up_seconds.map(u64::from)),
            ("repeats", self.repeats.map(u64::from)),
            ("drivers", self.drivers.map(u64::from)),
            ("data.tables", self.tables.map(u64::from)),
            ("data.rows", self.rows),
            ("data.warehouses", self.warehouses.map(u64::from)),
        ];
        let texts = [("target.*.user", &self.user), ("target.*.password", &self.password), ("target.*.binary", &self.binary)];
        if !self.targets.is_empty() {
            overrides.push(Override::OnlyTargets(self.targets.clone()));
        }
        if !self.endpoint.is_empty() {
            overrides.push(Override::Endpoints(self.endpoint.clone()));
        }
        overrides.extend(numbers.into_iter().filter_map(|(key, value)| Some(Override::Set(format!("{key}={}", value?)))));
        overrides.extend(texts.into_iter().filter_map(|(key, value)| Some(Override::Text(key.to_owned(), value.clone()?))));
        if !self.threads.is_empty() {
            overrides.push(Override::Set(format!("threads={:?}", self.threads)));
        }
        if !self.workloads.is_empty() {
            overrides.push(Override::Set(format!("workloads={:?}", self.workloads)));
        }
        if self.text {
            overrides.push(Override::Text("sysbench.options.db-ps-mode".to_owned(), "disable".to_owned()));
        }
        overrides
    }
}
