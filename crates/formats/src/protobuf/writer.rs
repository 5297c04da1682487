//! Writing rows as messages.

use super::plan::{FieldPlan, Form, MessagePlan, Value};
use super::scalar;
use super::schema::{Presence, Schema};
use crate::output::{BlockWriter, Out, Statistics};
use crate::protobuf_wire::Message;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Block, Data, Vector};
use chalet_text::TextSettings;
use std::sync::Arc;

/// What stands between messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The length of each before it.
    Lengths,
    /// Nothing: there is one.
    Single,
    /// They are a repeated field of one message.
    List,
}

pub struct ProtobufWriter {
    pub schema: Arc<Schema>,
    pub plan: MessagePlan,
    pub settings: TextSettings,
    pub framing: Framing,
    pub rows: u64,
    /// The message of a list so far.
    pub list: Message,
    pub out: Out,
}

impl BlockWriter for ProtobufWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        let columns: Vec<_> = block.columns().iter().map(|column| column.flat()).collect();
        let columns: Vec<&Vector> = columns.iter().map(|column| &**column).collect();
        let encoder = Encoder { schema: &self.schema, settings: &self.settings };
        for row in 0..block.n_rows() {
            let mut message = Message::default();
            encoder.message(&mut message, &self.plan, &columns, row)?;
            match self.framing {
                Framing::Lengths => {
                    crate::binary::put_var_uint(&mut self.out.text, message.0.len() as u64);
                    self.out.text.append(&mut message.0);
                }
                Framing::Single => {
                    ensure!(
                        self.rows == 0,
                        NO_ROW_DELIMITER,
                        "The ProtobufSingle format can't be used to write multiple rows because this format doesn't have any row \
                         delimiter"
                    );
                    self.out.text.append(&mut message.0);
                }
                Framing::List => _ = self.list.message(1, &message),
            }
            self.rows += 1;
            self.out.settle()?;
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        if self.framing == Framing::List && self.rows > 0 {
            crate::binary::put_var_uint(&mut self.out.text, self.list.0.len() as u64);
            self.out.text.append(&mut self.list.0);
        }
        self.out.close()
    }

    fn writes_rows(&self) -> bool {
        self.framing == Framing::Lengths
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

struct Encoder<'a> {
    schema: &'a Schema,
    settings: &'a TextSettings,
}

impl Encoder<'_> {
    fn message(&self, out: &mut Message, plan: &MessagePlan, columns: &[&Vector], row: usize) -> Result<()> {
        plan.fields.iter().try_for_each(|field| self.field(out, field, columns, row))
    }

    fn field(&self, out: &mut Message, field: &FieldPlan, columns: &[&Vector], row: usize) -> Result<()> {
        let vector = columns[field.columns[0]];
        match &field.form {
            Form::One(value) => self.single(out, field, value, (vector, row)),
            Form::OneOfMany(value) => self.many(out, field, &mut [(value, vector, row)].into_iter()),
            Form::Array(value) => {
                let list = vector.list()?;
                let elements = list.range(row).map(|element| (value, &*list.values, element));
                self.many(out, field, &mut elements.into_iter())
            }
            Form::Elements(values) => {
                let elements = values.iter().zip(&vector.structure()?.fields);
                self.many(out, field, &mut elements.map(|(value, vector)| (value, vector, row)))
            }
            Form::Map(key, value) => {
                let list = vector.list()?;
                let pairs = list.values.structure()?;
                for entry in list.range(row) {
                    let mut message = Message::default();
                    for (number, part) in [(1, key), (2, value)] {
                        let vector = &pairs.fields[number as usize - 1];
                        if !vector.is_null(entry) {
                            self.value(&mut message, number, part, (vector, entry), (&field.name, false))?;
                        }
                    }
                    out.message(field.number, &message);
                }
                Ok(())
            }
            Form::Flattened(plan) => {
                let own: Vec<&Vector> = field.columns.iter().map(|column| columns[*column]).collect();
                let mut message = Message::default();
                self.message(&mut message, plan, &own, row)?;
                if !message.0.is_empty() || field.presence == Presence::Required {
                    out.message(field.number, &message);
                }
                Ok(())
            }
            Form::Nested(plan) => self.nested(out, field, plan, columns, row),
        }
    }

    fn nested(
        &self,
        out: &mut Message,
        field: &FieldPlan,
        plan: &MessagePlan,
        columns: &[&Vector],
        row: usize,
    ) -> Result<()> {
        let lists = field.columns.iter().map(|column| columns[*column].list()).collect::<Result<Vec<_>>>()?;
        let ranges: Vec<_> = lists.iter().map(|list| list.range(row)).collect();
        let Some(n) = ranges.first().map(ExactSizeIterator::len) else { return Ok(()) };
        ensure!(
            ranges.iter().all(|range| range.len() == n),
            SIZES_OF_ARRAYS_DONT_MATCH,
            "Components of field '{}' have different sizes",
            field.name
        );
        for element in 0..n {
            // The arrays begin in different places.
            let values: Vec<Vector> = lists
                .iter()
                .zip(&ranges)
                .map(|(list, range)| list.values.slice(range.start + element, 1))
                .collect();
            let values: Vec<&Vector> = values.iter().collect();
            let mut message = Message::default();
            self.message(&mut message, plan, &values, 0)?;
            out.message(field.number, &message);
        }
        Ok(())
    }

    fn single(
        &self,
        out: &mut Message,
        field: &FieldPlan,
        value: &Value,
        (vector, row): (&Vector, usize),
    ) -> Result<()> {
        if vector.is_null(row) {
            return Ok(());
        }
        let skips_default = field.presence == Presence::Implicit;
        self.value(out, field.number, value, (vector, row), (&field.name, skips_default))
    }

    /// A field with its tag, left out where it may be and is the default.
    fn value(
        &self,
        out: &mut Message,
        number: u64,
        value: &Value,
        (vector, row): (&Vector, usize),
        (name, skips_default): (&str, bool),
    ) -> Result<()> {
        match value {
            Value::Scalar(ty, kind) => {
                let mut bytes = Message::default();
                let context = (self.schema, self.settings, name);
                let is_default = scalar::put(&mut bytes, (ty, *kind), (vector, row), context)?;
                if is_default && skips_default {
                    return Ok(());
                }
                match kind.wire_type() {
                    2 => _ = out.message(number, &bytes),
                    wire_type => {
                        out.tag(number, wire_type);
                        out.0.append(&mut bytes.0);
                    }
                }
            }
            Value::Message(plan) => {
                let fields: Vec<&Vector> = vector.structure()?.fields.iter().collect();
                let mut message = Message::default();
                self.message(&mut message, plan, &fields, row)?;
                out.message(number, &message);
            }
            Value::Wrapped(field) => {
                let mut message = Message::default();
                self.field(&mut message, field, &[vector], row)?;
                out.message(number, &message);
            }
        }
        Ok(())
    }

    fn many(
        &self,
        out: &mut Message,
        field: &FieldPlan,
        elements: &mut dyn Iterator<Item = (&Value, &Vector, usize)>,
    ) -> Result<()> {
        let mut packed = Message::default();
        for (value, vector, row) in elements {
            match value {
                Value::Scalar(ty, kind) if field.packed => {
                    if matches!(vector.data, Data::Nothing(_)) {
                        bail!(ILLEGAL_COLUMN, "Type {ty} is not supported in Protobuf format");
                    }
                    let context = (self.schema, self.settings, &*field.name);
                    scalar::put(&mut packed, (ty, *kind), (vector, row), context)?;
                }
                value => self.value(out, field.number, value, (vector, row), (&field.name, false))?,
            }
        }
        if !packed.0.is_empty() {
            out.message(field.number, &packed);
        }
        Ok(())
    }
}
