//! How two types compare: decided once per query, run once per block.

use super::order::Order;
use super::{bytes, numbers};
use crate::lanes::Operand;
use crate::ternary_logic::Ternary;
use crate::text;
use crate::widen::{intervals_compare, widen};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{NullBuffer, Vector, bits};
use chalet_function_api::{Argument, Context};
use chalet_types::{DataType, Value, supertype};

/// The way to compare.
#[derive(Clone, Debug)]
pub enum Plan {
    Numbers,
    /// Types whose unit or scale differs: DateTime64 counts as a Decimal.
    Decimals,
    Bytes,
    /// As values of a supertype.
    Widened(DataType),
    /// Rows of equal type in the order that sorting has: NULL last, NaN after the numbers.
    Generic,
    /// Tuples, field by field.
    Fields(Vec<Plan>),
    /// A side is text and a constant, read as the other side's type.
    Text {
        left: bool,
        value: Vector,
        plan: Box<Plan>,
    },
    /// Whatever the values are.
    Always(bool),
    /// A side has no values but NULL.
    Null,
}

/// What `bind` knows about one side.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub ty: &'a DataType,
    pub constant: Option<&'a Value>,
}

impl<'a> From<&'a Argument> for Side<'a> {
    fn from(arg: &'a Argument) -> Self {
        Side { ty: &arg.ty, constant: arg.constant.as_ref() }
    }
}

/// Numbers, and what compares with numbers as one.
fn as_number(ty: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match ty {
        Bool => UInt8,
        Enum8(_) => Int8,
        Enum16(_) => Int16,
        DateTime(_) | IPv4 => UInt32,
        Time => Int32,
        Interval(_) => Int64,
        DateTime64(scale, _) | Time64(scale) => Decimal { precision: 18, scale: *scale },
        other if other.is_number() => other.clone(),
        _ => return None,
    })
}

pub struct Planner<'a> {
    pub function: &'a str,
    pub order: Order,
    /// May constant text stand for a value of another type?
    pub reads_text: bool,
    pub ctx: &'a Context,
}

impl Planner<'_> {
    pub fn illegal(&self, a: &DataType, b: &DataType) -> chalet_base::Error {
        err!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal types of arguments (`{a}`, `{b}`) of function `{}`",
            self.function
        )
    }

    pub fn plan(&self, a: Side, b: Side) -> Result<Plan> {
        let (x, y) = (a.ty.bare(), b.ty.bare());
        if *x == DataType::Nothing || *y == DataType::Nothing {
            return Ok(Plan::Null);
        }
        if x.has_states() || y.has_states() {
            return Err(self.illegal(x, y));
        }
        // Vectors are equal or not; what holds them is not even that.
        let holds_vectors = |ty: &DataType| {
            !matches!(ty, DataType::QBit(_)) && ty.is_or_contains(&|ty| matches!(ty, DataType::QBit(_)))
        };
        if holds_vectors(x) || holds_vectors(y) {
            return Err(self.illegal(x, y));
        }
        Ok(match (x, y) {
            (DataType::Tuple(f), DataType::Tuple(g)) => {
                ensure!(f.len() == g.len(), ILLEGAL_TYPE_OF_ARGUMENT, "{}", self.illegal(x, y).message());
                ensure!(!f.is_empty(), NOT_IMPLEMENTED, "Comparison of zero-sized tuples is not implemented");
                let item = |value: Option<&Value>, index: usize| match value {
                    Some(Value::Tuple(items)) => items.get(index).cloned(),
                    _ => None,
                };
                let plans = f.iter().zip(g.iter()).enumerate().map(|(i, (f, g))| {
                    let (left, right) = (item(a.constant, i), item(b.constant, i));
                    self.plan(
                        Side { ty: &f.ty, constant: left.as_ref() },
                        Side { ty: &g.ty, constant: right.as_ref() },
                    )
                });
                Plan::Fields(plans.collect::<Result<_>>()?)
            }
            (DataType::Array(_) | DataType::Map(..), DataType::Array(_) | DataType::Map(..)) => {
                match supertype::pair(x, y) {
                    Some(ty) if ty == *x && ty == *y => Plan::Generic,
                    Some(ty) => Plan::Widened(ty),
                    // Lists of signed and unsigned numbers have no supertype, but an order.
                    None if number_lists(x, y) => Plan::Widened(wide_list(x)),
                    None => return Err(self.illegal(x, y)),
                }
            }
            _ if x.is_string() && y.is_string() => Plan::Bytes,
            (DataType::Json(_), DataType::Json(_)) if x == y => Plan::Bytes,
            (DataType::Json(_), _) | (_, DataType::Json(_)) => return Err(self.illegal(x, y)),
            (DataType::Enum8(n) | DataType::Enum16(n), DataType::Enum8(m) | DataType::Enum16(m)) => {
                if n == m { Plan::Numbers } else { Plan::Widened(DataType::String) }
            }
            _ if x.is_string() || y.is_string() => self.text(a, b)?,
            (DataType::QBit(_), DataType::QBit(_)) => match self.order {
                Order::Equal | Order::NotEqual if x == y => Plan::Bytes,
                _ => return Err(self.illegal(x, y)),
            },
            _ if x == y => match x {
                DataType::Uuid | DataType::IPv6 => Plan::Bytes,
                _ => Plan::Numbers,
            },
            (DataType::IPv4, DataType::IPv6) | (DataType::IPv6, DataType::IPv4) => {
                Plan::Widened(DataType::IPv6)
            }
            (DataType::Interval(u), DataType::Interval(v)) => {
                ensure!(
                    intervals_compare(*u, *v),
                    NO_COMMON_TYPE,
                    "Cannot compare intervals {x} and {y} because the number of days in a month is not fixed"
                );
                Plan::Widened(supertype::common_supertype(&[x.clone(), y.clone()])?)
            }
            _ if x.is_date_or_time() && y.is_date_or_time() => match (x, y) {
                (DataType::DateTime(_), DataType::DateTime(_)) => Plan::Numbers,
                (
                    DataType::DateTime(_) | DataType::DateTime64(..),
                    DataType::DateTime(_) | DataType::DateTime64(..),
                ) => Plan::Decimals,
                (DataType::Date | DataType::Date32, DataType::Date | DataType::Date32) => Plan::Numbers,
                _ => Plan::Widened(supertype::common_supertype(&[x.clone(), y.clone()])?),
            },
            (DataType::Time | DataType::Time64(_), DataType::Time | DataType::Time64(_)) => Plan::Decimals,
            _ => match (as_number(x), as_number(y)) {
                (Some(p), Some(q)) => {
                    let address = |ty: &DataType| *ty == DataType::IPv4;
                    let plain = |ty: &DataType| ty.is_integer() || ty.is_float();
                    let other = |ty: &DataType| ty.is_enum() || address(ty);
                    if x.is_decimal() && !y.is_number() && !q.is_decimal()
                        || y.is_decimal() && !x.is_number() && !p.is_decimal()
                        || p.is_decimal() && other(y)
                        || q.is_decimal() && other(x)
                    {
                        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "No operation {} between {x} and {y}", self.function);
                    }
                    for (ip, other) in [(x, y), (y, x)] {
                        if address(ip) && !(plain(other) && other.is_unsigned()) {
                            bail!(NOT_IMPLEMENTED, "Conversion from IPv4 to {other} is not supported");
                        }
                    }
                    if p.is_decimal() || q.is_decimal() { Plan::Decimals } else { Plan::Numbers }
                }
                _ => return Err(self.illegal(x, y)),
            },
        })
    }

    /// One side is text, the other is not.
    fn text(&self, a: Side, b: Side) -> Result<Plan> {
        let (x, y) = (a.ty.bare(), b.ty.bare());
        let left = x.is_string();
        let (text, ty) = if left { (a, y) } else { (b, x) };
        if !self.reads_text && ty.is_enum() {
            return Ok(Plan::Widened(DataType::String));
        }
        if !self.reads_text {
            return Err(self.illegal(x, y));
        }
        let Some(Value::Bytes(bytes)) = text.constant else {
            if matches!(ty, DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_)) {
                return Err(self.illegal(x, y));
            }
            if ty.is_enum() {
                return Ok(Plan::Widened(DataType::String));
            }
            // No supertype: the error says why.
            let ty = supertype::common_supertype(&[x.clone(), y.clone()])?;
            return Ok(Plan::Widened(ty));
        };
        if let DataType::Enum8(names) | DataType::Enum16(names) = ty
            && names.number_of(bytes).is_none()
            && text::read_one(bytes, ty, self.ctx).is_err()
            && self.order != Order::NotEqual
        {
            let validate = (self.ctx.settings.all.0)("validate_enum_literals_in_operators");
            ensure!(
                validate.is_none_or(|(value, _)| value.as_u64() != Some(1)),
                UNKNOWN_ELEMENT_OF_ENUM,
                "Unknown element '{}' for enum: while converting it to {ty}",
                String::from_utf8_lossy(bytes)
            );
            return Ok(Plan::Always(false));
        }
        if let DataType::Interval(_) = ty {
            bail!(TYPE_MISMATCH, "Type mismatch in IN or VALUES section. Expected: {ty}. Got: String");
        }
        if text::is_day_with_time(bytes, ty, self.ctx) {
            let shown = String::from_utf8_lossy(bytes);
            bail!(TYPE_MISMATCH, "Cannot convert string '{shown}' to type {ty}");
        }
        if out_of_range(bytes, ty) {
            return Ok(Plan::Always(self.order == Order::NotEqual));
        }
        let mut value = text::read_beside_decimal(bytes, ty, self.ctx);
        if value.is_err() && matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..)) {
            value = text::read_best_effort(bytes, ty, self.ctx).or(value);
        }
        let value = value.map_err(|error| {
            let shown = String::from_utf8_lossy(bytes);
            let code = error.code();
            let is_too_large =
                [chalet_base::codes::DECIMAL_OVERFLOW, chalet_base::codes::ARGUMENT_OUT_OF_BOUND]
                    .contains(&code);
            let plain = ty.is_integer() && *ty != DataType::Bool || ty.is_decimal() && !is_too_large;
            if plain || code == chalet_base::codes::CANNOT_PARSE_TEXT {
                return err!(TYPE_MISMATCH, "Cannot convert string '{shown}' to type {ty}");
            }
            error.context(format_args!("while converting '{shown}' to {ty}"))
        })?;
        let same = Side { ty, constant: None };
        Ok(Plan::Text { left, value, plan: Box::new(self.plan(same, same)?) })
    }
}

/// Does the text hold an integer that the type cannot?
fn out_of_range(text: &[u8], ty: &DataType) -> bool {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i128>().ok());
    let (Some(number), Some(width @ ..=8), true) = (number, ty.physical().width(), ty.is_integer()) else {
        return false;
    };
    let (bits, signed) = (8 * width as u32, ty.is_signed());
    let least = if signed { -(1i128 << (bits - 1)) } else { 0 };
    let greatest = (1i128 << (bits - u32::from(signed))) - 1;
    *ty != DataType::Bool && !(least..=greatest).contains(&number)
}

fn number_lists(x: &DataType, y: &DataType) -> bool {
    match (x, y) {
        (DataType::Array(x), DataType::Array(y)) => x.is_integer() && y.is_integer() || number_lists(x, y),
        _ => false,
    }
}

fn wide_list(x: &DataType) -> DataType {
    match x {
        DataType::Array(inner) => wide_list(inner).array(),
        _ => DataType::Int256,
    }
}

/// The result of a plan: whether the comparison holds, and where it is NULL.
pub type Outcome = (Vec<u8>, Option<NullBuffer>);

impl Plan {
    /// Can the result be NULL beside the NULLs that the framework deals with?
    pub fn gives_null(&self, a: &DataType, b: &DataType) -> bool {
        match self {
            Plan::Null => true,
            Plan::Fields(plans) => match (a.bare(), b.bare()) {
                (DataType::Tuple(f), DataType::Tuple(g)) => {
                    plans.iter().zip(f.iter().zip(g.iter())).any(|(p, (f, g))| {
                        f.ty.is_nullable() || g.ty.is_nullable() || p.gives_null(&f.ty, &g.ty)
                    })
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Compares the values beneath, without regard to the validity of the operands themselves.
    pub fn run(&self, order: Order, a: Operand, b: Operand, n: usize, ctx: &Context) -> Result<Outcome> {
        let plain = |values: Vec<u8>| Ok((values, None));
        match self {
            Plan::Numbers => plain(numbers::compare(order, a, b, n)?),
            Plan::Decimals => plain(numbers::decimals(order, a, b, n, ctx.settings.decimal_check_overflow)?),
            Plan::Bytes => plain(bytes::compare(order, a, b, n)?),
            Plan::Always(holds) => plain(vec![u8::from(*holds); n]),
            Plan::Null => Ok((vec![0; n], Some(NullBuffer::new_null(n)))),
            Plan::Generic => plain(
                (0..n)
                    .map(|row| {
                        u8::from(order.holds(Some(a.vector.compare(a.row(row), b.vector, b.row(row)))))
                    })
                    .collect(),
            ),
            Plan::Widened(ty) => {
                let (x, y) = (widen(a.vector, a.ty, ty, ctx)?, widen(b.vector, b.ty, ty, ctx)?);
                let a = Operand { ty, vector: &x, ..a };
                let b = Operand { ty, vector: &y, ..b };
                let plan = match ty {
                    DataType::String | DataType::IPv6 => Plan::Bytes,
                    DataType::Array(_) | DataType::Map(..) | DataType::Dynamic(_) => Plan::Generic,
                    _ => Plan::Numbers,
                };
                plan.run(order, a, b, n, ctx)
            }
            Plan::Text { left, value, plan } => {
                let constant = |ty| Operand { ty, vector: value, constant: true };
                if *left {
                    plan.run(order, constant(b.ty), b, n, ctx)
                } else {
                    plan.run(order, a, constant(a.ty), n, ctx)
                }
            }
            Plan::Fields(plans) => self.run_fields(plans, order, a, b, n, ctx),
        }
    }

    /// Tuples with an element that is NULL by its type.
    pub fn has_null_field(&self) -> bool {
        matches!(self, Plan::Fields(plans) if plans.iter().any(|plan| matches!(plan, Plan::Null)))
    }

    /// Tuples: equality is the conjunction of the fields' equalities; an order is decided by the first field that
    /// differs. NULL in a field is unknown, as in `and` and `or`.
    fn run_fields(
        &self,
        plans: &[Plan],
        order: Order,
        a: Operand,
        b: Operand,
        n: usize,
        ctx: &Context,
    ) -> Result<Outcome> {
        let fields = Fields::of(a, b)?;
        let is_order = !matches!(order, Order::Equal | Order::NotEqual);
        // As in ClickHouse, which asks no other element.
        if is_order && self.has_null_field() {
            return Ok((vec![0; n], Some(NullBuffer::new_null(n))));
        }
        match order {
            Order::Equal | Order::NotEqual => {
                let mut all = Ternary::all(n, order == Order::Equal);
                for (index, plan) in plans.iter().enumerate() {
                    let field = fields.run(index, plan, order, n, ctx)?;
                    all = if order == Order::Equal { all.and(&field) } else { all.or(&field) };
                }
                Ok(all.into_parts())
            }
            _ => {
                // From the last field on: less, or equal and the rest decides.
                let mut rest: Option<Ternary> = None;
                for (index, plan) in plans.iter().enumerate().rev() {
                    rest = Some(match rest {
                        None => fields.run(index, plan, order, n, ctx)?,
                        Some(rest) => {
                            let strictly = fields.run(index, plan, order.strict(), n, ctx)?;
                            let equal = fields.run(index, plan, Order::Equal, n, ctx)?;
                            strictly.or(&equal.and(&rest))
                        }
                    });
                }
                Ok(rest.unwrap_or_else(|| Ternary::all(n, false)).into_parts())
            }
        }
    }

    /// Rows whose values are not distinct, NULL being equal to NULL.
    pub fn same(&self, a: Operand, b: Operand, n: usize, ctx: &Context) -> Result<Vec<u8>> {
        let null = |x: &Operand, row: usize| x.vector.is_null(x.row(row));
        if let Plan::Null = self {
            let nothing = |x: &Operand, row: usize| *x.ty.bare() == DataType::Nothing || null(x, row);
            return Ok((0..n).map(|row| u8::from(nothing(&a, row) && nothing(&b, row))).collect());
        }
        let mut equal = match self {
            Plan::Fields(plans) => {
                let fields = Fields::of(a, b)?;
                let mut all = vec![1u8; n];
                for (index, plan) in plans.iter().enumerate() {
                    let (x, y) = fields.pair(index);
                    let same = plan.same(x, y, n, ctx)?;
                    all.iter_mut().zip(&same).for_each(|(all, same)| *all &= same);
                }
                all
            }
            _ => self.run(Order::Equal, a, b, n, ctx)?.0,
        };
        // A byte for each row that is not NULL: without a branch, since which rows are cannot be guessed.
        let valid = |x: &Operand| match &x.vector.validity {
            Some(_) if x.constant => vec![u8::from(!null(x, 0)); n],
            Some(validity) => bits::to_bytes(validity.inner()),
            None => vec![1; n],
        };
        if a.vector.validity.is_some() || b.vector.validity.is_some() {
            let (x, y) = (valid(&a), valid(&b));
            for ((equal, x), y) in equal.iter_mut().zip(&x).zip(&y) {
                *equal = (*equal & x & y) | ((x ^ 1) & (y ^ 1));
            }
        }
        Ok(equal)
    }
}

/// The fields of two tuples.
struct Fields<'a> {
    pairs: Vec<(Operand<'a>, Operand<'a>)>,
}

impl<'a> Fields<'a> {
    fn of(a: Operand<'a>, b: Operand<'a>) -> Result<Fields<'a>> {
        let (DataType::Tuple(f), DataType::Tuple(g)) = (a.ty.bare(), b.ty.bare()) else {
            bail!(LOGICAL_ERROR, "{} and {} are not tuples", a.ty, b.ty);
        };
        let (x, y) = (&a.vector.structure()?.fields, &b.vector.structure()?.fields);
        let left = f.iter().zip(x).map(|(f, vector)| Operand { ty: f.ty.bare(), vector, ..a });
        let right = g.iter().zip(y).map(|(g, vector)| Operand { ty: g.ty.bare(), vector, ..b });
        Ok(Fields { pairs: left.zip(right).collect() })
    }

    fn pair(&self, index: usize) -> (Operand<'a>, Operand<'a>) {
        self.pairs[index]
    }

    fn run(&self, index: usize, plan: &Plan, order: Order, n: usize, ctx: &Context) -> Result<Ternary> {
        let (a, b) = self.pairs[index];
        let (values, own) = plan.run(order, a, b, n, ctx)?;
        let nulls = |x: Operand| match (&x.vector.validity, x.constant) {
            (Some(_), true) => Some(NullBuffer::new_null(n)),
            (validity, _) => validity.clone(),
        };
        let validity = NullBuffer::union(nulls(a).as_ref(), nulls(b).as_ref());
        let validity = NullBuffer::union(validity.as_ref(), own.as_ref());
        Ok(Ternary::of(&values, validity.map(NullBuffer::into_inner)))
    }
}
