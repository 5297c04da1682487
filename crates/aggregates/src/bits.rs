//! `groupBitAnd`, `groupBitOr`, `groupBitXor`: integers combined bit by bit.

use crate::check::{illegal_type, no_parameters, one_argument};
use chalet_base::Result;
use chalet_columns::wire::take;
use chalet_columns::{Buf, Native, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, I256, Physical, U256, Value};
use std::any::Any;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, BitXor, Not, Range};
use std::sync::Arc;

const AND: AggregateRecord = AggregateRecord {
    name: "groupBitAnd",
    any_case_aliases: &["BIT_AND"],
    summary: "Bitwise AND of integers; all bits set of no rows.",
    syntax: "groupBitAnd(x)",
    examples: &[Example { sql: "SELECT groupBitAnd(number + 4) FROM numbers(3)", result: "4" }],
    ..AggregateRecord::DEFAULT
};

const OR: AggregateRecord = AggregateRecord {
    name: "groupBitOr",
    any_case_aliases: &["BIT_OR"],
    summary: "Bitwise OR of integers.",
    syntax: "groupBitOr(x)",
    examples: &[Example { sql: "SELECT groupBitOr(number + 4) FROM numbers(3)", result: "7" }],
    ..AggregateRecord::DEFAULT
};

const XOR: AggregateRecord = AggregateRecord {
    name: "groupBitXor",
    any_case_aliases: &["BIT_XOR"],
    summary: "Bitwise XOR of integers.",
    syntax: "groupBitXor(x)",
    examples: &[Example { sql: "SELECT groupBitXor(number + 4) FROM numbers(3)", result: "7" }],
    ..AggregateRecord::DEFAULT
};

pub struct GroupBits {
    record: &'static AggregateRecord,
    op: Op,
}

#[derive(Clone, Copy)]
enum Op {
    And,
    Or,
    Xor,
}

impl GroupBits {
    pub const ALL: [GroupBits; 3] = [
        GroupBits { record: &AND, op: Op::And },
        GroupBits { record: &OR, op: Op::Or },
        GroupBits { record: &XOR, op: Op::Xor },
    ];
}

impl AggregateFunction for GroupBits {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        no_parameters(name, parameters)?;
        one_argument(name, args)?;
        let ty = match &args[0].ty {
            DataType::Bool => DataType::UInt8,
            ty if ty.is_integer() => ty.clone(),
            ty => return Err(illegal_type(name, ty)),
        };
        fn bound<T: Bits>(op: Op, ty: DataType) -> Arc<dyn Aggregate> {
            Arc::new(Bound::<T> { op, ty, bits: PhantomData })
        }
        Ok(match ty.physical() {
            Physical::U8 => bound::<u8>(self.op, ty),
            Physical::U16 => bound::<u16>(self.op, ty),
            Physical::U32 => bound::<u32>(self.op, ty),
            Physical::U64 => bound::<u64>(self.op, ty),
            Physical::U128 => bound::<u128>(self.op, ty),
            Physical::U256 => bound::<U256>(self.op, ty),
            Physical::I8 => bound::<i8>(self.op, ty),
            Physical::I16 => bound::<i16>(self.op, ty),
            Physical::I32 => bound::<i32>(self.op, ty),
            Physical::I128 => bound::<i128>(self.op, ty),
            Physical::I256 => bound::<I256>(self.op, ty),
            _ => bound::<i64>(self.op, ty),
        })
    }
}

trait Bits:
    Native + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

impl<T> Bits for T where
    T: Native + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T> + Not<Output = T>
{
}

struct Bound<T> {
    op: Op,
    ty: DataType,
    bits: PhantomData<T>,
}

impl<T: Bits> Aggregate for Bound<T> {
    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Words::<T> { op: self.op, words: Vec::new() })
    }
}

/// The argument's own width per group.
struct Words<T> {
    op: Op,
    words: Vec<T>,
}

impl<T: Bits> Words<T> {
    #[inline(always)]
    fn join(op: Op, a: T, b: T) -> T {
        match op {
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
        }
    }

    fn empty(&self) -> T {
        match self.op {
            Op::And => !T::default(),
            _ => T::default(),
        }
    }
}

impl<T: Bits> States for Words<T> {
    fn grow(&mut self, n: usize) {
        if self.words.len() < n {
            self.words.resize(n, self.empty());
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let op = self.op;
        let word = &mut self.words[group];
        *word = args[0].values::<T>()?[rows].iter().fold(*word, |a, &b| Self::join(op, a, b));
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        for (&x, &group) in args[0].values::<T>()?.iter().zip(groups) {
            let word = &mut self.words[group as usize];
            *word = Self::join(self.op, *word, x);
        }
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            let word = &mut self.words[into as usize];
            *word = Self::join(self.op, *word, other.words[from as usize]);
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(Buf::from_vec(vec![self.words[group]]).as_bytes());
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let bytes = take(bytes, size_of::<T>())?;
        let word: Buf<T> = Buf::from_arrow(Buf::from_vec(bytes.to_vec()).to_arrow());
        self.words[group] = Self::join(self.op, self.words[group], word[0]);
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        Ok(self.words[..n].to_vec().into())
    }

    fn running(&mut self, args: &[Vector], mut from: usize, ends: &[usize]) -> Result<Vector> {
        let (values, op) = (args[0].values::<T>()?, self.op);
        let word = &mut self.words[0];
        let words = ends.iter().map(|&end| {
            *word = values[from..end].iter().fold(*word, |a, &b| Self::join(op, a, b));
            from = end;
            *word
        });
        Ok(words.collect::<Vec<T>>().into())
    }

    fn memory(&self) -> usize {
        self.words.capacity() * size_of::<T>()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
