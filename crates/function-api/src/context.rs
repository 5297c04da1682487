//! What a function may know beside its arguments.

use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_types::{DataType, TimeZone, Value};
use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError};

/// Facts of the session and the query; the same for all calls of one query.
#[derive(Clone, Debug)]
pub struct Context {
    /// `session_timezone`, else the machine's.
    pub time_zone: TimeZone,
    /// Start of the query, nanoseconds since 1970-01-01 UTC.
    pub start_ns: i64,
    pub database: String,
    pub user: String,
    pub query_id: String,
    pub interrupt: Interrupt,
    pub settings: Arc<FunctionSettings>,
    pub host: Host,
    pub shared: Shared,
}

/// What functions tell each other while a query runs, a value per type.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Shared {
    /// The query's value of this type; the default where none was asked for before.
    pub fn get<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default())).clone();
        value.downcast().unwrap_or_default()
    }

    /// Are both those of one query?
    pub fn is_same(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

/// What runs the query, for functions that come from its own room: nobody else knows the type.
#[derive(Clone, Default)]
pub struct Host(pub Option<Arc<dyn Any + Send + Sync>>);

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Host")
    }
}

/// Asks whether the query shall stop, for functions that take long on purpose.
#[derive(Clone, Default)]
pub struct Interrupt(pub Option<Arc<dyn Fn() -> Result<()> + Send + Sync>>);

impl Interrupt {
    /// The error that ends the query, if it shall stop.
    pub fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |check| check())
    }
}

impl std::fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupt")
    }
}

/// The settings that change what functions do, by the kernel's names.
#[derive(Clone, Debug)]
pub struct FunctionSettings {
    pub cast_keep_nullable: bool,
    /// `basic` or `best_effort` or `best_effort_us`: how casts read timestamps.
    pub cast_string_to_date_time_mode: String,
    pub cast_ipv4_ipv6_default_on_conversion_error: bool,
    /// `ignore` or `throw` or `saturate`.
    pub date_time_overflow_behavior: String,
    /// `basic` or `best_effort` or `best_effort_us`: how formats read timestamps.
    pub date_time_input_format: String,
    pub allow_suspicious_low_cardinality_types: bool,
    pub allow_suspicious_variant_types: bool,
    /// What has no common type becomes a Variant.
    pub use_variant_as_common_type: bool,
    pub decimal_check_overflow: bool,
    pub transform_null_in: bool,
    pub function_range_max_elements_in_block: u64,
    pub regexp_max_matches_per_row: u64,
    pub formatdatetime_f_prints_single_zero: bool,
    pub formatdatetime_parsedatetime_m_is_month_name: bool,
    pub splitby_max_substrings_includes_remaining_string: bool,
    pub cast_string_to_dynamic_use_inference: bool,
    pub enable_extended_results_for_datetime_functions: bool,
    pub enable_named_columns_in_function_tuple: bool,
    /// Every setting of the query by name, for `getSetting`.
    pub all: SettingLookup,
}

/// Looks a setting up by name.
#[derive(Clone)]
pub struct SettingLookup(pub Arc<dyn Fn(&str) -> Option<(Value, DataType)> + Send + Sync>);

impl std::fmt::Debug for SettingLookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SettingLookup")
    }
}

impl Default for FunctionSettings {
    fn default() -> Self {
        FunctionSettings {
            cast_keep_nullable: false,
            cast_string_to_date_time_mode: "best_effort".into(),
            cast_ipv4_ipv6_default_on_conversion_error: false,
            date_time_overflow_behavior: "ignore".into(),
            date_time_input_format: "best_effort".into(),
            allow_suspicious_low_cardinality_types: false,
            allow_suspicious_variant_types: false,
            use_variant_as_common_type: true,
            decimal_check_overflow: true,
            transform_null_in: false,
            function_range_max_elements_in_block: 500_000_000,
            regexp_max_matches_per_row: 1000,
            formatdatetime_f_prints_single_zero: false,
            formatdatetime_parsedatetime_m_is_month_name: true,
            splitby_max_substrings_includes_remaining_string: false,
            cast_string_to_dynamic_use_inference: false,
            enable_extended_results_for_datetime_functions: false,
            enable_named_columns_in_function_tuple: false,
            all: SettingLookup(Arc::new(|_| None)),
        }
    }
}

impl Default for Context {
    fn default() -> Self {
        Context {
            time_zone: TimeZone::utc(),
            start_ns: 0,
            database: "default".into(),
            user: "default".into(),
            query_id: String::new(),
            interrupt: Interrupt::default(),
            settings: Arc::default(),
            host: Host::default(),
            shared: Shared::default(),
        }
    }
}
