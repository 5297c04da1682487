//! Hash: one hash of all values of the result, for tests whose results are long.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, Out, OutputFormat, Sink, Statistics, WriteRequest};
use chalet_base::Result;
use chalet_base::sip_hash::Sip;
use chalet_columns::{Block, Data, Vector, each_native};
use chalet_types::DataType;

struct Hash;

pub const FORMATS: &[Format] = &[Format {
    name: "Hash",
    suffixes: &[],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities { tty_friendly: true, no_several_types: true, ..Capabilities::NONE },
    input: None,
    output: Some(&Hash),
}];

impl OutputFormat for Hash {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(HashWriter { request, hash: Sip::new((0, 0)), out: Out::new(sink) }))
    }
}

struct HashWriter {
    request: WriteRequest,
    hash: Sip,
    out: Out,
}

impl BlockWriter for HashWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        for row in 0..block.n_rows() {
            for ((_, ty), column) in self.request.header.iter().zip(block.columns()) {
                let (vector, row) = column.locate(row);
                update(&mut self.hash, ty, vector, row);
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        let [a, b, c, d] = std::mem::replace(&mut self.hash, Sip::new((0, 0))).finish();
        let text = format!("{:016x}{:016x}\n", (a ^ b).swap_bytes(), (c ^ d).swap_bytes());
        self.out.text.extend_from_slice(text.as_bytes());
        self.out.close()
    }
}

fn update(hash: &mut Sip, ty: &DataType, vector: &Vector, row: usize) {
    if ty.is_nullable() {
        let null = vector.is_null(row);
        hash.update(&[null.into()]);
        if null {
            return;
        }
    }
    each_native!(&vector.data, values => hash.update(&values[row].to_le_bytes()),
        Data::Nothing(_) => {}
        Data::Str(strings) => {
            // With the zero behind it that the kernel's strings once had.
            let bytes = strings.get(row);
            hash.update(&(bytes.len() as u64 + 1).to_le_bytes());
            hash.update(bytes);
            hash.update(&[0]);
        }
        Data::Fixed(fixed) => match ty.bare() {
            DataType::Uuid => hash.update(&crate::binary::swap_uuid(fixed.get(row))),
            _ => hash.update(fixed.get(row)),
        },
        Data::List(list) => {
            let range = list.range(row);
            hash.update(&(range.len() as u64).to_le_bytes());
            let Some(element) = ty.bare().element() else { return };
            range.for_each(|e| update(hash, &element, &list.values, e));
        }
        Data::Struct(values) => {
            let DataType::Tuple(fields) = ty.bare() else { return };
            fields.iter().zip(&values.fields).for_each(|(f, v)| update(hash, &f.ty, v, row));
        }
    )
}
