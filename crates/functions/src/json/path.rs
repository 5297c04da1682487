//! Going into a document: keys and numbers of members, as `JSONExtract` and its kin take them.

use super::document::Element;
use chalet_base::{Result, ensure};
use chalet_columns::{Data, Vector};
use chalet_function_api::{Arg, Argument};

/// The arguments of a path.
pub struct Path<'a> {
    steps: Vec<Step<'a>>,
    any_case: bool,
}

enum Step<'a> {
    Keys { vector: &'a Vector, constant: bool },
    Numbers(Vec<i64>),
}

/// Fails unless the arguments can be a path.
pub fn check(name: &str, args: &[Argument]) -> Result<()> {
    for (index, arg) in args.iter().enumerate() {
        ensure!(
            arg.ty == chalet_types::DataType::String || arg.ty.is_narrow_integer(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The argument {} of function {name} has illegal type {}, expected a key or an index of JSON",
            index + 2,
            arg.ty
        );
    }
    Ok(())
}

impl<'a> Path<'a> {
    pub fn new(args: &'a [Arg<'a>], any_case: bool) -> Result<Path<'a>> {
        let step = |arg: &'a Arg<'a>| {
            Ok(if arg.ty.is_string() {
                Step::Keys { vector: &arg.vector, constant: arg.constant }
            } else {
                let numbers = crate::lanes::unary(arg.into(), arg.vector.len(), |x: i64| x)?;
                Step::Numbers(numbers)
            })
        };
        Ok(Path { steps: args.iter().map(step).collect::<Result<_>>()?, any_case })
    }

    /// The value at the path, and the key that it has in its object.
    pub fn find<'d>(&self, root: Element<'d>, row: usize) -> Option<(Element<'d>, &'d [u8])> {
        let mut at = (root, &b""[..]);
        for step in &self.steps {
            at = match step {
                Step::Keys { vector, constant } => {
                    let row = if *constant { 0 } else { row };
                    let key = match &vector.data {
                        Data::Str(strings) => strings.get(row),
                        Data::Fixed(fixed) => fixed.get(row),
                        _ => return None,
                    };
                    let found = at.0.members().find(|(name, _)| {
                        if self.any_case { name.eq_ignore_ascii_case(key) } else { *name == key }
                    });
                    found.map(|(name, value)| (value, name))?
                }
                Step::Numbers(numbers) => {
                    let number = numbers[if numbers.len() == 1 { 0 } else { row }];
                    let len = at.0.len()?;
                    let index = match number {
                        1.. => usize::try_from(number - 1).ok().filter(|index| *index < len)?,
                        _ => len.checked_sub(usize::try_from(number.checked_neg()?).ok()?)?,
                    };
                    let element = at.0.elements().nth(index).map(|element| (element, &b""[..]));
                    element.or_else(|| at.0.members().nth(index).map(|(name, value)| (value, name)))?
                }
            };
        }
        Some(at)
    }
}
