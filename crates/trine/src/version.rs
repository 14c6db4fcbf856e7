//! What this program says it is.

/// The commit it was built from, as `scripts/env` found it; `-dirty` where files differed.
pub const GIT_HASH: &str = match option_env!("TRINE_GIT_HASH") {
    Some(hash) if !hash.is_empty() => hash,
    _ => "unknown",
};

/// Version and commit, for people.
pub fn long() -> String {
    format!("{} ({GIT_HASH})", env!("CARGO_PKG_VERSION"))
}
