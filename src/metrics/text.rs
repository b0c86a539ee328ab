//! The numbers as Prometheus reads them.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{Health, Metrics, Status};

/// All metrics as one text.
pub(super) fn encode(metrics: &Metrics) -> String {
    let mut registry = Registry::with_prefix("knightwatch");
    registry.register(
        "move_post_seconds",
        "From the start of a move's POST to its answer",
        metrics.0.post.clone(),
    );
    registry.register(
        "move_reaction_seconds",
        "From the line that makes it our turn to the start of the POST, less the thinking",
        metrics.0.reaction.clone(),
    );
    registry.register_collector(Box::new(Snapshot(metrics.status())));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)
        .expect("writing to a string cannot fail");
    text
}

#[derive(Debug)]
struct Snapshot(Status);

struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
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

    /// How each account stands.
    fn accounts(&mut self, accounts: &[Status]) -> fmt::Result {
        type Of = fn(&Status) -> f64;
        let gauges: [(&str, &str, Of); 3] = [
            (
                "account_healthy",
                "1 when nobody has to look after it",
                |account| f64::from(u8::from(account.health == Health::Ok)),
            ),
            ("account_online", "1 while its stream is open", |account| {
                f64::from(u8::from(account.stream.is_some()))
            }),
            ("account_games", "Its games that are on", |account| {
                account.games.len() as f64
            }),
        ];
        for (name, help, of) in gauges {
            let named = |account| (Status::shown(account), of(account));
            self.gauges(name, help, accounts.iter().map(named))?;
        }
        Ok(())
    }

    /// What is used of what Lichess allows, and when something is tried next.
    fn limits(&mut self, each: &[Status]) -> fmt::Result {
        let kind = ConstGauge::new(0.0).metric_type();
        let (used, of) = (
            "Used of what Lichess allows in a day",
            "What Lichess allows in a day",
        );
        for (name, help, first) in [("limit_used", used, true), ("limit_credits", of, false)] {
            let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
            for status in each {
                for limit in &status.limits {
                    let labels = [
                        ("account", status.shown().to_owned()),
                        ("limit", limit.what.replace(' ', "_")),
                    ];
                    let value = if first { limit.used } else { limit.of };
                    ConstGauge::new(value as f64).encode(encoder.encode_family(&labels)?)?;
                }
            }
        }
        let next = each.iter().filter_map(|status| {
            let next = status.idle.as_ref()?.next_s?;
            Some((status.shown(), next as f64))
        });
        self.gauges(
            "next_try_seconds",
            "Until a game is looked for again, while that waits",
            next,
        )
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
        let (status, mut page) = (&self.0, Page(encoder));
        let flag = |flag: bool| f64::from(u8::from(flag));
        page.gauge(
            "healthy",
            "1 when nobody has to look",
            flag(status.health == Health::Ok),
        )?;
        page.gauge(
            "paused",
            "1 when the operator wants no new games",
            flag(status.paused),
        )?;
        if !status.accounts.is_empty() {
            page.accounts(&status.accounts)?;
        }
        page.limits(status.each())?;
        page.gauge("up_seconds", "Since the start", status.up_s as f64)?;
        page.gauge(
            "online",
            "1 while the account's stream is open",
            flag(status.stream.is_some()),
        )?;
        if let Some(stream) = status.stream {
            page.gauge(
                "event_stream_silence_seconds",
                "Since the last byte of the account's stream",
                stream.silent_s,
            )?;
        }
        let silence = status.games.iter().filter_map(|game| game.stream);
        let silence = silence.map(|stream| stream.silent_s).fold(0.0, f64::max);
        page.gauge(
            "game_stream_silence_seconds",
            "The longest since the last byte of a game's stream",
            silence,
        )?;
        page.gauge("games", "Games that are on", status.games.len() as f64)?;
        let owing = status.games.iter().filter(|game| game.owed_ms.is_some());
        page.gauge(
            "owed_moves",
            "Games in which it is our move",
            owing.count() as f64,
        )?;
        page.gauge(
            "owed_ms",
            "The longest time for which a move is owed, thinking included",
            status.owed_ms as f64,
        )?;
        page.counter(
            "repairs",
            "Games that the auditor had to help",
            status.repairs,
        )?;
        let c = &status.counts;
        page.counters(
            "games_finished",
            "Games by result",
            [
                ("won", c.won),
                ("drawn", c.drawn),
                ("lost", c.lost),
                ("aborted", c.aborted),
            ]
            .map(|(result, count)| ([("result", result.to_owned())], count)),
        )?;
        page.counter("games_started", "Games taken up", c.started)?;
        page.counter(
            "flags_fallen",
            "Games lost because our own flag fell",
            c.flagged,
        )?;
        page.counters(
            "challenges",
            "Challenges by our answer",
            [("accepted", c.accepted), ("declined", c.declined)]
                .map(|(answer, count)| ([("answer", answer.to_owned())], count)),
        )?;
        page.counter("moves", "Moves of ours", c.moves)?;
        page.counter(
            "connects",
            "Times that the account's stream was opened",
            c.connects,
        )?;
        page.counter(
            "errors",
            "Things that the operator has to look at",
            c.errors,
        )?;
        let requests = status.requests.iter().flat_map(|requests| {
            let kind = requests.kind.replace(' ', "_");
            requests.fates.iter().map(move |(fate, count)| {
                let labels = [("kind", kind.clone()), ("fate", fate.clone())];
                (labels, *count)
            })
        });
        page.counters("requests", "Requests by kind and fate", requests)?;
        let engine = &status.engine;
        page.gauge(
            "nodes_per_second",
            "Of a game's search, the median of the latest",
            engine.nodes_per_second as f64,
        )?;
        page.gauge(
            "hash_bytes",
            "The transposition table",
            (engine.hash_mib << 20) as f64,
        )?;
        page.gauge(
            "hash_full_ratio",
            "How full it was in the latest search",
            f64::from(engine.hashfull_permille) / 1_000.0,
        )?;
        page.gauge(
            "resident_bytes",
            "Memory of the process",
            (status.memory_mib << 20) as f64,
        )
    }
}
