//! CREATE DICTIONARY.

use super::clauses::{check_replaced, writable};
use super::stored::check_table;
use crate::column_definitions::comment_of;
use crate::dictionaries::declared::{definition, normalised};
use crate::dictionaries::table::Dictionary;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure};
use chalet_storage::catalog::{Entry, quoted};
use chalet_syntax::{ast, print};
use std::sync::Arc;

pub(crate) fn dictionary(create: &ast::CreateDictionary, ctx: &QueryContext) -> Result<()> {
    let database = create.name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let name = &create.name.name.name;
    writable(database, ctx)?;
    let catalog = &ctx.database.shared.catalog;
    if let Some(known) = catalog.find(database, name) {
        if create.if_not_exists {
            return Ok(());
        }
        let is_dictionary = known.table.as_any().is::<Dictionary>();
        ensure!(
            create.replace != ast::Replace::No || !is_dictionary,
            DICTIONARY_ALREADY_EXISTS,
            "Dictionary {database}.{name} already exists"
        );
        ensure!(is_dictionary, TABLE_ALREADY_EXISTS, "Table {database}.{name} already exists");
    } else {
        check_replaced(create.replace, database, name)?;
    }
    let mut kept = normalised(create, ctx)?;
    let table = Arc::new(Dictionary::new(definition(&kept, database, ctx)?));
    kept.name.database = Some(ast::Ident::new(database));
    let comment = comment_of(kept.comment.as_deref());
    let statement = ast::Statement {
        kind: ast::StatementKind::CreateDictionary(Box::new(kept)),
        cluster: None,
        output: ast::Output::default(),
        span: ast::Span::default(),
    };
    let text = print::format(&statement);
    let head = format!("CREATE DICTIONARY {}.{}", quoted(database), quoted(name));
    let Some(definition) = text.strip_prefix(&head) else {
        bail!(LOGICAL_ERROR, "The statement of dictionary {name} is printed as {text}");
    };
    let entry = Entry { table, kind: "DICTIONARY", definition: definition.into(), comment };
    check_table(&entry, database, name, ctx)?;
    catalog.create_table(database, name, entry, create.if_not_exists, create.replace != ast::Replace::No)
}
