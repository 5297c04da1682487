//! What changes text forms, by the names of the kernel's settings.

use chalet_types::TimeZone;

/// How timestamps are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateTimeOutput {
    /// `2020-01-02 03:04:05`
    #[default]
    Simple,
    /// `2020-01-02T03:04:05Z`, always in UTC
    Iso,
    /// `1577934245`
    UnixTimestamp,
}

/// How timestamps are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DateTimeInput {
    /// `YYYY-MM-DD hh:mm:ss` and unix seconds only
    Basic,
    /// Nearly anything, month before day only when it cannot be otherwise
    #[default]
    BestEffort,
    /// Like `BestEffort`, month before day
    BestEffortUs,
}

impl DateTimeInput {
    /// The mode by its name in settings.
    pub fn named(name: &str) -> Option<DateTimeInput> {
        Some(match name {
            "basic" => DateTimeInput::Basic,
            "best_effort" => DateTimeInput::BestEffort,
            "best_effort_us" => DateTimeInput::BestEffortUs,
            _ => return None,
        })
    }
}

impl DateTimeOutput {
    /// The mode by its name in settings.
    pub fn named(name: &str) -> Option<DateTimeOutput> {
        Some(match name {
            "simple" => DateTimeOutput::Simple,
            "iso" => DateTimeOutput::Iso,
            "unix_timestamp" => DateTimeOutput::UnixTimestamp,
            _ => return None,
        })
    }
}

/// Every field but `time_zone` is named as the setting; [`Default`] is the kernel's.
#[derive(Clone, Debug)]
pub struct TextSettings {
    /// Of DateTime and DateTime64 types that name none.
    pub time_zone: TimeZone,
    pub date_time_output_format: DateTimeOutput,
    pub date_time_input_format: DateTimeInput,
    /// A Date or DateTime outside of its range is an error and not the nearest in it.
    pub date_time_overflow_throws: bool,
    pub bool_true_representation: Box<str>,
    pub bool_false_representation: Box<str>,
    pub output_format_decimal_trailing_zeros: bool,
    /// Digits behind the point at most; 0 for as many as it takes.
    pub output_format_float_precision: u64,
    pub output_format_always_write_decimal_point_in_float_and_decimal: bool,
    pub output_format_trim_fixed_string: bool,
    pub output_format_values_escape_quote_with_quote: bool,
    pub date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands: bool,
    pub output_format_json_quote_64bit_integers: bool,
    pub output_format_json_quote_64bit_floats: bool,
    pub output_format_json_quote_denormals: bool,
    pub output_format_json_quote_decimals: bool,
    pub output_format_json_escape_forward_slashes: bool,
    pub output_format_json_named_tuples_as_objects: bool,
    pub output_format_json_skip_null_value_in_named_tuples: bool,
    pub output_format_json_map_as_array_of_tuples: bool,
    pub output_format_json_validate_utf8: bool,
    pub output_format_csv_serialize_tuple_into_separate_columns: bool,
    pub output_format_tsv_crlf_end_of_line: bool,
    pub format_csv_delimiter: u8,
    pub format_csv_null_representation: Box<str>,
    pub format_tsv_null_representation: Box<str>,
    pub format_csv_allow_single_quotes: bool,
    pub format_csv_allow_double_quotes: bool,
    pub input_format_csv_empty_as_default: bool,
    pub input_format_tsv_empty_as_default: bool,
    pub input_format_csv_trim_whitespaces: bool,
    pub input_format_csv_arrays_as_nested_csv: bool,
    pub input_format_null_as_default: bool,
    pub input_format_json_read_bools_as_numbers: bool,
    pub input_format_json_read_numbers_as_strings: bool,
    pub input_format_json_read_bools_as_strings: bool,
    pub input_format_json_read_arrays_as_strings: bool,
    pub input_format_json_read_objects_as_strings: bool,
    pub input_format_json_named_tuples_as_objects: bool,
    pub input_format_json_map_as_array_of_tuples: bool,
    pub input_format_json_defaults_for_missing_elements_in_named_tuple: bool,
    pub input_format_json_ignore_unknown_keys_in_named_tuple: bool,
    pub input_format_decimal_overflow_behavior_wrap: bool,
    /// Without it `1.5` read as an enum's number is an error; kept for the readers of formats.
    pub input_format_csv_enum_as_number: bool,
    pub input_format_tsv_enum_as_number: bool,
    pub type_json_skip_duplicated_paths: bool,
    pub type_json_use_partial_match_to_skip_paths_by_regexp: bool,
    pub input_format_json_empty_as_default: bool,
    pub input_format_csv_use_default_on_bad_values: bool,
    pub input_format_csv_deserialize_separate_columns_into_tuple: bool,
    pub input_format_csv_missing_nullable_as_empty_string: bool,
    /// Intervals as days, hours, minutes and seconds, as Kusto has them; not months and years.
    pub interval_output_format_kusto: bool,
    /// Whole values in [`Style::Plain`](crate::Style::Plain) follow the settings too, as formats write them; casts do not.
    pub plain_follows_settings: bool,
    /// NULL in [`Style::Plain`](crate::Style::Plain) is spelled in letters of ASCII.
    pub plain_null_in_ascii: bool,
    /// Escapes in strings of JSON that mean nothing are errors, not text.
    pub input_format_json_throw_on_bad_escape_sequence: bool,
    /// A number that is read as a DateTime64 counts its ticks, not seconds.
    pub input_format_read_datetime_number_as_raw_value: bool,
}

impl Default for TextSettings {
    fn default() -> Self {
        TextSettings {
            time_zone: TimeZone::utc(),
            date_time_output_format: DateTimeOutput::Simple,
            date_time_input_format: DateTimeInput::default(),
            date_time_overflow_throws: false,
            bool_true_representation: "true".into(),
            bool_false_representation: "false".into(),
            output_format_decimal_trailing_zeros: false,
            output_format_float_precision: 0,
            output_format_always_write_decimal_point_in_float_and_decimal: false,
            output_format_trim_fixed_string: false,
            output_format_values_escape_quote_with_quote: false,
            date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands: false,
            output_format_json_quote_64bit_integers: false,
            output_format_json_quote_64bit_floats: false,
            output_format_json_quote_denormals: false,
            output_format_json_quote_decimals: false,
            output_format_json_escape_forward_slashes: true,
            output_format_json_named_tuples_as_objects: true,
            output_format_json_skip_null_value_in_named_tuples: false,
            output_format_json_map_as_array_of_tuples: false,
            output_format_json_validate_utf8: false,
            output_format_csv_serialize_tuple_into_separate_columns: true,
            output_format_tsv_crlf_end_of_line: false,
            format_csv_delimiter: b',',
            format_csv_null_representation: "\\N".into(),
            format_tsv_null_representation: "\\N".into(),
            format_csv_allow_single_quotes: false,
            format_csv_allow_double_quotes: true,
            input_format_csv_empty_as_default: true,
            input_format_tsv_empty_as_default: false,
            input_format_csv_trim_whitespaces: true,
            input_format_csv_arrays_as_nested_csv: false,
            input_format_null_as_default: true,
            input_format_json_read_bools_as_numbers: true,
            input_format_json_read_numbers_as_strings: true,
            input_format_json_read_bools_as_strings: true,
            input_format_json_read_arrays_as_strings: true,
            input_format_json_read_objects_as_strings: true,
            input_format_json_named_tuples_as_objects: true,
            input_format_json_map_as_array_of_tuples: false,
            input_format_json_defaults_for_missing_elements_in_named_tuple: true,
            input_format_json_ignore_unknown_keys_in_named_tuple: true,
            input_format_decimal_overflow_behavior_wrap: false,
            input_format_csv_enum_as_number: false,
            input_format_tsv_enum_as_number: false,
            type_json_skip_duplicated_paths: false,
            type_json_use_partial_match_to_skip_paths_by_regexp: true,
            input_format_json_empty_as_default: false,
            input_format_csv_use_default_on_bad_values: false,
            input_format_csv_deserialize_separate_columns_into_tuple: true,
            input_format_csv_missing_nullable_as_empty_string: false,
            interval_output_format_kusto: false,
            plain_follows_settings: false,
            plain_null_in_ascii: false,
            input_format_json_throw_on_bad_escape_sequence: true,
            input_format_read_datetime_number_as_raw_value: false,
        }
    }
}
