//! Column types as written in CREATE TABLE.

use super::Ident;

/// A column's type with its attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnType {
    /// The type. Synonyms are resolved: INTEGER is Int, BOOL is TinyInt(1), NUMERIC is Decimal, REAL is Double …
    pub name: TypeName,
    /// The number in parentheses: display width, precision, length in characters or bytes, or fractional digits of seconds.
    pub length: Option<u64>,
    /// The second number: digits after the point.
    pub decimals: Option<u8>,
    /// `UNSIGNED`; `ZEROFILL` sets it too.
    pub unsigned: bool,
    /// `ZEROFILL`.
    pub zerofill: bool,
    /// `BINARY` attribute: the character set's binary collation.
    pub binary: bool,
    /// `CHARACTER SET`, also from `ASCII` (latin1), `UNICODE` (ucs2), `BYTE` (binary) and national types (utf8mb3).
    pub charset: Option<Ident>,
    /// `COLLATE`.
    pub collation: Option<Ident>,
    /// Members of ENUM and SET.
    pub values: Vec<String>,
}

impl ColumnType {
    /// The type without any attribute.
    pub fn plain(name: TypeName) -> ColumnType {
        ColumnType {
            name,
            length: None,
            decimals: None,
            unsigned: false,
            zerofill: false,
            binary: false,
            charset: None,
            collation: None,
            values: Vec::new(),
        }
    }
}

/// Column types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TypeName {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    Bit,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Json,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
}

impl TypeName {
    /// All types, in the order of the manual.
    pub const ALL: &'static [TypeName] = {
        use TypeName::*;
        &[
            TinyInt,
            SmallInt,
            MediumInt,
            Int,
            BigInt,
            Decimal,
            Float,
            Double,
            Bit,
            Date,
            Time,
            DateTime,
            Timestamp,
            Year,
            Char,
            VarChar,
            Binary,
            VarBinary,
            TinyText,
            Text,
            MediumText,
            LongText,
            TinyBlob,
            Blob,
            MediumBlob,
            LongBlob,
            Enum,
            Set,
            Json,
            Geometry,
            Point,
            LineString,
            Polygon,
            MultiPoint,
            MultiLineString,
            MultiPolygon,
            GeometryCollection,
        ]
    };

    /// The name SHOW CREATE TABLE prints.
    pub fn name(self) -> &'static str {
        use TypeName::*;
        match self {
            TinyInt => "tinyint",
            SmallInt => "smallint",
            MediumInt => "mediumint",
            Int => "int",
            BigInt => "bigint",
            Decimal => "decimal",
            Float => "float",
            Double => "double",
            Bit => "bit",
            Date => "date",
            Time => "time",
            DateTime => "datetime",
            Timestamp => "timestamp",
            Year => "year",
            Char => "char",
            VarChar => "varchar",
            Binary => "binary",
            VarBinary => "varbinary",
            TinyText => "tinytext",
            Text => "text",
            MediumText => "mediumtext",
            LongText => "longtext",
            TinyBlob => "tinyblob",
            Blob => "blob",
            MediumBlob => "mediumblob",
            LongBlob => "longblob",
            Enum => "enum",
            Set => "set",
            Json => "json",
            Geometry => "geometry",
            Point => "point",
            LineString => "linestring",
            Polygon => "polygon",
            MultiPoint => "multipoint",
            MultiLineString => "multilinestring",
            MultiPolygon => "multipolygon",
            GeometryCollection => "geomcollection",
        }
    }
}
