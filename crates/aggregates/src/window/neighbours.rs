//! `lag`, `lead`: values of rows some distance away in the partition; `lagInFrame`, `leadInFrame`: in the frame.

use crate::window::{offset, push_converted};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{AggregateRecord, Argument, Context, Example, Partition, WindowFunction};
use chalet_types::{DataType, Value, supertype};

const LAG: AggregateRecord = AggregateRecord {
    name: "lag",
    case_insensitive: true,
    summary: "The value of the row `offset` rows before (1 if not given), or a default if there is no such row.",
    syntax: "lag(x[, offset[, default]]) OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(x) FROM (SELECT lag(number, 1, 9) OVER (ORDER BY number) AS x FROM numbers(3))",
        result: "[9,0,1]",
    }],
    window_only: true,
    ..AggregateRecord::DEFAULT
};

const LEAD: AggregateRecord = AggregateRecord {
    name: "lead",
    summary: "The value of the row `offset` rows behind (1 if not given), or a default if there is no such row.",
    syntax: "lead(x[, offset[, default]]) OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(x) FROM (SELECT lead(number, 1, 9) OVER (ORDER BY number) AS x FROM numbers(3))",
        result: "[1,2,9]",
    }],
    ..LAG
};

const LAG_IN_FRAME: AggregateRecord = AggregateRecord {
    name: "lagInFrame",
    case_insensitive: false,
    summary: "The value of the row `offset` rows before, or a default if that row is not in the frame.",
    syntax: "lagInFrame(x[, offset[, default]]) OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(x) FROM (SELECT lagInFrame(number, 1, 9) OVER (ORDER BY number) AS x FROM numbers(3))",
        result: "[9,0,1]",
    }],
    ..LAG
};

const LEAD_IN_FRAME: AggregateRecord = AggregateRecord {
    name: "leadInFrame",
    case_insensitive: false,
    summary: "The value of the row `offset` rows behind, or a default if that row is not in the frame.",
    syntax: "leadInFrame(x[, offset[, default]]) OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(x) FROM (SELECT leadInFrame(number, 1, 9) OVER (ORDER BY number \
              ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS x FROM numbers(3))",
        result: "[1,2,9]",
    }],
    ..LAG
};

pub struct Neighbour {
    record: &'static AggregateRecord,
    forward: bool,
    in_frame: bool,
}

impl Neighbour {
    pub const ALL: [Neighbour; 4] = [
        Neighbour { record: &LAG, forward: false, in_frame: false },
        Neighbour { record: &LEAD, forward: true, in_frame: false },
        Neighbour { record: &LAG_IN_FRAME, forward: false, in_frame: true },
        Neighbour { record: &LEAD_IN_FRAME, forward: true, in_frame: true },
    ];
}

impl WindowFunction for Neighbour {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn ignores_frame(&self) -> bool {
        !self.in_frame
    }

    fn result_type(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<DataType> {
        let name = self.record.name;
        ensure!(parameters.is_empty(), BAD_ARGUMENTS, "Function {name} cannot be parameterized");
        ensure!(
            !args.is_empty(),
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Function {name} takes at least one argument"
        );
        ensure!(
            args.len() <= 3,
            TOO_MANY_ARGUMENTS_FOR_FUNCTION,
            "Function '{name}' accepts at most 3 arguments, {} given",
            args.len()
        );
        let ty = args[0].ty.recursively_without_low_cardinality();
        if let Some(offset) = args.get(1)
            && !offset.ty.is_integer()
        {
            bail!(BAD_ARGUMENTS, "Offset must be an integer, '{}' given", offset.ty);
        }
        if let Some(default) = args.get(2) {
            let default = default.ty.recursively_without_low_cardinality();
            match supertype::pair(&ty, &default) {
                None => bail!(
                    BAD_ARGUMENTS,
                    "There is no supertype for the argument type '{ty}' and the default value type '{default}'"
                ),
                Some(common) if common != ty => bail!(
                    BAD_ARGUMENTS,
                    "The supertype '{common}' for the argument type '{ty}' and the default value type '{default}' \
                     is not the same as the argument type"
                ),
                Some(_) => {}
            }
        }
        Ok(ty)
    }

    fn execute(&self, partition: &Partition, args: &[DataType], result: &DataType) -> Result<Vector> {
        let values = &partition.args[0];
        let same_type = args.get(2).is_some_and(|ty| ty.without_low_cardinality() == result);
        let mut out = Builder::new(result);
        for row in 0..partition.n_rows {
            let distance = match partition.args.get(1) {
                Some(offsets) => offset(self.record.name, 0, offsets, row)?,
                None => 1,
            };
            let target = if self.forward { row.checked_add(distance) } else { row.checked_sub(distance) };
            let reach = if self.in_frame { partition.frames[row].clone() } else { 0..partition.n_rows };
            match (target.filter(|target| reach.contains(target)), partition.args.get(2)) {
                (Some(target), _) => out.push_from(values, target),
                (None, Some(defaults)) if same_type => out.push_from(defaults, row),
                (None, Some(defaults)) => push_converted(&mut out, defaults, row)?,
                (None, None) => out.push_default(),
            }
        }
        Ok(out.finish())
    }
}
