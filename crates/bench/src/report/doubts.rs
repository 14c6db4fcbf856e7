//! Why a run's figures are to be doubted: marks beside them, and the reasons in words.

use crate::result::Run;

/// Share of processor time given to other machines, in percent, from which on a run is marked.
pub(crate) const STEAL_MARKED_PERCENT: f64 = 1.0;

/// A reason to doubt a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    /// The driver, not the server, limited the run.
    DriverBound,
    /// The hypervisor gave processor time to others.
    Steal,
    /// The driver counted errors or lost connections.
    Errors,
    /// The run answered nothing.
    Nothing,
}

impl Doubt {
    /// All of them, in the order of their marks.
    pub const ALL: [Self; 4] = [Self::DriverBound, Self::Steal, Self::Errors, Self::Nothing];

    /// The mark beside a figure.
    pub fn letter(self) -> char {
        match self {
            Self::DriverBound => 'd',
            Self::Steal => 's',
            Self::Errors => 'e',
            Self::Nothing => 'n',
        }
    }

    /// What the mark means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::DriverBound => "driver-bound: the driver, not the server, set the limit",
            Self::Steal => "stolen time: the hypervisor gave processor time to other machines",
            Self::Errors => "errors or lost connections",
            Self::Nothing => "no transaction ended well",
        }
    }

    /// The reason in this run's figures, if the run has it.
    pub fn reason(self, run: &Run) -> Option<String> {
        match self {
            Self::DriverBound => run.driver_bound.clone(),
            Self::Steal if run.steal_percent >= STEAL_MARKED_PERCENT => Some(format!("{:.1} % stolen", run.steal_percent)),
            Self::Errors if run.errors + run.reconnects > 0 => {
                Some(format!("{} errors, {} reconnects in {} transactions", run.errors, run.reconnects, run.transactions))
            }
            Self::Nothing if run.transactions == 0 => Some("no transaction ended well".to_string()),
            _ => None,
        }
    }
}

/// The doubts of some runs together, each once.
pub(crate) fn of<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<Doubt> {
    let runs: Vec<&Run> = runs.into_iter().collect();
    Doubt::ALL.into_iter().filter(|doubt| runs.iter().any(|run| doubt.reason(run).is_some())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_marked_for_what_they_suffered() {
        let clean = Run { transactions: 10, steal_percent: 0.9, ..Run::default() };
        assert_eq!(of([&clean]), []);
        let stolen = Run { steal_percent: 1.0, ..clean.clone() };
        let lost = Run { reconnects: 1, driver_bound: Some("sysbench used 1.9 of 2 cores".to_string()), ..clean.clone() };
        assert_eq!(of([&clean, &stolen, &lost]), [Doubt::DriverBound, Doubt::Steal, Doubt::Errors]);
        assert_eq!(of([&Run::default()]), [Doubt::Nothing]);
    }
}
