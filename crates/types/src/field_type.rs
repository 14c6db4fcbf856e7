//! The type of a column or an expression.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{charset::Charset, collation::Collation};

/// A length or number of fraction digits that was not given.
pub const UNSPECIFIED: i32 = -1;

/// What MySQL reports as the number of decimals of a DOUBLE or FLOAT without a fixed number of them.
pub const NOT_FIXED_DECIMALS: u8 = 31;

/// The types of MySQL's grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TypeKind {
    /// The type of the literal NULL.
    #[default]
    Null,
    /// TINYINT, BOOL.
    TinyInt,
    /// SMALLINT.
    SmallInt,
    /// MEDIUMINT.
    MediumInt,
    /// INT.
    Int,
    /// BIGINT.
    BigInt,
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL.
    Decimal,
    /// CHAR.
    Char,
    /// VARCHAR.
    VarChar,
    /// BINARY.
    Binary,
    /// VARBINARY.
    VarBinary,
    /// TINYTEXT.
    TinyText,
    /// TEXT.
    Text,
    /// MEDIUMTEXT.
    MediumText,
    /// LONGTEXT.
    LongText,
    /// TINYBLOB.
    TinyBlob,
    /// BLOB.
    Blob,
    /// MEDIUMBLOB.
    MediumBlob,
    /// LONGBLOB.
    LongBlob,
    /// DATE.
    Date,
    /// DATETIME.
    DateTime,
    /// TIMESTAMP.
    Timestamp,
    /// TIME.
    Time,
    /// YEAR.
    Year,
    /// BIT.
    Bit,
    /// ENUM.
    Enum,
    /// SET.
    Set,
    /// JSON.
    Json,
}

/// The few families of values that expressions compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EvalType {
    /// Integers of 64 bits, signed or unsigned by the type's flag; YEAR, BIT.
    Int,
    /// FLOAT and DOUBLE.
    Real,
    /// DECIMAL.
    Decimal,
    /// Text and byte strings; ENUM and SET.
    String,
    /// DATE, DATETIME, TIMESTAMP.
    Time,
    /// TIME.
    Duration,
    /// JSON.
    Json,
}

impl TypeKind {
    /// The type's number in the protocol's column definitions.
    pub const fn mysql_type(self) -> u8 {
        match self {
            Self::TinyInt => 1,
            Self::SmallInt => 2,
            Self::Int => 3,
            Self::Float => 4,
            Self::Double => 5,
            Self::Null => 6,
            Self::Timestamp => 7,
            Self::BigInt => 8,
            Self::MediumInt => 9,
            Self::Date => 10,
            Self::Time => 11,
            Self::DateTime => 12,
            Self::Year => 13,
            Self::Bit => 16,
            Self::Json => 245,
            Self::Decimal => 246,
            Self::Enum => 254,
            Self::Set => 254,
            Self::TinyText | Self::Text | Self::MediumText | Self::LongText => 252,
            Self::TinyBlob | Self::Blob | Self::MediumBlob | Self::LongBlob => 252,
            Self::VarChar | Self::VarBinary => 253,
            Self::Char | Self::Binary => 254,
        }
    }

    /// The family of values.
    pub const fn eval_type(self) -> EvalType {
        match self {
            Self::TinyInt | Self::SmallInt | Self::MediumInt | Self::Int | Self::BigInt | Self::Year | Self::Bit => EvalType::Int,
            Self::Float | Self::Double => EvalType::Real,
            Self::Decimal => EvalType::Decimal,
            Self::Date | Self::DateTime | Self::Timestamp => EvalType::Time,
            Self::Time => EvalType::Duration,
            Self::Json => EvalType::Json,
            _ => EvalType::String,
        }
    }

    /// TINYINT to BIGINT.
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::TinyInt | Self::SmallInt | Self::MediumInt | Self::Int | Self::BigInt)
    }

    /// Any number, YEAR and BIT among them.
    pub const fn is_numeric(self) -> bool {
        matches!(self.eval_type(), EvalType::Int | EvalType::Real | EvalType::Decimal)
    }

    /// CHAR, VARCHAR, BINARY, VARBINARY and the TEXT and BLOB families.
    pub const fn is_string(self) -> bool {
        matches!(
            self,
            Self::Char
                | Self::VarChar
                | Self::Binary
                | Self::VarBinary
                | Self::TinyText
                | Self::Text
                | Self::MediumText
                | Self::LongText
                | Self::TinyBlob
                | Self::Blob
                | Self::MediumBlob
                | Self::LongBlob
        )
    }

    /// The TEXT and BLOB families.
    pub const fn is_blob(self) -> bool {
        matches!(
            self,
            Self::TinyText
                | Self::Text
                | Self::MediumText
                | Self::LongText
                | Self::TinyBlob
                | Self::Blob
                | Self::MediumBlob
                | Self::LongBlob
        )
    }

    /// DATE, DATETIME, TIMESTAMP and TIME.
    pub const fn is_temporal(self) -> bool {
        matches!(self.eval_type(), EvalType::Time | EvalType::Duration)
    }

    /// DATE, DATETIME and TIMESTAMP.
    pub const fn is_date_or_datetime(self) -> bool {
        matches!(self.eval_type(), EvalType::Time)
    }

    /// Smallest and greatest value of an integer type; of BIGINT UNSIGNED's range for all other types.
    pub const fn int_range(self, unsigned: bool) -> (i64, u64) {
        let bits = match self {
            Self::TinyInt => 8,
            Self::SmallInt => 16,
            Self::MediumInt => 24,
            Self::Int => 32,
            _ => 64,
        };
        if unsigned { (0, u64::MAX >> (64 - bits)) } else { (i64::MIN >> (64 - bits), i64::MAX as u64 >> (64 - bits)) }
    }
}

/// Column flags as they stand in the protocol's column definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TypeFlags(pub u32);

impl TypeFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// The column cannot be NULL.
    pub const NOT_NULL: Self = Self(1);
    /// Part of the primary key.
    pub const PRI_KEY: Self = Self(1 << 1);
    /// Part of a unique key.
    pub const UNIQUE_KEY: Self = Self(1 << 2);
    /// Part of a non-unique key.
    pub const MULTIPLE_KEY: Self = Self(1 << 3);
    /// A TEXT or BLOB.
    pub const BLOB: Self = Self(1 << 4);
    /// Without sign.
    pub const UNSIGNED: Self = Self(1 << 5);
    /// Padded with zeros to the display width.
    pub const ZEROFILL: Self = Self(1 << 6);
    /// Of a `_bin` collation, or not text at all.
    pub const BINARY: Self = Self(1 << 7);
    /// An ENUM.
    pub const ENUM: Self = Self(1 << 8);
    /// AUTO_INCREMENT.
    pub const AUTO_INCREMENT: Self = Self(1 << 9);
    /// A TIMESTAMP.
    pub const TIMESTAMP: Self = Self(1 << 10);
    /// A SET.
    pub const SET: Self = Self(1 << 11);
    /// No default value.
    pub const NO_DEFAULT: Self = Self(1 << 12);
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub const ON_UPDATE_NOW: Self = Self(1 << 13);
    /// Part of some key.
    pub const PART_KEY: Self = Self(1 << 14);
    /// A number.
    pub const NUM: Self = Self(1 << 15);
    /// A truth value: TRUE, FALSE, the result of a comparison. Not sent; JSON tells it from 0 and 1.
    pub const TRUTH: Self = Self(1 << 16);

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of flags.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags without those of `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Sets the flags of `other`.
    pub fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Clears the flags of `other`.
    pub fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

impl std::ops::BitOr for TypeFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

/// The type of a column or an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FieldType {
    /// Which type.
    pub tp: TypeKind,
    /// Without sign; numbers only.
    pub unsigned: bool,
    /// Never NULL.
    pub not_null: bool,
    /// ZEROFILL, AUTO_INCREMENT, keys and the like. NOT NULL and UNSIGNED have fields of their own; [`FieldType::protocol_flags`] puts all together.
    pub flags: TypeFlags,
    /// Display width of numbers, precision of DECIMAL, characters of text, bytes of binary strings, bits of BIT; -1 unknown.
    pub flen: i32,
    /// Fraction digits of numbers, digits of fractional seconds; -1 unknown.
    pub decimal: i8,
    /// Character set.
    pub charset: Charset,
    /// Collation.
    pub collation: Collation,
    /// Members of ENUM and SET.
    pub elems: Arc<[String]>,
}

impl Default for FieldType {
    fn default() -> Self {
        Self::null()
    }
}

impl FieldType {
    /// A type with nothing but its kind; numbers and temporal types get their default length.
    pub fn new(tp: TypeKind) -> Self {
        let text = matches!(
            tp,
            TypeKind::Char
                | TypeKind::VarChar
                | TypeKind::TinyText
                | TypeKind::Text
                | TypeKind::MediumText
                | TypeKind::LongText
                | TypeKind::Enum
                | TypeKind::Set
                | TypeKind::Json
        );
        let (charset, collation) = match tp {
            TypeKind::Json => (Charset::Utf8mb4, Collation::Utf8mb4Bin),
            _ if text => (Charset::Utf8mb4, Collation::default()),
            _ => (Charset::Binary, Collation::Binary),
        };
        let mut ty = Self {
            tp,
            unsigned: false,
            not_null: false,
            flags: TypeFlags::NONE,
            flen: UNSPECIFIED,
            decimal: UNSPECIFIED as i8,
            charset,
            collation,
            elems: Arc::new([]),
        };
        ty.flen = ty.default_flen();
        if ty.is_integer()
            || matches!(tp, TypeKind::Decimal | TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time | TypeKind::Year)
        {
            ty.decimal = 0;
        }
        ty
    }

    /// The type of the literal NULL.
    pub fn null() -> Self {
        Self::new(TypeKind::Null)
    }

    /// BIGINT.
    pub fn bigint() -> Self {
        Self::new(TypeKind::BigInt)
    }

    /// BIGINT UNSIGNED.
    pub fn unsigned_bigint() -> Self {
        Self::new(TypeKind::BigInt).with_unsigned()
    }

    /// INT.
    pub fn int() -> Self {
        Self::new(TypeKind::Int)
    }

    /// The type of comparisons and truth values: an integer of width 1.
    pub fn boolean() -> Self {
        let mut ty = Self::bigint();
        ty.flen = 1;
        ty.with_flags(TypeFlags::TRUTH)
    }

    /// FLOAT.
    pub fn float() -> Self {
        Self::new(TypeKind::Float)
    }

    /// DOUBLE.
    pub fn double() -> Self {
        Self::new(TypeKind::Double)
    }

    /// DECIMAL(precision, scale).
    pub fn decimal(precision: u8, scale: u8) -> Self {
        let mut ty = Self::new(TypeKind::Decimal);
        (ty.flen, ty.decimal) = (i32::from(precision), scale as i8);
        ty
    }

    /// CHAR(chars) in the default character set.
    pub fn char(chars: u32) -> Self {
        Self::new(TypeKind::Char).with_flen(chars)
    }

    /// VARCHAR(chars) in the default character set.
    pub fn varchar(chars: u32) -> Self {
        Self::new(TypeKind::VarChar).with_flen(chars)
    }

    /// BINARY(bytes).
    pub fn binary(bytes: u32) -> Self {
        Self::new(TypeKind::Binary).with_flen(bytes)
    }

    /// VARBINARY(bytes).
    pub fn varbinary(bytes: u32) -> Self {
        Self::new(TypeKind::VarBinary).with_flen(bytes)
    }

    /// TEXT in the default character set.
    pub fn text() -> Self {
        Self::new(TypeKind::Text)
    }

    /// LONGTEXT in the default character set.
    pub fn longtext() -> Self {
        Self::new(TypeKind::LongText)
    }

    /// BLOB.
    pub fn blob() -> Self {
        Self::new(TypeKind::Blob)
    }

    /// DATE.
    pub fn date() -> Self {
        Self::new(TypeKind::Date)
    }

    /// DATETIME(fsp).
    pub fn datetime(fsp: u8) -> Self {
        Self::new(TypeKind::DateTime).with_fsp(fsp)
    }

    /// TIMESTAMP(fsp).
    pub fn timestamp(fsp: u8) -> Self {
        Self::new(TypeKind::Timestamp).with_fsp(fsp)
    }

    /// TIME(fsp).
    pub fn time(fsp: u8) -> Self {
        Self::new(TypeKind::Time).with_fsp(fsp)
    }

    /// YEAR.
    pub fn year() -> Self {
        Self::new(TypeKind::Year)
    }

    /// The type, unsigned.
    pub fn with_unsigned(mut self) -> Self {
        self.unsigned = true;
        self.flen = if self.tp.is_integer() { self.default_flen() } else { self.flen };
        self
    }

    /// The type, NOT NULL.
    pub fn with_not_null(mut self) -> Self {
        self.not_null = true;
        self
    }

    /// The type with a length.
    pub fn with_flen(mut self, flen: u32) -> Self {
        self.flen = i32::try_from(flen).unwrap_or(i32::MAX);
        self
    }

    /// The temporal type with digits of fractional seconds.
    pub fn with_fsp(mut self, fsp: u8) -> Self {
        self.decimal = fsp as i8;
        self.flen = self.default_flen();
        self
    }

    /// The type with a collation and its character set.
    pub fn with_collation(mut self, collation: Collation) -> Self {
        self.collation = collation;
        self.charset = collation.charset();
        self
    }

    /// The type with further flags.
    pub fn with_flags(mut self, flags: TypeFlags) -> Self {
        self.flags.insert(flags);
        self
    }

    /// The family of values.
    #[inline]
    pub fn eval_type(&self) -> EvalType {
        self.tp.eval_type()
    }

    /// TINYINT to BIGINT.
    #[inline]
    pub fn is_integer(&self) -> bool {
        self.tp.is_integer()
    }

    /// Text of a character set; false for byte strings.
    #[inline]
    pub fn is_text(&self) -> bool {
        self.charset != Charset::Binary && self.eval_type() == EvalType::String
    }

    /// Digits of fractional seconds, 0 when unknown.
    #[inline]
    pub fn fsp(&self) -> u8 {
        self.decimal.clamp(0, 6) as u8
    }

    /// Fraction digits, `None` when not fixed.
    #[inline]
    pub fn scale(&self) -> Option<u8> {
        u8::try_from(self.decimal).ok().filter(|&scale| scale < NOT_FIXED_DECIMALS)
    }

    /// Whether numbers are padded with zeros to the display width.
    #[inline]
    pub fn is_zerofill(&self) -> bool {
        self.flags.contains(TypeFlags::ZEROFILL)
    }

    /// Whether the column is AUTO_INCREMENT.
    #[inline]
    pub fn is_auto_increment(&self) -> bool {
        self.flags.contains(TypeFlags::AUTO_INCREMENT)
    }

    /// Whether a covering read of an index needs the value beside its sort key.
    ///
    /// Of `utf8mb4_bin` the key lacks the trailing spaces; CHAR has none.
    pub fn needs_restored_value(&self) -> bool {
        self.is_text() && (!self.collation.is_bin() || self.tp != TypeKind::Char)
    }
}
