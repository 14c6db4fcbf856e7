//! Delivery (clause 2.7): the oldest order of every district that is not delivered yet.
//!
//! The order and its lines are changed before they are read. So they are there for the reader also where a transaction reads as of its begin
//! while its locking reads see what was committed since.

use super::{
    super::{cardinality::DISTRICTS, error::Result, random::Random, session::Session},
    Ending, Place, now,
};

const OLDEST: &str = "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE";
const TAKE: &str = "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?";
const CARRY: &str = "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
const CUSTOMER: &str = "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?";
const DELIVER: &str = "UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
const AMOUNT: &str = "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
const CHARGE: &str = "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

/// Who carries the orders.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    warehouse: u32,
    carrier: u32,
}

impl Delivery {
    pub(super) fn draw(random: &mut Random, place: &Place) -> Self {
        Self { warehouse: place.warehouse, carrier: random.between(1, 10) as u32 }
    }

    pub(super) async fn execute(&self, session: &mut Session) -> Result<Ending> {
        let warehouse = self.warehouse;
        for district in 1..=DISTRICTS {
            let Some((order,)) = session.maybe_row::<(u32,)>(OLDEST, (warehouse, district)).await? else {
                continue; // A district without orders is skipped.
            };
            session.execute(TAKE, (warehouse, district, order)).await?;
            session.execute(CARRY, (self.carrier, warehouse, district, order)).await?;
            let (customer,): (u32,) = session.row(CUSTOMER, (warehouse, district, order)).await?;
            session.execute(DELIVER, (now(), warehouse, district, order)).await?;
            let (amount,): (String,) = session.row(AMOUNT, (warehouse, district, order)).await?;
            session.execute(CHARGE, (amount, warehouse, district, customer)).await?;
        }
        Ok(Ending::Commit)
    }
}
