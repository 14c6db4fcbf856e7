//! Which group a row belongs to: a hash table from group keys to dense group numbers.
//!
//! Keys are byte strings (see [`crate::sort_key`]) in one arena, so that a group costs no allocation of its own; a single integer key, the usual
//! case, is looked up by value. The first-seen values of each group are kept in columnar form for the result.
//!
//! Invariants
//! - Group numbers are dense and in order of first appearance.
//! - NULLs form one group.

use std::hash::Hasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;
use types::{Column, FieldType};

use crate::sort_key::push_group_key;

/// Group keys and their numbers.
#[derive(Debug)]
pub struct GroupTable {
    types: Vec<FieldType>,
    /// First-seen values of each group.
    values: Vec<Column>,
    index: HashTable<u32>,
    /// Hash, and key bytes as a range of `arena`, of each group.
    groups: Vec<(u64, usize, usize)>,
    arena: Vec<u8>,
    scratch: Vec<u8>,
}

impl GroupTable {
    /// An empty table over keys of the given types.
    pub fn new(types: Vec<FieldType>) -> Self {
        let values = types.iter().map(|ty| Column::for_type(ty, 0)).collect();
        Self { types, values, index: HashTable::new(), groups: Vec::new(), arena: Vec::new(), scratch: Vec::new() }
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.values.iter().map(Column::memory_bytes).sum::<usize>()
            + self.arena.capacity()
            + self.groups.capacity() * size_of::<(u64, usize, usize)>()
            + self.index.capacity() * 5
    }

    /// First-seen values of the groups, in order of group numbers.
    pub fn values(&self) -> &[Column] {
        &self.values
    }

    /// The key bytes of a group.
    pub fn key(&self, group: u32) -> &[u8] {
        let (_, start, end) = self.groups[group as usize];
        &self.arena[start..end]
    }

    /// The hash of a group's key.
    pub fn hash(&self, group: u32) -> u64 {
        self.groups[group as usize].0
    }

    /// The group of a key, if there is one.
    pub fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = hash_key(key);
        let same = |group: &u32| self.groups[*group as usize].0 == hash && self.key(*group) == key;
        self.index.find(hash, same).copied()
    }

    /// Finds or makes the group of each of `rows` rows; appends the numbers to `out`.
    pub fn assign(&mut self, columns: &[Column], rows: usize, out: &mut Vec<u32>) {
        let mut scratch = std::mem::take(&mut self.scratch);
        for row in 0..rows {
            scratch.clear();
            push_group_key(&mut scratch, columns, &self.types, row);
            let (group, is_new) = self.find_or_insert(&scratch);
            if is_new {
                for (values, column) in self.values.iter_mut().zip(columns) {
                    values.push_ref(column.datum_ref(row));
                }
            }
            out.push(group);
        }
        self.scratch = scratch;
    }

    fn find_or_insert(&mut self, key: &[u8]) -> (u32, bool) {
        let hash = hash_key(key);
        let Self { index, groups, arena, .. } = self;
        let same = |group: &u32| {
            let (known, start, end) = groups[*group as usize];
            known == hash && &arena[start..end] == key
        };
        match index.entry(hash, same, |group| groups[*group as usize].0) {
            Entry::Occupied(entry) => (*entry.get(), false),
            Entry::Vacant(entry) => {
                let group = groups.len() as u32;
                entry.insert(group);
                let start = arena.len();
                arena.extend_from_slice(key);
                groups.push((hash, start, arena.len()));
                (group, true)
            }
        }
    }
}

/// The hash of a group or join key.
#[inline]
pub fn hash_key(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}
