//! `lag`, `lead`: values of rows some distance away in the partition; `lagInFrame`, `leadInFrame`: in the frame.

use crate::window::{offset, with_default};
use chalet_base::{Result, bail, ensure};
use chalet_columns::Vector;
use chalet_function_api::{AggregateRecord, Argument, Context, Example, Partitions, Reach, WindowFunction};
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
                Some(common) if !is_as_wide(&common, &ty) => bail!(
                    BAD_ARGUMENTS,
                    "The supertype '{common}' for the argument type '{ty}' and the default value type '{default}' \
                     is not the same as the argument type"
                ),
                Some(_) => {}
            }
        }
        Ok(ty)
    }

    fn converts_argument(&self, index: usize) -> bool {
        index == 2
    }

    fn uses_frames(&self) -> bool {
        self.in_frame
    }

    fn reach(&self, constants: &[Option<Value>]) -> Reach {
        let distance = match constants.get(1) {
            None => Some(1),
            Some(constant) => constant.as_ref().and_then(|n| usize::try_from(n.as_u64()?).ok()),
        };
        match distance {
            Some(after) if self.forward => Reach::Rows { before: 0, after },
            Some(before) => Reach::Rows { before, after: 0 },
            None => Reach::Partition,
        }
    }

    fn execute(&self, partitions: &Partitions, _: &[DataType], result: &DataType) -> Result<Vector> {
        let rows = self.rows(partitions)?;
        let Some(defaults) = partitions.args.get(2) else {
            let (values, default) = with_default(&partitions.args[0], result);
            let rows: Vec<u32> = rows.iter().map(|row| row.unwrap_or(default)).collect();
            return Ok(values.gather(&rows));
        };
        let needed: Vec<u32> =
            (0..).zip(&rows).filter(|(_, found)| found.is_none()).map(|(row, _)| row).collect();
        let defaults = defaults.gather(&needed);
        let mut next = partitions.n_rows as u32..;
        let rows: Vec<u32> =
            rows.into_iter().map(|row| row.unwrap_or_else(|| next.next().unwrap_or_default())).collect();
        Ok(Vector::concat(&[&partitions.args[0], &defaults]).gather(&rows))
    }
}

/// Are the types the same, when decimals of one width count as the same type whatever their precision?
fn is_as_wide(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::Decimal { scale: x, .. }, DataType::Decimal { scale: y, .. }) => {
            x == y && a.physical() == b.physical()
        }
        _ => a == b,
    }
}

impl Neighbour {
    /// The row whose value each row gets; none where it gets a default.
    fn rows(&self, partitions: &Partitions) -> Result<Vec<Option<u32>>> {
        let mut rows = Vec::with_capacity(partitions.n_rows);
        for partition in partitions.ranges {
            for row in partition.clone() {
                let distance = match partitions.args.get(1) {
                    Some(offsets) => offset(self.record.name, 0, offsets, row)?,
                    None => 1,
                };
                let found = if self.forward { row.checked_add(distance) } else { row.checked_sub(distance) };
                let reach = if self.in_frame { &partitions.frames[row] } else { partition };
                rows.push(found.filter(|found| reach.contains(found)).map(|found| found as u32));
            }
        }
        Ok(rows)
    }
}
