//! `groupArrayInsertAt`: values at given places of an array; of several values for a place the first.

use crate::arrays::parameters::positive;
use crate::check::two_arguments;
use crate::collect::{Collector, collecting};
use crate::floats::Unsigned;
use crate::kernel_rows::{KernelCodec, Layout};
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_len, take_count, take_u8};
use chalet_columns::{Builder, Data, List, Vector};
use chalet_function_api::aggregate::{AggregateNulls, RowOrder};
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
    row_order: RowOrder::Merged,
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
        out.push_from(&self.finish_all(args, &[0, rows.len() as u32], rows)?, 0);
        Ok(())
    }

    fn put_rows(&self, args: &[Vector], rows: &[u32], out: &mut Vec<u8>) -> Result<bool> {
        let (mut of_group, codec) = (Vec::new(), KernelCodec::new(&self.ty, Layout::Binary));
        self.choose(args, rows, &mut of_group)?;
        put_len(of_group.len(), out);
        for row in of_group {
            out.push(u8::from(row == 0));
            if row > 0 {
                codec.put(&args[0], row as usize - 1, out);
            }
        }
        Ok(true)
    }

    fn take_rows(&self, bytes: &mut &[u8], args: &mut [Builder]) -> Result<Option<usize>> {
        let codec = KernelCodec::new(&self.ty, Layout::Binary);
        let [values, places] = args else {
            bail!(LOGICAL_ERROR, "groupArrayInsertAt has not two arguments");
        };
        let n = take_count(bytes, 1)?;
        ensure!(n as u64 <= MAX_SIZE, TOO_LARGE_ARRAY_SIZE, "Too large array size (maximum: {MAX_SIZE})");
        let mut n_rows = 0;
        for place in 0..n {
            if take_u8(bytes)? == 0 {
                codec.take(bytes, values)?;
                places.push_value(&Value::from(place as u64))?;
                n_rows += 1;
            }
        }
        Ok(Some(n_rows))
    }

    fn finish_all(&self, args: &[Vector], starts: &[u32], rows: &[u32]) -> Result<Vector> {
        let (mut chosen, mut offsets) = (Vec::new(), vec![0i64]);
        for range in starts.windows(2) {
            let mut of_group = Vec::new();
            self.choose(args, &rows[range[0] as usize..range[1] as usize], &mut of_group)?;
            self.append(&of_group, &mut chosen);
            offsets.push(chosen.len() as i64);
        }
        Ok(self.lists(args, &chosen, offsets))
    }

    fn finish_growing(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        let (mut chosen, mut offsets) = (Vec::new(), vec![0i64]);
        let (mut of_group, mut from) = (Vec::new(), 0);
        for &end in ends {
            self.choose(args, &rows[from..end], &mut of_group)?;
            from = end;
            self.append(&of_group, &mut chosen);
            offsets.push(chosen.len() as i64);
        }
        Ok(self.lists(args, &chosen, offsets))
    }
}

impl InsertAt {
    /// Puts rows, counted from 1, at the places of a group's array where nothing is yet; 0 stands for the default.
    fn choose(&self, args: &[Vector], rows: &[u32], chosen: &mut Vec<u32>) -> Result<()> {
        let places = Unsigned::of(&args[1]);
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
        Ok(())
    }

    /// Appends the places of one group, filled up to the size that was asked for.
    fn append(&self, of_group: &[u32], chosen: &mut Vec<u32>) {
        let start = chosen.len();
        chosen.extend_from_slice(of_group);
        if let Some(size) = self.size {
            chosen.resize(start + size, 0);
        }
    }

    fn lists(&self, args: &[Vector], chosen: &[u32], offsets: Vec<i64>) -> Vector {
        let values = Vector::concat(&[&self.default, &args[0]]).gather(chosen);
        Data::List(List { offsets: offsets.into(), values: Arc::new(values) }).into()
    }
}
