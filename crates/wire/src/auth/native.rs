//! `mysql_native_password`.

use std::fmt::Write as _;

use sha1::{Digest as _, Sha1};

use super::equal_secrets;
use crate::handshake::SCRAMBLE_LEN;

/// The stored form of `password`: `*` and forty hexadecimal digits.
pub fn hash(password: &[u8]) -> String {
    let twice = Sha1::digest(Sha1::digest(password));
    twice.iter().fold("*".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}"); // Writing to a String cannot fail.
        text
    })
}

/// The digest in a stored form.
pub fn decode(stored: &str) -> Option<[u8; 20]> {
    let hex = stored.strip_prefix('*')?.as_bytes();
    let mut digest = [0; 20];
    if hex.len() != 40 {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(hex.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

/// Whether `password` is the one behind `stored`.
pub fn verify_password(password: &[u8], stored: &str) -> bool {
    if stored.is_empty() || password.is_empty() {
        return stored.is_empty() && password.is_empty();
    }
    equal_secrets(hash(password).as_bytes(), stored.to_ascii_uppercase().as_bytes())
}

/// Whether `response` proves knowledge of the password behind `stored`.
pub fn verify(scramble: &[u8; SCRAMBLE_LEN], response: &[u8], stored: &str) -> bool {
    if stored.is_empty() {
        return response.is_empty();
    }
    let Some(twice) = decode(stored) else { return false };
    if response.len() != 20 {
        return false;
    }
    let mask = Sha1::new().chain_update(scramble).chain_update(twice).finalize();
    let once: Vec<u8> = response.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    equal_secrets(&Sha1::digest(once), &twice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_the_one_mysql_stores() {
        assert_eq!(hash(b"mypass"), "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4");
    }

    #[test]
    fn only_the_right_password_proves_itself() {
        let scramble = *b"0123456789abcdefghij";
        // What a client computes: SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password))).
        let proof = |password: &[u8]| -> Vec<u8> {
            let once = Sha1::digest(password);
            let mask = Sha1::new().chain_update(scramble).chain_update(Sha1::digest(once)).finalize();
            once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
        };
        let stored = hash(b"secret");
        assert!(verify(&scramble, &proof(b"secret"), &stored));
        assert!(!verify(&scramble, &proof(b"Secret"), &stored));
        assert!(!verify(&scramble, b"", &stored) && !verify(&scramble, b"x", &stored));
        assert!(verify(&scramble, b"", "") && !verify(&scramble, &proof(b"secret"), ""));
        assert!(!verify(&scramble, &proof(b"secret"), "*nonsense"));
        assert!(verify_password(b"secret", &stored) && !verify_password(b"", &stored) && !verify_password(b"x", ""));
    }
}
