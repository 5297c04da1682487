//! Hits to Parquet, one thread a file, column by column: a row group's texts are never in memory all at once.

use crate::Options;
use crate::hit::{Hit, World};
use crate::plan::{self, Cell};
use crate::schema::{COLUMNS, Column, Values};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Rows of a row group, at most; the published files have 400 to 500 thousand.
const ROW_GROUP_ROWS: u64 = 500_000;
/// Bytes of a column's dictionary, past which the rest of the row group is stored plain.
const DICTIONARY_BYTES: usize = 1 << 20;
/// Values handed to the writer at once.
const BATCH: usize = 8_192;

pub fn run(options: &Options) -> Result<(), String> {
    fs::create_dir_all(&options.out).map_err(|e| format!("{}: {e}", options.out.display()))?;
    let recipe = format!("rows {} files {} seed {} layout 1\n", options.rows, options.files, options.seed);
    let note = options.out.join("recipe");
    if fs::read_to_string(&note).is_ok_and(|found| found == recipe) {
        println!("{}: up to date", options.out.display());
        return Ok(());
    }
    let start = Instant::now();
    let maker = Maker {
        options,
        cells: plan::cells(options.rows, options.seed),
        world: World::new(options.rows, options.seed),
        schema: schema().map_err(|e| e.to_string())?,
    };
    let next = AtomicU64::new(0);
    let worker = || -> Result<(), String> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= options.files {
                return Ok(());
            }
            maker.file(number).map_err(|e| format!("hits_{number}.parquet: {e}"))?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|w| w.join().map_err(|_| "a worker panicked".to_owned())?)
    })?;
    fs::write(&note, recipe).map_err(|e| format!("{}: {e}", note.display()))?;
    println!("{}: {} rows in {:.1} s", options.out.display(), options.rows, start.elapsed().as_secs_f64());
    Ok(())
}

struct Maker<'a> {
    options: &'a Options,
    cells: Vec<Cell>,
    world: World,
    schema: TypePtr,
}

type Written<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

impl Maker<'_> {
    fn file(&self, number: u64) -> Written<()> {
        let Options { rows, files, ref out, .. } = *self.options;
        let range = rows * number / files..rows * (number + 1) / files;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_page_size_limit(DICTIONARY_BYTES)
            .set_statistics_enabled(EnabledStatistics::Page)
            .build();
        let path: PathBuf = out.join(format!("hits_{number}.parquet"));
        let mut writer =
            SerializedFileWriter::new(File::create(path)?, self.schema.clone(), Arc::new(properties))?;
        let n_rows = range.end - range.start;
        let n_groups = n_rows.div_ceil(ROW_GROUP_ROWS);
        for group in 0..n_groups {
            let at = |group: u64| range.start + n_rows * group / n_groups;
            let hits = self.hits(at(group)..at(group + 1));
            let mut group_writer = writer.next_row_group()?;
            for column in COLUMNS {
                write_column(&mut group_writer, column, &hits)?;
            }
            group_writer.close()?;
        }
        writer.close()?;
        Ok(())
    }

    /// The hits of a range of rows. A cell on the border is made whole and cut.
    fn hits(&self, range: Range<u64>) -> Vec<Hit> {
        let first = self.cells.partition_point(|c| c.first_row + c.n_rows <= range.start);
        let mut hits = Vec::with_capacity((range.end - range.start) as usize);
        for cell in self.cells[first..].iter().take_while(|c| c.first_row < range.end) {
            hits.extend(self.world.hits(cell).into_iter().filter(|h| range.contains(&h.row)));
        }
        hits
    }
}

fn schema() -> parquet::errors::Result<TypePtr> {
    let fields: parquet::errors::Result<Vec<TypePtr>> =
        COLUMNS.iter().map(|c| field(c).map(Arc::new)).collect();
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields?).build()?))
}

fn field(column: &Column) -> parquet::errors::Result<Type> {
    let (physical, logical) = match column.values {
        Values::Short(_) => (Physical::INT32, Some(LogicalType::integer(16, true))),
        Values::Int(_) => (Physical::INT32, None),
        Values::Long(_) => (Physical::INT64, None),
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Values::Date(_) => (Physical::INT32, Some(LogicalType::Date)),
        Values::Time(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
    };
    let builder = Type::primitive_type_builder(column.name, physical);
    builder.with_repetition(Repetition::REQUIRED).with_logical_type(logical).build()
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    hits: &[Hit],
) -> Written<()> {
    match column.values {
        Values::Short(value) => write::<Int32Type, W>(group, hits, |batch, out| {
            out.extend(batch.iter().map(|h| i32::from(value(h))));
        }),
        Values::Int(value) | Values::Date(value) => write::<Int32Type, W>(group, hits, |batch, out| {
            out.extend(batch.iter().map(value));
        }),
        Values::Long(value) | Values::Time(value) => write::<Int64Type, W>(group, hits, |batch, out| {
            out.extend(batch.iter().map(value));
        }),
        Values::Text(value) => write::<ByteArrayType, W>(group, hits, |batch, out| {
            // One buffer for the batch, shared by its values.
            let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(batch.len()));
            for hit in batch {
                value(hit, &mut bytes);
                ends.push(bytes.len());
            }
            let bytes = ByteArray::from(bytes);
            let mut start = 0;
            for end in ends {
                out.push(bytes.slice(start, end - start));
                start = end;
            }
        }),
    }
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    hits: &[Hit],
    make: impl Fn(&[Hit], &mut Vec<T::T>),
) -> Written<()> {
    let mut column = group.next_column()?.ok_or("more columns than the schema has")?;
    let mut values = Vec::with_capacity(BATCH);
    for batch in hits.chunks(BATCH) {
        values.clear();
        make(batch, &mut values);
        column.typed::<T>().write_batch(&values, None, None)?;
    }
    column.close()?;
    Ok(())
}
