//! Reading text as values of other types, for functions that take strings in place of them.

use chalet_base::Result;
use chalet_columns::{Builder, Vector};
use chalet_function_api::Context;
use chalet_text::{DateTimeInput, Reader, Syntax, TextSettings};
use chalet_types::DataType;

/// The settings of text forms that a query has.
pub fn settings(ctx: &Context) -> TextSettings {
    TextSettings {
        time_zone: ctx.time_zone.clone(),
        date_time_input_format: DateTimeInput::named(&ctx.settings.date_time_input_format)
            .unwrap_or_default(),
        ..TextSettings::default()
    }
}

/// One value of a type from the whole of a text.
pub fn read_one(text: &[u8], ty: &DataType, ctx: &Context) -> Result<Vector> {
    let mut out = Builder::new(ty);
    Reader::new(ty, Syntax::Plain, &settings(ctx)).read_whole(text, &mut out)?;
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
