//! Reading RowBinary.

use crate::binary::{Cursor, take_value};
use crate::binary_types::take_shown_type;
use crate::header::Header;
use crate::input::{BlockReader, ReadRequest};
use arrow_buffer::Buffer;
use chalet_base::{Result, ensure};
use chalet_columns::{Block, BooleanBuffer, Builder, Column, Vector};
use chalet_types::DataType;

/// Names, and what columns show as their types if the header has them.
pub type FileColumns = Vec<(String, Option<DataType>)>;

/// `binary`: types are not there as text.
pub fn read_header(from: &mut Cursor<'_>, header: Header, binary: bool) -> Result<Option<FileColumns>> {
    if header == Header::None {
        return Ok(None);
    }
    let n = from.var_uint()?;
    ensure!(
        n <= from.rest.len() as u64,
        CANNOT_READ_ALL_DATA,
        "Cannot read all data: header of {n} columns is cut short"
    );
    let mut columns = FileColumns::new();
    for _ in 0..n {
        columns.push((from.text()?.to_string(), None));
    }
    if header == Header::NamesAndTypes {
        for column in &mut columns {
            column.1 = Some(match binary {
                true => take_shown_type(from)?,
                false => DataType::parse_shown(from.text()?)?,
            });
        }
    }
    Ok(Some(columns))
}

/// One column of the file: its type there, and which of the wanted columns it is.
struct Field {
    ty: DataType,
    wanted: Option<usize>,
}

pub struct RowBinaryReader {
    bytes: Buffer,
    at: usize,
    rows: u64,
    fields: Vec<Field>,
    request: ReadRequest,
    defaults: bool,
    omitted: Vec<Option<BooleanBuffer>>,
}

impl RowBinaryReader {
    pub fn new(
        bytes: Buffer,
        request: ReadRequest,
        header: Header,
        defaults: bool,
    ) -> Result<RowBinaryReader> {
        let mut cursor = Cursor::new(&bytes);
        let binary = request.settings.input_format_binary_decode_types_in_binary_format;
        let position = |index: usize| request.wanted.iter().position(|w| *w == index);
        let fields = match read_header(&mut cursor, header, binary)? {
            None => {
                let structure = request.structure.iter().enumerate();
                structure.map(|(i, c)| Field { ty: c.1.clone(), wanted: position(i) }).collect()
            }
            Some(columns) => columns
                .into_iter()
                .enumerate()
                .map(|(i, (name, shown))| {
                    let ty = shown.map(|shown| shown.without_simple_aggregates());
                    let by_name = request.settings.input_format_with_names_use_header;
                    let index = if by_name {
                        request.structure.iter().position(|c| c.0 == name)
                    } else {
                        (i < request.structure.len()).then_some(i)
                    };
                    let known = index.map(|i| request.structure[i].1.clone());
                    ensure!(
                        known.is_some()
                            || (ty.is_some() && request.settings.input_format_skip_unknown_fields),
                        INCORRECT_DATA,
                        "Unknown field found in RowBinary header: '{name}' at position {i}"
                    );
                    if let (Some(in_file), Some(in_table)) = (&ty, &known) {
                        ensure!(
                            in_file == in_table || !request.settings.input_format_with_types_use_header,
                            INCORRECT_DATA,
                            "Type of '{name}' must be {in_table}, not {in_file}"
                        );
                    }
                    let ty = known.or(ty).unwrap_or(DataType::Nothing);
                    Ok(Field { ty, wanted: index.and_then(position) })
                })
                .collect::<Result<_>>()?,
        };
        let at = bytes.len() - cursor.rest.len();
        Ok(RowBinaryReader { bytes, at, rows: 0, fields, request, defaults, omitted: Vec::new() })
    }
}

/// The value, unless the byte before it says that the default stands for it; whether there was one.
fn take_or_default(from: &mut Cursor<'_>, ty: &DataType, to: &mut Builder) -> Result<bool> {
    let [is_default] = from.array()?;
    match is_default {
        0 => take_value(from, ty, to)?,
        _ => to.push_default(),
    }
    Ok(is_default == 0)
}

impl RowBinaryReader {
    /// For each wanted column the rows of a block that the data left out.
    fn masks(&self, omitted: Vec<Vec<usize>>, n_rows: usize) -> Vec<Option<BooleanBuffer>> {
        if omitted.iter().all(Vec::is_empty)
            || !self.request.settings.input_format_defaults_for_omitted_fields
        {
            return Vec::new();
        }
        let mask = |rows: Vec<usize>| {
            (!rows.is_empty()).then(|| {
                let mut bits = vec![false; n_rows];
                rows.into_iter().for_each(|row| bits[row] = true);
                BooleanBuffer::from(bits)
            })
        };
        omitted.into_iter().map(mask).collect()
    }
}

impl BlockReader for RowBinaryReader {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        let mut cursor = Cursor::limited(&self.bytes[self.at..], &self.request.settings);
        let mut builders: Vec<Builder> = self.fields.iter().map(|f| Builder::new(&f.ty)).collect();
        let mut omitted: Vec<Vec<usize>> = vec![Vec::new(); self.request.wanted.len()];
        let mut n_rows = 0;
        while n_rows < max_rows.max(1) && !cursor.rest.is_empty() {
            let left = cursor.rest.len();
            for (field, builder) in self.fields.iter().zip(&mut builders) {
                let read = match self.defaults {
                    true => take_or_default(&mut cursor, &field.ty, builder),
                    false => take_value(&mut cursor, &field.ty, builder).map(|()| true),
                };
                let given = match read {
                    Ok(given) => given,
                    Err(error) => {
                        let row = self.rows + n_rows as u64 + 1;
                        return Err(error.context(format_args!("(at row {row})\n")));
                    }
                };
                match field.wanted {
                    Some(wanted) if !given => omitted[wanted].push(n_rows),
                    Some(_) => {}
                    None => builder.truncate(0),
                }
            }
            ensure!(
                cursor.rest.len() < left,
                INCORRECT_DATA,
                "Rows without bytes in RowBinary format have no end"
            );
            n_rows += 1;
        }
        self.at = self.bytes.len() - cursor.rest.len();
        self.rows += n_rows as u64;
        if n_rows == 0 {
            return Ok(None);
        }
        let mut columns: Vec<Option<Column>> = vec![None; self.request.wanted.len()];
        for (field, builder) in self.fields.iter().zip(builders) {
            if let Some(wanted) = field.wanted {
                columns[wanted] = Some(builder.finish().into());
            }
        }
        let columns = columns.into_iter().zip(self.request.wanted.iter()).map(|(column, &index)| {
            let default = || Column::constant(Vector::defaults(&self.request.structure[index].1, 1), n_rows);
            column.unwrap_or_else(default)
        });
        let block = Block::new(columns.collect(), n_rows);
        self.omitted = self.masks(omitted, n_rows);
        Ok(Some(block))
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.omitted
    }

    fn bytes_read(&self) -> u64 {
        self.at as u64
    }
}
