//! Scenarios as raw tables: laying one over another, and setting single keys from the command line.

use toml::{Table, Value};

/// Lays `over` on `base`: tables key by key, everything else replaced.
pub fn lay_over(base: &mut Table, over: &Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => lay_over(base, over),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Sets one key: `seconds=5`, `data.rows=1000`, `target.Trine.configuration.embedded.rocksdb.block-cache-size="64MB"`. An element of a list is named by
/// its `name` or its place (from 0), `*` stands for all of them. The value is TOML; what is not, is a string.
pub fn set(table: &mut Table, assignment: &str) -> Result<(), String> {
    let Some((path, text)) = assignment.split_once('=') else { return Err(format!("`{assignment}` is not of the form key.path=value")) };
    set_value(table, path.trim(), &parse_value(text.trim()))
}

/// Sets one key to a value.
pub fn set_value(table: &mut Table, key: &str, value: &Value) -> Result<(), String> {
    let path: Vec<&str> = key.split('.').collect();
    if path.iter().any(|part| part.is_empty()) {
        return Err(format!("`{key}` is not a key"));
    }
    set_in(table, &path, value).map_err(|what| format!("`{key}`: {what}"))
}

fn parse_value(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>();
    parsed.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn set_in(table: &mut Table, path: &[&str], value: &Value) -> Result<(), String> {
    let [first, rest @ ..] = path else { return Ok(()) };
    if rest.is_empty() {
        table.insert((*first).to_owned(), value.clone());
        return Ok(());
    }
    match table.entry(*first).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(inner) => set_in(inner, rest, value),
        Value::Array(elements) => {
            let [element, rest @ ..] = rest else { return Ok(()) };
            let chosen = choose(elements, element)?;
            chosen.into_iter().try_for_each(|inner| set_in(inner, rest, value))
        }
        _ => Err(format!("`{first}` has no keys of its own")),
    }
}

/// The tables among a list that a part of a path names.
fn choose<'a>(elements: &'a mut [Value], named: &str) -> Result<Vec<&'a mut Table>, String> {
    let place: Option<usize> = named.parse().ok();
    let name = |table: &Table| table.get("name").and_then(Value::as_str).map(str::to_owned);
    let names: Vec<String> = elements.iter().filter_map(|element| element.as_table().and_then(name)).collect();
    let is_named = |table: &Table| name(table).is_some_and(|name| name.eq_ignore_ascii_case(named));
    let is_chosen = |(at, table): &(usize, &mut Table)| named == "*" || place == Some(*at) || is_named(table);
    let tables = elements.iter_mut().enumerate().filter_map(|(at, element)| Some((at, element.as_table_mut()?)));
    let chosen: Vec<&mut Table> = tables.filter(is_chosen).map(|(_, table)| table).collect();
    if chosen.is_empty() {
        return Err(format!("there is no `{named}`, but {}", names.join(", ")));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().expect("TOML")
    }

    #[test]
    fn tables_are_laid_over_key_by_key_and_lists_replaced() {
        let mut base = table("threads = [1, 8]\n[data]\nrows = 100\ntables = 4");
        lay_over(&mut base, &table("threads = [2]\n[data]\nrows = 7"));
        assert_eq!(base, table("threads = [2]\n[data]\nrows = 7\ntables = 4"));
    }

    #[test]
    fn single_keys_are_set_by_path_also_within_lists() {
        let mut scenario = table("[[target]]\nname = \"Trine\"\n[[target]]\nname = \"MariaDB\"");
        for assignment in ["seconds=5", "data.rows = 10", "target.trine.binary=/tmp/x", "target.1.cpu.cores=1.5", "target.*.user=me"] {
            set(&mut scenario, assignment).expect(assignment);
        }
        let wanted = "seconds = 5\n[data]\nrows = 10\n[[target]]\nname = \"Trine\"\nbinary = \"/tmp/x\"\nuser = \"me\"\n\
                      [[target]]\nname = \"MariaDB\"\nuser = \"me\"\n[target.cpu]\ncores = 1.5";
        assert_eq!(scenario, table(wanted));
        let error = set(&mut scenario, "target.oracle.user=x").expect_err("unknown");
        assert_eq!(error, "`target.oracle.user`: there is no `oracle`, but Trine, MariaDB");
        assert!(set(&mut scenario, "seconds").is_err());
        assert!(set(&mut scenario, "seconds.x=1").is_err());
    }
}
