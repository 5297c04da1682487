//! What revisions of the protocol have added around the columns of a block.

use crate::FormatSettings;
use crate::binary::Source;
use chalet_base::{Result, bail};
use chalet_types::DataType;

/// How the header of a block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLayout {
    /// A DateTime names its zone. The oldest revision of the protocol, which files use, cannot.
    pub has_zones: bool,
    /// Each column says how it is serialised.
    pub has_serialization_kinds: bool,
    /// Types are in their binary form instead of their names.
    pub binary_types: bool,
    /// Values of JSON columns are texts.
    pub json_as_text: bool,
    /// All types of Dynamic columns and all paths of JSON columns are columns of their own.
    pub flattened: bool,
    /// Without the limits of Dynamic and JSON, as newer versions of their structure are.
    pub without_limits: bool,
}

impl BlockLayout {
    /// The layout of files.
    pub const FILE: BlockLayout = BlockLayout {
        has_zones: false,
        has_serialization_kinds: false,
        binary_types: false,
        json_as_text: false,
        flattened: false,
        without_limits: false,
    };

    /// The layout of files that are read under these settings.
    pub fn of_input(settings: &FormatSettings) -> BlockLayout {
        BlockLayout {
            binary_types: settings.input_format_native_decode_types_in_binary_format,
            ..BlockLayout::FILE
        }
    }

    /// The layout of files that are written under these settings.
    pub fn of_output(settings: &FormatSettings) -> BlockLayout {
        BlockLayout {
            binary_types: settings.output_format_native_encode_types_in_binary_format,
            json_as_text: settings.output_format_native_write_json_as_string,
            flattened: settings.output_format_native_use_flattened_dynamic_and_json_serialization,
            ..BlockLayout::FILE
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Default,
    /// Only values that are not the default of the type.
    Sparse,
}

/// How a column, and each element of a tuple, is serialised.
pub(super) struct Serialization {
    pub kind: Kind,
    /// Of a tuple.
    pub elements: Vec<Serialization>,
}

impl Serialization {
    pub const PLAIN: Serialization = Serialization { kind: Kind::Default, elements: Vec::new() };

    pub fn read(from: &mut impl Source, ty: &DataType) -> Result<Serialization> {
        let kind = match from.array()? {
            [0] => Kind::Default,
            [1] => Kind::Sparse,
            [other] => bail!(NOT_IMPLEMENTED, "Serialization kind {other} of type {ty} is not supported"),
        };
        let elements = match ty {
            DataType::Tuple(types) => {
                types.iter().map(|f| Serialization::read(from, &f.ty)).collect::<Result<_>>()?
            }
            _ => Vec::new(),
        };
        Ok(Serialization { kind, elements })
    }

    pub fn is_plain(&self) -> bool {
        self.kind == Kind::Default && self.elements.iter().all(Serialization::is_plain)
    }
}
