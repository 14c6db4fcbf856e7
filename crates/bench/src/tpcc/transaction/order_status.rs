//! Order-Status (clause 2.6): a customer's balance and last order. Reads only.

use mysql_async::Row;

use super::{
    super::{cardinality::DISTRICTS, error::Result, random::Random, session::Session},
    Ending, Place,
    customer::Customer,
};

const CUSTOMER: &str = "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const LAST_ORDER: &str = "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
    ORDER BY o_id DESC LIMIT 1";
const LINES: &str = "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
    WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct OrderStatus {
    warehouse: u32,
    district: u32,
    customer: Customer,
}

impl OrderStatus {
    pub(super) fn draw(random: &mut Random, place: &Place) -> Self {
        let district = random.between(1, u64::from(DISTRICTS)) as u32;
        Self { warehouse: place.warehouse, district, customer: Customer::draw(random, place) }
    }

    pub(super) async fn execute(&self, session: &mut Session) -> Result<Ending> {
        let (warehouse, district) = (self.warehouse, self.district);
        let number = self.customer.number(session, warehouse, district).await?;
        let _shown: Row = session.row(CUSTOMER, (warehouse, district, number)).await?;
        let order: Row = session.row(LAST_ORDER, (warehouse, district, number)).await?;
        let order = order.get_opt::<u32, _>(0).and_then(std::result::Result::ok);
        let _shown: Vec<Row> = session.rows(LINES, (warehouse, district, order)).await?;
        Ok(Ending::Commit)
    }
}
