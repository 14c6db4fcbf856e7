//! Keeps the lists of planted bugs honest: every line they take out is there, once. Planting them and running the tests is the work of
//! `scripts/planted-bugs`.

use std::{fs, path::Path};

/// Crates with a list, and how many bugs it has at least.
const LISTS: [(&str, usize); 2] = [("mvcc", 11), ("txn", 12)];

#[test]
fn every_line_to_be_taken_out_is_found_once() {
    for (name, fewest) in LISTS {
        let crate_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        let text = fs::read_to_string(crate_path.join("tests/planted-bugs.txt")).expect("the list");
        let mut bugs = 0;
        for block in text.split("\n\n").skip(1) {
            let lines: Vec<&str> = block.trim_end().lines().collect();
            let [name, file, taken_out, put_in] = lines[..] else { panic!("four lines are a bug: {block:?}") };
            let (taken_out, put_in) = (taken_out.strip_prefix('-').expect(name), put_in.strip_prefix('+').expect(name));
            let source = fs::read_to_string(crate_path.join("src").join(file)).expect(name);
            assert_eq!(source.lines().filter(|line| *line == taken_out).count(), 1, "{name}: {taken_out:?} in {file}");
            assert_ne!(taken_out, put_in, "{name}");
            bugs += 1;
        }
        assert!(bugs >= fewest, "{name}: {bugs}");
    }
}
