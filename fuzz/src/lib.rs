//! What the fuzz targets of the readers share: any bytes give rows or an error, and the rows can be looked at.

use chalet_base::Result;
use chalet_columns::Block;
use chalet_formats::{FileScan, FormatSettings, Input, ReadRequest, Registry};
use chalet_types::DataType;

/// Structures to read data with, where the data's own is not asked.
const STRUCTURES: &[&[&str]] = &[
    &["UInt8", "String"],
    &["Nullable(Int64)", "Float64", "Date", "DateTime"],
    &["Array(UInt32)", "Map(String, UInt8)", "Tuple(Int8, String)"],
    &["Decimal(38, 9)", "UUID", "IPv6", "DateTime64(6, 'UTC')", "Enum8('a' = 1, 'b' = 2)"],
    &["Variant(String, UInt8)", "Dynamic", "JSON(a UInt8)"],
    &["LowCardinality(Nullable(String))", "FixedString(3)", "Bool", "Int256"],
];

/// Reads `data` as a file of the format. The first byte chooses a structure and a block size.
pub fn read(format: &str, data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let mut registry = Registry::builtin();
    registry.add(chalet_formats_arrow::FORMATS);
    registry.add(chalet_formats_parquet::FORMATS);
    let format = registry.get(format).expect("the target names a format");
    let settings = FormatSettings::default();
    let structure = match STRUCTURES.get(usize::from(choice % 8)) {
        Some(types) => types
            .iter()
            .enumerate()
            .map(|(i, ty)| (format!("c{i}"), ty.parse::<DataType>().expect("a type")))
            .collect(),
        None => match format.infer_schema(&mut Input::from(bytes.to_vec()), &settings) {
            Ok(schema) => schema,
            Err(_) => return,
        },
    };
    let types: Vec<DataType> = structure.iter().map(|(_, ty)| ty.clone()).collect();
    let Ok(mut scan) = format.open(Input::from(bytes.to_vec()), ReadRequest::all(structure)) else { return };
    let max_rows = [1, 3, 1000][usize::from(choice / 8) % 3];
    // An error is an answer too.
    let _ = look_at_all(&mut *scan, max_rows, &types);
}

/// A few bytes can say that there are more rows than anyone would wait for: columns that are not in the file.
const ENOUGH_ROWS: usize = 100_000;

fn look_at_all(scan: &mut dyn FileScan, max_rows: usize, types: &[DataType]) -> Result<()> {
    let mut seen = 0;
    while let Some(mut unit) = scan.next_unit()? {
        while let Some(block) = unit.next_block(max_rows)? {
            look_at(&block, types);
            seen += block.n_rows();
            if seen > ENOUGH_ROWS {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Every value is there and is of its column's representation.
fn look_at(block: &Block, types: &[DataType]) {
    assert_eq!(block.columns().len(), types.len());
    for (column, ty) in block.columns().iter().zip(types) {
        assert_eq!(column.len(), block.n_rows());
        assert_eq!(column.flat().data.physical(), ty.physical());
        for row in 0..column.len() {
            std::hint::black_box(column.value(row));
        }
    }
}

/// A target: `reader!("CSV")`.
#[macro_export]
macro_rules! reader {
    ($format:literal) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::read($format, data));
    };
}
