//! Comparison of byte strings: String with String, and FixedString as if filled up with zeros.

use super::order::Order;
use crate::lanes::Operand;
use chalet_base::{Result, bail};
use chalet_columns::strings::{INLINE, inline_view};
use chalet_columns::{Data, Strings};
use std::cmp::Ordering;

pub fn compare(order: Order, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
    match (&a.vector.data, &b.vector.data) {
        (Data::Str(x), Data::Str(y)) => Ok(strings(order, (x, a.constant), (y, b.constant), n)),
        (Data::Fixed(x), Data::Fixed(y)) if x.width == y.width => Ok((0..n)
            .map(|row| u8::from(order.holds(Some(x.get(a.row(row)).cmp(y.get(b.row(row)))))))
            .collect()),
        _ => {
            let mut out = Vec::with_capacity(n);
            for row in 0..n {
                let ordering = zero_padded(get(a, row)?, get(b, row)?);
                out.push(u8::from(order.holds(Some(ordering))));
            }
            Ok(out)
        }
    }
}

fn get<'a>(operand: Operand<'a>, row: usize) -> Result<&'a [u8]> {
    match &operand.vector.data {
        Data::Str(strings) => Ok(strings.get(operand.row(row))),
        Data::Fixed(fixed) => Ok(fixed.get(operand.row(row))),
        _ => bail!(LOGICAL_ERROR, "{} is no string", operand.ty),
    }
}

/// Orders as if the shorter one went on with zeros.
fn zero_padded(x: &[u8], y: &[u8]) -> Ordering {
    let common = x.len().min(y.len());
    let tail = |rest: &[u8]| rest.iter().any(|&byte| byte != 0);
    x[..common].cmp(&y[..common]).then_with(|| tail(&x[common..]).cmp(&tail(&y[common..])))
}

fn strings(order: Order, a: (&Strings, bool), b: (&Strings, bool), n: usize) -> Vec<u8> {
    match order {
        Order::Equal | Order::NotEqual => {
            let wanted = order == Order::Equal;
            match (a, b) {
                ((column, false), (constant, true)) | ((constant, true), (column, false)) => {
                    equal_to(column, constant.get(0), wanted)
                }
                _ => {
                    let step = |constant: bool| usize::from(!constant);
                    let equal = |row: usize| equal_rows(a.0, row * step(a.1), b.0, row * step(b.1));
                    (0..n).map(|row| u8::from(equal(row) == wanted)).collect()
                }
            }
        }
        _ => {
            let (step_a, step_b) = (usize::from(!a.1), usize::from(!b.1));
            let ordering = |row: usize| a.0.get(row * step_a).cmp(b.0.get(row * step_b));
            (0..n).map(|row| u8::from(order.holds(Some(ordering(row))))).collect()
        }
    }
}

/// Strings of a column that equal a constant: whole views when it fits into one, else length and prefix first.
fn equal_to(column: &Strings, constant: &[u8], wanted: bool) -> Vec<u8> {
    if constant.len() <= INLINE {
        let needle = inline_view(constant);
        return column.views().iter().map(|&view| u8::from((view == needle) == wanted)).collect();
    }
    let prefix = u32::from_le_bytes([constant[0], constant[1], constant[2], constant[3]]);
    let head = u64::from(prefix) << 32 | constant.len() as u64;
    let matches = |(row, &view): (usize, &u128)| view as u64 == head && column.get(row) == constant;
    column.views().iter().enumerate().map(|view| u8::from(matches(view) == wanted)).collect()
}

#[inline]
fn equal_rows(a: &Strings, row_a: usize, b: &Strings, row_b: usize) -> bool {
    let (x, y) = (a.views()[row_a], b.views()[row_b]);
    // Length and prefix are the low half of a view.
    x as u64 == y as u64 && if x as u32 as usize <= INLINE { x == y } else { a.get(row_a) == b.get(row_b) }
}
