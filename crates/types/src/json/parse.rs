//! JSON text to values, with the messages and positions of MySQL's parser.
//!
//! Integers beyond 64 bits and numbers with fraction or exponent are doubles. Of a key that stands twice the last value counts.

use super::{Json, JsonError, MAX_DEPTH};

/// The value of a JSON text.
///
/// # Errors
/// [`JsonError::Text`] with the place, [`JsonError::TooDeep`].
pub fn parse(text: &[u8]) -> Result<Json, JsonError> {
    let mut parser = Parser { text, at: 0 };
    parser.skip_space();
    if parser.at == text.len() {
        return Err(parser.error("The document is empty."));
    }
    let value = parser.value(1)?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.error("The document root must not be followed by other values."));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn error(&self, problem: &'static str) -> JsonError {
        Self::error_at(problem, self.at)
    }

    fn error_at(problem: &'static str, position: usize) -> JsonError {
        JsonError::Text { problem, position, column: String::new() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'n') => self.word(b"null", Json::Null),
            Some(b't') => self.word(b"true", Json::Bool(true)),
            Some(b'f') => self.word(b"false", Json::Bool(false)),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Result<Json, JsonError> {
        for &byte in word {
            if !self.take(byte) {
                return Err(self.error("Invalid value."));
            }
        }
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            if !self.take(b',') {
                return Err(self.error("Missing a comma or ] after an array element."));
            }
            self.skip_space();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_space();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.error("Missing a name for object member."));
            }
            let key = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(self.error("Missing a colon after a name of object member."));
            }
            self.skip_space();
            members.push((key, self.value(depth + 1)?));
            self.skip_space();
            if self.take(b'}') {
                return Ok(Json::object(members));
            }
            if !self.take(b',') {
                return Err(self.error("Missing a comma or } after an object member."));
            }
            self.skip_space();
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        let negative = self.take(b'-');
        // A zero stands alone: what follows it is the next error.
        if !self.take(b'0') && self.digits() == 0 {
            return Err(self.error("Invalid value."));
        }
        let mut whole = true;
        if self.take(b'.') {
            whole = false;
            if self.digits() == 0 {
                return Err(self.error("Miss fraction part in number."));
            }
        }
        if self.take(b'e') || self.take(b'E') {
            whole = false;
            if !self.take(b'-') {
                self.take(b'+');
            }
            if self.digits() == 0 {
                return Err(self.error("Miss exponent in number."));
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("0");
        if whole {
            match (negative, text.parse::<i64>(), text.parse::<u64>()) {
                (_, Ok(value), _) => return Ok(Json::Int(value)),
                (false, _, Ok(value)) => return Ok(Json::UInt(value)),
                _ => {}
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Json::Double(value)),
            _ => Err(Self::error_at("Number too big to be stored in double.", start)),
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let plain = self.text[self.at..].iter().take_while(|&&byte| byte != b'"' && byte != b'\\' && byte >= 0x20).count();
            out.extend_from_slice(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return String::from_utf8(out).map_err(|_| self.error("Invalid encoding in string."));
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) => return Err(self.error("Invalid encoding in string.")),
                None => return Err(self.error("Missing a closing quotation mark in string.")),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), JsonError> {
        let start = self.at;
        self.at += 1;
        let simple = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte,
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.at += 1;
                let found = self.unicode(start)?;
                out.extend_from_slice(found.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(Self::error_at("Invalid escape character in string.", start)),
        };
        out.push(simple);
        self.at += 1;
        Ok(())
    }

    fn hex4(&mut self, start: usize) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let value = value.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        value.ok_or_else(|| Self::error_at("Incorrect hex digit after \\u escape in string.", start))
    }

    fn unicode(&mut self, start: usize) -> Result<char, JsonError> {
        let broken_pair = || Self::error_at("The surrogate pair in string is invalid.", start);
        let mut code = self.hex4(start)?;
        if (0xd800..0xdc00).contains(&code) {
            if !(self.take(b'\\') && self.take(b'u')) {
                return Err(broken_pair());
            }
            let low = self.hex4(start)?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(broken_pair());
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        char::from_u32(code).ok_or_else(broken_pair)
    }
}
