//! An engine in a process of its own, whatever its protocol.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use knightwatch_chess::{CastlingNotation, Game, Position, Variant};
use knightwatch_util::spelling::choices;
use tracing::debug;

use super::answer::{Answer, Best, MAX_NAME_CHARS, MAX_WHY_CHARS, Opponent, READY_TIMEOUT};
use super::channel::{Channel, Deadlines, EngineError, Launch, Protocol, StopSwitch};
use super::engine_option::{EngineOption, OptionKind};
use super::go::Go;
use super::info::Info;
use super::process::ProcessTable;
use super::transcript::printable;
use super::xboard::Xboard;
use super::{lines, uci, variant, xboard};

/// Option of UCI engines that can ponder.
pub(crate) const PONDER: &str = "Ponder";

/// Options for the strength.
pub(crate) const ELO: &str = "UCI_Elo";
pub(crate) const LIMIT_STRENGTH: &str = "UCI_LimitStrength";

/// Options for win, draw and loss in the lines of a search.
const SHOW_WDL: &str = "UCI_ShowWDL";

/// Options for the threads, by their names in engines.
pub(crate) const THREADS: [&str; 2] = ["Threads", "Number of Threads"];

/// Option of UCI engines for the size of the hash table.
pub(crate) const HASH: &str = "Hash";

/// Option for the number of lines.
pub(crate) const MULTI_PV: &str = "MultiPV";

/// Option of UCI engines that play variants.
const VARIANT: &str = "UCI_Variant";

/// Option of UCI engines that play Chess960.
const CHESS960: &str = "UCI_Chess960";

/// A running engine; killed on drop.
pub struct EngineProcess {
    channel: Channel,
    options: Vec<EngineOption>,
    protocol: ProtocolState,
    /// Castling notation that a UCI engine uses.
    notation: CastlingNotation,
    /// Variant that a UCI engine plays.
    variant: Variant,
    /// Time limit for the introduction.
    start_timeout: Duration,
    /// Time limit for being ready after it was given options.
    ready_timeout: Duration,
}

/// Protocol with its state.
enum ProtocolState {
    Uci,
    Xboard(Box<Xboard>),
    /// Options, which are part of every request.
    Lines(BTreeMap<String, String>),
}

/// Games, limits and searches that an engine is able to handle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Abilities {
    pub chess960: bool,
    /// Variants besides standard chess.
    pub variants: Vec<Variant>,
    /// Games from other positions than the initial one.
    pub any_start: bool,
    /// Values of `UCI_Elo`, if it can limit its strength.
    pub strength: Option<RangeInclusive<i64>>,
    /// Searches limited by nodes, or to some of the moves.
    pub special_limits: bool,
    /// Lines that it can show at once.
    pub lines: usize,
    pub ponder: bool,
}

fn find_option<'a>(options: &'a [EngineOption], name: &str) -> Option<&'a EngineOption> {
    let mut options = options.iter();
    options.find(|option| option.name.eq_ignore_ascii_case(name))
}

/// Checks that the engine with these options has one that takes this value.
pub(crate) fn check_option(
    engine: &str,
    options: &[EngineOption],
    name: &str,
    value: &str,
) -> Result<(), EngineError> {
    let (engine, option) = (engine.to_owned(), name.to_owned());
    let mut of_games = [VARIANT, CHESS960].into_iter();
    if of_games.any(|other| other.eq_ignore_ascii_case(name)) {
        return Err(EngineError::OptionOfGames(option));
    }
    match find_option(options, name).map(|option| &option.kind) {
        None => {
            let names: Vec<&str> = options.iter().map(|option| &*option.name).collect();
            Err(EngineError::UnknownOption {
                name: engine,
                choices: choices("options are", name, &names),
                option,
            })
        }
        Some(kind) if kind.fits(value) => Ok(()),
        Some(kind) => Err(EngineError::BadValue {
            name: engine,
            option,
            kind: kind.clone(),
            value: value.to_owned(),
        }),
    }
}

impl EngineProcess {
    /// Starts an engine, and waits until it has introduced itself.
    ///
    /// # Errors
    /// When the program cannot be started or does not speak the protocol.
    pub fn start(launch: &Launch) -> Result<Self, EngineError> {
        Self::start_in(launch, &ProcessTable::default(), &mut Vec::new())
    }

    /// Starts an engine like [`start`](Self::start), and notes its process in the table while it runs. `transcript` gets the lines
    /// of a start that has failed.
    pub(crate) fn start_in(
        launch: &Launch,
        table: &ProcessTable,
        transcript: &mut Vec<String>,
    ) -> Result<Self, EngineError> {
        let mut channel = Channel::start(launch, table)?;
        let introduced = Self::introduce(&mut channel, launch);
        let (name, options, protocol) = introduced.inspect_err(|_| {
            *transcript = channel.take_transcript();
        })?;
        if let Some(name) = name {
            channel.name = printable(name.trim(), MAX_NAME_CHARS);
        }
        let mut engine = Self {
            channel,
            options,
            protocol,
            notation: CastlingNotation::Standard,
            variant: Variant::Standard,
            start_timeout: launch.timeout,
            ready_timeout: launch.ready_timeout,
        };
        if engine.option(SHOW_WDL).is_some() {
            engine.send_option(SHOW_WDL, "true")?;
        }
        Ok(engine)
    }

    /// Begins the protocol: name, options and state.
    fn introduce(
        channel: &mut Channel,
        launch: &Launch,
    ) -> Result<(Option<String>, Vec<EngineOption>, ProtocolState), EngineError> {
        Ok(match launch.protocol {
            Protocol::Uci => {
                let (name, options) = uci::start(channel, launch)?;
                (name, options, ProtocolState::Uci)
            }
            Protocol::Xboard => {
                let (name, options, xboard) = Xboard::start(channel, launch)?;
                (name, options, ProtocolState::Xboard(Box::new(xboard)))
            }
            Protocol::Lines => {
                // `python3 engine.py` is engine.py.
                let mut words = launch.command.iter().rev();
                let file = words.find(|word| !word.starts_with('-'));
                let name = file.and_then(|file| file.rsplit('/').next().map(str::to_owned));
                (name, Vec::new(), ProtocolState::Lines(BTreeMap::new()))
            }
        })
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.channel.id()
    }

    /// The options that the engine has.
    pub(crate) fn options(&self) -> &[EngineOption] {
        &self.options
    }

    /// The name that it reports, or that of its program.
    pub fn name(&self) -> &str {
        &self.channel.name
    }

    fn find_option(&self, name: &str) -> Option<&EngineOption> {
        find_option(&self.options, name)
    }

    /// The kind of an option; `None` if the engine has no such option.
    pub fn option(&self, name: &str) -> Option<&OptionKind> {
        self.find_option(name).map(|option| &option.kind)
    }

    /// Gives an option this value, or without one its default.
    ///
    /// # Errors
    /// When the engine has exited.
    pub(crate) fn reset_option(
        &mut self,
        name: &str,
        value: Option<String>,
    ) -> Result<(), EngineError> {
        if let ProtocolState::Lines(options) = &mut self.protocol
            && value.is_none()
        {
            options.remove(name);
            return Ok(());
        }
        let default = || self.find_option(name)?.default.clone();
        match value.or_else(default) {
            Some(value) => self.send_option(name, &value),
            None => Ok(()),
        }
    }

    pub(crate) fn abilities(&self) -> Abilities {
        let has = |name| self.option(name).is_some();
        let (chess960, any_start) = match &self.protocol {
            ProtocolState::Uci => (has(CHESS960), true),
            ProtocolState::Xboard(xboard) => (xboard.plays_chess960(), xboard.sets_boards()),
            ProtocolState::Lines(_) => (true, true),
        };
        let variants = Variant::ALL.into_iter().skip(1);
        Abilities {
            chess960,
            variants: variants.filter(|it| self.plays(*it)).collect(),
            any_start,
            strength: match self.option(ELO) {
                Some(OptionKind::Spin(range)) if has(LIMIT_STRENGTH) => Some(range.clone()),
                _ => None,
            },
            // The lines of XBoard's protocol have no numbers.
            lines: match (&self.protocol, self.option(MULTI_PV)) {
                (ProtocolState::Uci, Some(OptionKind::Spin(range))) => {
                    usize::try_from(*range.end()).unwrap_or(1).max(1)
                }
                _ => 1,
            },
            special_limits: !matches!(self.protocol, ProtocolState::Xboard(_)),
            ponder: matches!(self.protocol, ProtocolState::Uci) && has(PONDER),
        }
    }

    /// Returns whether the engine plays a variant.
    pub fn plays(&self, variant: Variant) -> bool {
        variant == Variant::Standard
            || match &self.protocol {
                ProtocolState::Uci => self.variant_name(variant).is_some(),
                ProtocolState::Xboard(xboard) => xboard.variant_name(variant).is_some(),
                ProtocolState::Lines(_) => true,
            }
    }

    /// Checks that the engine plays a variant.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_variant(&self, variant: Variant) -> Result<(), EngineError> {
        match self.plays(variant) {
            true => Ok(()),
            false => Err(EngineError::CannotPlay {
                name: self.channel.name.clone(),
                what: variant.name(),
            }),
        }
    }

    /// The value of `UCI_Variant` for a variant.
    fn variant_name(&self, variant: Variant) -> Option<&str> {
        match self.option(VARIANT)? {
            OptionKind::Choice(names) => variant::name_of(names, variant),
            _ => None,
        }
    }

    /// Sets options, and waits until the engine has done so.
    ///
    /// # Errors
    /// When an option or a value does not exist: most engines would ignore the error. When the engine has exited.
    pub fn set_options<'a>(
        &mut self,
        options: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), EngineError> {
        let mut sent = Vec::new();
        for (name, value) in options {
            self.check_option(name, value)?;
            self.send_option(name, value)?;
            sent.push((name, value));
        }
        let mut rejected = None;
        // Other engines say such things for information.
        let is_knightwatch = self.channel.name.starts_with("Knightwatch");
        self.ready(self.ready_timeout, |line| {
            // Knightwatch reports a rejected value like this.
            let Some((name, why)) = line
                .strip_prefix("info string ")
                .and_then(|text| text.split_once(": "))
            else {
                return;
            };
            if let Some(&option) = sent
                .iter()
                .find(|(option, _)| option.eq_ignore_ascii_case(name))
                && is_knightwatch
            {
                rejected.get_or_insert((option, printable(why, MAX_WHY_CHARS)));
            }
        })?;
        match rejected {
            None => Ok(()),
            Some(((option, value), why)) => Err(EngineError::Rejected {
                name: self.channel.name.clone(),
                option: option.to_owned(),
                value: value.to_owned(),
                why,
            }),
        }
    }

    /// Checks that the engine has an option that takes this value.
    pub(crate) fn check_option(&self, name: &str, value: &str) -> Result<(), EngineError> {
        match &self.protocol {
            ProtocolState::Lines(_) => return Ok(()),
            ProtocolState::Xboard(xboard) if !xboard.has_features() => {
                return Err(EngineError::Silent {
                    name: self.channel.name.clone(),
                    expected: "a line `feature`, which options need,",
                    timeout: self.start_timeout,
                });
            }
            ProtocolState::Uci | ProtocolState::Xboard(_) => {}
        }
        check_option(&self.channel.name, &self.options, name, value)
    }

    /// Sets the number of threads.
    ///
    /// # Errors
    /// When the engine has no such setting, or has exited.
    pub fn set_threads(&mut self, threads: usize) -> Result<(), EngineError> {
        match &self.protocol {
            ProtocolState::Xboard(xboard) => match xboard.threads(threads) {
                Some(command) => self.channel.send(&command),
                None => self.set_options([("cores", &*threads.to_string())]),
            },
            _ => {
                let mut names = THREADS.into_iter();
                let name = names.find(|name| self.option(name).is_some());
                self.set_options([(name.unwrap_or(THREADS[0]), &*threads.to_string())])
            }
        }
    }

    /// Sets the size of the hash table.
    ///
    /// # Errors
    /// When the engine has no such setting, or has exited.
    pub fn set_hash(&mut self, mib: usize) -> Result<(), EngineError> {
        match &self.protocol {
            ProtocolState::Xboard(xboard) => match xboard.hash(mib) {
                Some(command) => self.channel.send(&command),
                None => self.set_options([("memory", &*mib.to_string())]),
            },
            _ => self.set_options([(HASH, &*mib.to_string())]),
        }
    }

    /// Sets a numeric option to the nearest valid value. Does nothing if there is no such option.
    ///
    /// # Errors
    /// When the engine has exited.
    pub fn set_clamped(&mut self, name: &str, value: i64) -> Result<(), EngineError> {
        let Some(OptionKind::Spin(range)) = self.option(name) else {
            return Ok(());
        };
        let value = value.min(*range.end()).max(*range.start());
        self.send_option(name, &value.to_string())
    }

    /// Sets an option without waiting for the engine and without a check.
    ///
    /// # Errors
    /// When the engine has exited.
    pub(crate) fn send_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        // Some engines compare names exactly.
        let option = find_option(&self.options, name);
        let known = option.map_or(name, |option| &option.name);
        let is_button = option.is_some_and(|option| option.kind == OptionKind::Button);
        let value = (!is_button).then_some(value);
        let command = match &mut self.protocol {
            ProtocolState::Uci => uci::set_option(known, value),
            ProtocolState::Xboard(_) => Xboard::set_option(known, value),
            ProtocolState::Lines(options) => {
                options.insert(name.to_owned(), value.unwrap_or_default().to_owned());
                return Ok(());
            }
        };
        self.channel.send(&command)
    }

    /// Announces the opponent of the next searches to an engine that wants to know.
    pub(crate) fn set_opponent(&mut self, opponent: Option<&Opponent>) -> Result<(), EngineError> {
        const OPTION: &str = "UCI_Opponent";
        if let ProtocolState::Xboard(xboard) = &mut self.protocol {
            xboard.set_opponent(opponent);
        }
        let Some(Opponent { name, title, .. }) = opponent else {
            return Ok(());
        };
        if self.option(OPTION).is_none() {
            return Ok(());
        }
        let name = printable(name, MAX_NAME_CHARS);
        let title = printable(title.as_deref().unwrap_or("none"), MAX_NAME_CHARS);
        let rating = opponent.and_then(|opponent| opponent.rating);
        let rating = rating.map(|rating| rating.to_string());
        let rating = rating.as_deref().unwrap_or("none");
        let kind = match opponent.is_some_and(|opponent| opponent.is_computer) {
            true => "computer",
            false => "human",
        };
        self.send_option(OPTION, &format!("{title} {rating} {kind} {name}"))
    }

    /// Starts a new game from this position, and waits until the engine is ready for it, at most until `deadline`.
    ///
    /// # Errors
    /// When the engine has exited or is not ready in time, or does not play such games.
    pub fn new_game(&mut self, start: &Position, deadline: Instant) -> Result<(), EngineError> {
        self.set_rules(start)?;
        match &mut self.protocol {
            ProtocolState::Uci => self.channel.send("ucinewgame")?,
            ProtocolState::Xboard(xboard) => xboard.new_game(&mut self.channel, start)?,
            ProtocolState::Lines(_) => {}
        }
        let left = deadline.saturating_duration_since(Instant::now());
        self.ready(left.min(READY_TIMEOUT), |_| ())
    }

    /// Switches to the variant of a game, and between standard chess and Chess960.
    fn set_rules(&mut self, start: &Position) -> Result<(), EngineError> {
        let (variant, notation) = (start.variant(), start.castling_notation());
        if self.variant != variant {
            self.check_variant(variant)?;
            if let ProtocolState::Uci = self.protocol {
                let name = self
                    .variant_name(variant)
                    .unwrap_or(variant.uci())
                    .to_owned();
                self.send_option(VARIANT, &name)?;
            }
            self.variant = variant;
        }
        if self.notation == notation {
            return Ok(());
        }
        let chess960 = notation == CastlingNotation::KingTakesRook;
        if chess960 && !self.abilities().chess960 {
            return Err(EngineError::CannotPlay {
                name: self.channel.name.clone(),
                what: "Chess960",
            });
        }
        self.notation = notation;
        if let ProtocolState::Uci = self.protocol {
            self.send_option(CHESS960, if chess960 { "true" } else { "false" })?;
        }
        Ok(())
    }

    /// Ends the search that runs in [`search`](Self::search) or begins next.
    pub fn stop_switch(&self) -> StopSwitch {
        self.channel.stop_switch()
    }

    /// Drops everything that was meant for an earlier search, such as a late stop.
    pub(crate) fn clear(&mut self) -> Result<(), EngineError> {
        self.channel.clear()
    }

    /// Takes the lines since the last call, with `>` before ours and `<` before the engine's; of those only the first and the
    /// last if there were many.
    pub fn take_transcript(&mut self) -> Vec<String> {
        self.channel.take_transcript()
    }

    /// Searches. The engine is told to move at `soft` or when the [`StopSwitch`] asks for it; at `hard`, or `stop_timeout`
    /// after that, the search has failed. `on_info` gets its lines.
    ///
    /// # Errors
    /// When there is no legal move in time. The process must not be used any more, except after
    /// [`EngineError::IllegalMove`], [`EngineError::ExcludedMove`] and [`EngineError::GaveUp`].
    pub fn search(
        &mut self,
        game: &Game,
        go: &Go,
        deadlines: Deadlines,
        mut on_info: impl FnMut(&Info),
    ) -> Result<Answer, EngineError> {
        self.channel.drop_lines()?;
        self.set_rules(game.initial())?;
        let (channel, notation) = (&mut self.channel, self.notation);
        let mut best = Best {
            on_info: &mut on_info,
            last: Info::default(),
            said: None,
        };
        let found = match &mut self.protocol {
            ProtocolState::Uci => uci::search(channel, notation, game, go, deadlines, &mut best),
            ProtocolState::Xboard(xboard) => xboard.search(channel, game, go, deadlines, &mut best),
            ProtocolState::Lines(options) => {
                lines::search(channel, options, game, go, deadlines, &mut best)
            }
        };
        if let Some(text) = best.said {
            debug!("{} says: {text}", self.channel.name);
        }
        let found = found?;
        if !go.search_moves.is_empty() && !go.search_moves.contains(&found.mv) {
            return Err(EngineError::ExcludedMove {
                name: self.channel.name.clone(),
                mv: found.mv.uci(notation).to_string(),
            });
        }
        Ok(found)
    }

    /// Waits for the move of a search that has failed by being late. Returns whether the process can be used again.
    pub(crate) fn recover(&mut self, timeout: Duration) -> bool {
        let is_move = |line: &str| match self.protocol {
            ProtocolState::Uci => line.starts_with("bestmove"),
            ProtocolState::Xboard(_) => xboard::move_of(line).is_some(),
            ProtocolState::Lines(_) => !line.starts_with("info"),
        };
        let found = |line: &str| is_move(line.trim_start()).then_some(());
        self.channel.read_until("a move", timeout, found).is_ok()
    }

    /// Returns whether the protocol has a command that ends a search.
    pub(crate) fn can_stop(&self) -> bool {
        !matches!(self.protocol, ProtocolState::Lines(_))
    }

    /// Waits for an engine that was not ready in time. Returns whether the process can be used again.
    pub(crate) fn recover_ready(&mut self, timeout: Duration) -> bool {
        let channel = &mut self.channel;
        let ready = match &self.protocol {
            ProtocolState::Uci => uci::wait_until_ready(channel, timeout, |_| ()),
            ProtocolState::Xboard(xboard) => xboard.wait_until_ready(channel, timeout, |_| ()),
            ProtocolState::Lines(_) => Ok(()),
        };
        ready.is_ok()
    }

    /// Waits until the engine has done everything so far.
    fn ready(&mut self, timeout: Duration, on_line: impl FnMut(&str)) -> Result<(), EngineError> {
        match &mut self.protocol {
            ProtocolState::Uci => uci::ready(&mut self.channel, timeout, on_line),
            ProtocolState::Xboard(xboard) => xboard.ready(&mut self.channel, timeout, on_line),
            ProtocolState::Lines(_) => Ok(()),
        }
    }
}
