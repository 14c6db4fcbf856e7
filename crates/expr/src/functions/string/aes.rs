//! AES_ENCRYPT and AES_DECRYPT by `block_encryption_mode`: key lengths 128, 192, 256; ECB, CBC, CFB1, CFB8, CFB128, OFB.
//!
//! The key's bytes are folded by XOR into as many as the mode asks for. ECB and CBC pad to whole blocks (PKCS #7); the others are streams.
//! What does not decrypt to a padded text is NULL.

use std::fmt;
use std::str::FromStr;

use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit, generic_array::GenericArray};
use aes::{Aes128, Aes192, Aes256};
use types::{Collation, Datum};

use crate::error::{Error, Result};
use crate::functions::{Args, Builtin, Signature, Want};
use crate::result_type as rt;

const BLOCK: usize = 16;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("aes_encrypt", (2, 6), &[Want::Raw], |s| binary(s, BLOCK as i64), |a| run(a, true)).sees_null().of_session(),
    Builtin::new("aes_decrypt", (2, 6), &[Want::Raw], |s| binary(s, 0), |a| run(a, false)).sees_null().of_session(),
];

fn binary(s: &Signature<'_>, more: i64) -> types::FieldType {
    let bytes = match s.chars(0) {
        chars if chars < 0 => -1,
        chars => chars.saturating_mul(4).saturating_add(more),
    };
    rt::string(bytes, Collation::Binary)
}

/// How blocks depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chaining {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

const CHAININGS: [(&str, Chaining); 6] = [
    ("ecb", Chaining::Ecb),
    ("cbc", Chaining::Cbc),
    ("cfb1", Chaining::Cfb1),
    ("cfb8", Chaining::Cfb8),
    ("cfb128", Chaining::Cfb128),
    ("ofb", Chaining::Ofb),
];

/// A value of `block_encryption_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockMode {
    key_bytes: usize,
    chaining: Chaining,
}

impl Default for BlockMode {
    fn default() -> Self {
        Self { key_bytes: 16, chaining: Chaining::Ecb }
    }
}

impl FromStr for BlockMode {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        let lower = text.to_ascii_lowercase();
        let (bits, chaining) = lower.strip_prefix("aes-").and_then(|rest| rest.split_once('-')).ok_or(())?;
        let key_bytes = match bits {
            "128" => 16,
            "192" => 24,
            "256" => 32,
            _ => return Err(()),
        };
        let (_, chaining) = CHAININGS.into_iter().find(|(name, _)| *name == chaining).ok_or(())?;
        Ok(Self { key_bytes, chaining })
    }
}

impl fmt::Display for BlockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = CHAININGS.iter().find(|(_, chaining)| *chaining == self.chaining).map_or("", |(name, _)| name);
        write!(f, "aes-{}-{name}", self.key_bytes * 8)
    }
}

/// The cipher of one block.
enum Cipher {
    Short(Aes128),
    Middle(Aes192),
    Long(Box<Aes256>),
}

impl Cipher {
    /// The cipher of a key folded to the mode's length.
    fn new(key: &[u8], key_bytes: usize) -> Self {
        let mut folded = [0u8; 32];
        key.iter().enumerate().for_each(|(i, byte)| folded[i % key_bytes] ^= byte);
        let key = &folded[..key_bytes];
        match key_bytes {
            16 => Self::Short(Aes128::new(GenericArray::from_slice(key))),
            24 => Self::Middle(Aes192::new(GenericArray::from_slice(key))),
            _ => Self::Long(Box::new(Aes256::new(GenericArray::from_slice(key)))),
        }
    }

    fn encrypt(&self, block: &mut [u8; BLOCK]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Self::Short(cipher) => cipher.encrypt_block(block),
            Self::Middle(cipher) => cipher.encrypt_block(block),
            Self::Long(cipher) => cipher.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut [u8; BLOCK]) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Self::Short(cipher) => cipher.decrypt_block(block),
            Self::Middle(cipher) => cipher.decrypt_block(block),
            Self::Long(cipher) => cipher.decrypt_block(block),
        }
    }
}

fn run(a: &Args<'_>, encrypts: bool) -> Result<Datum> {
    let mode = a.ctx.block_encryption_mode;
    if a.len() > 3 {
        return Err(Error::NotSupported { feature: format!("key derivation in {}", a.call.func.name()) });
    }
    let mut vector = [0u8; BLOCK];
    if mode.chaining == Chaining::Ecb {
        if a.len() > 2 {
            a.warn(1618, "<IV> option ignored");
        }
    } else {
        if a.len() < 3 {
            return Err(Error::WrongArity { name: a.call.func.name().to_owned() });
        }
        let given = a.bytes(2);
        if !a.is_null(2) && given.len() < BLOCK {
            return Err(Error::ShortInitializationVector { function: a.call.func.name() });
        }
        if !a.is_null(2) {
            vector.copy_from_slice(&given[..BLOCK]);
        }
    }
    if a.is_null(0) || a.is_null(1) || (mode.chaining != Chaining::Ecb && a.is_null(2)) {
        return Ok(Datum::Null);
    }
    let cipher = Cipher::new(a.bytes(1), mode.key_bytes);
    let done = if encrypts {
        Some(encrypt(&cipher, mode.chaining, vector, a.bytes(0)))
    } else {
        decrypt(&cipher, mode.chaining, vector, a.bytes(0))
    };
    Ok(done.map_or(Datum::Null, Datum::Bytes))
}

fn xor(block: &mut [u8; BLOCK], other: &[u8]) {
    block.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}

fn encrypt(cipher: &Cipher, chaining: Chaining, mut vector: [u8; BLOCK], text: &[u8]) -> Vec<u8> {
    if !matches!(chaining, Chaining::Ecb | Chaining::Cbc) {
        return stream(cipher, chaining, vector, text, true);
    }
    let padding = BLOCK - text.len() % BLOCK;
    let mut out = text.to_vec();
    out.resize(text.len() + padding, padding as u8);
    for chunk in out.chunks_exact_mut(BLOCK) {
        let mut block = [0; BLOCK];
        block.copy_from_slice(chunk);
        if chaining == Chaining::Cbc {
            xor(&mut block, &vector);
        }
        cipher.encrypt(&mut block);
        vector = block;
        chunk.copy_from_slice(&block);
    }
    out
}

fn decrypt(cipher: &Cipher, chaining: Chaining, mut vector: [u8; BLOCK], data: &[u8]) -> Option<Vec<u8>> {
    if !matches!(chaining, Chaining::Ecb | Chaining::Cbc) {
        return Some(stream(cipher, chaining, vector, data, false));
    }
    if data.is_empty() || !data.len().is_multiple_of(BLOCK) {
        return None;
    }
    let mut out = Vec::with_capacity(data.len());
    for chunk in data.chunks_exact(BLOCK) {
        let mut block = [0; BLOCK];
        block.copy_from_slice(chunk);
        cipher.decrypt(&mut block);
        if chaining == Chaining::Cbc {
            xor(&mut block, &vector);
            vector.copy_from_slice(chunk);
        }
        out.extend_from_slice(&block);
    }
    let padding = usize::from(*out.last()?);
    let kept = out.len().checked_sub(padding).filter(|_| (1..=BLOCK).contains(&padding))?;
    if out[kept..].iter().any(|byte| usize::from(*byte) != padding) {
        return None;
    }
    out.truncate(kept);
    Some(out)
}

/// The modes that make a stream of the cipher: each step encrypts the register, combines some bits of it with the text and shifts the ciphertext in.
fn stream(cipher: &Cipher, chaining: Chaining, mut register: [u8; BLOCK], data: &[u8], encrypts: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    match chaining {
        Chaining::Cfb1 => {
            for &byte in data {
                let mut result = 0;
                for bit in (0..8).rev() {
                    let mut key = register;
                    cipher.encrypt(&mut key);
                    let given = byte >> bit & 1;
                    let made = given ^ key[0] >> 7;
                    result |= made << bit;
                    let shifted = u128::from_be_bytes(register) << 1 | u128::from(if encrypts { made } else { given });
                    register = shifted.to_be_bytes();
                }
                out.push(result);
            }
        }
        Chaining::Cfb8 => {
            for &byte in data {
                let mut key = register;
                cipher.encrypt(&mut key);
                let made = byte ^ key[0];
                let shifted = u128::from_be_bytes(register) << 8 | u128::from(if encrypts { made } else { byte });
                register = shifted.to_be_bytes();
                out.push(made);
            }
        }
        _ => {
            for chunk in data.chunks(BLOCK) {
                let mut key = register;
                cipher.encrypt(&mut key);
                let made: Vec<u8> = chunk.iter().zip(&key).map(|(byte, key)| byte ^ key).collect();
                register = key;
                if chaining == Chaining::Cfb128 {
                    let fed = if encrypts { &made } else { chunk };
                    register[..fed.len()].copy_from_slice(fed);
                }
                out.extend_from_slice(&made);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST SP 800-38A, appendix F, key 2b7e…, first block.
    #[test]
    fn modes_encrypt_as_in_the_standard_and_decrypt_their_own_text() {
        let hex =
            |text: &str| -> Vec<u8> { (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex")).collect() };
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c");
        let vector: [u8; BLOCK] = hex("000102030405060708090a0b0c0d0e0f").try_into().expect("a block");
        let text = hex("6bc1bee22e409f96e93d7e117393172a");
        for (chaining, wanted) in [
            (Chaining::Ecb, "3ad77bb40d7a3660a89ecaf32466ef97"),
            (Chaining::Cbc, "7649abac8119b246cee98e9b12e9197d"),
            (Chaining::Cfb1, "68b3"),
            (Chaining::Cfb8, "3b79424c9c0dd436bace9e0ed4586a4f"),
            (Chaining::Cfb128, "3b3fd92eb72dad20333449f8e83cfb4a"),
            (Chaining::Ofb, "3b3fd92eb72dad20333449f8e83cfb4a"),
        ] {
            let cipher = Cipher::new(&key, 16);
            let made = encrypt(&cipher, chaining, vector, &text);
            assert!(made.starts_with(&hex(wanted)), "{chaining:?}: {made:02x?}");
            for len in [0, 1, 15, 16, 17, 40] {
                let text = vec![7; len];
                let made = encrypt(&cipher, chaining, vector, &text);
                assert_eq!(decrypt(&cipher, chaining, vector, &made), Some(text), "{chaining:?}");
            }
        }
        assert_eq!(decrypt(&Cipher::new(&key, 16), Chaining::Ecb, vector, b"not a block"), None);
        for mode in ["aes-128-ecb", "aes-192-cbc", "aes-256-cfb128"] {
            assert_eq!(mode.to_uppercase().parse::<BlockMode>().map(|mode| mode.to_string()), Ok(mode.to_owned()));
        }
        assert!("aes-100-ecb".parse::<BlockMode>().is_err());
    }
}
