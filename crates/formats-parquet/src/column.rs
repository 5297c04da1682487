//! A column of the table from its leaves: flat, a struct of columns, or lists put together by levels.

use crate::ParquetFile;
use crate::leaf::{self, LeafReader, Levels};
use crate::schema::{Field, List, Node};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use chalet_base::{Result, bail, ensure};
use chalet_columns::bits::set_rows;
use chalet_columns::{Buf, Column, Data, Strings, Struct, Vector};
use std::sync::Arc;

/// Reads one column of one row group from its first row to its last.
pub enum ColumnReader {
    Leaf(Box<dyn LeafReader>),
    Struct {
        fields: Vec<ColumnReader>,
        /// NULL where the first leaf is.
        nullable: bool,
    },
    /// Strings of these lengths, with any bytes.
    Lengths(Box<dyn LeafReader>),
    /// Lists anywhere in it: all its leaves are read together.
    Nested {
        node: Node,
        leaves: Vec<Box<dyn LeafReader>>,
    },
}

impl ColumnReader {
    pub fn open(
        file: &ParquetFile,
        group: usize,
        field: &Field,
        keep_dictionary: bool,
    ) -> Result<ColumnReader> {
        ColumnReader::of_node(file, group, &field.node, keep_dictionary)
    }

    /// Strings of which the column holds the lengths.
    pub fn of_lengths(file: &ParquetFile, group: usize, field: &Field) -> Result<ColumnReader> {
        match &field.node {
            Node::Leaf(leaf) => Ok(ColumnReader::Lengths(leaf::reader(file, group, leaf, false)?)),
            _ => bail!(LOGICAL_ERROR, "Parquet column '{}' holds no lengths", field.name),
        }
    }

    fn of_node(file: &ParquetFile, group: usize, node: &Node, keep_dictionary: bool) -> Result<ColumnReader> {
        Ok(match node {
            Node::Leaf(leaf) => ColumnReader::Leaf(leaf::reader(file, group, leaf, keep_dictionary)?),
            Node::Struct { fields, validity } if !node.has_lists() => ColumnReader::Struct {
                fields: fields.iter().map(|f| Self::of_node(file, group, f, false)).collect::<Result<_>>()?,
                nullable: validity.is_some(),
            },
            _ => {
                let mut leaves = Vec::new();
                node.leaves(&mut leaves);
                ensure!(
                    !leaves.is_empty(),
                    NOT_IMPLEMENTED,
                    "Parquet columns without any values are not supported"
                );
                let leaves = leaves
                    .iter()
                    .map(|leaf| leaf::reader(file, group, leaf, false))
                    .collect::<Result<_>>()?;
                ColumnReader::Nested { node: node.clone(), leaves }
            }
        })
    }

    /// The next `n` rows, or those of them whose bit is set.
    pub fn read(&mut self, n: usize, selected: Option<&BooleanBuffer>) -> Result<Column> {
        match self {
            ColumnReader::Leaf(leaf) => leaf.read(n, selected),
            ColumnReader::Lengths(leaf) => strings_of(&leaf.read(n, selected)?.into_flat()),
            ColumnReader::Struct { fields, nullable } => {
                let fields: Vec<Vector> = fields
                    .iter_mut()
                    .map(|field| Ok(field.read(n, selected)?.into_flat()))
                    .collect::<Result<_>>()?;
                let len = selected.map_or(n, |bits| bits.count_set_bits());
                let validity = if *nullable { fields.first().and_then(first_validity) } else { None };
                Ok(Vector::new(Data::Struct(Struct { fields, len }), validity).into())
            }
            ColumnReader::Nested { node, leaves } => {
                let mut parts = Vec::with_capacity(leaves.len());
                for leaf in leaves.iter_mut() {
                    let (levels, vector) = leaf.read_nested(n)?;
                    parts.push(Part { levels, vector: Some(vector) });
                }
                let vector = assemble(node, &mut parts.iter_mut(), n)?;
                Ok(match selected {
                    Some(bits) => vector.gather(&set_rows(bits)).into(),
                    None => vector.into(),
                })
            }
        }
    }

    pub fn skip(&mut self, n: usize) -> Result<()> {
        match self {
            ColumnReader::Leaf(leaf) | ColumnReader::Lengths(leaf) => leaf.skip(n),
            ColumnReader::Struct { fields, .. } => fields.iter_mut().try_for_each(|field| field.skip(n)),
            ColumnReader::Nested { leaves, .. } => {
                leaves.iter_mut().try_for_each(|leaf| leaf.read_nested(n).map(|_| ()))
            }
        }
    }
}

/// Strings of these lengths.
fn strings_of(lengths: &Vector) -> Result<Column> {
    let Data::U32(values) = &lengths.data else {
        bail!(LOGICAL_ERROR, "Lengths of strings are of type UInt32")
    };
    Ok(Vector::new(Data::Str(Strings::of_lengths(values)), lengths.validity.clone()).into())
}

fn first_validity(vector: &Vector) -> Option<NullBuffer> {
    match &vector.data {
        Data::Struct(inner) if vector.validity.is_none() => inner.fields.first().and_then(first_validity),
        _ => vector.validity.clone(),
    }
}

/// A leaf that was read: levels of every entry, values of the entries that have a place for one.
struct Part {
    levels: Levels,
    vector: Option<Vector>,
}

/// The vector of a node with `n` slots, from the leaves below it, which are taken from `parts` in order.
fn assemble(node: &Node, parts: &mut dyn Iterator<Item = &mut Part>, n: usize) -> Result<Vector> {
    Ok(match node {
        Node::Leaf(_) => {
            let vector = parts.next().and_then(|part| part.vector.take());
            let Some(vector) = vector else { bail!(LOGICAL_ERROR, "A Parquet leaf was not read") };
            ensure!(
                vector.len() == n,
                INCORRECT_DATA,
                "Leaves of a Parquet column differ in their number of values"
            );
            vector
        }
        Node::Struct { fields, validity } => {
            let Some(first) = fields.first() else {
                bail!(NOT_IMPLEMENTED, "Empty structs inside of Parquet lists are not supported");
            };
            let (shape, fields) = with_first(first, parts, n, fields)?;
            let validity = validity.map(|definition| shape_validity(&shape, node, definition as u32));
            Vector::new(Data::Struct(Struct { fields, len: n }), validity.filter(|v| v.len() == n))
        }
        Node::List(list) => {
            let mut below = Vec::new();
            list.element.leaves(&mut below);
            let mut own: Vec<&mut Part> = Vec::with_capacity(below.len());
            for _ in &below {
                match parts.next() {
                    Some(part) => own.push(part),
                    None => bail!(LOGICAL_ERROR, "A Parquet leaf was not read"),
                }
            }
            let Some(first) = own.first() else {
                bail!(NOT_IMPLEMENTED, "Empty structs inside of Parquet lists are not supported");
            };
            let offsets = list_offsets(list, &first.levels)?;
            ensure!(
                offsets.len() == n + 1,
                INCORRECT_DATA,
                "Leaves of a Parquet column differ in their number of lists"
            );
            let n_elements = offsets[n] as usize;
            let values = assemble(&list.element, &mut own.into_iter(), n_elements)?;
            let offsets = Buf::from_vec(offsets);
            Data::List(chalet_columns::List { offsets, values: Arc::new(values) }).into()
        }
    })
}

/// The fields of a struct, and the definition levels of the first leaf below it where that has a slot.
fn with_first(
    first: &Node,
    parts: &mut dyn Iterator<Item = &mut Part>,
    n: usize,
    fields: &[Node],
) -> Result<(Vec<u32>, Vec<Vector>)> {
    let mut vectors = Vec::with_capacity(fields.len());
    let mut shape = Vec::new();
    // Only structs of leaves can be NULL themselves, so the first field's first leaf has the struct's slots.
    let mut tap = parts.inspect(|part| {
        if shape.is_empty() {
            shape.clone_from(&part.levels.definition);
        }
    });
    vectors.push(assemble(first, &mut tap, n)?);
    for field in &fields[1..] {
        vectors.push(assemble(field, &mut tap, n)?);
    }
    drop(tap);
    Ok((shape, vectors))
}

fn shape_validity(definition: &[u32], node: &Node, own: u32) -> NullBuffer {
    let mut leaves = Vec::new();
    node.leaves(&mut leaves);
    let slot = leaves.first().map_or(0, |leaf| leaf.slot_definition as u32);
    let slots = definition.iter().filter(|&&level| level >= slot);
    NullBuffer::new(slots.map(|&level| level >= own).collect())
}

/// Where the lists of a level begin, counted in their elements.
fn list_offsets(list: &List, levels: &Levels) -> Result<Vec<i64>> {
    let (repetition, definition, slot) =
        (list.repetition as u32, list.definition as u32, list.slot_definition as u32);
    let mut offsets = vec![0i64];
    let mut n_elements = 0i64;
    for (&r, &d) in levels.repetition.iter().zip(&levels.definition) {
        if d < slot {
            continue;
        }
        if r < repetition {
            // Close the list before, begin a new one.
            if offsets.len() > 1 {
                let last = offsets.len() - 1;
                offsets[last] = n_elements;
            }
            offsets.push(n_elements);
        } else {
            ensure!(offsets.len() > 1, INCORRECT_DATA, "A Parquet list begins inside a list");
        }
        if r <= repetition && d >= definition {
            n_elements += 1;
        }
    }
    if offsets.len() > 1 {
        let last = offsets.len() - 1;
        offsets[last] = n_elements;
    }
    Ok(offsets)
}
