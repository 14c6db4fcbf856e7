//! The five transactions of clause 2: what a terminal draws for each, and the statements it sends.
//!
//! The input is drawn whole before the first statement, so a transaction that lost against another one is sent again unchanged.

mod customer;
mod delivery;
mod money;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

use mysql_async::Value;

use super::{
    cardinality::Cardinality,
    error::Result,
    random::{Constants, Random},
    session::Session,
};

/// Kinds of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A customer orders 5 to 15 items.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for the last order.
    OrderStatus,
    /// The oldest order of every district is delivered.
    Delivery,
    /// How many recently sold items are running short.
    StockLevel,
}

impl Kind {
    /// All of them, in the specification's order.
    pub const ALL: [Self; 5] = [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// As results name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new_order",
            Self::Payment => "payment",
            Self::OrderStatus => "order_status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock_level",
        }
    }
}

/// Where a terminal stands, and what there is to draw from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The terminal's warehouse.
    pub(super) warehouse: u32,
    /// The terminal's district, which only Stock-Level keeps to.
    pub(super) district: u32,
    /// How many warehouses there are.
    pub(super) warehouses: u32,
    pub(super) cardinality: Cardinality,
    pub(super) constants: Constants,
}

impl Place {
    /// Any warehouse but the terminal's own.
    fn remote_warehouse(&self, random: &mut Random) -> u32 {
        let other = random.between(1, u64::from(self.warehouses) - 1) as u32;
        if other < self.warehouse { other } else { other + 1 }
    }
}

/// How a transaction ends when nothing fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Commit,
    RollBack,
}

/// A transaction with its input.
#[derive(Clone, Debug)]
pub(super) enum Transaction {
    NewOrder(new_order::NewOrder),
    Payment(payment::Payment),
    OrderStatus(order_status::OrderStatus),
    Delivery(delivery::Delivery),
    StockLevel(stock_level::StockLevel),
}

impl Transaction {
    /// Draws the input of a transaction.
    pub(super) fn draw(kind: Kind, random: &mut Random, place: &Place) -> Self {
        match kind {
            Kind::NewOrder => Self::NewOrder(new_order::NewOrder::draw(random, place)),
            Kind::Payment => Self::Payment(payment::Payment::draw(random, place)),
            Kind::OrderStatus => Self::OrderStatus(order_status::OrderStatus::draw(random, place)),
            Kind::Delivery => Self::Delivery(delivery::Delivery::draw(random, place)),
            Kind::StockLevel => Self::StockLevel(stock_level::StockLevel::draw(random, place)),
        }
    }

    /// Sends it once. After an error the transaction is still open, unless the connection is gone.
    pub(super) async fn execute(&self, session: &mut Session) -> Result<()> {
        session.run("BEGIN").await?;
        let ending = match self {
            Self::NewOrder(transaction) => transaction.execute(session).await?,
            Self::Payment(transaction) => transaction.execute(session).await?,
            Self::OrderStatus(transaction) => transaction.execute(session).await?,
            Self::Delivery(transaction) => transaction.execute(session).await?,
            Self::StockLevel(transaction) => transaction.execute(session).await?,
        };
        match ending {
            Ending::Commit => session.run("COMMIT").await,
            Ending::RollBack => session.run("ROLLBACK").await,
        }
    }
}

/// Date and time of this moment, as a value of a prepared statement.
fn now() -> Value {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    Value::Date(now.year() as u16, now.month() as u8, now.day() as u8, now.hour() as u8, now.minute() as u8, now.second() as u8, 0)
}

#[cfg(test)]
mod tests {
    use super::{super::random::Stream, *};

    fn place(warehouse: u32, warehouses: u32) -> Place {
        Place { warehouse, district: 1, warehouses, cardinality: Cardinality::SPECIFIED, constants: Constants::of_run(1) }
    }

    #[test]
    fn remote_warehouses_are_all_others() {
        let mut random = Random::new(1, Stream::Terminal(0));
        for home in 1..=4 {
            let mut seen: Vec<_> = (0..200).map(|_| place(home, 4).remote_warehouse(&mut random)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen, (1..=4).filter(|warehouse| *warehouse != home).collect::<Vec<_>>());
        }
    }
}
