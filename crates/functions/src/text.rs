//! Reading text as values of other types, for functions that take strings in place of them.

use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Vector};
use chalet_function_api::Context;
use chalet_text::{DateTimeInput, DateTimeOutput, Reader, Syntax, TextSettings};
use chalet_types::{DataType, Value};

/// The settings of text forms that a query has.
pub fn settings(ctx: &Context) -> TextSettings {
    TextSettings {
        time_zone: ctx.time_zone.clone(),
        date_time_input_format: DateTimeInput::named(&ctx.settings.date_time_input_format)
            .unwrap_or_default(),
        date_time_overflow_throws: ctx.settings.date_time_overflow_behavior == "throw",
        ..TextSettings::default()
    }
}

/// The settings of `toString`, `toJSONString` and their kin: those that the kernel's functions heed too.
pub fn output_settings(ctx: &Context) -> TextSettings {
    let setting = |name: &str| (ctx.settings.all.0)(name).map(|found| found.0);
    let flag = |name: &str, default: bool| setting(name).and_then(|v| v.as_u64()).map_or(default, |v| v != 0);
    let word = |name: &str| setting(name).and_then(|v| v.as_str().map(Box::<str>::from));
    let base = TextSettings { time_zone: ctx.time_zone.clone(), ..TextSettings::default() };
    TextSettings {
        date_time_output_format: word("date_time_output_format")
            .and_then(|name| DateTimeOutput::named(&name))
            .unwrap_or_default(),
        bool_true_representation: word("bool_true_representation").unwrap_or("true".into()),
        bool_false_representation: word("bool_false_representation").unwrap_or("false".into()),
        output_format_decimal_trailing_zeros: flag("output_format_decimal_trailing_zeros", false),
        output_format_float_precision: setting("output_format_float_precision")
            .and_then(|v| v.as_u64())
            .unwrap_or(0),
        output_format_trim_fixed_string: flag("output_format_trim_fixed_string", false),
        output_format_json_quote_64bit_integers: flag("output_format_json_quote_64bit_integers", false),
        output_format_json_quote_64bit_floats: flag("output_format_json_quote_64bit_floats", false),
        output_format_json_quote_denormals: flag("output_format_json_quote_denormals", false),
        output_format_json_quote_decimals: flag("output_format_json_quote_decimals", false),
        output_format_json_escape_forward_slashes: flag("output_format_json_escape_forward_slashes", true),
        output_format_json_named_tuples_as_objects: flag("output_format_json_named_tuples_as_objects", true),
        type_json_skip_duplicated_paths: flag("type_json_skip_duplicated_paths", false),
        type_json_use_partial_match_to_skip_paths_by_regexp: flag(
            "type_json_use_partial_match_to_skip_paths_by_regexp",
            true,
        ),
        ..base
    }
}

/// One value of a type from the whole of a text.
pub fn read_one(text: &[u8], ty: &DataType, ctx: &Context) -> Result<Vector> {
    let mut out = Builder::new(ty);
    Reader::new(ty, Syntax::Plain, &settings(ctx)).read_whole(text, &mut out)?;
    Ok(out.finish())
}

/// Is it a day with a time behind it, where a day alone is wanted?
pub fn is_day_with_time(text: &[u8], ty: &DataType, ctx: &Context) -> bool {
    matches!(ty, DataType::Date | DataType::Date32)
        && text
            .iter()
            .position(|&byte| byte == b' ' || byte == b'T')
            .is_some_and(|end| read_one(&text[..end], ty, ctx).is_ok())
}

/// One value from the whole of a text that stands for a constant beside a Decimal: it may have all digits that fit into the bits of the
/// Decimal, though the type has fewer.
pub fn read_beside_decimal(text: &[u8], ty: &DataType, ctx: &Context) -> Result<Vector> {
    let DataType::Decimal { precision, scale } = *ty else { return read_one(text, ty, ctx) };
    let most = if precision > 38 { 76 } else { 38 };
    let wide = read_one(text, &DataType::Decimal { precision: most, scale }, ctx)?;
    let (least, greatest) = match ty.physical().width() {
        Some(4) => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Some(8) => (i128::from(i64::MIN), i128::from(i64::MAX)),
        _ => return Ok(wide),
    };
    let digits = match wide.value(0) {
        Value::Int128(digits) => digits,
        Value::Int(digits) => digits.into(),
        other => bail!(LOGICAL_ERROR, "A Decimal of 38 digits is {other:?}"),
    };
    ensure!(
        (least..=greatest).contains(&digits),
        DECIMAL_OVERFLOW,
        "Decimal convert overflow: {digits} is not in range ({least}, {greatest})"
    );
    let mut out = Builder::new(ty);
    out.push_value(&Value::Int(digits as i64))?;
    Ok(out.finish())
}

/// A DateTime or DateTime64 in any form that the best effort understands.
pub fn read_best_effort(text: &[u8], ty: &DataType, ctx: &Context) -> Result<Vector> {
    let mut out = Builder::new(ty);
    let best_effort = DateTimeInput::named("best_effort").unwrap_or_default();
    let settings = TextSettings { date_time_input_format: best_effort, ..settings(ctx) };
    Reader::new(ty, Syntax::Plain, &settings).read_whole(text, &mut out)?;
    Ok(out.finish())
}
