//! How Payment and Order-Status find a customer: six of ten times by last name (clauses 2.5.1.2 and 2.6.1.2).

use super::{
    super::{
        error::{Error, Result},
        random::Random,
        session::Session,
    },
    Place,
};

/// Which customer of a district is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Customer {
    Number(u32),
    LastName(String),
}

impl Customer {
    pub(super) fn draw(random: &mut Random, place: &Place) -> Self {
        if random.percent(60) {
            Self::LastName(random.last_name(&place.constants, place.cardinality.last_names()))
        } else {
            Self::Number(random.customer(&place.constants, u64::from(place.cardinality.customers())) as u32)
        }
    }

    /// The customer's number. Of several with the same last name the one in the middle by first name is meant: with n of them, number n/2
    /// rounded up.
    pub(super) async fn number(&self, session: &mut Session, warehouse: u32, district: u32) -> Result<u32> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::LastName(name) => {
                const SQL: &str = "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
                let numbers: Vec<u32> = session.rows(SQL, (warehouse, district, name)).await?;
                let median = middle(&numbers).ok_or_else(|| Error::answer(SQL, format!("nobody is called {name}")))?;
                Ok(*median)
            }
        }
    }
}

fn middle<T>(sorted: &[T]) -> Option<&T> {
    sorted.get(sorted.len().div_ceil(2).checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_half_rounded_up() {
        assert_eq!(middle::<i32>(&[]), None);
        assert_eq!([middle(&[1]), middle(&[1, 2]), middle(&[1, 2, 3]), middle(&[1, 2, 3, 4])], [Some(&1), Some(&1), Some(&2), Some(&2)]);
    }
}
