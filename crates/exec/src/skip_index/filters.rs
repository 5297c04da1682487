//! Conditions over Bloom filters: of values, of elements of arrays, of keys and values of maps, and of words of strings.

use super::tree::Tree;
use super::{MayMatch, points, position};
use chalet_columns::BooleanBuffer;
use chalet_function_api::{Comparison, Search};
use chalet_plan::{Expr, ScanIndex};
use chalet_storage::merge_tree::skip_index::{Granules, SkipIndexKind, hash_value};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// One of these lists has all of its hashes in the filter of an expression.
struct Test {
    expr: usize,
    any_of: Vec<Vec<u64>>,
}

impl Test {
    fn one(expr: usize, hash: u64) -> Test {
        Test { expr, any_of: vec![vec![hash]] }
    }
}

pub(super) fn condition(
    filter: &Expr,
    kind: &SkipIndexKind,
    index: &ScanIndex,
    types: &[DataType],
) -> Option<MayMatch> {
    let of = Of { kind, exprs: &index.exprs, types };
    let tree = Tree::of(filter, false, &|expr, negated| match kind {
        SkipIndexKind::Bloom { .. } => of.value_test(expr, negated),
        _ => of.word_test(expr, negated),
    })?;
    Some(Arc::new(move |granules: &Granules| {
        let Granules::Filters(filters) = granules else { return Ok(BooleanBuffer::new_unset(0)) };
        tree.mask(&|test| {
            Ok(BooleanBuffer::collect_bool(filters.n_granules(), |granule| {
                let has = |hash: &u64| filters.may_have(test.expr, granule, *hash);
                test.any_of.iter().any(|all| all.iter().all(has))
            }))
        })
    }))
}

/// The index that conditions are made for.
struct Of<'a> {
    kind: &'a SkipIndexKind,
    exprs: &'a [Expr],
    types: &'a [DataType],
}

/// What a call looks for.
fn search_of(expr: &Expr) -> Search {
    match expr {
        Expr::Call { function, .. } => function.function.record().search,
        _ => Search::No,
    }
}

/// The expression and the constant of a call of two arguments, in either order.
fn sides(args: &[Expr]) -> Option<(&Expr, &Expr)> {
    match args {
        [a, b] if b.is_literal() => Some((a, b)),
        [a, b] if a.is_literal() => Some((b, a)),
        _ => None,
    }
}

/// A word on either side of which others may follow.
#[derive(Clone, Copy, PartialEq)]
enum Edges {
    Whole,
    Start,
    End,
    Inner,
}

impl Of<'_> {
    fn position(&self, expr: &Expr) -> Option<usize> {
        position(expr, self.exprs.len())
    }

    /// The type of values in the filter of an expression: elements where it is of arrays.
    fn of_values(&self, at: usize) -> (DataType, bool) {
        match self.types[at].bare() {
            DataType::Array(element) => (DataType::clone(element), true),
            other => (other.clone(), false),
        }
    }

    /// An expression that the filter holds values of, not elements.
    fn plain(&self, expr: &Expr) -> Option<(usize, DataType)> {
        let at = self.position(expr)?;
        let (ty, is_array) = self.of_values(at);
        (!is_array).then_some((at, ty))
    }

    fn array(&self, expr: &Expr) -> Option<(usize, DataType)> {
        let at = self.position(expr)?;
        let (ty, is_array) = self.of_values(at);
        is_array.then_some((at, ty))
    }

    /// The index of the keys or values of the map that an expression is.
    fn map_side(&self, map: &Expr, side: Search) -> Option<(usize, DataType)> {
        let is_of_map = |own: &Expr| match own {
            Expr::Call { args, .. } => search_of(own) == side && args.first() == Some(map),
            _ => false,
        };
        let at = self.exprs.iter().position(is_of_map)?;
        let (ty, is_array) = self.of_values(at);
        is_array.then_some((at, ty))
    }

    fn value_test(&self, expr: &Expr, negated: bool) -> Option<Test> {
        match expr {
            Expr::In(e) if e.negated == negated => {
                let [needle] = &e.needles[..] else { return None };
                let (values, ty) = points::constants(e)?;
                if let Some((at, column)) = self.plain(needle) {
                    let hashes = values.iter().map(|value| points::hash(value, ty, &column));
                    let any_of = hashes.map(|hash| Some(vec![hash?])).collect::<Option<_>>()?;
                    return Some(Test { expr: at, any_of });
                }
                None
            }
            Expr::Call { function, args } if !negated => {
                let record = function.function.record();
                if record.comparison == Comparison::Equal {
                    let (tested, constant) = sides(args)?;
                    return self.equals(tested, constant);
                }
                match (record.search, &args[..]) {
                    (Search::Element, [array, value]) => {
                        let (at, element) = self.array(array)?;
                        let literal = value.as_literal()?;
                        Some(Test::one(at, points::hash(&literal.value(), &literal.ty, &element)?))
                    }
                    (search @ (Search::AnyElement | Search::AllElements), [array, values]) => {
                        let (at, element) = self.array(array)?;
                        let (values, ty) = points::elements(values)?;
                        let hashes = values.iter().map(|value| points::hash(value, &ty, &element));
                        let hashes = hashes.collect::<Option<Vec<u64>>>()?;
                        let any_of = match search {
                            Search::AllElements => vec![hashes],
                            _ => hashes.into_iter().map(|hash| vec![hash]).collect(),
                        };
                        Some(Test { expr: at, any_of })
                    }
                    (search @ (Search::Key | Search::Value), [map, value]) => {
                        let side = if search == Search::Key { Search::Keys } else { Search::Values };
                        let (at, element) = self.map_side(map, side)?;
                        let literal = value.as_literal()?;
                        Some(Test::one(at, points::hash(&literal.value(), &literal.ty, &element)?))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn equals(&self, tested: &Expr, constant: &Expr) -> Option<Test> {
        let literal = constant.as_literal()?;
        let value = literal.value();
        if let Some((at, column)) = self.plain(tested) {
            return Some(Test::one(at, points::hash(&value, &literal.ty, &column)?));
        }
        // `map['key'] = value`: what a map without the key gives is the default.
        let (Expr::Call { args, .. }, Search::Subscript) = (tested, search_of(tested)) else {
            return None;
        };
        let [map, key] = &args[..] else { return None };
        if !matches!(map.ty().bare(), DataType::Map(..)) || is_default(&value) {
            return None;
        }
        if let (Some((at, ty)), Some(key)) = (self.map_side(map, Search::Keys), key.as_literal()) {
            return Some(Test::one(at, points::hash(&key.value(), &key.ty, &ty)?));
        }
        let (at, ty) = self.map_side(map, Search::Values)?;
        Some(Test::one(at, points::hash(&value, &literal.ty, &ty)?))
    }

    /// The words that a string has which holds another one.
    fn words_of(&self, text: &[u8], edges: Edges) -> Vec<u64> {
        let mut hashes = Vec::new();
        let text_end = text.as_ptr_range().end;
        self.kind.words(text, &mut |word: &[u8]| {
            let is_first = word.as_ptr() == text.as_ptr();
            let is_last = word.as_ptr_range().end == text_end;
            // A token at an open edge may go on beyond it; n-grams are never cut.
            let is_cut = matches!(self.kind, SkipIndexKind::Tokens { .. })
                && (is_first && matches!(edges, Edges::End | Edges::Inner)
                    || is_last && matches!(edges, Edges::Start | Edges::Inner));
            if !is_cut {
                hashes.extend(hash_value(&Value::string(word), false));
            }
        });
        hashes
    }

    /// The words of strings that equal one; zeros at its end do not count where those are fixed.
    fn whole(&self, text: &[u8]) -> Vec<u64> {
        let len = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        self.words_of(&text[..len], Edges::Whole)
    }

    fn word_test(&self, expr: &Expr, negated: bool) -> Option<Test> {
        let known = |at| Test { expr: at, any_of: vec![Vec::new()] };
        match expr {
            Expr::In(e) => {
                let [needle] = &e.needles[..] else { return None };
                let (at, _) = self.plain(needle)?;
                if e.negated != negated {
                    return Some(known(at));
                }
                let (values, _) = points::constants(e)?;
                let any_of = values.iter().map(|value| Some(self.whole(text(value)?)));
                Some(Test { expr: at, any_of: any_of.collect::<Option<_>>()? })
            }
            Expr::Call { function, args } => {
                let record = function.function.record();
                match (record.comparison, &args[..], negated) {
                    (Comparison::Equal, args, false) | (Comparison::NotEqual, args, true) => {
                        let (tested, constant) = sides(args)?;
                        let (at, _) = self.plain(tested)?;
                        let value = constant.as_literal()?.value();
                        Some(Test { expr: at, any_of: vec![self.whole(text(&value)?)] })
                    }
                    (Comparison::NotEqual, args, false) | (Comparison::Equal, args, true) => {
                        let (tested, _) = sides(args)?;
                        Some(known(self.plain(tested)?.0))
                    }
                    (_, [tested, constant], false) => self.search(record.search, tested, constant),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn search(&self, search: Search, tested: &Expr, constant: &Expr) -> Option<Test> {
        let value = constant.as_literal()?.value();
        if search == Search::Element {
            let (at, _) = self.array(tested)?;
            return Some(Test { expr: at, any_of: vec![self.whole(text(&value)?)] });
        }
        let (at, _) = self.plain(tested)?;
        let all = match (search, &value) {
            (Search::Prefix, value) => self.words_of(text(value)?, Edges::Start),
            (Search::Suffix, value) => self.words_of(text(value)?, Edges::End),
            (Search::Token, value) => self.words_of(text(value)?, Edges::Whole),
            (Search::Pattern, value) => self.like(text(value)?),
            (Search::AnySubstring, Value::Array(needles)) => {
                let words = |needle| Some(self.words_of(text(needle)?, Edges::Inner));
                return Some(Test { expr: at, any_of: needles.iter().map(words).collect::<Option<_>>()? });
            }
            _ => return None,
        };
        Some(Test { expr: at, any_of: vec![all] })
    }

    /// The words that every string has which a pattern matches.
    fn like(&self, pattern: &[u8]) -> Vec<u64> {
        let (mut hashes, mut run, mut is_first) = (Vec::new(), Vec::new(), true);
        let mut bytes = pattern.iter().copied();
        loop {
            let next = bytes.next();
            match next {
                Some(b'\\') => match bytes.next() {
                    Some(escaped @ (b'%' | b'_' | b'\\')) => run.push(escaped),
                    // What this stands for, no run need say.
                    _ => return hashes,
                },
                Some(byte) if byte != b'%' && byte != b'_' => run.push(byte),
                wildcard => {
                    let edges = match (is_first, wildcard.is_none()) {
                        (true, true) => Edges::Whole,
                        (true, false) => Edges::Start,
                        (false, true) => Edges::End,
                        (false, false) => Edges::Inner,
                    };
                    hashes.extend(self.words_of(&run, edges));
                    run.clear();
                    is_first = false;
                    if wildcard.is_none() {
                        return hashes;
                    }
                }
            }
        }
    }
}

fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

/// May a map without the key give it?
fn is_default(value: &Value) -> bool {
    match value {
        Value::Bytes(bytes) => bytes.iter().all(|&byte| byte == 0),
        Value::UInt(x) => *x == 0,
        Value::Int(x) => *x == 0,
        Value::Float(x) => *x == 0.0,
        // Enums have other defaults, and the rest is rare.
        _ => true,
    }
}
