//! `splitByRegexp`: the pieces of a string between matches of a regular expression.

use super::split::Limit;
use crate::plain::Plain;
use crate::search::{SharedRegex, compile};
use crate::string_args::{Kind, char_starts, constant_text, expect, part_lists};
use chalet_function_api::{Bound, Constants, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "splitByRegexp",
        summary: "The pieces of a string between matches of a constant regular expression, or its characters when that is empty; at most as many as the number says.",
        syntax: "splitByRegexp(pattern, s[, max])",
        examples: &[Example {
            sql: "SELECT splitByRegexp('\\\\d+', 'a12bc23de345f')",
            result: "['a','bc','de','f']",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| {
        expect(name, args, 2, &[Kind::ConstText, Kind::String, Kind::ConstInteger])?;
        let pattern = constant_text(name, args, 0)?;
        let regex = if pattern.is_empty() { None } else { Some(compile(pattern, "")?) };
        Ok(Bound::with_state(
            DataType::String.array(),
            Splitter { regex, limit: Limit::of(args.get(2), ctx) },
        ))
    },
    execute: |call| {
        let Splitter { regex, limit } = call.state()?;
        let regex = &regex.as_ref().map(SharedRegex::of_thread);
        part_lists(call, 1, |_, text, out| {
            let Some(regex) = regex else {
                let starts = char_starts(text);
                for pair in starts.windows(2) {
                    if !limit.allows(out.len()) {
                        if limit.rest {
                            out.push(pair[0]..text.len());
                        }
                        break;
                    }
                    out.push(pair[0]..pair[1]);
                }
                return Ok(());
            };
            let mut start = 0;
            while limit.allows(out.len())
                && let Some(found) = regex.find_at(text, start)
                && !found.is_empty()
            {
                out.push(start..found.start());
                start = found.end();
            }
            if limit.takes_rest(out.len()) {
                out.push(start..text.len());
            }
            Ok(())
        })
    },
};

struct Splitter {
    regex: Option<SharedRegex>,
    limit: Limit,
}
