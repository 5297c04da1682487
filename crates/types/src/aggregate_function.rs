//! `AggregateFunction(f, T, ...)`: the type of states of an aggregate function. A value is the bytes of one state. What
//! these bytes mean is known to the room of the functions, which registers a lookup here: types cannot depend on it.

use crate::{DataType, I256, Value};
use chalet_base::{Result, ensure, err};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The function of a state, with its parameters and the types of its arguments.
pub struct AggregateType {
    /// Of the states' bytes, shown when it is not 0.
    version: u64,
    function: Arc<str>,
    parameters: Vec<Value>,
    arguments: Vec<DataType>,
    operations: Arc<dyn StateOperations>,
    /// What two types of the same states have in common.
    representation: String,
}

/// What can be done with the bytes of states without knowing the function.
pub trait StateOperations: Send + Sync {
    /// The state of a group without rows.
    fn empty(&self) -> &[u8];

    /// The length in bytes of the state at the front of `bytes`. Fails when there is none.
    fn length(&self, bytes: &[u8]) -> Result<usize>;

    /// The state of the rows of both.
    fn merged(&self, a: &[u8], b: &[u8]) -> Result<Vec<u8>>;
}

/// A function as a lookup found it.
pub struct KnownFunction {
    /// The name of the function itself, when an alias was looked up.
    pub name: String,
    pub version: u64,
    /// Equal for functions whose states merge.
    pub representation: String,
    pub operations: Arc<dyn StateOperations>,
}

/// Finds the aggregate function of a name for parameters and types of arguments.
pub type Lookup = fn(&str, &[Value], &[DataType]) -> Result<KnownFunction>;

static LOOKUP: OnceLock<Lookup> = OnceLock::new();

/// Makes aggregate functions known to types, once per process; later calls change nothing.
pub fn register_lookup(lookup: Lookup) {
    LOOKUP.get_or_init(|| lookup);
}

impl AggregateType {
    /// The type of the states of a function. Fails when there is no such function of such arguments.
    pub fn new(
        version: Option<u64>,
        name: &str,
        parameters: Vec<Value>,
        arguments: Vec<DataType>,
    ) -> Result<AggregateType> {
        let lookup = LOOKUP
            .get()
            .ok_or_else(|| err!(UNKNOWN_AGGREGATE_FUNCTION, "Unknown aggregate function {name}"))?;
        let known = lookup(name, &parameters, &arguments)?;
        Ok(AggregateType::of(version, known, parameters, arguments))
    }

    /// The type of the states of a function that is found already.
    pub fn of(
        version: Option<u64>,
        known: KnownFunction,
        parameters: Vec<Value>,
        arguments: Vec<DataType>,
    ) -> AggregateType {
        AggregateType {
            version: version.unwrap_or(known.version),
            function: known.name.into(),
            parameters,
            arguments,
            operations: known.operations,
            representation: known.representation,
        }
    }

    /// Of the states' bytes.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The function's name, combinators included.
    pub fn function(&self) -> &str {
        &self.function
    }

    pub fn parameters(&self) -> &[Value] {
        &self.parameters
    }

    pub fn arguments(&self) -> &[DataType] {
        &self.arguments
    }

    /// Do states of both types merge with each other?
    pub fn has_same_states(&self, other: &AggregateType) -> bool {
        self.representation == other.representation
    }

    /// Fails unless the bytes are one state.
    pub fn check(&self, bytes: &[u8]) -> Result<()> {
        let length = self.operations.length(bytes)?;
        ensure!(
            length == bytes.len(),
            BAD_ARGUMENTS,
            "AggregateFunction state for `{}` has {} trailing byte(s) after deserialization",
            self.function,
            bytes.len() - length
        );
        Ok(())
    }

    pub fn operations(&self) -> &dyn StateOperations {
        &*self.operations
    }
}

/// States of one function are of one type whatever version they were declared with.
impl PartialEq for AggregateType {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function
            && self.parameters == other.parameters
            && self.arguments == other.arguments
    }
}

impl Eq for AggregateType {}

impl Hash for AggregateType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.hash(state);
        self.arguments.hash(state);
    }
}

impl fmt::Debug for AggregateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AggregateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AggregateFunction(")?;
        if self.version != 0 {
            write!(f, "{}, ", self.version)?;
        }
        f.write_str(&self.function)?;
        if !self.parameters.is_empty() {
            write_list(f, "(", &self.parameters, ")")?;
        }
        for argument in &self.arguments {
            write!(f, ", {argument}")?;
        }
        f.write_str(")")
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, open: &str, values: &[Value], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (i, value) in values.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        write_literal(f, value)?;
    }
    f.write_str(close)
}

/// A parameter as the kernel prints it: a float that is whole keeps its point.
fn write_literal(f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Null => f.write_str("NULL"),
        Value::UInt(x) => write!(f, "{x}"),
        Value::Int(x) => write!(f, "{x}"),
        Value::UInt128(x) => write!(f, "{x}"),
        Value::Int128(x) => write!(f, "{x}"),
        Value::UInt256(x) => write!(f, "{x}"),
        Value::Int256(x) => write!(f, "{x}"),
        Value::Float(x) if x.fract() == 0.0 && x.abs() < 1e21 => write!(f, "{x}."),
        Value::Float(x) => write!(f, "{x}"),
        Value::Bytes(text) => f.write_str(&crate::text::quoted(&String::from_utf8_lossy(text))),
        Value::Array(values) => write_list(f, "[", values, "]"),
        Value::Tuple(values) => write_list(f, "(", values, ")"),
        Value::Map(pairs) => {
            let values: Vec<Value> =
                pairs.iter().map(|(key, value)| Value::Tuple(vec![key.clone(), value.clone()])).collect();
            write_list(f, "[", &values, "]")
        }
        Value::Decimal(x) => {
            let (sign, digits) = (if x.digits < I256::ZERO { "-" } else { "" }, x.digits.unsigned_abs());
            let digits = format!("{digits:0>width$}", width = usize::from(x.scale) + 1);
            let (whole, fraction) = digits.split_at(digits.len() - usize::from(x.scale));
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            write!(f, "'{sign}{whole}{point}{fraction}'::Decimal{}({})", x.bits, x.scale)
        }
    }
}
