//! A small reader of SQL expressions, so that answers can be written down as people write them.

use std::sync::Arc;

use expr::{BuildCtx, ConnInfo, Error, EvalCtx, Expr, Op, build_call, build_cast, build_op};
use types::{Chunk, Collation, Column, Datum, Decimal, Duration, FieldType, Time, TimeKind, TypeKind};

/// 2024-02-29 12:34:56.789012 UTC.
pub const NOW_MICROS: i64 = 1_709_210_096_789_012;

/// A context as of a session with MySQL's defaults.
pub fn context() -> EvalCtx {
    let connection = ConnInfo { id: 7, database: Some("test".into()), version: "8.0.11-Trine".into(), ..ConnInfo::default() };
    EvalCtx { now_micros: NOW_MICROS, connection: Arc::new(connection), ..EvalCtx::default() }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(String),
    Text(String),
    Symbol(String),
    End,
}

fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let start = at;
        if c.is_whitespace() {
            at += 1;
        } else if c.is_alphabetic() || c == '_' || c == '@' {
            while at < chars.len() && (chars[at].is_alphanumeric() || matches!(chars[at], '_' | '@')) {
                at += 1;
            }
            out.push(Token::Word(chars[start..at].iter().collect()));
        } else if c.is_ascii_digit() || (c == '.' && chars.get(at + 1).is_some_and(char::is_ascii_digit)) {
            while at < chars.len()
                && (chars[at].is_ascii_digit()
                    || matches!(chars[at], '.' | 'e' | 'E')
                    || (matches!(chars[at], '-' | '+') && matches!(chars[at - 1], 'e' | 'E')))
            {
                at += 1;
            }
            out.push(Token::Number(chars[start..at].iter().collect()));
        } else if c == '\'' {
            let mut value = String::new();
            at += 1;
            while chars[at] != '\'' || chars.get(at + 1) == Some(&'\'') {
                match chars[at] {
                    '\\' => {
                        at += 1;
                        value.push(match chars[at] {
                            'n' => '\n',
                            't' => '\t',
                            '0' => '\0',
                            other => other,
                        });
                    }
                    '\'' => {
                        at += 1;
                        value.push('\'');
                    }
                    other => value.push(other),
                }
                at += 1;
            }
            at += 1;
            out.push(Token::Text(value));
        } else {
            let three: String = chars[at..chars.len().min(at + 3)].iter().collect();
            let symbol = ["<=>", "<=", ">=", "<>", "!=", "<<", ">>", "&&", "||", ":="].iter().find(|s| three.starts_with(*s));
            let symbol = symbol.map_or_else(|| c.to_string(), |s| (*s).to_owned());
            at += symbol.len();
            out.push(Token::Symbol(symbol));
        }
    }
    out.push(Token::End);
    out
}

/// Reads an expression. Literals go through `literal`, which may replace them by columns.
pub struct Reader<'c> {
    tokens: Vec<Token>,
    at: usize,
    ctx: &'c EvalCtx,
    /// Literals as columns: their values so far.
    columns: Option<Vec<(Datum, FieldType)>>,
}

type Built = Result<Expr, Error>;

impl<'c> Reader<'c> {
    fn new(text: &str, ctx: &'c EvalCtx, as_columns: bool) -> Self {
        Reader { tokens: tokens(text), at: 0, ctx, columns: as_columns.then(Vec::new) }
    }

    fn build(&self) -> BuildCtx<'c> {
        BuildCtx::new(self.ctx)
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn next(&mut self) -> Token {
        self.at += 1;
        self.tokens[self.at - 1].clone()
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(w) if w.eq_ignore_ascii_case(word))
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(s) if s == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) {
        assert!(self.eat(symbol), "expected {symbol} before {:?}", &self.tokens[self.at..]);
    }

    fn literal(&mut self, value: Datum, ty: FieldType) -> Expr {
        match &mut self.columns {
            Some(columns) => {
                columns.push((value, ty.clone()));
                Expr::column(columns.len() - 1, ty)
            }
            None => Expr::constant(value, ty),
        }
    }

    fn text(&mut self, value: &str) -> Expr {
        let ty = FieldType::varchar(value.chars().count() as u32).with_collation(Collation::Utf8mb4_0900AiCi);
        self.literal(Datum::from(value), ty)
    }

    fn number(&mut self, digits: &str) -> Expr {
        if digits.contains(['e', 'E']) {
            return self.literal(Datum::Double(digits.parse().expect("a double")), FieldType::double());
        }
        if let Some((int, fraction)) = digits.split_once('.') {
            let decimal: Decimal = digits.parse().expect("a decimal");
            let ty = FieldType::decimal((int.len() + fraction.len()).max(1) as u8, fraction.len() as u8);
            return self.literal(Datum::Decimal(decimal), ty);
        }
        let mut ty = FieldType::bigint();
        ty.flen = digits.len() as i32;
        match digits.parse::<i64>() {
            Ok(v) => self.literal(Datum::Int(v), ty),
            Err(_) => match digits.parse::<u64>() {
                Ok(v) => self.literal(Datum::UInt(v), ty.with_unsigned()),
                Err(_) => self.literal(Datum::Decimal(digits.parse().expect("a decimal")), FieldType::decimal(digits.len() as u8, 0)),
            },
        }
    }

    fn binary_op(&mut self, min: u8) -> Option<(Op, u8, bool)> {
        let negated = self.is_word("not")
            && matches!(&self.tokens[self.at + 1], Token::Word(w) if ["like", "in", "between", "regexp"].contains(&w.to_lowercase().as_str()));
        let token = if negated { &self.tokens[self.at + 1] } else { self.peek() };
        let (op, level) = match token {
            Token::Symbol(s) => match s.as_str() {
                "||" => (Op::Or, 1),
                "&&" => (Op::And, 3),
                "=" => (Op::Eq, 5),
                "<=>" => (Op::NullEq, 5),
                "<>" | "!=" => (Op::Ne, 5),
                "<" => (Op::Lt, 5),
                "<=" => (Op::Le, 5),
                ">" => (Op::Gt, 5),
                ">=" => (Op::Ge, 5),
                "|" => (Op::BitOr, 6),
                "&" => (Op::BitAnd, 7),
                "<<" => (Op::Shl, 8),
                ">>" => (Op::Shr, 8),
                "+" => (Op::Add, 9),
                "-" => (Op::Sub, 9),
                "*" => (Op::Mul, 10),
                "/" => (Op::Div, 10),
                "%" => (Op::Mod, 10),
                "^" => (Op::BitXor, 11),
                _ => return None,
            },
            Token::Word(w) => match w.to_lowercase().as_str() {
                "or" => (Op::Or, 1),
                "xor" => (Op::Xor, 2),
                "and" => (Op::And, 3),
                "like" => (Op::Like { escape: Some('\\') }, 5),
                "regexp" | "rlike" => (Op::Regexp, 5),
                "in" => (Op::In, 5),
                "between" => (Op::Between, 5),
                "is" => (Op::IsNull, 5),
                "div" => (Op::IntDiv, 10),
                "mod" => (Op::Mod, 10),
                _ => return None,
            },
            _ => return None,
        };
        if level < min {
            return None;
        }
        self.at += 1 + usize::from(negated);
        Some((op, level, negated))
    }

    fn not_if(&self, negated: bool, e: Expr) -> Built {
        if negated { build_op(Op::Not, vec![e], &self.build()) } else { Ok(e) }
    }

    fn expr(&mut self, min: u8) -> Built {
        let mut left = self.prefix()?;
        while let Some((op, level, negated)) = self.binary_op(min) {
            left = match op {
                Op::IsNull => self.is_tail(left)?,
                Op::In => {
                    let mut args = vec![left];
                    self.expect("(");
                    args.extend(self.list(")")?);
                    let built = build_op(Op::In, args, &self.build())?;
                    self.not_if(negated, built)?
                }
                Op::Between => {
                    let low = self.expr(6)?;
                    assert!(self.eat_word("and"), "BETWEEN needs AND");
                    let high = self.expr(6)?;
                    let built = build_op(Op::Between, vec![left, low, high], &self.build())?;
                    self.not_if(negated, built)?
                }
                Op::Like { .. } => {
                    let pattern = self.expr(6)?;
                    let mut escape = Some('\\');
                    if self.eat_word("escape") {
                        let Token::Text(e) = self.next() else { panic!("ESCAPE needs a text") };
                        escape = e.chars().next();
                    }
                    let built = build_op(Op::Like { escape }, vec![left, pattern], &self.build())?;
                    self.not_if(negated, built)?
                }
                _ => {
                    let right = self.expr(level + 1)?;
                    let built = build_op(op, vec![left, right], &self.build())?;
                    self.not_if(negated, built)?
                }
            };
        }
        Ok(left)
    }

    fn is_tail(&mut self, left: Expr) -> Built {
        let negated = self.eat_word("not");
        let Token::Word(what) = self.next() else { panic!("IS needs a word") };
        let op = match what.to_lowercase().as_str() {
            "null" => Op::IsNull,
            "true" => Op::IsTrue,
            "false" => Op::IsFalse,
            _ => Op::IsUnknown,
        };
        let built = build_op(op, vec![left], &self.build())?;
        self.not_if(negated, built)
    }

    fn list(&mut self, end: &str) -> Result<Vec<Expr>, Error> {
        let mut out = Vec::new();
        while !self.eat(end) {
            out.push(self.expr(0)?);
            self.eat(",");
        }
        Ok(out)
    }

    fn prefix(&mut self) -> Built {
        let mut built = match self.next() {
            Token::Number(digits) => self.number(&digits),
            Token::Text(text) => self.text(&text),
            Token::Symbol(s) if s == "-" => {
                let operand = self.expr(12)?;
                build_op(Op::Neg, vec![operand], &self.build())?
            }
            Token::Symbol(s) if s == "~" => {
                let operand = self.expr(12)?;
                build_op(Op::BitNeg, vec![operand], &self.build())?
            }
            Token::Symbol(s) if s == "(" => {
                let mut elements = self.list(")")?;
                if elements.len() == 1 { elements.remove(0) } else { build_op(Op::Row, elements, &self.build())? }
            }
            Token::Word(word) => self.word(&word)?,
            other => panic!("unexpected {other:?}"),
        };
        while self.eat_word("collate") {
            let Token::Word(name) = self.next() else { panic!("COLLATE needs a name") };
            built = build_call("collate", vec![built, constant_text(&name)], &self.build())?;
        }
        Ok(built)
    }

    fn word(&mut self, word: &str) -> Built {
        let lower = word.to_lowercase();
        if let Some(name) = lower.strip_prefix('@') {
            return match self.eat(":=") {
                true => {
                    let value = self.expr(0)?;
                    build_call("setvar", vec![constant_text(name), value], &self.build())
                }
                false => build_call("getvar", vec![constant_text(name)], &self.build()),
            };
        }
        match (lower.as_str(), self.peek().clone()) {
            ("null", _) => Ok(Expr::constant(Datum::Null, FieldType::null())),
            ("true", _) => Ok(self.literal(Datum::Int(1), FieldType::boolean())),
            ("false", _) => Ok(self.literal(Datum::Int(0), FieldType::boolean())),
            ("not", _) => {
                let operand = self.expr(4)?;
                build_op(Op::Not, vec![operand], &self.build())
            }
            ("case", _) => self.case(),
            ("cast", _) => self.cast(),
            ("binary", Token::Text(_) | Token::Word(_)) => {
                let operand = self.expr(12)?;
                build_cast(operand, FieldType::new(TypeKind::VarBinary), &self.build())
            }
            ("x", Token::Text(hex)) => {
                self.at += 1;
                let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hex")).collect();
                let len = bytes.len() as u32;
                Ok(self.literal(Datum::Bytes(bytes), FieldType::varbinary(len).with_unsigned()))
            }
            ("date" | "time" | "timestamp", Token::Text(text)) => {
                self.at += 1;
                Ok(self.temporal(&lower, &text))
            }
            ("interval", Token::Symbol(_)) | (_, Token::Symbol(_)) if self.eat("(") => self.call(&lower),
            _ => panic!("unexpected word {word}"),
        }
    }

    fn temporal(&mut self, kind: &str, text: &str) -> Expr {
        let fsp = text.split_once('.').map_or(0, |(_, f)| f.len() as u8);
        match kind {
            "time" => {
                let value = Duration::parse(text.as_bytes(), 6).expect("a time").duration.with_fsp(fsp);
                self.literal(Datum::Duration(value), FieldType::time(fsp))
            }
            "date" => {
                let value = Time::parse(text.as_bytes(), TimeKind::Date, 0, &Default::default()).expect("a date").time;
                self.literal(Datum::Time(value), FieldType::date())
            }
            _ => {
                let value = Time::parse(text.as_bytes(), TimeKind::DateTime, fsp, &Default::default()).expect("a datetime").time;
                self.literal(Datum::Time(value), FieldType::datetime(fsp))
            }
        }
    }

    fn case(&mut self) -> Built {
        let subject = if self.is_word("when") { None } else { Some(self.expr(0)?) };
        let mut args = Vec::new();
        while self.eat_word("when") {
            let when = self.expr(0)?;
            args.push(match &subject {
                Some(s) => build_op(Op::Eq, vec![s.clone(), when], &self.build())?,
                None => when,
            });
            assert!(self.eat_word("then"), "WHEN needs THEN");
            args.push(self.expr(0)?);
        }
        if self.eat_word("else") {
            args.push(self.expr(0)?);
        }
        assert!(self.eat_word("end"), "CASE needs END");
        build_op(Op::Case, args, &self.build())
    }

    fn cast(&mut self) -> Built {
        self.expect("(");
        let operand = self.expr(0)?;
        assert!(self.eat_word("as"), "CAST needs AS");
        let Token::Word(name) = self.next() else { panic!("CAST needs a type") };
        let mut sizes = Vec::new();
        if self.eat("(") {
            while !self.eat(")") {
                let Token::Number(n) = self.next() else { panic!("a size") };
                sizes.push(n.parse::<u8>().expect("a size"));
                self.eat(",");
            }
        }
        self.expect(")");
        let first = sizes.first().copied();
        let target = match name.to_lowercase().as_str() {
            "signed" => FieldType::bigint(),
            "unsigned" => FieldType::unsigned_bigint(),
            "decimal" => FieldType::decimal(first.unwrap_or(10), sizes.get(1).copied().unwrap_or(0)),
            "char" => first.map_or_else(
                || {
                    let mut t = FieldType::varchar(0);
                    t.flen = -1;
                    t
                },
                |n| FieldType::varchar(n.into()),
            ),
            "binary" => first.map_or_else(
                || {
                    let mut t = FieldType::varbinary(0);
                    t.flen = -1;
                    t
                },
                |n| FieldType::binary(n.into()),
            ),
            "date" => FieldType::date(),
            "datetime" => FieldType::datetime(first.unwrap_or(0)),
            "time" => FieldType::time(first.unwrap_or(0)),
            "year" => FieldType::year(),
            "double" => FieldType::double(),
            "float" => FieldType::float(),
            "json" => FieldType::new(types::TypeKind::Json),
            other => panic!("unknown type {other}"),
        };
        build_cast(operand, target, &self.build())
    }

    /// Arguments that are syntax stay constants.
    fn call(&mut self, name: &str) -> Built {
        let keep = self.columns.take();
        let mut syntax = Vec::new();
        if matches!(name, "extract" | "timestampdiff" | "timestampadd" | "get_format") {
            let Token::Word(unit) = self.next() else { panic!("{name} needs a unit") };
            syntax.push(constant_text(&unit));
            let _ = self.eat(",") || self.eat_word("from");
        }
        // Their constants decide the type of the result.
        let constants_only = matches!(
            name,
            "now"
                | "curtime"
                | "sysdate"
                | "utc_timestamp"
                | "convert_using"
                | "rand"
                | "regexp_like"
                | "regexp_replace"
                | "regexp_substr"
                | "regexp_instr"
        );
        if !constants_only {
            self.columns = keep.clone();
        }
        let mut args = syntax;
        while !self.eat(")") {
            if self.eat_word("interval") {
                args.push(self.expr(0)?);
                let Token::Word(unit) = self.next() else { panic!("INTERVAL needs a unit") };
                args.push(constant_text(&unit));
            } else if let (Token::Word(direction), "trim") = (self.peek().clone(), name)
                && ["both", "leading", "trailing"].contains(&direction.to_lowercase().as_str())
            {
                // trim(both 'x' from 'y')
                self.at += 1;
                let remove = self.expr(0)?;
                assert!(self.eat_word("from"), "TRIM needs FROM");
                let text = self.expr(0)?;
                args.extend([text, remove, constant_text(&direction.to_uppercase())]);
            } else {
                args.push(self.expr(0)?);
            }
            self.eat(",");
        }
        if constants_only {
            self.columns = keep;
        }
        build_call(name, args, &self.build())
    }
}

fn constant_text(text: &str) -> Expr {
    Expr::constant(Datum::from(text), FieldType::varchar(text.len() as u32))
}

/// Builds an expression of constants.
pub fn parse(text: &str, ctx: &EvalCtx) -> Built {
    let mut reader = Reader::new(text, ctx, false);
    let built = reader.expr(0)?;
    assert_eq!(reader.peek(), &Token::End, "left over in {text}");
    Ok(built)
}

/// Builds an expression whose literals are columns, and a chunk of `rows` equal rows of them.
pub fn parse_over_columns(text: &str, ctx: &EvalCtx, rows: usize) -> Result<(Expr, Chunk), Error> {
    let mut reader = Reader::new(text, ctx, true);
    let built = reader.expr(0)?;
    let columns = reader.columns.take().unwrap_or_default();
    if columns.is_empty() {
        return Ok((built, Chunk::without_columns(rows)));
    }
    let columns = columns.iter().map(|(v, ty)| Column::repeat(ty, v.as_ref(), rows)).collect();
    Ok((built, Chunk::from_columns(columns)))
}

/// A value as a client sees it.
pub fn show(value: &Datum, ty: &FieldType) -> String {
    match value {
        Datum::Null => "NULL".into(),
        Datum::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => {
            format!("0x{}", bytes.iter().map(|b| format!("{b:02X}")).collect::<String>())
        }
        value => String::from_utf8_lossy(&value.as_ref().to_text(ty)).into_owned(),
    }
}

/// The answer of an expression, or `error N`.
pub fn answer_in(ctx: &EvalCtx, text: &str) -> String {
    let outcome = parse(text, ctx).and_then(|e| Ok(show(&e.eval_const(ctx)?, e.field_type())));
    outcome.unwrap_or_else(|e| format!("error {}", e.code()))
}

/// Row-wise and vectorised evaluation over columns must say the same.
fn check_over_columns(text: &str) {
    let ctx = context();
    let Ok((e, chunk)) = parse_over_columns(text, &ctx, 3) else { return };
    let by_row = e.eval(&ctx, chunk.row(1)).map_err(|e| e.code());
    let by_column = e.eval_chunk(&ctx, &chunk).map(|c| c.datum(1)).map_err(|e| e.code());
    if e.is_deterministic() {
        assert_eq!(
            by_row.as_ref().map(|v| show(v, e.field_type())),
            by_column.as_ref().map(|v| show(v, e.field_type())),
            "{text} over columns: {e}"
        );
    }
}

/// Checks lines of `expression => answer`; `=>` parts are separated by the last arrow.
pub fn check(table: &str) {
    let ctx = context();
    let mut wrong = Vec::new();
    for line in table.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let (text, expected) = line.rsplit_once("=>").unwrap_or_else(|| panic!("no answer in {line}"));
        let got = answer_in(&ctx, text.trim());
        if got != expected.trim() {
            wrong.push(format!("{} => {}   (is: {got})", text.trim(), expected.trim()));
        }
        check_over_columns(text.trim());
    }
    assert!(wrong.is_empty(), "{} wrong answers:\n{}", wrong.len(), wrong.join("\n"));
}

/// The codes of the warnings an expression gives.
pub fn warnings(text: &str) -> Vec<u16> {
    let ctx = context();
    let e = parse(text, &ctx).expect("builds");
    ctx.warnings.take();
    e.eval_const(&ctx).expect("evaluates");
    ctx.warnings.take().into_iter().map(|w| w.code).collect()
}
