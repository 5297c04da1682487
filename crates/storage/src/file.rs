//! Files of any format as one table: several files, each in units that workers read at once.

use crate::condition_cache;
use crate::disk::fs::{Access, File};
use crate::file_defaults::{FileDefaults, Filling};
use crate::file_inserter::{FileInserter, Target};
use crate::file_rows::FileRows;
use crate::file_statistics;
use crate::mapped::{cannot_open, mapped};
use crate::row_ids;
use crate::samples::{self, Sample, SampleSize};
use crate::scan::ScanFilter;
use crate::{
    ColumnRange, ColumnSchema, Inserter, Morsel, RowsById, Scan, ScanRequest, ScanWorker, Table, TableSchema,
};
use chalet_base::events::{self, Event};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Block, Column, Vector};
use chalet_formats::input::{BlockReader, Cast, Evaluate, FileScan, Pruned, RowFilter, RowsByNumber};
use chalet_formats::settings::SchemaInferenceMode;
use chalet_formats::{
    Compression, Format, FormatSettings, Input, ReadRequest, Schema, Summary, TableStatistics,
};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, TimeZone, Value};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

/// What reading and writing need of the session.
#[derive(Clone)]
pub struct FileContext {
    pub settings: Arc<FormatSettings>,
    pub time_zone: TimeZone,
    pub evaluate: Option<Evaluate>,
    pub cast: Option<Cast>,
    /// `engine_file_truncate_on_insert`.
    pub truncate_on_insert: bool,
    /// `engine_file_allow_create_multiple_files`.
    pub create_multiple_files: bool,
    /// Threads that may write.
    pub threads: usize,
}

/// Columns that every file has beside its own.
fn virtual_columns() -> [(&'static str, DataType); 4] {
    [
        ("_path", DataType::String.low_cardinality()),
        ("_file", DataType::String.low_cardinality()),
        ("_size", DataType::UInt64.nullable()),
        ("_time", DataType::DateTime(None).nullable()),
    ]
}

/// `key=value` folders of a path, as Hive partitions its tables.
fn partitions(path: &Path) -> Vec<(String, String)> {
    let folders = path.parent().into_iter().flat_map(|parent| parent.components());
    let named = folders.filter_map(|folder| {
        let text = folder.as_os_str().to_str()?;
        let (key, value) = text.split_once('=')?;
        (!key.is_empty() && !key.contains(['*', '?'])).then(|| (key.to_string(), value.to_string()))
    });
    named.collect()
}

/// The rows of all files that match a pattern, in one format.
pub struct FileTable {
    path: String,
    files: Vec<PathBuf>,
    format: &'static Format,
    compression: Option<String>,
    structure: Schema,
    /// The same with what columns show in place of their types.
    shown: Schema,
    /// Given where columns were declared.
    declared: Option<FileDefaults>,
    context: FileContext,
}

impl FileTable {
    /// Opens the files of a path. Without a structure it is found in the first file that has rows.
    pub fn open(
        path: &str,
        format: &'static Format,
        structure: Option<Schema>,
        compression: Option<String>,
        context: FileContext,
    ) -> Result<FileTable> {
        let files = crate::paths::expand(path)?;
        let mut table = FileTable {
            path: path.to_string(),
            files,
            format,
            compression,
            structure: Vec::new(),
            shown: Vec::new(),
            declared: None,
            context,
        };
        table.shown = match structure {
            Some(structure) => structure,
            None => table.infer_structure()?,
        };
        table.structure =
            table.shown.iter().map(|(name, ty)| (name.clone(), ty.without_simple_aggregates())).collect();
        Ok(table)
    }

    /// The same with the columns as they were declared: a structure alone has no defaults.
    pub fn declared_as(mut self, declared: FileDefaults) -> FileTable {
        self.declared = Some(declared);
        self
    }

    /// How values that rows leave out are computed, if any are.
    fn defaults(&self) -> Option<&FileDefaults> {
        self.declared.as_ref().filter(|declared| declared.schema.columns.iter().any(|c| c.default.is_some()))
    }

    /// Are there rows whose values of the column, one of the file's own, are computed?
    fn has_default(&self, column: usize) -> bool {
        self.declared.as_ref().is_some_and(|declared| declared.has_default(column))
    }

    /// A file keeps all its columns.
    fn check_columns(&self) -> Result<()> {
        let declared = self.declared.iter().flat_map(|declared| declared.schema.columns.iter());
        ensure!(
            { declared }.all(ColumnSchema::in_star),
            BAD_ARGUMENTS,
            "Table engine File doesn't support special columns like MATERIALIZED, ALIAS or EPHEMERAL"
        );
        Ok(())
    }

    fn files_scan(&self, request: &ScanRequest) -> Result<FilesScan> {
        self.check_columns()?;
        if self.files.len() == 1 && !self.files[0].exists() {
            bail!(FILE_DOESNT_EXIST, "File {} doesn't exist", self.files[0].display());
        }
        let schema = self.schema();
        let n_own = self.structure.len();
        let (wanted, mut places) = split(&schema, n_own, &request.columns);
        if request.with_row_ids {
            places.push(Place::Row);
        }
        // Where the requested columns are among those that the reader gives.
        let own: Vec<Option<usize>> = request
            .columns
            .iter()
            .scan(0, |next, &c| {
                *next += usize::from(c < n_own);
                // What the reader gives of columns with defaults is not yet what rows have.
                Some((c < n_own && !self.has_default(c)).then(|| *next - 1))
            })
            .collect();
        let mut wanted = wanted.to_vec();
        let filling = match self.defaults() {
            Some(declared) if self.context.settings.input_format_defaults_for_omitted_fields => {
                Some((declared.clone(), declared.filling(&mut wanted)?))
            }
            _ => None,
        };
        let mut filter = request.filter.as_ref().and_then(|filter| own_filter(filter, &own));
        if let (Some(_), Some(filter)) = (&filling, &mut filter) {
            // Defaults read them.
            filter.unread.clear();
        }
        let read = ReadRequest {
            rows: None,
            structure: self.structure.clone().into(),
            wanted: wanted.into(),
            settings: self.context.settings.clone(),
            time_zone: self.context.time_zone.clone(),
            evaluate: self.context.evaluate.clone(),
            cast: self.context.cast.clone(),
            filter,
            dynamic_filters: request.dynamic_filters.iter().filter_map(|f| own_filter(f, &own)).collect(),
            only_lengths: Vec::new(),
            ranges: request.ranges.iter().filter_map(|range| own_range(range, &own)).collect(),
            row_numbers: request.with_row_ids,
            keep_dictionaries: request.context.use_dictionary_cache,
            units: request.context.max_threads.div_ceil(self.files.len().max(1)),
            remember: condition_cache::remember(request),
            verify: None,
        };
        Ok(FilesScan {
            shared: Arc::new(Shared {
                files: self.files.clone(),
                format: self.format,
                compression: self.compression.clone(),
                request: read,
                filter: request.filter.clone(),
                places,
                filling,
                schema,
                max_block_size: request.context.max_block_size.max(1),
                progress: request.context.progress.clone(),
                state: Mutex::default(),
            }),
            parallelism: request.context.max_threads.max(1),
        })
    }

    /// The columns of all files together (`schema_inference_mode = 'union'`).
    fn structure_of_all(&self, files: &[&PathBuf]) -> Result<Schema> {
        let name = self.format.name;
        ensure!(
            self.format.capabilities.subset_of_columns,
            BAD_ARGUMENTS,
            "UNION schema inference mode is not supported for format {name}, because it doesn't support reading subset of columns"
        );
        let mut all = Schema::new();
        for file in files {
            let mut input = open_input(file, self.compression.as_deref())?;
            let found = self.format.infer_schema(&mut input, &self.context.settings);
            for (column, ty) in found.map_err(|error| error.context(in_file(file)))? {
                let Some(known) = all.iter_mut().find(|known| known.0 == column) else {
                    all.push((column, ty));
                    continue;
                };
                if known.1 == ty {
                    continue;
                }
                let ty = ty.without_simple_aggregates();
                known.1 = known.1.without_simple_aggregates();
                known.1 = common_type(&known.1, &ty, self.format.capabilities.tty_friendly).ok_or_else(|| {
                    err!(
                        TYPE_MISMATCH,
                        "Automatically inferred type {ty} for column '{column}' in file {} differs from type inferred from \
                         previous files: {}",
                        file.display(),
                        known.1
                    )
                })?;
            }
        }
        Ok(all)
    }

    fn infer_structure(&self) -> Result<Schema> {
        let existing: Vec<&PathBuf> = self.files.iter().filter(|f| f.exists()).collect();
        let settings = &self.context.settings;
        let Some(first) = existing.first() else {
            // The columns of some formats are the same in every file.
            let nothing = &mut Input::stream(Box::new(std::io::empty()));
            if let Ok(schema) = self.format.infer_schema(nothing, settings)
                && !schema.is_empty()
            {
                return Ok(schema);
            }
            if let [file] = &self.files[..] {
                bail!(CANNOT_STAT, "Cannot stat file {}: No such file or directory", file.display());
            }
            bail!(
                CANNOT_EXTRACT_TABLE_STRUCTURE,
                "The table structure cannot be extracted from a {} format file: there are no files with provided path: {}. \
                 You can specify the structure manually",
                self.format.name,
                self.path
            );
        };
        if settings.schema_inference_mode == SchemaInferenceMode::Union {
            return self.structure_of_all(&existing);
        }
        let mut last = None;
        for file in &existing {
            let mut input = open_input(file, self.compression.as_deref())?;
            match self.format.infer_schema(&mut input, settings) {
                Ok(schema) if !schema.is_empty() => return Ok(schema),
                Ok(_) => {}
                Err(error) => last = Some(error.context(in_file(file))),
            }
        }
        Err(last.unwrap_or_else(|| {
            err!(
                CANNOT_EXTRACT_TABLE_STRUCTURE,
                "The table structure cannot be extracted from a {} format file: all files are empty: {}. You can specify \
                 the structure manually",
                self.format.name,
                first.display()
            )
        }))
    }
}

/// The type of a column that two files have. In texts what has no other type in common is a string.
fn common_type(a: &DataType, b: &DataType, is_text: bool) -> Option<DataType> {
    if a == b {
        return Some(a.clone());
    }
    let nullable = a.is_nullable() || b.is_nullable();
    match common_supertype(&[a.clone(), b.clone()]) {
        Ok(common) => Some(common),
        Err(_) if is_text && (a.bare().is_string() || b.bare().is_string()) => {
            Some(if nullable { DataType::String.nullable() } else { DataType::String })
        }
        Err(_) => None,
    }
}

pub(crate) fn in_file(file: &Path) -> String {
    format!("(in file/uri {})", file.display())
}

/// Compressed files are streams, others are mapped into memory.
pub(crate) fn open_input(path: &Path, compression: Option<&str>) -> Result<Input> {
    let text = path.to_string_lossy();
    let compression = Compression::named(compression.unwrap_or("auto"), &text)?;
    let file = File::open(path, Access::Read).map_err(|e| cannot_open(path, &e))?;
    let meta = file.metadata().map_err(|e| cannot_open(path, &e))?;
    events::count(Event::FileOpen);
    if compression != Compression::None || !meta.is_file() {
        return Ok(Input::stream(compression.reader(Box::new(file.into_std()))?));
    }
    mapped(path, &file)
}

/// Is a file read as it lies on disk?
pub(crate) fn is_plain(file: &Path, compression: Option<&str>) -> bool {
    matches!(
        Compression::named(compression.unwrap_or("auto"), &file.to_string_lossy()),
        Ok(Compression::None)
    )
}

/// For progress: an error is told when the file is read.
pub(crate) fn size_of_file(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |metadata| metadata.len())
}

impl Table for FileTable {
    fn is_constant(&self) -> bool {
        true
    }

    fn identity(&self) -> Option<String> {
        let FileContext { settings, time_zone, .. } = &self.context;
        let read = (&self.files, self.format.name, &self.compression, &self.structure, settings, time_zone);
        // Defaults are functions.
        self.declared.is_none().then(|| format!("{read:?}"))
    }

    fn engine(&self) -> &str {
        "File"
    }

    fn schema(&self) -> TableSchema {
        let is_own = |name: &str| self.structure.iter().any(|(own, _)| own == name);
        let mut columns: Vec<ColumnSchema> = match &self.declared {
            Some(declared) => declared.schema.columns.to_vec(),
            None => {
                let own = self.shown.iter();
                own.map(|(name, shown)| ColumnSchema::showing(name.as_str(), shown.clone())).collect()
            }
        };
        for (key, value) in self.files.first().map(|f| partitions(f)).unwrap_or_default() {
            if !is_own(&key) {
                // Numbers where they are numbers, as the kernel reads them.
                let ty = if value.parse::<i64>().is_ok() { DataType::Int64 } else { DataType::String };
                columns.push(ColumnSchema::new(key.as_str(), ty));
            }
        }
        let others = virtual_columns().into_iter().filter(|(name, _)| !is_own(name));
        columns.extend(others.map(|(name, ty)| ColumnSchema::virtual_column(name, ty)));
        TableSchema::new(columns)
    }

    fn takes_prewhere(&self) -> bool {
        self.format.input.is_some_and(|input| input.applies_dynamic_filters())
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        Ok(Arc::new(self.files_scan(request)?))
    }

    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        let is_own = |c: &usize| *c < self.structure.len() && !self.has_default(*c);
        let own: Vec<usize> = columns.iter().copied().filter(is_own).collect();
        let request = ScanRequest { columns: own.clone(), ..ScanRequest::default() };
        let scan = self.files_scan(&request).ok()?;
        let found = file_statistics::of_files(&scan.shared, self.compression.as_deref(), own.len());
        // Columns that are made of the name of the file are not known, nor are those that files may lack.
        let of = |column: &usize| own.iter().position(|c| c == column).map(|at| found.columns[at].clone());
        let columns = columns.iter().map(|column| of(column).unwrap_or_default()).collect();
        Some(TableStatistics { rows: found.rows, columns })
    }

    fn sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Sample>> {
        if !self.has_row_ids() || columns.is_empty() || columns.iter().any(|&c| c >= self.structure.len()) {
            return Ok(None);
        }
        let (wanted, _) = split(&self.schema(), self.structure.len(), columns);
        let request = ScanRequest { columns: columns.to_vec(), with_row_ids: true, ..ScanRequest::default() };
        let shared = self.files_scan(&request)?.shared;
        let step = self.files.len().div_ceil(samples::MAX_SOURCES).max(1);
        let mut blocks = Vec::new();
        for file in self.files.iter().step_by(step) {
            let input = open_input(file, self.compression.as_deref())?;
            let types = wanted.iter().map(|&c| format!("{c}:{} ", self.structure[c].1));
            let what = format!("{size:?} {}", types.collect::<String>());
            blocks.push(samples::kept(input.identity(), what, || {
                let scan =
                    self.format.open(input, shared.request.clone()).map_err(|e| e.context(in_file(file)))?;
                samples::of_file(&*scan, wanted.clone(), None, size)
            })?);
        }
        Ok(Some(Sample { block: Block::concat(&blocks) }))
    }

    fn has_row_ids(&self) -> bool {
        // Rows are read by their numbers without what says which of their values are left out.
        if self.defaults().is_some() {
            return false;
        }
        // What is decompressed as a stream would have to be kept.
        self.format.input.is_some_and(|input| input.numbers_rows())
            && self.files.len() <= row_ids::MAX_SOURCES
            && self.files.iter().all(|file| is_plain(file, self.compression.as_deref()))
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        self.check_columns()?;
        ensure!(
            !crate::paths::is_pattern(&self.path),
            DATABASE_ACCESS_DENIED,
            "Table '{}' is in readonly mode because of globs in filepath",
            self.path
        );
        let FileTable { path, format, structure, shown, context, .. } = self;
        let compression = self.compression.as_deref();
        Ok(Box::new(FileInserter::open(&Target { path, format, compression, structure, shown, context })?))
    }

    fn truncate(&self) -> Result<()> {
        for file in &self.files {
            std::fs::File::create(file).map_err(|e| cannot_open(file, &e))?;
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The filter over the columns that the reader gives; none if it reads others.
fn own_filter(filter: &ScanFilter, own: &[Option<usize>]) -> Option<RowFilter> {
    let columns = filter.columns.iter().map(|&c| own[c]).collect::<Option<_>>()?;
    let unread = filter.unread.iter().filter_map(|&c| own[c]).collect();
    let stages = filter.stages.iter().map(|stage| stage.over(|&c| own[c])).collect::<Option<_>>()?;
    Some(RowFilter { columns, unread, evaluate: filter.evaluate.clone(), stages })
}

fn own_range(range: &ColumnRange, own: &[Option<usize>]) -> Option<ColumnRange> {
    Some(ColumnRange { column: own[range.column]?, ..range.clone() })
}

/// The requested columns: those that the reader gives, by position among the file's own, and where each comes from.
pub(crate) fn split(schema: &TableSchema, n_own: usize, columns: &[usize]) -> (Arc<[usize]>, Vec<Place>) {
    let wanted = columns.iter().copied().filter(|&c| c < n_own).collect();
    let places = columns.iter().map(|&c| {
        let column = &schema.columns[c];
        if c < n_own { Place::Own } else { Place::Virtual(column.name.clone(), column.ty.clone()) }
    });
    (wanted, places.collect())
}

/// Where a requested column comes from.
pub(crate) enum Place {
    /// The next column of the reader's blocks.
    Own,
    Virtual(Arc<str>, DataType),
    /// The reader's number of the row, and the file.
    Row,
}

pub(crate) struct Shared {
    pub files: Vec<PathBuf>,
    format: &'static Format,
    compression: Option<String>,
    pub request: ReadRequest,
    /// For the blocks of readers that do not apply it themselves.
    filter: Option<ScanFilter>,
    places: Vec<Place>,
    filling: Option<(FileDefaults, Filling)>,
    pub schema: TableSchema,
    max_block_size: usize,
    progress: Arc<crate::scan::ScanProgress>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_file: usize,
    open: Option<(usize, Box<dyn FileScan>)>,
    next_task: u32,
    /// Of the files that are done.
    pruned: Pruned,
    /// Of the files that were opened, in their order, when row ids are asked for.
    rows: Vec<Arc<dyn RowsByNumber>>,
}

impl Shared {
    /// Tells what there is to read.
    fn expect_bytes(&self) {
        let plain = self.files.iter().filter(|file| is_plain(file, self.compression.as_deref()));
        self.progress.total_bytes.fetch_add(plain.map(|file| size_of_file(file)).sum(), Relaxed);
    }

    pub fn open(&self, path: &Path) -> Result<Box<dyn FileScan>> {
        let input = open_input(path, self.compression.as_deref())?;
        self.format.open(input, self.request.clone()).map_err(|e| e.context(in_file(path)))
    }

    /// The next unit of any file: which file, and the number of the task.
    fn next_unit(&self) -> Result<Option<(usize, u32, Box<dyn BlockReader>)>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some((file, scan)) = &mut state.open {
                let file = *file;
                match scan.next_unit().map_err(|e| e.context(in_file(&self.files[file])))? {
                    Some(unit) => {
                        state.next_task += 1;
                        return Ok(Some((file, state.next_task - 1, unit)));
                    }
                    None => {
                        let pruned = scan.pruned();
                        state.open = None;
                        state.pruned.units += pruned.units;
                        state.pruned.remembered += pruned.remembered;
                        state.pruned.known += pruned.known;
                        state.pruned.rows += pruned.rows;
                        self.progress.skipped_rows.fetch_add(pruned.rows, Relaxed);
                    }
                }
            }
            let file = state.next_file;
            let Some(path) = self.files.get(file) else { return Ok(None) };
            if file == 0 {
                self.expect_bytes();
            }
            state.next_file += 1;
            let scan = self.open(path)?;
            if let Some(known) = scan.summary(&[]) {
                self.progress.opened_bytes.fetch_add(size_of_file(path), Relaxed);
                self.progress.opened_rows.fetch_add(known.rows, Relaxed);
            }
            if self.request.row_numbers {
                let rows = scan.rows_by_number();
                state.rows.push(rows.ok_or_else(|| err!(LOGICAL_ERROR, "A reader does not number rows"))?);
            }
            state.open = Some((file, scan));
        }
    }

    /// A file that was opened, by its number.
    pub fn rows_of(&self, file: usize) -> Option<Arc<dyn RowsByNumber>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).rows.get(file).cloned()
    }
}

struct FilesScan {
    shared: Arc<Shared>,
    parallelism: usize,
}

impl FilesScan {
    /// Where columns are among those that the reader gives, if it gives the rows of all files as they are.
    fn own_columns(&self, columns: &[usize]) -> Option<Vec<usize>> {
        let places = &self.shared.places;
        let own = |column: usize| {
            let is_own = |place: &&Place| matches!(place, Place::Own);
            is_own(&&places[column]).then(|| places[..column].iter().filter(is_own).count())
        };
        if self.shared.filter.is_some() || (self.shared.filling.is_some() && !columns.is_empty()) {
            return None;
        }
        columns.iter().map(|&column| own(column)).collect()
    }
}

impl Scan for FilesScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.shared.clone(), current: None, passed_by: 0 }))
    }

    fn parallelism(&self) -> usize {
        self.parallelism
    }

    fn applies_filter(&self) -> bool {
        self.shared.filter.is_some()
    }

    fn applies_dynamic_filters(&self) -> bool {
        self.shared.format.input.is_some_and(|input| input.applies_dynamic_filters())
    }

    fn rows_by_id(&self) -> Option<Arc<dyn RowsById>> {
        self.shared.request.row_numbers.then(|| FileRows::of(self.shared.clone()))
    }

    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        let own = self.own_columns(columns)?;
        let mut all = Summary::empty(own.len());
        for file in &self.shared.files {
            // An error is told when the file is read.
            all.merge(self.shared.open(file).ok()?.summary(&own)?);
        }
        Some(all)
    }

    fn null_counts(&self, columns: &[usize]) -> Option<Vec<u64>> {
        let own = self.own_columns(columns)?;
        let mut all = vec![0; own.len()];
        for file in &self.shared.files {
            let counts = self.shared.open(file).ok()?.null_counts(&own)?;
            all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Some(all)
    }

    fn describe(&self) -> Vec<(String, String)> {
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = vec![
            ("Format".into(), self.shared.format.name.into()),
            ("Files".into(), self.shared.files.len().to_string()),
        ];
        if !self.shared.request.ranges.is_empty() {
            lines.push(("Units read".into(), state.next_task.to_string()));
            lines.push(("Units skipped".into(), state.pruned.units.to_string()));
        }
        if state.pruned.remembered > 0 {
            let remembered = state.pruned.remembered.to_string();
            lines.push(("Units skipped by the query condition cache".into(), remembered));
        }
        if state.pruned.known > 0 {
            let known = state.pruned.known.to_string();
            lines.push(("Units of which the query condition cache knows the rows".into(), known));
        }
        lines
    }
}

struct Unit {
    file: usize,
    task: u32,
    number: u32,
    reader: Box<dyn BlockReader>,
    bytes: u64,
    /// Rows that the reader left out, as far as the worker has counted them.
    passed_by: u64,
}

struct Worker {
    shared: Arc<Shared>,
    current: Option<Unit>,
    passed_by: u64,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            let Some(unit) = &mut self.current else {
                let Some((file, task, reader)) = self.shared.next_unit()? else { return Ok(None) };
                self.current = Some(Unit { file, task, number: 0, reader, bytes: 0, passed_by: 0 });
                continue;
            };
            let path = &self.shared.files[unit.file];
            let block =
                unit.reader.next_block(self.shared.max_block_size).map_err(|e| e.context(in_file(path)))?;
            let bytes = unit.reader.bytes_read();
            let new_bytes = bytes.saturating_sub(unit.bytes);
            self.shared.progress.file_bytes.fetch_add(new_bytes, Relaxed);
            events::add(Event::ReadBufferFromFileDescriptorReadBytes, new_bytes);
            unit.bytes = bytes;
            let passed_by = unit.reader.rows_passed_by();
            self.passed_by += passed_by.saturating_sub(unit.passed_by);
            unit.passed_by = passed_by;
            let Some(block) = block else {
                self.current = None;
                continue;
            };
            if block.is_empty() {
                continue;
            }
            let block = match &self.shared.filling {
                Some((declared, filling)) => {
                    let n_read = self.shared.request.wanted.len();
                    declared.filled(block, unit.reader.omitted(), filling, n_read)?
                }
                None => block,
            };
            let mut block = complete(block, &self.shared.places, path, unit.file)?;
            if let Some(filter) = &self.shared.filter
                && !unit.reader.applies_filter()
            {
                let n_rows = block.n_rows();
                block = filter.apply(block)?;
                self.passed_by += (n_rows - block.n_rows()) as u64;
                if block.is_empty() {
                    continue;
                }
            }
            unit.number += 1;
            let (task, number) = (unit.task, unit.number - 1);
            return Ok(Some(Morsel { block, task, number }));
        }
    }

    fn take_passed_by(&mut self) -> u64 {
        std::mem::take(&mut self.passed_by)
    }
}

/// Puts virtual columns between those of the file.
pub(crate) fn complete(block: Block, places: &[Place], path: &Path, file: usize) -> Result<Block> {
    let n_rows = block.n_rows();
    let mut own = block.into_columns().into_iter();
    let mut columns = Vec::with_capacity(places.len());
    let mut next = || own.next().ok_or_else(|| err!(LOGICAL_ERROR, "A reader gave too few columns"));
    for place in places {
        columns.push(match place {
            Place::Own => next()?,
            Place::Row => row_ids::row_ids(file, &next()?)?,
            Place::Virtual(name, ty) => {
                Column::constant(Vector::of_value(&about(path, name, ty), ty)?, n_rows)
            }
        });
    }
    Ok(Block::new(columns, n_rows))
}

/// The value of a column that the file itself does not hold.
fn about(path: &Path, name: &str, ty: &DataType) -> Value {
    let meta = || std::fs::metadata(path).ok();
    match name {
        "_file" => Value::string(path.file_name().unwrap_or_default().to_string_lossy().as_bytes()),
        "_path" => {
            let absolute = std::path::absolute(path).unwrap_or(path.to_path_buf());
            Value::string(absolute.to_string_lossy().as_bytes())
        }
        "_size" => meta().map_or(Value::Null, |m| Value::UInt(m.len())),
        "_time" => {
            let modified = meta().and_then(|m| m.modified().ok());
            let since = modified.and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
            since.map_or(Value::Null, |d| Value::UInt(d.as_secs().min(u32::MAX.into())))
        }
        _ => {
            let found = partitions(path).into_iter().find(|(key, _)| key == name);
            let text = found.map(|(_, value)| value).unwrap_or_default();
            match ty {
                DataType::Int64 => Value::Int(text.parse().unwrap_or(0)),
                _ => Value::string(text),
            }
        }
    }
}
