//! `mergeTreePartInfo` and `isMergeTreePartCoveredBy`: what the names of parts of MergeTree tables say.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, expect};
use chalet_base::{Result, err};
use chalet_columns::{Builder, Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, TupleField, Value};

pub static INFO: Plain = Plain {
    record: Record {
        name: "mergeTreePartInfo",
        summary: "The partition, the blocks, the level and the mutation that the name of a part says, with what stands before and behind it.",
        syntax: "mergeTreePartInfo(part_name)",
        examples: &[Example {
            sql: "SELECT mergeTreePartInfo('202001_3_9_2_7')",
            result: "('202001','','',3,9,2,7)",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        expect(name, args, 1, &[Kind::Text])?;
        let field = |(name, ty): (&str, DataType)| TupleField { name: Some(name.into()), ty };
        let texts = ["partition_id", "prefix", "suffix"].map(|name| (name, DataType::String));
        let numbers = ["min_block", "max_block", "level", "mutation"].map(|name| (name, DataType::Int64));
        Ok(DataType::Tuple(texts.into_iter().chain(numbers).map(field).collect()).into())
    },
    execute: |call: &Call| -> Result<Column> {
        let names = StringArg::of(call, 0)?;
        let mut out = Builder::new(call.result);
        for row in 0..call.n_rows {
            let part = Part::named(names.get(row))?;
            let [partition, prefix, suffix] = [part.partition, part.prefix, part.suffix].map(Value::string);
            let numbers = part.numbers.map(Value::Int);
            out.push_value(&Value::Tuple([partition, prefix, suffix].into_iter().chain(numbers).collect()))?;
        }
        Ok(out.finish().into())
    },
};

pub static COVERED: Plain = Plain {
    record: Record {
        name: "isMergeTreePartCoveredBy",
        summary: "Whether a part holds all that another one held: of one partition, it has its blocks and is no older.",
        syntax: "isMergeTreePartCoveredBy(nested_part, covering_part)",
        examples: &[Example {
            sql: "SELECT isMergeTreePartCoveredBy('all_1_1_0', 'all_1_5_1')",
            result: "1",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        expect(name, args, 2, &[Kind::Text, Kind::Text])?;
        Ok(DataType::UInt8.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let (parts, covers) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
        let covered = |row| -> Result<u8> {
            let (part, cover) = (Part::named(parts.get(row))?, Part::named(covers.get(row))?);
            let ([least, most, level, mutation], [from, to, cover_level, cover_mutation]) =
                (part.numbers, cover.numbers);
            let newer = cover_level >= level && cover_mutation >= mutation;
            Ok(u8::from(part.partition == cover.partition && from <= least && to >= most && newer))
        };
        Ok(Vector::from((0..call.n_rows).map(covered).collect::<Result<Vec<u8>>>()?).into())
    },
};

/// `[prefix_]partition_min_max_level[_mutation][_suffix]`.
struct Part<'a> {
    partition: &'a [u8],
    prefix: &'a [u8],
    suffix: &'a [u8],
    /// The least and the greatest block, the level, the mutation.
    numbers: [i64; 4],
}

impl Part<'_> {
    fn named(name: &[u8]) -> Result<Part<'_>> {
        Part::parsed(name).ok_or_else(|| {
            err!(BAD_ARGUMENTS, "Invalid MergeTree part name: '{}'", String::from_utf8_lossy(name))
        })
    }

    fn parsed(name: &[u8]) -> Option<Part<'_>> {
        let words: Vec<&[u8]> = name.split(|byte| *byte == b'_').collect();
        let number = |word: &&[u8]| -> Option<i64> {
            let text = std::str::from_utf8(word).ok()?;
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
        };
        // The partition is the word before the first three numbers in a row.
        let first = (1..words.len().checked_sub(2)?)
            .find(|&i| words[i..i + 3].iter().all(|word| number(word).is_some()))?;
        let mut numbers = [0; 4];
        for (to, word) in numbers.iter_mut().zip(&words[first..first + 3]) {
            *to = number(word)?;
        }
        let mut next = first + 3;
        if let Some(mutation) = words.get(next).and_then(number) {
            numbers[3] = mutation;
            next += 1;
        }
        let start = |word: usize| words[..word].iter().map(|word| word.len() + 1).sum::<usize>();
        Some(Part {
            partition: words[first - 1],
            prefix: &name[..start(first - 1).saturating_sub(1)],
            suffix: name.get(start(next)..).unwrap_or_default(),
            numbers,
        })
    }
}
