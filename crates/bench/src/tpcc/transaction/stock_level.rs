//! Stock-Level (clause 2.8): how many items of a district's last twenty orders are running short. Reads only.

use super::{
    super::{error::Result, random::Random, session::Session},
    Ending, Place,
};

const NEXT_ORDER: &str = "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?";
const SHORT: &str = "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? \
    AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?";
/// How many orders are looked at.
const ORDERS: u32 = 20;

/// Where is asked, and what counts as short.
#[derive(Clone, Debug)]
pub(crate) struct StockLevel {
    warehouse: u32,
    district: u32,
    threshold: u32,
}

impl StockLevel {
    pub(super) fn draw(random: &mut Random, place: &Place) -> Self {
        Self { warehouse: place.warehouse, district: place.district, threshold: random.between(10, 20) as u32 }
    }

    pub(super) async fn execute(&self, session: &mut Session) -> Result<Ending> {
        let (warehouse, district) = (self.warehouse, self.district);
        let (next,): (u32,) = session.row(NEXT_ORDER, (warehouse, district)).await?;
        let first = next.saturating_sub(ORDERS);
        let _short: (u32,) = session.row(SHORT, (warehouse, district, next, first, warehouse, self.threshold)).await?;
        Ok(Ending::Commit)
    }
}
