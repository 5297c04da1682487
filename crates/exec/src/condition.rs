//! A filter as text that is equal only for equal conditions, so that storage may remember under it what the filter found.
//!
//! Whatever the answer depends on beside the rows is in the text: functions, types, values with all their digits, the
//! sets of IN, the session's changed settings and time zone. A condition that has no such text has no entry at all.

use crate::expression::Program;
use crate::in_sets;
use chalet_columns::Block;
use chalet_function_api::{Context, Volatility};
use chalet_plan::{ColumnId, Expr, ScanNode, SetSource};
use chalet_types::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Longer conditions are not worth their place.
const MAX_BYTES: usize = 4096;

/// `None`: not to be remembered. Columns go by their names in the table.
pub(crate) fn text(filter: &Expr, scan: &ScanNode, session: &str) -> Option<Arc<str>> {
    let schema = scan.table.schema();
    let names = scan.columns.iter().map(|(index, field)| (field.id, &*schema.columns[*index].name)).collect();
    let mut writer = Writer { names, parameters: Vec::new(), out: String::new() };
    writer.expr(filter)?;
    writer.out.push_str(session);
    Some(writer.out.into())
}

/// How many rows of a block of these columns of a scan meet a condition. `None` for a condition that may answer differently another time,
/// or fails.
pub fn count_passing(
    condition: &Expr,
    scan: &ScanNode,
    columns: &[ColumnId],
    block: &Block,
    functions: &Arc<Context>,
) -> Option<usize> {
    text(condition, scan, "")?;
    in_sets::of(condition).iter().all(|set| in_sets::build_constants(set)).then_some(())?;
    let layout = columns.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let passing = Program::new(&[condition], &layout, functions).ok()?.mask(block).ok()?;
    Some(passing.count_set_bits())
}

struct Writer<'a> {
    names: Vec<(ColumnId, &'a str)>,
    /// Of the lambdas around; their numbers differ from query to query, their places do not.
    parameters: Vec<ColumnId>,
    out: String,
}

impl Writer<'_> {
    fn put(&mut self, text: std::fmt::Arguments) -> Option<()> {
        self.out.write_fmt(text).ok()?;
        (self.out.len() <= MAX_BYTES).then_some(())
    }

    fn expr(&mut self, expr: &Expr) -> Option<()> {
        match expr {
            Expr::Column(id, ty) => match self.parameters.iter().rposition(|parameter| parameter == id) {
                Some(place) => self.put(format_args!("${place}:{ty}")),
                None => {
                    let (_, name) = *self.names.iter().find(|(known, _)| known == id)?;
                    self.put(format_args!("{name:?}:{ty}"))
                }
            },
            Expr::Literal(literal) => {
                self.value(&literal.value())?;
                self.put(format_args!(":{}", literal.ty))
            }
            Expr::Call { function, args } => {
                let record = function.function.record();
                // What holds within one query only is a constant by now, if it may be one.
                (record.volatility == Volatility::Immutable).then_some(())?;
                self.put(format_args!("{}(", record.name))?;
                for arg in args {
                    self.expr(arg)?;
                    self.put(format_args!(","))?;
                }
                self.put(format_args!("):{}", function.result))
            }
            Expr::Lambda { params, body } => {
                self.put(format_args!("{}->", params.len()))?;
                let before = self.parameters.len();
                self.parameters.extend(params.iter().map(|(id, _)| *id));
                self.expr(body)?;
                self.parameters.truncate(before);
                Some(())
            }
            Expr::Subquery(_) => None,
            Expr::In(e) => {
                // The rows of a sub-query may be others next time.
                let SetSource::Block(block) = &e.set.source else { return None };
                self.put(format_args!("in[{},{},{},{:?}](", e.negated, e.null_in, e.ty, e.set.types))?;
                for needle in &e.needles {
                    self.expr(needle)?;
                    self.put(format_args!(","))?;
                }
                for row in 0..block.n_rows() {
                    self.put(format_args!(";"))?;
                    for column in block.columns() {
                        self.value(&column.value(row))?;
                        self.put(format_args!(","))?;
                    }
                }
                self.put(format_args!(")"))
            }
        }
    }

    /// The debugging form shows kind and all digits, and quotes text.
    fn value(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::Bytes(bytes) if bytes.len() > MAX_BYTES => None,
            value => self.put(format_args!("{value:?}")),
        }
    }
}
