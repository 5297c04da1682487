//! SETTINGS of a table of the MergeTree family: all that the kernel knows are taken and shown as they were written. Those that
//! are about how the kernel lays rows out and when it merges have no effect.

use crate::query_context::QueryContext;
use crate::settings::{self, merge_tree};
use crate::written_settings::setting_text;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_storage::merge_tree::{ImplicitIndexes, KeptBlocks, TableSettings};
use chalet_syntax::ast::{self, ExprKind};

const GRANULARITY: &str = "index_granularity";
const GRANULARITY_BYTES: &str = "index_granularity_bytes";
const LEAST_GRANULARITY_BYTES: &str = "min_index_granularity_bytes";
/// Rows of a granule, unless a setting says otherwise.
const DEFAULT_GRANULARITY: usize = 8192;
/// Bytes of a granule, at least, unless a setting says otherwise.
const DEFAULT_LEAST_BYTES: u64 = 1024;
/// The one disk, and the one policy of where parts are.
const ONLY: &str = "default";

/// The settings as they are shown, and what they say.
pub(crate) struct MergeTreeSettings {
    shown: Vec<String>,
    pub nullable_key: bool,
    pub float_partition_key: bool,
    /// May the sampling key be no part of the primary one?
    pub sampling_beside_key: bool,
    /// Must it be an unsigned integer?
    pub checks_sampling: bool,
    /// May tables whose merges change rows have projections?
    pub merges_projections: bool,
    /// May DELETE FROM change tables that have projections?
    pub rebuilds_projections: bool,
    /// Do rows keep the number of the block that they came with, and their place in it?
    pub keeps_block_number: bool,
    pub keeps_block_offset: bool,
    pub of_table: TableSettings,
    /// May OPTIMIZE drop rows that say that they are deleted?
    pub cleanup: bool,
}

/// Fails for a name that neither tables of the family nor sessions have. A setting of the session may stand there too.
pub(super) fn check_name(name: &str, engine: &str) -> Result<()> {
    let is_known = merge_tree::find(name).is_some() || settings::find(name).is_some();
    ensure!(is_known, UNKNOWN_SETTING, "Unknown setting '{name}': for storage {engine}");
    Ok(())
}

/// The value of one setting, in the form that it is compared and read in; `None` for one of the session.
pub(crate) fn value_of(setting: &ast::Setting, ctx: &QueryContext) -> Result<Option<String>> {
    let Some(known) = merge_tree::find(&setting.name.name) else { return Ok(None) };
    let ast::SettingValue::Expr(value) = &setting.value else {
        return Ok(Some(known.known.default.to_string()));
    };
    if let ExprKind::Call(call) = &value.kind {
        ensure!(call.name != "disk", NOT_IMPLEMENTED, "Disks that a table defines are not supported");
    }
    let literal = bind_constant(value, ctx, &ctx.ids)?;
    let text = setting_text(&literal.value(), &literal.ty);
    known.value(&literal.value(), &text).map(Some)
}

impl MergeTreeSettings {
    pub fn of(written: &[ast::Setting], ctx: &QueryContext) -> Result<MergeTreeSettings> {
        let mut settings = MergeTreeSettings {
            shown: Vec::new(),
            nullable_key: false,
            float_partition_key: false,
            sampling_beside_key: false,
            checks_sampling: true,
            merges_projections: false,
            rebuilds_projections: false,
            keeps_block_number: false,
            keeps_block_offset: false,
            of_table: TableSettings {
                granularity: DEFAULT_GRANULARITY,
                dedup_window: 0,
                keeps_blocks: KeptBlocks::default(),
                is_adaptive: true,
                implicit_indexes: ImplicitIndexes::default(),
            },
            cleanup: false,
        };
        let (mut bytes, mut least_bytes) = (None, DEFAULT_LEAST_BYTES);
        let mut has_granularity = false;
        let mut implicit = ImplicitIndexes::default();
        for setting in written {
            let name = setting.name.name.as_str();
            let ast::SettingValue::Expr(as_written) = &setting.value else { continue };
            let Some(value) = value_of(setting, ctx)? else { continue };
            let number = || value.parse::<u64>().unwrap_or(0);
            let rows = || usize::try_from(number()).unwrap_or(usize::MAX);
            match name {
                GRANULARITY => {
                    ensure!(number() > 0, BAD_ARGUMENTS, "{name}: value 0 makes no sense");
                    settings.of_table.granularity = rows();
                    has_granularity = true;
                }
                GRANULARITY_BYTES => bytes = Some(number()),
                LEAST_GRANULARITY_BYTES => least_bytes = number(),
                "non_replicated_deduplication_window" => settings.of_table.dedup_window = rows(),
                "enable_block_number_column" => settings.keeps_block_number = number() != 0,
                "enable_block_offset_column" => settings.keeps_block_offset = number() != 0,
                "add_minmax_index_for_numeric_columns" => implicit.numbers = number() != 0,
                "add_minmax_index_for_string_columns" => implicit.strings = number() != 0,
                "add_minmax_index_for_temporal_columns" => implicit.times = number() != 0,
                "allow_experimental_replacing_merge_with_cleanup" => settings.cleanup = number() != 0,
                "allow_nullable_key" => settings.nullable_key = number() != 0,
                "allow_floating_point_partition_key" => settings.float_partition_key = number() != 0,
                "compatibility_allow_sampling_expression_not_in_primary_key" => {
                    settings.sampling_beside_key = number() != 0
                }
                "check_sample_column_is_correct" => settings.checks_sampling = number() != 0,
                "deduplicate_merge_projection_mode" => settings.merges_projections = value != "throw",
                "lightweight_mutation_projection_mode" => settings.rebuilds_projections = value != "throw",
                "storage_policy" if value != ONLY => {
                    bail!(UNKNOWN_POLICY, "Unknown storage policy `{value}`")
                }
                "disk" if value != ONLY => bail!(UNKNOWN_DISK, "Unknown disk {value}"),
                _ => {}
            }
            settings.shown.push(format!("{name} = {as_written}"));
        }
        settings.of_table.keeps_blocks =
            KeptBlocks { number: settings.keeps_block_number, offset: settings.keeps_block_offset };
        settings.of_table.implicit_indexes = implicit;
        settings.of_table.is_adaptive = bytes != Some(0);
        if let Some(bytes) = bytes.filter(|&bytes| bytes > 0) {
            ensure!(
                bytes >= least_bytes,
                BAD_ARGUMENTS,
                "{GRANULARITY_BYTES}: {bytes} is lower than specified {LEAST_GRANULARITY_BYTES}: {least_bytes}"
            );
        }
        if !has_granularity {
            settings.shown.push(format!("{GRANULARITY} = {DEFAULT_GRANULARITY}"));
        }
        Ok(settings)
    }

    /// As SHOW CREATE prints them.
    pub fn shown(&self) -> String {
        format!("\nSETTINGS {}", self.shown.join(", "))
    }
}
