//! How far apart replicas stand, by the labels of their stores.
//!
//! With the labels `zone, rack, host` two stores in different zones are further apart than two that differ in their racks only. The score of a
//! store against others is a sum in which one difference at a wider label outweighs any number of differences at narrower ones:
//!
//! | first difference at | worth |
//! |---|---|
//! | zone | 100² |
//! | rack | 100 |
//! | host | 1 |
//! | nowhere | 0 |

use proto::metapb::Store;

/// Weight of a label against the next narrower one; more than a region has replicas.
const BASE: u128 = 100;

/// A store's value of a label; a store without it counts as a place of its own only against stores that have it.
fn value<'a>(store: &'a Store, label: &str) -> &'a str {
    store.labels.iter().find(|given| given.key.eq_ignore_ascii_case(label)).map_or("", |given| given.value.as_str())
}

/// What the distance between two stores is worth.
fn distance(labels: &[String], a: &Store, b: &Store) -> u128 {
    let first = labels.iter().position(|label| value(a, label) != value(b, label));
    first.map_or(0, |index| BASE.pow((labels.len() - index - 1) as u32))
}

/// How well `store` is isolated from all of `others`; itself among them does not count.
pub fn score<'a>(labels: &[String], store: &Store, others: impl Iterator<Item = &'a Store>) -> u128 {
    others.filter(|other| other.id != store.id).map(|other| distance(labels, store, other)).sum()
}

#[cfg(test)]
mod tests {
    use proto::metapb::StoreLabel;

    use super::*;

    fn store(id: u64, zone: &str, host: &str) -> Store {
        let label = |key: &str, value: &str| StoreLabel { key: key.to_owned(), value: value.to_owned() };
        Store { id, labels: vec![label("zone", zone), label("host", host)], ..Store::default() }
    }

    #[test]
    fn a_wider_difference_outweighs_all_narrower_ones() {
        let labels = ["zone".to_owned(), "host".to_owned()];
        let held = [store(1, "z1", "h1"), store(2, "z2", "h1")];
        let score = |store: &Store| score(&labels, store, held.iter());
        assert_eq!(score(&store(3, "z3", "h1")), 200);
        assert_eq!(score(&store(4, "z1", "h2")), 101);
        assert_eq!(score(&store(5, "z1", "h1")), 100);
        assert_eq!(super::score(&[], &held[0], held.iter()), 0);
    }
}
