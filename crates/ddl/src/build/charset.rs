//! CHARACTER SET and COLLATE clauses.
//!
//! `utf8` and `utf8mb3` are taken as `utf8mb4`, of which they are a subset, with a warning; so are their collations.

use types::{Charset, Collation, MysqlError, mysql_error::ER_WARN_DEPRECATED_SYNTAX};

use super::BuildContext;
use crate::{Error, Result};

impl BuildContext<'_> {
    /// A character set by name.
    pub fn charset(&mut self, name: &str) -> Result<Charset> {
        if name.eq_ignore_ascii_case("utf8") || name.eq_ignore_ascii_case("utf8mb3") {
            self.warn_alias(name, "utf8mb4");
            return Ok(Charset::Utf8mb4);
        }
        Ok(Charset::by_name(name).ok_or_else(|| types::Error::UnknownCharset(name.to_owned()))?)
    }

    /// A collation by name.
    pub fn collation(&mut self, name: &str) -> Result<Collation> {
        let lower = name.to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("utf8_").or_else(|| lower.strip_prefix("utf8mb3_")) {
            let alias = format!("utf8mb4_{rest}");
            if let Some(collation) = Collation::by_name(&alias) {
                self.warn_alias(name, &alias);
                return Ok(collation);
            }
        }
        Ok(Collation::by_name(name).ok_or_else(|| types::Error::UnknownCollation(name.to_owned()))?)
    }

    /// What a pair of clauses, each of which may be missing, makes of the default.
    pub fn charset_and_collation(&mut self, charset: Option<&str>, collation: Option<&str>, default: Collation) -> Result<Collation> {
        let charset = charset.map(|name| self.charset(name)).transpose()?;
        let collation = collation.map(|name| self.collation(name)).transpose()?;
        match (charset, collation) {
            (Some(charset), Some(collation)) if collation.charset() != charset => {
                Err(Error::CollationMismatch { collation: collation.name().to_owned(), charset: charset.name().to_owned() })
            }
            (_, Some(collation)) => Ok(collation),
            (Some(charset), None) => Ok(charset.default_collation()),
            (None, None) => Ok(default),
        }
    }

    fn warn_alias(&mut self, name: &str, meant: &str) {
        let message = format!("'{name}' is taken as '{meant}', which includes it");
        self.warnings.push(MysqlError::new(ER_WARN_DEPRECATED_SYNTAX, message));
    }
}
