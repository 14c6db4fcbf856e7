//! Keeps `planted-bugs.txt` honest: every line it takes out is there, once. Planting them and running the tests is a script's work.

use std::{fs, path::Path};

#[test]
fn every_line_to_be_taken_out_is_found_once() {
    let crate_path = Path::new(env!("CARGO_MANIFEST_DIR"));
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
    assert!(bugs >= 12, "{bugs}");
}
