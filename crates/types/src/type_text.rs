//! How a type is written: in SHOW CREATE TABLE, and in the protocol's column definitions.

use std::fmt::Write as _;

use crate::{
    charset::Charset,
    field_type::{FieldType, NOT_FIXED_DECIMALS, TypeFlags, TypeKind, UNSPECIFIED},
};

impl FieldType {
    /// The length a type has when none is given; -1 for text and byte strings that must give one.
    pub fn default_flen(&self) -> i32 {
        let fraction = match self.decimal {
            1.. => i32::from(self.decimal) + 1,
            _ => 0,
        };
        match self.tp {
            TypeKind::TinyInt => 4 - i32::from(self.unsigned),
            TypeKind::SmallInt => 6 - i32::from(self.unsigned),
            TypeKind::MediumInt => 9 - i32::from(self.unsigned),
            TypeKind::Int => 11 - i32::from(self.unsigned),
            TypeKind::BigInt => 20,
            TypeKind::Float => 12,
            TypeKind::Double => 22,
            TypeKind::Decimal => 10,
            TypeKind::Char | TypeKind::Binary | TypeKind::Bit => 1,
            TypeKind::Date => 10,
            TypeKind::DateTime | TypeKind::Timestamp => 19 + fraction,
            TypeKind::Time => 10 + fraction,
            TypeKind::Year => 4,
            TypeKind::TinyText | TypeKind::TinyBlob => 255,
            TypeKind::Text | TypeKind::Blob => 65_535,
            TypeKind::MediumText | TypeKind::MediumBlob => 16_777_215,
            TypeKind::LongText | TypeKind::LongBlob | TypeKind::Json => i32::MAX,
            TypeKind::Null => 0,
            TypeKind::VarChar | TypeKind::VarBinary | TypeKind::Enum | TypeKind::Set => UNSPECIFIED,
        }
    }

    /// Most bytes a value may take.
    pub fn max_bytes(&self) -> u32 {
        match self.tp {
            TypeKind::TinyText | TypeKind::TinyBlob => 255,
            TypeKind::Text | TypeKind::Blob => 65_535,
            TypeKind::MediumText | TypeKind::MediumBlob => 16_777_215,
            TypeKind::LongText | TypeKind::LongBlob | TypeKind::Json => u32::MAX,
            _ => u32::try_from(self.flen).unwrap_or(0).saturating_mul(self.charset.max_bytes_per_char()),
        }
    }

    /// The type as SHOW CREATE TABLE and SHOW COLUMNS write it, without character set: `int unsigned`, `decimal(10,2)`, `varchar(20)`.
    pub fn to_sql(&self) -> String {
        let mut out = String::from(self.base_name());
        match self.tp {
            // MySQL 8.0 shows the display width only where it matters: ZEROFILL, and TINYINT(1) as the BOOL of drivers.
            TypeKind::TinyInt if self.flen == 1 && !self.unsigned => out.push_str("(1)"),
            _ if self.is_integer() && self.is_zerofill() => {
                let _ = write!(out, "({})", self.flen);
            }
            TypeKind::Decimal => {
                let _ = write!(out, "({},{})", self.flen, self.decimal.max(0));
            }
            TypeKind::Float | TypeKind::Double if self.scale().is_some() && self.flen > 0 => {
                let _ = write!(out, "({},{})", self.flen, self.decimal);
            }
            TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary | TypeKind::Bit => {
                let _ = write!(out, "({})", self.flen.max(0));
            }
            TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time if self.fsp() > 0 => {
                let _ = write!(out, "({})", self.fsp());
            }
            TypeKind::Enum | TypeKind::Set => {
                let members: Vec<String> = self.elems.iter().map(|member| format!("'{}'", member.replace('\'', "''"))).collect();
                let _ = write!(out, "({})", members.join(","));
            }
            _ => {}
        }
        if self.unsigned && self.tp != TypeKind::Year && self.tp != TypeKind::Bit {
            out.push_str(" unsigned");
        }
        if self.is_zerofill() && self.tp != TypeKind::Year {
            out.push_str(" zerofill");
        }
        out
    }

    /// The type's name without length and attributes, as `information_schema.columns.data_type` has it.
    pub fn base_name(&self) -> &'static str {
        match self.tp {
            TypeKind::Null => "null",
            TypeKind::TinyInt => "tinyint",
            TypeKind::SmallInt => "smallint",
            TypeKind::MediumInt => "mediumint",
            TypeKind::Int => "int",
            TypeKind::BigInt => "bigint",
            TypeKind::Float => "float",
            TypeKind::Double => "double",
            TypeKind::Decimal => "decimal",
            TypeKind::Char => "char",
            TypeKind::VarChar => "varchar",
            TypeKind::Binary => "binary",
            TypeKind::VarBinary => "varbinary",
            TypeKind::TinyText => "tinytext",
            TypeKind::Text => "text",
            TypeKind::MediumText => "mediumtext",
            TypeKind::LongText => "longtext",
            TypeKind::TinyBlob => "tinyblob",
            TypeKind::Blob => "blob",
            TypeKind::MediumBlob => "mediumblob",
            TypeKind::LongBlob => "longblob",
            TypeKind::Date => "date",
            TypeKind::DateTime => "datetime",
            TypeKind::Timestamp => "timestamp",
            TypeKind::Time => "time",
            TypeKind::Year => "year",
            TypeKind::Bit => "bit",
            TypeKind::Enum => "enum",
            TypeKind::Set => "set",
            TypeKind::Json => "json",
        }
    }

    /// `column_length` of the protocol's column definition: display width of numbers and times, bytes of text.
    pub fn column_length(&self) -> u32 {
        let flen = u32::try_from(self.flen).unwrap_or(0);
        match self.tp {
            // Sign and decimal point are not part of the precision.
            TypeKind::Decimal => flen + u32::from(!self.unsigned) + u32::from(self.decimal > 0),
            TypeKind::Enum | TypeKind::Set => {
                let chars = self.elems.iter().map(|member| member.chars().count() as u32);
                let chars =
                    if self.tp == TypeKind::Enum { chars.max().unwrap_or(0) } else { chars.map(|n| n + 1).sum::<u32>().saturating_sub(1) };
                chars * self.charset.max_bytes_per_char()
            }
            // The client's character set decides how many bytes the bytes of a column may become.
            TypeKind::TinyText => 255 * self.charset.max_bytes_per_char(),
            TypeKind::Text => 65_535 * self.charset.max_bytes_per_char(),
            TypeKind::MediumText => 16_777_215 * self.charset.max_bytes_per_char(),
            TypeKind::LongText | TypeKind::LongBlob | TypeKind::Json => u32::MAX,
            _ if self.is_text() => flen.saturating_mul(self.charset.max_bytes_per_char()),
            _ => flen,
        }
    }

    /// Flags of the protocol's column definition. Clients add the flag for numbers themselves.
    pub fn protocol_flags(&self) -> u16 {
        let mut flags = self.flags;
        let mut set = |condition: bool, flag: TypeFlags| {
            if condition {
                flags.insert(flag);
            }
        };
        set(self.not_null, TypeFlags::NOT_NULL);
        set(self.unsigned, TypeFlags::UNSIGNED);
        set(self.tp == TypeKind::Year, TypeFlags::UNSIGNED | TypeFlags::ZEROFILL);
        set(self.tp == TypeKind::Bit, TypeFlags::UNSIGNED);
        set(self.tp.is_blob() || self.tp == TypeKind::Json, TypeFlags::BLOB);
        set(self.tp == TypeKind::Enum, TypeFlags::ENUM);
        set(self.tp == TypeKind::Set, TypeFlags::SET);
        set(self.tp == TypeKind::Timestamp, TypeFlags::TIMESTAMP);
        // All but text of a collation that folds.
        let is_bin = self.collation.is_bin() || self.charset == Charset::Binary;
        set(is_bin && !(self.tp.is_numeric() && self.tp != TypeKind::Null), TypeFlags::BINARY);
        flags.0 as u16
    }

    /// `decimals` of the protocol's column definition.
    pub fn protocol_decimals(&self) -> u8 {
        match self.tp {
            TypeKind::Float | TypeKind::Double => self.scale().unwrap_or(NOT_FIXED_DECIMALS),
            TypeKind::Decimal => self.decimal.clamp(0, 30) as u8,
            TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => self.fsp(),
            _ if self.tp.is_string() || self.tp == TypeKind::Null => 0,
            _ => 0,
        }
    }

    /// Collation id of the protocol's column definition: that of the results' character set for text, `binary` for all else, JSON too.
    pub fn protocol_collation(&self, results: crate::Collation) -> u16 {
        if self.is_text() { results.id() } else { crate::Collation::Binary.id() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    #[test]
    fn types_are_written_as_show_create_table_does() {
        let zerofill = FieldType::int().with_unsigned().with_flags(TypeFlags::ZEROFILL);
        let mut set = FieldType::new(TypeKind::Enum);
        set.elems = ["a".to_owned(), "it's".to_owned()].into();
        for (ty, text) in [
            (FieldType::int(), "int"),
            (FieldType::unsigned_bigint(), "bigint unsigned"),
            (FieldType::new(TypeKind::TinyInt).with_flen(1), "tinyint(1)"),
            (FieldType::new(TypeKind::TinyInt), "tinyint"),
            (zerofill, "int(10) unsigned zerofill"),
            (FieldType::decimal(10, 2), "decimal(10,2)"),
            (FieldType::double(), "double"),
            (FieldType::char(60), "char(60)"),
            (FieldType::varbinary(16), "varbinary(16)"),
            (FieldType::text(), "text"),
            (FieldType::datetime(0), "datetime"),
            (FieldType::timestamp(6), "timestamp(6)"),
            (FieldType::year(), "year"),
            (set, "enum('a','it''s')"),
        ] {
            assert_eq!(ty.to_sql(), text);
        }
    }

    #[test]
    fn protocol_fields_are_those_of_mysql() {
        let pad = FieldType::char(60).with_not_null();
        assert_eq!((pad.column_length(), pad.protocol_flags(), pad.protocol_decimals()), (240, 1, 0));
        let price = FieldType::decimal(10, 2);
        assert_eq!((price.column_length(), price.protocol_decimals()), (12, 2));
        let id = FieldType::int().with_not_null().with_flags(TypeFlags::PRI_KEY | TypeFlags::AUTO_INCREMENT);
        assert_eq!((id.column_length(), id.protocol_flags()), (11, 0x200 | 3));
        let at = FieldType::datetime(3);
        assert_eq!((at.column_length(), at.protocol_flags(), at.protocol_decimals()), (23, 128, 3));
        assert_eq!(FieldType::double().protocol_decimals(), 31);
        assert_eq!(FieldType::blob().protocol_flags(), 16 | 128);
        assert_eq!(pad.protocol_collation(Collation::Utf8mb4GeneralCi), 45);
        assert_eq!(id.protocol_collation(Collation::Utf8mb4GeneralCi), 63);
    }
}
