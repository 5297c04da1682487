//! The rows that a dictionary has for keys, as tuples: what a join with it asks for instead of reading all rows (`direct_join.rs`). No
//! statement can name the function.

use super::lookup::BASE;
use crate::dictionaries::finder::Finder;
use chalet_base::events::{self, Event};
use chalet_base::{Result, err};
use chalet_columns::vector::Struct;
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::call::BoundFunction;
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_plan::Expr;
use chalet_storage::Table;
use chalet_types::{DataType, TupleField, Value};
use std::sync::Arc;

static RECORD: Record = Record {
    name: "dictionaryRow",
    summary: "Whether a dictionary has a key, and columns of its row.",
    syntax: "dictionaryRow('dictionary', key, ...)",
    ..BASE
};

struct DictionaryRow {
    finder: Finder,
    /// Positions among the columns of the dictionary, and the type that each is to have: its own, or that with NULLs.
    columns: Vec<(usize, DataType)>,
}

/// The call of a function for the rows that a dictionary has for keys of the types that its keys have: a tuple of a UInt8, whether there
/// is one, and of these columns. Where there is none they are NULL, or the default of the type.
pub(crate) fn row_of_keys(
    dictionary: &Arc<dyn Table>,
    name: &str,
    keys: Vec<Expr>,
    columns: Vec<(usize, DataType)>,
    ctx: &Context,
) -> Result<Expr> {
    let function = Arc::new(DictionaryRow { finder: Finder::new(dictionary)?, columns });
    let mut args = vec![Expr::literal(&Value::from(name), DataType::String)?];
    args.extend(keys);
    let arguments: Vec<Argument> = args.iter().map(|arg| Argument::of_type(arg.ty().clone())).collect();
    Ok(Expr::call(BoundFunction::bind(function, &arguments, ctx)?, args))
}

impl ScalarFunction for DictionaryRow {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, _: &[Argument], _: &Context) -> Result<Bound> {
        let types = std::iter::once(&DataType::UInt8).chain(self.columns.iter().map(|(_, ty)| ty));
        let fields = types.map(|ty| TupleField { name: None, ty: ty.clone() });
        Ok(DataType::Tuple(fields.collect()).into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n_keys = self.finder.definition().n_keys;
        let keys: Vec<Vector> = (1..=n_keys).map(|at| of_all_rows(call, at)).collect();
        events::add(Event::DirectJoinKeys, call.n_rows as u64);
        let found = self.finder.find(&keys, None)?;
        // Of the rows that are there one behind the other, behind one that stands for the others.
        let present: Vec<u32> = found.rows.iter().filter(|row| **row > 0).map(|row| row - 1).collect();
        let mut next = 0;
        let places: Vec<u32> = found
            .rows
            .iter()
            .map(|row| {
                next += u32::from(*row > 0);
                if *row > 0 { next } else { 0 }
            })
            .collect();
        let is_there: Vec<u8> = found.rows.iter().map(|row| u8::from(*row > 0)).collect();
        let mut fields = vec![Vector::from(is_there)];
        for (position, ty) in &self.columns {
            let column = found.loaded.rows.columns().get(*position);
            let column = column.ok_or_else(|| err!(LOGICAL_ERROR, "A dictionary lacks a column"))?.flat();
            let values = column.gather(&present);
            fields.push(match present.len() == call.n_rows {
                true => values,
                false => Vector::concat(&[&Vector::defaults(ty, 1), &values]).gather(&places),
            });
        }
        let data = Data::Struct(Struct { fields, len: call.n_rows });
        Ok(Column::Flat(Vector::new(data, None)))
    }
}

/// The values of an argument, one per row.
fn of_all_rows(call: &Call, at: usize) -> Vector {
    let vector = call.vector(at);
    match vector.len() == call.n_rows {
        true => vector.clone(),
        false => vector.gather(&vec![0; call.n_rows]),
    }
}
