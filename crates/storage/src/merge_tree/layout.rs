//! Which columns a scan reads of a part: its own may be others than the table's by now.

use super::columns::{BLOCK_NUMBER, BLOCK_OFFSET, ColumnsVersion};
use super::definition::Definition;
use super::part::Part;
use super::stored_type::from_stored;
use crate::{ColumnSchema, TableSchema};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Data, List, Vector};
use chalet_formats::input::Cast;
use chalet_types::DataType;
use std::sync::Arc;

/// Where a requested column comes from.
#[derive(Clone)]
pub(super) enum Place {
    /// The stored column of this number, of this type.
    Stored(u32, DataType),
    Part,
    PartitionId,
    PartIndex,
    /// The number of the row in its part.
    Offset,
    /// How many rows parts before it have.
    StartingOffset,
    /// The number of the row's granule in its part.
    GranuleOffset,
    /// Of the INSERT that it came with, or of the first of them where the part does not keep it.
    BlockNumber,
    /// The number of the row among those that came with it, or that of the row in a part that does not keep it.
    BlockOffset,
    DataVersion,
    PartUuid,
    DiskName,
    RowExists,
    Distance,
    /// How many rows of the table each row stands for: 1, where no sample is read.
    SampleFactor,
}

impl Place {
    pub fn needs_numbers(&self) -> bool {
        matches!(self, Place::Offset | Place::GranuleOffset | Place::BlockOffset)
    }

    /// The number of the column that a part may have of it.
    fn stored_as(&self) -> Option<u32> {
        match self {
            Place::Stored(id, _) => Some(*id),
            Place::BlockNumber => Some(BLOCK_NUMBER),
            Place::BlockOffset => Some(BLOCK_OFFSET),
            _ => None,
        }
    }
}

/// Where the columns of a table's definition come from.
pub(super) fn places(
    schema: &TableSchema,
    version: &ColumnsVersion,
    columns: &[usize],
) -> Result<Vec<Place>> {
    let place = |&index: &usize| {
        let column = &schema.columns[index];
        Ok(match &*column.name {
            "_part" if column.is_virtual => Place::Part,
            "_partition_id" if column.is_virtual => Place::PartitionId,
            "_part_index" if column.is_virtual => Place::PartIndex,
            "_part_offset" if column.is_virtual => Place::Offset,
            "_block_offset" if column.is_virtual => Place::BlockOffset,
            "_part_starting_offset" if column.is_virtual => Place::StartingOffset,
            "_part_granule_offset" if column.is_virtual => Place::GranuleOffset,
            "_block_number" if column.is_virtual => Place::BlockNumber,
            "_part_uuid" if column.is_virtual => Place::PartUuid,
            "_disk_name" if column.is_virtual => Place::DiskName,
            "_distance" if column.is_virtual => Place::Distance,
            "_row_exists" if column.is_virtual => Place::RowExists,
            "_part_data_version" if column.is_virtual => Place::DataVersion,
            "_sample_factor" if column.is_virtual => Place::SampleFactor,
            name => match version.columns.iter().find(|c| *c.name == *name) {
                Some(found) => Place::Stored(found.id, found.ty.clone()),
                None => bail!(LOGICAL_ERROR, "Column {name} is not stored"),
            },
        })
    };
    columns.iter().map(place).collect()
}

/// Which of the requested columns a part has.
pub(super) struct Layout {
    /// The requested columns, and behind them those that defaults of the ones which the part lacks read.
    pub places: Vec<Place>,
    /// For each place, where it is among the columns that are read of the part.
    pub read: Vec<Option<usize>>,
    /// Those, by their position in the part.
    pub wanted: Arc<[usize]>,
    /// Their types in the part.
    types: Vec<DataType>,
    /// Which places are computed from which others, which stand behind them.
    pub computed: Vec<(usize, Computed)>,
    /// Of the columns that are read, those that defaults need, whatever the query does not need of them.
    pub of_defaults: Vec<usize>,
}

/// A column that a part lacks, and what it is made of.
pub(super) enum Computed {
    /// A default over others.
    Default { column: ColumnSchema, inputs: Vec<usize> },
    /// Arrays of a Nested, as long as those of another column of it.
    Nested { element: DataType, sibling: usize },
}

impl Computed {
    /// The column for rows that have these.
    pub fn of(&self, made: &[Column], n_rows: usize, definition: &Definition) -> Result<Column> {
        match self {
            Computed::Default { column, inputs } => {
                let inputs = inputs.iter().map(|&input| made[input].clone()).collect();
                definition.default_of(column, &Block::new(inputs, n_rows))
            }
            Computed::Nested { element, sibling } => {
                let sibling = made[*sibling].clone().into_flat();
                let List { offsets, values } = sibling.list()?.normalised();
                let values = Arc::new(Vector::unsaid(element, values.len()));
                Ok(Column::Flat(Vector::new(Data::List(List { offsets, values }), None)))
            }
        }
    }
}

impl Layout {
    pub fn of(part: &Part, places: &[Place], definition: &Definition) -> Result<Layout> {
        let n_requested = places.len();
        let mut places = places.to_vec();
        let (mut read, mut wanted) = (Vec::with_capacity(places.len()), Vec::<usize>::new());
        let mut computed = Vec::new();
        let mut at = 0;
        while let Some(place) = places.get(at) {
            let position = place.stored_as().and_then(|id| part.columns.position(id));
            if let (Place::Stored(id, _), None) = (place, position)
                && let Some((column, inputs)) = definition.default_over_others(*id)?
            {
                // One that reads itself through others was refused when it was declared.
                let first = places.len();
                places.extend(inputs.into_iter().map(|(id, ty)| Place::Stored(id, ty)));
                computed.push((at, Computed::Default { column, inputs: (first..places.len()).collect() }));
            } else if let (Place::Stored(id, DataType::Array(element)), None) = (place, position)
                && let Some(sibling) = nested_sibling(*id, part, definition)
            {
                computed.push((at, Computed::Nested { element: (**element).clone(), sibling: places.len() }));
                places.push(sibling);
            }
            read.push(position.map(|position| {
                wanted.iter().position(|known| *known == position).unwrap_or_else(|| {
                    wanted.push(position);
                    wanted.len() - 1
                })
            }));
            at += 1;
        }
        let of_defaults = read[n_requested..].iter().flatten().copied().collect();
        let types = wanted.iter().map(|&position| part.columns.columns[position].ty.clone()).collect();
        Ok(Layout { places, read, wanted: wanted.into(), types, computed, of_defaults })
    }

    /// Where a requested column is among those that are read, if the part has it in this very type.
    pub fn as_it_is(&self, column: usize, ty: &DataType) -> Option<usize> {
        self.read[column].filter(|&at| self.types[at] == *ty)
    }

    /// A column that was read of the part, in the type that it has in the table.
    pub fn converted(
        &self,
        at: usize,
        column: Column,
        is_resident: bool,
        ty: &DataType,
        cast: &Cast,
    ) -> Result<Column> {
        let of_part = &self.types[at];
        // What is in memory is as the table has it.
        let column = if is_resident { column } else { from_stored(column, of_part)? };
        if of_part == ty { Ok(column) } else { cast(&column, of_part, ty) }
    }
}

/// A column of the same Nested that a part has, for one without a default.
fn nested_sibling(id: u32, part: &Part, definition: &Definition) -> Option<Place> {
    let columns = &definition.columns.columns;
    let own = columns.iter().find(|column| column.id == id)?;
    let (nested, _) = own.name.split_once('.')?;
    let schema = &definition.schema;
    if schema.index_of(&own.name).is_some_and(|at| schema.columns[at].default.is_some()) {
        return None;
    }
    let is_sibling = |name: &str| name.split_once('.').is_some_and(|(prefix, _)| prefix == nested);
    let mut siblings = columns.iter().filter(|column| column.id != id && is_sibling(&column.name));
    let found = siblings.find(|column| {
        matches!(column.ty, DataType::Array(_)) && part.columns.position(column.id).is_some()
    })?;
    Some(Place::Stored(found.id, found.ty.clone()))
}
