//! Loops over numbers of any types: operands are converted to the type of the computation in runs that stay in
//! the first-level cache, so that a kernel is compiled once per type of computation and not once per pair of types.

use crate::number::{Integer, Number};
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, err};
use chalet_columns::{Native, Vector};
use chalet_function_api::{Arg, Call};
use chalet_types::DataType;

/// Values in a run; three runs of 8-byte values fill 24 KiB.
pub const RUN: usize = 1024;

/// One operand: a vector of one row when constant, else of one per row.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    pub ty: &'a DataType,
    pub vector: &'a Vector,
    pub constant: bool,
}

impl<'a> From<&'a Arg<'_>> for Operand<'a> {
    fn from(arg: &'a Arg<'_>) -> Self {
        Operand { ty: arg.ty, vector: &arg.vector, constant: arg.constant }
    }
}

impl<'a> Operand<'a> {
    pub fn of(call: &'a Call, index: usize) -> Operand<'a> {
        Operand::from(&call.args[index])
    }

    /// The row of the vector that holds the value of a row of the block.
    #[inline(always)]
    pub fn row(&self, row: usize) -> usize {
        if self.constant { 0 } else { row }
    }
}

/// An operand as runs of `C`.
pub struct Lane<'a, C> {
    operand: Operand<'a>,
    /// The values when they need no conversion.
    same: Option<&'a [C]>,
    scratch: Box<[C]>,
}

impl<'a, C: Number> Lane<'a, C> {
    pub fn new(operand: Operand<'a>, n_rows: usize) -> Result<Self> {
        let same = C::unwrap(&operand.vector.data).filter(|_| !operand.constant).map(|buf| &buf[..]);
        let mut scratch = Vec::new();
        if same.is_none() {
            scratch.resize(RUN.min(n_rows), C::default());
        }
        let mut ok = true;
        if operand.constant {
            let mut value = [C::default()];
            ok = C::fill(&operand.vector.data, 0, &mut value);
            scratch.fill(value[0]);
        } else if same.is_none() {
            ok = C::fill(&operand.vector.data, 0, &mut []);
        }
        if !ok {
            return Err(err!(LOGICAL_ERROR, "Operand of type {} is not a number", operand.ty));
        }
        Ok(Lane { operand, same, scratch: scratch.into() })
    }

    /// The values of the rows from `start` on, at most [`RUN`] of them.
    #[inline]
    pub fn run(&mut self, start: usize, len: usize) -> &[C] {
        if let Some(values) = self.same {
            return &values[start..start + len];
        }
        let out = &mut self.scratch[..len];
        if !self.operand.constant {
            C::fill(&self.operand.vector.data, start, out);
        }
        out
    }
}

/// Starts and lengths of the runs of `n` rows.
fn runs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).step_by(RUN).map(move |start| (start, RUN.min(n - start)))
}

pub fn unary<C: Number, R: Native>(a: Operand, n: usize, f: impl Fn(C) -> R) -> Result<Vec<R>> {
    let is_constant = a.constant && n > 0;
    let mut a = Lane::<C>::new(a, n)?;
    if is_constant {
        return Ok(vec![f(a.run(0, 1)[0]); n]);
    }
    let mut out = Vec::with_capacity(n);
    for (start, len) in runs(n) {
        out.extend(a.run(start, len).iter().map(|&x| f(x)));
    }
    Ok(out)
}

pub fn try_unary<C: Number, R: Native>(a: Operand, n: usize, f: impl Fn(C) -> Result<R>) -> Result<Vec<R>> {
    let mut a = Lane::<C>::new(a, n)?;
    let mut out = Vec::with_capacity(n);
    for (start, len) in runs(n) {
        for &x in a.run(start, len) {
            out.push(f(x)?);
        }
    }
    Ok(out)
}

pub fn binary<C: Number, R: Native>(
    a: Operand,
    b: Operand,
    n: usize,
    f: impl Fn(C, C) -> R,
) -> Result<Vec<R>> {
    let (mut a, mut b) = (Lane::<C>::new(a, n)?, Lane::<C>::new(b, n)?);
    let mut out = Vec::with_capacity(n);
    for (start, len) in runs(n) {
        let (x, y) = (a.run(start, len), b.run(start, len));
        out.extend(x.iter().zip(y).map(|(&x, &y)| f(x, y)));
    }
    Ok(out)
}

/// Results and marks: those of all rows are put together with OR.
pub fn marked<C: Integer>(
    a: Operand,
    b: Operand,
    n: usize,
    f: impl Fn(C, C) -> (C, C),
) -> Result<(Vec<C>, C)> {
    let (mut a, mut b) = (Lane::<C>::new(a, n)?, Lane::<C>::new(b, n)?);
    let (mut out, mut marks) = (Vec::with_capacity(n), C::ZERO);
    for (start, len) in runs(n) {
        let (x, y) = (a.run(start, len), b.run(start, len));
        dispatch_simd(|| {
            out.extend(x.iter().zip(y).map(|(&x, &y)| {
                let (value, mark) = f(x, y);
                marks = marks.bit_or(mark);
                value
            }));
        });
    }
    Ok((out, marks))
}

/// 1 where `f` holds, else 0.
pub fn predicate<C: Number>(a: Operand, b: Operand, n: usize, f: impl Fn(C, C) -> bool) -> Result<Vec<u8>> {
    let (mut a, mut b) = (Lane::<C>::new(a, n)?, Lane::<C>::new(b, n)?);
    let mut out = Vec::with_capacity(n);
    for (start, len) in runs(n) {
        let (x, y) = (a.run(start, len), b.run(start, len));
        // As many at once as fill a register with answers: one by one, the loop makes no more than it has values of 8 bytes.
        let ((xs, x), (ys, y)) = (x.as_chunks::<32>(), y.as_chunks::<32>());
        dispatch_simd(|| {
            for (x, y) in xs.iter().zip(ys) {
                let answers: [u8; 32] = std::array::from_fn(|i| u8::from(f(x[i], y[i])));
                out.extend_from_slice(&answers);
            }
            out.extend(x.iter().zip(y).map(|(&x, &y)| u8::from(f(x, y))));
        });
    }
    Ok(out)
}

pub fn try_binary<A: Number, B: Number, R: Native>(
    a: Operand,
    b: Operand,
    n: usize,
    f: impl Fn(A, B) -> Result<R>,
) -> Result<Vec<R>> {
    let (mut a, mut b) = (Lane::<A>::new(a, n)?, Lane::<B>::new(b, n)?);
    let mut out = Vec::with_capacity(n);
    for (start, len) in runs(n) {
        let (x, y) = (a.run(start, len), b.run(start, len));
        for (&x, &y) in x.iter().zip(y) {
            out.push(f(x, y)?);
        }
    }
    Ok(out)
}
