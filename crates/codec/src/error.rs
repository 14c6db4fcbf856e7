//! What can be wrong with bytes that were read back.

use thiserror::Error;

/// Bytes that none of the encoders of this crate can have written. Never retryable: the data is damaged or of another format.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The input ended inside a value.
    #[error("{what}: {needed} bytes needed, {left} left")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Bytes the value needs.
        needed: usize,
        /// Bytes there were.
        left: usize,
    },
    /// A byte that tells the kind or version of what follows has an unknown value.
    #[error("{what}: unknown value {found:#04x}")]
    UnknownFlag {
        /// Which byte it is.
        what: &'static str,
        /// What it was.
        found: u8,
    },
    /// The parts are there but contradict the format.
    #[error("{what}: {problem}")]
    Malformed {
        /// What was being read.
        what: &'static str,
        /// What contradicts the format.
        problem: &'static str,
    },
    /// Bytes were left over behind a value that must be the last one.
    #[error("{what}: {left} bytes left over")]
    TrailingBytes {
        /// What was being read.
        what: &'static str,
        /// How many bytes.
        left: usize,
    },
}

/// The result of decoding.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Takes `n` bytes off the front of `input`.
#[inline]
pub(crate) fn take<'a>(input: &mut &'a [u8], n: usize, what: &'static str) -> Result<&'a [u8]> {
    match input.split_at_checked(n) {
        Some((head, rest)) => {
            *input = rest;
            Ok(head)
        }
        None => Err(Error::Truncated { what, needed: n, left: input.len() }),
    }
}

/// Takes a fixed number of bytes off the front of `input` as an array.
#[inline]
pub(crate) fn take_array<const N: usize>(input: &mut &[u8], what: &'static str) -> Result<[u8; N]> {
    match input.split_first_chunk::<N>() {
        Some((head, rest)) => {
            *input = rest;
            Ok(*head)
        }
        None => Err(Error::Truncated { what, needed: N, left: input.len() }),
    }
}
