//! How clients before revision 54429 write the value of a setting: by its kind, which both sides know and nobody sends.

use chalet_client::settings::Form;
use chalet_engine::settings::find;

/// Numbers and flags that such clients send, and that are settings no longer: they are passed over.
const GONE: [&str; 7] = [
    "allow_experimental_low_cardinality_type",
    "asterisk_left_columns_only",
    "compile",
    "insert_sample_with_metadata",
    "mark_cache_min_lifetime",
    "merge_tree_uniform_read_distribution",
    "min_count_to_compile",
];

/// The form of a setting; none of one that is not known.
pub(super) fn old_form(name: &str) -> Option<Form> {
    if GONE.contains(&name) {
        return Some(Form::Unsigned);
    }
    Some(match find(name)?.kind {
        "Bool" | "BoolAuto" | "UInt64" | "UInt64Auto" | "NonZeroUInt64" | "MaxThreads" | "Milliseconds"
        | "Seconds" => Form::Unsigned,
        "Int32" | "Int64" => Form::Signed,
        // Floats, characters and words.
        _ => Form::Text,
    })
}
