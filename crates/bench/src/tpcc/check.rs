//! The consistency conditions of clause 3.3.2: what must hold of a database whatever transactions have run, when none is running.

use std::fmt;

use mysql_async::{Row, Value};

use super::{Options, error::Result, loaded::check_what_is_loaded, session::Session};

/// Rows that are named of each condition that does not hold.
const NAMED: usize = 5;

/// One condition, looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its number in clause 3.3.2.
    pub number: u32,
    /// What must hold.
    pub rule: &'static str,
    /// The first rows for which it does not hold.
    pub violations: Vec<String>,
}

impl Condition {
    /// Whether it holds.
    pub fn holds(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, rule, violations } = self;
        if self.holds() {
            return write!(formatter, "condition {number} holds: {rule}");
        }
        write!(formatter, "condition {number} is violated: {rule}; but {}", violations.join(" / "))
    }
}

/// A condition as queries whose rows violate it. With `{w}` in it a query is asked for every warehouse, so that no answer has to be held for
/// all of them at once; `{d}` is the number of orders that a new district has delivered.
struct Rule {
    number: u32,
    says: &'static str,
    queries: &'static [&'static str],
}

const fn rule(number: u32, says: &'static str, queries: &'static [&'static str]) -> Rule {
    Rule { number, says, queries }
}

const RULES: [Rule; 12] = [
    rule(
        1,
        "what a warehouse has been paid is what its districts have been paid",
        &["SELECT w_id, w_ytd, total FROM warehouse
            LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) AS sums ON d_w_id = w_id
            WHERE total IS NULL OR w_ytd <> total"],
    ),
    rule(
        2,
        "a district's next order follows its last order, which is its last new order if it has any",
        &["SELECT d_w_id, d_id, d_next_o_id, last_order, last_new FROM district
            LEFT JOIN (SELECT o_d_id, MAX(o_id) AS last_order FROM orders WHERE o_w_id = {w} GROUP BY o_d_id) AS lasts ON o_d_id = d_id
            LEFT JOIN (SELECT no_d_id, MAX(no_o_id) AS last_new FROM new_order WHERE no_w_id = {w} GROUP BY no_d_id) AS news ON no_d_id = d_id
            WHERE d_w_id = {w} AND (last_order IS NULL OR d_next_o_id - 1 <> last_order OR last_new <> last_order)"],
    ),
    rule(
        3,
        "the new orders of a district have no gap",
        &["SELECT no_w_id, no_d_id, MIN(no_o_id) AS first_new, MAX(no_o_id) AS last_new, COUNT(*) AS counted FROM new_order
            WHERE no_w_id = {w} GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)"],
    ),
    rule(
        4,
        "a district has as many order lines as its orders tell",
        &["SELECT o_w_id, o_d_id, told, counted
            FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS told FROM orders WHERE o_w_id = {w} GROUP BY o_w_id, o_d_id) AS tellers
            LEFT JOIN (SELECT ol_d_id, COUNT(*) AS counted FROM order_line WHERE ol_w_id = {w} GROUP BY ol_d_id) AS counts ON ol_d_id = o_d_id
            WHERE counted IS NULL OR told <> counted"],
    ),
    rule(
        5,
        "an order has no carrier exactly when it is among the new orders",
        &[
            "SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM orders
            LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
            WHERE o_w_id = {w} AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
            "SELECT no_w_id, no_d_id, no_o_id, o_id FROM new_order
            LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
            WHERE no_w_id = {w} AND o_id IS NULL",
        ],
    ),
    rule(
        6,
        "an order has as many lines as it tells",
        &["SELECT o_w_id, o_d_id, o_id, o_ol_cnt, counted FROM orders
            LEFT JOIN (SELECT ol_d_id, ol_o_id, COUNT(*) AS counted FROM order_line WHERE ol_w_id = {w} GROUP BY ol_d_id, ol_o_id) AS counts
            ON ol_d_id = o_d_id AND ol_o_id = o_id
            WHERE o_w_id = {w} AND (counted IS NULL OR counted <> o_ol_cnt)"],
    ),
    rule(
        7,
        "an order line is delivered exactly when its order has a carrier",
        &["SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_id, o_carrier_id FROM order_line
            LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
            WHERE ol_w_id = {w} AND (o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL))"],
    ),
    rule(
        8,
        "what a warehouse has been paid is the sum of its payments",
        &["SELECT w_id, w_ytd, total FROM warehouse
            LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS total FROM history GROUP BY h_w_id) AS sums ON h_w_id = w_id
            WHERE total IS NULL OR w_ytd <> total"],
    ),
    rule(
        9,
        "what a district has been paid is the sum of its payments",
        &["SELECT d_w_id, d_id, d_ytd, total FROM district
            LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS total FROM history GROUP BY h_w_id, h_d_id) AS sums
            ON h_w_id = d_w_id AND h_d_id = d_id
            WHERE total IS NULL OR d_ytd <> total"],
    ),
    rule(
        10,
        "a customer owes what was delivered less what was paid",
        &["SELECT c_w_id, c_d_id, c_id, c_balance, delivered, paid FROM customer
            LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders
                JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS deliveries
            ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
            LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS payments
            ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
            WHERE c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)"],
    ),
    rule(
        11,
        "a district's orders that are not new are those it began with and those its customers were delivered",
        &["SELECT o_w_id, o_d_id, placed, waiting, delivered
            FROM (SELECT o_w_id, o_d_id, COUNT(*) AS placed FROM orders WHERE o_w_id = {w} GROUP BY o_w_id, o_d_id) AS orders_of
            LEFT JOIN (SELECT no_d_id, COUNT(*) AS waiting FROM new_order WHERE no_w_id = {w} GROUP BY no_d_id) AS news ON no_d_id = o_d_id
            LEFT JOIN (SELECT c_d_id, SUM(c_delivery_cnt) AS delivered FROM customer WHERE c_w_id = {w} GROUP BY c_d_id) AS deliveries
            ON c_d_id = o_d_id
            WHERE delivered IS NULL OR placed - COALESCE(waiting, 0) <> {d} + delivered"],
    ),
    rule(
        12,
        "what a customer owes and has paid is what was delivered",
        &["SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered FROM customer
            LEFT JOIN (SELECT o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders
                JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                WHERE o_w_id = {w} AND ol_delivery_d IS NOT NULL GROUP BY o_d_id, o_c_id) AS deliveries
            ON o_d_id = c_d_id AND o_c_id = c_id
            WHERE c_w_id = {w} AND c_balance + c_ytd_payment <> COALESCE(delivered, 0)"],
    ),
];

/// Looks at every condition. The database must have been loaded with the same numbers of rows, and nothing may change it meanwhile.
///
/// Condition 11 of the specification holds of new databases alone; with the deliveries that customers were charged for it holds of all.
pub async fn check(options: &Options) -> Result<Vec<Condition>> {
    options.check()?;
    check_what_is_loaded(options).await?;
    let mut session = Session::connect(options, options.endpoint(0), Some(&options.database)).await?;
    let mut conditions = Vec::with_capacity(RULES.len());
    for rule in &RULES {
        let mut violations = Vec::new();
        for query in rule.queries {
            let warehouses = if query.contains("{w}") { 1..=options.warehouses } else { 1..=1 };
            for warehouse in warehouses {
                let query = query.replace("{w}", &warehouse.to_string());
                let query = query.replace("{d}", &options.cardinality.delivered_orders().to_string());
                let rows: Vec<Row> = session.rows_of(&format!("{query} LIMIT {NAMED}")).await?;
                violations.extend(rows.iter().map(described));
            }
        }
        violations.truncate(NAMED);
        conditions.push(Condition { number: rule.number, rule: rule.says, violations });
    }
    session.close().await;
    Ok(conditions)
}

/// `w_id = 1, w_ytd = 300000.00, total = NULL`.
fn described(row: &Row) -> String {
    let text = |value: &Value| match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true),
    };
    let columns = row.columns_ref().iter().enumerate();
    let columns = columns.map(|(number, column)| format!("{} = {}", column.name_str(), row.as_ref(number).map(text).unwrap_or_default()));
    columns.collect::<Vec<_>>().join(", ")
}
