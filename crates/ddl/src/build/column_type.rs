//! Column types (MySQL 8.0 manual, chapter 13): lengths, precisions, limits.

use parser::ast::{ColumnType, TypeName};
use types::{Collation, FieldType, TypeFlags, TypeKind};

use super::BuildContext;
use crate::{Error, Result};

const MAX_CHAR_LEN: u64 = 255;
const MAX_ROW_BYTES: u64 = 65_535;
const MAX_DISPLAY_WIDTH: u64 = 255;
const MAX_FSP: u64 = 6;
const MAX_DECIMAL_PRECISION: u64 = 65;
const MAX_DECIMAL_SCALE: u64 = 30;
/// FLOAT(p) up to this precision is a FLOAT, above it a DOUBLE.
const MAX_FLOAT_BITS: u64 = 24;
const MAX_DOUBLE_BITS: u64 = 53;
const MAX_SET_MEMBERS: usize = 64;
const MAX_ENUM_MEMBERS: usize = 65_535;

impl BuildContext<'_> {
    /// The type of a column; `default` is the table's collation, `explicit` a COLLATE among the column's attributes.
    pub fn column_type(&mut self, column: &str, ty: &ColumnType, explicit: Option<&str>, default: Collation) -> Result<FieldType> {
        let kind = kind_of(ty.name)?;
        let mut field = FieldType::new(kind);
        field.unsigned = ty.unsigned;
        if ty.zerofill {
            field.flags.insert(TypeFlags::ZEROFILL);
        }
        match kind {
            _ if kind.is_integer() => integer(column, ty, &mut field)?,
            TypeKind::Decimal => decimal(column, ty, &mut field)?,
            TypeKind::Float | TypeKind::Double => float(column, ty, &mut field)?,
            TypeKind::Bit => bit(column, ty, &mut field)?,
            TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => {
                let fsp = ty.length.unwrap_or(0);
                if fsp > MAX_FSP {
                    return Err(Error::TooBigPrecision { given: fsp, column: column.to_owned(), max: MAX_FSP });
                }
                field = field.with_fsp(fsp as u8);
            }
            TypeKind::Enum | TypeKind::Set => self.members(column, ty, explicit, default, &mut field)?,
            _ if kind.is_string() => self.string(column, ty, explicit, default, &mut field)?,
            _ => {}
        }
        Ok(field)
    }

    /// ENUM and SET: members without trailing spaces, each once under the collation.
    fn members(&mut self, column: &str, ty: &ColumnType, explicit: Option<&str>, default: Collation, field: &mut FieldType) -> Result<()> {
        let collation = explicit.or(ty.collation.as_deref());
        let found = self.charset_and_collation(ty.charset.as_deref(), collation, default)?;
        let found = if ty.binary && collation.is_none() { found.charset().bin_collation() } else { found };
        *field = std::mem::take(field).with_collation(found);
        let kind = if field.tp == TypeKind::Enum { "ENUM" } else { "SET" };
        if field.tp == TypeKind::Set && ty.values.len() > MAX_SET_MEMBERS {
            return Err(Error::TooBigSet { column: column.to_owned() });
        }
        if ty.values.len() > MAX_ENUM_MEMBERS {
            return Err(Error::TooBigEnum { column: column.to_owned() });
        }
        let members: Vec<String> = ty.values.iter().map(|member| member.trim_end_matches(' ').to_owned()).collect();
        for (at, member) in members.iter().enumerate() {
            if field.tp == TypeKind::Set && member.contains(',') {
                return Err(Error::IllegalValueForType { kind: "set", value: member.clone() });
            }
            if members[..at].iter().any(|other| found.equal(other.as_bytes(), member.as_bytes())) {
                return Err(Error::DuplicatedMember { column: column.to_owned(), value: member.clone(), kind });
            }
        }
        field.elems = members.into();
        field.flen = (field.column_length() / found.charset().max_bytes_per_char()) as i32;
        Ok(())
    }

    fn string(&mut self, column: &str, ty: &ColumnType, explicit: Option<&str>, default: Collation, field: &mut FieldType) -> Result<()> {
        use TypeKind::{Binary, Blob, Char, LongBlob, LongText, MediumBlob, MediumText, Text, TinyBlob, TinyText, VarBinary, VarChar};
        let text = matches!(field.tp, Char | VarChar | TinyText | Text | MediumText | LongText);
        let collation = match text {
            true => {
                let collation = explicit.or(ty.collation.as_deref());
                let found = self.charset_and_collation(ty.charset.as_deref(), collation, default)?;
                if ty.binary && collation.is_none() { found.charset().bin_collation() } else { found }
            }
            false => Collation::Binary,
        };
        // CHAR … CHARACTER SET binary is BINARY, and so on: MySQL turns the type itself.
        if text && collation == Collation::Binary {
            field.tp = match field.tp {
                Char => Binary,
                VarChar => VarBinary,
                TinyText => TinyBlob,
                Text => Blob,
                MediumText => MediumBlob,
                _ => LongBlob,
            };
        }
        *field = std::mem::take(field).with_collation(collation);
        let bytes_per_char = u64::from(collation.charset().max_bytes_per_char());
        match field.tp {
            Char | Binary | VarChar | VarBinary => {
                let max = if matches!(field.tp, Char | Binary) { MAX_CHAR_LEN } else { MAX_ROW_BYTES / bytes_per_char };
                let len = ty.length.unwrap_or(1);
                if len > max {
                    return Err(Error::ColumnTooLong { column: column.to_owned(), max: max as u32 });
                }
                field.flen = len as i32;
            }
            Text | Blob => {
                // TEXT(n) is the smallest of the family that holds n characters.
                if let Some(len) = ty.length {
                    let bytes = len.saturating_mul(bytes_per_char);
                    let family =
                        if field.tp == Text { [TinyText, Text, MediumText, LongText] } else { [TinyBlob, Blob, MediumBlob, LongBlob] };
                    let size = [255, 65_535, 16_777_215].iter().filter(|&&limit| bytes > limit).count();
                    field.tp = family[size];
                }
                field.flen = field.default_flen();
            }
            _ => field.flen = field.default_flen(),
        }
        Ok(())
    }
}

/// The column types of MySQL's grammar, and whether tables here can have them.
pub fn supported_types() -> Vec<(&'static str, bool)> {
    TypeName::ALL.iter().map(|name| (name.name(), kind_of(*name).is_ok())).collect()
}

fn kind_of(name: TypeName) -> Result<TypeKind> {
    Ok(match name {
        TypeName::TinyInt => TypeKind::TinyInt,
        TypeName::SmallInt => TypeKind::SmallInt,
        TypeName::MediumInt => TypeKind::MediumInt,
        TypeName::Int => TypeKind::Int,
        TypeName::BigInt => TypeKind::BigInt,
        TypeName::Decimal => TypeKind::Decimal,
        TypeName::Float => TypeKind::Float,
        TypeName::Double => TypeKind::Double,
        TypeName::Date => TypeKind::Date,
        TypeName::Time => TypeKind::Time,
        TypeName::DateTime => TypeKind::DateTime,
        TypeName::Timestamp => TypeKind::Timestamp,
        TypeName::Year => TypeKind::Year,
        TypeName::Char => TypeKind::Char,
        TypeName::VarChar => TypeKind::VarChar,
        TypeName::Binary => TypeKind::Binary,
        TypeName::VarBinary => TypeKind::VarBinary,
        TypeName::TinyText => TypeKind::TinyText,
        TypeName::Text => TypeKind::Text,
        TypeName::MediumText => TypeKind::MediumText,
        TypeName::LongText => TypeKind::LongText,
        TypeName::TinyBlob => TypeKind::TinyBlob,
        TypeName::Blob => TypeKind::Blob,
        TypeName::MediumBlob => TypeKind::MediumBlob,
        TypeName::LongBlob => TypeKind::LongBlob,
        TypeName::Bit => TypeKind::Bit,
        TypeName::Enum => TypeKind::Enum,
        TypeName::Set => TypeKind::Set,
        TypeName::Json => TypeKind::Json,
        other => return Err(Error::not_supported(format!("{} columns", other.name().to_uppercase()))),
    })
}

fn integer(column: &str, ty: &ColumnType, field: &mut FieldType) -> Result<()> {
    field.flen = field.default_flen();
    if let Some(width) = ty.length {
        if width > MAX_DISPLAY_WIDTH {
            return Err(Error::TooBigDisplayWidth { column: column.to_owned(), max: MAX_DISPLAY_WIDTH });
        }
        if width > 0 {
            field.flen = width as i32;
        }
    }
    Ok(())
}

fn decimal(column: &str, ty: &ColumnType, field: &mut FieldType) -> Result<()> {
    let precision = match ty.length {
        None | Some(0) => 10,
        Some(precision) => precision,
    };
    let scale = u64::from(ty.decimals.unwrap_or(0));
    if precision > MAX_DECIMAL_PRECISION {
        return Err(Error::TooBigPrecision { given: precision, column: column.to_owned(), max: MAX_DECIMAL_PRECISION });
    }
    if scale > MAX_DECIMAL_SCALE {
        return Err(Error::TooBigScale { given: scale, column: column.to_owned(), max: MAX_DECIMAL_SCALE });
    }
    if scale > precision {
        return Err(Error::ScaleAbovePrecision { column: column.to_owned() });
    }
    (field.flen, field.decimal) = (precision as i32, scale as i8);
    Ok(())
}

fn float(column: &str, ty: &ColumnType, field: &mut FieldType) -> Result<()> {
    match (ty.length, ty.decimals) {
        (Some(width), Some(decimals)) => {
            if width > MAX_DISPLAY_WIDTH {
                return Err(Error::TooBigDisplayWidth { column: column.to_owned(), max: MAX_DISPLAY_WIDTH });
            }
            if u64::from(decimals) > MAX_DECIMAL_SCALE {
                return Err(Error::TooBigScale { given: decimals.into(), column: column.to_owned(), max: MAX_DECIMAL_SCALE });
            }
            if u64::from(decimals) > width {
                return Err(Error::ScaleAbovePrecision { column: column.to_owned() });
            }
            (field.flen, field.decimal) = (width as i32, decimals as i8);
        }
        (Some(bits), None) if field.tp == TypeKind::Float => {
            if bits > MAX_DOUBLE_BITS {
                return Err(Error::WrongColumnSpecifier { column: column.to_owned() });
            }
            if bits > MAX_FLOAT_BITS {
                let unsigned = field.unsigned;
                let flags = field.flags;
                *field = FieldType::double().with_flags(flags);
                field.unsigned = unsigned;
            }
        }
        _ => {}
    }
    Ok(())
}

fn bit(column: &str, ty: &ColumnType, field: &mut FieldType) -> Result<()> {
    let bits = ty.length.unwrap_or(1);
    if bits > 64 {
        return Err(Error::TooBigDisplayWidth { column: column.to_owned(), max: 64 });
    }
    field.flen = bits.max(1) as i32;
    // Bits have no sign, which arithmetic with them asks for; it is not shown.
    field.unsigned = true;
    Ok(())
}
