//! `joinGet`, `joinGetOrNull`: a column of a table of the engine Join, by key.

use super::session_view::OwnHost;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::rows::RowCodec;
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Nulls, Record, Registry, Volatility,
};
use chalet_functions::plain::Plain;
use chalet_storage::Table;
use chalet_storage::keyed::KeyedTable;
use chalet_types::{DataType, Value};

const BASE: Record = Record {
    name: "joinGet",
    summary: "The value of a column of a table of the engine Join (ANY, LEFT) for a key; the default where the key is not there.",
    syntax: "joinGet('table', 'column', key...)",
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::Decoded,
    volatility: Volatility::PerQuery,
    takes_table_name: true,
    ..Record::DEFAULT
};

static FUNCTIONS: [Plain; 2] = [
    Plain { record: BASE, bind: |name, args, ctx| bind(name, args, ctx, false), execute },
    Plain {
        record: Record {
            name: "joinGetOrNull",
            summary: "As joinGet, with NULL for keys that are not there.",
            syntax: "joinGetOrNull('table', 'column', key...)",
            ..BASE
        },
        bind: |name, args, ctx| bind(name, args, ctx, true),
        execute,
    },
];

pub(super) fn register(registry: &mut Registry) {
    for function in &FUNCTIONS {
        registry.add_scalar(function);
    }
}

struct Lookup {
    /// What a key has that is not there, then the rows.
    values: Vector,
    /// Positions in `values` by the bytes of the key.
    rows: HashMap<Vec<u8>, u32>,
    codecs: Vec<RowCodec>,
}

fn constant<'a>(name: &str, arg: &'a Argument, which: &str) -> Result<&'a str> {
    arg.constant.as_ref().and_then(Value::as_str).ok_or_else(|| {
        err!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of {which} argument of function {name}, expected a const string",
            arg.ty
        )
    })
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context, or_null: bool) -> Result<Bound> {
    ensure!(
        args.len() >= 3,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function '{name}' doesn't match: passed {}, should be greater or equal to 3",
        args.len()
    );
    let written = constant(name, &args[0], "first")?;
    let (database, table_name) = written.split_once('.').unwrap_or((&ctx.database, written));
    let table = OwnHost::of(ctx)?.table(database, table_name)?;
    let column = constant(name, &args[1], "second")?;
    let keyed = table.as_any().downcast_ref::<KeyedTable>();
    let Some((keyed, (join, keys))) = keyed.and_then(|keyed| Some((keyed, keyed.join_engine()?))) else {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Table {table_name} should have engine StorageJoin");
    };
    ensure!(
        args.len() - 2 == keys.len(),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of join_keys and number of right table key columns for function {name} don't match: passed {}, should be equal \
         to {}",
        args.len() - 2,
        keys.len()
    );
    ensure!(
        join.strictness == "ANY" && join.kind == "LEFT",
        INCOMPATIBLE_TYPE_OF_JOIN,
        "{name} only supports StorageJoin of type Left Any"
    );
    let schema = keyed.schema();
    let stored: Vec<_> = schema.stored().collect();
    for (number, (arg, key)) in args[2..].iter().zip(keys).enumerate() {
        let (found, needed) = (arg.ty.bare(), stored[*key].ty.bare());
        ensure!(
            found == needed,
            TYPE_MISMATCH,
            "Type mismatch in {name} key {number}: found type {found}, while the needed type is {needed}"
        );
    }
    let position = stored.iter().position(|known| *known.name == *column);
    let position = position
        .filter(|position| !keys.contains(position))
        .ok_or_else(|| err!(NO_SUCH_COLUMN_IN_TABLE, "StorageJoin doesn't contain column {column}"))?;
    let ty = stored[position].ty.clone();
    let ty = if (or_null || join.use_nulls) && ty.can_be_nullable() { ty.nullable() } else { ty };
    let codecs: Vec<RowCodec> = keys.iter().map(|key| RowCodec::new(stored[*key].ty.bare())).collect();
    let lookup = index(&keyed.read()?, keys, position, &ty, codecs);
    let is_nullable = args[2..].iter().any(|arg| arg.ty.is_nullable());
    let result = if is_nullable && ty.can_be_nullable() { ty.nullable() } else { ty };
    Ok(Bound::with_state(result, lookup))
}

fn index(blocks: &[Block], keys: &[usize], position: usize, ty: &DataType, codecs: Vec<RowCodec>) -> Lookup {
    let mut rows: HashMap<Vec<u8>, u32> = HashMap::default();
    let mut values = vec![Vector::defaults(ty, 1)];
    let mut next = 1;
    for block in blocks {
        let columns: Vec<_> = keys.iter().map(|key| block.column(*key).flat()).collect();
        for row in 0..block.n_rows() {
            if !columns.iter().any(|column| column.is_null(row)) {
                let mut bytes = Vec::new();
                codecs.iter().zip(&columns).for_each(|(codec, column)| codec.put(column, row, &mut bytes));
                rows.entry(bytes).or_insert(next);
            }
            next += 1;
        }
        values.push(block.column(position).flat().into_owned());
    }
    Lookup { values: Vector::concat(&values.iter().collect::<Vec<_>>()), rows, codecs }
}

fn execute(call: &Call) -> Result<Column> {
    let Lookup { values, rows, codecs } = call.state()?;
    let mut found = Vec::with_capacity(call.n_rows);
    let mut bytes = Vec::new();
    for row in 0..call.n_rows {
        bytes.clear();
        let is_null = call.args[2..].iter().any(|arg| arg.vector.is_null(row));
        if !is_null {
            let keys = codecs.iter().zip(&call.args[2..]);
            keys.for_each(|(codec, arg)| codec.put(&arg.vector, row, &mut bytes));
        }
        found.push(if is_null { 0 } else { rows.get(&bytes).copied().unwrap_or(0) });
    }
    Ok(Column::Flat(values.gather(&found)))
}
