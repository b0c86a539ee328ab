//! Choosing a move: the only one, the book's, or the engine's.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::book;
use crate::bot::AccountContext;
use crate::chess::{Game, Move, Position};
use crate::clock;
use crate::config::Books;
use crate::engine::{self, Clock, Limits, SearchHandle, SearchReport, Strength, Task, think_time};
use crate::events::{self, Event, SearchInfo, Source};
use crate::lichess::model::GameId;

/// Between two reports of a search that is on.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// A move with what was thought about it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The move.
    pub mv: Move,
    /// Where it comes from.
    pub source: Source,
    /// What the engine thought, when it did.
    pub thought: Option<SearchReport>,
}

/// The books in the order in which they are asked.
#[derive(Clone)]
pub struct BookSet {
    books: Arc<[book::Book]>,
    choice: book::PickOptions,
    max_ply: usize,
}

impl BookSet {
    /// Books, how to choose from them, and the ply from which they are no longer asked.
    pub fn new(books: Vec<book::Book>, choice: book::PickOptions, max_ply: usize) -> Self {
        Self {
            books: books.into(),
            choice,
            max_ply,
        }
    }

    /// No books at all.
    pub fn empty() -> Self {
        Self::new(Vec::new(), book::PickOptions::default(), 0)
    }

    /// Whether there is no book on it.
    pub fn is_empty(&self) -> bool {
        self.books.is_empty()
    }

    fn pick(&self, asked: &Books, game: &Game, rng: &mut fastrand::Rng) -> Option<Move> {
        if game.moves().len() >= self.max_ply {
            return None;
        }
        let mut pick = |book: &book::Book| book.pick(game.position(), &self.choice, rng);
        match asked {
            Books::None => None,
            Books::All => self.books.iter().find_map(pick),
            Books::Named(names) => names.iter().find_map(|name| {
                let is_it = |book: &&book::Book| Books::is_named(book.name().as_ref(), name);
                self.books.iter().filter(is_it).find_map(&mut pick)
            }),
        }
    }
}

/// A move that needs no thinking, if there is one: the only legal one, or one of those of the shelf's books that are
/// asked, if any are. `barred` moves are none.
pub fn at_once(
    books: Option<(&BookSet, &Books)>,
    game: &Game,
    barred: &[Move],
    rng: &mut fastrand::Rng,
) -> Option<Choice> {
    let of = |mv, source| Choice {
        mv,
        source,
        thought: None,
    };
    let legal = game.position().legal_moves();
    if let [only] = legal[..] {
        return Some(of(only, Source::Only));
    }
    // A book does not know what has happened before: in a position that comes again its move has led nowhere.
    let book = Some(game)
        .filter(|game| game.repetitions() < 2)
        .and_then(|game| {
            let (shelf, asked) = books?;
            shelf.pick(asked, game, rng)
        })
        .filter(|mv| !barred.contains(mv) && legal.contains(mv))?;
    Some(of(book, Source::Book))
}

/// The engine goes by the wall.
fn on_the_wall(limits: Limits) -> Limits {
    let wall = clock::to_wall_clock;
    Limits {
        movetime: limits.movetime.map(wall),
        max_time: limits.max_time.map(wall),
        clock: limits.clock.map(|clock| Clock {
            remaining: wall(clock.remaining),
            increment: wall(clock.increment),
            overhead: wall(clock.overhead),
            lag: wall(clock.lag),
            ..clock
        }),
        ..limits
    }
}

/// A game's number for the engine.
pub fn key(id: &GameId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// A search that is on. Dropping it stops it.
pub struct Search {
    thinking: SearchHandle,
    /// Whether the page hears of it.
    told: Arc<AtomicBool>,
    done: oneshot::Receiver<SearchReport>,
    game: Game,
    barred: Vec<Move>,
    /// Of a limited engine, which has its move at once and takes its time like a person.
    leisure: Option<HumanDelay>,
    /// What was found, while it is held back.
    found: Option<Option<SearchReport>>,
}

/// The time that a person would take.
struct HumanDelay {
    strength: Strength,
    limits: Limits,
    since: Instant,
}

impl HumanDelay {
    /// When to play this.
    fn ends(&self, game: &Game, mv: Move) -> Instant {
        self.since + think_time(&self.limits, game, mv, self.strength)
    }
}

impl Search {
    /// Starts a search on the engine's own threads.
    pub fn start(
        house: &AccountContext,
        id: &GameId,
        game: &Game,
        barred: &[Move],
        limits: Limits,
    ) -> Self {
        let (task, search) = Self::plan(true, house, id, game, barred, limits);
        search(house.engine.start(task))
    }

    /// Starts one on the opponent's time, of which nothing is told, unless a game owes a move.
    pub fn ahead(house: &AccountContext, id: &GameId, game: &Game, limits: Limits) -> Option<Self> {
        let (task, search) = Self::plan(false, house, id, game, &[], limits);
        house.engine.start_ponder(task).map(search)
    }

    /// The opponent has made the move that was expected: from now on the clock runs, by these limits. `None` if the search was
    /// given up meanwhile.
    pub fn hit(self, limits: Limits) -> Option<Self> {
        self.told.store(true, Ordering::Relaxed);
        let hit = self.thinking.ponderhit_with(&on_the_wall(limits));
        hit.then_some(self)
    }

    /// Whether it is about the game as it stands now.
    pub fn is_about(&self, game: &Game) -> bool {
        self.game.moves() == game.moves()
    }

    /// What the engine is to do, and the search once it does; `told`: the page hears of it.
    fn plan(
        told: bool,
        house: &AccountContext,
        id: &GameId,
        game: &Game,
        barred: &[Move],
        limits: Limits,
    ) -> (Task, impl FnOnce(SearchHandle) -> Self + use<>) {
        let told = Arc::new(AtomicBool::new(told));
        let (tell, done) = oneshot::channel();
        let mut search_moves = Vec::new();
        if !barred.is_empty() {
            let legal = game.position().legal_moves();
            search_moves.extend(legal.iter().filter(|mv| !barred.contains(mv)));
        }
        let leisure = limits.strength.map(|strength| HumanDelay {
            strength,
            limits: limits.clone(),
            since: clock::now(),
        });
        let task = Task {
            game_id: key(id),
            game: game.clone(),
            limits: Limits {
                search_moves,
                ..on_the_wall(limits)
            },
            on_info: reporter(house, id, game, told.clone()),
            // Nobody listens any more when the search was given up.
            on_done: Box::new(move |thought| drop(tell.send(thought))),
        };
        let (game, barred) = (game.clone(), barred.to_vec());
        let search = |thinking| Self {
            thinking,
            told,
            done,
            game,
            barred,
            leisure,
            found: None,
        };
        (task, search)
    }

    /// Asks for the move now.
    pub fn hurry(&mut self) {
        self.leisure = None;
        self.thinking.stop();
    }

    /// The move, when it is found. Any legal one if the engine has failed. `None` if there is none. May be dropped and called
    /// again until then.
    pub async fn done(&mut self) -> Option<Choice> {
        if self.found.is_none() {
            self.found = Some((&mut self.done).await.ok());
        }
        let mv = self.found.iter().flatten().find_map(|thought| thought.mv);
        if let (Some(leisure), Some(mv)) = (&self.leisure, mv) {
            clock::sleep_until(leisure.ends(&self.game, mv)).await;
        }
        let thought = self.found.take().flatten();
        let found = thought.as_ref().and_then(|thought| thought.mv);
        let legal = self.game.position().legal_moves();
        let any = || {
            let free = legal.iter().find(|mv| !self.barred.contains(mv));
            free.or(legal.first()).copied()
        };
        let mv = found.filter(|mv| legal.contains(mv)).or_else(any)?;
        Some(Choice {
            mv,
            source: Source::Search,
            thought,
        })
    }
}

fn reporter(
    house: &AccountContext,
    id: &GameId,
    game: &Game,
    told: Arc<AtomicBool>,
) -> Box<dyn FnMut(&SearchReport) + Send> {
    let (bus, id, position) = (
        house.events.clone(),
        id.to_string(),
        game.position().clone(),
    );
    let ply = game.moves().len() as u32;
    let mut last = clock::now();
    Box::new(move |thought| {
        let told = told.load(Ordering::Relaxed);
        if !told || thought.multipv > 1 || clock::since(last) < REPORT_EVERY {
            return;
        }
        last = clock::now();
        let report = report(&position, Source::Search, Some(thought));
        bus.send(Event::Thinking {
            game: id.clone(),
            ply,
            report,
        });
    })
}

/// A score as events and the log have it.
pub fn told(score: engine::Score) -> events::Score {
    match score {
        engine::Score::Centipawns(cp) => events::Score::Centipawns(cp),
        engine::Score::Mate(moves) => events::Score::Mate(moves),
    }
}

/// A thought in the words of [`events`].
pub fn report(position: &Position, source: Source, thought: Option<&SearchReport>) -> SearchInfo {
    let Some(thought) = thought else {
        return SearchInfo {
            source,
            score: None,
            depth: 0,
            seldepth: 0,
            nodes: 0,
            hashfull: 0,
            ordering: None,
            elapsed: Duration::ZERO,
            pv: Vec::new(),
        };
    };
    SearchInfo {
        source,
        score: Some(told(thought.score)),
        depth: thought.depth,
        seldepth: thought.seldepth,
        nodes: thought.nodes,
        hashfull: thought.hashfull,
        ordering: thought.ordering,
        elapsed: clock::from_wall_clock(thought.elapsed),
        pv: line(position, &thought.pv),
    }
}

/// A line of moves as people write it; cut where it stops being legal.
fn line(position: &Position, moves: &[Move]) -> Vec<String> {
    let mut position = position.clone();
    let mut sans = Vec::with_capacity(moves.len());
    for &mv in moves {
        if !position.is_legal(mv) {
            break;
        }
        sans.push(position.san(mv));
        position.play(mv);
    }
    sans
}
