//! How to convert: what happens to values that do not fit, and how text is read and written.

use chalet_function_api::Context;
use chalet_text::{DateTimeInput, TextSettings};
use chalet_types::TimeZone;
use chalet_types::calendar::LocalTime;

/// What happens to values that the target type cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Integers wrap, fractions are cut, dates are held in their range.
    Cast,
    /// They are errors.
    Accurate,
    /// They become NULL, as everything that would be an error.
    OrNull,
}

/// What becomes of a date or timestamp that the type of the result does not hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DateTimeOverflow {
    /// It wraps around.
    Ignore,
    /// The nearest that there is.
    Saturate,
    Throw,
}

/// How to convert.
pub struct Rules {
    pub mode: Mode,
    pub text: TextSettings,
    pub overflow: DateTimeOverflow,
    /// Text that is no address becomes the address of zeros.
    pub zero_addresses: bool,
    /// Numbers of addresses of version 4 may have zeros in front.
    pub padded_addresses: bool,
}

impl Rules {
    pub fn new(mode: Mode, ctx: &Context) -> Rules {
        let input = DateTimeInput::named(&ctx.settings.cast_string_to_date_time_mode);
        let text = TextSettings {
            time_zone: ctx.time_zone.clone(),
            date_time_input_format: input.unwrap_or_default(),
            date_time_overflow_throws: ctx.settings.date_time_overflow_behavior == "throw",
            ..crate::text::output_settings(ctx)
        };
        let overflow = match ctx.settings.date_time_overflow_behavior.as_str() {
            "saturate" => DateTimeOverflow::Saturate,
            "throw" => DateTimeOverflow::Throw,
            _ => DateTimeOverflow::Ignore,
        };
        let zero_addresses = ctx.settings.cast_ipv4_ipv6_default_on_conversion_error;
        Rules { mode, text, overflow, zero_addresses, padded_addresses: false }
    }

    pub fn local_time(&self, zone: Option<&TimeZone>) -> LocalTime {
        LocalTime::new(zone.unwrap_or(&self.text.time_zone))
    }

    pub fn with_mode(&self, mode: Mode) -> Rules {
        Rules { mode, text: self.text.clone(), ..*self }
    }
}
