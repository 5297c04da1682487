//! SAMPLE: the rows whose sampling key is in a range of its type, and how many rows of the table each of them stands for.

use crate::scope::TableScope;
use crate::select::SelectBinder;
use chalet_base::{Result, bail, ensure, err};
use chalet_plan::{Expr, Literal};
use chalet_storage::Table;
use chalet_syntax::ast;
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// The virtual column that says how many rows of the table each row of a sample stands for.
pub(crate) const SAMPLE_FACTOR: &str = "_sample_factor";

/// A part of the values of a sampling key.
pub(crate) struct Sampling {
    /// None where all rows are in the sample.
    pub condition: Option<Expr>,
    pub factor: f64,
}

/// A fraction of whole numbers, in lowest terms.
#[derive(Clone, Copy, PartialEq)]
struct Fraction {
    numerator: u128,
    denominator: u128,
}

impl Fraction {
    const ZERO: Fraction = Fraction { numerator: 0, denominator: 1 };
    const ONE: Fraction = Fraction { numerator: 1, denominator: 1 };

    fn new(numerator: u128, denominator: u128) -> Fraction {
        let common = gcd(numerator, denominator).max(1);
        Fraction { numerator: numerator / common, denominator: denominator / common }
    }

    fn parse(text: &str) -> Result<Fraction> {
        decimal(text).ok_or_else(|| err!(SYNTAX_ERROR, "Expected Sample ratio or offset, got {text}"))
    }

    fn of(written: &ast::Ratio) -> Result<Fraction> {
        let numerator = Fraction::parse(&written.numerator)?;
        let Some(denominator) = &written.denominator else { return Ok(numerator) };
        let denominator = Fraction::parse(denominator)?;
        ensure!(denominator.numerator > 0, ARGUMENT_OUT_OF_BOUND, "bad rational: zero denominator");
        numerator.times(Fraction::new(denominator.denominator, denominator.numerator))
    }

    fn times(self, other: Fraction) -> Result<Fraction> {
        // Factors in common go first, so that the products stay small.
        let (a, b) = (
            Fraction::new(self.numerator, other.denominator),
            Fraction::new(other.numerator, self.denominator),
        );
        match (a.numerator.checked_mul(b.numerator), a.denominator.checked_mul(b.denominator)) {
            (Some(numerator), Some(denominator)) => Ok(Fraction { numerator, denominator }),
            _ => Err(too_fine()),
        }
    }

    fn plus(self, other: Fraction) -> Result<Fraction> {
        let sum = || {
            let left = self.numerator.checked_mul(other.denominator)?;
            let right = other.numerator.checked_mul(self.denominator)?;
            let denominator = self.denominator.checked_mul(other.denominator)?;
            Some(Fraction::new(left.checked_add(right)?, denominator))
        };
        sum().ok_or_else(too_fine)
    }

    fn floor(self) -> u128 {
        self.numerator / self.denominator
    }

    fn exceeds_one(self) -> bool {
        self.numerator > self.denominator
    }

    /// A number of rows as a part of all rows.
    fn of_rows(self, all: u64) -> Result<Fraction> {
        let part = match all {
            0 => Fraction::ONE,
            all => self.times(Fraction::new(1, all.into()))?,
        };
        Ok(if part.exceeds_one() { Fraction::ONE } else { part })
    }
}

#[cold]
fn too_fine() -> chalet_base::Error {
    err!(ARGUMENT_OUT_OF_BOUND, "The ratio of SAMPLE has too many digits")
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `12`, `0.5`, `1e-3`.
fn decimal(text: &str) -> Option<Fraction> {
    let lower = text.to_ascii_lowercase();
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (&*lower, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = exponent.checked_sub(fraction.len().try_into().ok()?)?;
    let number: u128 = digits.parse().ok()?;
    let power = 10u128.checked_pow(exponent.unsigned_abs())?;
    Some(match exponent < 0 {
        true => Fraction::new(number, power),
        false => Fraction::new(number.checked_mul(power)?, 1),
    })
}

impl Sampling {
    /// How the virtual column is computed.
    pub fn factor_column(&self) -> Result<Expr> {
        let ty = DataType::Float64;
        let value = chalet_columns::Vector::of_value(&Value::Float(self.factor), &ty)?;
        Ok(Expr::Literal(Literal { value: Arc::new(value), ty }))
    }
}

/// Fails where a sub-query is to be sampled.
pub(crate) fn check_subquery(table: &ast::TableExpr, shown: &dyn std::fmt::Display) -> Result<()> {
    let Some(sample) = &table.sample else { return Ok(()) };
    let Fraction { numerator, denominator } = Fraction::of(&sample.ratio)?;
    bail!(
        UNSUPPORTED_METHOD,
        "Table expression modifiers SAMPLE {numerator} / {denominator} are not supported for subquery {shown}"
    )
}

impl SelectBinder<'_> {
    /// The sample that a table expression asks for; `name` is the table's, as errors have it.
    pub(crate) fn sampling(
        &self,
        table: &dyn Table,
        name: &str,
        written: &ast::TableExpr,
        scope: &TableScope,
    ) -> Result<Option<Sampling>> {
        let Some(sample) = &written.sample else { return Ok(None) };
        let Some(keys) = table.keys().filter(|keys| !keys.sampling.is_empty()) else {
            let of_function =
                if matches!(written.kind, ast::TableKind::Name(_)) { "" } else { "_table_function." };
            bail!(SAMPLING_NOT_SUPPORTED, "Storage {of_function}{name} doesn't support sampling")
        };
        let key = &*keys.sampling;
        let rows = table.total_rows().unwrap_or(0);
        let mut size = Fraction::of(&sample.ratio)?;
        let mut offset = sample.offset.as_ref().map_or(Ok(Fraction::ZERO), Fraction::of)?;
        if size.exceeds_one() {
            size = size.of_rows(rows)?;
        }
        // All rows are no sample.
        if size == Fraction::ONE {
            size = Fraction::ZERO;
        }
        ensure!(
            offset == Fraction::ZERO || size != Fraction::ZERO,
            ARGUMENT_OUT_OF_BOUND,
            "Sampling offset is incorrect because no sampling"
        );
        if offset.exceeds_one() {
            offset = offset.of_rows(rows)?;
        }
        if size == Fraction::ZERO {
            return Ok(Some(Sampling { condition: None, factor: 1.0 }));
        }
        let factor = size.denominator as f64 / size.numerator as f64;
        if rows == 0 {
            return Ok(Some(Sampling { condition: None, factor }));
        }
        ensure!(keys.is_in_primary(key), ILLEGAL_COLUMN, "Sampling column not in primary key");
        let mut binder = SelectBinder::without_tables(&self.query);
        binder.tables.list.push(scope.clone());
        let bound = binder.expr(&chalet_syntax::parse_expression(key)?)?;
        let universe = 1u128
            << match bound.ty() {
                DataType::UInt8 => 8,
                DataType::UInt16 => 16,
                DataType::UInt32 => 32,
                DataType::UInt64 => 64,
                other => bail!(
                    ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER,
                    "Invalid sampling column type in storage parameters: {other}. Must be one unsigned integer type"
                ),
            };
        let all = Fraction { numerator: universe, denominator: 1 };
        let (low, high) = (offset.times(all)?.floor(), offset.plus(size)?.times(all)?);
        let has_high = high.numerator < universe.checked_mul(high.denominator).ok_or_else(too_fine)?;
        let high = high.floor();
        let condition = match (low > 0, has_high) {
            (_, true) if low == high => "0".to_string(),
            (_, false) if low >= universe => "0".to_string(),
            (false, false) => return Ok(Some(Sampling { condition: None, factor })),
            (true, false) => format!("({key}) >= {low}"),
            (false, true) => format!("({key}) < {high}"),
            (true, true) => format!("({key}) >= {low} AND ({key}) < {high}"),
        };
        let condition = binder.condition(&chalet_syntax::parse_expression(&condition)?, "SAMPLE")?;
        Ok(Some(Sampling { condition: Some(condition), factor }))
    }
}
