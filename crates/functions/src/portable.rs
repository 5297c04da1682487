//! Functions that ClickHouse servers of all versions from 18.16 on compute as they are computed here, and over which arguments: what
//! is asked of a server may be said with them.
//!
//! Left out is what depends on the time zone (a server has its own), what raises errors for some values (a server may compute it of rows
//! that another condition leaves out), and what has changed between versions, such as negative offsets of `substring`.

/// The arguments over which a function means the same everywhere. Numbers are of 64 bits at most, decimals of 18 digits; all may be
/// Nullable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portable {
    /// Two numbers, or two values of one type.
    Comparable,
    /// Truth values that are never NULL: three-valued logic is younger than the oldest servers.
    Conditions,
    /// Integers and floats, or integers and decimals: of these too large a result is an error.
    Numbers,
    /// Integers and floats alone.
    Quotient,
    /// Integers, of which the last is a constant above 0.
    IntegersByConstant,
    /// Of type Date.
    Dates,
    /// Of type String.
    Strings,
    /// Strings, of which the last is a constant that is not empty and has no backslash.
    StringsByConstant,
    /// One value of any type.
    Any,
    /// Values of one type.
    Alike,
    /// Conditions that are never NULL, each followed by its value, and a value for all others; values of one type.
    Choice,
}

/// How far the function of that name is portable, if at all.
pub fn portable(name: &str) -> Option<Portable> {
    Some(match name {
        "equals" | "notEquals" | "less" | "lessOrEquals" | "greater" | "greaterOrEquals" => {
            Portable::Comparable
        }
        "and" | "or" | "not" => Portable::Conditions,
        "plus" | "minus" | "multiply" => Portable::Numbers,
        "divide" => Portable::Quotient,
        "modulo" | "intDiv" => Portable::IntegersByConstant,
        "toYear" | "toMonth" | "toDayOfMonth" | "toDayOfWeek" | "toMonday" | "toStartOfMonth"
        | "toStartOfQuarter" | "toStartOfYear" => Portable::Dates,
        "lower" | "upper" | "length" | "empty" | "notEmpty" | "concat" => Portable::Strings,
        "like" | "notLike" | "startsWith" | "endsWith" | "position" => Portable::StringsByConstant,
        "isNull" | "isNotNull" => Portable::Any,
        "ifNull" | "coalesce" => Portable::Alike,
        "if" | "multiIf" => Portable::Choice,
        _ => return None,
    })
}
