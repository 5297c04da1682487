//! Functions of the host program (Python): two thin traits, and what makes them functions of the engine.
//!
//! The host sees whole blocks with their types and decides about NULLs itself.

use chalet_base::forks::PerProcess;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Vector};
pub use chalet_function_api::Interrupt;
use chalet_function_api::aggregate::{AggregateNulls, RowOrder};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Arg, Argument, Bound, Call, Constants, Context,
    Dictionaries, Nulls, Record, ScalarFunction, States, Volatility,
};
use chalet_types::{DataType, TimeZone, Value};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A block of arguments, flat or constant, of `n_rows` rows each.
pub struct HostArgs<'a> {
    pub types: &'a [DataType],
    pub columns: &'a [Column],
    pub n_rows: usize,
    /// The zone of date-times whose type names none.
    pub zone: &'a TimeZone,
    /// To be asked now and then, since the host may take long.
    pub interrupt: &'a Interrupt,
}

/// A function of the values of one row.
pub trait HostScalar: Send + Sync {
    /// Checks the types of the arguments, Nullable or not, and names that of the result.
    fn result_type(&self, args: &[DataType]) -> Result<DataType>;

    /// The results of all rows, of the type that [`result_type`](Self::result_type) gave.
    fn call(&self, args: &HostArgs, result: &DataType) -> Result<Vector>;
}

/// What the host keeps of a group. `None` stands for a group without a row.
pub type HostState = Option<Box<dyn Any + Send>>;

/// Which group each row belongs to.
pub enum HostGroups<'a> {
    One(usize, Range<usize>),
    Each(&'a [u32]),
}

/// A function of the values of many rows.
pub trait HostAggregate: Send + Sync {
    fn result_type(&self, args: &[DataType]) -> Result<DataType>;

    fn add(&self, states: &mut [HostState], groups: HostGroups, args: &HostArgs) -> Result<()>;

    /// Adds states of other groups, which are not used again.
    fn merge(&self, into: &mut HostState, from: HostState) -> Result<()>;

    fn save(&self, state: &HostState) -> Result<Vec<u8>>;

    fn load(&self, bytes: &[u8]) -> Result<HostState>;

    fn finish(&self, states: &mut [HostState], result: &DataType, zone: &TimeZone) -> Result<Vector>;
}

pub(crate) struct HostedScalar {
    record: &'static Record,
    function: Arc<dyn HostScalar>,
}

pub(crate) struct HostedAggregate {
    record: &'static AggregateRecord,
    function: Arc<dyn HostAggregate>,
}

impl HostedScalar {
    pub fn new(name: &str, function: Arc<dyn HostScalar>) -> Self {
        static RECORDS: Records<Record> = PerProcess::new(|_| Mutex::default());
        let make = |name| Record {
            name,
            summary: "A function of the host program.",
            nulls: Nulls::Seen,
            constants: Constants::Seen,
            dictionaries: Dictionaries::Decoded,
            // It may look at anything, so it is called for each row, and never before the query runs.
            volatility: Volatility::PerRow,
            ..Record::DEFAULT
        };
        HostedScalar { record: kept(&RECORDS, name, make), function }
    }
}

impl HostedAggregate {
    pub fn new(name: &str, function: Arc<dyn HostAggregate>) -> Self {
        static RECORDS: Records<AggregateRecord> = PerProcess::new(|_| Mutex::default());
        let make = |name| AggregateRecord {
            name,
            summary: "An aggregate function of the host program.",
            nulls: AggregateNulls::Seen,
            // Its states may be slow to merge, and only one thread at a time runs the host's code.
            row_order: RowOrder::OneWorker,
            ..AggregateRecord::DEFAULT
        };
        HostedAggregate { record: kept(&RECORDS, name, make), function }
    }
}

type Records<R> = PerProcess<Mutex<BTreeMap<&'static str, &'static R>>>;

/// Records live as long as the process: one per name, however often the name is given anew.
fn kept<R>(records: &Records<R>, name: &str, make: impl FnOnce(&'static str) -> R) -> &'static R {
    let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(record) = records.get(name) {
        return record;
    }
    let name: &'static str = Box::leak(Box::from(name));
    let record: &'static R = Box::leak(Box::new(make(name)));
    records.insert(name, record);
    record
}

fn types_of(args: &[Argument]) -> Result<Vec<DataType>> {
    let of = |arg: &Argument| {
        ensure!(
            !arg.is_lambda,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A function of the host program does not take a lambda expression as an argument"
        );
        Ok(arg.ty.clone())
    };
    args.iter().map(of).collect()
}

impl ScalarFunction for HostedScalar {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        Ok(self.function.result_type(&types_of(args)?)?.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let types: Vec<DataType> = call.args.iter().map(|arg| arg.ty.clone()).collect();
        let column = |arg: &Arg| match (arg.constant, arg.vector.clone().into_owned()) {
            (true, vector) => Column::constant(vector, call.n_rows),
            (false, vector) => Column::Flat(vector),
        };
        let columns: Vec<Column> = call.args.iter().map(column).collect();
        let (zone, interrupt) = (&call.ctx.time_zone, &call.ctx.interrupt);
        let args = HostArgs { types: &types, columns: &columns, n_rows: call.n_rows, zone, interrupt };
        let made = self.function.call(&args, call.result)?;
        Ok(Column::Flat(made))
    }
}

impl AggregateFunction for HostedAggregate {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        ensure!(
            parameters.is_empty(),
            AGGREGATE_FUNCTION_DOESNT_ALLOW_PARAMETERS,
            "Aggregate function {name} cannot have parameters"
        );
        let types = types_of(args)?;
        let result = self.function.result_type(&types)?;
        let shared = Bindings {
            function: self.function.clone(),
            types,
            result,
            zone: ctx.time_zone.clone(),
            interrupt: ctx.interrupt.clone(),
        };
        Ok(Arc::new(BoundAggregate(Arc::new(shared))))
    }
}

struct Bindings {
    function: Arc<dyn HostAggregate>,
    types: Vec<DataType>,
    result: DataType,
    zone: TimeZone,
    interrupt: Interrupt,
}

struct BoundAggregate(Arc<Bindings>);

impl Aggregate for BoundAggregate {
    fn result_type(&self) -> DataType {
        self.0.result.clone()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(HostStates { of: self.0.clone(), states: Vec::new() })
    }
}

struct HostStates {
    of: Arc<Bindings>,
    states: Vec<HostState>,
}

/// A state as bytes begins with this when the host could make bytes of it, with [`FAILED`] and the reason otherwise.
const SAVED: u8 = 1;
const FAILED: u8 = 0;
/// What a state is taken to hold: the host does not say.
const STATE_BYTES: usize = 256;

impl HostStates {
    fn add_rows(&mut self, groups: HostGroups, args: &[Vector], n_rows: usize) -> Result<()> {
        let Bindings { function, types, zone, interrupt, .. } = &*self.of;
        let columns: Vec<Column> = args.iter().cloned().map(Column::Flat).collect();
        function.add(
            &mut self.states,
            groups,
            &HostArgs { types, columns: &columns, n_rows, zone, interrupt },
        )
    }
}

impl States for HostStates {
    fn grow(&mut self, n: usize) {
        if self.states.len() < n {
            self.states.resize_with(n, || None);
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let n_rows = rows.end;
        self.add_rows(HostGroups::One(group, rows), args, n_rows)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        self.add_rows(HostGroups::Each(groups), args, groups.len())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other: &mut Self = chalet_function_api::states::same_states(other)?;
        for (&from, &into) in from.iter().zip(into) {
            let state = other.states[from as usize].take();
            self.of.function.merge(&mut self.states[into as usize], state)?;
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        let (kind, bytes) = match self.of.function.save(&self.states[group]) {
            Ok(bytes) => (SAVED, bytes),
            Err(error) => (FAILED, error.message().as_bytes().to_vec()),
        };
        out.push(kind);
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend(bytes);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let broken =
            || err!(CANNOT_READ_ALL_DATA, "The state of an aggregate function of the host is cut off");
        let (kind, rest) = bytes.split_first().ok_or_else(broken)?;
        let (len, rest) = rest.split_first_chunk().ok_or_else(broken)?;
        let (state, rest) = rest.split_at_checked(u64::from_le_bytes(*len) as usize).ok_or_else(broken)?;
        *bytes = rest;
        if *kind != SAVED {
            bail!(PY_EXCEPTION_OCCURED, "{}", String::from_utf8_lossy(state));
        }
        let state = self.of.function.load(state)?;
        self.of.function.merge(&mut self.states[group], state)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let Bindings { function, result, zone, .. } = &*self.of;
        function.finish(&mut self.states[..n], result, zone)
    }

    fn memory(&self) -> usize {
        self.states.capacity() * (size_of::<HostState>() + STATE_BYTES)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
