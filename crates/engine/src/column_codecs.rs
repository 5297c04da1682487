//! The codecs of a column: checked against its type, and written out with their arguments. Files of tables heed what compresses
//! (ZSTD, NONE, ALP) and find a way of their own to prepare values for it; the declaration is kept, so that SHOW CREATE and other
//! programs find it.

use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure};
use chalet_syntax::ast::{Expr, ExprKind, Literal};
use chalet_types::DataType;
use std::sync::Arc;

/// One codec, as it is written out.
struct Codec {
    shown: String,
    family: Family,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    /// `LZ4` and its like: what they give cannot be compressed further.
    Generic,
    /// Compresses values of some types.
    Special,
    /// The same for series of floats, which it takes as differences.
    Floats,
    /// Prepares values for another codec.
    Delta,
    Preparing,
    None,
    Encryption,
}

/// What stands between the parentheses of CODEC, in full; empty where there is none.
pub(crate) fn declared(codecs: &[Expr], ty: &DataType, ctx: &QueryContext) -> Result<Arc<str>> {
    if codecs.is_empty() {
        return Ok("".into());
    }
    let mut leaves = Vec::new();
    collect_leaves(ty, &mut leaves);
    let mut chosen: Option<Vec<Codec>> = None;
    let mut differ = vec![false; codecs.len()];
    for leaf in &leaves {
        let found = codecs.iter().map(|codec| one(codec, leaf, ctx)).collect::<Result<Vec<Codec>>>()?;
        if ctx.state.settings.flag("allow_suspicious_codecs") != Some(true) {
            check_combination(&found, leaf)?;
        }
        if let Some(before) = &chosen {
            differ.iter_mut().zip(before.iter().zip(&found)).for_each(|(d, (a, b))| *d |= a.shown != b.shown);
        } else {
            chosen = Some(found);
        }
    }
    // Where the elements of a type would have different arguments, the codec stands without.
    let shown = chosen.unwrap_or_default().into_iter().zip(differ).map(|(codec, differs)| {
        let name = codec.shown.split('(').next().unwrap_or_default().to_string();
        if differs { name } else { codec.shown }
    });
    Ok(shown.collect::<Vec<_>>().join(", ").into())
}

/// As a statement that was printed has them.
pub(crate) fn stored(codecs: &[Expr]) -> Arc<str> {
    codecs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ").into()
}

/// The types whose values are compressed: those of elements.
fn collect_leaves(ty: &DataType, leaves: &mut Vec<DataType>) {
    match ty.bare() {
        DataType::Array(inner) => collect_leaves(inner, leaves),
        DataType::Map(key, value) => {
            collect_leaves(key, leaves);
            collect_leaves(value, leaves);
        }
        DataType::Tuple(fields) if !fields.is_empty() => {
            fields.iter().for_each(|f| collect_leaves(&f.ty, leaves));
        }
        DataType::Tuple(_) | DataType::Json(_) | DataType::Dynamic(_) => leaves.push(DataType::UInt8),
        bare => leaves.push(bare.clone()),
    }
}

fn name_of(codec: &Expr) -> (&str, &[Expr]) {
    match &codec.kind {
        ExprKind::Identifier(parts) => (parts.first().map_or("", |part| &part.name), &[]),
        ExprKind::Call(call) => (&call.name, &call.args),
        _ => ("", &[]),
    }
}

/// Fails where there is no such codec.
pub(crate) fn check_name(codec: &Expr) -> Result<()> {
    let (name, _) = name_of(codec);
    const ALL: [&str; 15] = [
        "AES_128_GCM_SIV",
        "AES_256_GCM_SIV",
        "ALP",
        "Default",
        "Delta",
        "DoubleDelta",
        "FPC",
        "GCD",
        "Gorilla",
        "LZ4",
        "LZ4HC",
        "NONE",
        "T64",
        "ZSTD",
        "Multiple",
    ];
    ensure!(ALL.contains(&name), UNKNOWN_CODEC, "Unknown codec family: {name}");
    ensure!(name != "Multiple", UNKNOWN_CODEC, "Codec Multiple cannot be specified directly");
    Ok(())
}

fn one(codec: &Expr, ty: &DataType, ctx: &QueryContext) -> Result<Codec> {
    check_name(codec)?;
    let (name, args) = name_of(codec);
    let plain = |family| {
        ensure!(
            args.is_empty(),
            DATA_TYPE_CANNOT_HAVE_ARGUMENTS,
            "Compression codec {name} cannot have arguments"
        );
        Ok(Codec { shown: name.into(), family })
    };
    match name {
        "LZ4" | "Default" => plain(Family::Generic),
        "NONE" => plain(Family::None),
        "AES_128_GCM_SIV" | "AES_256_GCM_SIV" => plain(Family::Encryption),
        "LZ4HC" => Ok(Codec { shown: format!("LZ4HC({})", level(name, args, 0)?), family: Family::Generic }),
        "ZSTD" => zstd(args),
        "Delta" => {
            // Any bytes can be taken as numbers of a width that is given.
            let bytes = if args.is_empty() { width(name, ty)? } else { 0 };
            Ok(Codec {
                shown: format!("Delta({})", width_given("Delta", "delta", args, bytes)?),
                family: Family::Delta,
            })
        }
        "DoubleDelta" => {
            ensure!(
                is_numeric(ty),
                BAD_ARGUMENTS,
                "Codec DoubleDelta is not applicable for {ty} because the data type is not numeric"
            );
            let bytes = width(name, ty)?;
            width_given(name, name, args, bytes)?;
            Ok(Codec { shown: name.into(), family: Family::Special })
        }
        "Gorilla" => {
            let bytes = width(name, ty)?;
            let shown = format!("Gorilla({})", width_given(name, name, args, bytes)?);
            Ok(Codec { shown, family: Family::Floats })
        }
        "FPC" => fpc(args, ty),
        "ALP" => {
            ensure!(
                matches!(ty, DataType::Float32 | DataType::Float64),
                BAD_ARGUMENTS,
                "Codec ALP is not applicable for {ty} because the data type is not Float*"
            );
            ensure!(
                ctx.state.settings.flag("enable_alp_codec") == Some(true),
                BAD_ARGUMENTS,
                "Codec ALP is in beta and not yet recommended for production use. You can enable it with the 'enable_alp_codec' \
                 setting"
            );
            plain(Family::Floats)
        }
        "GCD" => {
            ensure!(
                args.is_empty(),
                ILLEGAL_SYNTAX_FOR_CODEC_TYPE,
                "GCD codec must have 0 parameters, given {}",
                args.len()
            );
            ensure!(
                has_divisors(ty),
                BAD_ARGUMENTS,
                "Codec GCD cannot be applied to column {ty} because it can only be used with Int*, UInt*, Decimal*, Date* or \
                 DateTime* types"
            );
            Ok(Codec { shown: "GCD".into(), family: Family::Preparing })
        }
        _ => t64(args, ty),
    }
}

fn zstd(args: &[Expr]) -> Result<Codec> {
    let level = level("ZSTD", args, 1)?;
    ensure!(
        level <= 22 || level > i64::MAX as u64,
        ILLEGAL_CODEC_PARAMETER,
        "ZSTD codec can't have level more than 22, given {level}"
    );
    let shown = match args.get(1) {
        None => format!("ZSTD({level})"),
        Some(log) => match log.kind {
            ExprKind::Literal(Literal::UInt(log)) => {
                ensure!(
                    (10..=31).contains(&log),
                    ILLEGAL_CODEC_PARAMETER,
                    "ZSTD codec can't have window log more than 31 and lower than 10, given {log}"
                );
                format!("ZSTD({level}, {log})")
            }
            _ => bail!(ILLEGAL_CODEC_PARAMETER, "ZSTD codec argument must be integer"),
        },
    };
    Ok(Codec { shown, family: Family::Generic })
}

/// The first argument, wrapped into the range of what it is printed as.
fn level(name: &str, args: &[Expr], default: u64) -> Result<u64> {
    Ok(match args.first().map(|arg| &arg.kind) {
        None => default,
        Some(ExprKind::Literal(Literal::UInt(level))) => *level,
        Some(ExprKind::Literal(Literal::Int(level))) => *level as u64,
        Some(ExprKind::Literal(Literal::String(_))) => {
            bail!(BAD_GET, "Bad get: has String, requested UInt64")
        }
        Some(_) => bail!(ILLEGAL_CODEC_PARAMETER, "{name} codec argument must be integer"),
    })
}

/// Bytes of a value, of types whose values have 1, 2, 4 or 8.
fn width(codec: &str, ty: &DataType) -> Result<u64> {
    let Some(bytes) = bytes_of(ty) else {
        bail!(
            BAD_ARGUMENTS,
            "Codec {codec} is not applicable for {ty} because the data type is not of fixed size"
        )
    };
    ensure!(
        matches!(bytes, 1 | 2 | 4 | 8),
        BAD_ARGUMENTS,
        "Codec {codec} is only applicable for data types of size 1, 2, 4, 8 bytes. Given type {ty}"
    );
    Ok(bytes)
}

fn width_given(name: &str, in_message: &str, args: &[Expr], of_type: u64) -> Result<u64> {
    let given = match args {
        [] => return Ok(of_type),
        [one] => &one.kind,
        more => {
            bail!(ILLEGAL_SYNTAX_FOR_CODEC_TYPE, "{name} codec must have 1 parameter, given {}", more.len())
        }
    };
    let ExprKind::Literal(Literal::UInt(bytes)) = given else {
        bail!(ILLEGAL_CODEC_PARAMETER, "{name} codec argument must be unsigned integer")
    };
    ensure!(
        matches!(bytes, 1 | 2 | 4 | 8),
        ILLEGAL_CODEC_PARAMETER,
        "{name} value for {in_message} codec can be 1, 2, 4 or 8, given {bytes}"
    );
    Ok(*bytes)
}

fn fpc(args: &[Expr], ty: &DataType) -> Result<Codec> {
    ensure!(
        matches!(ty, DataType::Float32 | DataType::Float64),
        BAD_ARGUMENTS,
        "Codec 'FPC' is not applicable for {ty} because the data type is not Float*"
    );
    let level = level("FPC", args, 12)?;
    ensure!((1..=28).contains(&level), ILLEGAL_CODEC_PARAMETER, "Codec 'FPC' level must be between 1 and 28");
    if let Some(size) = args.get(1) {
        ensure!(
            matches!(size.kind, ExprKind::Literal(Literal::UInt(4 | 8))),
            ILLEGAL_CODEC_PARAMETER,
            "Float size for codec 'FPC' can be 4 or 8, given {size}"
        );
    }
    Ok(Codec { shown: format!("FPC({level})"), family: Family::Floats })
}

fn t64(args: &[Expr], ty: &DataType) -> Result<Codec> {
    let fits = bytes_of(ty).is_some_and(|bytes| bytes <= 8) && is_numeric(ty) && !ty.is_float();
    ensure!(
        fits && !matches!(ty, DataType::Interval(_)),
        ILLEGAL_SYNTAX_FOR_CODEC_TYPE,
        "T64 codec is not supported for specified type {ty}"
    );
    let shown = match args.first().map(|arg| &arg.kind) {
        None => "T64",
        Some(ExprKind::Literal(Literal::String(text))) => match text.as_slice() {
            b"bit" => "T64('bit')",
            b"byte" => "T64",
            other => bail!(
                ILLEGAL_CODEC_PARAMETER,
                "Wrong modification for T64: {}",
                String::from_utf8_lossy(other)
            ),
        },
        Some(_) => bail!(BAD_GET, "Bad get: has UInt64, requested String"),
    };
    Ok(Codec { shown: shown.into(), family: Family::Special })
}

/// Bytes of a value of a type without elements; nothing where they differ.
fn bytes_of(ty: &DataType) -> Option<u64> {
    Some(match ty {
        DataType::FixedString(n) => (*n).into(),
        DataType::Uuid | DataType::IPv6 => 16,
        _ => ty.physical().width()? as u64,
    })
}

/// Kept as a number of its own: DoubleDelta takes it.
fn is_numeric(ty: &DataType) -> bool {
    !matches!(
        ty,
        DataType::String
            | DataType::FixedString(_)
            | DataType::Uuid
            | DataType::IPv6
            | DataType::QBit(_)
            | DataType::AggregateFunction(_)
            | DataType::Variant(_)
            | DataType::Nothing
    )
}

fn has_divisors(ty: &DataType) -> bool {
    ty.is_number() && !ty.is_float()
        || matches!(ty, DataType::Bool | DataType::Date | DataType::Date32)
        || matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..))
}

/// Fails where a codec has nothing to do after another.
fn check_combination(codecs: &[Codec], ty: &DataType) -> Result<()> {
    const NOTE: &str = "(Note: you can enable setting 'allow_suspicious_codecs' to skip this check)";
    let shown = || codecs.iter().map(|c| c.shown.as_str()).collect::<Vec<_>>().join(", ");
    let is = |family| codecs.iter().position(|codec| codec.family == family);
    let has_none = is(Family::None).is_some();
    ensure!(
        !has_none || codecs.len() == 1,
        BAD_ARGUMENTS,
        "It does not make sense to have codec NONE along with other compression codecs: {}. {NOTE}",
        shown()
    );
    let compresses = codecs.iter().any(|c| !matches!(c.family, Family::Delta | Family::Preparing));
    ensure!(
        compresses,
        BAD_ARGUMENTS,
        "Compression codec {0} does not compress anything. You may want to add generic compression algorithm after other \
         transformations, like: {0}, LZ4. {NOTE}",
        shown()
    );
    let behind_generic = is(Family::Generic).map_or(&[][..], |at| &codecs[at + 1..]);
    ensure!(
        behind_generic.iter().all(|codec| codec.family == Family::Encryption),
        BAD_ARGUMENTS,
        "The combination of compression codecs {} is meaningless, because it does not make sense to apply any transformations \
         after generic compression algorithm. {NOTE}",
        shown()
    );
    let Some(floats) = is(Family::Floats) else { return Ok(()) };
    ensure!(
        ty.is_float(),
        BAD_ARGUMENTS,
        "The combination of compression codecs {} is meaningless, because it does not make sense to apply a floating-point time \
         series codec to non-floating-point columns {NOTE}",
        shown()
    );
    let differences =
        codecs[..floats].iter().any(|codec| codec.family == Family::Delta || codec.shown == "DoubleDelta");
    ensure!(
        !differences,
        BAD_ARGUMENTS,
        "The combination of compression codecs {} is meaningless, because floating point time series codecs do delta compression \
         implicitly by themselves. {NOTE}",
        shown()
    );
    Ok(())
}
