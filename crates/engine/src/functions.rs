//! The functions and formats that every session knows, registered once per process.

use crate::own_functions;
use chalet_formats::Registry as Formats;
use chalet_function_api::Registry;
use std::sync::LazyLock;

pub static FUNCTIONS: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::default();
    chalet_functions::register(&mut registry);
    chalet_aggregates::register(&mut registry);
    own_functions::register(&mut registry);
    registry
});

pub static FORMATS: LazyLock<Formats> = LazyLock::new(|| {
    let mut formats = Formats::builtin();
    formats.add(chalet_formats_arrow::FORMATS);
    formats.add(chalet_formats_parquet::FORMATS);
    formats
});

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;

    #[test]
    fn names_are_unambiguous() {
        assert_eq!(FUNCTIONS.scalars.ambiguous(), [""; 0]);
        assert_eq!(FUNCTIONS.aggregates.ambiguous(), [""; 0]);
        assert_eq!(FUNCTIONS.windows.ambiguous(), [""; 0]);
    }
}
