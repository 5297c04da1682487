//! The recorded pieces.

use chalet_columns::Block;
use chalet_formats::Schema;
use chalet_formats::binary::Cursor;
use chalet_formats::native::{BlockLayout, read_block};
use std::path::PathBuf;

pub struct Case {
    pub name: String,
    pub pieces: Vec<(String, Vec<u8>)>,
}

impl Case {
    pub fn piece(&self, name: &str) -> Option<&[u8]> {
        self.pieces.iter().find(|p| p.0 == name).map(|p| &p.1[..])
    }

    /// Names and types as the query has them.
    pub fn schema(&self) -> Schema {
        let text = std::str::from_utf8(self.piece("types").unwrap()).unwrap();
        let columns = text.split_terminator('\n').map(|line| {
            let mut fields = line.split("\t");
            (fields.next().unwrap().to_string(), fields.next().unwrap().parse().expect(line))
        });
        columns.collect()
    }

    /// A piece of Native blocks: its columns, and its rows in one block.
    pub fn native(&self, name: &str) -> Option<(Schema, Block)> {
        let mut cursor = Cursor::new(self.piece(name)?);
        let mut schema = Schema::new();
        let mut blocks = Vec::new();
        while let Some((columns, block)) = read_block(&mut cursor, BlockLayout::FILE).expect(&self.name) {
            schema = columns;
            blocks.push(block);
        }
        Some((schema, Block::concat(&blocks)))
    }
}

pub fn cases() -> Vec<Case> {
    let folder = PathBuf::from("tests/corpus");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let recorded = paths.iter().filter(|p| p.extension().is_some_and(|e| e == "rec"));
    recorded
        .map(|path| {
            let bytes = std::fs::read(path).unwrap();
            let mut rest = &bytes[..];
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                let line = rest.iter().position(|b| *b == b'\n').unwrap();
                let head = std::str::from_utf8(&rest[..line]).unwrap();
                let (name, length) = head.split_once(' ').unwrap();
                let length: usize = length.parse().unwrap();
                pieces.push((name.to_string(), rest[line + 1..line + 1 + length].to_vec()));
                rest = &rest[line + length + 2..];
            }
            Case { name: path.file_stem().unwrap().to_str().unwrap().to_string(), pieces }
        })
        .collect()
}
