//! `INSERT INTO FUNCTION file('part_{_partition_id}.csv') PARTITION BY expr`: the rows of each value of an expression go to a file of their
//! own, whose path has the value in the place of `{_partition_id}`.

use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure};
use chalet_binder::{Environment, TableArgument};
use chalet_columns::Block;
use chalet_exec::expression::{Program, layout};
use chalet_storage::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_syntax::ast;
use chalet_types::Value;
use std::any::Any;
use std::sync::Arc;

/// What stands for the value in a path.
const PLACE: &str = "{_partition_id}";

/// Where a statement writes that names its partitions.
pub(super) struct Partitioned {
    function: String,
    args: Vec<TableArgument>,
    schema: TableSchema,
    /// Of the value as text.
    expr: String,
    ctx: QueryContext,
}

impl Partitioned {
    /// The files of a call of `file`, if its path has a place for the value.
    pub fn files(
        call: &ast::Call,
        args: &[TableArgument],
        expr: &ast::Expr,
        ctx: &QueryContext,
    ) -> Result<Option<Arc<dyn Table>>> {
        let has_place = match args.first() {
            Some(TableArgument::Value(path, _)) => path.as_str().is_some_and(|path| path.contains(PLACE)),
            _ => false,
        };
        if call.name != "file" || !has_place {
            return Ok(None);
        }
        let args = args.to_vec();
        let expr = format!("toString({expr})");
        let schema = ctx.table_function(&call.name, &at(&args, "0"))?.schema();
        let made = Partitioned { function: call.name.clone(), args, schema, expr, ctx: ctx.clone() };
        Ok(Some(Arc::new(made)))
    }
}

/// The arguments with a value in the path.
fn at(args: &[TableArgument], value: &str) -> Vec<TableArgument> {
    let mut args = args.to_vec();
    if let Some(TableArgument::Value(path, _)) = args.first_mut() {
        *path = Value::string(path.as_str().unwrap_or_default().replace(PLACE, value));
    }
    args
}

impl Table for Partitioned {
    fn engine(&self) -> &str {
        "File"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "Files of partitions are only written")
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        let (fields, bound) = bind_stored([&*self.expr], &self.schema, &self.ctx)?;
        let value = Program::new(&[&bound[0]], &layout(&fields), &self.ctx.functions)?;
        let (function, args) = (self.function.clone(), self.args.clone());
        Ok(Box::new(Files { function, args, value, ctx: self.ctx.clone(), files: HashMap::default() }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Files {
    function: String,
    args: Vec<TableArgument>,
    value: Program,
    ctx: QueryContext,
    files: HashMap<String, Box<dyn Inserter>>,
}

impl Files {
    fn open(&self, value: &str) -> Result<Box<dyn Inserter>> {
        let is_name = !value.is_empty() && !value.contains(['/', '\\', '\0', '*', '?', '{', '}']);
        ensure!(
            is_name,
            CANNOT_PARSE_TEXT,
            "Illegal character in the partition id {value:?}, which is a part of a file's name"
        );
        self.ctx.table_function(&self.function, &at(&self.args, value))?.insert()
    }
}

impl Inserter for Files {
    fn write(&mut self, block: Block) -> Result<()> {
        let values = self.value.evaluate(&block)?.swap_remove(0);
        let mut rows: Vec<(String, Vec<u32>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::default();
        for row in 0..block.n_rows() {
            let value = values.value(row).as_str().unwrap_or_default().to_string();
            let at = *places.entry(value).or_insert_with_key(|value| {
                rows.push((value.clone(), Vec::new()));
                rows.len() - 1
            });
            rows[at].1.push(row as u32);
        }
        for (value, rows) in rows {
            let mut file = match self.files.remove(&value) {
                Some(file) => file,
                None => self.open(&value)?,
            };
            file.write(block.gather(&rows))?;
            self.files.insert(value, file);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.files.into_values().try_for_each(Inserter::finish)
    }
}
