//! How types that Arrow lacks are written; the fields are the settings `output_format_arrow_*`.

use std::sync::Arc;

/// The Arrow type of String.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringsAs {
    /// `string`, as the kernel writes by default. The bytes are not checked to be UTF-8.
    Utf8,
    /// `binary`.
    Binary,
    /// `string_view`: shares the bytes with the column.
    Utf8View,
    /// `binary_view`: shares the bytes with the column.
    BinaryView,
}

#[derive(Clone, Debug)]
pub struct ExportOptions {
    pub strings: StringsAs,
    pub fixed_string_as_fixed_byte_array: bool,
    pub low_cardinality_as_dictionary: bool,
    pub use_signed_indexes_for_dictionary: bool,
    pub use_64_bit_indexes_for_dictionary: bool,
    pub date_as_uint16: bool,
    /// Without the `arrow.uuid` extension name.
    pub uuid_as_fixed_byte_array: bool,
    pub unsupported_types_as_binary: bool,
    /// Values of a Variant as texts instead of a union.
    pub variant_as_string: bool,
    /// The zone of a DateTime64 that names none.
    pub time_zone: Arc<str>,
}

impl Default for ExportOptions {
    fn default() -> Self {
        ExportOptions {
            strings: StringsAs::Utf8,
            fixed_string_as_fixed_byte_array: true,
            low_cardinality_as_dictionary: false,
            use_signed_indexes_for_dictionary: true,
            use_64_bit_indexes_for_dictionary: false,
            date_as_uint16: false,
            uuid_as_fixed_byte_array: false,
            unsupported_types_as_binary: true,
            variant_as_string: false,
            time_zone: "UTC".into(),
        }
    }
}
