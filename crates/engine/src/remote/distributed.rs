//! Tables of the engine Distributed: the rows are those of a table of each shard of a cluster, which is looked up when the table is used.
//! Rows that are inserted go to the shards by the sharding key.

use super::insert::Division;
use super::sql::Narrowing;
use super::{RemoteTable, cluster, reach, remote_name};
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::{Result, bail, ensure};
use chalet_columns::Block;
use chalet_exec::expression::{Program, layout};
use chalet_storage::{Scan, ScanRequest, Table, TableSchema};
use chalet_types::DataType;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What its definition says.
#[derive(Clone)]
pub(crate) struct Distributed {
    pub schema: TableSchema,
    pub cluster: String,
    pub database: String,
    pub table: String,
    /// As SQL.
    pub sharding_key: Option<String>,
}

impl Distributed {
    /// The table of the servers, as a statement reads and writes it.
    pub fn attached(&self, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
        let reach = reach(cluster::shards(&self.cluster, ctx)?, ctx);
        let n_shards = reach.shards.len();
        let takes_any = ctx.state.settings.flag("insert_distributed_one_random_shard") == Some(true);
        let division = match &self.sharding_key {
            Some(key) => Some(by_key(key, &self.schema, n_shards, ctx)?),
            None if takes_any => Some(any_shard(n_shards)),
            None => None,
        };
        Ok(Arc::new(RemoteTable {
            reach: Arc::new(reach),
            name: remote_name(&self.database, &self.table).into(),
            schema: self.schema.clone(),
            made: None,
            narrowing: Narrowing::default(),
            together: None,
            division,
        }))
    }

    /// Fails where the sharding key cannot be computed.
    pub fn validate(&self, ctx: &QueryContext) -> Result<()> {
        let Some(key) = &self.sharding_key else { return Ok(()) };
        let (_, bound) = bind_stored([&**key], &self.schema, ctx)?;
        bound.iter().try_for_each(|expr| check_key(expr.ty()))
    }
}

/// The shard of each row is the rest of its key.
pub(super) fn by_key(
    key: &str,
    schema: &TableSchema,
    n_shards: usize,
    ctx: &QueryContext,
) -> Result<Division> {
    let (fields, bound) = bind_stored([key], schema, ctx)?;
    let Some(expr) = bound.into_iter().next() else { bail!(LOGICAL_ERROR, "No sharding key") };
    check_key(expr.ty())?;
    let expr = chalet_binder::cast(ctx, expr, &DataType::UInt64)?;
    let program = Program::new(&[&expr], &layout(&fields), &ctx.functions)?;
    let n_shards = n_shards as u64;
    Ok(Arc::new(move |block: &Block| {
        let keys = program.evaluate(block)?.swap_remove(0).into_flat();
        Ok(keys.values::<u64>()?.iter().map(|key| (key % n_shards) as usize).collect())
    }))
}

fn check_key(ty: &DataType) -> Result<()> {
    ensure!(
        ty.recursively_without_low_cardinality().is_integer(),
        TYPE_MISMATCH,
        "Sharding expression has type {ty}, but should be one of integer type"
    );
    Ok(())
}

/// Each block to one of the shards.
fn any_shard(n_shards: usize) -> Division {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Arc::new(move |block: &Block| {
        let at = NEXT.fetch_add(1, Relaxed) % n_shards as u64;
        Ok(vec![at as usize; block.n_rows()])
    })
}

impl Table for Distributed {
    fn engine(&self) -> &str {
        "Distributed"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "Tables of the engine Distributed are read as tables of their servers")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
