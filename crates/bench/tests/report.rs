//! What reports and comparisons say. Expected pages lie in `tests/golden`; `UPDATE_GOLDEN=1` rewrites them, people review.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

mod small;
mod synthetic;

use std::path::Path;

use bench::result::BenchResult;
use bench::scenario::{Figure, Report, ReportPart};

fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} is not as expected (UPDATE_GOLDEN=1 rewrites it):\n{text}");
}

fn pages(result: &BenchResult) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let written = bench::report::write(result, &directory.path().join("made/when/missing")).unwrap();
    (std::fs::read_to_string(written.markdown).unwrap(), std::fs::read_to_string(written.html).unwrap())
}

#[test]
fn markdown_of_a_small_result() {
    assert_golden("report.md", &pages(&small::result()).0);
}

#[test]
fn terminal_text_of_a_small_result() {
    assert_golden("report.txt", &bench::report::terminal(&small::result()));
}

#[test]
fn comparison_of_two_small_results() {
    let (before, mut after) = (small::result(), small::result());
    after.scenario_text = "threads = [1, 8]\nrepeats = 4\n".to_string();
    after.machine.kernel = "Linux 6.19".to_string();
    after.subjects[0].configuration.insert("server".to_string(), "server --version=1.0\n--cache=2G".to_string());
    after.runs.retain(|run| (run.subject.as_str(), run.threads) != ("new", 8));
    for run in &mut after.runs {
        run.qps *= 1.5;
    }
    let directory = tempfile::tempdir().unwrap();
    let written = bench::compare::write(&before, &after, directory.path()).unwrap();
    assert_golden("compare.md", &std::fs::read_to_string(written.markdown).unwrap());
    assert_golden("compare.txt", &bench::compare::terminal(&before, &after));
}

#[test]
fn differences_within_the_noise_are_not_called_differences() {
    let (markdown, _) = pages(&small::result());
    let row =
        |threads: &str| markdown.lines().find(|line| line.starts_with(threads) && line.contains("5,0") | line.contains("1,0")).unwrap();
    assert!(row("| 1 |").contains("**+20\u{a0}%** (better, spread 2.0\u{a0}%)"), "{}", row("| 1 |"));
    assert!(row("| 8 |").contains("within noise (+2.0\u{a0}%, spread 6.0\u{a0}%)"), "{}", row("| 8 |"));
}

#[test]
fn only_what_is_asked_for_is_shown_but_warnings_and_promises_always_are() {
    let mut result = small::result();
    result.runs.retain(|run| run.repeat == 0);
    result.report = Report { figures: vec![Figure::Latency99, Figure::Tps], parts: vec![ReportPart::Repeat], ..Report::default() };
    let (markdown, html) = pages(&result);
    let headings: Vec<&str> = markdown.lines().filter(|line| line.starts_with("## ")).collect();
    let workload = format!("## {}", result.runs[0].workload);
    assert_eq!(headings, ["## Read with care", "## Durability and isolation", &workload, "## Repeat it"]);
    assert!(markdown.contains("| threads | 99\u{a0}% latency, ms: ") || markdown.contains("| threads | 99 % latency, ms: "), "{markdown}");
    assert!(markdown.contains("TPS: ") && !markdown.contains("QPS: "), "{markdown}");
    assert!(!html.contains("<svg"), "a chart");
}

#[test]
fn long_names_are_letters_in_tables_too() {
    let (markdown, _) = pages(&synthetic::wide());
    assert!(markdown.contains("| threads | QPS: A | QPS: B | QPS: C | QPS: B against A | QPS: C against A |"), "{markdown}");
    assert!(markdown.contains("Subjects: A: trine; B: mariadb; C: trine 3+3+3 through HAProxy, one-phase commit off."), "{markdown}");
}

#[test]
fn noise_of_a_single_repeat_is_unknown_and_nothing_is_judged() {
    let mut result = small::result();
    result.runs.retain(|run| run.repeat == 0);
    let (markdown, html) = pages(&result);
    for page in [&markdown, &html, &bench::report::terminal(&result)] {
        assert!(page.contains("Everything was measured once: the noise between repeats is unknown"), "{page}");
        assert!(page.contains("noise unknown") && !page.contains("better, spread") && !page.contains(" better\n"), "{page}");
    }
}

#[test]
fn unequal_durability_stands_at_the_head() {
    let (markdown, _) = pages(&small::result());
    let warning = markdown.find("Unequal durability: figures are not of the same work (old: synced; new: synced once a second)").unwrap();
    assert!(warning < markdown.find("## At a glance").unwrap());
    assert!(markdown.contains("| durability | **≠ unequal** | **synced** | **synced once a second** |"), "{markdown}");
    assert!(markdown.contains("| isolation | equal | REPEATABLE-READ | REPEATABLE-READ |"), "{markdown}");
}

#[test]
fn runs_with_blemishes_are_marked_and_explained() {
    let (markdown, _) = pages(&synthetic::result(1, 1.0));
    for mark in [
        "(d) trine, 64 threads: sysbench used 0.97 of one core per process\n",
        "(s) mariadb, 16 threads: repeat 2: 3.4 % stolen",
        "(e) mariadb, 64 threads: repeat 3: 7 errors, 0 reconnects",
        "3 of 90 runs marked (d): driver-bound",
    ] {
        assert!(markdown.contains(mark), "{mark} is not in\n{markdown}");
    }
}

#[test]
fn everything_needed_to_repeat_it_is_in_the_page() {
    let result = synthetic::result(1, 1.0);
    let (markdown, html) = pages(&result);
    let mut needed =
        vec![result.machine.cpu.clone(), result.machine.kernel.clone(), "vm.swappiness".to_string(), "sysbench 1.0.20".to_string()];
    needed.extend(
        ["seed", "rows = 100000", "--innodb-buffer-pool-size=2G", "sync-log = true", "max_connections", "24915f1"].map(str::to_string),
    );
    for text in needed {
        assert!(markdown.contains(&text) && html.contains(&text), "{text} is missing");
    }
}

#[test]
fn html_holds_no_foreign_markup_and_loads_nothing() {
    let mut result = small::result();
    let evil = "</title></style><script>alert(1)</script>";
    result.title = evil.to_string();
    result.scenario = evil.to_string();
    result.scenario_text = evil.to_string();
    result.description = format!("{evil} [x](javascript:alert(1))");
    result.started_at = evil.to_string();
    result.machine.cpu = evil.to_string();
    result.drivers = vec![evil.to_string()];
    for subject in &mut result.subjects {
        subject.version = evil.to_string();
        subject.durability = evil.to_string();
        subject.configuration.insert(evil.to_string(), evil.to_string());
    }
    for run in &mut result.runs {
        run.workload = evil.to_string();
        run.driver_bound = Some(evil.to_string());
    }
    let (_, html) = pages(&result);
    for forbidden in ["<script", "</title></style>", "href=\"javascript", "src=", "url(", "@import"] {
        assert!(!html.contains(forbidden), "{forbidden} in the page");
    }
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_eq!(html.matches("</title>").count(), html.matches("<title").count());
    assert_eq!(html.matches("</style>").count(), 1);
}

#[test]
fn results_without_runs_or_subjects_still_make_a_page() {
    let mut result = small::result();
    result.runs.clear();
    assert!(pages(&result).0.contains("Nothing was measured"));
    result.subjects.clear();
    result.loads.clear();
    assert!(pages(&result).1.contains("Nothing was measured"));
    assert!(bench::compare::terminal(&result, &result).contains("Nothing to compare"));
}

#[test]
fn runs_of_unknown_subjects_do_not_vanish_in_silence() {
    let mut result = small::result();
    result.runs[0].subject = "nobody".to_string();
    assert!(pages(&result).0.contains("1 runs are of subjects that the result does not describe"));
}

#[test]
fn single_subjects_are_compared_whatever_they_are_called() {
    let (mut a, mut b) = (small::result(), small::result());
    for (result, name) in [(&mut a, "old"), (&mut b, "new")] {
        result.subjects.retain(|subject| subject.name == name);
        result.runs.retain(|run| run.subject == name);
    }
    let text = bench::compare::terminal(&a, &b);
    assert!(text.contains("old (A) against new (B)") && text.contains("+20\u{a0}% better"), "{text}");
}

#[test]
fn directory_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = bench::report::write(&small::result(), &file.path().join("below")).unwrap_err();
    assert!(error.to_string().contains(&file.path().display().to_string()), "{error}");
}
