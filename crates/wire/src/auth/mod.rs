//! Authentication plugins: how a password is stored, and how a client proves that it knows it.
//!
//! | plugin | stored | proof |
//! |---|---|---|
//! | `mysql_native_password` | `*` + hex of SHA1(SHA1(password)) | SHA1(password) XOR SHA1(scramble + stored) |
//! | `caching_sha2_password` | `$A$005$` + salt + SHA-256 crypt | against a cached SHA256(SHA256(password)); without one, the password itself over RSA |
//!
//! An account without a password stores the empty text and is proved by an empty answer.

pub mod caching_sha2;
pub mod native;

use rand::RngCore as _;

use crate::handshake::SCRAMBLE_LEN;

/// The authentication plugins of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Plugin {
    /// `mysql_native_password`
    Native,
    /// `caching_sha2_password`
    CachingSha2,
}

impl Plugin {
    /// The name on the wire and in `mysql.user`.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The plugin of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Plugin::Native, Plugin::CachingSha2].into_iter().find(|plugin| plugin.name().eq_ignore_ascii_case(name))
    }

    /// The text to store for `password`; empty for an empty password.
    pub fn hash(self, password: &[u8]) -> String {
        match (password.is_empty(), self) {
            (true, _) => String::new(),
            (false, Plugin::Native) => native::hash(password),
            (false, Plugin::CachingSha2) => caching_sha2::hash(password),
        }
    }

    /// Whether `password` is the one behind `stored`.
    pub fn verify(self, stored: &str, password: &[u8]) -> bool {
        match self {
            Plugin::Native => native::verify_password(password, stored),
            Plugin::CachingSha2 => caching_sha2::verify_password(password, stored),
        }
    }

    /// Whether `stored` has this plugin's form.
    pub fn is_valid_hash(self, stored: &str) -> bool {
        stored.is_empty()
            || match self {
                Plugin::Native => native::decode(stored).is_some(),
                Plugin::CachingSha2 => caching_sha2::split(stored).is_some(),
            }
    }
}

/// A fresh scramble: printable random bytes, so that no client stumbles over NUL or `$`.
pub fn new_scramble() -> [u8; SCRAMBLE_LEN] {
    let mut scramble = [0; SCRAMBLE_LEN];
    rand::rng().fill_bytes(&mut scramble);
    for byte in &mut scramble {
        *byte = b'0' + *byte % 75;
    }
    scramble
}

/// Compares without telling by its time where two secrets differ.
fn equal_secrets(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}
