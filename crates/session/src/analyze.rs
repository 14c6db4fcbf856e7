//! Gathering statistics.

use std::sync::Arc;

use base::TableId;
use env::CancelToken;
use stats::AnalyzeOptions;

use crate::{Error, domain::Domain};

/// Gathers the statistics of a table anew; plans made before are not used again.
pub(crate) async fn analyze_table(domain: &Arc<Domain>, table: TableId, cancel: CancelToken) -> Result<(), Error> {
    let Some(info) = domain.catalog().current().table_by_id(table) else {
        domain.stats().remove(table);
        return Ok(());
    };
    let options = AnalyzeOptions { cancel, ..AnalyzeOptions::default() };
    let gathered = stats::analyze(domain.client(), &info, &options).await?;
    stats::store::save(domain.client(), &gathered).await?;
    domain.stats().put(gathered);
    domain.plans().statistics_changed();
    Ok(())
}
