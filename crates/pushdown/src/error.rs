//! What has no word in the protocol, and bytes that are none of its words.

/// Errors of the translation.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// It can be said, but it is not understood here, or not exactly as it is meant.
    #[error("{0} is not supported in pushed-down plans")]
    Unsupported(String),
    /// A request or an answer that cannot be right.
    #[error("a pushed-down plan or its answer is damaged: {0}")]
    Damaged(&'static str),
    /// Bytes that are no value.
    #[error(transparent)]
    Codec(#[from] codec::Error),
    /// A value that does not fit its type.
    #[error(transparent)]
    Types(#[from] types::Error),
    /// An aggregate that cannot be computed over its arguments.
    #[error(transparent)]
    Expr(#[from] expr::Error),
}

impl Error {
    /// Something that is not understood.
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported(what.into())
    }
}
