//! Column flags that follow from the rest of a table's definition: keys, defaults, AUTO_INCREMENT.

use types::TypeFlags;

use super::{ColumnDefault, PrimaryKey, TableInfo};

/// The flags this file computes; all others are left as they are.
const COMPUTED: TypeFlags = TypeFlags(
    TypeFlags::PRI_KEY.0
        | TypeFlags::UNIQUE_KEY.0
        | TypeFlags::MULTIPLE_KEY.0
        | TypeFlags::PART_KEY.0
        | TypeFlags::NO_DEFAULT.0
        | TypeFlags::ON_UPDATE_NOW.0
        | TypeFlags::AUTO_INCREMENT.0,
);

impl TableInfo {
    /// Sets the flags that clients see in result metadata. To be called after every change of columns or indexes.
    pub fn refresh_flags(&mut self) {
        for column in &mut self.columns {
            column.ty.flags.remove(COMPUTED);
            if column.auto_increment {
                column.ty.flags.insert(TypeFlags::AUTO_INCREMENT);
            }
            if column.on_update_now.is_some() {
                column.ty.flags.insert(TypeFlags::ON_UPDATE_NOW);
            }
            if column.ty.not_null && column.default == ColumnDefault::None && !column.auto_increment {
                column.ty.flags.insert(TypeFlags::NO_DEFAULT);
            }
        }
        if let PrimaryKey::IntHandle { column } = self.pk {
            self.columns[column].ty.flags.insert(TypeFlags::PRI_KEY | TypeFlags::PART_KEY);
        }
        for index in self.indexes.iter().filter(|index| index.state.is_public()) {
            for (i, part) in index.columns.iter().enumerate() {
                let flags = &mut self.columns[part.offset].ty.flags;
                flags.insert(TypeFlags::PART_KEY);
                match (index.primary, i, index.unique && index.columns.len() == 1) {
                    (true, ..) => flags.insert(TypeFlags::PRI_KEY),
                    (false, 0, true) => flags.insert(TypeFlags::UNIQUE_KEY),
                    (false, 0, false) => flags.insert(TypeFlags::MULTIPLE_KEY),
                    _ => {}
                }
            }
        }
    }
}
