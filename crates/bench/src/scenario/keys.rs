//! Keys of a scenario: one that nobody knows is an error that names the nearest one.
//!
//! What is known is read off an example in which everything is set: a table there names its keys, the first element of a list stands for all of
//! them, and an empty table takes any keys (they belong to somebody else, who checks them: sysbench its options, the servers their files).

use toml::{Table, Value};

/// Says which key of `given` is not in `example`, and which one is nearest.
pub fn check(given: &Table, example: &Table) -> Result<(), String> {
    within(given, example, "")
}

fn within(given: &Table, example: &Table, prefix: &str) -> Result<(), String> {
    if example.is_empty() {
        return Ok(());
    }
    for (name, value) in given {
        let key = format!("{prefix}{name}");
        let Some(known) = example.get(name) else { return Err(unknown(&key, name, example, prefix)) };
        match (value, known) {
            (Value::Table(given), Value::Table(example)) => within(given, example, &format!("{key}."))?,
            (Value::Array(given), Value::Array(example)) => {
                let Some(Value::Table(example)) = example.first() else { continue };
                for element in given.iter().filter_map(Value::as_table) {
                    within(element, example, &format!("{key}."))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn unknown(key: &str, name: &str, example: &Table, prefix: &str) -> String {
    let near = |known: &&String| (strsim::jaro_winkler(known, name) * 1e6) as u64;
    let nearest = example.keys().max_by_key(near).map_or("", String::as_str);
    format!("unknown key `{key}`; the nearest known key is `{prefix}{nearest}`")
}
