//! A Nested by its own name: its columns `n.a`, `n.b` as one array of tuples, or as one tuple where ARRAY JOIN took them apart.

use crate::call::{cast, make_call};
use crate::scope::{Group, Tables};
use crate::select::SelectBinder;
use chalet_base::Result;
use chalet_plan::Expr;
use chalet_types::{DataType, TupleField, Value};
use std::sync::Arc;

impl Tables {
    /// The columns of a Nested that a whole name means: `n`, `t.n` or `db.t.n`.
    fn group(&self, parts: &[&str]) -> Option<(Group<'_>, String)> {
        let bare = self.list.iter().map(|table| (table, 0));
        let qualified =
            self.qualified(parts).flat_map(|(i, skips)| skips.into_iter().map(move |skip| (i, skip)));
        let qualified = qualified.map(|(i, skip)| (&self.list[i], skip));
        let mut found = bare.chain(qualified).filter_map(|(table, skip)| {
            let name = parts.get(skip..).filter(|rest| !rest.is_empty())?.join(".");
            Some((table.group(&name)?, name))
        });
        found.next()
    }
}

impl SelectBinder<'_> {
    pub(crate) fn nested_group(&self, names: &[&str]) -> Result<Option<Expr>> {
        let Some((group, name)) = self.tables.group(names) else { return Ok(None) };
        let env = self.query.env;
        let exprs = group.iter().map(|(_, expr)| expr.clone());
        if self.tables.unnested.iter().any(|unnested| **unnested == *name) {
            let field = |(name, expr): &(&str, Expr)| TupleField {
                name: Some((*name).into()),
                ty: expr.ty().clone(),
            };
            let fields: Arc<[TupleField]> = group.iter().map(field).collect();
            let tuple = make_call(env, "tuple", exprs.collect())?;
            return cast(env, tuple, &DataType::Tuple(fields.into())).map(Some);
        }
        if !group.iter().all(|(_, expr)| matches!(expr.ty(), DataType::Array(_))) {
            return Ok(None);
        }
        let parts = Value::Array(group.iter().map(|(name, _)| Value::from(*name)).collect());
        let parts = Expr::literal(&parts, DataType::array(DataType::String))?;
        make_call(env, "nested", std::iter::once(parts).chain(exprs).collect()).map(Some)
    }
}
