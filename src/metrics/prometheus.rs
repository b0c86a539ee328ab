//! Metrics in Prometheus text format.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{ExternalStatus, Health, LimitStatus, Metrics, Status};

/// Encodes all metrics.
pub(super) fn encode(metrics: &Metrics) -> String {
    let mut registry = Registry::with_prefix("knightwatch");
    registry.register(
        "move_post_seconds",
        "From the start of a move's POST to its response",
        metrics.0.post.clone(),
    );
    registry.register(
        "move_reaction_seconds",
        "From the stream line that makes it our turn to the start of the POST, without thinking",
        metrics.0.reaction.clone(),
    );
    registry.register_collector(Box::new(Snapshot(metrics.status())));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)
        .expect("writing to a string cannot fail");
    text
}

/// Collector of the metrics that come from a status.
#[derive(Debug)]
struct Snapshot(Status);

struct Encoder<'a>(DescriptorEncoder<'a>);

impl Encoder<'_> {
    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        let gauge = ConstGauge::new(value);
        let encoder = self
            .0
            .encode_descriptor(name, help, None, gauge.metric_type())?;
        gauge.encode(encoder)
    }

    /// One gauge for each account.
    fn gauges<'a>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> fmt::Result {
        let kind = ConstGauge::new(0.0).metric_type();
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        for (account, value) in values {
            let labels = [("account", account)];
            ConstGauge::new(value).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// Health, stream and games of each account.
    fn account_gauges(&mut self, accounts: &[Status]) -> fmt::Result {
        type Value = fn(&Status) -> f64;
        let gauges: [(&str, &str, Value); 3] = [
            ("account_healthy", "1 if healthy", |account| {
                f64::from(u8::from(account.health == Health::Ok))
            }),
            (
                "account_online",
                "1 while its event stream is open",
                |account| f64::from(u8::from(account.live.stream.is_some())),
            ),
            ("account_games", "Running games", |account| {
                account.live.games.len() as f64
            }),
        ];
        for (name, help, value) in gauges {
            let labeled = |account| (Status::display_name(account), value(account));
            self.gauges(name, help, accounts.iter().map(labeled))?;
        }
        Ok(())
    }

    /// Use of the daily limits of Lichess, and the time until the next matchmaking attempt.
    fn limit_gauges(&mut self, accounts: &[Status]) -> fmt::Result {
        type Value = fn(&LimitStatus) -> u64;
        let gauges: [(&str, &str, Value); 2] = [
            ("limit_used", "Use of a daily limit of Lichess", |limit| {
                limit.used
            }),
            (
                "rate_limit_capacity",
                "Size of a daily limit of Lichess",
                |limit| limit.capacity,
            ),
        ];
        let kind = ConstGauge::new(0.0).metric_type();
        for (name, help, value) in gauges {
            let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
            for status in accounts {
                for limit in &status.live.limits {
                    let labels = [
                        ("account", status.display_name().to_owned()),
                        ("limit", limit.label()),
                    ];
                    let gauge = ConstGauge::new(value(limit) as f64);
                    gauge.encode(encoder.encode_family(&labels)?)?;
                }
            }
        }
        let next = accounts.iter().filter_map(|status| {
            let next = status.live.idle.as_ref()?.next_s?;
            Some((status.display_name(), next as f64))
        });
        self.gauges(
            "matchmaking_next_attempt_seconds",
            "Time until matchmaking tries again, while it waits",
            next,
        )
    }

    /// Processes of each external engine.
    fn engine_gauge(&mut self, externals: &[ExternalStatus]) -> fmt::Result {
        let kind = ConstGauge::new(0.0).metric_type();
        let help = "Processes of an external engine that are ready or at work";
        let mut encoder = self
            .0
            .encode_descriptor("external_engine_ready", help, None, kind)?;
        for engine in externals {
            let labels = [("engine", engine.name.clone())];
            ConstGauge::new(engine.ready as f64).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let counter = ConstCounter::new(value);
        let encoder = self
            .0
            .encode_descriptor(name, help, None, counter.metric_type())?;
        counter.encode(encoder)
    }

    /// One counter for each set of labels.
    fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([(&'static str, String); N], u64)>,
    ) -> fmt::Result {
        let kind = ConstCounter::new(0_u64).metric_type();
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in values {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (status, mut encoder) = (&self.0, Encoder(encoder));
        let live = &status.live;
        let flag = |flag: bool| f64::from(u8::from(flag));
        encoder.gauge("healthy", "1 if healthy", flag(status.health == Health::Ok))?;
        encoder.gauge(
            "paused",
            "1 while paused by the operator",
            flag(live.paused),
        )?;
        if let Some(records) = &status.records {
            encoder.gauge(
                "records_writable",
                "1 while the records and their PGN files can be written",
                flag(records.failure.is_none() && records.pgn_failure.is_none()),
            )?;
            encoder.counter(
                "records_lost_events",
                "Events that are missing in the records",
                records.lost_events,
            )?;
        }
        if !status.accounts.is_empty() {
            encoder.account_gauges(&status.accounts)?;
        }
        encoder.limit_gauges(status.per_account())?;
        encoder.gauge("up_seconds", "Time since the start", status.uptime_s as f64)?;
        encoder.gauge(
            "online",
            "1 while the event stream is open",
            flag(live.stream.is_some()),
        )?;
        if let Some(stream) = live.stream {
            encoder.gauge(
                "event_stream_silence_seconds",
                "Time since the last byte of the event stream",
                stream.silent_s,
            )?;
        }
        let silence = live.games.iter().filter_map(|game| game.stream);
        let silence = silence.map(|stream| stream.silent_s).fold(0.0, f64::max);
        encoder.gauge(
            "game_stream_silence_seconds",
            "Longest time since the last byte of a game stream",
            silence,
        )?;
        encoder.gauge("games", "Running games", live.games.len() as f64)?;
        encoder.gauge(
            "games_suspended",
            "Correspondence games without an open stream",
            live.suspended_games.len() as f64,
        )?;
        let our_turn = live.games.iter().filter(|game| game.our_turn_ms.is_some());
        encoder.gauge(
            "games_our_turn",
            "Running games in which it is our turn",
            our_turn.count() as f64,
        )?;
        let overdue = live.games.iter().filter(|game| game.overdue);
        encoder.gauge(
            "games_overdue",
            "Running games in which our move is overdue",
            overdue.count() as f64,
        )?;
        encoder.gauge(
            "oldest_turn_seconds",
            "Longest current wait for a move of ours, thinking included",
            status.oldest_turn_ms as f64 / 1_000.0,
        )?;
        encoder.counter(
            "stuck_game_recoveries",
            "Stuck games that the watchdog recovered",
            live.stuck_game_recoveries,
        )?;
        let c = &status.counts;
        encoder.counters(
            "games_finished",
            "Finished games by result",
            [
                ("won", c.won),
                ("drawn", c.drawn),
                ("lost", c.lost),
                ("aborted", c.aborted),
            ]
            .map(|(result, count)| ([("result", result.to_owned())], count)),
        )?;
        encoder.counter("games_started", "Games started or resumed", c.started)?;
        encoder.counter(
            "games_lost_on_time",
            "Games lost because our clock ran out",
            c.lost_on_time,
        )?;
        encoder.counters(
            "challenges",
            "Challenges by our answer",
            [("accepted", c.accepted), ("declined", c.declined)]
                .map(|(answer, count)| ([("answer", answer.to_owned())], count)),
        )?;
        encoder.counter("moves", "Moves made by us", c.moves)?;
        encoder.counter(
            "fallback_moves",
            "Moves of the embedded engine in place of an external one",
            c.fallback_moves,
        )?;
        let engines = || live.externals.iter();
        let label = |engine: &ExternalStatus| [("engine", engine.name.clone())];
        encoder.counters(
            "external_engine_moves",
            "Moves found by an external engine",
            engines().map(|engine| (label(engine), engine.moves)),
        )?;
        encoder.counters(
            "external_engine_fallbacks",
            "Moves that the embedded engine has found in place of an external engine",
            engines().map(|engine| (label(engine), engine.fallbacks)),
        )?;
        encoder.counters(
            "external_engine_failures",
            "Failures of the processes of an external engine",
            engines().map(|engine| (label(engine), engine.failures)),
        )?;
        encoder.engine_gauge(&live.externals)?;
        encoder.counter(
            "event_stream_opens",
            "How often the event stream was opened",
            c.event_stream_opens,
        )?;
        encoder.counter(
            "errors",
            "Errors that the operator should look at",
            c.errors,
        )?;
        let requests = live.requests.iter().flat_map(|requests| {
            let kind = requests.kind.replace(' ', "_");
            requests.outcomes.iter().map(move |(outcome, count)| {
                let labels = [("kind", kind.clone()), ("outcome", outcome.clone())];
                (labels, *count)
            })
        });
        encoder.counters("requests", "Requests by kind and outcome", requests)?;
        let engine = &live.engine;
        encoder.gauge(
            "nodes_per_second",
            "Search speed, median of the latest searches",
            engine.nodes_per_second as f64,
        )?;
        encoder.gauge(
            "hash_bytes",
            "Size of the transposition table",
            (engine.hash_mib << 20) as f64,
        )?;
        encoder.gauge(
            "hash_full_ratio",
            "Use of the transposition table in the latest search",
            f64::from(engine.hashfull_permille) / 1_000.0,
        )?;
        encoder.gauge(
            "resident_bytes",
            "Resident memory of the process",
            (status.memory_mib << 20) as f64,
        )
    }
}
