//! What was found, and what it comes to.

use std::fmt;

use super::{FAILED, MISCONFIGURED, NOT_PERMITTED, READY};
use crate::plural;

/// Everything that was looked at, in order.
#[derive(Debug, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// The command that comes next when all is well.
    pub next: String,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is about, in a word.
    pub topic: &'static str,
    pub verdict: Verdict,
    /// How it is.
    pub text: String,
    /// What to do about it.
    pub advice: Option<String>,
}

/// How it is with one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// The bot can play, but it could be better.
    Warning,
    /// The bot cannot play.
    Bad(Fault),
}

/// Why the bot cannot play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Configuration,
    /// The token, or the account that it is for.
    Token,
    /// Lichess cannot be reached, or something on this machine does not work.
    Failure,
}

impl Finding {
    pub fn good(topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            topic,
            verdict: Verdict::Good,
            text: text.into(),
            advice: None,
        }
    }

    pub fn warning(topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Warning,
            ..Self::good(topic, text)
        }
    }

    pub fn bad(topic: &'static str, fault: Fault, text: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Bad(fault),
            ..Self::good(topic, text)
        }
    }

    /// It is about this account of several.
    pub fn of(&mut self, account: Option<&str>) {
        if let Some(account) = account {
            self.text = format!("{account}: {}", self.text);
        }
    }

    /// The same, with what to do about it.
    pub fn advice(self, advice: impl Into<String>) -> Self {
        Self {
            advice: Some(advice.into()),
            ..self
        }
    }
}

impl Report {
    /// Whether the bot can play.
    pub fn is_ready(&self) -> bool {
        self.exit_code() == READY
    }

    /// 78 for the configuration, else 77 for the token or the account, else 1 for anything else that is bad, else 0.
    pub fn exit_code(&self) -> u8 {
        let code = |finding: &Finding| match finding.verdict {
            Verdict::Bad(Fault::Configuration) => MISCONFIGURED,
            Verdict::Bad(Fault::Token) => NOT_PERMITTED,
            Verdict::Bad(Fault::Failure) => FAILED,
            Verdict::Good | Verdict::Warning => READY,
        };
        self.findings.iter().map(code).max().unwrap_or(READY)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Good => "ok",
            Verdict::Warning => "warning",
            Verdict::Bad(_) => "problem",
        };
        write!(f, "{verdict:<8} {:<14} {}", self.topic, self.text)?;
        match &self.advice {
            Some(advice) => write!(f, "\n{:<24}hint: {advice}", ""),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let count = |wanted: fn(Verdict) -> bool| {
            self.findings
                .iter()
                .filter(|finding| wanted(finding.verdict))
                .count()
        };
        let bad = count(|verdict| matches!(verdict, Verdict::Bad(_)));
        let warnings = count(|verdict| verdict == Verdict::Warning);
        let next = &self.next;
        match (bad, warnings) {
            (0, 0) => write!(f, "\nReady to play: {next}"),
            (0, _) => {
                let warnings = plural::count(warnings, "warning", "warnings");
                write!(f, "\nReady to play, with {warnings}: {next}")
            }
            _ => {
                let problems = plural::count(bad, "problem", "problems");
                write!(f, "\nNot ready to play: {problems}")
            }
        }
    }
}
