//! Column definitions: types and attributes.

use super::{Parser, Result};
use crate::{
    ParseErrorKind, SizeKind,
    ast::{CheckDef, ColumnDef, ColumnOption, ColumnType, Expr, Ident, TypeName, UnaryOp},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `name type attributes`.
    pub(super) fn column_def(&mut self) -> Result<ColumnDef> {
        let name = self.ident()?;
        self.column_def_behind(name)
    }

    /// `type attributes` behind the column's name.
    pub(super) fn column_def_behind(&mut self, name: Ident) -> Result<ColumnDef> {
        let (ty, serial) = self.column_type(&name)?;
        let mut options = Vec::new();
        if serial {
            options.extend([ColumnOption::NotNull, ColumnOption::AutoIncrement, ColumnOption::Unique]);
        }
        while let Some(option) = self.opt_column_option()? {
            options.push(option);
        }
        Ok(ColumnDef { name, ty, options })
    }

    /// A type with its attributes, and whether it was written SERIAL.
    pub(super) fn column_type(&mut self, column: &Ident) -> Result<(ColumnType, bool)> {
        use TypeName::*;
        let Tok::Kw(kw) = self.tok.tok else { return Err(self.syntax()) };
        if let Some(name) = self.spatial_type(kw) {
            return Ok((ColumnType::plain(name), false));
        }
        self.bump();
        let ty = match kw {
            Kw::TINYINT | Kw::INT1 => self.integer_type(TinyInt)?,
            Kw::SMALLINT | Kw::INT2 => self.integer_type(SmallInt)?,
            Kw::MEDIUMINT | Kw::MIDDLEINT | Kw::INT3 => self.integer_type(MediumInt)?,
            Kw::INT | Kw::INTEGER | Kw::INT4 => self.integer_type(Int)?,
            Kw::BIGINT | Kw::INT8 => self.integer_type(BigInt)?,
            Kw::BOOL | Kw::BOOLEAN => ColumnType { length: Some(1), ..ColumnType::plain(TinyInt) },
            Kw::SERIAL => return Ok((ColumnType { unsigned: true, ..ColumnType::plain(BigInt) }, true)),
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED => self.fractional_type(Decimal, column)?,
            Kw::FLOAT | Kw::FLOAT4 => self.fractional_type(Float, column)?,
            Kw::DOUBLE => {
                self.eat(Kw::PRECISION);
                self.fractional_type(Double, column)?
            }
            Kw::REAL | Kw::FLOAT8 => self.fractional_type(Double, column)?,
            Kw::BIT => self.sized_type(Bit)?,
            Kw::DATE => ColumnType::plain(Date),
            Kw::YEAR => self.sized_type(Year)?,
            Kw::TIME => self.temporal_type(Time, column)?,
            Kw::DATETIME => self.temporal_type(DateTime, column)?,
            Kw::TIMESTAMP => self.temporal_type(Timestamp, column)?,
            Kw::BINARY => self.sized_type(Binary)?,
            Kw::VARBINARY => self.length_type(VarBinary)?,
            Kw::TINYBLOB => ColumnType::plain(TinyBlob),
            Kw::BLOB => self.sized_type(Blob)?,
            Kw::MEDIUMBLOB => ColumnType::plain(MediumBlob),
            Kw::LONGBLOB => ColumnType::plain(LongBlob),
            Kw::JSON => ColumnType::plain(Json),
            Kw::LONG if self.eat(Kw::VARBINARY) => ColumnType::plain(MediumBlob),
            _ => self.text_type(kw)?,
        };
        Ok((ty, false))
    }

    /// Types with a character set.
    fn text_type(&mut self, kw: Kw) -> Result<ColumnType> {
        use TypeName::*;
        let mut national = matches!(kw, Kw::NCHAR | Kw::NVARCHAR | Kw::NATIONAL);
        let mut ty = match kw {
            Kw::CHAR | Kw::CHARACTER | Kw::NCHAR => {
                if self.eat(Kw::VARYING) || (national && self.eat(Kw::VARCHAR)) {
                    self.length_type(VarChar)?
                } else {
                    self.sized_type(Char)?
                }
            }
            Kw::VARCHAR | Kw::VARCHARACTER | Kw::NVARCHAR => self.length_type(VarChar)?,
            Kw::NATIONAL => match self.eat_any(&[Kw::CHAR, Kw::CHARACTER, Kw::VARCHAR, Kw::VARCHARACTER]) {
                Some(Kw::CHAR | Kw::CHARACTER) if self.eat(Kw::VARYING) => self.length_type(VarChar)?,
                Some(Kw::CHAR | Kw::CHARACTER) => self.sized_type(Char)?,
                Some(_) => self.length_type(VarChar)?,
                None => return Err(self.syntax()),
            },
            Kw::TINYTEXT => ColumnType::plain(TinyText),
            Kw::TEXT => self.sized_type(Text)?,
            Kw::MEDIUMTEXT => ColumnType::plain(MediumText),
            Kw::LONGTEXT => ColumnType::plain(LongText),
            Kw::LONG => {
                if self.eat_any(&[Kw::CHAR, Kw::CHARACTER]).is_some() {
                    self.expect(Kw::VARYING)?;
                } else if !self.eat(Kw::VARCHAR) {
                    self.eat(Kw::VARCHARACTER);
                }
                ColumnType::plain(MediumText)
            }
            Kw::ENUM | Kw::SET => {
                let values = self.paren_list(Self::text_literal)?;
                ColumnType { values, ..ColumnType::plain(if kw == Kw::ENUM { Enum } else { Set }) }
            }
            _ => return Err(self.syntax()),
        };
        (ty.charset, ty.binary) = self.opt_charset_attributes()?;
        national &= ty.charset.is_none();
        if national {
            ty.charset = Some(Ident::from("utf8mb3"));
        }
        // Here COLLATE belongs to the type; among the attributes it would mean the same.
        if self.at(Kw::COLLATE) {
            self.bump();
            ty.collation = Some(self.collation_name()?);
        }
        Ok(ty)
    }

    /// `[(n)]`.
    fn sized_type(&mut self, name: TypeName) -> Result<ColumnType> {
        let length = self.opt_paren_uint()?;
        Ok(ColumnType { length, ..ColumnType::plain(name) })
    }

    /// `(n)`.
    fn length_type(&mut self, name: TypeName) -> Result<ColumnType> {
        if !self.at(Tok::LParen) {
            return Err(self.syntax());
        }
        self.sized_type(name)
    }

    fn integer_type(&mut self, name: TypeName) -> Result<ColumnType> {
        let mut ty = self.sized_type(name)?;
        self.numeric_attributes(&mut ty);
        Ok(ty)
    }

    /// DECIMAL, FLOAT, DOUBLE: `[(m[, d])]` and number attributes.
    fn fractional_type(&mut self, name: TypeName, column: &Ident) -> Result<ColumnType> {
        let mut ty = ColumnType::plain(name);
        if self.eat(Tok::LParen) {
            ty.length = Some(self.uint()?);
            if self.eat(Tok::Comma) {
                let at = self.tok.start;
                let scale = self.uint()?;
                ty.decimals = Some(u8::try_from(scale).map_err(|_| {
                    let kind =
                        ParseErrorKind::TooBigNumber { what: SizeKind::Scale, name: column.as_str().to_owned(), given: scale, max: 30 };
                    self.error_at(kind, at)
                })?);
            } else if name == TypeName::Double {
                // DOUBLE has both numbers or none.
                return Err(self.syntax());
            }
            self.expect(Tok::RParen)?;
        }
        if name == TypeName::Float && ty.decimals.is_none() {
            // FLOAT(p): bits of precision, which choose the type and are forgotten.
            match ty.length {
                Some(0..=24) => ty.length = None,
                Some(25..=53) => (ty.name, ty.length) = (TypeName::Double, None),
                _ => {}
            }
        }
        self.numeric_attributes(&mut ty);
        Ok(ty)
    }

    fn numeric_attributes(&mut self, ty: &mut ColumnType) {
        while let Some(kw) = self.eat_any(&[Kw::UNSIGNED, Kw::SIGNED, Kw::ZEROFILL]) {
            match kw {
                Kw::UNSIGNED => ty.unsigned = true,
                Kw::ZEROFILL => (ty.unsigned, ty.zerofill) = (true, true),
                _ => {}
            }
        }
    }

    fn temporal_type(&mut self, name: TypeName, column: &Ident) -> Result<ColumnType> {
        let ty = self.sized_type(name)?;
        match ty.length {
            Some(fsp @ 7..) => {
                let kind = ParseErrorKind::TooBigNumber { what: SizeKind::Precision, name: column.as_str().to_owned(), given: fsp, max: 6 };
                Err(self.error(kind))
            }
            _ => Ok(ty),
        }
    }

    /// A spatial type's keyword, taken.
    pub(super) fn spatial_type(&mut self, kw: Kw) -> Option<TypeName> {
        let name = match kw {
            Kw::GEOMETRY => TypeName::Geometry,
            Kw::POINT => TypeName::Point,
            Kw::LINESTRING => TypeName::LineString,
            Kw::POLYGON => TypeName::Polygon,
            Kw::MULTIPOINT => TypeName::MultiPoint,
            Kw::MULTILINESTRING => TypeName::MultiLineString,
            Kw::MULTIPOLYGON => TypeName::MultiPolygon,
            Kw::GEOMETRYCOLLECTION | Kw::GEOMCOLLECTION => TypeName::GeometryCollection,
            _ => return None,
        };
        self.bump();
        Some(name)
    }

    /// Whether `CHARACTER SET`, `CHAR SET` or `CHARSET` stands here.
    pub(super) fn at_charset_clause(&mut self) -> bool {
        self.at(Kw::CHARSET) || ((self.at(Kw::CHARACTER) || self.at(Kw::CHAR)) && self.peek_is(Kw::SET))
    }

    /// `{CHARACTER SET | CHARSET} [=] name`; `None` is DEFAULT.
    pub(super) fn charset_clause(&mut self) -> Result<Option<Ident>> {
        if self.bump().tok != Tok::Kw(Kw::CHARSET) {
            self.expect(Kw::SET)?;
        }
        self.opt_eq();
        if self.eat(Kw::DEFAULT) { Ok(None) } else { self.charset_name().map(Some) }
    }

    /// `[CHARACTER SET c] [BINARY]` and the old spellings ASCII, UNICODE, BYTE.
    pub(super) fn opt_charset_attributes(&mut self) -> Result<(Option<Ident>, bool)> {
        let mut charset = None;
        let mut binary = self.eat(Kw::BINARY);
        if self.at_charset_clause() {
            charset = self.charset_clause()?;
        } else if let Some(kw) = self.eat_any(&[Kw::ASCII, Kw::UNICODE, Kw::BYTE]) {
            let name = match kw {
                Kw::ASCII => "latin1",
                Kw::UNICODE => "ucs2",
                _ => "binary",
            };
            charset = Some(Ident::from(name));
        }
        if !binary {
            binary = self.eat(Kw::BINARY);
        }
        Ok((charset, binary))
    }

    fn opt_column_option(&mut self) -> Result<Option<ColumnOption>> {
        let Tok::Kw(kw) = self.tok.tok else { return Ok(None) };
        Ok(Some(match kw {
            Kw::NOT if self.peek_is(Kw::SECONDARY) => {
                self.bump();
                self.bump();
                ColumnOption::NotSecondary
            }
            Kw::NOT => {
                self.bump();
                self.expect(Kw::NULL)?;
                ColumnOption::NotNull
            }
            Kw::NULL => {
                self.bump();
                ColumnOption::Null
            }
            Kw::DEFAULT => {
                self.bump();
                let (expr, parenthesized) = self.default_value()?;
                if parenthesized { ColumnOption::DefaultExpr(expr) } else { ColumnOption::Default(expr) }
            }
            Kw::ON => {
                self.bump();
                self.expect(Kw::UPDATE)?;
                ColumnOption::OnUpdate(self.now_call()?)
            }
            Kw::AUTO_INCREMENT => {
                self.bump();
                ColumnOption::AutoIncrement
            }
            Kw::PRIMARY | Kw::KEY => {
                if self.bump().tok == Tok::Kw(Kw::PRIMARY) {
                    self.expect(Kw::KEY)?;
                }
                ColumnOption::PrimaryKey
            }
            Kw::UNIQUE => {
                self.bump();
                self.eat(Kw::KEY);
                ColumnOption::Unique
            }
            Kw::COMMENT => {
                self.bump();
                ColumnOption::Comment(self.text_literal()?)
            }
            Kw::COLLATE => {
                self.bump();
                ColumnOption::Collate(self.collation_name()?)
            }
            Kw::GENERATED | Kw::AS => self.generated_column()?,
            Kw::CONSTRAINT | Kw::CHECK => ColumnOption::Check(self.column_check()?),
            Kw::REFERENCES => ColumnOption::References(self.reference_def()?),
            _ => return self.opt_storage_option(),
        }))
    }

    /// Attributes that say how a column is kept or shown.
    fn opt_storage_option(&mut self) -> Result<Option<ColumnOption>> {
        let Tok::Kw(kw) = self.tok.tok else { return Ok(None) };
        Ok(Some(match kw {
            Kw::VISIBLE | Kw::INVISIBLE => {
                self.bump();
                ColumnOption::Visible(kw == Kw::VISIBLE)
            }
            Kw::COLUMN_FORMAT => {
                self.bump();
                ColumnOption::ColumnFormat(self.upper_word(&["FIXED", "DYNAMIC", "DEFAULT"])?)
            }
            Kw::STORAGE => {
                self.bump();
                ColumnOption::Storage(self.upper_word(&["DISK", "MEMORY", "DEFAULT"])?)
            }
            Kw::ENGINE_ATTRIBUTE | Kw::SECONDARY_ENGINE_ATTRIBUTE => {
                self.bump();
                self.opt_eq();
                ColumnOption::EngineAttribute { secondary: kw == Kw::SECONDARY_ENGINE_ATTRIBUTE, value: self.text_literal()? }
            }
            Kw::SRID => {
                self.bump();
                ColumnOption::Srid(self.small_uint()?)
            }
            _ => return Ok(None),
        }))
    }

    /// One of `words` (upper case), as such.
    pub(super) fn upper_word(&mut self, words: &[&'static str]) -> Result<Ident> {
        self.eat_words(words).map(Ident::from).ok_or_else(|| self.syntax())
    }

    /// What follows DEFAULT, and whether it was in parentheses.
    pub(super) fn default_value(&mut self) -> Result<(Expr, bool)> {
        if self.eat(Tok::LParen) {
            let expr = self.expr()?;
            self.expect(Tok::RParen)?;
            return Ok((expr, true));
        }
        let op = match self.tok.tok {
            Tok::Minus => Some(UnaryOp::Neg),
            Tok::Plus => Some(UnaryOp::Plus),
            _ => None,
        };
        if let Some(op) = op {
            self.bump();
            if !matches!(self.tok.tok, Tok::Int | Tok::Decimal | Tok::Float) {
                return Err(self.syntax());
            }
            let (value, id) = self.literal()?;
            return Ok((Expr::Unary { op, expr: Box::new(Expr::Literal(value, id)) }, false));
        }
        let expr = match self.tok.tok {
            tok if tok.is_literal() => {
                let (value, id) = self.literal()?;
                Expr::Literal(value, id)
            }
            Tok::Kw(Kw::NULL | Kw::TRUE | Kw::FALSE) => self.default_word()?,
            Tok::Kw(Kw::DATE | Kw::TIME | Kw::TIMESTAMP) => self.default_word()?,
            _ => self.now_call()?,
        };
        Ok((expr, false))
    }

    fn default_word(&mut self) -> Result<Expr> {
        let at = self.tok.start;
        match self.operand_without_collate()? {
            expr @ (Expr::Literal(..) | Expr::TemporalLiteral { .. }) => Ok(expr),
            _ => Err(self.error_at(ParseErrorKind::Syntax, at)),
        }
    }

    /// `NOW(n)` in any of its spellings.
    fn now_call(&mut self) -> Result<Expr> {
        let now = match self.tok.tok {
            Tok::Kw(Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP) => true,
            Tok::Ident => self.at_word("NOW") && self.peek_is(Tok::LParen),
            _ => false,
        };
        if now { self.niladic("now", true) } else { Err(self.syntax()) }
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`.
    fn generated_column(&mut self) -> Result<ColumnOption> {
        if self.eat(Kw::GENERATED) {
            self.expect(Kw::ALWAYS)?;
        }
        self.expect(Kw::AS)?;
        self.expect(Tok::LParen)?;
        let expr = self.expr()?;
        self.expect(Tok::RParen)?;
        let stored = self.eat_any(&[Kw::VIRTUAL, Kw::STORED]) == Some(Kw::STORED);
        Ok(ColumnOption::Generated { expr, stored })
    }

    fn column_check(&mut self) -> Result<CheckDef> {
        let mut name = None;
        if self.eat(Kw::CONSTRAINT) && !self.at(Kw::CHECK) {
            name = Some(self.ident()?);
        }
        self.check_def(name)
    }

    /// `CHECK (expr) [[NOT] ENFORCED]`.
    pub(super) fn check_def(&mut self, name: Option<Ident>) -> Result<CheckDef> {
        self.expect(Kw::CHECK)?;
        self.expect(Tok::LParen)?;
        let expr = self.expr()?;
        self.expect(Tok::RParen)?;
        let enforced = self.opt_enforced();
        Ok(CheckDef { name, expr, enforced: enforced.unwrap_or(true) })
    }

    /// `[[NOT] ENFORCED]`.
    pub(super) fn opt_enforced(&mut self) -> Option<bool> {
        if self.eat2(Kw::NOT, Kw::ENFORCED) {
            return Some(false);
        }
        self.eat(Kw::ENFORCED).then_some(true)
    }
}
