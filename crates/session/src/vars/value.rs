//! From what SET is given to what a variable holds, and from there to what SELECT and SHOW give back.

use types::{
    Datum, FieldType,
    mysql_error::{self, MysqlError},
};

use super::definitions::{Definition, Kind};

/// A value in the form SHOW VARIABLES prints, and whether it had to be cut to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// The text.
    pub text: String,
    /// The value was outside the variable's range.
    pub cut: bool,
}

impl Canonical {
    fn exact(text: impl Into<String>) -> Self {
        Self { text: text.into(), cut: false }
    }
}

/// Reads `value` for a variable.
pub fn canonical(definition: &Definition, value: &Datum) -> Result<Canonical, MysqlError> {
    let given = plain_text(value);
    let wrong_value = || {
        MysqlError::new(
            mysql_error::ER_WRONG_VALUE_FOR_VAR,
            format!("Variable '{}' can't be set to the value of '{}'", definition.name, given.as_deref().unwrap_or("NULL")),
        )
    };
    let wrong_type =
        || MysqlError::new(mysql_error::ER_WRONG_TYPE_FOR_VAR, format!("Incorrect argument type to variable '{}'", definition.name));
    match definition.kind {
        Kind::Bool => {
            let text = given.as_deref().ok_or_else(wrong_value)?;
            match text.to_ascii_lowercase().as_str() {
                "1" | "on" | "true" => Ok(Canonical::exact("ON")),
                "0" | "off" | "false" => Ok(Canonical::exact("OFF")),
                _ => Err(wrong_value()),
            }
        }
        Kind::Int { min, max } => {
            if !matches!(value, Datum::Int(_) | Datum::UInt(_) | Datum::Bytes(_)) {
                return Err(wrong_type());
            }
            let number: i128 = given.as_deref().and_then(|text| text.trim().parse().ok()).ok_or_else(wrong_type)?;
            let clamped = number.clamp(i128::from(min), i128::from(max));
            Ok(Canonical { text: clamped.to_string(), cut: clamped != number })
        }
        Kind::Float => {
            let text = given.as_deref().ok_or_else(wrong_type)?;
            text.trim().parse::<f64>().map_err(|_| wrong_type())?;
            Ok(Canonical::exact(text.trim()))
        }
        Kind::Enum(words) => {
            let text = given.as_deref().ok_or_else(wrong_value)?;
            let by_name = words.iter().find(|word| word.eq_ignore_ascii_case(text) || word.replace('-', " ").eq_ignore_ascii_case(text));
            let by_number = || text.parse::<usize>().ok().and_then(|number| words.get(number));
            by_name.or_else(by_number).map(|word| Canonical::exact(*word)).ok_or_else(wrong_value)
        }
        Kind::Text => Ok(Canonical::exact(given.unwrap_or_default())),
    }
}

/// A value as text; `None` for NULL.
pub(super) fn plain_text(value: &Datum) -> Option<String> {
    // Variables hold no temporal values, so the type only has to keep the value's own form.
    let ty = match value {
        Datum::Null => return None,
        Datum::Decimal(decimal) => FieldType::decimal(65, decimal.scale()),
        Datum::Double(_) | Datum::Float(_) => FieldType::double(),
        _ => FieldType::varchar(1024),
    };
    let mut text = Vec::new();
    value.write_text(&ty, &mut text);
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// What `@@name` evaluates to.
pub fn datum(definition: &Definition, text: &str) -> (Datum, FieldType) {
    match definition.kind {
        Kind::Bool => (Datum::Int(i64::from(text == "ON")), FieldType::bigint()),
        Kind::Int { min, .. } if min < 0 => (Datum::Int(text.parse().unwrap_or(0)), FieldType::bigint()),
        Kind::Int { .. } => (Datum::UInt(text.parse().unwrap_or(0)), FieldType::bigint().with_unsigned()),
        Kind::Float => (Datum::Double(text.parse().unwrap_or(0.0)), FieldType::double()),
        Kind::Enum(_) | Kind::Text => (Datum::Bytes(text.as_bytes().to_vec()), FieldType::varchar(1024)),
    }
}
