//! Games against the AI of the site.

use std::time::Duration;

use serde::Serialize;

use knightwatch_chess::Color;

use crate::Sim;
use crate::challenge::ChallengeConfig;
use crate::players::{PlayerKind, PlayerOptions};
use crate::referee::Status;
use crate::round::{Round, Setup, Source};
use crate::site::id::{GameId, UserId};
use crate::site::state::SiteState;
use crate::site::time::SimTime;
use crate::site::users::AccountKind;
use crate::wire::{StatusJson, VariantJson};

/// Nodes per move at each level.
const NODES_PER_LEVEL: [u64; 8] = [8, 40, 150, 500, 1_500, 5_000, 15_000, 50_000];

/// Response to `POST /api/challenge/ai`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AiGame {
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
    /// Side to move.
    player: &'static str,
    full_id: String,
}

impl Sim {
    /// Returns the AI player of this level, which is added when it is first needed.
    pub(crate) fn add_ai_player(&self, level: u8) -> UserId {
        let now = self.time().now();
        let id = self.state().add_unlisted_user(AccountKind::Ai(level), now);
        let nodes = NODES_PER_LEVEL[usize::from(level.clamp(1, 8)) - 1];
        // Does nothing if the player exists.
        self.add_player(PlayerOptions {
            delay: Duration::ZERO..=Duration::ZERO,
            ..PlayerOptions::new(id.as_str(), PlayerKind::Engine { nodes })
        });
        id
    }
}

impl SiteState {
    /// Starts a game against the AI.
    pub(crate) fn start_ai_game(
        &mut self,
        me: &UserId,
        engine: UserId,
        config: ChallengeConfig,
        now: SimTime,
    ) -> GameId {
        let id = self.new_id();
        let mut users = [me.clone(), engine];
        if self.resolve_color(config.color) == Color::Black {
            users.swap(0, 1);
        }
        self.start_round(
            Setup {
                id,
                users,
                source: Source::Ai,
                variant: config.variant,
                start: config.start,
                time_control: config.time_control,
                rated: false,
                rules: Vec::new(),
            },
            now,
        );
        id
    }
}

impl Round {
    /// Game as shown to the user who created it.
    pub(crate) fn ai_game(&self, me: &UserId) -> Option<AiGame> {
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
