//! Blocks as text for a terminal: tables in aligned columns, without the second lines of their cells where the first says enough.

use std::fmt::Write as _;

use crate::report::page::Block;
use crate::report::table::{self, Cell, Table, Tone};

/// A title and the blocks below it.
pub(crate) fn text(title: &str, blocks: &[Block]) -> String {
    let mut text = format!("{}\n", plain(title));
    for block in blocks {
        match block {
            Block::Text(paragraph) => {
                let _ = write!(text, "\n{}\n", plain(paragraph));
            }
            Block::Warnings(warnings) => {
                for warning in warnings {
                    let _ = writeln!(text, "! {}", plain(warning));
                }
            }
            Block::Tables(tables) => {
                tables.iter().for_each(|table| write_table(table, &mut text));
                for remark in table::remarks(tables) {
                    let _ = writeln!(text, "  {}", plain(&remark));
                }
            }
            Block::Charts { .. } | Block::Code { .. } | Block::Fold { .. } => {}
        }
    }
    text
}

fn write_table(table: &Table, text: &mut String) {
    let _ = write!(text, "\n{}\n", plain(&table.caption));
    let mut lines: Vec<Vec<String>> = vec![table.columns.iter().map(|column| plain(&column.title)).collect()];
    lines.extend(table.rows.iter().map(|row| row.iter().map(cell).collect()));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    if let Some(groups) = table.groups() {
        let mut line = String::new();
        let mut column = 0;
        for (group, columns) in groups {
            let group = plain(group);
            // The last column of a group takes what its common heading needs.
            let needed: usize = widths[column..column + columns].iter().map(|width| width + 2).sum();
            widths[column + columns - 1] += (group.chars().count() + 2).saturating_sub(needed);
            let space: usize = widths[column..column + columns].iter().map(|width| width + 2).sum();
            let _ = write!(line, "{group:>space$}");
            column += columns;
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for line in lines {
        let mut written = String::new();
        for ((column, word), width) in table.columns.iter().zip(&line).zip(&widths) {
            let _ = if column.figures { write!(written, "  {word:>width$}") } else { write!(written, "  {word:<width$}") };
        }
        let _ = writeln!(text, "{}", written.trim_end());
    }
}

fn cell(cell: &Cell) -> String {
    let mut text = plain(&cell.text);
    match cell.tone {
        Tone::Better => text.push_str(" better"),
        Tone::Worse => text.push_str(" worse"),
        Tone::Plain if cell.note.starts_with("noise unknown") => text.push_str(" (noise unknown)"),
        Tone::Plain | Tone::Muted | Tone::Marked => {}
    }
    for doubt in &cell.doubts {
        let _ = write!(text, " ({})", doubt.letter());
    }
    text
}

/// Without control characters, which a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
