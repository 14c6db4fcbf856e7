//! A page as one HTML file that needs nothing else: the style sheet is in it, charts are inline SVG, and there is no script. The page forbids
//! itself to load anything, so that a foreign name could do no harm even if it came through unescaped.

use crate::report::chart::{Chart, legend, svg};
use crate::report::page::{Block, Page};
use crate::report::render::markup::Markup;
use crate::report::table::{self, Cell, Table, Tone};

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The whole file.
pub(crate) fn text(page: &Page) -> String {
    let mut renderer = Renderer { charts: 0 };
    let mut to = Markup::default();
    to.constant("<!DOCTYPE html>\n");
    to.element("html", &[("lang", &"en")], |to| {
        to.element("head", &[], |to| head(page, to));
        to.line();
        to.element("body", &[], |to| {
            header(page, to);
            to.element("main", &[], |to| {
                for (at, section) in page.sections.iter().enumerate() {
                    to.line();
                    to.element("section", &[("id", &format!("section-{at}"))], |to| {
                        to.element("h2", &[], |to| to.text(&section.title));
                        renderer.blocks(&section.blocks, to);
                    });
                }
            });
            to.element("footer", &[], |to| {
                to.text("Written by trine bench. This page is complete in itself: it loads nothing and runs no script.")
            });
        });
    });
    to.line();
    to.finish()
}

fn head(page: &Page, to: &mut Markup) {
    to.empty("meta", &[("charset", &"utf-8")]);
    to.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &POLICY)]);
    to.empty("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
    to.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
    to.element("title", &[], |to| to.text(&page.title));
    to.element("style", &[], |to| to.constant(include_str!("style.css")));
}

fn header(page: &Page, to: &mut Markup) {
    to.element("header", &[], |to| {
        to.element("p", &[("class", &"kind")], |to| to.text(page.kind));
        to.element("h1", &[], |to| to.text(&page.title));
        if !page.description.trim().is_empty() {
            to.element("div", &[("class", &"prose")], |to| to.prose(&page.description));
        }
        to.element("dl", &[("class", &"facts")], |to| {
            for (name, value) in &page.facts {
                to.element("div", &[], |to| {
                    to.element("dt", &[], |to| to.text(name));
                    to.element("dd", &[], |to| to.text(value));
                });
            }
        });
        to.element("nav", &[("aria-label", &"Sections")], |to| {
            for (at, section) in page.sections.iter().enumerate() {
                to.element("a", &[("href", &format!("#section-{at}"))], |to| to.text(&section.title));
            }
        });
    });
}

struct Renderer {
    /// Charts drawn so far: their ids must be unique in the page.
    charts: usize,
}

impl Renderer {
    fn blocks(&mut self, blocks: &[Block], to: &mut Markup) {
        for block in blocks {
            to.line();
            match block {
                Block::Text(text) => to.element("p", &[], |to| to.text(text)),
                Block::Warnings(warnings) => to.element("ul", &[("class", &"warnings")], |to| {
                    for warning in warnings {
                        to.element("li", &[], |to| to.text(warning));
                    }
                }),
                Block::Tables(tables) => write_tables(tables, to),
                Block::Charts { subjects, charts } => self.charts(subjects, charts, to),
                Block::Code { caption, text } => to.element("figure", &[("class", &"code")], |to| {
                    to.element("figcaption", &[], |to| to.text(caption));
                    to.element("pre", &[("tabindex", &0)], |to| to.element("code", &[], |to| to.text(text)));
                }),
                Block::Fold { title, blocks } => to.element("details", &[], |to| {
                    to.element("summary", &[], |to| to.text(title));
                    self.blocks(blocks, to);
                }),
            }
        }
    }

    fn charts(&mut self, subjects: &[String], charts: &[Chart], to: &mut Markup) {
        let labels = legend::labels(subjects);
        to.element("ul", &[("class", &"legend"), ("aria-label", &"Subjects")], |to| {
            for (subject, name) in subjects.iter().enumerate() {
                to.element("li", &[("class", &svg::class_of(subject))], |to| {
                    to.element("svg", &[("class", &"sample"), ("viewBox", &"0 0 56 14"), ("aria-hidden", &"true")], |to| {
                        to.empty("path", &[("class", &"line"), ("d", &"M1 7H55")]);
                        to.empty("path", &[("class", &"marker"), ("transform", &"translate(28 7)"), ("d", &svg::marker_of(subject))]);
                    });
                    to.text(name);
                    if labels[subject] != *name {
                        to.text(&format!(" ({})", labels[subject]));
                    }
                });
            }
        });
        let class = if charts.len() >= 4 && charts.len().is_multiple_of(2) { "charts pairs" } else { "charts" };
        to.element("div", &[("class", &class)], |to| {
            for chart in charts {
                self.charts += 1;
                let id = format!("chart-{}", self.charts);
                to.element("figure", &[("class", &"plot")], |to| {
                    to.element("figcaption", &[], |to| {
                        to.element("strong", &[], |to| to.text(&chart.title));
                        to.text(" ");
                        to.element("span", &[("class", &"hint")], |to| to.text(&chart.hint));
                    });
                    svg::draw(chart, &id, subjects, &labels, to);
                });
            }
        });
    }
}

fn write_tables(tables: &[Table], to: &mut Markup) {
    to.element("figure", &[], |to| {
        for table in tables {
            write_table(table, to);
        }
        let remarks = table::remarks(tables);
        if !remarks.is_empty() {
            to.element("ul", &[("class", &"notes")], |to| {
                for remark in remarks {
                    to.element("li", &[], |to| to.text(&remark));
                }
            });
        }
    });
}

fn write_table(table: &Table, to: &mut Markup) {
    // The inner element of the caption stays in view while the table scrolls.
    to.element("div", &[("class", &"scroll"), ("tabindex", &0), ("role", &"region"), ("aria-label", &table.caption)], |to| {
        to.element("table", &[], |to| {
            to.element("caption", &[], |to| to.element("span", &[], |to| to.text(&table.caption)));
            to.element("thead", &[], |to| headings(table, to));
            to.element("tbody", &[], |to| {
                for row in &table.rows {
                    to.line();
                    to.element("tr", &[], |to| {
                        for (at, cell) in row.iter().enumerate() {
                            write_cell(table, at, cell, to);
                        }
                    });
                }
            });
        });
    });
}

fn headings(table: &Table, to: &mut Markup) {
    let class = |at: usize| {
        let begins_group = at > 0 && !(table.columns[at].group.is_empty()) && table.columns[at].group != table.columns[at - 1].group;
        format!("{}{}", if table.columns[at].figures { "figures" } else { "words" }, if begins_group { " first" } else { "" })
    };
    if let Some(groups) = table.groups() {
        to.element("tr", &[("class", &"groups")], |to| {
            let mut at = 0;
            for (group, columns) in groups {
                if group.is_empty() {
                    to.element("td", &[("colspan", &columns)], |_| {});
                } else {
                    to.element("th", &[("colspan", &columns), ("scope", &"colgroup"), ("class", &class(at))], |to| to.text(group));
                }
                at += columns;
            }
        });
    }
    to.element("tr", &[], |to| {
        for (at, column) in table.columns.iter().enumerate() {
            to.element("th", &[("scope", &"col"), ("class", &class(at))], |to| to.text(&column.title));
        }
    });
}

fn write_cell(table: &Table, at: usize, cell: &Cell, to: &mut Markup) {
    let column = &table.columns[at];
    let mut class = if column.figures { "figures" } else { "words" }.to_string();
    class += match cell.tone {
        Tone::Plain => "",
        Tone::Better => " better",
        Tone::Worse => " worse",
        Tone::Muted => " muted",
        Tone::Marked => " marked",
    };
    if at > 0 && !column.group.is_empty() && column.group != table.columns[at - 1].group {
        class += " first";
    }
    let content = |to: &mut Markup| {
        // Names of workloads and variables may be broken after their underscores.
        for piece in cell.text.split_inclusive('_') {
            to.text(piece);
            if piece.ends_with('_') {
                to.constant("<wbr>");
            }
        }
        for doubt in &cell.doubts {
            to.element("abbr", &[("class", &"doubt"), ("title", &doubt.meaning())], |to| to.text(&doubt.letter().to_string()));
        }
        if !cell.note.is_empty() {
            to.text(" ");
            to.element("small", &[], |to| to.text(&cell.note));
        }
    };
    if at == 0 {
        to.element("th", &[("scope", &"row"), ("class", &class)], content);
    } else {
        to.element("td", &[("class", &class)], content);
    }
}
