//! The `sql_mode` variable: a set of switches, read from and printed as MySQL's names.

/// The bits of `sql_mode` that change how expressions and stores behave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SqlMode(u32);

impl SqlMode {
    /// `STRICT_TRANS_TABLES` (here the same as `STRICT_ALL_TABLES`).
    pub const STRICT: SqlMode = SqlMode(1);
    /// `ERROR_FOR_DIVISION_BY_ZERO`.
    pub const ERROR_FOR_DIVISION_BY_ZERO: SqlMode = SqlMode(1 << 1);
    /// `NO_ZERO_DATE`.
    pub const NO_ZERO_DATE: SqlMode = SqlMode(1 << 2);
    /// `NO_ZERO_IN_DATE`.
    pub const NO_ZERO_IN_DATE: SqlMode = SqlMode(1 << 3);
    /// `ALLOW_INVALID_DATES`.
    pub const ALLOW_INVALID_DATES: SqlMode = SqlMode(1 << 4);
    /// `NO_UNSIGNED_SUBTRACTION`.
    pub const NO_UNSIGNED_SUBTRACTION: SqlMode = SqlMode(1 << 5);
    /// `NO_BACKSLASH_ESCAPES`.
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(1 << 6);
    /// `ANSI_QUOTES`.
    pub const ANSI_QUOTES: SqlMode = SqlMode(1 << 7);
    /// `PIPES_AS_CONCAT`.
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(1 << 8);
    /// `ONLY_FULL_GROUP_BY`.
    pub const ONLY_FULL_GROUP_BY: SqlMode = SqlMode(1 << 9);
    /// `NO_AUTO_VALUE_ON_ZERO`.
    pub const NO_AUTO_VALUE_ON_ZERO: SqlMode = SqlMode(1 << 10);
    /// `HIGH_NOT_PRECEDENCE`.
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(1 << 11);
    /// `PAD_CHAR_TO_FULL_LENGTH`.
    pub const PAD_CHAR_TO_FULL_LENGTH: SqlMode = SqlMode(1 << 12);
    /// `REAL_AS_FLOAT`.
    pub const REAL_AS_FLOAT: SqlMode = SqlMode(1 << 13);
    /// `IGNORE_SPACE`.
    pub const IGNORE_SPACE: SqlMode = SqlMode(1 << 14);
    /// `NO_ENGINE_SUBSTITUTION`.
    pub const NO_ENGINE_SUBSTITUTION: SqlMode = SqlMode(1 << 15);
    /// `TIME_TRUNCATE_FRACTIONAL`.
    pub const TIME_TRUNCATE_FRACTIONAL: SqlMode = SqlMode(1 << 16);
    /// `STRICT_ALL_TABLES`.
    pub const STRICT_ALL: SqlMode = SqlMode(1 << 17);
    /// No bit set.
    pub const EMPTY: SqlMode = SqlMode(0);

    /// All bits of `other` are set in `self`.
    pub const fn contains(self, other: SqlMode) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of bits.
    pub const fn union(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 | other.0)
    }

    /// `self` without the bits of `other`.
    pub const fn without(self, other: SqlMode) -> SqlMode {
        SqlMode(self.0 & !other.0)
    }

    /// The raw bits, for use in cache keys.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Either of the strict modes is on.
    pub const fn is_strict(self) -> bool {
        self.0 & (SqlMode::STRICT.0 | SqlMode::STRICT_ALL.0) != 0
    }

    /// The bit of a mode's SQL name, in any case.
    pub fn by_name(name: &str) -> Option<SqlMode> {
        MODE_NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, m)| *m)
    }

    /// Reads the value of the `sql_mode` variable: names joined by commas, combinations expanded.
    ///
    /// # Errors
    /// The first name that is no mode.
    pub fn parse(text: &str) -> std::result::Result<SqlMode, String> {
        let mut mode = SqlMode::EMPTY;
        for name in text.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            let upper = name.to_ascii_uppercase();
            let bits = match upper.as_str() {
                "TRADITIONAL" => SqlMode::STRICT
                    .union(SqlMode::STRICT_ALL)
                    .union(SqlMode::NO_ZERO_DATE)
                    .union(SqlMode::NO_ZERO_IN_DATE)
                    .union(SqlMode::ERROR_FOR_DIVISION_BY_ZERO)
                    .union(SqlMode::NO_ENGINE_SUBSTITUTION),
                "ANSI" => SqlMode::REAL_AS_FLOAT
                    .union(SqlMode::PIPES_AS_CONCAT)
                    .union(SqlMode::ANSI_QUOTES)
                    .union(SqlMode::IGNORE_SPACE)
                    .union(SqlMode::ONLY_FULL_GROUP_BY),
                "NO_AUTO_CREATE_USER" | "NO_DIR_IN_CREATE" => SqlMode::EMPTY,
                _ => SqlMode::by_name(&upper).ok_or_else(|| name.to_owned())?,
            };
            mode = mode.union(bits);
        }
        Ok(mode)
    }
}

impl Default for SqlMode {
    fn default() -> Self {
        SqlMode::STRICT
            .union(SqlMode::ERROR_FOR_DIVISION_BY_ZERO)
            .union(SqlMode::NO_ZERO_DATE)
            .union(SqlMode::NO_ZERO_IN_DATE)
            .union(SqlMode::ONLY_FULL_GROUP_BY)
            .union(SqlMode::NO_ENGINE_SUBSTITUTION)
    }
}

impl std::fmt::Display for SqlMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut first = true;
        for (name, mode) in MODE_NAMES {
            if self.contains(*mode) {
                if !first {
                    f.write_str(",")?;
                }
                f.write_str(name)?;
                first = false;
            }
        }
        Ok(())
    }
}

/// Names in the order MySQL prints them.
const MODE_NAMES: &[(&str, SqlMode)] = &[
    ("REAL_AS_FLOAT", SqlMode::REAL_AS_FLOAT),
    ("PIPES_AS_CONCAT", SqlMode::PIPES_AS_CONCAT),
    ("ANSI_QUOTES", SqlMode::ANSI_QUOTES),
    ("IGNORE_SPACE", SqlMode::IGNORE_SPACE),
    ("ONLY_FULL_GROUP_BY", SqlMode::ONLY_FULL_GROUP_BY),
    ("NO_UNSIGNED_SUBTRACTION", SqlMode::NO_UNSIGNED_SUBTRACTION),
    ("NO_AUTO_VALUE_ON_ZERO", SqlMode::NO_AUTO_VALUE_ON_ZERO),
    ("NO_BACKSLASH_ESCAPES", SqlMode::NO_BACKSLASH_ESCAPES),
    ("STRICT_TRANS_TABLES", SqlMode::STRICT),
    ("STRICT_ALL_TABLES", SqlMode::STRICT_ALL),
    ("NO_ZERO_IN_DATE", SqlMode::NO_ZERO_IN_DATE),
    ("NO_ZERO_DATE", SqlMode::NO_ZERO_DATE),
    ("ALLOW_INVALID_DATES", SqlMode::ALLOW_INVALID_DATES),
    ("ERROR_FOR_DIVISION_BY_ZERO", SqlMode::ERROR_FOR_DIVISION_BY_ZERO),
    ("HIGH_NOT_PRECEDENCE", SqlMode::HIGH_NOT_PRECEDENCE),
    ("NO_ENGINE_SUBSTITUTION", SqlMode::NO_ENGINE_SUBSTITUTION),
    ("PAD_CHAR_TO_FULL_LENGTH", SqlMode::PAD_CHAR_TO_FULL_LENGTH),
    ("TIME_TRUNCATE_FRACTIONAL", SqlMode::TIME_TRUNCATE_FRACTIONAL),
];
