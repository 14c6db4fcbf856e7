//! How many rows each warehouse has (clause 1.2.1).

/// Districts of a warehouse; as many terminals has a warehouse with keying and think times.
pub const DISTRICTS: u32 = 10;

/// Numbers of rows that do not depend on the number of warehouses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cardinality {
    items: u32,
    customers: u32,
}

impl Cardinality {
    /// What the specification asks for: 100,000 items, 3,000 customers a district.
    pub const SPECIFIED: Self = Self { items: 100_000, customers: 3_000 };

    /// A database so many times smaller, at most a hundred times, for tests of the driver alone: its figures must not stand beside any other's.
    pub fn not_comparable(divisor: u32) -> Self {
        let divisor = divisor.clamp(1, 100);
        Self { items: Self::SPECIFIED.items / divisor, customers: Self::SPECIFIED.customers / divisor }
    }

    /// Whether figures may stand beside those of other databases.
    pub fn is_comparable(&self) -> bool {
        *self == Self::SPECIFIED
    }

    /// Rows of `item`, and rows of `stock` of a warehouse.
    pub fn items(&self) -> u32 {
        self.items
    }

    /// Customers of a district, and the orders it begins with.
    pub fn customers(&self) -> u32 {
        self.customers
    }

    /// The orders that are delivered when the database is new, of a district: the first seven of ten.
    pub fn delivered_orders(&self) -> u32 {
        self.customers / 10 * 7
    }

    /// How many last names there are.
    pub(super) fn last_names(&self) -> u64 {
        u64::from(self.customers.min(1_000))
    }
}
