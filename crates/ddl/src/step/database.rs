//! Steps of CREATE, ALTER and DROP DATABASE.

use catalog::{InfoSchema, SchemaState};

use super::{Advance, Step, Write, table_range};
use crate::{
    Error, Result,
    job::{Action, Job, Phase},
};

pub(super) fn step(job: &Job, schema: &InfoSchema) -> Result<Step> {
    let mut next = job.clone();
    match &job.action {
        Action::CreateDatabase(info) => {
            if let Some(existing) = schema.database(&info.name) {
                return Err(Error::DatabaseExists { name: existing.name.clone() });
            }
            next.finish(SchemaState::Public);
            Advance::new(next, vec![Write::PutDatabase(info.clone())]).into_step()
        }
        Action::AlterDatabase { id, charset, collation } => {
            let missing = || Error::UnknownDatabase { name: job.database.clone() };
            let mut info = (*schema.database_by_id(*id).ok_or_else(missing)?).clone();
            (info.charset, info.collation) = (*charset, *collation);
            next.finish(SchemaState::Public);
            Advance::new(next, vec![Write::PutDatabase(info)]).into_step()
        }
        Action::DropDatabase { id, tables } => match job.phase {
            Phase::Cleanup => {
                let ranges: Vec<_> = tables.iter().map(|&table| table_range(table)).collect();
                next.finish(SchemaState::None);
                let writes = if ranges.is_empty() { Vec::new() } else { vec![Write::DestroyRanges(ranges)] };
                Advance::new(next, writes).into_step()
            }
            _ => {
                let missing = || Error::NoDatabaseToDrop { name: job.database.clone() };
                let database = schema.database_by_id(*id).ok_or_else(missing)?;
                let dropped: Vec<_> = schema.tables(&database.name).iter().map(|table| table.id).collect();
                let mut writes: Vec<_> = dropped.iter().map(|&table| Write::RemoveTable(*id, table)).collect();
                writes.push(Write::RemoveDatabase(*id));
                next.enter(Phase::Cleanup, SchemaState::None);
                next.action = Action::DropDatabase { id: *id, tables: dropped.clone() };
                Advance::new(next, writes).waiting_for(dropped).into_step()
            }
        },
        _ => Err(Error::BrokenJob { job: job.id, problem: "its action is not one on databases" }),
    }
}
