//! Combinators: suffixes of aggregate names, each a wrapper around any aggregate.
//!
//! - [`around`]: the states of those that only change rows or results
//! - [`filter`], for `-If`
//! - [`array`], for `-Array`, over the elements of arrays
//! - [`or_fill`], for `-OrNull`, `-OrDefault`
//! - [`distinct`], for `-Distinct`
//! - [`for_each`], for `-ForEach`, one result per position
//! - [`map`], for `-Map`, one result per key
//! - [`tuple`], for `-Tuple`, one result per field
//! - [`arg_extreme`], for `-ArgMin`, `-ArgMax`
//! - [`simple_state`], for `-SimpleState`, results that merge as states do
//! - [`state`], for `-State`, the states as values
//! - [`merge`], for `-Merge`, over states
//! - [`resample`], for `-Resample`, one result per bucket of a range

pub mod arg_extreme;
pub mod around;
pub mod array;
pub mod distinct;
pub mod filter;
pub mod for_each;
pub mod map;
pub mod merge;
pub mod or_fill;
pub mod resample;
pub mod simple_state;
pub mod state;
pub mod tuple;

use crate::resolve::Resolved;
use chalet_base::{Result, bail, ensure};
use chalet_function_api::{Aggregate, Argument};
use chalet_types::{DataType, Value};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combinator {
    If,
    Array,
    OrNull,
    OrDefault,
    Distinct,
    ForEach,
    Map,
    Tuple,
    ArgMin,
    ArgMax,
    Resample,
    State,
    Merge,
    SimpleState,
}

/// Longer suffixes first, because one may end another.
const ALL: [(&str, Combinator); 14] = [
    ("SimpleState", Combinator::SimpleState),
    ("OrDefault", Combinator::OrDefault),
    ("Distinct", Combinator::Distinct),
    ("Resample", Combinator::Resample),
    ("ForEach", Combinator::ForEach),
    ("ArgMax", Combinator::ArgMax),
    ("ArgMin", Combinator::ArgMin),
    ("OrNull", Combinator::OrNull),
    ("Array", Combinator::Array),
    ("Merge", Combinator::Merge),
    ("State", Combinator::State),
    ("Tuple", Combinator::Tuple),
    ("Map", Combinator::Map),
    ("If", Combinator::If),
];

/// The suffixes, for listings.
pub fn suffixes() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(suffix, _)| *suffix)
}

/// The combinator that a name ends in, and the name before it.
pub fn suffix_of(name: &str) -> Option<(Combinator, &str)> {
    ALL.iter().find_map(|(suffix, combinator)| {
        name.strip_suffix(suffix).filter(|rest| !rest.is_empty()).map(|rest| (*combinator, rest))
    })
}

/// What the function inside a combinator is asked for.
pub struct Split {
    pub name: String,
    pub parameters: Vec<Value>,
    pub args: Vec<Argument>,
    /// The found function is the whole: nothing is to be put around it.
    pub whole: bool,
}

/// Binds the inner function for other argument types.
pub type Rebind<'a> = &'a dyn Fn(&[Argument]) -> Result<Option<Resolved>>;

impl Combinator {
    pub fn suffix(self) -> &'static str {
        ALL.iter().find(|(_, c)| *c == self).map_or("", |(suffix, _)| suffix)
    }

    /// May the same combinator stand inside itself?
    pub fn nests(self) -> bool {
        self == Combinator::Array
    }

    /// The wrapper deals with NULLs in arguments of its own, and the function inside with those in the others.
    pub fn sees_nulls(self) -> bool {
        matches!(self, Combinator::If | Combinator::State)
    }

    /// The inner function's name, parameters and arguments.
    pub fn split(self, name: &str, parameters: &[Value], args: &[Argument]) -> Result<Split> {
        let mut split = Split {
            name: name.to_string(),
            parameters: parameters.to_vec(),
            args: args.to_vec(),
            whole: false,
        };
        match self {
            Combinator::If => {
                ensure!(
                    !args.is_empty(),
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function with If suffix"
                );
                filter::check_condition(args, true)?;
                split.args.pop();
            }
            Combinator::Array => {
                ensure!(
                    !args.is_empty(),
                    TOO_FEW_ARGUMENTS_FOR_FUNCTION,
                    "Array aggregate functions require at least one argument"
                );
                elements(&mut split.args, "Array")?;
            }
            Combinator::ForEach => {
                ensure!(
                    !args.is_empty(),
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {name}ForEach require at least one argument"
                );
                elements(&mut split.args, "ForEach")?;
            }
            Combinator::Distinct => ensure!(
                !args.is_empty(),
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Incorrect number of arguments for aggregate function with Distinct suffix"
            ),
            Combinator::ArgMin | Combinator::ArgMax => {
                ensure!(
                    !args.is_empty(),
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of arguments for aggregate function with {} suffix",
                    self.suffix()
                );
                split.args.pop();
            }
            Combinator::Map => map::split(&mut split)?,
            Combinator::Tuple => tuple::split(&mut split)?,
            Combinator::Resample => resample::split(&mut split)?,
            Combinator::SimpleState => {
                split.whole = true;
            }
            Combinator::State | Combinator::Merge | Combinator::OrNull | Combinator::OrDefault => {}
        }
        Ok(split)
    }

    /// Puts the wrapper around the inner function. `parameters` and `args` are those of the whole;
    /// `nullable` says whether a condition may be NULL.
    pub fn wrap(
        self,
        inner: Arc<dyn Aggregate>,
        parameters: &[Value],
        args: &[Argument],
        nullable: bool,
        rebind: Rebind,
    ) -> Result<Arc<dyn Aggregate>> {
        Ok(match self {
            Combinator::If => filter::Filter::around(inner, args, nullable)?,
            Combinator::Array => array::Array::around(inner),
            Combinator::OrNull => or_fill::OrFill::or_null(inner),
            Combinator::OrDefault => or_fill::OrFill::or_default(inner),
            Combinator::Distinct => distinct::Distinct::around(inner, args),
            Combinator::ForEach => for_each::ForEach::around(inner),
            Combinator::Map => map::Map::around(inner, args),
            Combinator::Tuple => tuple::Tuple::around(args, rebind)?,
            Combinator::ArgMin => arg_extreme::ArgExtreme::around(inner, args, true),
            Combinator::ArgMax => arg_extreme::ArgExtreme::around(inner, args, false),
            Combinator::Resample => resample::Resample::around(inner, parameters, args)?,
            Combinator::State | Combinator::Merge | Combinator::SimpleState => inner,
        })
    }
}

fn elements(args: &mut [Argument], suffix: &str) -> Result<()> {
    for arg in args {
        let DataType::Array(element) = &arg.ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument for aggregate function with {suffix} suffix. Must be array",
                arg.ty
            );
        };
        *arg = Argument::of_type(DataType::clone(element));
    }
    Ok(())
}
