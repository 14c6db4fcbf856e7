//! Tables for people: columns side by side, numbers to the right.

use serde_json::Value;

/// Between two columns.
const GAP: &str = "  ";

/// Rows under headings.
#[derive(Debug, Default)]
pub struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Said below.
    note: Option<String>,
}

impl Table {
    /// A table without rows.
    pub fn new<const N: usize>(headings: [&'static str; N]) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new(), note: None }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert!(N == self.headings.len(), "a row of {N} cells under {} headings", self.headings.len());
        self.rows.push(cells.into());
    }

    /// Says something below the table.
    pub fn note(&mut self, text: String) {
        self.note = Some(text);
    }

    /// The text.
    pub fn render(&self) -> String {
        let width = |at: usize| self.rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0).max(self.headings[at].len());
        let is_number = |cell: &String| cell.is_empty() || cell.parse::<f64>().is_ok();
        let right = |at: usize| !self.rows.is_empty() && self.rows.iter().all(|row| is_number(&row[at]));
        let columns: Vec<(usize, bool)> = (0..self.headings.len()).map(|at| (width(at), right(at))).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let padded = cells.zip(&columns).map(|(cell, (width, right))| match right {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
            format!("{}\n", padded.collect::<Vec<_>>().join(GAP).trim_end())
        };
        let mut text = line(&mut self.headings.iter().copied());
        for row in &self.rows {
            text += &line(&mut row.iter().map(String::as_str));
        }
        if let Some(note) = &self.note {
            text += &format!("{note}\n");
        }
        text
    }
}

/// A value as a cell: nothing for what is missing, lists with commas.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// The entries of a list that a page has; none where it has no such list.
pub fn entries<'a>(page: &'a Value, name: &str) -> &'a [Value] {
    let list = if name.is_empty() { page } else { &page[name] };
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_and_numbers_to_the_right() {
        let mut table = Table::new(["ID", "ADDRESS", "LEADERS"]);
        table.row(["1".to_owned(), "127.0.0.1:20160".to_owned(), "7".to_owned()]);
        table.row(["12".to_owned(), "kv2".to_owned(), String::new()]);
        table.note("2 stores".to_owned());
        let lines = ["ID  ADDRESS          LEADERS", " 1  127.0.0.1:20160        7", "12  kv2", "2 stores", ""];
        assert_eq!(table.render(), lines.join("\n"));
    }

    #[test]
    fn cells_are_what_values_look_like() {
        assert_eq!(cell(&serde_json::json!(["a", 1])), "a,1");
        assert_eq!((cell(&Value::Null), cell(&Value::Bool(true))), (String::new(), "true".to_owned()));
    }
}
