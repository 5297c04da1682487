//! What is sent of a scan, as SQL that means the same to every server: its columns, what its filter says, its order and its limits.
//! Values are written so that no server rounds them; what cannot be is left out, and filtered here.

use chalet_storage::scan::{ColumnRange, Interval};
use chalet_storage::{ScanRequest, TableSchema};
use chalet_syntax::print::{string_literal, write_quoted};
use chalet_text::write::number;
use chalet_types::{DataType, Value};

/// A name in back quotes.
pub(super) fn quoted_name(name: &str) -> String {
    let mut quoted = String::new();
    write_quoted(&mut quoted, name);
    quoted
}

/// What servers make of the rows of a table before they send them.
pub(super) struct Made {
    /// For each column of the schema the expression that it is: a name, or the state of an aggregate.
    pub columns: Vec<String>,
    /// Of GROUP BY.
    pub keys: Vec<String>,
    pub is_distinct: bool,
}

/// Which rows servers send, as SQL.
#[derive(Clone, Default)]
pub(super) struct Narrowing {
    /// What rows must meet.
    pub conditions: Vec<String>,
    /// Of ORDER BY. Rows of several servers are sorted here anew.
    pub order: Vec<String>,
    /// So many rows of each combination of these values.
    pub limit_by: Option<(u64, Vec<String>)>,
    /// So many rows of those that meet the conditions.
    pub limit: Option<u64>,
}

impl Narrowing {
    /// Are all rows sent?
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.limit_by.is_none() && self.limit.is_none()
    }
}

/// The query of a scan.
pub(super) fn select(
    table: &str,
    schema: &TableSchema,
    made: Option<&Made>,
    narrowing: &Narrowing,
    request: &ScanRequest,
) -> String {
    let name = |c: usize| match made {
        Some(made) => made.columns[c].clone(),
        None => quoted_name(&schema.columns[c].name),
    };
    let names: Vec<String> = request.columns.iter().map(|&c| name(c)).collect();
    let columns = if names.is_empty() { "1".to_string() } else { names.join(", ") };
    let distinct = if made.is_some_and(|made| made.is_distinct) { "DISTINCT " } else { "" };
    let mut sql = format!("SELECT {distinct}{columns} FROM {table}");
    // What is made of groups no row has.
    let of_rows = |column: &String| made.is_none_or(|made| made.is_distinct || made.keys.contains(column));
    let ranges = request.ranges.iter().filter(|range| of_rows(&names[range.column]));
    let of_request = ranges.flat_map(|range| {
        let ty = &schema.columns[request.columns[range.column]].ty;
        conditions(range, &names[range.column], ty)
    });
    let conditions: Vec<String> = narrowing.conditions.iter().cloned().chain(of_request).collect();
    if !conditions.is_empty() {
        sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
    }
    if let Some(keys) = made.map(|made| &made.keys).filter(|keys| !keys.is_empty()) {
        sql.push_str(&format!(" GROUP BY {}", keys.join(", ")));
    }
    if !narrowing.order.is_empty() {
        sql.push_str(&format!(" ORDER BY {}", narrowing.order.join(", ")));
    }
    if let Some((limit, by)) = &narrowing.limit_by {
        sql.push_str(&format!(" LIMIT {limit} BY {}", by.join(", ")));
    }
    // A limit counts rows that pass the whole filter, which the server need not know.
    let of_request = request.limit.filter(|_| request.filter.is_none() && narrowing.limit_by.is_none());
    if let Some(limit) = of_request.into_iter().chain(narrowing.limit).min() {
        sql.push_str(&format!(" LIMIT {limit}"));
    }
    sql
}

/// Conditions that all hold; those that cannot be written are left out.
fn conditions(range: &ColumnRange, column: &str, ty: &DataType) -> Vec<String> {
    let mut all = Vec::new();
    let among: Option<Vec<String>> = range.among.iter().map(|value| literal(value, ty)).collect();
    all.extend(
        among.filter(|among| !among.is_empty()).map(|among| format!("{column} IN ({})", among.join(", "))),
    );
    all.extend(bound(&range.low, ">", column, ty));
    all.extend(bound(&range.high, "<", column, ty));
    let any: Option<Vec<String>> = range.any_of.iter().map(|interval| within(interval, column, ty)).collect();
    all.extend(any.filter(|any| !any.is_empty()).map(|any| format!("({})", any.join(" OR "))));
    all
}

/// A range as a condition that says the same; none where one of its values cannot be written.
pub(super) fn exactly(range: &ColumnRange, column: &str, ty: &DataType) -> Option<String> {
    let inner = range.any_of.iter().flat_map(|interval| [&interval.low, &interval.high]);
    let mut bounds = [&range.low, &range.high].into_iter().chain(inner).flatten().map(|(value, _)| value);
    let is_writable = bounds.all(|value| comparable(value, ty).is_some())
        && range.among.iter().all(|value| literal(value, ty).is_some());
    let all = conditions(range, column, ty);
    (is_writable && !all.is_empty()).then(|| all.join(" AND "))
}

fn bound(bound: &Option<(Value, bool)>, operator: &str, column: &str, ty: &DataType) -> Option<String> {
    let (value, is_included) = bound.as_ref()?;
    Some(format!("{column} {operator}{} {}", if *is_included { "=" } else { "" }, comparable(value, ty)?))
}

/// A condition that holds in the interval and maybe outside; none where nothing of it can be written.
fn within(interval: &Interval, column: &str, ty: &DataType) -> Option<String> {
    let bounds = [bound(&interval.low, ">", column, ty), bound(&interval.high, "<", column, ty)];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    (!bounds.is_empty()).then(|| format!("({})", bounds.join(" AND ")))
}

/// A value as SQL that a column is compared with.
fn comparable(value: &Value, ty: &DataType) -> Option<String> {
    literal(value, ty).or_else(|| decimal(value, ty))
}

/// A decimal as SQL, of the scale of its type: in lists old servers take none.
pub(super) fn decimal(value: &Value, ty: &DataType) -> Option<String> {
    let DataType::Decimal { precision, scale } = ty.bare() else { return None };
    let digits = match value {
        Value::Int(digits) => i128::from(*digits),
        Value::Int128(digits) => *digits,
        _ => return None,
    };
    let bits = match precision {
        ..=9 => 32,
        ..=18 => 64,
        _ => 128,
    };
    let mut text = Vec::new();
    number::decimal(&mut text, digits, *scale, true);
    Some(format!("toDecimal{bits}('{}', {scale})", String::from_utf8_lossy(&text)))
}

/// A value as SQL that has it exactly.
pub(super) fn literal(value: &Value, ty: &DataType) -> Option<String> {
    match (ty.bare(), value) {
        (DataType::String, Value::Bytes(bytes)) => Some(string_literal(bytes)),
        (DataType::Date, value) => Some(format!("toDate({})", value.as_u64()?)),
        (DataType::DateTime(_), value) => Some(format!("toDateTime({})", value.as_u64()?)),
        (DataType::Float32 | DataType::Float64, Value::Float(x)) if x.fract() == 0.0 && x.abs() < 1e15 => {
            Some(format!("{}", *x as i64))
        }
        (DataType::Float32 | DataType::Float64, Value::Float(x)) if x.is_finite() => {
            // Old servers read the digits of a float inexactly.
            let bytes: String = x.to_le_bytes().iter().map(|byte| format!("{byte:02X}")).collect();
            Some(format!("reinterpretAsFloat64(unhex('{bytes}'))"))
        }
        (ty, Value::UInt(n)) if ty.is_integer() => Some(n.to_string()),
        (ty, Value::Int(n)) if ty.is_integer() => Some(n.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> TableSchema {
        TableSchema::of([
            ("a`b", DataType::UInt64),
            ("s", "Nullable(String)".parse().unwrap()),
            ("d", DataType::Date),
            ("x", DataType::Float64),
            ("u", DataType::Uuid),
        ])
    }

    fn sent(columns: &[usize], ranges: Vec<ColumnRange>, limit: Option<u64>) -> String {
        let request = ScanRequest { columns: columns.to_vec(), ranges, limit, ..ScanRequest::default() };
        select("`db`.`t`", &schema(), None, &Narrowing::default(), &request)
    }

    #[test]
    fn columns_and_limit() {
        assert_eq!(sent(&[], vec![], None), "SELECT 1 FROM `db`.`t`");
        assert_eq!(sent(&[1, 0], vec![], Some(3)), "SELECT `s`, `a\\`b` FROM `db`.`t` LIMIT 3");
    }

    #[test]
    fn ranges() {
        let low = ColumnRange { low: Some((Value::UInt(5), false)), ..ColumnRange::of(0) };
        let among =
            ColumnRange { among: vec![Value::string("it's"), Value::string([0xff])], ..ColumnRange::of(1) };
        assert_eq!(
            sent(&[0, 1], vec![low, among], None),
            "SELECT `a\\`b`, `s` FROM `db`.`t` WHERE `a\\`b` > 5 AND `s` IN ('it\\'s', '\\xFF')"
        );
        let day = ColumnRange { high: Some((Value::UInt(17000), true)), ..ColumnRange::of(0) };
        let uuid = ColumnRange { low: Some((Value::string([7; 16]), true)), ..ColumnRange::of(1) };
        assert_eq!(
            sent(&[2, 4], vec![day, uuid], None),
            "SELECT `d`, `u` FROM `db`.`t` WHERE `d` <= toDate(17000)"
        );
        let any_of = vec![
            Interval { low: None, high: Some((Value::Float(-1.0), false)) },
            Interval { low: Some((Value::Float(0.1), true)), high: None },
        ];
        assert_eq!(
            sent(&[3], vec![ColumnRange { any_of, ..ColumnRange::of(0) }], None),
            "SELECT `x` FROM `db`.`t` WHERE ((`x` < -1) OR (`x` >= reinterpretAsFloat64(unhex('9A9999999999B93F'))))"
        );
    }
}
