//! MODIFY COLUMN: a column is declared anew, and keeps what is not said again. Which type it may have instead of its own.

use super::columns::{Altered, Draft, check_not_in_keys, definition_of};
use super::target::engine_column_may_become;
use super::uses;
use crate::column_checks::check_usable;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::table_columns::bind_over;
use chalet_plan::Expr;
use chalet_storage::catalog::in_backquotes;
use chalet_storage::{ColumnSchema, DefaultKind};
use chalet_syntax::ast::{self, ColumnPosition};
use chalet_syntax::print::string_literal;
use chalet_types::DataType;

impl Draft<'_> {
    pub fn modify(
        &mut self,
        if_exists: bool,
        column: &ast::ColumnDef,
        position: Option<&ColumnPosition>,
        remove: Option<&str>,
    ) -> Result<()> {
        let name = &column.name.name;
        let Some(at) = self.position(name, if_exists)? else { return Ok(()) };
        if let Some(property) = remove {
            let schema = &mut self.columns[at].schema;
            let is_kind = |kind| schema.default_kind() == Some(kind);
            match property.to_ascii_uppercase().as_str() {
                "DEFAULT" if is_kind(DefaultKind::Default) => schema.default = None,
                "MATERIALIZED" if is_kind(DefaultKind::Materialized) => schema.default = None,
                "ALIAS" if is_kind(DefaultKind::Alias) => schema.default = None,
                "TTL" if schema.ttl.is_some() => schema.ttl = None,
                "CODEC" if !schema.codec.is_empty() => schema.codec = "".into(),
                // Nothing is missed where there were none.
                "SETTINGS" => schema.settings = "".into(),
                "COMMENT" if !schema.comment.is_empty() => schema.comment = "".into(),
                other => bail!(BAD_ARGUMENTS, "Column `{name}` doesn't have {other}, cannot remove it"),
            }
            self.columns[at].fill = self.fill(&self.columns[at].schema)?;
            return Ok(());
        }
        let before = self.columns[at].clone();
        let mut written = column.clone();
        if written.ty.is_none() && written.default.is_none() {
            written.ty = definition_of(&before.schema)?.ty;
        } else if written.ty.is_none() {
            written.ty = definition_of(&ColumnSchema { default: None, ..before.schema.clone() })?.ty;
        }
        let others = (0..self.columns.len()).filter(|&other| other != at);
        let declared = self.declared(&written, others)?.pop();
        let mut schema = declared.ok_or_else(|| err!(LOGICAL_ERROR, "A column is not declared"))?;
        if column.default.is_none() {
            schema.default.clone_from(&before.schema.default);
        }
        if column.comment.is_none() {
            schema.comment.clone_from(&before.schema.comment);
        }
        if column.ttl.is_none() {
            schema.ttl.clone_from(&before.schema.ttl);
        }
        if column.codec.is_empty() {
            schema.codec.clone_from(&before.schema.codec);
        }
        if column.statistics.is_empty() {
            schema.statistics.clone_from(&before.schema.statistics);
        }
        if column.settings.is_empty() {
            schema.settings.clone_from(&before.schema.settings);
        }
        let was_stored = before.schema.is_stored();
        // Rows of parts without the column have its default, whichever it is now.
        let fill = self.fill(&schema)?;
        let altered = Altered { schema, id: before.id, fill };
        if altered.schema.ty != before.schema.ty && was_stored {
            let (from, to) = (&before.schema.ty, &altered.schema.ty);
            // Variant and Dynamic have a NULL of their own, which counts for nothing here.
            let is_nullable = |ty: &DataType| matches!(ty.without_low_cardinality(), DataType::Nullable(_));
            ensure!(
                self.partition.is_none()
                    || !is_nullable(from)
                    || is_nullable(to)
                    || altered.schema.default.is_some(),
                BAD_ARGUMENTS,
                "Cannot convert column '{name}' from nullable type {from} to non-nullable type {to}. Please specify `DEFAULT` \
                 expression in ALTER MODIFY COLUMN statement"
            );
            self.check_type(name, &before.schema.ty, &altered.schema.ty)?;
            check_convertible(name, &before.schema.ty, &altered.schema, self.ctx)?;
            self.converted.push(altered.schema.name.clone());
        }
        self.columns[at] = altered;
        if position.is_some() {
            let moved = self.columns.remove(at);
            let to = self.place(position)?;
            self.columns.insert(to, moved);
        }
        Ok(())
    }

    /// Fails where a key has the column, unless its rows keep their order.
    fn check_type(&self, name: &str, from: &DataType, to: &DataType) -> Result<()> {
        let keeps_order = match (from, to) {
            (DataType::Enum8(a), DataType::Enum8(b)) | (DataType::Enum16(a), DataType::Enum16(b)) => {
                a.entries().iter().all(|entry| b.entries().contains(entry))
            }
            (DataType::DateTime(_), DataType::DateTime(_)) => true,
            // The same numbers by another name.
            (DataType::Enum8(_), DataType::Int8)
            | (DataType::Enum16(_), DataType::Int16)
            | (DataType::DateTime(_), DataType::UInt32)
            | (DataType::UInt32, DataType::DateTime(_))
            | (DataType::Date, DataType::UInt16)
            | (DataType::UInt16, DataType::Date) => {
                let partition = self.partition.as_deref().unwrap_or_default();
                partition.is_empty() || !uses(partition, name)?
            }
            _ => from.without_low_cardinality() == to.without_low_cardinality(),
        };
        if keeps_order {
            return Ok(());
        }
        let is_of_engine =
            self.merging.as_ref().is_some_and(|rule| engine_column_may_become(rule, name, from, to));
        // What the engine itself says of the column does not count then.
        let of_engine = in_backquotes(name);
        let keys = self.keys.iter().filter(|key| !is_of_engine || **key != of_engine);
        check_not_in_keys(keys, name, "modify")
    }
}

/// Fails for a type without values, and where CAST has no way from a type to the new one, whatever rows there are.
fn check_convertible(name: &str, from: &DataType, to: &ColumnSchema, ctx: &QueryContext) -> Result<()> {
    check_usable(to)?;
    let field = ctx.ids.field(name, from.clone());
    let column = (name.to_string(), Expr::Column(field.id, field.ty));
    let cast = format!("CAST({}, {})", in_backquotes(name), string_literal(to.ty.to_string()));
    bind_over(&chalet_syntax::parse_expression(&cast)?, &[column], ctx, &ctx.ids).map(drop)
}
