//! CREATE DICTIONARY.

use super::{Parse, Parser};
use crate::ast::{
    CreateDictionary, DictionaryAttribute, KeyValue, KeyValueFunction, Lifetime, ObjectKind, Replace,
    StatementKind,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// What follows the word DICTIONARY.
    pub(crate) fn create_dictionary(&mut self, attach: bool, replace: Replace) -> Parse<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let cluster = self.on_cluster()?;
        if attach && matches!(self.token().kind, TokenKind::End | TokenKind::Semicolon) {
            return Ok(StatementKind::Attach { kind: ObjectKind::Dictionary, if_not_exists, name });
        }
        let mut dictionary = CreateDictionary {
            attach,
            replace,
            if_not_exists,
            name,
            cluster,
            attributes: Vec::new(),
            primary_key: Vec::new(),
            source: None,
            layout: None,
            lifetime: None,
            range: None,
            settings: Vec::new(),
            comment: None,
        };
        if self.at(TokenKind::LParen) {
            dictionary.attributes = self.paren_list(false, |p| p.dictionary_attribute())?;
        }
        loop {
            if self.accept_keyword("PRIMARY KEY") {
                dictionary.primary_key = if self.at(TokenKind::LParen) {
                    self.paren_list(false, |p| p.ident())?
                } else {
                    self.comma_list(|p| p.ident())?
                };
            } else if self.accept_keyword("SOURCE") {
                dictionary.source = Some(self.parens(|p| p.key_value_function())?);
            } else if self.accept_keyword("LAYOUT") {
                dictionary.layout = Some(self.parens(|p| p.key_value_function())?);
            } else if self.accept_keyword("LIFETIME") {
                dictionary.lifetime = Some(self.parens(|p| p.lifetime())?);
            } else if self.accept_keyword("RANGE") {
                dictionary.range = Some(self.parens(|p| {
                    p.expect_keyword("MIN")?;
                    let min = p.ident()?;
                    p.expect_keyword("MAX")?;
                    Ok((min, p.ident()?))
                })?);
            } else if self.at_keyword("SETTINGS") && self.peek(1).kind == TokenKind::LParen {
                self.advance();
                dictionary.settings = self.parens(|p| p.settings_list())?;
            } else if dictionary.comment.is_none() && self.accept_keyword("COMMENT") {
                dictionary.comment = Some(self.string()?);
            } else {
                return Ok(StatementKind::CreateDictionary(Box::new(dictionary)));
            }
        }
    }

    fn dictionary_attribute(&mut self) -> Parse<DictionaryAttribute> {
        let name = self.ident()?;
        let ty = self.type_name()?;
        let mut attribute = DictionaryAttribute {
            name,
            ty,
            default: None,
            expression: None,
            hierarchical: false,
            bidirectional: false,
            injective: false,
            is_object_id: false,
        };
        loop {
            if self.accept_keyword("DEFAULT") {
                attribute.default = Some(self.bare_expr()?);
            } else if self.accept_keyword("EXPRESSION") {
                attribute.expression = Some(self.bare_expr()?);
            } else if self.accept_keyword("HIERARCHICAL") {
                attribute.hierarchical = true;
            } else if self.accept_keyword("BIDIRECTIONAL") {
                attribute.bidirectional = true;
            } else if self.accept_keyword("INJECTIVE") {
                attribute.injective = true;
            } else if self.accept_keyword("IS_OBJECT_ID") {
                attribute.is_object_id = true;
            } else {
                return Ok(attribute);
            }
        }
    }

    fn lifetime(&mut self) -> Parse<Lifetime> {
        if self.accept_keyword("MIN") {
            let min = self.unsigned()?;
            self.expect_keyword("MAX")?;
            return Ok(Lifetime { min, max: self.unsigned()? });
        }
        if self.accept_keyword("MAX") {
            let max = self.unsigned()?;
            self.expect_keyword("MIN")?;
            return Ok(Lifetime { min: self.unsigned()?, max });
        }
        Ok(Lifetime { min: 0, max: self.unsigned()? })
    }

    /// `NAME(key value ...)`, `NAME()`, `NAME`.
    fn key_value_function(&mut self) -> Parse<KeyValueFunction> {
        let name = self.ident()?.name;
        let has_parens = self.at(TokenKind::LParen);
        let pairs = if has_parens { self.key_value_pairs()? } else { Vec::new() };
        Ok(KeyValueFunction { name, has_parens, pairs })
    }

    fn key_value_pairs(&mut self) -> Parse<Vec<(String, KeyValue)>> {
        self.nested(|p| {
            p.expect(TokenKind::LParen)?;
            let mut pairs = Vec::new();
            while !p.accept(TokenKind::RParen) {
                let key = p.ident()?.name;
                pairs.push((key, p.key_value()?));
                p.accept(TokenKind::Comma);
            }
            Ok(pairs)
        })
    }

    fn key_value(&mut self) -> Parse<KeyValue> {
        if self.at(TokenKind::LParen) {
            return Ok(KeyValue::List(self.key_value_pairs()?));
        }
        if self.at(TokenKind::Word) && self.peek(1).kind == TokenKind::LParen {
            // `format(...)` may be a call or nested pairs; pairs have no commas between key and value.
            if let Some(function) = self.maybe(|p| p.key_value_function())? {
                return Ok(KeyValue::Nested(function));
            }
        }
        if self.at(TokenKind::LBracket) {
            return Ok(KeyValue::Expr(self.bare_expr()?));
        }
        if let Some(literal) = self.literal()? {
            return Ok(KeyValue::Expr(literal));
        }
        Ok(KeyValue::Expr(self.name_or_call()?))
    }
}
