//! Forms of the messages to webhooks.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{Alert, REPEAT_INTERVAL};
use crate::clock;
use crate::config::{AlertFormat, AlertKind};

/// Upper limit of the text of a message, in characters; Discord takes 2,000.
const MAX_TEXT_CHARS: usize = 1_500;

/// Time after which Alertmanager ends a lasting alert that is not repeated, for example because the bot was stopped:
/// two repetitions may be lost.
const UNREPEATED_END: Duration = REPEAT_INTERVAL.saturating_mul(3);

/// An end is reported as this much earlier. Alertmanager compares it with its own clock, which may be behind, and ignores
/// an end in the future.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// A message as it is sent.
#[derive(Debug, PartialEq)]
pub(super) struct Message {
    /// Headers besides the content type.
    pub headers: Vec<(&'static str, String)>,
    pub content_type: &'static str,
    pub body: String,
}

/// The message for an alert. `server` is the address of the Lichess server.
pub(super) fn message(format: AlertFormat, alert: &Alert, server: &str) -> Message {
    let title = title(alert);
    let mut text: String = alert.text.chars().take(MAX_TEXT_CHARS).collect();
    let link = alert.game.as_ref().map(|game| format!("{server}/{game}"));
    let with_link = || match &link {
        Some(link) => format!("{text}\n{link}"),
        None => text.clone(),
    };
    let json = |value: &Value| Message {
        headers: Vec::new(),
        content_type: "application/json",
        body: value.to_string(),
    };
    match format {
        AlertFormat::Json => json(&json!({
            "event": alert.kind.key(),
            "state": if alert.resolved { "resolved" } else { "firing" },
            "account": alert.account,
            "game": alert.game,
            "link": link,
            "text": text,
            "since": clock::format_date(alert.since),
        })),
        AlertFormat::Discord => json(&json!({
            "content": format!("**{title}**\n{}", with_link()),
            // Names of opponents must not mention anybody.
            "allowed_mentions": { "parse": [] },
        })),
        AlertFormat::Slack => json(&json!({ "text": format!("*{title}*\n{}", with_link()) })),
        AlertFormat::Ntfy => {
            let mut headers = vec![
                ("Title", title),
                (
                    "Priority",
                    if alert.resolved { "3" } else { "4" }.to_owned(),
                ),
                (
                    "Tags",
                    if alert.resolved {
                        "white_check_mark"
                    } else {
                        "warning"
                    }
                    .to_owned(),
                ),
            ];
            headers.extend(link.map(|link| ("Click", link)));
            // In the body, since headers are ASCII.
            text.push('\n');
            Message {
                headers,
                content_type: "text/plain; charset=utf-8",
                body: text,
            }
        }
        AlertFormat::Alertmanager => {
            let mut labels = json!({
                "alertname": alert_name(alert.kind),
                "service": "knightwatch",
                "severity": "warning",
            });
            for (label, value) in [
                ("account", &alert.account),
                ("game", &alert.game),
                ("limit", &alert.limit),
            ] {
                if let Some(value) = value {
                    labels[label] = value.as_str().into();
                }
            }
            let ends = end(alert, SystemTime::now());
            let starts = ends.map_or(alert.since, |ends| ends.min(alert.since));
            let mut entry = json!({
                "labels": labels,
                "annotations": { "summary": text },
                "startsAt": rfc3339(starts),
            });
            if let Some(ends) = ends {
                entry["endsAt"] = rfc3339(ends).into();
            }
            if let Some(link) = link {
                entry["generatorURL"] = link.into();
            }
            json(&json!([entry]))
        }
    }
}

/// The end of an alert for Alertmanager; `None` leaves it to Alertmanager.
fn end(alert: &Alert, now: SystemTime) -> Option<SystemTime> {
    if alert.resolved {
        now.checked_sub(CLOCK_TOLERANCE)
    } else if alert.lasts() {
        now.checked_add(UNREPEATED_END)
    } else {
        None
    }
}

/// `Knightwatch Anna: lost on time`, in ASCII.
fn title(alert: &Alert) -> String {
    let what = match (alert.kind, alert.resolved) {
        (AlertKind::Offline, true) => "online again".to_owned(),
        (AlertKind::Records, true) => "records are written again".to_owned(),
        (AlertKind::Records, false) => "records are not written".to_owned(),
        (kind, _) => kind.key().replace('_', " "),
    };
    let name = alert.account.as_deref().unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_graphic).collect();
    match name.is_empty() {
        true => format!("Knightwatch: {what}"),
        false => format!("Knightwatch {name}: {what}"),
    }
}

/// `KnightwatchLostOnTime`.
fn alert_name(kind: AlertKind) -> String {
    let words = kind.key().split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    });
    format!("Knightwatch{}", words.collect::<String>())
}

fn rfc3339(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time)
        .unwrap_or_default()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(format: AlertFormat, resolved: bool) -> Message {
        let alert = Alert {
            kind: AlertKind::LostOnTime,
            resolved,
            account: Some("Anna\u{202e}".to_owned()),
            game: Some("abcdefgh".to_owned()),
            limit: None,
            text: "game abcdefgh was lost on time \u{265e}".to_owned(),
            since: SystemTime::UNIX_EPOCH,
        };
        message(format, &alert, "https://lichess.org")
    }

    fn json_body(format: AlertFormat) -> Value {
        serde_json::from_str(&body(format, false).body).expect("JSON")
    }

    #[test]
    fn messages_have_the_form_of_their_service() {
        let json = json_body(AlertFormat::Json);
        assert_eq!(
            (&json["event"], &json["state"]),
            (&"lost_on_time".into(), &"firing".into())
        );
        assert_eq!(json["link"], "https://lichess.org/abcdefgh");
        let discord = json_body(AlertFormat::Discord);
        assert!(
            discord["content"]
                .as_str()
                .is_some_and(|text| text.starts_with("**Knightwatch Anna: lost on time**"))
        );
        let slack = json_body(AlertFormat::Slack);
        assert!(
            slack["text"]
                .as_str()
                .is_some_and(|text| text.ends_with("https://lichess.org/abcdefgh"))
        );
        let alertmanager = &json_body(AlertFormat::Alertmanager)[0];
        assert_eq!(alertmanager["labels"]["alertname"], "KnightwatchLostOnTime");
        assert_eq!(alertmanager["startsAt"], "1970-01-01T00:00:00Z");
        assert!(alertmanager.get("endsAt").is_none());
        let resolved: Value =
            serde_json::from_str(&body(AlertFormat::Alertmanager, true).body).expect("JSON");
        assert!(resolved[0].get("endsAt").is_some());
        let ntfy = body(AlertFormat::Ntfy, false);
        assert!(
            ntfy.headers.iter().all(|(_, value)| value.is_ascii()),
            "{ntfy:?}"
        );
        assert!(ntfy.body.contains('\u{265e}'));
    }

    #[test]
    fn alertmanager_keeps_an_alert_until_its_end_is_reported() {
        const MINUTE: u64 = 60;
        let now = SystemTime::now();
        let sent = |kind, resolved, since| {
            let alert = Alert {
                kind,
                resolved,
                account: None,
                game: None,
                limit: None,
                text: "it has happened".to_owned(),
                since,
            };
            let message = message(AlertFormat::Alertmanager, &alert, "https://lichess.org");
            let sent: Value = serde_json::from_str(&message.body).expect("JSON");
            let time = |key: &str| {
                let time = sent[0][key]
                    .as_str()?
                    .parse::<jiff::Timestamp>()
                    .expect("a time");
                Some(SystemTime::from(time))
            };
            (time("startsAt").expect("a start"), time("endsAt"))
        };
        let hour_ago = now - Duration::from_secs(60 * MINUTE);
        for kind in [AlertKind::Offline, AlertKind::Records] {
            let (starts, ends) = sent(kind, false, hour_ago);
            assert_eq!(starts, hour_ago);
            assert!(
                ends >= Some(now + Duration::from_secs(10 * MINUTE)),
                "{kind:?}"
            );
            // The clock of Alertmanager is half a minute behind, and the records are written again just now.
            for since in [hour_ago, now] {
                let (starts, ends) = sent(kind, true, since);
                let ends = ends.expect("an end");
                assert!(ends < now - Duration::from_secs(MINUTE / 2), "{kind:?}");
                assert!(starts <= ends, "{kind:?}");
            }
        }
        for kind in [AlertKind::LimitReached, AlertKind::StuckMove] {
            assert_eq!(sent(kind, false, hour_ago).1, None, "{kind:?}");
        }
    }

    #[test]
    fn alertmanager_distinguishes_the_daily_limits() {
        let labels = |limit: &str| {
            let alert = Alert {
                kind: AlertKind::LimitReached,
                resolved: false,
                account: Some("Anna".to_owned()),
                game: None,
                limit: Some(limit.to_owned()),
                text: format!("the daily limit of {limit} is used up"),
                since: SystemTime::UNIX_EPOCH,
            };
            let message = message(AlertFormat::Alertmanager, &alert, "https://lichess.org");
            let sent: Value = serde_json::from_str(&message.body).expect("JSON");
            sent[0]["labels"].clone()
        };
        assert_eq!(labels("bot_games")["limit"], "bot_games");
        assert_ne!(labels("bot_games"), labels("challenges"));
    }
}
