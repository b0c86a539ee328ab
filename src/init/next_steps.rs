//! Remaining steps after the files are written.

use std::path::Path;

use super::questions::SERVER_VARIABLE;
use super::service::{Service, shell_quoted};
use super::{Init, Outcome, Plan, program_name};
use crate::config::TOKEN_VARIABLE;

impl Init {
    /// The remaining steps, each with its purpose.
    pub(super) fn steps(&self, plan: &Plan, outcome: &Outcome) -> Vec<(String, &'static str)> {
        let service = self.place.service.as_ref();
        let root = service.and_then(Service::root);
        let program = match (service, root) {
            (_, Some(_)) => "knightwatch".to_owned(),
            (Some(_), None) => format!("sudo {}", program_name()),
            (None, None) => program_name(),
        };
        let config = match service {
            Some(_) => String::new(),
            None => self.config_argument(),
        };
        let command = |name: &str| format!("{program} {name}{config}");
        let mut steps = Vec::new();
        if let Some(missing) = service.and_then(Service::missing_program) {
            let step = format!("install the program as {}", shell_quoted(missing));
            steps.push((step, ""));
        }
        if !plan.has_token {
            let again = match service {
                Some(_) => format!("{program} init --service"),
                None => command("init"),
            };
            steps.push((
                again,
                "again, when there is a token; it keeps the other answers",
            ));
        } else if service.is_none()
            && plan.kept.is_none()
            && self.sources.environment.contains_key(TOKEN_VARIABLE)
        {
            let step = format!("unset {TOKEN_VARIABLE}");
            steps.push((
                step,
                "because only one token is allowed, and it is in the file now",
            ));
        }
        if let (None, Some(set)) = (service, self.server_of_environment())
            && plan.server.as_ref().is_some_and(|server| *server != set)
        {
            let step = format!("unset {SERVER_VARIABLE}");
            steps.push((step, "because it overrides the server in the file"));
        }
        // The account of an existing configuration may be unknown: check reports it.
        if !outcome.is_bot && (plan.owner.is_some() || plan.kept.is_none()) {
            steps.push((
                command("upgrade"),
                "makes the account a bot account, permanently",
            ));
        }
        if !outcome.was_checked {
            steps.push((command("check"), "reports what is still missing"));
        }
        match service {
            None => steps.push((command("run"), "plays")),
            Some(service) if outcome.is_started || service.is_running() => {
                if !outcome.is_started {
                    let drain = command("drain");
                    steps.push((drain, "restarts the service after its games"));
                }
                steps.push((command("status"), "shows its status"));
            }
            Some(service) if service.has_systemd() => {
                let sudo = if root.is_none() { "sudo " } else { "" };
                let start = format!("{sudo}systemctl enable --now knightwatch");
                steps.push((start, "plays, also after a reboot"));
                steps.push((command("status"), "shows its status"));
            }
            Some(service) => {
                let state = service.state_directory();
                let credentials = self.place.token.parent().unwrap_or(&state);
                let start = format!(
                    "STATE_DIRECTORY={} CREDENTIALS_DIRECTORY={} {} run",
                    shell_quoted(&state),
                    shell_quoted(credentials),
                    program_name()
                );
                steps.push((start, "plays; to be run by your service manager"));
            }
        }
        steps
    }

    pub(super) fn print_next_steps(&self, plan: &Plan, outcome: &Outcome) -> anyhow::Result<()> {
        let service = self.place.service.as_ref();
        let steps = self.steps(plan, outcome);
        if service.is_some_and(|service| !service.has_systemd()) {
            self.prompt.print(
                "systemd is not running here, so no unit was installed; knightwatch service print prints it.",
            )?;
        }
        self.prompt.print(match service.and_then(Service::root) {
            Some(root) => format!("\nNext steps, in the system below {}:", root.display()),
            None => "\nNext steps:".to_owned(),
        })?;
        let lengths = steps.iter().map(|(step, _)| step.len());
        let width = lengths.filter(|length| *length <= 50).max().unwrap_or(0);
        for (number, (step, why)) in steps.iter().enumerate() {
            let line = format!("  {}. {step:<width$}   {why}", number + 1);
            self.prompt.print(line.trim_end())?;
        }
        Ok(())
    }

    /// ` --config FILE`, unless the file is on the search path.
    fn config_argument(&self) -> String {
        let real = |path: &Path| path.canonicalize().ok();
        let found = self.sources.find_file();
        let is_found = found.is_some_and(|found| real(&found) == real(&self.place.config));
        match is_found {
            true => String::new(),
            false => format!(" --config {}", shell_quoted(&self.place.config)),
        }
    }
}
