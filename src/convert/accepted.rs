//! `[challenge]`: its lists of names, and rules for what it accepts.

use toml::{Table, Value as Toml};

use super::draft::Draft;
use super::values::{VARIANTS, list};
use crate::config::Challenge;
use crate::lichess::model::{Speed, Variant};

/// Sets `variants` or `speeds`, of which `unknown` ones are not played.
pub(super) fn set_names(
    draft: &mut Draft,
    key: &'static str,
    found: &[&'static str],
    unknown: &[String],
    from: String,
) {
    // The loader accepts an empty list only if a rule accepts challenges.
    if !found.is_empty() || draft.accepts_by_rule() {
        let names = list(found.iter().copied());
        draft.add(
            "challenge",
            vec![(key, names)],
            vec![from],
            not_played(unknown),
        );
        return;
    }
    let remark = match unknown.is_empty() {
        true => format!("no challenge is accepted, as no {key} are"),
        false => format!(
            "no challenge is accepted, as none of them is played: {}",
            unknown.join(", ")
        ),
    };
    accept_nothing(draft, &remark, from);
}

/// Declines all challenges.
pub(super) fn accept_nothing(draft: &mut Draft, remark: &str, from: String) {
    match draft.is_set("challenge", "accept") {
        true => draft.drop_key(remark, from),
        false => draft.add(
            "challenge",
            vec![("accept", false.into())],
            vec![from],
            remark,
        ),
    }
}

/// A remark on names that are not carried over, if there are any.
pub(super) fn not_played(unknown: &[String]) -> String {
    match unknown.is_empty() {
        true => String::new(),
        false => format!("not played are {}", unknown.join(", ")),
    }
}

/// Conditions for what `[challenge]` accepts: of games with a clock, and of correspondence games.
pub(super) fn within(section: &Challenge) -> Vec<Table> {
    let Some(games) = games_within(section) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let is_clock = |speed: &Speed| *speed != Speed::Correspondence;
    let (clock, days): (Vec<Speed>, Vec<Speed>) =
        section.speeds.iter().partition(|it| is_clock(it));
    if !clock.is_empty() {
        let mut matching = games.clone();
        matching.extend(clocks_within(section));
        let speeds = clock.iter().map(|speed| speed.key());
        matching.insert("speed".to_owned(), list(speeds));
        all.push(matching);
    }
    if !days.is_empty() {
        let mut matching = games;
        insert_range(&mut matching, section, "days", |it| {
            (it.min_days, it.max_days)
        });
        matching.insert("speed".to_owned(), Speed::Correspondence.key().into());
        all.push(matching);
    }
    all
}

/// Conditions for what `[challenge]` accepts at any time control; `None` if that is nothing.
pub(super) fn games_within(section: &Challenge) -> Option<Table> {
    let mut matching = Table::new();
    for (key, yes, no) in [
        ("rated", section.rated, section.casual),
        ("bot", section.bots, section.humans),
    ] {
        match (yes, no) {
            (true, true) => {}
            (false, false) => return None,
            (yes, _) => {
                matching.insert(key.to_owned(), yes.into());
            }
        }
    }
    if section.variants.len() < VARIANTS.len() {
        let keys = section
            .variants
            .iter()
            .map(|variant: &Variant| variant.key());
        matching.insert("variant".to_owned(), list(keys));
    }
    insert_range(&mut matching, section, "rating", |it| {
        (it.min_rating, it.max_rating)
    });
    Some(matching)
}

/// Conditions for the clocks that `[challenge]` accepts, at any speed.
pub(super) fn clocks_within(section: &Challenge) -> Table {
    let mut matching = Table::new();
    insert_range(&mut matching, section, "base_s", |it| {
        (it.min_base_s, it.max_base_s)
    });
    insert_range(&mut matching, section, "increment_s", |it| {
        (it.min_increment_s, it.max_increment_s)
    });
    matching
}

/// Adds a range of `[challenge]` that is narrower than by default.
fn insert_range(
    matching: &mut Table,
    section: &Challenge,
    key: &str,
    range: fn(&Challenge) -> (u32, u32),
) {
    let ((min, max), widest) = (range(section), range(&Challenge::default()));
    if min > widest.0 || max < widest.1 {
        matching.insert(key.to_owned(), Toml::from(format!("{min}..{max}")));
    }
}
