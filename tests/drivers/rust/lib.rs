//! Nothing: the drivers are tried in `tests`.
