//! The record of a scalar function: what a user looks up and what the framework needs to know.

/// Everything about a function but its code. Fields that are left out come from [`Record::DEFAULT`].
pub struct Record {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Aliases that match in any case although the name does not.
    pub any_case_aliases: &'static [&'static str],
    /// Name and aliases match in any case.
    pub case_insensitive: bool,
    /// One or two sentences for the manual.
    pub summary: &'static str,
    /// `reverse(s)`.
    pub syntax: &'static str,
    /// Runnable, and run by the tests.
    pub examples: &'static [Example],
    pub nulls: Nulls,
    /// How constant arguments reach the function.
    pub constants: Constants,
    pub dictionaries: Dictionaries,
    /// Positions of arguments that must be constant, as functions themselves check. Here they are looked at where an argument is NULL.
    pub constant_arguments: &'static [usize],
    /// Constants are looked at before types.
    pub constants_before_types: bool,
    /// A NULL among the arguments makes the result NULL even where their number is wrong, as it does for each function of several
    /// numbers of arguments.
    pub null_before_arity: bool,
    /// Constants among the arguments from this position on are no part of a column's name.
    pub secret_from: Option<usize>,
    pub volatility: Volatility,
    pub lazy: Lazy,
    /// The first argument names a table or a dictionary, and may be written without quotes: `dictGet(db.dictionary, ...)`.
    pub takes_table_name: bool,
    /// Takes a part of its first argument by name: `t.a`.
    pub part_by_name: bool,
    /// Reads an Enum in place of its first argument, a string, as the name.
    pub takes_enum: bool,
    /// What happens with arguments of type Variant and Dynamic.
    pub several_types: SeveralTypes,
    /// Cheap and never fails, whatever the values: safe to run on rows whose result nobody needs.
    pub total: bool,
    /// The result of a row depends on the rows before it: a condition above does not pass.
    pub counts_rows: bool,
    /// Of two integers: is it their sum or difference?
    pub linear: Linear,
    /// Of two values: which order of them is the one that makes it true?
    pub comparison: Comparison,
    /// Where its first argument, a date or a moment, grows, and the others stay: does the result never fall?
    pub grows: Grows,
    /// Of a String it looks at the length alone.
    pub only_length: bool,
    /// Where its name stands alone and names nothing else, is it a call?
    pub without_parentheses: bool,
    /// What of its first argument is it about? For indexes of values and words.
    pub search: Search,
    /// True whatever its arguments are, but they are conditions: what indexes and statistics say that these leave out is left out.
    pub hints_index: bool,
    /// What its result shows where types of arguments show a name (`SimpleAggregateFunction`).
    pub shown: ShownType,
}

/// A statement and its answer in TabSeparated.
pub struct Example {
    pub sql: &'static str,
    pub result: &'static str,
}

impl Record {
    /// The usual answers, for `..Record::DEFAULT`; names and documentation are empty.
    pub const DEFAULT: Record = Record {
        name: "",
        aliases: &[],
        any_case_aliases: &[],
        case_insensitive: false,
        summary: "",
        syntax: "",
        examples: &[],
        nulls: Nulls::Propagate,
        constants: Constants::Flattened,
        dictionaries: Dictionaries::PerValue,
        constant_arguments: &[],
        constants_before_types: false,
        null_before_arity: false,
        secret_from: None,
        volatility: Volatility::Immutable,
        lazy: Lazy::No,
        takes_table_name: false,
        part_by_name: false,
        without_parentheses: false,
        takes_enum: false,
        several_types: SeveralTypes::EachType,
        total: false,
        counts_rows: false,
        linear: Linear::No,
        comparison: Comparison::No,
        grows: Grows::No,
        only_length: false,
        search: Search::No,
        hints_index: false,
        shown: ShownType::Passed,
    };
}

/// Which name the type of a result shows, where types of arguments show `SimpleAggregateFunction` in place of what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownType {
    /// What the function makes of types that it does not look into: of any that it knows, the name is lost.
    Passed,
    /// None.
    Dropped,
    /// That of the first argument, where the result is of its type.
    OfFirst,
    /// The function takes the names of types: it is bound to what they show.
    Seen,
    /// The last argument is a constant that says the type.
    Written,
}

/// What the optimizer may use of a function of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linear {
    No,
    Plus,
    Minus,
}

/// What a function of a date or moment grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grows {
    /// Nothing.
    No,
    /// The day that the calendar of its zone shows.
    WithDays,
    /// The moment, as long as the clocks of its zone are not changed.
    WithMoments,
}

/// What an index of the values, elements or words of its first argument may use of a function: where the second one must be in it
/// for the function to be true, or which part of it the function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    No,
    /// An element of an array.
    Element,
    /// One of several elements.
    AnyElement,
    /// All of several elements.
    AllElements,
    /// A key of a map.
    Key,
    /// A value of a map.
    Value,
    /// The keys of a map themselves.
    Keys,
    /// The values of a map themselves.
    Values,
    /// The element at a position, the value under a key.
    Subscript,
    Prefix,
    Suffix,
    /// A token of a string.
    Token,
    /// One of several parts of a string.
    AnySubstring,
    /// What a LIKE pattern says of a string.
    Pattern,
}

/// What the optimizer may use of a function of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    No,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison of the second value with the first one.
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }
}

/// Who deals with NULL arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// The framework: the function sees types and values without Nullable; a NULL in any argument makes the result NULL.
    Propagate,
    /// The function: it sees Nullable types and validity.
    Seen,
}

/// Who deals with constant arguments when others are not constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// The framework repeats them.
    Flattened,
    /// The function: an argument with `constant` set has a vector of one row. [`NativeArg`](crate::NativeArg)
    /// and [`StringArg`](crate::StringArg) read both kinds alike.
    Seen,
}

/// Who deals with arguments whose type is known in their rows only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeveralTypes {
    /// The framework: the function runs over the rows of each type; NULL gives NULL.
    EachType,
    /// The function: it sees Variant and Dynamic, with their validity.
    Seen,
}

/// What happens with dictionary-coded arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dictionaries {
    /// The framework: one dictionary among constants runs once per distinct value and keeps its codes.
    PerValue,
    /// The framework decodes, because the result depends on more than the values of one row (or LowCardinality must not appear in the result type).
    Decoded,
    /// The framework decodes the values, but leaves LowCardinality in the types of the arguments: for constructors
    /// of containers, whose elements may be LowCardinality.
    InTypes,
}

/// When two calls with equal arguments give equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Always: may be folded into a constant.
    Immutable,
    /// Within one query (`now`): folded once per query.
    PerQuery,
    /// Never (`rand`), or it depends on the block (`rowNumberInBlock`): not folded, not shared.
    PerRow,
}

/// Which arguments are evaluated only for the rows that need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lazy {
    No,
    /// condition, value, condition, value, ..., else
    Conditions,
    /// Each argument only where all before are true.
    And,
    /// Each argument only where all before are false.
    Or,
    /// Each argument only where all before are NULL.
    FirstNonNull,
}
