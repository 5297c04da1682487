//! Keys that are regular expressions, in a tree: a text has the values of the nodes whose expressions match it, as do those of all nodes above
//! them. A value of a node counts before those of the nodes above it, and before those of nodes behind it. Values may name
//! groups of what has matched: `\1` or `$1`.

use super::definition::{Attribute, Definition};
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Block, Builder, Column, Vector};
use chalet_functions::search::{SharedRegex, compile};
use chalet_storage::ColumnSchema;
use chalet_text::{Reader, Syntax, TextSettings};
use chalet_types::{DataType, Value};
use std::sync::Arc;

pub(crate) struct Patterns {
    /// In the order in which they count: children before their parents.
    nodes: Vec<Node>,
    /// Of the attributes.
    types: Vec<DataType>,
}

struct Node {
    /// None where it is not valid: it matches nothing.
    regex: Option<SharedRegex>,
    /// The node above, by its place.
    parent: Option<usize>,
    /// Attributes by their numbers, with the text of their values.
    values: Vec<(usize, Arc<[u8]>)>,
}

/// The columns of a source.
pub(super) fn source_columns() -> Vec<ColumnSchema> {
    let list = || DataType::Array(Arc::new(DataType::String).into());
    vec![
        ColumnSchema::new("id", DataType::UInt64),
        ColumnSchema::new("parent_id", DataType::UInt64),
        ColumnSchema::new("regexp", DataType::String),
        ColumnSchema::new("keys", list()),
        ColumnSchema::new("values", list()),
    ]
}

/// A node as a source has it.
struct Row {
    id: u64,
    parent: u64,
    node: Node,
}

impl Patterns {
    /// Of the rows of a source, with the columns that [`source_columns`] says.
    pub fn new(attributes: &[Attribute], blocks: &[Block]) -> Result<Patterns> {
        let mut rows = Vec::new();
        for block in blocks {
            for at in 0..block.n_rows() {
                rows.push(row(block, at, attributes)?);
            }
        }
        ensure!(
            !rows.is_empty(),
            INCORRECT_DICTIONARY_DEFINITION,
            "There are no available regular expression. Please check your config"
        );
        rows.sort_by_key(|row| row.id);
        let types: Vec<DataType> = attributes.iter().map(|attribute| attribute.ty.clone()).collect();
        let readers = readers(&types);
        for (attribute, value) in rows.iter().flat_map(|row| &row.node.values) {
            // A value with groups is read when a text has matched.
            if groups(value).is_none() {
                read(&readers[*attribute], value, &mut Builder::new(&attributes[*attribute].ty))?;
            }
        }
        Ok(Patterns { nodes: in_order(rows)?, types })
    }

    /// The values of attributes for each text, those that count most first. At most `limit` of an attribute.
    fn values(&self, texts: &Vector, attributes: &[usize], limit: usize) -> Result<Vec<Vec<Vec<Box<[u8]>>>>> {
        let regexes: Vec<_> = self.nodes.iter().map(|node| Some(node.regex.as_ref()?.of_thread())).collect();
        let mut all = Vec::with_capacity(texts.len());
        for text in texts.strings()?.iter() {
            let mut found = vec![Vec::new(); attributes.len()];
            let matches: Vec<bool> = regexes
                .iter()
                .map(|regex| regex.as_ref().is_some_and(|regex| regex.is_match(text)))
                .collect();
            let above = |at: usize| std::iter::successors(Some(at), |&at| self.nodes[at].parent);
            let mut seen = vec![false; self.nodes.len()];
            for at in (0..self.nodes.len()).filter(|&at| above(at).all(|at| matches[at])) {
                for node in above(at) {
                    if std::mem::replace(&mut seen[node], true) {
                        break;
                    }
                    for (attribute, value) in &self.nodes[node].values {
                        let Some(wanted) = attributes.iter().position(|known| known == attribute) else {
                            continue;
                        };
                        if found[wanted].len() < limit {
                            found[wanted].push(match groups(value) {
                                None => value[..].into(),
                                Some(pieces) => {
                                    let captures =
                                        regexes[node].as_ref().and_then(|regex| regex.captures(text));
                                    let group =
                                        |number: usize| Some(captures.as_ref()?.get(number)?.as_bytes());
                                    filled(&pieces, group)
                                }
                            });
                        }
                    }
                }
            }
            all.push(found);
        }
        Ok(all)
    }

    /// Rows for texts, each with its text and the value that counts most of each attribute, or the default.
    pub fn rows(&self, texts: &Vector, definition: &Definition) -> Result<Block> {
        let all: Vec<usize> = (0..definition.attributes.len()).collect();
        let mut builders: Vec<Builder> =
            definition.attributes.iter().map(|attribute| Builder::new(&attribute.ty)).collect();
        let readers = readers(&self.types);
        for found in self.values(texts, &all, 1)? {
            for (at, values) in found.iter().enumerate() {
                match values.first() {
                    Some(value) => read(&readers[at], value, &mut builders[at])?,
                    None => builders[at].push_from(&definition.attributes[at].default, 0),
                }
            }
        }
        let values = builders.into_iter().map(|builder| Column::Flat(builder.finish()));
        let columns = std::iter::once(Column::Flat(texts.clone())).chain(values);
        Ok(Block::new(columns.collect(), texts.len()))
    }

    /// The values of one attribute for each text, as arrays.
    pub fn arrays(&self, texts: &Vector, attribute: usize, limit: usize) -> Result<Vector> {
        let reader = reader(&self.types[attribute]);
        let mut values = Builder::new(reader.data_type());
        let mut offsets = vec![0];
        for found in self.values(texts, &[attribute], limit)? {
            for value in &found[0] {
                read(&reader, value, &mut values)?;
            }
            offsets.push(values.len() as i64);
        }
        Ok(chalet_columns::Data::List(chalet_columns::vector::List {
            offsets: offsets.into(),
            values: Arc::new(values.finish()),
        })
        .into())
    }
}

fn readers(types: &[DataType]) -> Vec<Reader> {
    types.iter().map(reader).collect()
}

fn reader(ty: &DataType) -> Reader {
    Reader::new(ty, Syntax::Plain, &TextSettings::default())
}

fn read(reader: &Reader, value: &[u8], out: &mut Builder) -> Result<()> {
    ensure!(
        reader.try_whole(value, out),
        INCORRECT_DICTIONARY_DEFINITION,
        "Cannot parse {} for data type {}",
        String::from_utf8_lossy(value),
        reader.data_type()
    );
    Ok(())
}

fn row(block: &Block, at: usize, attributes: &[Attribute]) -> Result<Row> {
    let value = |column: usize| block.column(column).value(at);
    let id = value(0).as_u64().unwrap_or(0);
    ensure!(id != 0, INCORRECT_DICTIONARY_DEFINITION, "There are invalid id {id}");
    let pattern = value(2);
    let regex = compile(pattern.as_bytes().unwrap_or_default(), "").ok();
    let (keys, texts) = match (value(3), value(4)) {
        (Value::Array(keys), Value::Array(texts)) if keys.len() == texts.len() => (keys, texts),
        _ => bail!(INCORRECT_DICTIONARY_DEFINITION, "The keys and values of node {id} are not alike"),
    };
    let mut values = Vec::new();
    for (key, text) in keys.iter().zip(&texts) {
        let attribute = attributes.iter().position(|attribute| Some(&*attribute.name) == key.as_str());
        if let (Some(attribute), Some(text)) = (attribute, text.as_bytes()) {
            values.push((attribute, text.into()));
        }
    }
    Ok(Row { id, parent: value(1).as_u64().unwrap_or(0), node: Node { regex, parent: None, values } })
}

/// The nodes with children before their parents (a topological order, depth first), else by their numbers.
fn in_order(rows: Vec<Row>) -> Result<Vec<Node>> {
    let place: HashMap<u64, usize> = rows.iter().enumerate().map(|(at, row)| (row.id, at)).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); rows.len()];
    let mut roots = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        match place.get(&row.parent) {
            _ if row.parent == 0 => roots.push(at),
            Some(&parent) => children[parent].push(at),
            None => bail!(
                INCORRECT_DICTIONARY_DEFINITION,
                "Unknown parent id {} in regexp tree dictionary",
                row.parent
            ),
        }
    }
    let mut order: Vec<usize> = Vec::with_capacity(rows.len());
    let mut open: Vec<(usize, usize)> = Vec::new();
    for root in roots {
        open.push((root, 0));
        while let Some((at, next)) = open.pop() {
            match children[at].get(next) {
                Some(&child) => open.extend([(at, next + 1), (child, 0)]),
                None => order.push(at),
            }
        }
    }
    // What no root leads to is in a circle.
    ensure!(
        order.len() == rows.len(),
        INCORRECT_DICTIONARY_DEFINITION,
        "The regexp tree is cyclical. Please check your config"
    );
    let mut places = vec![0; rows.len()];
    order.iter().enumerate().for_each(|(place, &at)| places[at] = place);
    let parents: Vec<Option<usize>> =
        rows.iter().map(|row| place.get(&row.parent).map(|&at| places[at])).collect();
    let mut nodes: Vec<Option<Node>> = rows.into_iter().map(|row| Some(row.node)).collect();
    let node = |at: usize| {
        let node = nodes[at].take().ok_or_else(|| err!(LOGICAL_ERROR, "A node comes twice"))?;
        Ok(Node { parent: parents[at], ..node })
    };
    order.into_iter().map(node).collect()
}

enum Piece<'a> {
    Text(&'a [u8]),
    Group(usize),
}

/// The pieces of a value that names groups; none where it is as it is written.
fn groups(value: &[u8]) -> Option<Vec<Piece<'_>>> {
    let (mut pieces, mut start, mut at) = (Vec::new(), 0, 0);
    while at + 1 < value.len() {
        if matches!(value[at], b'\\' | b'$') && value[at + 1].is_ascii_digit() {
            pieces.extend([Piece::Text(&value[start..at]), Piece::Group((value[at + 1] - b'0').into())]);
            at += 1;
            start = at + 1;
        }
        at += 1;
    }
    (start > 0).then(|| {
        pieces.push(Piece::Text(&value[start..]));
        pieces
    })
}

fn filled<'a>(pieces: &[Piece<'a>], group: impl Fn(usize) -> Option<&'a [u8]>) -> Box<[u8]> {
    let text = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text,
        Piece::Group(number) => group(*number).unwrap_or_default(),
    });
    text.flatten().copied().collect()
}
