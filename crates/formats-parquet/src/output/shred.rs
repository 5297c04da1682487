//! Columns taken apart into leaves: which values there are, and the levels that say where.

use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_formats::several_types::json_texts;
use chalet_types::DataType;
use std::borrow::Cow;

/// One leaf of a column of one block.
pub struct Entries<'a> {
    pub vector: Cow<'a, Vector>,
    /// Without wrappers.
    pub ty: DataType,
    /// Rows of `vector` that have a value, in order; `None`: all.
    pub rows: Option<Vec<u32>>,
    /// One per entry; none where every entry has a value at the top.
    pub definition: Option<Vec<i16>>,
    /// One per entry; none outside of lists.
    pub repetition: Option<Vec<i16>>,
}

impl Entries<'_> {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.vector.len(), Vec::len)
    }

    /// The rows of `n` values from one on.
    pub fn row_numbers(&self, from: usize, n: usize) -> impl Iterator<Item = usize> + '_ {
        (from..from + n).map(|at| self.rows.as_ref().map_or(at, |rows| rows[at] as usize))
    }

    /// At most so many rows of the vector that have a value, evenly apart.
    pub fn sample(&self, n: usize) -> Vec<u32> {
        let step = (self.len() / n.max(1)).max(1);
        let row = |at: usize| self.rows.as_ref().map_or(at as u32, |rows| rows[at]);
        (0..self.len()).step_by(step).take(n).map(row).collect()
    }
}

pub fn count_leaves(ty: &DataType) -> usize {
    match ty.bare() {
        DataType::Array(element) => count_leaves(element),
        DataType::Map(key, value) => count_leaves(key) + count_leaves(value),
        DataType::Tuple(fields) => fields.iter().map(|field| count_leaves(&field.ty)).sum(),
        _ => 1,
    }
}

/// No row of the vector: a NULL or an empty list above it.
const ABSENT: u32 = u32::MAX;

struct State {
    rows: Vec<u32>,
    definition: Vec<i16>,
    repetition: Vec<i16>,
    level: i16,
    lists: i16,
}

/// The entries of leaf number `leaf` of a column.
pub fn leaf<'a>(column: &'a Column, ty: &DataType, leaf: usize) -> Result<Entries<'a>> {
    let vector = column.flat();
    let n = vector.len();
    let is_leaf = !matches!(ty.bare(), DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_));
    if is_leaf && !ty.is_nullable() {
        let (vector, ty) = as_stored(vector, ty.bare().clone());
        return Ok(Entries { vector, ty, rows: None, definition: None, repetition: None });
    }
    let mut state = State {
        rows: (0..n as u32).collect(),
        definition: vec![0; n],
        repetition: vec![0; n],
        level: 0,
        lists: 0,
    };
    let (vector, ty) = match is_leaf {
        true => {
            state.nulls(&vector);
            (vector, ty.bare().clone())
        }
        false => {
            let (vector, ty) = descend(&vector, ty, leaf, &mut state)?;
            (Cow::Owned(vector), ty)
        }
    };
    let (vector, ty) = as_stored(vector, ty);
    let State { mut rows, definition, repetition, level, lists } = state;
    rows.retain(|&row| row != ABSENT);
    Ok(Entries {
        vector,
        ty,
        rows: Some(rows),
        definition: (level > 0).then_some(definition),
        repetition: (lists > 0).then_some(repetition),
    })
}

/// Objects are stored as texts.
fn as_stored(vector: Cow<'_, Vector>, ty: DataType) -> (Cow<'_, Vector>, DataType) {
    match ty {
        DataType::Json(_) => (Cow::Owned(json_texts(&vector, &ty)), DataType::String),
        _ => (vector, ty),
    }
}

impl State {
    /// One level for a Nullable.
    fn nulls(&mut self, vector: &Vector) {
        self.level += 1;
        for (row, definition) in self.rows.iter_mut().zip(&mut self.definition) {
            if *row == ABSENT {
                continue;
            }
            if vector.is_null(*row as usize) {
                *row = ABSENT;
            } else {
                *definition = self.level;
            }
        }
    }

    /// One level for a list: as many entries as elements, one for an empty list.
    fn list(&mut self, list: &chalet_columns::List) {
        self.level += 1;
        self.lists += 1;
        let (rows, definition, repetition) = (
            std::mem::take(&mut self.rows),
            std::mem::take(&mut self.definition),
            std::mem::take(&mut self.repetition),
        );
        for ((row, definition), repetition) in rows.into_iter().zip(definition).zip(repetition) {
            let elements = if row == ABSENT { 0..0 } else { list.range(row as usize) };
            if elements.is_empty() {
                self.rows.push(ABSENT);
                self.definition.push(definition);
                self.repetition.push(repetition);
            }
            for (i, element) in elements.enumerate() {
                self.rows.push(element as u32);
                self.definition.push(self.level);
                self.repetition.push(if i == 0 { repetition } else { self.lists });
            }
        }
    }
}

/// Goes down to a leaf; returns its vector and type.
fn descend(vector: &Vector, ty: &DataType, mut leaf: usize, state: &mut State) -> Result<(Vector, DataType)> {
    if ty.is_nullable() {
        state.nulls(vector);
    }
    match ty.bare() {
        bare @ (DataType::Array(_) | DataType::Map(..)) => {
            let list = vector.list()?;
            state.list(list);
            let Some(element) = bare.element() else { bail!(LOGICAL_ERROR, "{ty} has no element") };
            descend(&list.values, &element, leaf, state)
        }
        DataType::Tuple(fields) => {
            for (field, vector) in fields.iter().zip(&vector.structure()?.fields) {
                let n = count_leaves(&field.ty);
                if leaf < n {
                    return descend(vector, &field.ty, leaf, state);
                }
                leaf -= n;
            }
            bail!(LOGICAL_ERROR, "{ty} has no leaf {leaf}")
        }
        bare => Ok((vector.clone(), bare.clone())),
    }
}
