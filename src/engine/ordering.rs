//! The order in which moves are tried, made stage by stage so that no work goes into moves never searched.
//!
//! The move of the table, the captures and promotions that do not lose material, the quiet moves by history,
//! the losing captures.

use super::history::{History, Place, Quiets};
use super::value::Value;
use super::{params, see};
use crate::chess::{Bitboard, Generate, Move, MoveList, Position, Role, attacks};

/// A move and what it promises.
#[derive(Clone, Copy)]
pub(crate) struct Scored {
    mv: Move,
    score: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Table,
    MakeNoisy,
    Winning,
    MakeQuiet,
    Quiet,
    Losing,
    Done,
}

/// What the picker orders by.
pub(crate) struct Knowledge<'a> {
    pub history: &'a History,
    pub place: &'a Place,
    pub killer: Option<Move>,
}

/// Hands out the moves of one node, best first.
///
/// Its moves lie in a list that all nodes of a line share, from `base` on; [`Picker::close`] gives the place
/// back.
pub(crate) struct Picker {
    table_move: Option<Move>,
    stage: Stage,
    /// Captures that bring less are losing.
    threshold: Value,
    with_quiets: bool,
    with_losing: bool,
    base: usize,
    /// End of the losing captures, which gather from `base` on.
    losing: usize,
    next: usize,
}

impl Picker {
    /// All moves. The move of the table must be legal.
    pub fn all(table_move: Option<Move>, list: &[Scored]) -> Picker {
        Picker {
            table_move,
            stage: Stage::Table,
            threshold: 0,
            with_quiets: true,
            with_losing: true,
            base: list.len(),
            losing: list.len(),
            next: list.len(),
        }
    }

    /// Only the captures and promotions that bring at least `threshold`, in order.
    pub fn noisy(table_move: Option<Move>, threshold: Value, list: &[Scored]) -> Picker {
        Picker {
            threshold,
            with_quiets: false,
            with_losing: false,
            ..Picker::all(table_move, list)
        }
    }

    /// No quiet moves from now on.
    pub fn skip_quiets(&mut self) {
        self.with_quiets = false;
    }

    /// The next move; `None` when there is none left.
    pub fn next(
        &mut self,
        pos: &Position,
        list: &mut Vec<Scored>,
        known: &Knowledge,
    ) -> Option<Move> {
        loop {
            match self.stage {
                Stage::Table => {
                    self.stage = Stage::MakeNoisy;
                    if self.table_move.is_some() {
                        return self.table_move;
                    }
                }
                Stage::MakeNoisy => {
                    self.make_noisies(pos, list, known);
                    self.stage = Stage::Winning;
                }
                Stage::Winning => {
                    while let Some(mv) = self.pick(list) {
                        if see::wins(pos, mv, self.threshold) {
                            return Some(mv);
                        }
                        list[self.losing].mv = mv;
                        self.losing += 1;
                    }
                    self.stage = Stage::MakeQuiet;
                }
                Stage::MakeQuiet => {
                    if self.with_quiets {
                        self.make_quiets(pos, list, known);
                    }
                    self.stage = Stage::Quiet;
                }
                Stage::Quiet => {
                    if self.with_quiets
                        && let Some(mv) = self.pick(list)
                    {
                        return Some(mv);
                    }
                    self.next = self.base;
                    self.stage = if self.with_losing {
                        Stage::Losing
                    } else {
                        Stage::Done
                    };
                }
                Stage::Losing => {
                    if self.next < self.losing {
                        self.next += 1;
                        return Some(list[self.next - 1].mv);
                    }
                    self.stage = Stage::Done;
                }
                Stage::Done => return None,
            }
        }
    }

    /// Gives the list back as it was.
    pub fn close(&self, list: &mut Vec<Scored>) {
        list.truncate(self.base);
    }

    /// Not inlined, as [`make_quiets`](Self::make_quiets) is not: [`next`](Self::next) is called far more often, and would
    /// begin with work for them each time.
    #[inline(never)]
    fn make_noisies(&mut self, pos: &Position, list: &mut Vec<Scored>, known: &Knowledge) {
        self.make(pos, list, Generate::Noisy, |mv| noisy_score(pos, mv, known));
    }

    #[inline(never)]
    fn make_quiets(&mut self, pos: &Position, list: &mut Vec<Scored>, known: &Knowledge) {
        let quiets = known.history.quiets(pos.turn(), known.place);
        let sight = Sight::new(pos, known.place);
        let score = |mv| quiet_score(pos, mv, known.killer, &quiets, &sight);
        self.make(pos, list, Generate::Quiet, score);
    }

    #[inline(always)]
    fn make(
        &mut self,
        pos: &Position,
        list: &mut Vec<Scored>,
        what: Generate,
        score: impl Fn(Move) -> i32,
    ) {
        let mut moves = MoveList::new();
        pos.generate(what, &mut moves);
        self.next = list.len();
        for mv in &moves {
            if Some(mv) != self.table_move {
                list.push(Scored {
                    mv,
                    score: score(mv),
                });
            }
        }
    }

    /// The best of what is left: a step of selection sort, since most nodes need only the first few.
    fn pick(&mut self, list: &mut [Scored]) -> Option<Move> {
        let rest = &mut list[self.next..];
        let (first, others) = rest.split_first()?;
        let (mut best, mut score) = (0, first.score);
        for (i, other) in others.iter().enumerate() {
            if other.score > score {
                (best, score) = (i + 1, other.score);
            }
        }
        rest.swap(0, best);
        self.next += 1;
        Some(rest[0].mv)
    }
}

/// The most valuable victim first; history decides between attackers.
fn noisy_score(pos: &Position, mv: Move, known: &Knowledge) -> i32 {
    const VICTIM_SCALE: i32 = 16;
    let captured = see::captured_role(pos, mv);
    let victim = captured.map_or(0, see::worth);
    let promotion = match mv.promotion() {
        Some(Role::Queen) => see::worth(Role::Queen),
        Some(_) => -see::worth(Role::Queen),
        None => 0,
    };
    let history = pos
        .piece_at(mv.from())
        .map_or(0, |piece| known.history.noisy(piece, mv, captured));
    VICTIM_SCALE * (victim + promotion) + history
}

/// What can be seen of the squares of a quiet move, by the role of what moves.
struct Sight {
    /// From here the enemy's king is attacked.
    checks: [Bitboard; 6],
    /// Here something worth less attacks.
    danger: [Bitboard; 6],
}

impl Sight {
    fn new(pos: &Position, place: &Place) -> Sight {
        let (king, occupied) = (pos.king(!pos.turn()), pos.occupied());
        let (bishop, rook) = (
            attacks::bishop(king, occupied),
            attacks::rook(king, occupied),
        );
        Sight {
            checks: [
                attacks::pawn(!pos.turn(), king),
                attacks::knight(king),
                bishop,
                rook,
                bishop | rook,
                Bitboard::EMPTY,
            ],
            danger: Role::ALL.map(|role| place.threats.by_lesser(role)),
        }
    }
}

/// What the histories say, and what can be seen: a killer, a check, a piece that leaves danger or goes into it.
#[inline(always)]
fn quiet_score(
    pos: &Position,
    mv: Move,
    killer: Option<Move>,
    quiets: &Quiets,
    sight: &Sight,
) -> i32 {
    const KILLER: i32 = 1 << 20;
    let piece = pos.piece_at(mv.from()).expect("a legal move has a piece");
    let role = piece.role.index();
    let (checks, danger) = (sight.checks[role], sight.danger[role]);
    let seen = |holds: bool, by: i32| if holds { by } else { 0 };
    quiets.score(piece, mv)
        + seen(Some(mv) == killer, KILLER)
        + seen(checks.contains(mv.to()), params::check_bonus())
        + seen(danger.contains(mv.from()), params::escape_bonus())
        - seen(danger.contains(mv.to()), params::exposure_malus())
}
