//! Nothing of its own: what counts is the static library that building `librocksdb-sys` leaves behind.
