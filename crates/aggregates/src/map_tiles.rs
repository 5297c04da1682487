//! `MVTEncode`: a layer of a Mapbox Vector Tile, one feature for each row. The format is version 2 of its specification.

use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_bytes, put_len, take_bytes, take_count, take_len};
use chalet_columns::{Builder, Data, Vector, variant};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::{DataType, Geometry, TupleField, Value};
use std::collections::HashMap;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "MVTEncode",
    summary: "The bytes of a layer of a Mapbox Vector Tile whose features are the geometries, in pixels of the tile, with the elements of a named tuple as attributes.",
    syntax: "MVTEncode(layer_name[, extent[, feature_id_name[, stringify_unsupported]]])(geometry[, properties])",
    examples: &[Example {
        sql: "SELECT hex(MVTEncode('points')((1., 2.)::Point::Geometry))",
        result: "1A1878020A06706F696E74731209180112002203090204288020",
    }],
    nulls: AggregateNulls::Seen,
    ..AggregateRecord::DEFAULT
};

pub struct MvtEncode;

const NAME: &str = RECORD.name;

impl AggregateFunction for MvtEncode {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let [layer, rest @ ..] = parameters else {
            bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Aggregate function {NAME} requires a layer name parameter, e.g. {NAME}('layer')(geometry, properties)"
            );
        };
        ensure!(
            rest.len() <= 3,
            TOO_MANY_ARGUMENTS_FOR_FUNCTION,
            "Aggregate function {NAME} accepts at most 4 parameters (layer_name[, extent[, feature_id_name[, \
             stringify_unsupported]]]), got {}",
            parameters.len()
        );
        let Some(layer) = layer.as_bytes() else {
            bail!(
                BAD_ARGUMENTS,
                "The first parameter (layer_name) of aggregate function {NAME} must be a string"
            );
        };
        let extent = extent(rest.first())?;
        ensure!(
            (1..=2).contains(&args.len()),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {NAME} requires one or two arguments, got {}",
            args.len()
        );
        ensure!(
            args[0].ty.geometry() == Some(Geometry::Any),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The geometry (first) argument of aggregate function {NAME} must be of type Geometry (e.g. the result of MVTEncodeGeom), \
             got {}",
            args[0].ty
        );
        let id = match rest.get(1).map(Value::as_str) {
            None => None,
            Some(Some(name)) => Some(name).filter(|name| !name.is_empty()),
            Some(None) => {
                bail!(
                    BAD_ARGUMENTS,
                    "The third parameter (feature_id_name) of aggregate function {NAME} must be a string"
                )
            }
        };
        let stringify = match rest.get(2).map(Value::as_u64) {
            None => false,
            Some(Some(flag)) => flag != 0,
            Some(None) => bail!(
                BAD_ARGUMENTS,
                "The fourth parameter (stringify_unsupported) of aggregate function {NAME} must be an unsigned integer"
            ),
        };
        let properties = Properties::of(args.get(1), id, stringify)?;
        Ok(EachState::of(Layer { name: layer.to_vec(), extent, properties }))
    }
}

fn extent(parameter: Option<&Value>) -> Result<u64> {
    let Some(parameter) = parameter else { return Ok(4096) };
    let Some(extent) = parameter.as_u64() else {
        bail!(
            BAD_ARGUMENTS,
            "The second parameter (extent) of aggregate function {NAME} must be a positive integer"
        );
    };
    ensure!(
        (1..=i32::MAX as u64).contains(&extent),
        BAD_ARGUMENTS,
        "The second parameter (extent) of aggregate function {NAME} must be in the range [1, {}], got {extent}",
        i32::MAX
    );
    Ok(extent)
}

/// What the second argument brings to features.
#[derive(Default)]
struct Properties {
    fields: Vec<TupleField>,
    /// The field that is the number of a feature.
    id: Option<usize>,
}

impl Properties {
    fn of(arg: Option<&Argument>, id: Option<&str>, stringify: bool) -> Result<Properties> {
        let Some(arg) = arg else {
            ensure!(
                id.is_none(),
                BAD_ARGUMENTS,
                "The feature_id_name parameter of aggregate function {NAME} requires a properties tuple to name the id element from"
            );
            return Ok(Properties::default());
        };
        let DataType::Tuple(fields) = &arg.ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "The properties (second) argument of aggregate function {NAME} must be a named tuple"
            );
        };
        ensure!(
            fields.iter().all(|field| field.name.is_some()),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The properties (second) argument of aggregate function {NAME} must be a named tuple; its element names become the vector \
             tile feature attribute keys"
        );
        let id = match id {
            None => None,
            Some(id) => {
                let Some(at) = fields.iter().position(|field| field.name.as_deref() == Some(id)) else {
                    bail!(
                        BAD_ARGUMENTS,
                        "The feature_id_name '{id}' of aggregate function {NAME} is not an element of the properties tuple"
                    );
                };
                let ty = fields[at].ty.bare();
                ensure!(
                    kind(ty) == Some(Kind::Unsigned) && ty.is_unsigned(),
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "The feature id element '{id}' of aggregate function {NAME} must be an unsigned integer type, got {ty}"
                );
                Some(at)
            }
        };
        for (at, field) in fields.iter().enumerate() {
            ensure!(
                stringify || Some(at) == id || kind(field.ty.bare()).is_some(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Property of type {} is not supported by aggregate function {NAME}. Supported types are String, FixedString, Bool, \
                 Float32, Float64, BFloat16, (U)Int8/16/32/64, Date, Date32 and DateTime (optionally Nullable and/or LowCardinality)",
                field.ty
            );
        }
        Ok(Properties { fields: fields.to_vec(), id })
    }
}

/// How the format writes values of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Bool,
    Unsigned,
    Signed,
    Single,
    Double,
}

fn kind(ty: &DataType) -> Option<Kind> {
    use DataType::*;
    Some(match ty {
        String | FixedString(_) => Kind::Text,
        Bool => Kind::Bool,
        UInt8 | UInt16 | UInt32 | UInt64 | Date | DateTime(_) => Kind::Unsigned,
        Int8 | Int16 | Int32 | Int64 | Date32 => Kind::Signed,
        Float32 | BFloat16 => Kind::Single,
        Float64 => Kind::Double,
        _ => return None,
    })
}

/// A message of protocol buffers as it is written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, field: usize, value: u64) {
        put_len(field << 3, &mut self.0);
        put_var(value, &mut self.0);
    }

    fn bytes(&mut self, field: usize, value: &[u8]) {
        put_len(field << 3 | 2, &mut self.0);
        put_bytes(value, &mut self.0);
    }
}

fn put_var(mut value: u64, out: &mut Vec<u8>) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

struct Layer {
    name: Vec<u8>,
    extent: u64,
    properties: Properties,
}

/// A feature without the numbers of its attributes, which the layer gives.
struct Feature {
    id: Option<u64>,
    /// Of each attribute: the number of its key and its value as the format has it.
    attributes: Vec<(usize, Vec<u8>)>,
    shape: u8,
    commands: Vec<u8>,
}

/// The arguments of a block.
struct Rows<'a> {
    /// The group of each row and its place there; none of NULL.
    places: Vec<Option<(usize, usize)>>,
    groups: Vec<variant::Group>,
    properties: Option<&'a Vector>,
}

impl RowAggregate for Layer {
    type State = Vec<Feature>;
    type Input<'a> = Rows<'a>;

    fn result_type(&self) -> DataType {
        DataType::String
    }

    fn empty(&self) -> Vec<Feature> {
        Vec::new()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Rows<'a>> {
        let groups = variant::groups(&args[0], &Geometry::Any.data_type())?;
        let mut places = vec![None; args[0].len()];
        for (number, group) in groups.iter().enumerate() {
            for (at, row) in group.rows.iter().enumerate() {
                places[*row as usize] = Some((number, at));
            }
        }
        Ok(Rows { places, groups, properties: args.get(1) })
    }

    fn add(&self, state: &mut Vec<Feature>, rows: &Rows, row: usize) -> Result<()> {
        let Some((number, at)) = rows.places[row] else { return Ok(()) };
        let group = &rows.groups[number];
        let Some(geometry) = group.ty.geometry() else {
            bail!(LOGICAL_ERROR, "{} is no geometry", group.ty);
        };
        let mut pen = Pen::default();
        let shape = pen.draw(geometry, &points(&group.values, at, geometry.depth().unwrap_or(0))?)?;
        if pen.commands.is_empty() {
            return Ok(());
        }
        let (mut id, mut attributes) = (None, Vec::new());
        if let Some(properties) = rows.properties {
            let mut key = 0;
            for (index, (field, values)) in
                self.properties.fields.iter().zip(&properties.structure()?.fields).enumerate()
            {
                let is_null = values.is_null(row);
                if self.properties.id == Some(index) {
                    id = if is_null { None } else { values.value(row).as_u64() };
                    continue;
                }
                if !is_null {
                    attributes.push((key, encoded(values, row, field.ty.bare())?));
                }
                key += 1;
            }
        }
        state.push(Feature { id, attributes, shape, commands: pen.commands });
        Ok(())
    }

    fn merge(&self, state: &mut Vec<Feature>, other: Vec<Feature>) -> Result<()> {
        state.extend(other);
        Ok(())
    }

    fn serialise(&self, state: &Vec<Feature>, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        for feature in state {
            out.push(u8::from(feature.id.is_some()));
            out.extend_from_slice(&feature.id.unwrap_or(0).to_le_bytes());
            put_len(feature.attributes.len(), out);
            for (key, value) in &feature.attributes {
                put_len(*key, out);
                put_bytes(value, out);
            }
            out.push(feature.shape);
            put_bytes(&feature.commands, out);
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Vec<Feature>> {
        use chalet_columns::wire::{take_u8, take_u64};
        let n_features = take_count(bytes, 12)?;
        let mut features = Vec::with_capacity(n_features);
        for _ in 0..n_features {
            let has_id = take_u8(bytes)? != 0;
            let id = Some(take_u64(bytes)?).filter(|_| has_id);
            let n_attributes = take_count(bytes, 2)?;
            let mut attributes = Vec::with_capacity(n_attributes);
            for _ in 0..n_attributes {
                attributes.push((take_len(bytes)?, take_bytes(bytes)?.to_vec()));
            }
            let shape = take_u8(bytes)?;
            features.push(Feature { id, attributes, shape, commands: take_bytes(bytes)?.to_vec() });
        }
        Ok(features)
    }

    fn finish(&self, state: &mut Vec<Feature>, out: &mut Builder) -> Result<()> {
        let tile = if state.is_empty() { Vec::new() } else { self.tile(state) };
        out.push_value(&Value::Bytes(tile.into()))
    }

    fn heap_memory(&self, state: &Vec<Feature>) -> usize {
        let of = |feature: &Feature| {
            let attributes =
                feature.attributes.iter().map(|(_, value)| value.capacity() + size_of::<(usize, Vec<u8>)>());
            feature.commands.capacity() + attributes.sum::<usize>() + size_of::<Feature>()
        };
        state.iter().map(of).sum()
    }
}

impl Layer {
    fn tile(&self, features: &[Feature]) -> Vec<u8> {
        const VERSION: u64 = 2;
        let mut layer = Message::default();
        layer.number(15, VERSION);
        layer.bytes(1, &self.name);
        // Equal values are there once.
        let mut numbers: HashMap<&[u8], usize> = HashMap::new();
        let mut values: Vec<&[u8]> = Vec::new();
        for feature in features {
            let mut message = Message::default();
            if let Some(id) = feature.id {
                message.number(1, id);
            }
            let mut tags = Vec::new();
            for (key, value) in &feature.attributes {
                let number = *numbers.entry(value).or_insert_with(|| {
                    values.push(value);
                    values.len() - 1
                });
                put_len(*key, &mut tags);
                put_len(number, &mut tags);
            }
            message.number(3, u64::from(feature.shape));
            message.bytes(2, &tags);
            message.bytes(4, &feature.commands);
            layer.bytes(2, &message.0);
        }
        let keys =
            self.properties.fields.iter().enumerate().filter(|(at, _)| Some(*at) != self.properties.id);
        for (_, field) in keys {
            layer.bytes(3, field.name.as_deref().unwrap_or_default().as_bytes());
        }
        values.iter().for_each(|value| layer.bytes(4, value));
        layer.number(5, self.extent);
        let mut tile = Message::default();
        tile.bytes(3, &layer.0);
        tile.0
    }
}

/// The value of a field as the format has it.
fn encoded(values: &Vector, row: usize, ty: &DataType) -> Result<Vec<u8>> {
    let mut message = Message::default();
    let Some(kind) = kind(ty) else {
        let mut text = Vec::new();
        Writer::new(ty, Style::Escaped, &TextSettings::default()).write(&mut text, values, row);
        message.bytes(1, &text);
        return Ok(message.0);
    };
    match (kind, &values.data) {
        (Kind::Text, Data::Str(strings)) => message.bytes(1, strings.get(row)),
        (Kind::Text, Data::Fixed(fixed)) => {
            let bytes = fixed.get(row);
            let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
            message.bytes(1, &bytes[..end]);
        }
        (Kind::Single, Data::F32(numbers)) => single(&mut message, numbers[row]),
        (Kind::Single, Data::BF16(numbers)) => single(&mut message, numbers[row].to_f32()),
        (Kind::Double, Data::F64(numbers)) => {
            message.0.push(3 << 3 | 1);
            message.0.extend_from_slice(&numbers[row].to_le_bytes());
        }
        (Kind::Bool, Data::U8(numbers)) => message.number(7, u64::from(numbers[row] != 0)),
        (_, Data::U8(numbers)) => message.number(5, numbers[row].into()),
        (_, Data::U16(numbers)) => message.number(5, numbers[row].into()),
        (_, Data::U32(numbers)) => message.number(5, numbers[row].into()),
        (_, Data::U64(numbers)) => message.number(5, numbers[row]),
        (_, Data::I8(numbers)) => message.number(6, zigzag(numbers[row].into())),
        (_, Data::I16(numbers)) => message.number(6, zigzag(numbers[row].into())),
        (_, Data::I32(numbers)) => message.number(6, zigzag(numbers[row].into())),
        (_, Data::I64(numbers)) => message.number(6, zigzag(numbers[row])),
        _ => bail!(LOGICAL_ERROR, "A property of type {ty} is held otherwise"),
    }
    Ok(message.0)
}

fn single(message: &mut Message, value: f32) {
    message.0.push(2 << 3 | 5);
    message.0.extend_from_slice(&value.to_le_bytes());
}

type Point = (f64, f64);

/// The points of a row's geometry in lists in lists, as many of them as there are.
fn points(values: &Vector, row: usize, depth: usize) -> Result<Vec<Vec<Vec<Point>>>> {
    if depth == 0 {
        let fields = &values.structure()?.fields;
        let (x, y) = (fields[0].values::<f64>()?, fields[1].values::<f64>()?);
        return Ok(vec![vec![vec![(x[row], y[row])]]]);
    }
    let list = values.list()?;
    let inner = list.range(row).map(|at| points(&list.values, at, depth - 1));
    let inner = inner.collect::<Result<Vec<_>>>()?;
    Ok(match depth {
        1 => vec![vec![inner.into_iter().flatten().flatten().flatten().collect()]],
        2 => vec![inner.into_iter().flatten().flatten().collect()],
        _ => inner.into_iter().flatten().collect(),
    })
}

type Pixel = (i64, i64);

/// Writes the commands of a geometry: each place relative to the one before.
#[derive(Default)]
struct Pen {
    commands: Vec<u8>,
    at: Pixel,
}

const MOVE: u64 = 1;
const LINE: u64 = 2;
const CLOSE: u64 = 7;

impl Pen {
    /// The number that the format has for the kind of the geometry.
    fn draw(&mut self, geometry: Geometry, parts: &[Vec<Vec<Point>>]) -> Result<u8> {
        let lists = || parts.iter().flatten();
        Ok(match geometry {
            Geometry::Point | Geometry::MultiPoint => {
                let places = lists().flatten().map(pixel).collect::<Result<Vec<Pixel>>>()?;
                ensure!(
                    !places.is_empty(),
                    BAD_ARGUMENTS,
                    "Aggregate function {NAME} received an empty MultiPoint"
                );
                self.command(MOVE, &places);
                1
            }
            Geometry::LineString | Geometry::MultiLineString => {
                for line in lists() {
                    if let [first, rest @ ..] = &pixels(line)?[..]
                        && !rest.is_empty()
                    {
                        self.command(MOVE, &[*first]);
                        self.command(LINE, rest);
                    }
                }
                2
            }
            _ => {
                for rings in parts {
                    for (number, ring) in rings.iter().enumerate() {
                        // Without its boundary a polygon has no holes either.
                        if !self.ring(pixels(ring)?, number == 0) && number == 0 {
                            break;
                        }
                    }
                }
                3
            }
        })
    }

    fn command(&mut self, command: u64, places: &[Pixel]) {
        put_var((places.len() as u64) << 3 | command, &mut self.commands);
        for place in places {
            put_var(zigzag(place.0 - self.at.0), &mut self.commands);
            put_var(zigzag(place.1 - self.at.1), &mut self.commands);
            self.at = *place;
        }
    }

    /// Outer rings run so that their area is positive where the second axis points down, holes the other way round.
    fn ring(&mut self, mut places: Vec<Pixel>, outer: bool) -> bool {
        if places.len() > 1 && places.first() == places.last() {
            places.pop();
        }
        let next = places.iter().cycle().skip(1);
        let area =
            |(a, b): (&Pixel, &Pixel)| i128::from(a.0) * i128::from(b.1) - i128::from(b.0) * i128::from(a.1);
        let area: i128 = places.iter().zip(next).map(area).sum();
        if places.len() < 3 || area == 0 {
            return false;
        }
        if outer != (area > 0) {
            places.reverse();
        }
        self.command(MOVE, &places[..1]);
        self.command(LINE, &places[1..]);
        put_var(1 << 3 | CLOSE, &mut self.commands);
        true
    }
}

fn pixel(&(x, y): &Point) -> Result<Pixel> {
    let whole = |value: f64| {
        ensure!(
            value.is_finite(),
            BAD_ARGUMENTS,
            "Aggregate function {NAME} received a non-finite geometry coordinate"
        );
        let rounded = value.round_ties_even();
        ensure!(
            (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&rounded),
            BAD_ARGUMENTS,
            "Aggregate function {NAME} received a geometry coordinate ({value}) outside the representable MVT range; use MVTEncodeGeom \
             to project and clip the geometry to a tile first"
        );
        Ok(rounded as i64)
    };
    Ok((whole(x)?, whole(y)?))
}

/// The places of a line, without those that repeat the one before.
fn pixels(line: &[Point]) -> Result<Vec<Pixel>> {
    let mut places = line.iter().map(pixel).collect::<Result<Vec<_>>>()?;
    places.dedup();
    Ok(places)
}
