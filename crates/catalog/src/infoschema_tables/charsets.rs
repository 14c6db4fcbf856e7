//! CHARACTER_SETS, COLLATIONS, COLLATION_CHARACTER_SET_APPLICABILITY.

use types::{Charset, Collation, Datum};

use super::{
    VirtualContext,
    definition::{Type::*, VirtualTable, count, text},
};

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        database: "information_schema",
        name: "CHARACTER_SETS",
        columns: &[("CHARACTER_SET_NAME", Name(64)), ("DEFAULT_COLLATE_NAME", Name(64)), ("DESCRIPTION", Name(2048)), ("MAXLEN", Unsigned)],
        rows: Some(character_sets),
    },
    VirtualTable {
        database: "information_schema",
        name: "COLLATIONS",
        columns: &[
            ("COLLATION_NAME", Name(64)),
            ("CHARACTER_SET_NAME", Name(64)),
            ("ID", Unsigned),
            ("IS_DEFAULT", Name(3)),
            ("IS_COMPILED", Name(3)),
            ("SORTLEN", Unsigned),
            ("PAD_ATTRIBUTE", Enum(&["PAD SPACE", "NO PAD"])),
        ],
        rows: Some(collations),
    },
    VirtualTable {
        database: "information_schema",
        name: "COLLATION_CHARACTER_SET_APPLICABILITY",
        columns: &[("COLLATION_NAME", Name(64)), ("CHARACTER_SET_NAME", Name(64))],
        rows: Some(applicability),
    },
];

fn character_sets(_: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let row = |charset: &Charset| {
        vec![
            text(charset.name()),
            text(charset.default_collation().name()),
            text(charset.description()),
            count(u64::from(charset.max_bytes_per_char())),
        ]
    };
    Charset::ALL.iter().map(row).collect()
}

fn collations(_: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let row = |collation: &Collation| {
        // SORTLEN relates to MySQL's own memory use when sorting; 0 for its UCA 9.0.0 collations, 1 for the simple ones.
        let sort_len = u64::from(*collation != Collation::Utf8mb4_0900AiCi);
        vec![
            text(collation.name()),
            text(collation.charset().name()),
            count(u64::from(collation.id())),
            text(if collation.is_default() { "Yes" } else { "" }),
            text("Yes"),
            count(sort_len),
            text(if collation.pad_space() { "PAD SPACE" } else { "NO PAD" }),
        ]
    };
    Collation::ALL.iter().map(row).collect()
}

fn applicability(_: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    Collation::ALL.iter().map(|collation| vec![text(collation.name()), text(collation.charset().name())]).collect()
}
