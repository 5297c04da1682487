//! Functions that encode or decode a text, with one shape for all alphabets.

use crate::string_args::{Kind, StringArg, expect, try_build};
use chalet_base::{Result, bail};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::DataType;

pub struct Codec {
    pub record: Record,
    pub run: Run,
}

pub enum Run {
    Encode(fn(&[u8], &mut Vec<u8>)),
    /// Appends what a text stands for, if it is one; then an error, or an empty string.
    Decode {
        decode: fn(&[u8], &mut Vec<u8>) -> Option<()>,
        or_empty: bool,
    },
}

impl ScalarFunction for &'static Codec {
    fn record(&self) -> &'static Record {
        let function: &'static Codec = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        expect(self.record.name, args, 1, &[Kind::Text])?;
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let texts = StringArg::of(call, 0)?;
        try_build(call.n_rows, |row, out| {
            let text = texts.get(row);
            let start = out.len();
            match &self.run {
                Run::Encode(encode) => encode(text, out),
                Run::Decode { decode, or_empty } => {
                    if decode(text, out).is_none() {
                        out.truncate(start);
                        if !or_empty {
                            bail!(
                                INCORRECT_DATA,
                                "Invalid {} value ({}), cannot be decoded",
                                self.record.name,
                                String::from_utf8_lossy(text)
                            );
                        }
                    }
                }
            }
            Ok(())
        })
    }
}

/// Functions of one alphabet, and their registration.
#[macro_export]
macro_rules! codecs {
    ($($name:literal $aliases:expr, $run:expr, $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[$crate::encoding::codec::Codec] = &[$($crate::encoding::codec::Codec {
            record: chalet_function_api::Record {
                name: $name,
                any_case_aliases: $aliases,
                summary: $summary,
                syntax: $syntax,
                examples: &[chalet_function_api::Example { sql: $sql, result: $result }],
                ..chalet_function_api::Record::DEFAULT
            },
            run: $run,
        }),*];

        pub fn register(registry: &mut chalet_function_api::Registry) {
            FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
        }
    };
}
