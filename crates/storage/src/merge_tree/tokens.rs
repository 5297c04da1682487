//! Which parts of INSERTs are remembered, so that they are not made a second time (deduplication).
//!
//! An INSERT is known by a hash of its rows or by a name that the user gives it. Each of its parts is remembered by itself, since
//! partitions are dropped one by one: what is dropped may be inserted again.

use super::change::Change;
use super::part::{Part, PartInfo};
use chalet_base::hash::{combine, hash_bytes};
use std::collections::VecDeque;
use std::sync::Arc;

/// So many parts are remembered.
const MAX_TOKENS: usize = 10_000;

/// One part of an INSERT.
#[derive(Clone, Debug)]
pub struct Token {
    /// Of the INSERT, the partition, and which of its parts in this partition it is.
    pub hash: u64,
    pub partition: Box<str>,
    /// The number that the part got; 0 before it is committed.
    pub block: u64,
}

impl Token {
    fn is_of(&self, info: &PartInfo) -> bool {
        (info.min_block..=info.max_block).contains(&self.block) && *self.partition == *info.partition.id
    }
}

/// The tokens of the parts of an INSERT.
pub(super) fn of_insert(insert: u64, parts: &[Arc<Part>]) -> Vec<Token> {
    let ids = || parts.iter().map(|part| &*part.info.partition.id);
    let of_part = |(at, id): (usize, &str)| {
        let before = ids().take(at).filter(|other| *other == id).count();
        let hash = combine(combine(insert, hash_bytes(id.as_bytes())), before as u64);
        Token { hash, partition: id.into(), block: 0 }
    };
    ids().enumerate().map(of_part).collect()
}

/// Those of a table, the newest last.
#[derive(Clone, Default)]
pub(super) struct Tokens(VecDeque<Token>);

impl Tokens {
    /// Is the part among the last so many?
    pub fn has(&self, token: &Token, window: usize) -> bool {
        self.0.iter().rev().take(window).any(|known| known.hash == token.hash)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Token> {
        self.0.iter()
    }

    /// Follows a change that is about to happen to `parts`. Where parts go and none comes that has their blocks, as merges and
    /// mutations have, their rows are gone: they may be inserted again.
    pub fn follow(&mut self, parts: &[Arc<Part>], change: &Change) {
        let drops = !(change.removed.is_empty() && change.detached.is_empty());
        if drops && !change.is_move && !self.0.is_empty() {
            let goes = |number: u64| change.removed.contains(&number) || change.detached.contains(&number);
            let gone: Vec<&PartInfo> =
                parts.iter().map(|part| &part.info).filter(|info| goes(info.number)).collect();
            let stays = |token: &Token| change.added.iter().any(|part| token.is_of(&part.info));
            // A table without rows has had none, for what was moved out of it before too.
            let is_emptied = gone.len() == parts.len() && change.added.is_empty();
            let is_gone = |token: &Token| is_emptied || gone.iter().any(|info| token.is_of(info));
            self.0.retain(|token| !is_gone(token) || stays(token));
        }
        self.0.extend(change.tokens.iter().cloned());
        let excess = self.0.len().saturating_sub(MAX_TOKENS);
        self.0.drain(..excess);
    }
}
