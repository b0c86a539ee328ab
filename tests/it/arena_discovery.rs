//! Discovery of arenas in the simulator with the real program.

use knightwatch::sim::{
    ArenaOptions, Endpoint, Fault, FaultRule, NewTeam, NewUser, SimOptions, TimeControl,
};

use crate::common::{BOT, Daemon, Site, requests_of, wait};
use crate::operator::{run_command, wait_online};
use crate::tournaments::{add_arena, player_counts};

#[test]
fn arena_discovery_finds_team_arenas() {
    let site = Site::new([NewUser::bot("Ann")]);
    site.sim.add_team(NewTeam {
        password: Some("sesame".to_owned()),
        leader: Some("Leader".to_owned()),
        ..NewTeam::new("Our Bots")
    });
    let ours = |options: &mut ArenaOptions| options.team = Some("Our Bots".to_owned());
    add_arena(&site, "ourfirst", 600, ours);
    add_arena(&site, "oursecrt", 7_200, |options| {
        ours(options);
        options.password = Some("mellon".to_owned());
    });
    add_arena(&site, "elsewher", 14_400, |_| {});
    let config = "[tournaments]\nteams = [\"our-bots:sesame\"]\npassword = \"mellon\"\n";
    let bot = Daemon::start(&site, config);
    wait("it says what it lacks", || {
        bot.log().contains("not in the team our-bots").then_some(())
    });
    bot.configure(|text| text + "join_teams = true\n");
    run_command(&bot, &["reload"]);
    wait("the bot takes part", || {
        (player_counts(&site, ["ourfirst", "oursecrt"]) == [1, 1]).then_some(())
    });
    assert_eq!(player_counts(&site, ["elsewher"]), [0]);
    let log = bot.log();
    assert!(!log.contains("sesame") && !log.contains("mellon"), "{log}");
}

#[test]
fn arena_discovery_finds_team_arenas_without_the_list() {
    let site = Site::new([NewUser::bot("Ann")]);
    site.sim.add_team(NewTeam {
        leader: Some("Leader".to_owned()),
        members: vec![BOT.to_owned()],
        ..NewTeam::new("Our Bots")
    });
    add_arena(&site, "ourfirst", 600, |options| {
        options.team = Some("Our Bots".to_owned());
    });
    let broken = FaultRule::on(Endpoint::ArenaList, Fault::json(404, "{}")).from_user(BOT);
    site.sim.faults().add(broken.times(1_000));
    let config = "[tournaments]\njoin_any = true\nteams = [\"our-bots\"]\n";
    let bot = Daemon::start(&site, config);
    wait("the bot takes part", || {
        (player_counts(&site, ["ourfirst"]) == [1]).then_some(())
    });
    assert!(bot.log().contains("cannot read the list of arenas"));
}

#[test]
fn arena_team_is_asked_again_after_an_outage() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Ann")],
        speed: 10.0,
        ..SimOptions::default()
    });
    site.sim.add_team(NewTeam {
        leader: Some("Leader".to_owned()),
        ..NewTeam::new("Our Bots")
    });
    add_arena(&site, "ourfirst", 20_000, |options| {
        options.team = Some("Our Bots".to_owned());
    });
    let broken = FaultRule::on(Endpoint::TeamJoin, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(broken);
    let config = "[tournaments]\nteams = [\"our-bots\"]\njoin_teams = true\n";
    let bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    wait("it could not join", || {
        bot.log().contains("not in the team our-bots").then_some(())
    });
    wait("the bot takes part", || {
        (player_counts(&site, ["ourfirst"]) == [1]).then_some(())
    });
}

#[test]
fn arena_discovery_finds_any_without_overlap() {
    let site = Site::new([NewUser::bot("Ann")]);
    add_arena(&site, "humans01", 60, |options| options.bots = false);
    add_arena(&site, "private1", 60, |options| {
        options.password = Some("x".to_owned());
    });
    add_arena(&site, "slow0001", 60, |options| {
        options.clock = TimeControl::clock(600, 0);
    });
    add_arena(&site, "wanted01", 600, |_| {});
    add_arena(&site, "overlap1", 1_200, |_| {});
    add_arena(&site, "wanted02", 6_000, |_| {});
    add_arena(&site, "tomorrow", 90_000, |_| {});
    let bot = Daemon::start(
        &site,
        "[tournaments]\njoin_any = true\nclocks = [\"1+0\"]\n",
    );
    wait("the bot takes part", || {
        (player_counts(&site, ["wanted01", "wanted02"]) == [1, 1]).then_some(())
    });
    let others = ["humans01", "private1", "slow0001", "overlap1", "tomorrow"];
    assert_eq!(player_counts(&site, others), [0; 5]);
    assert!(bot.log().contains("found Friday Arena, 1+0 for 60 min"));
}

#[test]
fn arena_discovery_counts_named_arenas() {
    let site = Site::new([NewUser::bot("Ann")]);
    site.sim.add_team(NewTeam {
        leader: Some("Leader".to_owned()),
        members: vec![BOT.to_owned()],
        ..NewTeam::new("Our Bots")
    });
    let ours = |options: &mut ArenaOptions| options.team = Some("Our Bots".to_owned());
    // Not in the calendar of the team, and during the first arena in it.
    add_arena(&site, "named001", 600, |_| {});
    add_arena(&site, "overlap1", 1_200, ours);
    add_arena(&site, "wanted01", 7_200, ours);
    let config = "[tournaments]\njoin = [\"named001\"]\nteams = [\"our-bots\"]\nconcurrency = 1\n";
    let _bot = Daemon::start(&site, config);
    wait("the bot takes part", || {
        (player_counts(&site, ["named001", "wanted01"]) == [1, 1]).then_some(())
    });
    assert_eq!(player_counts(&site, ["overlap1"]), [0]);
}

#[test]
fn arena_that_refuses_keeps_no_other_away() {
    let site = Site::new([NewUser::bot("Ann")]);
    add_arena(&site, "refusing", 600, |options| {
        options.password = Some("right".to_owned());
    });
    add_arena(&site, "overlap1", 1_200, |_| {});
    let config = "[tournaments]\njoin = [\"refusing:wrong\"]\nconcurrency = 1\n";
    let bot = Daemon::start(&site, config);
    wait("it is refused", || {
        bot.log().contains("refuses us").then_some(())
    });
    bot.configure(|text| text + "join_any = true\n");
    run_command(&bot, &["reload"]);
    wait("the bot is in the other", || {
        (player_counts(&site, ["overlap1"]) == [1]).then_some(())
    });
}

#[test]
fn arena_discovery_skips_unmet_conditions() {
    let site = Site::new([NewUser::bot("Ann")]);
    add_arena(&site, "lineup01", 600, |options| {
        options.allow = vec!["Ann".to_owned()];
    });
    add_arena(&site, "overlap1", 1_200, |_| {});
    let config = "[tournaments]\njoin_any = true\nconcurrency = 1\n";
    let bot = Daemon::start(&site, config);
    wait("the bot is in the other", || {
        (player_counts(&site, ["overlap1"]) == [1]).then_some(())
    });
    assert_eq!(requests_of(&site, BOT, Endpoint::ArenaJoin).len(), 1);
    let why = "not joining Friday Arena: Your name is not in the tournament line-up.";
    assert!(bot.log().contains(why), "{}", bot.log());
}

#[test]
fn arena_of_team_waits_for_membership() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Ann")],
        speed: 10.0,
        ..SimOptions::default()
    });
    site.sim.add_team(NewTeam {
        by_message: true,
        leader: Some("Leader".to_owned()),
        ..NewTeam::new("Our Bots")
    });
    add_arena(&site, "ourfirst", 20_000, |options| {
        options.team = Some("Our Bots".to_owned());
    });
    let config = "[tournaments]\nteams = [\"our-bots\"]\njoin_teams = true\n";
    let bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    wait("it has asked to join the team", || {
        bot.log().contains("accept our request").then_some(())
    });
    let path = format!("/api/team/our-bots/request/{BOT}/accept");
    assert_eq!(site.player("Leader").post(&path, &[]).0, 200);
    wait("the bot takes part", || {
        (player_counts(&site, ["ourfirst"]) == [1]).then_some(())
    });
    // No request was wasted before.
    for endpoint in [Endpoint::TeamJoin, Endpoint::ArenaJoin] {
        assert_eq!(requests_of(&site, BOT, endpoint).len(), 1, "{endpoint:?}");
    }
}

#[test]
fn arena_left_by_operator_is_not_found() {
    let site = Site::new([NewUser::bot("Ann")]);
    add_arena(&site, "rehearse", 600, |_| {});
    add_arena(&site, "another1", 7_200, |_| {});
    let mut bot = Daemon::start(&site, "[tournaments]\njoin_any = true\n");
    let both = ["rehearse", "another1"];
    wait("the bot takes part", || {
        (player_counts(&site, both) == [1, 1]).then_some(())
    });
    run_command(&bot, &["leave", "rehearse"]);
    wait("the bot has left", || {
        (player_counts(&site, both) == [0, 1]).then_some(())
    });
    // A new block is no reason to scan for arenas again.
    let looks = || requests_of(&site, BOT, Endpoint::ArenaList).len();
    let before = looks();
    run_command(&bot, &["block", "Ann"]);
    bot.crash_and_restart();
    wait_online(&bot, 2);
    wait("it has looked for arenas again", || {
        (bot.log().matches("found Friday Arena").count() == 3).then_some(())
    });
    assert_eq!(looks(), before + 1);
    assert_eq!(player_counts(&site, both), [0, 1]);
    // An arena that no longer matches is left.
    bot.configure(|text| text.replace("join_any = true", "join_any = false"));
    let done = run_command(&bot, &["reload"]);
    assert!(done.contains("leaving the arena another1"), "{done}");
    wait("the bot has left", || {
        (player_counts(&site, both) == [0, 0]).then_some(())
    });
}
