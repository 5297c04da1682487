//! Aliases that the body of a lambda gives. They are known in the rest of the body, in lambdas within it too, and nowhere else,
//! and come before the columns of tables.

use crate::aliases::collect_aliases;
use crate::clauses::LambdaAlias;
use crate::select::SelectBinder;
use chalet_base::hash::HashMap;
use chalet_base::{Result, ensure};
use chalet_plan::Expr;
use chalet_syntax::ast;
use std::rc::Rc;

impl SelectBinder<'_> {
    /// Binds the body of a lambda whose parameters are known by now.
    pub(crate) fn lambda_body(&mut self, params: &[ast::Ident], body: &ast::Expr) -> Result<Expr> {
        let mut given = HashMap::default();
        collect_aliases(body, &mut given)?;
        for param in params {
            ensure!(
                !given.contains_key(&param.name),
                BAD_ARGUMENTS,
                "Alias name '{}' inside lambda cannot have same name as lambda argument",
                param.name
            );
        }
        self.with_lambda_aliases(given, |binder| binder.expr(body))
    }

    /// Binds something where aliases may be named that take the parameters known now.
    pub(crate) fn with_lambda_aliases(
        &mut self,
        given: HashMap<String, Rc<ast::Expr>>,
        bind: impl FnOnce(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let (n_known, n_params) = (self.lambda_aliases.len(), self.lambda_params.len());
        let given = given.into_iter().map(|(name, written)| LambdaAlias {
            name,
            written,
            n_params,
            bound: None,
            is_open: false,
        });
        self.lambda_aliases.extend(given);
        let bound = bind(self);
        self.lambda_aliases.truncate(n_known);
        bound
    }

    /// What a name means as an alias of the lambdas around. The parameters of lambdas further in hide it.
    pub(crate) fn by_lambda_alias(&mut self, name: &str) -> Result<Option<Expr>> {
        let Some(at) = self.lambda_aliases.iter().rposition(|alias| alias.name == name && !alias.is_open)
        else {
            return Ok(None);
        };
        let alias = &self.lambda_aliases[at];
        let (written, n_params) = (alias.written.clone(), alias.n_params);
        if self.lambda_params[n_params..].iter().any(|(param, _)| param == name) {
            return Ok(None);
        }
        if let Some(bound) = &alias.bound {
            return Ok(Some(bound.clone()));
        }
        self.lambda_aliases[at].is_open = true;
        let further_in = self.lambda_aliases.iter().position(|alias| alias.n_params > n_params);
        let hidden = self.lambda_aliases.split_off(further_in.unwrap_or(self.lambda_aliases.len()));
        let params = self.lambda_params.split_off(n_params);
        let bound = self.kind(&written);
        self.lambda_params.extend(params);
        self.lambda_aliases.extend(hidden);
        let alias = &mut self.lambda_aliases[at];
        alias.is_open = false;
        let bound = bound?;
        alias.bound = Some(bound.clone());
        Ok(Some(bound))
    }
}
