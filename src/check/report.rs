//! Report of `knightwatch check`.

use std::fmt;

use super::{FAILED, MISCONFIGURED, NOT_PERMITTED, READY};
use crate::plural;

/// All findings, in order.
#[derive(Debug, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// The next step, such as a command; shown if there is no problem.
    pub next: String,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Subject in one word.
    pub topic: &'static str,
    pub severity: Severity,
    /// Description of the result.
    pub text: String,
    /// Suggested action.
    pub hint: Option<String>,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Ok,
    /// The bot can play, with limitations.
    Warning,
    /// The bot cannot play.
    Problem(Cause),
}

/// Cause of a problem, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Configuration,
    /// The token or its account.
    Token,
    /// Lichess cannot be reached, or something on this machine does not work.
    Failure,
}

impl Finding {
    pub fn ok(topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            topic,
            severity: Severity::Ok,
            text: text.into(),
            hint: None,
        }
    }

    pub fn warning(topic: &'static str, text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::ok(topic, text)
        }
    }

    pub fn problem(topic: &'static str, fault: Cause, text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Problem(fault),
            ..Self::ok(topic, text)
        }
    }

    /// Prefixes the text with the account, if there are several.
    pub fn prefix_account(&mut self, account: Option<&str>) {
        if let Some(account) = account {
            self.text = format!("{account}: {}", self.text);
        }
    }

    /// Adds a suggested action.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl Report {
    /// Returns whether the bot can play.
    pub fn is_ready(&self) -> bool {
        self.exit_code() == READY
    }

    /// 78 for the configuration, else 77 for the token or the account, else 1 for anything else that is bad, else 0.
    pub fn exit_code(&self) -> u8 {
        let code = |finding: &Finding| match finding.severity {
            Severity::Problem(Cause::Configuration) => MISCONFIGURED,
            Severity::Problem(Cause::Token) => NOT_PERMITTED,
            Severity::Problem(Cause::Failure) => FAILED,
            Severity::Ok | Severity::Warning => READY,
        };
        self.findings.iter().map(code).max().unwrap_or(READY)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Ok => "ok",
            Severity::Warning => "warning",
            Severity::Problem(_) => "problem",
        };
        write!(f, "{severity:<8} {:<14} {}", self.topic, self.text)?;
        match &self.hint {
            Some(hint) => write!(f, "\n{:<24}hint: {hint}", ""),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let count = |wanted: fn(Severity) -> bool| {
            self.findings
                .iter()
                .filter(|finding| wanted(finding.severity))
                .count()
        };
        let bad = count(|severity| matches!(severity, Severity::Problem(_)));
        let warnings = count(|severity| severity == Severity::Warning);
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
