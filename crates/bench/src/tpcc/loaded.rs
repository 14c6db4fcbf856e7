//! Whether a database is the one that the options describe.

use super::{
    Options,
    error::{Error, Result},
    session::Session,
};

/// Refuses a database of another size: the figures would be those of something else.
pub(super) async fn check_what_is_loaded(options: &Options) -> Result<()> {
    let mut session = Session::connect(options, options.endpoint(0), Some(&options.database)).await?;
    let expected = [
        ("warehouses", "SELECT COUNT(*) FROM warehouse", options.warehouses),
        ("items", "SELECT COUNT(*) FROM item", options.cardinality.items()),
        ("customers a district", "SELECT COUNT(*) FROM customer WHERE c_w_id = 1 AND c_d_id = 1", options.cardinality.customers()),
    ];
    for (what, sql, expected) in expected {
        let (found,): (u64,) = session.row(sql, ()).await?;
        if found != u64::from(expected) {
            return Err(Error::Loaded { database: options.database.clone(), what, found, expected: expected.into() });
        }
    }
    session.close().await;
    Ok(())
}
