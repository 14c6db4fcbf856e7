//! How a page looks: as one HTML file, as Markdown, as text in a terminal.

pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod markup;
pub(crate) mod terminal;
