//! Writes HTML and SVG so that text can only arrive escaped: there is no way to write a string that is not in the program as it is.

use std::fmt::Display;

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag};

/// Markup under construction.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    written: String,
}

/// Names and values of an element.
pub(crate) type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

impl Markup {
    /// Everything written.
    pub fn finish(self) -> String {
        self.written
    }

    /// An element with content.
    pub fn element(&mut self, name: &'static str, attributes: Attributes<'_>, content: impl FnOnce(&mut Self)) {
        self.open(name, attributes);
        self.written.push('>');
        content(self);
        self.written.push_str("</");
        self.written.push_str(name);
        self.written.push('>');
    }

    /// An element without content.
    pub fn empty(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.open(name, attributes);
        self.written.push_str("/>");
    }

    /// Text, escaped.
    pub fn text(&mut self, text: &str) {
        self.escape(text);
    }

    /// A part of the program's own text: a style sheet, a doctype.
    pub fn constant(&mut self, text: &'static str) {
        self.written.push_str(text);
    }

    /// A line break of the markup itself.
    pub fn line(&mut self) {
        self.written.push('\n');
    }

    /// Markdown that somebody else wrote. HTML in it is shown as text, and only links to web pages and within the page remain links.
    pub fn prose(&mut self, markdown: &str) {
        let mut forbidden = Vec::new();
        let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).filter_map(|event| match event {
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            Event::Start(Tag::Image { dest_url, .. }) => Some(Event::Text(CowStr::from(format!("[{dest_url}] ")))),
            Event::End(pulldown_cmark::TagEnd::Image) => None,
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                let allowed = ["https://", "http://", "#"].iter().any(|scheme| dest_url.starts_with(scheme));
                forbidden.push(!allowed);
                allowed.then_some(event)
            }
            Event::End(pulldown_cmark::TagEnd::Link) => (!forbidden.pop().unwrap_or(false)).then_some(event),
            event => Some(event),
        });
        pulldown_cmark::html::push_html(&mut self.written, events);
    }

    fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.written.push('<');
        self.written.push_str(name);
        for (attribute, value) in attributes {
            self.written.push(' ');
            self.written.push_str(attribute);
            self.written.push_str("=\"");
            self.escape(&value.to_string());
            self.written.push('"');
        }
    }

    fn escape(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.written.push_str("&amp;"),
                '<' => self.written.push_str("&lt;"),
                '>' => self.written.push_str("&gt;"),
                '"' => self.written.push_str("&quot;"),
                '\'' => self.written.push_str("&#39;"),
                '\n' | '\t' => self.written.push(character),
                // HTML has no way to write other control characters.
                control if control.is_control() => self.written.push(char::REPLACEMENT_CHARACTER),
                other => self.written.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let mut markup = Markup::default();
        markup.element("p", &[("title", &"\"><script>alert('1')</script>")], |to| to.text("<b>&amp;\u{0}"));
        assert_eq!(
            markup.finish(),
            "<p title=\"&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;\">&lt;b&gt;&amp;amp;\u{fffd}</p>"
        );
    }

    #[test]
    fn prose_keeps_its_form_but_no_html_and_no_script() {
        let mut markup = Markup::default();
        markup.prose("*a* <img src=x onerror=alert(1)> [web](https://example.org) [bad](javascript:alert(1)) ![i](http://x/i.png)\n\n<script>x</script>");
        let html = markup.finish();
        assert!(html.contains("<em>a</em>"), "{html}");
        assert!(html.contains("<a href=\"https://example.org\">web</a>"), "{html}");
        for forbidden in ["<img", "<script", "href=\"javascript"] {
            assert!(!html.contains(forbidden), "{forbidden} in {html}");
        }
    }
}
