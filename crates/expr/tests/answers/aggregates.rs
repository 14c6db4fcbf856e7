//! Aggregate functions over groups, in one piece and in parts.
