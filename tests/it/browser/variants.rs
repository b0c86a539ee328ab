//! Variants of chess on the page.

use knightwatch::chess::{Move, Position, Variant};
use serde_json::{Value, json};

use super::driver::Browser;
use super::playing::{click, fill_in, send};
use super::{ENTER, open_as_player, square};
use crate::common::{Site, wait};
use crate::etiquette::act;
use crate::page::Url;

/// A bot that answers at once.
const FAST: &str = "resign.enabled = false\n[[rule]]\nplay = { max_depth = 1 }\n";

/// Starts a game with the form and returns its id.
fn start(browser: &Browser, variant: Variant, color: &str) -> String {
    let before = browser.run("return document.querySelector('.card[aria-current]')?.dataset.game;");
    fill_in(browser, &[("variant", variant.key()), ("color", color)]);
    send(browser);
    let id = browser.until(&format!(
        "(id => id !== {before} && id)(document.querySelector('.card[aria-current]')?.dataset.game)"
    ));
    browser.until("document.title.startsWith('Your move')");
    id.as_str().unwrap().to_owned()
}

/// A game after more than `plies` moves in which the player is to move, or that is over.
fn our_turn(url: &Url, id: &str, plies: Option<usize>) -> Value {
    wait("the bot has moved", || {
        let game = url.json(&format!("/api/game/{id}"));
        if game["result"].is_object() {
            return Some(game);
        }
        let is_new = Some(game["moves"].as_array()?.len()) > plies;
        let turn = game["fen"].as_str()?.split(' ').nth(1)?;
        let bot = game["ours"].as_str()?;
        // The last position is known before the result.
        let has_move = !game["legal"].as_array()?.is_empty();
        (is_new && has_move && !bot.starts_with(turn)).then_some(game)
    })
}

/// Waits until the page shows all moves.
fn wait_for_moves(browser: &Browser, url: &Url, id: &str) {
    let plies = our_turn(url, id, None)["moves"].as_array().map(Vec::len);
    browser.until(&format!(
        "document.querySelectorAll('.moves button').length === {}",
        plies.unwrap()
    ));
}

/// The legal moves of a game, each in UCI notation and as a move.
fn legal_moves(game: &Value) -> Vec<(String, Move)> {
    let variant = Variant::from_name(game["variant"].as_str().unwrap()).unwrap();
    let position = Position::from_variant_fen(variant, game["fen"].as_str().unwrap()).unwrap();
    let moves = game["legal"].as_array().unwrap().iter();
    moves
        .map(|uci| {
            let uci = uci.as_str().unwrap();
            (uci.to_owned(), position.parse_uci(uci).unwrap())
        })
        .collect()
}

/// Plays White until there is a move of the wanted kind, and returns it.
fn find_move(
    site: &Site,
    url: &Url,
    id: &str,
    wanted: impl Fn(&str, Move) -> bool,
) -> Option<String> {
    let anna = site.player("Anna");
    // The bishop attacks whatever comes first on its diagonal.
    let mut plan = ["b2b3", "c1a3"].into_iter();
    let mut plies = None;
    for _ in 0..40 {
        let game = our_turn(url, id, plies);
        plies = game["moves"].as_array().map(Vec::len);
        let legal = legal_moves(&game);
        if let Some((uci, _)) = legal.iter().find(|(uci, mv)| wanted(uci, *mv)) {
            return Some(uci.clone());
        }
        let planned = plan
            .next()
            .filter(|uci| legal.iter().any(|(legal, _)| legal == uci));
        let capture = legal.iter().find(|(_, mv)| mv.is_capture());
        let (first, _) = capture.or(legal.first())?;
        act(&anna, id, &format!("move/{}", planned.unwrap_or(first)));
    }
    None
}

/// Waits for a move in the list, and shows the position after it. Returns its SAN.
fn go_to_move(browser: &Browser, url: &Url, id: &str, uci: &str) -> String {
    let (ply, san) = wait("the move is made", || {
        let game = url.json(&format!("/api/game/{id}"));
        let played = game["moves"].as_array()?;
        let last = played.iter().rfind(|played| played["uci"] == uci)?;
        Some((last["ply"].as_u64()?, last["san"].as_str()?.to_owned()))
    });
    let button = format!("document.querySelectorAll('.moves button')[{}]", ply - 1);
    browser.until(&format!("{button}?.textContent === {}", json!(san)));
    // At the last move the page follows the game, so that the reply would be shown.
    let is_last = format!("document.querySelectorAll('.moves button').length === {ply}");
    let is_over = "document.querySelector('.panel .result').checkVisibility()";
    wait("the position after the move is shown", || {
        browser.run(&format!("{button}.click();"));
        let is_fixed = format!("(!({is_last}) || {is_over})");
        let is_shown = format!("return {is_fixed} && {button}.hasAttribute('aria-current');");
        (browser.run(&is_shown) == true).then_some(())
    });
    san
}

#[test]
fn pieces_in_hand_are_dropped_by_mouse_and_keys() {
    let Some((browser, site, _bot, url)) = open_as_player(FAST) else {
        return;
    };
    for way in ["clicks", "drag", "text", "keys"] {
        let id = start(&browser, Variant::Crazyhouse, "white");
        browser.wait_visible(".pockets");
        let uci = find_move(&site, &url, &id, |uci, _| uci.contains('@')).expect("a drop");
        wait_for_moves(&browser, &url, &id);
        let (kind, to) = uci.split_once('@').unwrap();
        let piece = format!(".pocket [data-piece=w{kind}]");
        browser.until(&format!("document.querySelector('{piece}:enabled')"));
        let is_target = format!(
            "document.querySelector({}).hasAttribute('data-target')",
            json!(square(to))
        );
        match way {
            "clicks" => {
                browser.click(&piece);
                browser.until(&is_target);
                browser.click(&square(to));
            }
            "drag" => browser.drag(&piece, &square(to)),
            "text" => {
                browser.fill("#move", &uci);
                browser.press(&[ENTER]);
            }
            _ => {
                browser.run(&format!("document.querySelector('{piece}').focus();"));
                browser.press(&[ENTER]);
                browser.until(&is_target);
                browser.run(&format!(
                    "document.querySelector({}).focus();",
                    json!(square(to))
                ));
                browser.press(&[ENTER]);
            }
        }
        let san = go_to_move(&browser, &url, &id, &uci);
        assert!(san.contains(&format!("@{to}")), "{way}: {san}");
        let name = match kind {
            "P" => "white pawn",
            "N" => "white knight",
            "B" => "white bishop",
            "R" => "white rook",
            _ => "white queen",
        };
        browser.wait_for_piece(to, name);
        // Refused if the reply is mate.
        let resign = format!("/api/board/game/{id}/resign");
        site.player("Anna").post(&resign, &[]);
        site.finished(&id);
        browser.until("document.querySelector('.panel .result').checkVisibility()");
    }
    browser.assert_clean(&url.with_key());
}

#[test]
fn pockets_do_not_shrink_the_board() {
    let Some((browser, site, _bot, url)) = open_as_player(FAST) else {
        return;
    };
    let screen = json!({ "width": 1400, "height": 757, "deviceScaleFactor": 1, "mobile": false });
    browser.devtools("Emulation.setDeviceMetricsOverride", &screen);
    let sizes = [Variant::Standard, Variant::Crazyhouse].map(|variant| {
        let id = start(&browser, variant, "white");
        let has_pockets = variant == Variant::Crazyhouse;
        browser.until(&format!(
            "document.querySelector('.pockets').checkVisibility() === {has_pockets}"
        ));
        browser.until("document.querySelector('.tools').getBoundingClientRect().bottom <= 757");
        let board = "document.querySelector('.game-view .board').getBoundingClientRect().height";
        let size = browser.run(&format!("return {board};")).as_f64().unwrap();
        act(&site.player("Anna"), &id, "abort");
        browser.until("document.querySelector('.panel .result').checkVisibility()");
        size
    });
    assert!((sizes[0] - sizes[1]).abs() < 2.0, "{sizes:?}");
    browser.assert_clean(&url.with_key());
}

#[test]
fn explosion_is_shown() {
    let Some((browser, site, _bot, url)) = open_as_player(FAST) else {
        return;
    };
    let id = start(&browser, Variant::Atomic, "white");
    let uci = find_move(&site, &url, &id, |_, mv| mv.is_capture()).expect("a capture");
    let (from, to) = (&uci[..2], &uci[2..4]);
    // The animation takes only a second.
    browser.run(
        "window.exploded = 0;
         new MutationObserver((changes) => changes.forEach(({ addedNodes }) => (window.exploded += addedNodes.length)))
             .observe(document.querySelector('.game-view .explosion'), { childList: true });",
    );
    wait_for_moves(&browser, &url, &id);
    click(&browser, from, to);
    browser.until("window.exploded >= 4");
    go_to_move(&browser, &url, &id, &uci);
    for name in [from, to] {
        browser.wait_for_piece(name, "");
    }
    browser.assert_clean(&url.with_key());
}

#[test]
fn third_check_is_counted_and_said() {
    let config = "resign.enabled = false\n[[rule]]\nplay = { max_depth = 3 }\n";
    let Some((browser, site, _bot, url)) = open_as_player(config) else {
        return;
    };
    let anna = site.player("Anna");
    // Against weak moves, until the third check is not mate too.
    let ended = (0..6).any(|choice| {
        let id = start(&browser, Variant::ThreeCheck, "black");
        browser.wait_for_text(".board-area .player .checks", "0 of 3 checks");
        let mut plies = None;
        loop {
            let game = our_turn(&url, &id, plies);
            plies = game["moves"].as_array().map(Vec::len);
            if let Some(status) = game["result"]["status"].as_str() {
                return status == "variantEnd";
            }
            let legal = legal_moves(&game);
            act(
                &anna,
                &id,
                &format!("move/{}", legal[choice % legal.len()].0),
            );
        }
    });
    assert!(ended, "no game ended by checks");
    browser.wait_for_text(".board-area .player .checks", "3 of 3 checks");
    browser.wait_for_text(".panel .result", "Three checks. Knightwatch wins.");
    browser.run("[...document.querySelectorAll('.moves button')].at(-1).click();");
    browser.wait_for_text("#read", ", third check");

    // The history names the variant and the end.
    wait("the end is in the records", || {
        let found = url.json("/api/games?variant=threeCheck");
        (found["games"][0]["end"] == "three checks").then_some(())
    });
    browser.run("location.hash = '#/games?variant=threeCheck';");
    browser.wait_for_text("table.games .end", "three checks");
    browser.wait_for_text("table.games .kind", "Three-check");

    // A rematch is of the same variant.
    browser.run("location.hash = '#/';");
    browser.click("[data-act=rematch]");
    browser.wait_for_text(".game-view h1", "Three-check");
    browser.wait_for_text(".board-area .player .checks", "0 of 3 checks");
    browser.assert_clean(&url.with_key());
}

#[test]
fn ends_of_variants_are_said() {
    let Some((browser, _site, _bot, url)) = open_as_player(FAST) else {
        return;
    };
    for (variant, start, uci, said) in [
        (
            Variant::Standard,
            "7k/5K2/6Q1/8/8/8/8/8 w - - 0 1",
            "g6g7",
            "queen g7, mate",
        ),
        (
            Variant::Antichess,
            "8/8/8/8/8/1p6/P7/8 w - - 0 1",
            "a2b3",
            "a takes b3, no pieces or moves left",
        ),
        (
            Variant::Atomic,
            "4k3/3p4/8/8/8/8/8/3QK3 w - - 0 1",
            "d1d7",
            "queen takes d7, the king explodes",
        ),
        (
            Variant::Atomic,
            "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1",
            "g5g7",
            "queen g7, mate",
        ),
        (
            Variant::Horde,
            "4k3/8/8/8/8/8/1p6/P7 b - - 0 1",
            "b2a1q",
            "b takes a1 becomes queen, the horde is captured",
        ),
        (
            Variant::KingOfTheHill,
            "4k3/8/8/8/8/4K3/8/8 w - - 0 1",
            "e3e4",
            "king e4, king in the center",
        ),
        (
            Variant::RacingKings,
            "8/6K1/8/k7/8/8/8/8 w - - 0 1",
            "g7g8",
            "king g8, the race is won",
        ),
        (
            Variant::ThreeCheck,
            "4k3/8/8/8/8/8/8/4KR2 w - - 0 1 +2+0",
            "f1f8",
            "rook f8, third check",
        ),
    ] {
        let mut position = Position::from_variant_fen(variant, start).unwrap();
        let mv = position.parse_uci(uci).unwrap();
        let san = position.san(mv);
        position.play(mv);
        let arguments = json!([san, variant.key(), position.fen()]);
        let heard = browser.run(&format!(
            "return import('/assets/chess.js').then(({{ sanAsWords }}) => sanAsWords(...{arguments}));"
        ));
        assert_eq!(heard, said, "{variant}: {san}");
    }
    browser.assert_clean(&url.with_key());
}

#[test]
fn horde_is_shown_and_played() {
    let Some((browser, site, _bot, url)) = open_as_player(FAST) else {
        return;
    };
    let id = start(&browser, Variant::Horde, "white");
    let pawns = "[...document.querySelectorAll('.game-view [data-square]')]
        .filter((square) => square.getAttribute('aria-label').endsWith('white pawn')).length";
    browser.until(&format!("{pawns} === 36"));
    click(&browser, "a4", "a5");
    browser.wait_for_piece("a5", "white pawn");
    our_turn(&url, &id, Some(1));
    // White has no king that could be marked as lost.
    act(&site.player("Anna"), &id, "resign");
    browser.wait_for_text(".panel .result", "You resigned. Knightwatch wins.");
    browser.assert_clean(&url.with_key());
}

#[test]
fn pawn_becomes_a_king_in_antichess() {
    let Some((browser, site, _bot, url)) = open_as_player(FAST) else {
        return;
    };
    let anna = site.player("Anna");
    // Games with different moves, until a pawn gets through.
    let found = (0..12).find_map(|choice| {
        let id = start(&browser, Variant::Antichess, "white");
        let mut plies = None;
        loop {
            let game = our_turn(&url, &id, plies);
            plies = game["moves"].as_array().map(Vec::len);
            if game["result"].is_object() {
                browser.until("document.querySelector('.panel .result').checkVisibility()");
                return None;
            }
            let mut legal = legal_moves(&game);
            if let Some((uci, _)) = legal.iter().find(|(uci, _)| uci.ends_with('k')) {
                return Some((id, uci.clone()));
            }
            legal.sort_by_key(|(_, mv)| std::cmp::Reverse(mv.to().rank()));
            act(
                &anna,
                &id,
                &format!("move/{}", legal[choice % legal.len().min(3)].0),
            );
        }
    });
    let (id, uci) = found.expect("a pawn was promoted in one of the games");
    wait_for_moves(&browser, &url, &id);
    click(&browser, &uci[..2], &uci[2..4]);
    browser.until("document.querySelectorAll('.promotion button').length === 5");
    browser.click(".promotion [aria-label='white king']");
    let san = go_to_move(&browser, &url, &id, &uci);
    assert!(san.contains("=K"), "{san}");
    browser.wait_for_piece(&uci[2..4], "white king");
    browser.assert_clean(&url.with_key());
}

#[test]
fn racing_kings_are_seen_from_whites_side() {
    let Some((browser, _site, _bot, url)) = open_as_player(FAST) else {
        return;
    };
    start(&browser, Variant::RacingKings, "black");
    browser.wait_for_text(".boardrow + .player", "Anna");
    browser.until(
        "document.querySelector('.game-view [data-square=a1]').getBoundingClientRect().top
         > document.querySelector('.game-view [data-square=a8]').getBoundingClientRect().top",
    );
    browser.until("document.querySelectorAll('.game-view .board .goal rect').length === 8");
    browser.allow_clipboard();
    browser.click(".tools .text");
    browser.click("[data-share=PGN]");
    browser.wait_for_text("#toasts", "PGN copied.");
    let pgn = browser.run("return navigator.clipboard.readText();");
    let pgn = pgn.as_str().unwrap();
    for tag in [
        "[Variant \"Racing Kings\"]",
        "[SetUp \"1\"]",
        "[FEN \"8/8/8/8/8/8/krbnNBRK/qrbnNBRQ w - - 0 1\"]",
    ] {
        assert!(pgn.contains(tag), "{pgn}");
    }
    browser.assert_clean(&url.with_key());
}
