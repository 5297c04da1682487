//! `groupArrayInsertAt`: values at given places of an array; of several values for a place the first.

use crate::arrays::parameters::positive;
use crate::check::two_arguments;
use crate::collect::{Collector, collecting};
use crate::floats::Unsigned;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Data, List, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// Elements of a result, as in the kernel.
const MAX_SIZE: u64 = 0xFF_FFFF;

const RECORD: AggregateRecord = AggregateRecord {
    name: "groupArrayInsertAt",
    summary: "An array with values at given places and a default elsewhere; cut or filled up to `size` if given.",
    syntax: "groupArrayInsertAt([default[, size]])(x, pos)",
    examples: &[Example {
        sql: "SELECT groupArrayInsertAt('-')(toString(number), number * 2) FROM numbers(3)",
        result: "['0','-','1','-','2']",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    order_dependent: true,
    ..AggregateRecord::DEFAULT
};

pub struct GroupArrayInsertAt;

impl AggregateFunction for GroupArrayInsertAt {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        ensure!(
            parameters.len() <= 2,
            TOO_MANY_ARGUMENTS_FOR_FUNCTION,
            "Aggregate function {name} requires at most two parameters"
        );
        two_arguments(name, args)?;
        let (ty, place) = (args[0].ty.clone(), &args[1].ty);
        if !place.is_unsigned() {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Second argument of aggregate function {name} must be unsigned integer"
            );
        }
        let default = match parameters.first() {
            None | Some(Value::Null) => Vector::new(Data::defaults(&ty, 1), None),
            Some(value) => Vector::of_value(value, &ty)?,
        };
        let size = parameters.get(1).map(|size| positive(name, size)).transpose()?;
        Ok(collecting(InsertAt { ty, default, size }, args))
    }
}

struct InsertAt {
    ty: DataType,
    default: Vector,
    size: Option<usize>,
}

impl Collector for InsertAt {
    fn result_type(&self) -> DataType {
        self.ty.clone().array()
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let places = Unsigned::of(&args[1]);
        let mut chosen: Vec<u32> = Vec::new();
        // Row 0 of the joined values is the default.
        for &row in rows {
            let place = places.get(row as usize);
            ensure!(
                place < MAX_SIZE,
                TOO_LARGE_ARRAY_SIZE,
                "Too large array size: position argument ({place}) is greater or equals to limit ({MAX_SIZE})"
            );
            let place = place as usize;
            if self.size.is_some_and(|size| place >= size) {
                continue;
            }
            if chosen.len() <= place {
                chosen.resize(place + 1, 0);
            }
            if chosen[place] == 0 {
                chosen[place] = row + 1;
            }
        }
        if let Some(size) = self.size {
            chosen.resize(size, 0);
        }
        let values = Vector::concat(&[&self.default, &args[0]]).gather(&chosen);
        let offsets = vec![0i64, chosen.len() as i64].into();
        out.push_from(&Data::List(List { offsets, values: Arc::new(values) }).into(), 0);
        Ok(())
    }
}
