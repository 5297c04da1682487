//! Reading messages as rows.

use super::plan::{FieldPlan, Form, MessagePlan, Value};
use super::scalar;
use super::schema::{Kind, Schema};
use super::writer::Framing;
use crate::input::{BlockReader, ReadRequest};
use crate::protobuf_wire::{self as wire, Fields, Wire};
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::builder::Values;
use chalet_columns::{Block, Builder, Column};
use chalet_text::TextSettings;
use std::sync::Arc;

pub struct ProtobufReader {
    pub bytes: Buffer,
    pub at: usize,
    pub request: ReadRequest,
    pub schema: Arc<Schema>,
    /// For all columns of the structure.
    pub plan: MessagePlan,
    pub settings: TextSettings,
    pub framing: Framing,
}

impl ProtobufReader {
    /// The next message; it moves behind it.
    fn next_message(&mut self) -> Result<Option<&[u8]>> {
        let mut rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let message = match self.framing {
            Framing::Single => std::mem::take(&mut rest),
            Framing::Lengths => {
                let cut = |_| err!(ATTEMPT_TO_READ_AFTER_EOF, "Attempt to read after eof");
                let n = wire::take_varint(&mut rest).map_err(cut)?;
                wire::take(&mut rest, n).map_err(cut)?
            }
            Framing::List => {
                if self.at == 0 {
                    // The length of the whole.
                    let n = wire::take_varint(&mut rest)?;
                    ensure!(
                        n == rest.len() as u64,
                        CANNOT_READ_ALL_DATA,
                        "Cannot read all data. Bytes read: {}. Bytes expected: {n}",
                        rest.len()
                    );
                }
                let mut fields = Fields::new(rest);
                let message = loop {
                    match fields.next()? {
                        Some((1, Wire::Bytes(message))) => break Some(message),
                        Some(_) => {}
                        None => break None,
                    }
                };
                rest = fields.rest;
                let Some(message) = message else {
                    self.at = self.bytes.len();
                    return Ok(None);
                };
                message
            }
        };
        self.at = self.bytes.len() - rest.len();
        Ok(Some(message))
    }
}

impl BlockReader for ProtobufReader {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        let types: Vec<_> = self.request.structure.iter().map(|column| column.1.clone()).collect();
        let mut builders: Vec<Builder> = types.iter().map(Builder::new).collect();
        let mut n_rows = 0;
        while n_rows < max_rows.max(1) {
            // Its own borrow ends before the row is read.
            let Some(message) = self.next_message()?.map(<[u8]>::to_vec) else { break };
            let decoder = Decoder { schema: &self.schema, settings: &self.settings };
            let mut columns: Vec<&mut Builder> = builders.iter_mut().collect();
            decoder.message(&message, &self.plan, &mut columns)?;
            n_rows += 1;
            builders.iter_mut().filter(|builder| builder.len() < n_rows).for_each(Builder::push_default);
        }
        if n_rows == 0 {
            return Ok(None);
        }
        let columns = builders.into_iter().map(|builder| Column::Flat(builder.finish())).collect::<Vec<_>>();
        let wanted = self.request.wanted.iter().map(|&index| columns[index].clone());
        Ok(Some(Block::new(wanted.collect(), n_rows)))
    }

    fn bytes_read(&self) -> u64 {
        self.at as u64
    }
}

struct Decoder<'a> {
    schema: &'a Schema,
    settings: &'a TextSettings,
}

impl Decoder<'_> {
    /// Appends a row to the columns of the plan; those that are not in it stay as they are.
    fn message(&self, bytes: &[u8], plan: &MessagePlan, columns: &mut [&mut Builder]) -> Result<()> {
        let mut found: Vec<Vec<Wire<'_>>> = vec![Vec::new(); plan.fields.len()];
        let mut fields = Fields::new(bytes);
        while let Some((number, value)) = next_field(&mut fields)? {
            if let Ok(place) = plan.fields.binary_search_by_key(&number, |field| field.number) {
                found[place].push(value);
            }
        }
        for (field, values) in plan.fields.iter().zip(&found) {
            self.field(field, values, columns)?;
        }
        Ok(())
    }

    fn field(&self, field: &FieldPlan, found: &[Wire<'_>], columns: &mut [&mut Builder]) -> Result<()> {
        match &field.form {
            Form::Flattened(plan) => {
                let whole = found.iter().filter_map(|value| value.bytes().ok()).collect::<Vec<_>>().concat();
                let n = columns[field.columns[0]].len();
                let mut own = chosen(columns, &field.columns);
                if !found.is_empty() {
                    self.message(&whole, plan, &mut own)?;
                }
                own.iter_mut().filter(|column| column.len() == n).for_each(|column| column.push_default());
                return Ok(());
            }
            Form::Nested(plan) => return self.nested(plan, found, &mut chosen(columns, &field.columns)),
            _ => {}
        }
        let column = &mut *columns[field.columns[0]];
        match &field.form {
            Form::Array(value) => {
                let Values::List(list) = &mut column.values else {
                    bail!(LOGICAL_ERROR, "An array is held as a list");
                };
                for one in self.elements(value, found)? {
                    self.value(value, one, &mut list.values, &field.name)?;
                }
                list.close();
                column.mark_valid();
            }
            Form::Map(key, value) => {
                let Values::List(list) = &mut column.values else {
                    bail!(LOGICAL_ERROR, "A map is held as a list");
                };
                for entry in found.iter().filter_map(|value| value.bytes().ok()) {
                    let Values::Struct { fields, len } = &mut list.values.values else {
                        bail!(LOGICAL_ERROR, "Entries of a map are pairs");
                    };
                    let mut parts: [Option<Wire<'_>>; 2] = [None, None];
                    let mut entry = Fields::new(entry);
                    while let Some((number, part)) = next_field(&mut entry)? {
                        if let 1 | 2 = number {
                            parts[number as usize - 1] = Some(part);
                        }
                    }
                    for ((part, plan), builder) in parts.into_iter().zip([key, value]).zip(fields) {
                        match part {
                            Some(part) => self.value(plan, part, builder, &field.name)?,
                            None => builder.push_default(),
                        }
                    }
                    *len += 1;
                }
                list.close();
                column.mark_valid();
            }
            Form::Elements(values) => {
                let elements = match values.first() {
                    Some(value) => self.elements(value, found)?,
                    None => Vec::new(),
                };
                let Values::Struct { fields, len } = &mut column.values else {
                    bail!(LOGICAL_ERROR, "A tuple is held as one");
                };
                for (i, (value, builder)) in values.iter().zip(fields).enumerate() {
                    match elements.get(i) {
                        Some(one) => self.value(value, *one, builder, &field.name)?,
                        None => builder.push_default(),
                    }
                }
                *len += 1;
                column.mark_valid();
            }
            Form::One(value) | Form::OneOfMany(value) => {
                let several = self.elements(value, found)?;
                match several.last() {
                    Some(last) => self.value(value, *last, column, &field.name)?,
                    None => column.push_default(),
                }
            }
            Form::Flattened(_) | Form::Nested(_) => {}
        }
        Ok(())
    }

    /// The values of a field, packed or not, that are of its wire type.
    fn elements<'a>(&self, value: &Value, found: &[Wire<'a>]) -> Result<Vec<Wire<'a>>> {
        let Value::Scalar(_, kind) = value else {
            return Ok(found.iter().copied().filter(|value| matches!(value, Wire::Bytes(_))).collect());
        };
        let mut elements = Vec::new();
        for &one in found {
            match (one, kind.wire_type()) {
                (Wire::Bytes(_), 2)
                | (Wire::Varint(_), 0)
                | (Wire::Fixed64(_), 1)
                | (Wire::Fixed32(_), 5) => elements.push(one),
                (Wire::Bytes(mut packed), wire_type) => {
                    while !packed.is_empty() {
                        elements.push(match wire_type {
                            0 => Wire::Varint(wire::take_varint(&mut packed)?),
                            1 => Wire::Fixed64(little_endian(wire::take(&mut packed, 8)?)),
                            _ => Wire::Fixed32(little_endian(wire::take(&mut packed, 4)?) as u32),
                        });
                    }
                }
                _ => {}
            }
        }
        Ok(elements)
    }

    fn value(&self, value: &Value, found: Wire<'_>, to: &mut Builder, name: &str) -> Result<()> {
        match value {
            Value::Scalar(ty, kind) => {
                debug_assert!(!matches!(kind, Kind::Message(_)));
                scalar::take(found, (ty, *kind), to, (self.schema, self.settings, name))
            }
            Value::Message(plan) => {
                let Values::Struct { fields, len } = &mut to.values else {
                    bail!(LOGICAL_ERROR, "A tuple is held as one");
                };
                let n = *len;
                let mut columns: Vec<&mut Builder> = fields.iter_mut().collect();
                self.message(found.bytes()?, plan, &mut columns)?;
                columns
                    .iter_mut()
                    .filter(|column| column.len() == n)
                    .for_each(|column| column.push_default());
                *len += 1;
                to.mark_valid();
                Ok(())
            }
            Value::Wrapped(field) => {
                let mut inside = Vec::new();
                let mut fields = Fields::new(found.bytes()?);
                while let Some((number, value)) = next_field(&mut fields)? {
                    if number == field.number {
                        inside.push(value);
                    }
                }
                self.field(field, &inside, &mut [to])
            }
        }
    }

    /// Messages one after the other as the elements of arrays.
    fn nested(&self, plan: &MessagePlan, found: &[Wire<'_>], columns: &mut [&mut Builder]) -> Result<()> {
        for message in found.iter().filter_map(|value| value.bytes().ok()) {
            let mut elements = Vec::with_capacity(columns.len());
            for column in columns.iter_mut() {
                let Values::List(list) = &mut column.values else {
                    bail!(LOGICAL_ERROR, "An array is held as a list");
                };
                elements.push(&mut *list.values);
            }
            let lengths: Vec<usize> = elements.iter().map(|element| element.len()).collect();
            self.message(message, plan, &mut elements)?;
            for (element, length) in elements.iter_mut().zip(lengths) {
                if element.len() == length {
                    element.push_default();
                }
            }
        }
        for column in columns {
            if let Values::List(list) = &mut column.values {
                list.close();
            }
            column.mark_valid();
        }
        Ok(())
    }
}

/// The next field; groups, which nothing of ours is, are passed over.
fn next_field<'a>(fields: &mut Fields<'a>) -> Result<Option<(u64, Wire<'a>)>> {
    const START: u64 = 3;
    const END: u64 = 4;
    let mut depth = 0u32;
    loop {
        let mut rest = fields.rest;
        if rest.is_empty() {
            ensure!(depth == 0, CANNOT_READ_ALL_DATA, "Protobuf group has no end");
            return Ok(None);
        }
        match wire::take_varint(&mut rest)? & 7 {
            START => {
                depth += 1;
                fields.rest = rest;
            }
            END if depth > 0 => {
                depth -= 1;
                fields.rest = rest;
            }
            _ if depth > 0 => _ = fields.next()?,
            _ => return fields.next(),
        }
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Some of the columns, which are different ones.
fn chosen<'a>(columns: &'a mut [&mut Builder], places: &[usize]) -> Vec<&'a mut Builder> {
    let mut chosen: Vec<(usize, &mut Builder)> = columns
        .iter_mut()
        .enumerate()
        .filter_map(|(at, column)| Some((places.iter().position(|place| *place == at)?, &mut **column)))
        .collect();
    chosen.sort_by_key(|(order, _)| *order);
    chosen.into_iter().map(|(_, column)| column).collect()
}
