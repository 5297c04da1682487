//! INSERT ... SELECT from files without a structure: the columns that take the rows say which ones the files have, and in which types.
//! Formats whose columns have names are so read by these names, and what a file lacks has the table's default.

use crate::formats::FORMATS;
use crate::query_context::QueryContext;
use crate::table_argument::text;
use chalet_base::{Result, bail};
use chalet_binder::table_columns::bind_table_arguments;
use chalet_storage::ColumnSchema;
use chalet_storage::catalog::quoted;
use chalet_syntax::ast::{Call, Expr, ExprKind, Literal, Query, Select, SetExpr, Span, TableKind};
use chalet_syntax::visit::walk;
use std::borrow::Cow;

/// The setting that says whether this is done: 0 never, 1 always, 2 where it fits.
const SETTING: &str = "use_structure_from_insertion_table_in_table_functions";
/// Columns of files that are not in them.
const VIRTUAL: [&str; 4] = ["_path", "_file", "_size", "_time"];
/// Where the structure stands among the arguments.
const STRUCTURE: usize = 2;

/// The query, of whose files those have a structure now that are read by a SELECT of its own. `target`: the columns that its
/// columns go to.
pub(super) fn with_structure<'q>(
    query: &'q Query,
    target: &[ColumnSchema],
    ctx: &QueryContext,
) -> Result<Cow<'q, Query>> {
    let mode = ctx.state.settings.number(SETTING).unwrap_or(2);
    if mode == 0 || !reads_file(&query.body) {
        return Ok(Cow::Borrowed(query));
    }
    let mut query = query.clone();
    in_set(&mut query.body, target, mode == 1, ctx)?;
    Ok(Cow::Owned(query))
}

/// Is there a call to look at? Most statements have none.
fn reads_file(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => called(select).is_some(),
        SetExpr::SetOp { inputs, .. } => inputs.iter().any(reads_file),
        SetExpr::Query(query) => reads_file(&query.body),
    }
}

/// The call of `file` that a SELECT reads, and nothing else.
fn called(select: &Select) -> Option<&Call> {
    let TableKind::Function(call) = &select.from.as_ref()?.kind else { return None };
    (call.name == "file" && select.joins.is_empty()).then_some(call)
}

fn in_set(body: &mut SetExpr, target: &[ColumnSchema], always: bool, ctx: &QueryContext) -> Result<()> {
    match body {
        SetExpr::Select(select) => in_select(select, target, always, ctx),
        SetExpr::SetOp { inputs, .. } => {
            inputs.iter_mut().try_for_each(|input| in_set(input, target, always, ctx))
        }
        SetExpr::Query(query) => in_set(&mut query.body, target, always, ctx),
    }
}

fn in_select(select: &mut Select, target: &[ColumnSchema], always: bool, ctx: &QueryContext) -> Result<()> {
    let Some(call) = called(select) else { return Ok(()) };
    let Ok(args) = bind_table_arguments(&call.args, ctx, &ctx.ids) else { return Ok(()) };
    let words: Vec<Option<String>> = args.iter().map(text).collect();
    let word = |at: usize| words.get(at).cloned().flatten().filter(|word| word != "auto");
    if word(STRUCTURE).is_some() || (words.len() > STRUCTURE && words[STRUCTURE].is_none()) {
        return Ok(());
    }
    let Some(hint) = hint(&select.projection, target, always)? else { return Ok(()) };
    if !always && !hint.has_star {
        let format = match word(1) {
            Some(name) => FORMATS.get(&name).ok(),
            None => word(0).and_then(|path| FORMATS.of_path(&path)),
        };
        if !format.is_some_and(|format| format.capabilities.subset_of_columns) {
            return Ok(());
        }
    }
    let structure = literal(structure_of(&hint.columns));
    if let Some(TableKind::Function(call)) = select.from.as_mut().map(|table| &mut table.kind) {
        while call.args.len() <= STRUCTURE {
            call.args.push(literal("auto".into()));
        }
        call.args[STRUCTURE] = structure;
    }
    Ok(())
}

struct Hint<'t> {
    /// The names that the files' columns have, and those of the table that they go to.
    columns: Vec<(&'t str, &'t ColumnSchema)>,
    has_star: bool,
}

/// What the items of SELECT say about the columns of the file: a name is the column that goes to its place, `*` all that are left.
fn hint<'t>(items: &'t [Expr], target: &'t [ColumnSchema], always: bool) -> Result<Option<Hint<'t>>> {
    let mut hint = Hint { columns: Vec::new(), has_star: false };
    let mut left = target.iter();
    let conflict = || match always {
        true => bail!(BAD_ARGUMENTS, "Asterisk cannot be mixed with column list in INSERT SELECT query."),
        false => Ok(None),
    };
    for item in items {
        let is_name = match &item.kind {
            ExprKind::Star(transformers) if transformers.is_empty() => {
                if hint.has_star || !hint.columns.is_empty() {
                    return conflict();
                }
                hint.has_star = true;
                continue;
            }
            ExprKind::Identifier(parts) => match &parts[..] {
                [name] => Some(name.name.as_str()).filter(|name| !VIRTUAL.contains(name)),
                _ => return Ok(None),
            },
            ExprKind::Call(_)
            | ExprKind::QualifiedStar { .. }
            | ExprKind::Columns { .. }
            | ExprKind::Star(_)
                if !always && names_columns(item) =>
            {
                return Ok(None);
            }
            _ => None,
        };
        if hint.has_star {
            if is_name.is_some() {
                return conflict();
            }
            // The last columns are those of what follows the asterisk.
            if left.next_back().is_none() {
                return Ok(None);
            }
            continue;
        }
        match (left.next(), is_name) {
            (Some(column), Some(name)) => hint.columns.push((name, column)),
            (Some(_), None) => {}
            (None, _) if always => bail!(
                NUMBER_OF_COLUMNS_DOESNT_MATCH,
                "Number of columns in insert table less than required by SELECT expression."
            ),
            (None, _) => return Ok(None),
        }
    }
    if hint.has_star {
        hint.columns.extend(left.map(|column| (&*column.name, column)));
    }
    Ok((!hint.columns.is_empty()).then_some(hint))
}

fn names_columns(e: &Expr) -> bool {
    let mut found = false;
    walk(e, &mut |e| {
        found |= !matches!(e.kind, ExprKind::Call(_) | ExprKind::Literal(_));
        !found
    });
    found
}

/// As a structure is written, with the table's defaults.
fn structure_of(columns: &[(&str, &ColumnSchema)]) -> String {
    let column = |(name, column): &(&str, &ColumnSchema)| {
        let default = column.default.as_ref().map(|(_, text)| &**text).filter(|text| !text.is_empty());
        let default = default.map(|text| format!(" DEFAULT {text}")).unwrap_or_default();
        format!("{} {}{default}", quoted(name), column.ty)
    };
    columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

fn literal(text: String) -> Expr {
    Expr { kind: ExprKind::Literal(Literal::String(text.into_bytes())), alias: None, span: Span::default() }
}
