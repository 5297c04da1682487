//! Settings as the rooms want them.

use super::Settings;
use chalet_base::Result;
use chalet_binder::BinderSettings;
use chalet_exec::{
    ExecSettings, GroupByOverflow, Limits, Overflow, RuntimeFilterPolicy, SpeedLimits, SpillLimits,
};
use chalet_formats::FormatSettings;
use chalet_function_api::context::{FunctionSettings, SettingLookup};
use chalet_types::{DataType, TimeZone, Value};
use std::sync::{Arc, LazyLock};

/// The kernel's default of `timeout_before_checking_execution_speed`.
const SPEED_SETTLED: std::time::Duration = std::time::Duration::from_secs(10);

/// Settings as the rooms want them.
#[derive(Debug)]
pub(crate) struct Effective {
    pub binder: Arc<BinderSettings>,
    pub exec: ExecSettings,
    pub limits: Limits,
    pub functions: Arc<FunctionSettings>,
    pub formats: Arc<FormatSettings>,
    pub time_zone: TimeZone,
    /// Time zone and all changed settings as a text: which of them a function looks at, it alone knows.
    pub changes: Arc<str>,
}

impl Settings {
    /// The settings as the rooms want them: made once for all statements that run with them.
    pub(crate) fn effective(&self) -> Result<Arc<Effective>> {
        if let Some(made) = self.effective.get() {
            return Ok(made.clone());
        }
        let time_zone = self.time_zone()?;
        let mut formats = FormatSettings::default();
        let mut changes = format!("|{}", time_zone.name());
        for (name, text) in self.changed() {
            formats.set(name, text)?;
            changes.push_str(&format!("|{name}={text:?}"));
        }
        let made = Arc::new(Effective {
            binder: Arc::new(self.for_binder()),
            exec: self.for_exec(),
            limits: self.for_limits(),
            functions: Arc::new(self.for_functions()),
            formats: Arc::new(formats),
            time_zone,
            changes: changes.into(),
        });
        Ok(self.effective.get_or_init(|| made).clone())
    }

    fn for_binder(&self) -> BinderSettings {
        let mut s = BinderSettings::default();
        let flags: [(&str, &mut bool); 24] = [
            ("join_any_take_last_row", &mut s.join_any_take_last_row),
            ("enable_global_with_statement", &mut s.enable_global_with_statement),
            ("prefer_column_name_to_alias", &mut s.prefer_column_name_to_alias),
            ("transform_null_in", &mut s.transform_null_in),
            ("allow_suspicious_types_in_group_by", &mut s.allow_suspicious_types_in_group_by),
            ("allow_suspicious_types_in_order_by", &mut s.allow_suspicious_types_in_order_by),
            ("join_use_nulls", &mut s.join_use_nulls),
            ("group_by_use_nulls", &mut s.group_by_use_nulls),
            ("force_grouping_standard_compatibility", &mut s.force_grouping_standard_compatibility),
            ("enable_positional_arguments", &mut s.enable_positional_arguments),
            ("aggregate_functions_null_for_empty", &mut s.aggregate_functions_null_for_empty),
            ("empty_result_for_aggregation_by_empty_set", &mut s.empty_result_for_aggregation_by_empty_set),
            ("single_join_prefer_left_table", &mut s.single_join_prefer_left_table),
            ("joined_subquery_requires_alias", &mut s.joined_subquery_requires_alias),
            ("enable_unaligned_array_join", &mut s.enable_unaligned_array_join),
            ("any_join_distinct_right_table_keys", &mut s.any_join_distinct_right_table_keys),
            ("asterisk_include_materialized_columns", &mut s.asterisk_include_materialized_columns),
            ("final", &mut s.final_),
            ("do_not_merge_across_partitions_select_final", &mut s.final_within_partitions),
            ("apply_prewhere_after_final", &mut s.prewhere_after_final),
            ("use_with_fill_by_sorting_prefix", &mut s.use_with_fill_by_sorting_prefix),
            ("enable_materialized_cte", &mut s.materialized_cte),
            ("asterisk_include_alias_columns", &mut s.asterisk_include_alias_columns),
            ("analyzer_compatibility_join_using_top_level_identifier", &mut s.using_means_aliases),
        ];
        for (name, field) in flags {
            *field = self.flag(name).unwrap_or(*field);
        }
        let empty = self.flag("empty_result_for_aggregation_by_constant_keys_on_empty_set");
        s.row_of_constant_keys = empty == Some(false);
        let texts: [(&str, &mut String); 7] = [
            ("join_algorithm", &mut s.join_algorithm),
            ("join_default_strictness", &mut s.join_default_strictness),
            ("union_default_mode", &mut s.union_default_mode),
            ("intersect_default_mode", &mut s.intersect_default_mode),
            ("except_default_mode", &mut s.except_default_mode),
            ("totals_mode", &mut s.totals_mode),
            ("additional_result_filter", &mut s.additional_result_filter),
        ];
        for (name, field) in texts {
            if let Some(text) = self.text(name) {
                *field = text.to_string();
            }
        }
        if let Some(filters) = self.text("additional_table_filters") {
            s.additional_table_filters = super::map_entries(filters);
        }
        if let Some(depth) = self.number("max_recursive_cte_evaluation_depth") {
            s.max_recursive_cte_evaluation_depth = depth;
        }
        if let Some(depth) = self.number("max_subquery_depth") {
            s.max_subquery_depth = depth;
        }
        s
    }

    fn for_exec(&self) -> ExecSettings {
        let mut s = ExecSettings::default();
        let size = |name| self.number(name).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        s.max_threads = size("max_threads").filter(|&n| n > 0).unwrap_or(s.max_threads);
        s.max_block_size = size("max_block_size").filter(|&n| n > 0).unwrap_or(s.max_block_size);
        let limits: [(&str, &mut u64); 5] = [
            ("max_rows_to_group_by", &mut s.max_rows_to_group_by),
            ("max_rows_in_join", &mut s.max_rows_in_join),
            ("max_rows_in_set", &mut s.max_rows_in_set),
            ("max_rows_to_sort", &mut s.max_rows_to_sort),
            ("max_rows_in_distinct", &mut s.max_rows_in_distinct),
        ];
        for (name, field) in limits {
            *field = self.number(name).unwrap_or(*field);
        }
        // The kernel's other algorithms go to disk where the limit is reached.
        let algorithm = self.text("join_algorithm").and_then(|list| list.split(',').next()).map(str::trim);
        let spills = ["full_sorting_merge", "grace_hash", "partial_merge", "prefer_partial_merge"];
        if algorithm.is_some_and(|first| spills.iter().any(|name| first.eq_ignore_ascii_case(name))) {
            s.max_rows_in_join = 0;
        }
        s.group_by_overflow = match self.text("group_by_overflow_mode") {
            Some("any") => GroupByOverflow::Any,
            Some("break") => GroupByOverflow::Break,
            _ => GroupByOverflow::Throw,
        };
        let flags: [(&str, &mut bool); 7] = [
            ("exact_rows_before_limit", &mut s.exact_rows_before_limit),
            ("optimize_count_from_files", &mut s.optimize_count_from_files),
            ("optimize_use_implicit_projections", &mut s.optimize_use_implicit_projections),
            ("optimize_move_to_prewhere", &mut s.optimize_move_to_prewhere),
            ("optimize_read_in_order", &mut s.optimize_read_in_order),
            ("use_top_k_dynamic_filtering", &mut s.use_top_k_dynamic_filtering),
            (
                "use_top_k_dynamic_filtering_for_variable_length_types",
                &mut s.use_top_k_dynamic_filtering_for_variable_length_types,
            ),
        ];
        for (name, field) in flags {
            *field = self.flag(name).unwrap_or(*field);
        }
        // The thresholds themselves are ours; the two together at 0 mean never, as in the kernel.
        let two_levels = ["group_by_two_level_threshold", "group_by_two_level_threshold_bytes"];
        s.two_level_aggregation = two_levels.iter().any(|name| self.number(name) != Some(0));
        let external: [(&str, &mut SpillLimits); 4] = [
            ("group_by", &mut s.external_group_by),
            ("sort", &mut s.external_sort),
            ("distinct", &mut s.external_distinct),
            ("join", &mut s.external_join),
        ];
        for (operator, limits) in external {
            let bytes = self.number(&format!("max_bytes_before_external_{operator}"));
            let ratio = self.ratio(&format!("max_bytes_ratio_before_external_{operator}"));
            *limits =
                SpillLimits { bytes: bytes.unwrap_or(limits.bytes), ratio: ratio.unwrap_or(limits.ratio) };
        }
        s.join_runtime_filters = self.for_runtime_filters();
        let parallel = self.number("parallel_hash_join_threshold");
        s.parallel_join_from_rows =
            parallel.map_or(s.parallel_join_from_rows, |rows| usize::try_from(rows).unwrap_or(usize::MAX));
        s
    }

    fn for_runtime_filters(&self) -> Option<RuntimeFilterPolicy> {
        let default = RuntimeFilterPolicy::DEFAULT;
        let most_passing = self.ratio("join_runtime_filter_pass_ratio_threshold_for_disabling");
        let blocks = self.number("join_runtime_filter_blocks_to_skip_before_reenabling");
        self.flag("enable_join_runtime_filters").unwrap_or(true).then(|| RuntimeFilterPolicy {
            most_passing: most_passing.unwrap_or(default.most_passing),
            blocks_to_skip: blocks.unwrap_or(default.blocks_to_skip),
        })
    }

    fn for_limits(&self) -> Limits {
        let number = |name| self.number(name).unwrap_or(0);
        let overflow = |name| match self.text(name) {
            Some("break") => Overflow::Break,
            _ => Overflow::Throw,
        };
        Limits {
            max_execution_time: self.seconds("max_execution_time").unwrap_or_default(),
            timeout_overflow: overflow("timeout_overflow_mode"),
            max_memory_usage: number("max_memory_usage"),
            max_rows_to_read: number("max_rows_to_read"),
            max_bytes_to_read: number("max_bytes_to_read"),
            read_overflow: overflow("read_overflow_mode"),
            max_temporary_data_on_disk_size: number("max_temporary_data_on_disk_size_for_query"),
            max_result_rows: number("max_result_rows"),
            max_result_bytes: number("max_result_bytes"),
            result_overflow: overflow("result_overflow_mode"),
            speed: SpeedLimits {
                min_rows_per_second: number("min_execution_speed"),
                max_rows_per_second: number("max_execution_speed"),
                min_bytes_per_second: number("min_execution_speed_bytes"),
                max_bytes_per_second: number("max_execution_speed_bytes"),
                max_estimated_time: self.seconds("max_estimated_execution_time").unwrap_or_default(),
                since: self.seconds("timeout_before_checking_execution_speed").unwrap_or(SPEED_SETTLED),
            },
        }
    }

    fn for_functions(&self) -> FunctionSettings {
        let mut s = FunctionSettings::default();
        let flags: [(&str, &mut bool); 13] = [
            ("cast_keep_nullable", &mut s.cast_keep_nullable),
            ("cast_ipv4_ipv6_default_on_conversion_error", &mut s.cast_ipv4_ipv6_default_on_conversion_error),
            ("allow_suspicious_low_cardinality_types", &mut s.allow_suspicious_low_cardinality_types),
            ("allow_suspicious_variant_types", &mut s.allow_suspicious_variant_types),
            ("use_variant_as_common_type", &mut s.use_variant_as_common_type),
            ("decimal_check_overflow", &mut s.decimal_check_overflow),
            ("transform_null_in", &mut s.transform_null_in),
            ("formatdatetime_f_prints_single_zero", &mut s.formatdatetime_f_prints_single_zero),
            (
                "formatdatetime_parsedatetime_m_is_month_name",
                &mut s.formatdatetime_parsedatetime_m_is_month_name,
            ),
            (
                "splitby_max_substrings_includes_remaining_string",
                &mut s.splitby_max_substrings_includes_remaining_string,
            ),
            ("enable_named_columns_in_function_tuple", &mut s.enable_named_columns_in_function_tuple),
            ("cast_string_to_dynamic_use_inference", &mut s.cast_string_to_dynamic_use_inference),
            (
                "enable_extended_results_for_datetime_functions",
                &mut s.enable_extended_results_for_datetime_functions,
            ),
        ];
        for (name, field) in flags {
            *field = self.flag(name).unwrap_or(*field);
        }
        if let Some(text) = self.text("date_time_overflow_behavior") {
            s.date_time_overflow_behavior = text.to_string();
        }
        if let Some(text) = self.text("cast_string_to_date_time_mode").or(self.text("date_time_input_format"))
        {
            s.date_time_input_format = text.to_string();
        }
        if let Some(n) = self.number("function_range_max_elements_in_block") {
            s.function_range_max_elements_in_block = n;
        }
        if let Some(n) = self.number("regexp_max_matches_per_row") {
            s.regexp_max_matches_per_row = n;
        }
        // Not what holds this.
        let all = Settings { effective: Arc::default(), ..self.clone() };
        s.all = SettingLookup(Arc::new(move |name| all.typed(name)));
        s
    }

    /// The value of a setting with the type that `getSetting` gives it.
    fn typed(&self, name: &str) -> Option<(Value, DataType)> {
        let known = super::find(name)?;
        let text = self.get(name)?;
        // Integers have the type that they would have as literals.
        Some(match known.kind {
            "Bool" => (Value::from(text == "1"), DataType::Bool),
            "UInt64" | "NonZeroUInt64" | "MaxThreads" | "Milliseconds" => {
                let n: u64 = super::number_of_auto(&text).parse().unwrap_or(0);
                let ty = match n {
                    0..=0xff => DataType::UInt8,
                    0x100..=0xffff => DataType::UInt16,
                    0x1_0000..=0xffff_ffff => DataType::UInt32,
                    _ => DataType::UInt64,
                };
                (Value::UInt(n), ty)
            }
            "Int64" | "Int32" => {
                let n: i64 = text.parse().unwrap_or(0);
                let ty = match n {
                    -0x80..=0x7f => DataType::Int8,
                    -0x8000..=0x7fff => DataType::Int16,
                    -0x8000_0000..=0x7fff_ffff => DataType::Int32,
                    _ => DataType::Int64,
                };
                (Value::Int(n), ty)
            }
            "Float" | "Double" | "Seconds" => (Value::Float(text.parse().unwrap_or(0.0)), DataType::Float64),
            _ => (Value::from(text.as_str()), DataType::String),
        })
    }

    /// `session_timezone`, else the machine's.
    fn time_zone(&self) -> Result<TimeZone> {
        match self.text("session_timezone") {
            Some(name) if !name.is_empty() => TimeZone::named(name),
            _ => Ok(MACHINE_ZONE.clone()),
        }
    }
}

/// `TZ`, else what the machine is set to, else UTC.
static MACHINE_ZONE: LazyLock<TimeZone> = LazyLock::new(|| {
    let from_variable = std::env::var("TZ").ok().filter(|name| !name.is_empty());
    let from_file = || {
        let target = std::fs::read_link("/etc/localtime").ok()?;
        let text = target.to_str()?.to_string();
        text.split_once("zoneinfo/").map(|(_, name)| name.to_string())
    };
    let name = from_variable.or_else(from_file).unwrap_or_else(|| "UTC".into());
    let name = match name.trim_start_matches(':') {
        "Etc/UTC" | "UTC" | "Universal" | "Zulu" => "UTC",
        other => other,
    };
    TimeZone::named(name).unwrap_or_else(|_| TimeZone::utc())
});
