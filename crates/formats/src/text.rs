//! What text formats share: settings of text forms, and cells written column by column type.

use crate::{FormatSettings, WriteRequest, settings as of};
use chalet_columns::Block;
use chalet_text::{DateTimeInput, DateTimeOutput, Style, TextSettings, Writer};
use chalet_types::{DataType, TimeZone};

/// The settings of text forms under the settings of formats.
pub fn text_settings(s: &FormatSettings, time_zone: &TimeZone) -> TextSettings {
    TextSettings {
        time_zone: time_zone.clone(),
        date_time_output_format: match s.date_time_output_format {
            of::DateTimeOutputFormat::Simple => DateTimeOutput::Simple,
            of::DateTimeOutputFormat::Iso => DateTimeOutput::Iso,
            of::DateTimeOutputFormat::UnixTimestamp => DateTimeOutput::UnixTimestamp,
        },
        date_time_input_format: match s.date_time_input_format {
            of::DateTimeInputFormat::Basic => DateTimeInput::Basic,
            of::DateTimeInputFormat::BestEffort => DateTimeInput::BestEffort,
            of::DateTimeInputFormat::BestEffortUs => DateTimeInput::BestEffortUs,
        },
        date_time_overflow_throws: s.date_time_overflow_behavior == of::DateTimeOverflowBehavior::Throw,
        bool_true_representation: s.bool_true_representation.as_str().into(),
        bool_false_representation: s.bool_false_representation.as_str().into(),
        output_format_decimal_trailing_zeros: s.output_format_decimal_trailing_zeros,
        output_format_float_precision: s.output_format_float_precision,
        output_format_always_write_decimal_point_in_float_and_decimal: s
            .output_format_always_write_decimal_point_in_float_and_decimal,
        output_format_trim_fixed_string: s.output_format_trim_fixed_string,
        output_format_values_escape_quote_with_quote: s.output_format_values_escape_quote_with_quote,
        date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands: s
            .date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands,
        output_format_json_quote_64bit_integers: s.output_format_json_quote_64bit_integers,
        output_format_json_quote_64bit_floats: s.output_format_json_quote_64bit_floats,
        output_format_json_quote_denormals: s.output_format_json_quote_denormals,
        output_format_json_quote_decimals: s.output_format_json_quote_decimals,
        output_format_json_escape_forward_slashes: s.output_format_json_escape_forward_slashes,
        output_format_json_named_tuples_as_objects: s.output_format_json_named_tuples_as_objects,
        output_format_json_skip_null_value_in_named_tuples: s
            .output_format_json_skip_null_value_in_named_tuples,
        output_format_json_map_as_array_of_tuples: s.output_format_json_map_as_array_of_tuples,
        output_format_json_validate_utf8: s.output_format_json_validate_utf8,
        output_format_csv_serialize_tuple_into_separate_columns: s
            .output_format_csv_serialize_tuple_into_separate_columns,
        output_format_tsv_crlf_end_of_line: s.output_format_tsv_crlf_end_of_line,
        format_csv_delimiter: s.format_csv_delimiter.0,
        format_csv_null_representation: s.format_csv_null_representation.as_str().into(),
        format_tsv_null_representation: s.format_tsv_null_representation.as_str().into(),
        format_csv_allow_single_quotes: s.format_csv_allow_single_quotes,
        format_csv_allow_double_quotes: s.format_csv_allow_double_quotes,
        input_format_csv_empty_as_default: s.input_format_csv_empty_as_default,
        input_format_tsv_empty_as_default: s.input_format_tsv_empty_as_default,
        input_format_csv_trim_whitespaces: s.input_format_csv_trim_whitespaces,
        input_format_csv_arrays_as_nested_csv: s.input_format_csv_arrays_as_nested_csv,
        input_format_null_as_default: s.input_format_null_as_default,
        input_format_json_read_bools_as_numbers: s.input_format_json_read_bools_as_numbers,
        input_format_json_read_numbers_as_strings: s.input_format_json_read_numbers_as_strings,
        input_format_json_read_bools_as_strings: s.input_format_json_read_bools_as_strings,
        input_format_json_read_arrays_as_strings: s.input_format_json_read_arrays_as_strings,
        input_format_json_read_objects_as_strings: s.input_format_json_read_objects_as_strings,
        input_format_json_named_tuples_as_objects: s.input_format_json_named_tuples_as_objects,
        input_format_json_map_as_array_of_tuples: s.input_format_json_map_as_array_of_tuples,
        input_format_json_defaults_for_missing_elements_in_named_tuple: s
            .input_format_json_defaults_for_missing_elements_in_named_tuple,
        input_format_json_ignore_unknown_keys_in_named_tuple: s
            .input_format_json_ignore_unknown_keys_in_named_tuple,
        input_format_csv_enum_as_number: s.input_format_csv_enum_as_number,
        input_format_tsv_enum_as_number: s.input_format_tsv_enum_as_number,
        type_json_skip_duplicated_paths: s.type_json_skip_duplicated_paths,
        type_json_use_partial_match_to_skip_paths_by_regexp: s
            .type_json_use_partial_match_to_skip_paths_by_regexp,
        input_format_json_empty_as_default: s.input_format_json_empty_as_default,
        input_format_csv_use_default_on_bad_values: s.input_format_csv_use_default_on_bad_values,
        input_format_csv_deserialize_separate_columns_into_tuple: s
            .input_format_csv_deserialize_separate_columns_into_tuple,
        input_format_csv_missing_nullable_as_empty_string: s
            .input_format_csv_missing_nullable_as_empty_string,
        plain_follows_settings: true,
        plain_null_in_ascii: s.output_format_pretty_grid_charset == "ASCII",
        input_format_json_throw_on_bad_escape_sequence: s.input_format_json_throw_on_bad_escape_sequence,
        input_format_read_datetime_number_as_raw_value: s.input_format_read_datetime_number_as_raw_value,
        interval_output_format_kusto: s.interval_output_format == of::IntervalOutputFormat::Kusto,
        ..TextSettings::default()
    }
}

/// Writes the cells of rows, each column in one style.
pub struct Cells(Vec<Writer>);

impl Cells {
    pub fn new(request: &WriteRequest, style: Style) -> Cells {
        let settings = text_settings(&request.settings, &request.time_zone);
        Cells(request.header.iter().map(|(_, ty)| Writer::new(ty, style, &settings)).collect())
    }

    pub fn n_columns(&self) -> usize {
        self.0.len()
    }

    /// Appends one cell.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, block: &Block, column: usize, row: usize) {
        let (vector, row) = block.column(column).locate(row);
        self.0[column].write(out, vector, row);
    }

    /// Appends a row's cells with `between` between them.
    #[inline]
    pub fn write_row(&self, out: &mut Vec<u8>, block: &Block, row: usize, between: &[u8]) {
        for column in 0..self.0.len() {
            if column > 0 {
                out.extend_from_slice(between);
            }
            self.write(out, block, column, row);
        }
    }
}

/// The type's text, as headers show it.
pub fn type_text(ty: &DataType) -> String {
    ty.to_string()
}

/// Values of the type are aligned to the right in tables.
pub fn stands_right(ty: &DataType) -> bool {
    let ty = ty.bare();
    ty.is_number() && *ty != DataType::Bool
        || ty.is_date_or_time()
        || matches!(ty, DataType::Time | DataType::Time64(_) | DataType::Interval(_))
}
