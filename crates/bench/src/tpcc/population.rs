//! The rows that a new database has (clause 4.3.3), as text of `INSERT` statements.
//!
//! The work is cut in [`Piece`]s that are loaded side by side. A piece has random numbers of its own, so the rows are the same whatever
//! number of connections loads them and in whatever order.

use super::{
    cardinality::{Cardinality, DISTRICTS},
    random::{Constants, Random, Stream, last_name},
};

/// Items, or stock of a warehouse, in one piece.
const ITEMS_A_PIECE: u32 = 10_000;
/// What each customer has paid once when the database is new.
const FIRST_PAYMENT: u32 = 10;

/// Rows that one connection loads one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Items from one number on.
    Items { from: u32 },
    /// A warehouse and its districts.
    Warehouse { warehouse: u32 },
    /// A warehouse's stock of items from one number on.
    Stock { warehouse: u32, from: u32 },
    /// The customers of a district, and what each of them has paid.
    Customers { warehouse: u32, district: u32 },
    /// The orders of a district with their lines.
    Orders { warehouse: u32, district: u32 },
}

/// One row: its table, and its values in parentheses.
pub(super) type TableRow = (&'static str, String);

/// What all pieces have in common.
#[derive(Clone, Debug)]
pub(super) struct Population {
    pub(super) cardinality: Cardinality,
    pub(super) seed: u64,
    /// Date and time of loading, as SQL writes it without quotes.
    pub(super) loaded_at: String,
}

impl Population {
    /// Everything there is to load, in the order of keys within each table.
    pub(super) fn pieces(&self, warehouses: u32) -> Vec<Piece> {
        let chunks = || (1..=self.cardinality.items()).step_by(ITEMS_A_PIECE as usize);
        let mut pieces: Vec<_> = chunks().map(|from| Piece::Items { from }).collect();
        for warehouse in 1..=warehouses {
            pieces.push(Piece::Warehouse { warehouse });
            pieces.extend(chunks().map(|from| Piece::Stock { warehouse, from }));
            pieces.extend((1..=DISTRICTS).map(|district| Piece::Customers { warehouse, district }));
            pieces.extend((1..=DISTRICTS).map(|district| Piece::Orders { warehouse, district }));
        }
        pieces
    }

    /// How many rows a piece has; lines of orders, whose number is random, by their mean.
    pub(super) fn row_count(&self, piece: Piece) -> u64 {
        let customers = u64::from(self.cardinality.customers());
        match piece {
            Piece::Items { from } | Piece::Stock { from, .. } => u64::from(self.last_item(from) - from + 1),
            Piece::Warehouse { .. } => u64::from(1 + DISTRICTS),
            Piece::Customers { .. } => 2 * customers,
            Piece::Orders { .. } => 11 * customers + (customers - u64::from(self.cardinality.delivered_orders())),
        }
    }

    fn last_item(&self, from: u32) -> u32 {
        (from + ITEMS_A_PIECE - 1).min(self.cardinality.items())
    }

    /// The rows of a piece.
    pub(super) fn rows(&self, piece: Piece) -> Box<dyn Iterator<Item = TableRow> + Send + '_> {
        let mut random = Random::new(self.seed, Stream::Load(piece.number()));
        match piece {
            Piece::Items { from } => Box::new((from..=self.last_item(from)).map(move |item| ("item", item_row(&mut random, item)))),
            Piece::Warehouse { warehouse } => Box::new(self.warehouse_rows(random, warehouse)),
            Piece::Stock { warehouse, from } => {
                Box::new((from..=self.last_item(from)).map(move |item| ("stock", stock_row(&mut random, warehouse, item))))
            }
            Piece::Customers { warehouse, district } => {
                let customers = 1..=self.cardinality.customers();
                Box::new(customers.flat_map(move |customer| self.customer_rows(&mut random, (warehouse, district, customer))))
            }
            Piece::Orders { warehouse, district } => {
                let mut customers: Vec<_> = (1..=self.cardinality.customers()).collect();
                random.shuffle(&mut customers);
                let orders = (1..).zip(customers);
                Box::new(orders.flat_map(move |(order, customer)| self.order_rows(&mut random, (warehouse, district, order), customer)))
            }
        }
    }

    fn warehouse_rows(&self, mut random: Random, warehouse: u32) -> impl Iterator<Item = TableRow> + Send {
        let paid_in_district = FIRST_PAYMENT * self.cardinality.customers();
        let next_order = self.cardinality.customers() + 1;
        let row = format!("({warehouse},{},{}.00)", named_place(&mut random), paid_in_district * DISTRICTS);
        let districts = (1..=DISTRICTS).map(move |district| {
            ("district", format!("({district},{warehouse},{},{paid_in_district}.00,{next_order})", named_place(&mut random)))
        });
        std::iter::once(("warehouse", row)).chain(districts)
    }

    fn customer_rows(&self, random: &mut Random, (warehouse, district, customer): (u32, u32, u32)) -> [TableRow; 2] {
        let names = self.cardinality.last_names();
        let name = match u64::from(customer - 1) {
            number if number < names => last_name(number),
            _ => random.last_name(&Constants::of_load(), names),
        };
        let first = random.letters_and_digits(8, 16);
        let address = address(random);
        let phone = random.digits(16);
        let credit = if random.percent(10) { "BC" } else { "GC" };
        let discount = random.between(0, 5_000);
        let data = random.letters_and_digits(300, 500);
        let now = &self.loaded_at;
        let customer_row = format!(
            "({customer},{district},{warehouse},'{first}','OE','{name}',{address},'{phone}','{now}','{credit}',50000.00,0.{discount:04},\
             -{FIRST_PAYMENT}.00,{FIRST_PAYMENT}.00,1,0,'{data}')"
        );
        let payment = random.letters_and_digits(12, 24);
        let history_row = format!("({customer},{district},{warehouse},{district},{warehouse},'{now}',{FIRST_PAYMENT}.00,'{payment}')");
        [("customer", customer_row), ("history", history_row)]
    }

    fn order_rows(&self, random: &mut Random, (warehouse, district, order): (u32, u32, u32), customer: u32) -> Vec<TableRow> {
        let delivered = order <= self.cardinality.delivered_orders();
        let now = &self.loaded_at;
        let lines = random.between(5, 15);
        let carrier = if delivered { random.between(1, 10).to_string() } else { "NULL".to_owned() };
        let mut rows = vec![("orders", format!("({order},{district},{warehouse},{customer},'{now}',{carrier},{lines},1)"))];
        for number in 1..=lines {
            let item = random.between(1, u64::from(self.cardinality.items()));
            let (delivery, cents) = if delivered { (format!("'{now}'"), 0) } else { ("NULL".to_owned(), random.between(1, 999_999)) };
            let (whole, part) = (cents / 100, cents % 100);
            let place = random.letters_and_digits(24, 24);
            let line = format!("({order},{district},{warehouse},{number},{item},{warehouse},{delivery},5,{whole}.{part:02},'{place}')");
            rows.push(("order_line", line));
        }
        if !delivered {
            rows.push(("new_order", format!("({order},{district},{warehouse})")));
        }
        rows
    }
}

impl Piece {
    /// The number of its stream of random numbers: different for every piece, and the same in databases of every size.
    fn number(self) -> u64 {
        let (kind, warehouse, part) = match self {
            Self::Items { from } => (0, 0, from),
            Self::Warehouse { warehouse } => (1, warehouse, 0),
            Self::Stock { warehouse, from } => (2, warehouse, from),
            Self::Customers { warehouse, district } => (3, warehouse, district),
            Self::Orders { warehouse, district } => (4, warehouse, district),
        };
        kind << 56 | u64::from(warehouse) << 24 | u64::from(part)
    }
}

/// Streets, city, state and zip code.
fn address(random: &mut Random) -> String {
    let [street_1, street_2, city] = std::array::from_fn(|_| random.letters_and_digits(10, 20));
    format!("'{street_1}','{street_2}','{city}','{}','{}'", random.state(), random.zip())
}

/// What warehouses and districts have in common: name, address and tax.
fn named_place(random: &mut Random) -> String {
    let name = random.letters_and_digits(6, 10);
    let address = address(random);
    format!("'{name}',{address},0.{:04}", random.between(0, 2_000))
}

fn item_row(random: &mut Random, item: u32) -> String {
    let image = random.between(1, 10_000);
    let name = random.letters_and_digits(14, 24);
    let cents = random.between(100, 10_000);
    format!("({item},{image},'{name}',{}.{:02},'{}')", cents / 100, cents % 100, random.data())
}

fn stock_row(random: &mut Random, warehouse: u32, item: u32) -> String {
    let quantity = random.between(10, 100);
    let mut row = format!("({item},{warehouse},{quantity}");
    for _ in 0..DISTRICTS {
        row += ",'";
        row += &random.letters_and_digits(24, 24);
        row.push('\'');
    }
    row + ",0,0,0,'" + &random.data() + "')"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn population(seed: u64) -> Population {
        Population { cardinality: Cardinality::not_comparable(100), seed, loaded_at: "2026-01-02 03:04:05".to_owned() }
    }

    fn all_rows(population: &Population, warehouses: u32) -> BTreeMap<&'static str, Vec<String>> {
        let mut tables = BTreeMap::<_, Vec<_>>::new();
        for piece in population.pieces(warehouses) {
            for (table, row) in population.rows(piece) {
                tables.entry(table).or_default().push(row);
            }
        }
        tables
    }

    #[test]
    fn every_table_has_the_rows_that_its_warehouses_ask_for() {
        let tables = all_rows(&population(1), 2);
        let counts: BTreeMap<_, _> = tables.iter().map(|(table, rows)| (*table, rows.len())).collect();
        let lines = counts["order_line"];
        let expected = [
            ("customer", 600),
            ("district", 20),
            ("history", 600),
            ("item", 1000),
            ("new_order", 180),
            ("order_line", lines),
            ("orders", 600),
        ];
        let expected = expected.into_iter().chain([("stock", 2000), ("warehouse", 2)]);
        assert_eq!(counts, expected.collect());
        assert!((5 * 600..15 * 600).contains(&lines), "{lines} lines of 600 orders");
        for (table, rows) in &tables {
            let mut different = rows.clone();
            different.sort_unstable();
            different.dedup();
            assert_eq!(different.len(), rows.len(), "{table} has a row twice");
        }
    }

    #[test]
    fn rows_depend_on_the_seed_and_not_on_the_number_of_warehouses() {
        let small = all_rows(&population(1), 1);
        let large = all_rows(&population(1), 2);
        assert_eq!(small["customer"], large["customer"][..300]);
        assert_eq!(small["order_line"], large["order_line"][..small["order_line"].len()]);
        assert_ne!(small["customer"], all_rows(&population(2), 1)["customer"]);
        assert_ne!(large["stock"][..1000], large["stock"][1000..]);
    }

    #[test]
    fn pieces_know_how_many_rows_they_have() {
        let population = Population { cardinality: Cardinality::not_comparable(10), ..population(1) };
        for piece in population.pieces(1) {
            let (counted, told) = (population.rows(piece).count() as f64, population.row_count(piece) as f64);
            assert!((counted / told - 1.0).abs() < 0.06, "{piece:?} has {counted} rows and says {told}");
        }
    }
}
