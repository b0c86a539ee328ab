//! Games against the engine that the site lends out.

use std::time::Duration;

use serde::Serialize;

use crate::chess::Color;

use super::Sim;
use super::challenge::Wanted;
use super::id::{GameId, UserId};
use super::players::{PlayerKind, PlayerOptions};
use super::referee::Status;
use super::round::{Round, Setup, Source};
use super::time::Moment;
use super::users::Face;
use super::wire::{StatusJson, VariantJson};
use super::world::World;

/// Nodes for a move at each level.
const NODES: [u64; 8] = [8, 40, 150, 500, 1_500, 5_000, 15_000, 50_000];

/// The answer to who wishes for such a game.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AiGame {
    id: String,
    variant: VariantJson,
    speed: &'static str,
    perf: &'static str,
    rated: bool,
    source: &'static str,
    created_at: i64,
    fen: String,
    turns: usize,
    status: StatusJson,
    /// Whose turn it is.
    player: &'static str,
    full_id: String,
}

impl Sim {
    /// The engine of this level, which moves in as soon as somebody wants to play it.
    pub(super) fn engine_of_level(&self, level: u8) -> UserId {
        let now = self.time().now();
        let id = self.world().add_faceless(Face::Ai(level), now);
        let nodes = NODES[usize::from(level.clamp(1, 8)) - 1];
        // One that lives here already stays.
        self.spar(PlayerOptions {
            delay: Duration::ZERO..=Duration::ZERO,
            ..PlayerOptions::new(id.as_str(), PlayerKind::Engine { nodes })
        });
        id
    }
}

impl World {
    /// A game against an engine begins.
    pub fn play_engine(
        &mut self,
        me: &UserId,
        engine: UserId,
        wanted: Wanted,
        now: Moment,
    ) -> GameId {
        let id = self.fresh_id();
        let mut users = [me.clone(), engine];
        if self.resolved(wanted.color) == Color::Black {
            users.swap(0, 1);
        }
        self.begin_round(
            Setup {
                id,
                users,
                source: Source::Ai,
                variant: wanted.variant,
                start: wanted.start,
                time_control: wanted.time_control,
                rated: false,
                rules: Vec::new(),
            },
            now,
        );
        id
    }
}

impl Round {
    /// As it is shown to the one who wished for it.
    pub fn ai_game(&self, me: &UserId) -> Option<AiGame> {
        let color = self.color_of(me)?;
        let position = self.referee.game().position();
        Some(AiGame {
            id: self.id.to_string(),
            variant: VariantJson::full(self.variant),
            speed: self.speed().key(),
            perf: self.perf().key,
            rated: self.rated,
            source: self.source.key(),
            created_at: self.created_at.0,
            fen: position.fen(),
            turns: self.referee.plies(),
            status: Status::Started.into(),
            player: position.turn().key(),
            full_id: self.secrets.full_id(self.id, color),
        })
    }
}
