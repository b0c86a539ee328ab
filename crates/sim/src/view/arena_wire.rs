//! JSON types of arenas, with the keys in Lichess's order.

use serde::Serialize;

use crate::wire::{LightUser, Ordered, VariantJson, is_false};

#[derive(Serialize)]
pub(super) struct Clock {
    pub(super) limit: u32,
    pub(super) increment: u32,
}

#[derive(Serialize)]
pub(super) struct Rating {
    pub(super) rating: u32,
}

#[derive(Serialize)]
pub(super) struct Games {
    pub(super) nb: u32,
}

#[derive(Serialize)]
pub(super) struct PerfRef {
    pub(super) key: &'static str,
    pub(super) name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) position: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) icon: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct Start {
    pub(super) name: &'static str,
    pub(super) fen: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Battle {
    pub(super) teams: Vec<String>,
    pub(super) nb_leaders: usize,
}

/// An entry of an arena list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArenaListItem {
    pub(super) id: String,
    pub(super) created_by: String,
    pub(super) system: &'static str,
    pub(super) minutes: u32,
    pub(super) clock: Clock,
    pub(super) rated: bool,
    pub(super) full_name: String,
    pub(super) nb_players: usize,
    pub(super) variant: VariantJson,
    pub(super) starts_at: i64,
    pub(super) finishes_at: i64,
    pub(super) status: u8,
    pub(super) perf: PerfRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds_to_start: Option<i64>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) has_max_rating: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_rating: Option<Rating>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_rating: Option<Rating>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_rated_games: Option<Games>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team_member: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) private: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) position: Option<Start>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team_battle: Option<Battle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) winner: Option<LightUser>,
}

#[derive(Serialize)]
pub(crate) struct ArenaLists {
    pub(super) created: Vec<ArenaListItem>,
    pub(super) started: Vec<ArenaListItem>,
    pub(super) finished: Vec<ArenaListItem>,
}

#[derive(Serialize)]
pub(crate) struct PlayedArena {
    pub(super) tournament: ArenaListItem,
    pub(super) player: PlayedAs,
}

#[derive(Serialize)]
pub(super) struct PlayedAs {
    pub(super) games: usize,
    pub(super) score: u32,
    pub(super) rank: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) performance: Option<i32>,
}

#[derive(Serialize)]
pub(super) struct SheetJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scores: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) fire: bool,
}

#[derive(Serialize)]
pub(super) struct Counts {
    pub(super) game: usize,
    pub(super) berserk: usize,
    pub(super) win: usize,
}

/// A player in the standing or on the podium.
#[derive(Serialize)]
pub(super) struct Standing {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<&'static str>,
    pub(super) rank: usize,
    pub(super) rating: i32,
    pub(super) score: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sheet: Option<SheetJson>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) provisional: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) withdraw: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nb: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) performance: Option<i32>,
}

/// A line of the results endpoint.
#[derive(Serialize)]
pub(super) struct ResultLine {
    pub(super) rank: usize,
    pub(super) score: u32,
    pub(super) rating: i32,
    pub(super) username: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) performance: Option<i32>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) withdraw: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sheet: Option<SheetJson>,
}

#[derive(Serialize)]
pub(super) struct Page {
    pub(super) page: usize,
    pub(super) players: Vec<Standing>,
}

#[derive(Serialize)]
pub(super) struct Duelist {
    pub(super) n: String,
    pub(super) r: i32,
    pub(super) k: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) t: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct Duel {
    pub(super) id: String,
    pub(super) p: [Duelist; 2],
}

#[derive(Serialize)]
pub(super) struct FeaturedSide {
    #[serde(flatten)]
    pub(super) user: LightUser,
    pub(super) rank: usize,
    pub(super) rating: i32,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) berserk: bool,
}

#[derive(Serialize)]
pub(super) struct FeaturedClock {
    pub(super) white: i64,
    pub(super) black: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Featured {
    pub(super) id: String,
    pub(super) fen: String,
    pub(super) orientation: &'static str,
    pub(super) color: &'static str,
    pub(super) last_move: String,
    pub(super) white: FeaturedSide,
    pub(super) black: FeaturedSide,
    pub(super) c: FeaturedClock,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stats {
    pub(super) games: usize,
    pub(super) moves: usize,
    pub(super) white_wins: usize,
    pub(super) black_wins: usize,
    pub(super) draws: usize,
    pub(super) berserks: usize,
    pub(super) average_rating: i32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Me {
    pub(super) rank: usize,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) withdraw: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) game_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) full_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pause_delay: Option<i64>,
}

#[derive(Serialize)]
pub(super) struct VerdictJson {
    pub(super) condition: String,
    pub(super) verdict: String,
}

#[derive(Serialize)]
pub(super) struct Verdicts {
    pub(super) list: Vec<VerdictJson>,
    pub(super) accepted: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BattleFull {
    pub(super) teams: Ordered<Vec<String>>,
    pub(super) nb_leaders: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) join_with: Option<Vec<String>>,
}

#[derive(Serialize)]
pub(super) struct TeamPlayer {
    pub(super) user: LightUser,
    pub(super) score: u32,
}

#[derive(Serialize)]
pub(super) struct RankedTeam {
    pub(super) rank: usize,
    pub(super) id: String,
    pub(super) score: u32,
    pub(super) players: Vec<TeamPlayer>,
}

#[derive(Serialize)]
pub(crate) struct TeamStanding {
    pub(super) id: String,
    pub(super) teams: Vec<RankedTeam>,
}

/// The details of an arena.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArenaJson {
    pub(super) nb_players: usize,
    pub(super) duels: Vec<Duel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds_to_finish: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds_to_start: Option<i64>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) is_started: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) is_finished: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) is_recently_finished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) featured: Option<Featured>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) podium: Option<Vec<Standing>>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) pairings_closed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stats: Option<Stats>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team_standing: Option<Vec<RankedTeam>>,
    pub(super) standing: Page,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) me: Option<Me>,
    pub(super) id: String,
    pub(super) created_by: String,
    pub(super) starts_at: String,
    pub(super) system: &'static str,
    pub(super) full_name: String,
    pub(super) minutes: u32,
    pub(super) perf: PerfRef,
    pub(super) clock: Clock,
    pub(super) variant: &'static str,
    pub(super) rated: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) berserkable: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) no_streak: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) position: Option<Start>,
    pub(super) verdicts: Verdicts,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) private: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team_battle: Option<BattleFull>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) my_username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_rating: Option<Rating>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_rating: Option<Rating>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_rated_games: Option<Games>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) bots_allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team_member: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow_list: Option<Vec<String>>,
}
