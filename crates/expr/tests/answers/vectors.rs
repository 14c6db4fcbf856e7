//! Vectorised evaluation against row-wise evaluation.
