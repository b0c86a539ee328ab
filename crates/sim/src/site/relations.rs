//! Follows and blocks between users.

use std::collections::BTreeSet;

use crate::site::UserId;

/// Users whom one user follows and blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relations {
    follows: BTreeSet<UserId>,
    blocks: BTreeSet<UserId>,
}

impl Relations {
    pub(crate) fn following(names: &[String]) -> Self {
        Self {
            follows: names.iter().map(|name| UserId::of(name)).collect(),
            blocks: BTreeSet::new(),
        }
    }

    pub(crate) fn follows(&self, other: &UserId) -> bool {
        self.follows.contains(other)
    }

    pub(crate) fn blocks(&self, other: &UserId) -> bool {
        self.blocks.contains(other)
    }

    pub(crate) fn following_ids(&self) -> impl Iterator<Item = &UserId> {
        self.follows.iter()
    }

    pub(crate) fn follow(&mut self, other: &UserId) {
        self.blocks.remove(other);
        self.follows.insert(other.clone());
    }

    pub(crate) fn unfollow(&mut self, other: &UserId) {
        self.follows.remove(other);
    }

    /// Blocks a user, which also unfollows them.
    pub(crate) fn block(&mut self, other: &UserId) {
        self.follows.remove(other);
        self.blocks.insert(other.clone());
    }

    pub(crate) fn unblock(&mut self, other: &UserId) {
        self.blocks.remove(other);
    }
}
