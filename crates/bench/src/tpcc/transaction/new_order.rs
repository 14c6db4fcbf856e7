//! New-Order (clause 2.4): the transaction that is counted as throughput. One in a hundred asks for an item that is not there and rolls back.

use super::{
    super::{
        cardinality::DISTRICTS,
        error::{Error, Result},
        random::Random,
        session::Session,
    },
    Ending, Place, money, now,
};

const CUSTOMER_AND_TAX: &str = "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
    WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?";
const DISTRICT: &str = "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE";
const NEXT_ORDER: &str = "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?";
const ORDER: &str = "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, ?, ?, ?)";
const NEW_ORDER: &str = "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)";
const ITEM: &str = "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?";
const STOCK: &str = "SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, \
    s_dist_09, s_dist_10 FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE";
const TAKE: &str = "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
    WHERE s_i_id = ? AND s_w_id = ?";
const LINE: &str = "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) \
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// What a customer orders.
#[derive(Clone, Debug)]
pub(crate) struct NewOrder {
    warehouse: u32,
    district: u32,
    customer: u32,
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// A number above the last item's for the one that is not there.
    item: u32,
    supply_warehouse: u32,
    quantity: u32,
}

impl NewOrder {
    pub(super) fn draw(random: &mut Random, place: &Place) -> Self {
        let items = place.cardinality.items();
        let mut lines: Vec<_> = (0..random.between(5, 15))
            .map(|_| {
                let item = random.item(&place.constants, u64::from(items)) as u32;
                let remote = place.warehouses > 1 && random.percent(1);
                let supply_warehouse = if remote { place.remote_warehouse(random) } else { place.warehouse };
                Line { item, supply_warehouse, quantity: random.between(1, 10) as u32 }
            })
            .collect();
        // Everybody locks stock in the same order, as public drivers do: otherwise two orders of the same items would often wait for each other.
        lines.sort_unstable_by_key(|line| (line.supply_warehouse, line.item));
        if random.percent(1)
            && let Some(last) = lines.last_mut()
        {
            last.item = items + 1;
        }
        Self {
            warehouse: place.warehouse,
            district: random.between(1, u64::from(DISTRICTS)) as u32,
            customer: random.customer(&place.constants, u64::from(place.cardinality.customers())) as u32,
            lines,
        }
    }

    pub(super) async fn execute(&self, session: &mut Session) -> Result<Ending> {
        let (warehouse, district) = (self.warehouse, self.district);
        let _shown: (String, String, String, String) = session.row(CUSTOMER_AND_TAX, (warehouse, district, self.customer)).await?;
        let (order, _tax): (u32, String) = session.row(DISTRICT, (warehouse, district)).await?;
        session.execute(NEXT_ORDER, (order + 1, warehouse, district)).await?;
        let all_local = self.lines.iter().all(|line| line.supply_warehouse == warehouse);
        let order_values = (order, district, warehouse, self.customer, now(), self.lines.len(), all_local);
        session.execute(ORDER, order_values).await?;
        session.execute(NEW_ORDER, (order, district, warehouse)).await?;
        for (number, line) in (1..).zip(&self.lines) {
            if !self.order_item(session, order, number, line).await? {
                return Ok(Ending::RollBack);
            }
        }
        Ok(Ending::Commit)
    }

    /// Takes one item from stock and writes its line; answers whether there is such an item.
    async fn order_item(&self, session: &mut Session, order: u32, number: u32, line: &Line) -> Result<bool> {
        let Some((price, _name, _data)) = session.maybe_row::<(String, String, String)>(ITEM, (line.item,)).await? else {
            return Ok(false);
        };
        let price = money::cents(&price).ok_or_else(|| Error::answer(ITEM, format!("{price:?} is no price")))?;
        let mut stock: mysql_async::Row = session.row(STOCK, (line.item, line.supply_warehouse)).await?;
        let column = self.district as usize + 1;
        let (Some(Ok(quantity)), Some(Ok(place))) = (stock.take_opt::<u32, _>(0), stock.take_opt::<String, _>(column)) else {
            return Err(Error::answer(STOCK, "the quantity is no number, or the district's text is no text"));
        };
        let left = left_in_stock(quantity, line.quantity);
        let remote = u32::from(line.supply_warehouse != self.warehouse);
        session.execute(TAKE, (left, line.quantity, remote, line.item, line.supply_warehouse)).await?;
        let amount = money::decimal(price * i64::from(line.quantity));
        let line_values = (order, self.district, self.warehouse, number, line.item, line.supply_warehouse, line.quantity, amount, place);
        session.execute(LINE, line_values).await?;
        Ok(true)
    }
}

/// Stock is filled up by 91 when fewer than 10 would be left (clause 2.4.2.2).
fn left_in_stock(quantity: u32, ordered: u32) -> u32 {
    if quantity >= ordered + 10 { quantity - ordered } else { quantity + 91 - ordered }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            cardinality::Cardinality,
            random::{Constants, Stream},
        },
        *,
    };

    fn draw_many(warehouses: u32, count: usize) -> Vec<NewOrder> {
        let constants = Constants::of_run(1);
        let place = Place { warehouse: 2, district: 1, warehouses, cardinality: Cardinality::SPECIFIED, constants };
        let mut random = Random::new(1, Stream::Terminal(0));
        (0..count).map(|_| NewOrder::draw(&mut random, &place)).collect()
    }

    #[test]
    fn one_order_in_a_hundred_has_an_item_that_is_not_there_and_it_comes_last() {
        let orders = draw_many(3, 20_000);
        let missing: Vec<_> = orders.iter().filter(|order| order.lines.iter().any(|line| line.item > 100_000)).collect();
        assert!((150..250).contains(&missing.len()), "{} of 20000", missing.len());
        assert!(missing.iter().all(|order| order.lines.iter().position(|line| line.item > 100_000) == Some(order.lines.len() - 1)));
    }

    #[test]
    fn one_line_in_a_hundred_comes_from_another_warehouse() {
        let orders = draw_many(3, 20_000);
        let lines = orders.iter().flat_map(|order| &order.lines);
        let remote = lines.clone().filter(|line| line.supply_warehouse != 2).count() as f64 / lines.count() as f64;
        assert!((0.008..0.012).contains(&remote), "{remote}");
        assert!(orders.iter().all(|order| (5..=15).contains(&order.lines.len())));
    }

    #[test]
    fn stock_is_filled_up_before_it_runs_short() {
        assert_eq!([left_in_stock(20, 10), left_in_stock(19, 10), left_in_stock(10, 10), left_in_stock(100, 1)], [10, 100, 91, 99]);
    }
}
