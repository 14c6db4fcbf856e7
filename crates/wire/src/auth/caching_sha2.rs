//! `caching_sha2_password`.
//!
//! The stored form is slow to compute on purpose, so the server keeps SHA256(SHA256(password)) of accounts that have proved themselves
//! once since it started. With it, the scramble's answer can be checked; without it the client must send the password: over TLS
//! in the clear, otherwise encrypted with the server's RSA key.
//!
//! The stored form is `$A$005$`, 20 bytes of salt, 43 characters of SHA-256 crypt (U. Drepper, "Unix crypt using SHA-256 and SHA-512")
//! over 5 × 1000 rounds.

use std::sync::OnceLock;

use rand::RngCore as _;
use rsa::{Oaep, RsaPrivateKey, pkcs8::EncodePublicKey as _};
use sha2::{Digest as _, Sha256};

use super::equal_secrets;
use crate::handshake::SCRAMBLE_LEN;

/// Answer to a client whose proof was right.
pub const FAST_AUTH_SUCCESS: u8 = 3;
/// Asks the client for the password itself.
pub const FULL_AUTH: u8 = 4;
/// What a client sends to be given the public key.
pub const REQUEST_PUBLIC_KEY: u8 = 2;

const SALT_LEN: usize = 20;
const DIGEST_CHARS: usize = 43;
const ROUNDS_PER_UNIT: u32 = 1000;
const BASE64: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// What the server remembers of an account that has proved itself: SHA256(SHA256(password)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedDigest([u8; 32]);

impl CachedDigest {
    /// The digest of `password`.
    pub fn new(password: &[u8]) -> Self {
        Self(Sha256::digest(Sha256::digest(password)).into())
    }

    /// Whether `response` is the right answer to `scramble`.
    pub fn verify(&self, scramble: &[u8; SCRAMBLE_LEN], response: &[u8]) -> bool {
        if response.len() != 32 {
            return false;
        }
        let mask = Sha256::new().chain_update(self.0).chain_update(scramble).finalize();
        let once: Vec<u8> = response.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        equal_secrets(&Sha256::digest(once), &self.0)
    }
}

/// The stored form of `password` with a fresh salt.
pub fn hash(password: &[u8]) -> String {
    let mut salt = [0; SALT_LEN];
    rand::rng().fill_bytes(&mut salt);
    for byte in &mut salt {
        *byte = BASE64[usize::from(*byte % 64)];
    }
    let mut stored = format!("$A$005${}", String::from_utf8_lossy(&salt));
    stored.push_str(&crypt(password, &salt, 5 * ROUNDS_PER_UNIT));
    stored
}

/// Rounds, salt and digest of a stored form.
pub fn split(stored: &str) -> Option<(u32, &[u8], &str)> {
    let rest = stored.strip_prefix("$A$")?;
    let (units, rest) = rest.split_once('$')?;
    let units = u32::from_str_radix(units, 16).ok().filter(|n| (1..=0xfff).contains(n))?;
    let (salt, digest) = rest.as_bytes().split_at_checked(rest.len().checked_sub(DIGEST_CHARS)?)?;
    (salt.len() == SALT_LEN).then_some(())?;
    Some((units * ROUNDS_PER_UNIT, salt, std::str::from_utf8(digest).ok()?))
}

/// Whether `password` is the one behind `stored`. Takes milliseconds.
pub fn verify_password(password: &[u8], stored: &str) -> bool {
    match split(stored) {
        Some((rounds, salt, digest)) => equal_secrets(crypt(password, salt, rounds).as_bytes(), digest.as_bytes()),
        None => stored.is_empty() && password.is_empty(),
    }
}

/// SHA-256 crypt without its prefix.
fn crypt(key: &[u8], salt: &[u8], rounds: u32) -> String {
    let repeat = |digest: &[u8], len: usize| -> Vec<u8> { digest.iter().copied().cycle().take(len).collect() };
    let inner = Sha256::new().chain_update(key).chain_update(salt).chain_update(key).finalize();
    let mut outer = Sha256::new().chain_update(key).chain_update(salt).chain_update(repeat(&inner, key.len()));
    let mut bits = key.len();
    while bits > 0 {
        outer = if bits & 1 == 1 { outer.chain_update(inner) } else { outer.chain_update(key) };
        bits >>= 1;
    }
    let mut digest = outer.finalize();
    let keys = (0..key.len()).fold(Sha256::new(), |hash, _| hash.chain_update(key)).finalize();
    let p = repeat(&keys, key.len());
    let salts = (0..16 + usize::from(digest[0])).fold(Sha256::new(), |hash, _| hash.chain_update(salt)).finalize();
    let s = repeat(&salts, salt.len());
    for round in 0..rounds {
        let odd = round & 1 == 1;
        let mut hash = if odd { Sha256::new_with_prefix(&p) } else { Sha256::new_with_prefix(digest) };
        if round % 3 != 0 {
            hash.update(&s);
        }
        if round % 7 != 0 {
            hash.update(&p);
        }
        if odd {
            hash.update(digest);
        } else {
            hash.update(&p);
        }
        digest = hash.finalize();
    }
    encode(&digest)
}

/// The permuted base 64 of SHA-256 crypt.
fn encode(digest: &[u8]) -> String {
    let mut text = String::with_capacity(DIGEST_CHARS);
    let mut put = |value: u32, chars: u32| {
        for i in 0..chars {
            text.push(char::from(BASE64[(value >> (6 * i)) as usize & 63]));
        }
    };
    // Bytes are taken in the order (0, 10, 20), (21, 1, 11), (12, 22, 2), …: each triple is the last one rotated and moved by one.
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put(u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c]), 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    put(u32::from(digest[31]) << 8 | u32::from(digest[30]), 3);
    text
}

/// The key pair clients without TLS encrypt their password for; made when first needed, gone with the process.
fn rsa_key() -> &'static (RsaPrivateKey, String) {
    static KEY: OnceLock<(RsaPrivateKey, String)> = OnceLock::new();
    KEY.get_or_init(|| {
        let key = RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2048).expect("2048 bits are a valid size for an RSA key");
        let pem = key.to_public_key().to_public_key_pem(rsa::pkcs8::LineEnding::LF).expect("an RSA public key has a PEM form");
        (key, pem)
    })
}

/// The public key in PEM form. Slow the first time (a key is generated).
pub fn public_key_pem() -> &'static str {
    &rsa_key().1
}

/// The password a client encrypted with the public key: XORed with the scramble, NUL-terminated, RSA-OAEP.
pub fn decrypt_password(encrypted: &[u8], scramble: &[u8; SCRAMBLE_LEN]) -> Option<Vec<u8>> {
    let mut password = rsa_key().0.decrypt(Oaep::new::<sha1::Sha1>(), encrypted).ok()?;
    for (byte, mask) in password.iter_mut().zip(scramble.iter().cycle()) {
        *byte ^= mask;
    }
    (password.pop() == Some(0)).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crypt_gives_the_published_test_vector() {
        // From the specification of SHA-crypt: "$5$saltstring" with 5000 rounds.
        assert_eq!(crypt(b"Hello world!", b"saltstring", 5000), "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
    }

    #[test]
    fn stored_form_verifies_only_its_password() {
        let stored = hash(b"secret");
        assert_eq!(stored.len(), 7 + SALT_LEN + DIGEST_CHARS);
        assert!(verify_password(b"secret", &stored) && !verify_password(b"other", &stored));
        assert!(verify_password(b"", "") && !verify_password(b"x", ""));
    }

    #[test]
    fn cached_digest_checks_the_scramble_answer() {
        let scramble = *b"0123456789abcdefghij";
        // What a client computes: SHA256(password) XOR SHA256(SHA256(SHA256(password)) + scramble).
        let once = Sha256::digest(b"secret");
        let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(scramble).finalize();
        let proof: Vec<u8> = once.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        assert!(CachedDigest::new(b"secret").verify(&scramble, &proof));
        assert!(!CachedDigest::new(b"other").verify(&scramble, &proof));
        assert!(!CachedDigest::new(b"secret").verify(&scramble, b""));
    }

    #[test]
    fn password_comes_back_from_rsa() {
        let scramble = *b"0123456789abcdefghij";
        let mut masked = b"secret\0".to_vec();
        masked.iter_mut().zip(scramble).for_each(|(byte, mask)| *byte ^= mask);
        let encrypted =
            rsa_key().0.to_public_key().encrypt(&mut rsa::rand_core::OsRng, Oaep::new::<sha1::Sha1>(), &masked).expect("encrypts");
        assert_eq!(decrypt_password(&encrypted, &scramble).as_deref(), Some(&b"secret"[..]));
        assert_eq!(decrypt_password(b"nonsense", &scramble), None);
    }
}
