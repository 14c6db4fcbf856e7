//! A page as Markdown. Charts are left to the HTML page; folded details are in the text.

use std::fmt::Write as _;

use crate::report::page::{Block, Page};
use crate::report::render::markup::Markup;
use crate::report::table::{self, Cell, Table, Tone};

/// The whole page; `name` is that of its files, without ending.
pub(crate) fn text(page: &Page, name: &str) -> String {
    let mut text = format!("# {}\n\n", escaped(&page.title));
    if !page.description.trim().is_empty() {
        let _ = write!(text, "{}\n\n", page.description.trim());
    }
    let _ = write!(text, "With charts: [{name}.html]({name}.html).\n\n");
    for (name, value) in &page.facts {
        let _ = writeln!(text, "- **{}:** {}", escaped(name), escaped(value));
    }
    for section in &page.sections {
        let _ = write!(text, "\n## {}\n", escaped(&section.title));
        blocks(&section.blocks, &mut text);
    }
    text
}

fn blocks(blocks_to_write: &[Block], text: &mut String) {
    for block in blocks_to_write {
        match block {
            Block::Text(paragraph) => {
                let _ = write!(text, "\n{}\n", escaped(paragraph));
            }
            Block::Warnings(warnings) => {
                text.push('\n');
                for warning in warnings {
                    let _ = writeln!(text, "- **!** {}", escaped(warning));
                }
            }
            Block::Tables(tables) => {
                tables.iter().for_each(|table| write_table(table, text));
                for remark in table::remarks(tables) {
                    let _ = write!(text, "\n{}\n", escaped(&remark));
                }
            }
            Block::Charts { .. } => {}
            Block::Code { caption, text: code } => {
                // A fence longer than any row of backticks within it.
                let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
                let fence = "`".repeat(longest.max(2) + 1);
                let _ = write!(text, "\n{}:\n\n{fence}\n{}\n{fence}\n", escaped(caption), code.trim_end());
            }
            Block::Fold { title, blocks: folded } if folded.iter().any(|block| !matches!(block, Block::Charts { .. })) => {
                let mut summary = Markup::default();
                summary.element("summary", &[], |to| to.text(title));
                let _ = write!(text, "\n<details>{}\n", summary.finish());
                blocks(folded, text);
                text.push_str("\n</details>\n");
            }
            Block::Fold { .. } => {}
        }
    }
}

fn write_table(table: &Table, text: &mut String) {
    let _ = write!(text, "\n{}:\n\n", escaped(&table.caption));
    let titles = table.columns.iter().map(|column| {
        let title = if column.group.is_empty() { column.title.clone() } else { format!("{}: {}", column.group, column.title) };
        escaped(&title)
    });
    let _ = writeln!(text, "| {} |", titles.collect::<Vec<_>>().join(" | "));
    let rules = table.columns.iter().map(|column| if column.figures { "---:" } else { "---" });
    let _ = writeln!(text, "|{}|", rules.collect::<Vec<_>>().join("|"));
    for row in &table.rows {
        let _ = writeln!(text, "| {} |", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
}

fn cell(cell: &Cell) -> String {
    let mut text = escaped(&cell.text);
    if matches!(cell.tone, Tone::Better | Tone::Worse | Tone::Marked) {
        text = format!("**{text}**");
    }
    for doubt in &cell.doubts {
        let _ = write!(text, " ({})", doubt.letter());
    }
    if !cell.note.is_empty() {
        let _ = write!(text, " ({})", escaped(&cell.note));
    }
    text
}

/// Text that Markdown shows as it is, on one line.
fn escaped(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (at, &character) in characters.iter().enumerate() {
        let inside_a_word = |at: Option<usize>| at.and_then(|at| characters.get(at)).is_some_and(|c| c.is_alphanumeric());
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '_' if inside_a_word(at.checked_sub(1)) && inside_a_word(Some(at + 1)) => escaped.push('_'),
            '\\' | '`' | '*' | '_' | '|' | '[' | ']' | '#' => escaped.extend(['\\', character]),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(escaped("oltp_read_only"), "oltp_read_only");
        assert_eq!(escaped("_a_ |*b* <script>\n`c`"), "\\_a\\_ \\|\\*b\\* &lt;script&gt; \\`c\\`");
    }

    #[test]
    fn fence_is_longer_than_what_it_holds() {
        let mut text = String::new();
        blocks(&[Block::Code { caption: "c".to_string(), text: "````\n".to_string() }], &mut text);
        assert_eq!(text, "\nc:\n\n`````\n````\n`````\n");
    }
}
