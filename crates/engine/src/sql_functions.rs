//! Functions made by SQL: lambdas under names. Those of a database on disk are on disk before they are seen.

use chalet_base::{Result, bail, ensure};
use chalet_storage::catalog::quoted;
use chalet_storage::disk::{Definition, DefinitionFile, DefinitionKind, Store};
use chalet_syntax::ast::{self, ExprKind, StatementKind};
use chalet_syntax::spelled_lambda;
use chalet_syntax::visit::walk;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

#[derive(Clone)]
pub(crate) struct SqlFunction {
    pub params: Vec<String>,
    /// An error where its definition on disk cannot be read.
    pub body: Result<ast::Expr>,
    pub create_sql: String,
}

pub(crate) type ByName = BTreeMap<String, SqlFunction>;

#[derive(Default)]
pub(crate) struct SqlFunctions {
    made: RwLock<Arc<ByName>>,
    /// Where they are kept; `None` in memory.
    store: Option<Arc<Store>>,
    /// Held by a change.
    changing: Mutex<()>,
}

impl SqlFunction {
    pub fn of(create: &ast::CreateFunction) -> Result<SqlFunction> {
        let spelled_out = match &create.body.kind {
            ExprKind::Call(call) => spelled_lambda(call),
            _ => None,
        };
        let ExprKind::Lambda { params, body } = spelled_out.as_ref().unwrap_or(&create.body.kind) else {
            bail!(BAD_ARGUMENTS, "Expected function, got: {}", create.body);
        };
        for (index, param) in params.iter().enumerate() {
            ensure!(
                params[..index].iter().all(|earlier| earlier.name != param.name),
                BAD_ARGUMENTS,
                "Identifier {} already used as function parameter",
                param.name
            );
        }
        let mut calls_itself = false;
        walk(body, &mut |e| {
            calls_itself |= matches!(&e.kind, ExprKind::Call(call) if call.name == create.name.name);
            true
        });
        ensure!(!calls_itself, CANNOT_CREATE_RECURSIVE_FUNCTION, "You cannot create recursive function");
        Ok(SqlFunction {
            params: params.iter().map(|p| p.name.clone()).collect(),
            body: Ok(ast::Expr::clone(body)),
            create_sql: format!("CREATE FUNCTION {} AS {}", quoted(&create.name.name), create.body),
        })
    }

    /// The function of a definition on disk.
    pub fn stored(name: &str, text: &str) -> Result<SqlFunction> {
        match &chalet_syntax::parse_printed(text)?[..] {
            [ast::Statement { kind: StatementKind::CreateFunction(create), .. }] => SqlFunction::of(create),
            _ => bail!(CORRUPTED_DATA, "The definition of function {name} is not one"),
        }
    }
}

impl SqlFunctions {
    pub fn new(store: Option<Arc<Store>>) -> SqlFunctions {
        SqlFunctions { store, ..SqlFunctions::default() }
    }

    /// All of them, as they are now.
    pub fn all(&self) -> Arc<ByName> {
        self.made.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn create(
        &self,
        name: &str,
        function: SqlFunction,
        if_not_exists: bool,
        or_replace: bool,
    ) -> Result<()> {
        self.change(|functions| {
            if functions.contains_key(name) && !or_replace {
                ensure!(
                    if_not_exists,
                    FUNCTION_ALREADY_EXISTS,
                    "User-defined function '{name}' already exists"
                );
                return Ok(false);
            }
            functions.insert(name.to_owned(), function);
            Ok(true)
        })
    }

    pub fn drop(&self, name: &str, if_exists: bool) -> Result<()> {
        self.change(|functions| {
            let removed = functions.remove(name).is_some();
            ensure!(removed || if_exists, UNKNOWN_FUNCTION, "The function '{name}' doesn't exist");
            Ok(removed)
        })
    }

    /// `change` says whether it changed anything.
    fn change(&self, change: impl FnOnce(&mut ByName) -> Result<bool>) -> Result<()> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = ByName::clone(&self.all());
        if change(&mut changed)? {
            if let Some(store) = &self.store {
                store.write(DefinitionFile::Functions, &definitions(&changed))?;
            }
            self.publish(changed);
        }
        Ok(())
    }

    /// Takes what is on disk, and says which functions cannot be used that were not there before.
    pub fn load(&self) -> Result<Vec<String>> {
        let (mut found, mut warnings) = (ByName::new(), Vec::new());
        let Some(store) = &self.store else { return Ok(warnings) };
        let known = self.all();
        for Definition { name, text, .. } in store.read(DefinitionFile::Functions)? {
            let function = match known.get(&name).filter(|known| known.create_sql == text) {
                Some(known) => known.clone(),
                None => SqlFunction::stored(&name, &text).unwrap_or_else(|error| {
                    warnings.push(format!("Function {name} cannot be used: {}", error.message()));
                    let body = Err(error.context(format!("definition of function {name}")));
                    SqlFunction { params: Vec::new(), body, create_sql: text }
                }),
            };
            found.insert(name, function);
        }
        self.publish(found);
        Ok(warnings)
    }

    fn publish(&self, functions: ByName) {
        *self.made.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(functions);
    }
}

fn definitions(functions: &ByName) -> Vec<Definition> {
    let definition = |(name, function): (&String, &SqlFunction)| Definition {
        kind: DefinitionKind::Function,
        folder: 0,
        database: String::new(),
        name: name.clone(),
        text: function.create_sql.clone(),
    };
    functions.iter().map(definition).collect()
}
