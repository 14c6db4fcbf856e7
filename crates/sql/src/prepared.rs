//! What a connection remembers of its prepared statements below SQL: parameter types, and values sent in pieces.

use std::collections::HashMap;

use wire::params::ParamType;

/// Bytes of long data one statement may gather (`max_allowed_packet` binds a single piece only).
const MAX_LONG_DATA: usize = 1 << 30;

/// The protocol's side of one prepared statement.
#[derive(Debug, Default)]
pub struct Bound {
    /// Types the client named last; kept for executions that do not repeat them.
    pub types: Vec<ParamType>,
    /// Values sent in pieces, by parameter.
    pub long_data: Vec<Option<Vec<u8>>>,
    /// A piece was refused; the next execution says so.
    pub overflow: bool,
}

/// All prepared statements of a connection.
#[derive(Debug, Default)]
pub struct PreparedStatements(HashMap<u32, Bound>);

impl PreparedStatements {
    /// What is remembered of `statement`.
    pub fn bound(&mut self, statement: u32) -> &mut Bound {
        self.0.entry(statement).or_default()
    }

    /// Appends a piece of a value. Pieces for parameters that do not exist are dropped, as MySQL does: the command has no answer.
    pub fn append(&mut self, statement: u32, parameter: u16, params: usize, data: &[u8]) {
        let parameter = usize::from(parameter);
        if parameter >= params {
            return;
        }
        let bound = self.bound(statement);
        if bound.long_data.len() < params {
            bound.long_data.resize(params, None);
        }
        let total: usize = bound.long_data.iter().flatten().map(Vec::len).sum();
        if total + data.len() > MAX_LONG_DATA {
            bound.overflow = true;
            return;
        }
        bound.long_data[parameter].get_or_insert_default().extend_from_slice(data);
    }

    /// Forgets the long data of a statement (COM_STMT_RESET, and after each execution).
    pub fn reset(&mut self, statement: u32) {
        if let Some(bound) = self.0.get_mut(&statement) {
            bound.long_data.clear();
            bound.overflow = false;
        }
    }

    /// Forgets a statement.
    pub fn close(&mut self, statement: u32) {
        self.0.remove(&statement);
    }

    /// Forgets all statements.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_and_forgotten_by_reset() {
        let mut statements = PreparedStatements::default();
        statements.append(1, 1, 2, b"ab");
        statements.append(1, 1, 2, b"cd");
        statements.append(1, 7, 2, b"dropped");
        assert_eq!(statements.bound(1).long_data, [None, Some(b"abcd".to_vec())]);
        statements.reset(1);
        assert!(statements.bound(1).long_data.is_empty());
    }
}
