//! What functions of dictionaries share: the dictionary of a call, and its keys as the dictionary has them.

use super::super::session_view::OwnHost;
use crate::dictionaries::attached::Attached;
use crate::dictionaries::definition::Definition;
use crate::dictionaries::finder::Finder;
use crate::dictionaries::layout::KeyKind;
use crate::dictionaries::loaded::Loaded;
use chalet_base::{Result, bail, codes, ensure, err};
use chalet_columns::{Data, Fixed, NullBuffer, Vector};
use chalet_function_api::{Argument, Call, Context, Dictionaries, Nulls, Record, Volatility};
use chalet_functions::conversion::cast::{Mode, Rules, check, convert};
use chalet_storage::Table;
use chalet_types::{DataType, Value};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// What the records have in common: a dictionary may have other rows in the next query.
pub(super) const BASE: Record = Record {
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::PerValue,
    volatility: Volatility::PerQuery,
    takes_table_name: true,
    ..Record::DEFAULT
};

/// All rows of the dictionary that the first argument names.
pub(super) fn dictionary(name: &str, args: &[Argument], ctx: &Context) -> Result<Arc<Loaded>> {
    let table = named(name, args, ctx)?;
    match table.as_any().downcast_ref::<Attached>() {
        Some(attached) => attached.loaded(),
        None => bail!(LOGICAL_ERROR, "{name} is given what is no dictionary"),
    }
}

/// How rows of keys are found in the dictionary that the first argument names.
pub(super) fn finder(name: &str, args: &[Argument], ctx: &Context) -> Result<Finder> {
    Finder::new(&named(name, args, ctx)?)
}

/// The dictionary that the first argument names: an [`Attached`].
fn named(name: &str, args: &[Argument], ctx: &Context) -> Result<Arc<dyn Table>> {
    let Some(written) = args[0].constant.as_ref().and_then(Value::as_str) else {
        let ty = &args[0].ty;
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of first argument of function {name}, expected a const string"
        );
    };
    let (database, dictionary) = written.split_once('.').unwrap_or((&ctx.database, written));
    let table = OwnHost::of(ctx)?.table(database, dictionary);
    let missing = || err!(BAD_ARGUMENTS, "Dictionary (`{written}`) not found");
    let table = table.map_err(|error| match error.code() {
        codes::UNKNOWN_TABLE | codes::UNKNOWN_DATABASE => missing(),
        _ => error,
    })?;
    // A table over a dictionary is none.
    match table.as_any().downcast_ref::<Attached>() {
        Some(attached) if attached.is_whole() => Ok(table),
        _ => Err(missing()),
    }
}

/// Fails where it is not known which keys there are.
pub(super) fn check_has_keys(definition: &Definition) -> Result<()> {
    ensure!(
        definition.layout.keys != KeyKind::Pattern,
        UNSUPPORTED_METHOD,
        "Dictionary {} does not support method `hasKeys`",
        definition.layout.type_name
    );
    Ok(())
}

/// An accurate cast: what the type cannot hold is an error.
pub(super) fn exactly(vector: &Vector, from: &DataType, to: &DataType, ctx: &Context) -> Result<Vector> {
    check(from, to)?;
    convert(vector, from, to, &Rules::new(Mode::Accurate, ctx))
}

/// The values that choose among the ranges of keys: argument `at`, which has the type `given`, where there is one.
pub(super) fn range_values(
    call: &Call,
    at: usize,
    given: Option<&DataType>,
    definition: &Definition,
) -> Result<Option<Vector>> {
    let types = given.zip(definition.range_type());
    types.map(|(given, wanted)| exactly(call.vector(at), given, wanted, call.ctx)).transpose()
}

/// How the argument of a key becomes a key.
pub(super) struct Keys {
    given: Vec<DataType>,
    wanted: Vec<DataType>,
    kind: KeyKind,
    /// The argument is a tuple of the parts of a key.
    is_tuple: bool,
    /// The argument may be NULL, and so the result.
    pub is_nullable: bool,
    /// The argument is NULL.
    pub is_null: bool,
}

impl Keys {
    /// For an argument of this type.
    pub fn new(function: &str, ty: &DataType, definition: &Definition) -> Result<Keys> {
        let bare = ty.without_nullable();
        let kind = definition.layout.keys;
        let wanted: Vec<DataType> = match kind {
            KeyKind::Polygon => vec![DataType::Float64; 2],
            _ => definition.keys().iter().map(|key| key.ty.clone()).collect(),
        };
        let fields: Option<Vec<DataType>> = match bare {
            DataType::Tuple(fields) if kind != KeyKind::Simple => {
                Some(fields.iter().map(|field| field.ty.clone()).collect())
            }
            _ => None,
        };
        if kind == KeyKind::Simple {
            let container = matches!(bare, DataType::Tuple(_) | DataType::Array(_) | DataType::Map(..));
            ensure!(
                !container,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {ty} of argument of function toUInt64"
            );
        }
        let is_null = ty.is_only_null();
        ensure!(
            kind != KeyKind::Polygon || is_null || fields.as_ref().is_some_and(|fields| fields.len() == 2),
            TYPE_MISMATCH,
            "Dictionary key lookup structure does not match, expected two columns of coordinates with type Float64"
        );
        ensure!(
            fields.is_some() || wanted.len() == 1 || is_null,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Third argument of function {function} must be tuple when dictionary is complex and key contains more than 1 \
             attribute. Actual type {ty}"
        );
        let (is_tuple, given) = (fields.is_some(), fields.unwrap_or_else(|| vec![bare.clone()]));
        ensure!(
            given.len() == wanted.len() || is_null,
            TYPE_MISMATCH,
            "Dictionary key lookup structure does not match, expected ({})",
            wanted.iter().map(DataType::to_string).collect::<Vec<_>>().join(", ")
        );
        if kind == KeyKind::Prefix && !is_null {
            let fits = match given[0].bare() {
                DataType::IPv4 | DataType::IPv6 | DataType::UInt32 => true,
                DataType::FixedString(width) => *width == 16,
                _ => false,
            };
            ensure!(
                fits,
                TYPE_MISMATCH,
                "Key does not match, expected either IPv4 (or UInt32) or IPv6 (or FixedString(16))"
            );
        }
        Ok(Keys { given, wanted, kind, is_tuple, is_nullable: ty.is_nullable(), is_null })
    }

    /// The vectors that [`Loaded::find`] takes, and where the argument is not NULL.
    pub fn vectors(&self, argument: &Vector, ctx: &Context) -> Result<(Vec<Vector>, Option<NullBuffer>)> {
        let parts = match &argument.data {
            Data::Struct(tuple) if self.is_tuple => tuple.fields.clone(),
            _ => vec![argument.without_nulls()],
        };
        let typed = parts.iter().zip(&self.given).zip(&self.wanted);
        let vectors = typed.map(|((part, given), wanted)| match self.kind {
            KeyKind::Prefix => addresses(part),
            _ => exactly(part, given, wanted, ctx),
        });
        Ok((vectors.collect::<Result<_>>()?, argument.validity.clone()))
    }

    /// The type of a result, given that of keys which are not NULL.
    pub fn result(&self, ty: DataType) -> DataType {
        if self.is_null {
            DataType::Nothing.nullable()
        } else if self.is_nullable && ty.can_be_nullable() {
            ty.nullable()
        } else {
            ty
        }
    }
}

/// IPv6 addresses of IPv4 and IPv6 ones.
fn addresses(part: &Vector) -> Result<Vector> {
    if let Data::Fixed(_) = &part.data {
        return Ok(part.without_nulls());
    }
    let mapped = part.values::<u32>()?.iter().flat_map(|v4| Ipv4Addr::from(*v4).to_ipv6_mapped().octets());
    Ok(Data::Fixed(Fixed { width: 16, bytes: mapped.collect() }).into())
}

/// NULL in all rows, where the key is NULL.
pub(super) fn all_null(call: &Call) -> Vector {
    Vector::defaults(call.result, call.n_rows)
}
