//! The list of the `toType` functions.

use super::to_type::{BASE, Failure, Target, ToType};
use chalet_function_api::{Example, Nulls, Record, Registry};
use chalet_types::{DataType, IntervalUnit};

/// One record; the example is optional.
macro_rules! record {
    ($name:expr, $summary:expr, $syntax:expr $(, $sql:expr => $result:expr)?) => {
        record!(Nulls::Propagate; $name, $summary, $syntax $(, $sql => $result)?)
    };
    ($nulls:expr; $name:expr, $summary:expr, $syntax:expr $(, $sql:expr => $result:expr)?) => {
        const {
            &Record {
                name: $name,
                summary: $summary,
                syntax: $syntax,
                examples: &[$(Example { sql: $sql, result: $result })?],
                nulls: $nulls,
                ..BASE
            }
        }
    };
}

/// The four functions of a type: throwing, OrZero, OrNull, OrDefault. `$more` stands behind the value in the syntax.
macro_rules! family {
    ($registry:ident, $type:literal, $target:expr, $more:literal $(, $sql:literal => $result:literal)?) => {
        family!(@or $registry, $type, $target, $more);
        $registry.add_scalar(ToType {
            record: record!(
                concat!("to", $type),
                concat!("Converts a value to ", $type, "; text that is none is an error."),
                concat!("to", $type, "(x", $more, ")")
                $(, $sql => $result)?
            ),
            target: $target,
            failure: Failure::Throw,
        });
        $registry.add_scalar(ToType {
            record: record!(
                Nulls::Seen;
                concat!("to", $type, "OrDefault"),
                concat!("Converts a value to ", $type, "; what does not fit becomes the given default or zero."),
                concat!("to", $type, "OrDefault(x", $more, "[, default])")
            ),
            target: $target,
            failure: Failure::Default,
        });
    };
    (@or $registry:ident, $type:literal, $target:expr, $more:literal) => {
        $registry.add_scalar(ToType {
            record: record!(
                concat!("to", $type, "OrZero"),
                concat!("Reads text as ", $type, "; text that is none becomes zero."),
                concat!("to", $type, "OrZero(s", $more, ")")
            ),
            target: $target,
            failure: Failure::Zero,
        });
        $registry.add_scalar(ToType {
            record: record!(
                concat!("to", $type, "OrNull"),
                concat!("Reads text as ", $type, "; text that is none becomes NULL."),
                concat!("to", $type, "OrNull(s", $more, ")")
            ),
            target: $target,
            failure: Failure::Null,
        });
    };
}

/// A function alone.
macro_rules! single {
    ($registry:ident, $name:literal, $target:expr, $summary:literal, $syntax:literal $(, $sql:literal => $result:literal)?) => {
        $registry.add_scalar(ToType {
            record: record!($name, $summary, $syntax $(, $sql => $result)?),
            target: $target,
            failure: Failure::Throw,
        });
    };
}

pub fn register(registry: &mut Registry) {
    numbers(registry);
    timestamps(registry);
    others(registry);
    intervals(registry);
}

fn numbers(registry: &mut Registry) {
    use Target::Type;
    family!(registry, "UInt8", Type(DataType::UInt8), "", "SELECT toUInt8('12'), toUInt8(300)" => "12\t44");
    family!(registry, "UInt16", Type(DataType::UInt16), "", "SELECT toUInt16(1.9)" => "1");
    family!(registry, "UInt32", Type(DataType::UInt32), "", "SELECT toUInt32('12')" => "12");
    family!(registry, "UInt64", Type(DataType::UInt64), "", "SELECT toUInt64('12')" => "12");
    family!(registry, "UInt128", Type(DataType::UInt128), "", "SELECT toUInt128('12')" => "12");
    family!(registry, "UInt256", Type(DataType::UInt256), "", "SELECT toUInt256('12')" => "12");
    family!(registry, "Int8", Type(DataType::Int8), "", "SELECT toInt8('-12'), toInt8(128)" => "-12\t-128");
    family!(registry, "Int16", Type(DataType::Int16), "", "SELECT toInt16('-12')" => "-12");
    family!(registry, "Int32", Type(DataType::Int32), "", "SELECT toInt32(-1.9)" => "-1");
    family!(registry, "Int64", Type(DataType::Int64), "", "SELECT toInt64('-12')" => "-12");
    family!(registry, "Int128", Type(DataType::Int128), "", "SELECT toInt128('-12')" => "-12");
    family!(registry, "Int256", Type(DataType::Int256), "", "SELECT toInt256('-12')" => "-12");
    family!(registry, "Float32", Type(DataType::Float32), "", "SELECT toFloat32('1.5')" => "1.5");
    family!(registry, "Float64", Type(DataType::Float64), "", "SELECT toFloat64('1e3')" => "1000");
    family!(@or registry, "BFloat16", Type(DataType::BFloat16), "");
    single!(
        registry, "toBFloat16", Type(DataType::BFloat16), "Converts a value to BFloat16, cutting digits off.",
        "toBFloat16(x)", "SELECT toBFloat16(1.1)" => "1.09375"
    );
    family!(registry, "Decimal32", Target::Decimal(9), ", scale", "SELECT toDecimal32('1.999', 2)" => "1.99");
    family!(registry, "Decimal64", Target::Decimal(18), ", scale", "SELECT toDecimal64(2, 4)" => "2");
    family!(registry, "Decimal128", Target::Decimal(38), ", scale", "SELECT toDecimal128('0.1', 1)" => "0.1");
    family!(registry, "Decimal256", Target::Decimal(76), ", scale", "SELECT toDecimal256('0.1', 1)" => "0.1");
    single!(
        registry, "toBool", Type(DataType::Bool), "Converts a value to Bool; every number but zero is true.",
        "toBool(x)", "SELECT toBool('yes'), toBool(0)" => "true\tfalse"
    );
}

fn timestamps(registry: &mut Registry) {
    family!(
        registry, "Date", Target::Day(DataType::Date), "[, timezone]",
        "SELECT toDate('2020-1-2'), toDate(18263)" => "2020-01-02\t2020-01-02"
    );
    registry.add_scalar(ToType {
        record: const {
            &Record {
                name: "DATE",
                case_insensitive: true,
                summary: "As toDate, under its name in MySQL.",
                syntax: "DATE(x[, timezone])",
                examples: &[Example { sql: "SELECT DATE('2020-01-02 03:04:05')", result: "2020-01-02" }],
                ..BASE
            }
        },
        target: Target::Day(DataType::Date),
        failure: Failure::Throw,
    });
    family!(
        registry, "Date32", Target::Day(DataType::Date32), "[, timezone]",
        "SELECT toDate32('1800-01-01')" => "1800-01-01"
    );
    family!(
        registry, "DateTime", Target::DateTime, "[, timezone]",
        "SELECT toDateTime('2020-01-02 03:04:05', 'UTC')" => "2020-01-02 03:04:05"
    );
    single!(
        registry, "toDateTime32", Target::DateTime, "Converts a value to DateTime.", "toDateTime32(x[, timezone])",
        "SELECT toDateTime32('2020-01-02 03:04:05', 'UTC')" => "2020-01-02 03:04:05"
    );
    family!(
        registry, "DateTime64", Target::DateTime64, ", scale[, timezone]",
        "SELECT toDateTime64('2020-01-02 03:04:05.5', 3, 'UTC')" => "2020-01-02 03:04:05.500"
    );
    family!(@or registry, "Time", Target::Type(DataType::Time), "");
    single!(
        registry, "toTime", Target::Time, "Converts a value to Time, or with a scale to Time64.", "toTime(x[, scale])",
        "SELECT toTime('12:34:56')" => "12:34:56"
    );
    family!(@or registry, "Time64", Target::Time64, ", scale");
    single!(
        registry, "toTime64", Target::Time64, "Converts a value to Time64.", "toTime64(x, scale)",
        "SELECT toTime64('12:34:56.5', 3)" => "12:34:56.500"
    );
}

fn others(registry: &mut Registry) {
    use Target::Type;
    family!(
        registry, "UUID", Type(DataType::Uuid), "",
        "SELECT toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')" => "61f0c404-5cb3-11e7-907b-a6006ad3dba0"
    );
    family!(registry, "IPv4", Type(DataType::IPv4), "", "SELECT toIPv4('1.2.3.4')" => "1.2.3.4");
    family!(registry, "IPv6", Type(DataType::IPv6), "", "SELECT toIPv6('1.2.3.4')" => "::ffff:1.2.3.4");
    single!(
        registry, "toString", Target::String, "The text form of a value.", "toString(x[, timezone])",
        "SELECT toString(1.50), toString([1, 2])" => "1.5\t[1,2]"
    );
    single!(
        registry, "toFixedString", Target::FixedString, "Pads a string with zero bytes to a length.",
        "toFixedString(s, n)", "SELECT toFixedString('ab', 3)" => "ab\\0"
    );
}

fn intervals(registry: &mut Registry) {
    macro_rules! interval {
        ($($unit:ident),*) => {$(
            single!(
                registry,
                @interval $unit
            );
        )*};
    }
    macro_rules! single {
        ($r:ident, @interval $unit:ident) => {
            $r.add_scalar(ToType {
                record: record!(
                    concat!("toInterval", stringify!($unit)),
                    concat!("Converts a number to an interval of the unit ", stringify!($unit), "."),
                    concat!("toInterval", stringify!($unit), "(n)")
                ),
                target: Target::Type(DataType::Interval(IntervalUnit::$unit)),
                failure: Failure::Throw,
            });
        };
    }
    interval!(Nanosecond, Microsecond, Millisecond, Second, Minute, Hour, Day, Week, Month, Quarter, Year);
}
