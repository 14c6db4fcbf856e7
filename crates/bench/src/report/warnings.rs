//! What must be known before the figures are believed, in one list at the head of a report.

use crate::report::doubts::Doubt;
use crate::report::settings;
use crate::report::summary::Summary;
use crate::result::{Run, Subject};

/// The warnings; none for runs without blemish.
pub(crate) fn of(summary: &Summary<'_>, subjects: &[&Subject]) -> Vec<String> {
    let mut warnings = settings::warnings(subjects);
    let fewest = summary.cells().map(|repeats| repeats.runs.len()).min();
    let most = summary.cells().map(|repeats| repeats.runs.len()).max();
    match (fewest, most) {
        (None, _) => warnings.push("Nothing was measured: the result holds no run.".to_string()),
        (Some(1), Some(1)) => {
            warnings.push("Everything was measured once: the noise between repeats is unknown, and no difference is judged.".to_string());
        }
        (Some(1), _) => {
            warnings.push("Some of it was measured once: its noise is unknown, and its differences are not judged.".to_string())
        }
        (Some(2), _) => {
            warnings.push("Measured twice only: of equal subjects, one comparison in five looks like a difference by chance.".to_string());
        }
        _ => {}
    }
    if summary.missing() > 0 {
        warnings.push(format!("{} combinations of workload, threads and subject were not measured.", summary.missing()));
    }
    let runs: Vec<&Run> = summary.cells().flat_map(|repeats| repeats.runs.iter().copied()).collect();
    for doubt in Doubt::ALL {
        let doubtful = runs.iter().filter(|run| doubt.reason(run).is_some()).count();
        if doubtful > 0 {
            warnings.push(format!("{doubtful} of {} runs marked ({}): {}.", runs.len(), doubt.letter(), doubt.meaning()));
        }
    }
    warnings
}
