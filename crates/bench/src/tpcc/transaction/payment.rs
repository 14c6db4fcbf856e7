//! Payment (clause 2.5): money goes to the district and the warehouse, and off the customer's debt. Customers with bad credit get a note.

use super::{
    super::{cardinality::DISTRICTS, error::Result, random::Random, session::Session},
    Ending, Place,
    customer::Customer,
    money, now,
};

const PAY_WAREHOUSE: &str = "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?";
const WAREHOUSE: &str = "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = ?";
const PAY_DISTRICT: &str = "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?";
const DISTRICT: &str = "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = ? AND d_id = ?";
const CUSTOMER: &str = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, \
    c_discount, c_balance, c_since FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE";
/// Place of `c_credit` in [`CUSTOMER`].
const CREDIT: usize = 9;
const NOTES: &str = "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const PAY_CUSTOMER: &str = "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1 \
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const PAY_CUSTOMER_WITH_NOTE: &str = "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
    c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
const HISTORY: &str =
    "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
/// Longest `c_data`.
const NOTES_LENGTH: usize = 500;

/// Who pays what, and where.
#[derive(Clone, Debug)]
pub(crate) struct Payment {
    warehouse: u32,
    district: u32,
    customer_warehouse: u32,
    customer_district: u32,
    customer: Customer,
    cents: i64,
}

impl Payment {
    pub(super) fn draw(random: &mut Random, place: &Place) -> Self {
        let district = random.between(1, u64::from(DISTRICTS)) as u32;
        let remote = place.warehouses > 1 && random.percent(15);
        let (customer_warehouse, customer_district) = if remote {
            (place.remote_warehouse(random), random.between(1, u64::from(DISTRICTS)) as u32)
        } else {
            (place.warehouse, district)
        };
        let customer = Customer::draw(random, place);
        let cents = random.between(100, 500_000) as i64;
        Self { warehouse: place.warehouse, district, customer_warehouse, customer_district, customer, cents }
    }

    pub(super) async fn execute(&self, session: &mut Session) -> Result<Ending> {
        let amount = money::decimal(self.cents);
        let (warehouse, district) = (self.warehouse, self.district);
        session.execute(PAY_WAREHOUSE, (&amount, warehouse)).await?;
        let (.., warehouse_name): Address = session.row(WAREHOUSE, (warehouse,)).await?;
        session.execute(PAY_DISTRICT, (&amount, warehouse, district)).await?;
        let (.., district_name): Address = session.row(DISTRICT, (warehouse, district)).await?;
        let number = self.customer.number(session, self.customer_warehouse, self.customer_district).await?;
        self.pay(session, number, &amount).await?;
        let data = format!("{warehouse_name}    {district_name}");
        let customer = (self.customer_district, self.customer_warehouse, number);
        session.execute(HISTORY, (customer.0, customer.1, customer.2, district, warehouse, now(), &amount, data)).await?;
        Ok(Ending::Commit)
    }

    async fn pay(&self, session: &mut Session, number: u32, amount: &str) -> Result<()> {
        let (warehouse, district) = (self.customer_warehouse, self.customer_district);
        let shown: mysql_async::Row = session.row(CUSTOMER, (warehouse, district, number)).await?;
        if shown.get_opt::<String, _>(CREDIT).is_some_and(|credit| credit.is_ok_and(|credit| credit == "BC")) {
            let (notes,): (String,) = session.row(NOTES, (warehouse, district, number)).await?;
            let notes = self.with_note(number, amount, &notes);
            session.execute(PAY_CUSTOMER_WITH_NOTE, (amount, amount, notes, warehouse, district, number)).await
        } else {
            session.execute(PAY_CUSTOMER, (amount, amount, warehouse, district, number)).await
        }
    }

    /// The payment goes before what is noted already, and what does not fit falls off the end (clause 2.5.2.2).
    fn with_note(&self, number: u32, amount: &str, notes: &str) -> String {
        let Self { warehouse, district, customer_warehouse, customer_district, .. } = self;
        let mut all = format!("{number} {customer_district} {customer_warehouse} {district} {warehouse} {amount} | {notes}");
        if let Some((end, _)) = all.char_indices().nth(NOTES_LENGTH) {
            all.truncate(end);
        }
        all
    }
}

/// Streets, city, state, zip code and name.
type Address = (String, String, String, String, String, String);

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            cardinality::Cardinality,
            random::{Constants, Stream},
        },
        *,
    };

    fn draw_many(warehouses: u32) -> Vec<Payment> {
        let constants = Constants::of_run(1);
        let place = Place { warehouse: 1, district: 1, warehouses, cardinality: Cardinality::SPECIFIED, constants };
        let mut random = Random::new(1, Stream::Terminal(0));
        (0..20_000).map(|_| Payment::draw(&mut random, &place)).collect()
    }

    #[test]
    fn customers_come_from_elsewhere_and_by_name_as_often_as_specified() {
        let payments = draw_many(4);
        let share = |what: &dyn Fn(&&Payment) -> bool| payments.iter().filter(what).count() as f64 / payments.len() as f64;
        let remote = share(&|payment| payment.customer_warehouse != 1);
        let by_name = share(&|payment| matches!(payment.customer, Customer::LastName(_)));
        assert!((0.14..0.16).contains(&remote) && (0.58..0.62).contains(&by_name), "{remote} {by_name}");
        assert!(draw_many(1).iter().all(|payment| payment.customer_warehouse == 1 && payment.customer_district == payment.district));
    }

    #[test]
    fn notes_keep_their_newest_five_hundred_characters() {
        let payment = &draw_many(1)[0];
        let notes = payment.with_note(17, "12.34", &"x".repeat(500));
        let Payment { district, .. } = payment;
        assert!(notes.starts_with(&format!("17 {district} 1 {district} 1 12.34 | xxx")), "{notes}");
        assert_eq!(notes.len(), 500);
    }
}
