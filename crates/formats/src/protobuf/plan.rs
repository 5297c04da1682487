//! Which columns go with which fields of a message, and in which form.

use super::schema::{Field, Kind, Presence, Schema};
use chalet_base::{Result, bail, ensure};
use chalet_types::DataType;

/// A message as it is made of columns, or of the elements of a tuple.
pub struct MessagePlan {
    /// By their numbers.
    pub fields: Vec<FieldPlan>,
}

pub struct FieldPlan {
    /// With the message, for errors.
    pub name: String,
    pub number: u64,
    pub packed: bool,
    pub presence: Presence,
    /// Which of the columns, or elements, it is.
    pub columns: Vec<usize>,
    pub form: Form,
}

/// How the value of a column fills a field.
pub enum Form {
    One(Value),
    /// A repeated field of one value, the last where there are several.
    OneOfMany(Value),
    /// The elements of an array.
    Array(Value),
    /// The elements of a tuple, in a repeated field.
    Elements(Vec<Value>),
    Map(Value, Value),
    /// Several columns are the fields of one message.
    Flattened(MessagePlan),
    /// Arrays of the same length are the fields of repeated messages.
    Nested(MessagePlan),
}

pub enum Value {
    /// Nullable or not, without dictionaries.
    Scalar(DataType, Kind),
    /// A tuple.
    Message(MessagePlan),
    /// An array inside of a message that has one field.
    Wrapped(Box<FieldPlan>),
}

/// Deeper types are refused.
const MAX_DEPTH: usize = 100;

/// What makes plans.
pub struct Planner<'a> {
    pub schema: &'a Schema,
    pub is_output: bool,
}

/// Names are the same whatever their case, and with a dot for an underscore.
fn same(a: &str, b: &str) -> bool {
    let folded = |c: u8| if c == b'.' { b'_' } else { c.to_ascii_lowercase() };
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| folded(a) == folded(b))
}

/// What is behind the name of a field and a dot or an underscore.
fn below<'n>(name: &'n str, field: &str) -> Option<&'n str> {
    let (start, rest) = name.split_at_checked(field.len())?;
    let rest = rest.strip_prefix(['.', '_'])?;
    (same(start, field) && !rest.is_empty()).then_some(rest)
}

impl Planner<'_> {
    /// The plan for columns by their names. `what` are the columns, for errors.
    pub fn message(
        &self,
        message: usize,
        columns: &[(String, DataType)],
        what: &str,
        depth: usize,
    ) -> Result<MessagePlan> {
        ensure!(depth < MAX_DEPTH, BAD_ARGUMENTS, "Protobuf message is nested too deeply");
        let known = &self.schema.messages[message];
        let mut fields = Vec::new();
        for field in &known.fields {
            let position = columns.iter().position(|column| same(&column.0, &field.name));
            if let Some(column) = position {
                let (name, ty) = &columns[column];
                let form = self.form(message, field, name, ty, depth)?;
                fields.push(self.field(message, field, vec![column], form));
            } else if let Kind::Message(inner) = field.kind
                && !field.is_map
                && let Some((columns, form)) = self.flattened(inner, field, columns, depth)?
            {
                fields.push(self.field(message, field, columns, form));
            } else if field.presence == Presence::Required && self.is_output {
                bail!(
                    NO_COLUMN_SERIALIZED_TO_REQUIRED_PROTOBUF_FIELD,
                    "Field '{}.{}' is required to be set",
                    known.full_name,
                    field.name
                );
            }
        }
        if fields.is_empty() {
            let columns: Vec<&str> = columns.iter().map(|column| column.0.as_str()).collect();
            let names: Vec<&str> = known.fields.iter().map(|field| field.name.as_str()).collect();
            bail!(
                NO_COLUMNS_SERIALIZED_TO_PROTOBUF_FIELDS,
                "Not found matches between the names of the {what} ({}) and the fields ({}) of the message '{}' in the protobuf \
                 schema",
                columns.join(", "),
                names.join(", "),
                known.full_name
            );
        }
        fields.sort_by_key(|field| field.number);
        Ok(MessagePlan { fields })
    }

    fn field(&self, message: usize, field: &Field, columns: Vec<usize>, form: Form) -> FieldPlan {
        FieldPlan {
            name: format!("{}.{}", self.schema.messages[message].full_name, field.name),
            number: field.number,
            packed: field.packed,
            presence: field.presence,
            columns,
            form,
        }
    }

    /// Columns whose names begin with that of the field.
    fn flattened(
        &self,
        message: usize,
        field: &Field,
        columns: &[(String, DataType)],
        depth: usize,
    ) -> Result<Option<(Vec<usize>, Form)>> {
        let (mut positions, mut inner) = (Vec::new(), Vec::new());
        for (position, (name, ty)) in columns.iter().enumerate() {
            let Some(rest) = below(name, &field.name) else { continue };
            let ty = match ty {
                DataType::Array(element) if field.repeated => DataType::clone(element),
                _ if field.repeated => continue,
                ty => ty.clone(),
            };
            positions.push(position);
            inner.push((rest.to_string(), ty));
        }
        if positions.is_empty() {
            return Ok(None);
        }
        let plan = match self.message(message, &inner, "columns", depth + 1) {
            Ok(plan) => plan,
            // They only happen to be called so.
            Err(e) if e.code() == chalet_base::codes::NO_COLUMNS_SERIALIZED_TO_PROTOBUF_FIELDS => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        Ok(Some((positions, if field.repeated { Form::Nested(plan) } else { Form::Flattened(plan) })))
    }

    fn form(&self, message: usize, field: &Field, name: &str, ty: &DataType, depth: usize) -> Result<Form> {
        let value = |ty: &DataType| self.value(message, field, name, ty, depth + 1);
        if let (DataType::Map(key, of), true, Kind::Message(entry)) = (ty, field.is_map, field.kind) {
            let [key_field, value_field] = &self.schema.messages[entry].fields[..] else {
                bail!(LOGICAL_ERROR, "Entries of a Protobuf map are not pairs");
            };
            let key = self.value(entry, key_field, name, key, depth + 1)?;
            return Ok(Form::Map(key, self.value(entry, value_field, name, of, depth + 1)?));
        }
        Ok(match ty.without_low_cardinality() {
            DataType::Array(element) if field.repeated => Form::Array(value(element)?),
            DataType::Array(_) if !matches!(field.kind, Kind::Message(_)) => bail!(
                PROTOBUF_FIELD_NOT_REPEATED,
                "The field '{}.{}' must be repeated in the protobuf schema to match the column `{name}`",
                self.schema.messages[message].full_name,
                field.name
            ),
            DataType::Tuple(fields) if field.repeated && !matches!(field.kind, Kind::Message(_)) => {
                Form::Elements(fields.iter().map(|f| value(&f.ty)).collect::<Result<_>>()?)
            }
            ty if field.repeated => Form::OneOfMany(value(ty)?),
            ty => Form::One(value(ty)?),
        })
    }

    fn value(&self, message: usize, field: &Field, name: &str, ty: &DataType, depth: usize) -> Result<Value> {
        ensure!(depth < MAX_DEPTH, BAD_ARGUMENTS, "Protobuf message is nested too deeply");
        let incompatible = || {
            chalet_base::err!(
                DATA_TYPE_INCOMPATIBLE_WITH_PROTOBUF_FIELD,
                "The column '{name}' ({ty}) cannot be serialized to the field '{}.{}' ({}) due to their types are not compatible",
                self.schema.messages[message].full_name,
                field.name,
                self.schema.kind_name(field.kind)
            )
        };
        if let Kind::Message(inner) = field.kind {
            return match ty.bare() {
                DataType::Tuple(fields) => {
                    let known = &self.schema.messages[inner].fields;
                    // Elements without names go by their places.
                    let named = fields.iter().enumerate().map(|(i, f)| {
                        let by_place = known.get(i).map_or_else(|| (i + 1).to_string(), |k| k.name.clone());
                        (f.name.as_deref().map_or(by_place, str::to_string), f.ty.clone())
                    });
                    let named: Vec<(String, DataType)> = named.collect();
                    Ok(Value::Message(self.message(inner, &named, "tuple's elements", depth + 1)?))
                }
                DataType::Array(_) => match &self.schema.messages[inner].fields[..] {
                    [only] => {
                        let form = self.form(inner, only, name, ty, depth + 1)?;
                        Ok(Value::Wrapped(Box::new(self.field(inner, only, vec![0], form))))
                    }
                    _ => Err(incompatible()),
                },
                _ => Err(incompatible()),
            };
        }
        let is_text = matches!(field.kind, Kind::String | Kind::Bytes);
        match ty.bare() {
            DataType::Nothing
            | DataType::BFloat16
            | DataType::Time
            | DataType::Time64(_)
            | DataType::Variant(_)
            | DataType::Dynamic(_)
            | DataType::Json(_) => {
                bail!(ILLEGAL_COLUMN, "Type {} is not supported in Protobuf format", ty.bare())
            }
            DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_) => Err(incompatible()),
            DataType::Uuid | DataType::IPv6 | DataType::AggregateFunction(_) if !is_text => {
                Err(incompatible())
            }
            _ => Ok(Value::Scalar(ty.without_low_cardinality().clone(), field.kind)),
        }
    }
}
