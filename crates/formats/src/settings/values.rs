//! Values that a format setting can hold, each with its text form and the kernel's refusals.

use chalet_base::{Result, bail, ensure, err};

/// A kind of setting value: parsed from the text of `SET name = ...`, printed for `system.settings`.
pub trait SettingValue: Sized {
    /// The kernel's name of the kind.
    const KIND: &'static str;
    fn parse(text: &str) -> Result<Self>;
    fn print(&self) -> String;
}

/// One byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Char(pub u8);

/// A number, or the engine's own choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auto(pub Option<u64>);

impl SettingValue for bool {
    const KIND: &'static str = "Bool";

    fn parse(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "on" | "yes" | "enable" | "enabled" => Ok(true),
            "0" | "false" | "off" | "no" | "disable" | "disabled" => Ok(false),
            _ => bail!(CANNOT_PARSE_BOOL, "Cannot parse bool from string '{text}'"),
        }
    }

    fn print(&self) -> String {
        u8::from(*self).to_string()
    }
}

fn not_a_number(text: &str) -> chalet_base::Error {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    err!(CANNOT_PARSE_INPUT_ASSERTION_FAILED, "Cannot parse input: expected 'eof' before: '{rest}'")
}

impl SettingValue for u64 {
    const KIND: &'static str = "UInt64";

    fn parse(text: &str) -> Result<Self> {
        if text == "true" || text == "false" {
            return Ok(u64::from(text == "true"));
        }
        ensure!(!text.starts_with('-'), CANNOT_PARSE_NUMBER, "Unsigned type must not contain '-' symbol");
        text.parse().map_err(|_| not_a_number(text))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for i64 {
    const KIND: &'static str = "Int64";

    fn parse(text: &str) -> Result<Self> {
        text.parse().map_err(|_| not_a_number(text))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for f64 {
    const KIND: &'static str = "Double";

    fn parse(text: &str) -> Result<Self> {
        text.parse().map_err(|_| err!(CANNOT_PARSE_NUMBER, "Cannot read floating point value here: {text}"))
    }

    fn print(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for String {
    const KIND: &'static str = "String";

    fn parse(text: &str) -> Result<Self> {
        Ok(text.to_string())
    }

    fn print(&self) -> String {
        self.clone()
    }
}

impl SettingValue for Char {
    const KIND: &'static str = "Char";

    fn parse(text: &str) -> Result<Self> {
        match text.as_bytes() {
            [] => Ok(Char(0)),
            [byte] => Ok(Char(*byte)),
            _ => bail!(
                SIZE_OF_FIXED_STRING_DOESNT_MATCH,
                "A setting's value string has to be an exactly one character long"
            ),
        }
    }

    fn print(&self) -> String {
        char::from(self.0).to_string()
    }
}

impl SettingValue for Auto {
    const KIND: &'static str = "UInt64Auto";

    fn parse(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Auto(None)),
            _ => u64::parse(text).map(|n| Auto(Some(n))),
        }
    }

    fn print(&self) -> String {
        self.0.map_or("auto".to_string(), |n| n.to_string())
    }
}

/// Defines an enumeration setting; the choices are listed as the kernel's refusal lists them.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($text:literal => $variant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($variant,)*
        }

        impl SettingValue for $name {
            const KIND: &'static str = stringify!($name);

            fn parse(text: &str) -> Result<Self> {
                match text {
                    $($text => Ok($name::$variant),)*
                    _ => bail!(
                        BAD_ARGUMENTS,
                        "Unexpected value of {}: '{text}'. Must be one of ['{}']",
                        Self::KIND,
                        [$($text),*].join("', '")
                    ),
                }
            }

            fn print(&self) -> String {
                match self {
                    $($name::$variant => $text,)*
                }
                .to_string()
            }
        }
    )*};
}

choices! {
    /// How text becomes a timestamp.
    DateTimeInputFormat { "best_effort_us" => BestEffortUs, "best_effort" => BestEffort, "basic" => Basic, }
    /// How a timestamp becomes text.
    DateTimeOutputFormat { "unix_timestamp" => UnixTimestamp, "iso" => Iso, "simple" => Simple, }
    DateTimeOverflowBehavior { "saturate" => Saturate, "ignore" => Ignore, "throw" => Throw, }
    IntervalOutputFormat { "numeric" => Numeric, "kusto" => Kusto, }
    /// How a field is written inside a line.
    EscapingRule {
        "Raw" => Raw, "XML" => Xml, "JSON" => Json, "None" => None, "CSV" => Csv, "Quoted" => Quoted,
        "Escaped" => Escaped,
    }
    InputFormatColumnMatchingCaseSensitivity {
        "ignore_case" => IgnoreCase, "match_case" => MatchCase, "auto" => Auto,
    }
    SchemaInferenceMode { "union" => Union, "default" => Default, }
    ArrowCompression { "zstd" => Zstd, "lz4_frame" => Lz4Frame, "none" => None, }
    ParquetCompression {
        "brotli" => Brotli, "gzip" => Gzip, "none" => None, "zstd" => Zstd, "lz4" => Lz4, "snappy" => Snappy,
    }
    ParquetVersion { "2.6" => V2_6, "2.latest" => V2Latest, "2.4" => V2_4, "1.0" => V1_0, }
    ORCCompression { "zstd" => Zstd, "lz4" => Lz4, "zlib" => Zlib, "snappy" => Snappy, "none" => None, }
    MsgPackUUIDRepresentation { "ext" => Ext, "str" => Str, "bin" => Bin, }
    CapnProtoEnumComparingMode {
        "by_names_case_insensitive" => ByNamesCaseInsensitive, "by_values" => ByValues, "by_names" => ByNames,
    }
    GeoJSONUnsupportedGeometryHandling { "null" => Null, "throw" => Throw, }
}
