//! Reading and writing the protocol's basic types: little-endian integers, length-encoded integers and strings, NUL-terminated strings.

use crate::Error;

/// Reads a payload from front to back; every read checks the bounds.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize, what: &'static str) -> Result<&'a [u8], Error> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(Error::Malformed { what })?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Error::Malformed { what })?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        Ok(self.array::<1>(what)?[0])
    }

    /// A two-byte integer.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// A four-byte integer.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// An eight-byte integer.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A length-encoded integer. The NULL marker 0xfb and the error marker 0xff are malformed here.
    pub fn lenenc_int(&mut self, what: &'static str) -> Result<u64, Error> {
        match self.u8(what)? {
            n @ 0..=0xfa => Ok(u64::from(n)),
            0xfc => Ok(u64::from(self.u16(what)?)),
            0xfd => {
                let [a, b, c] = self.array(what)?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.u64(what),
            _ => Err(Error::Malformed { what }),
        }
    }

    /// A string with its length-encoded length before it.
    pub fn lenenc_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let len = self.lenenc_int(what)?;
        self.bytes(usize::try_from(len).map_err(|_| Error::Malformed { what })?, what)
    }

    /// A string up to the next NUL byte, which is consumed.
    pub fn nul_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let end = self.rest.iter().position(|b| *b == 0).ok_or(Error::Malformed { what })?;
        let text = self.bytes(end, what)?;
        self.rest = &self.rest[1..];
        Ok(text)
    }
}

/// Appends a length-encoded integer.
#[inline]
pub fn put_lenenc_int(out: &mut Vec<u8>, n: u64) {
    match n {
        0..=0xfa => out.push(n as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(n as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&n.to_le_bytes());
        }
    }
}

/// Appends a string with its length-encoded length before it.
#[inline]
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_integers_come_back_at_every_border() {
        for n in [0, 1, 0xfa, 0xfb, 0xfc, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_lenenc_int(&mut out, n);
            let mut cursor = Cursor::new(&out);
            assert_eq!(cursor.lenenc_int("n").expect("valid"), n);
            assert!(cursor.is_empty());
        }
    }

    #[test]
    fn truncated_input_is_an_error() {
        assert!(Cursor::new(&[0xfc, 1]).lenenc_int("n").is_err());
        assert!(Cursor::new(&[5, b'a']).lenenc_bytes("s").is_err());
        assert!(Cursor::new(b"abc").nul_bytes("s").is_err());
        assert!(Cursor::new(&[0xfb]).lenenc_int("n").is_err());
        assert!(Cursor::new(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).lenenc_bytes("s").is_err());
    }
}
