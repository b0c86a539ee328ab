//! The steps that are left when everything is written.

use std::path::Path;

use super::questions::SERVER_VARIABLE;
use super::service::{Service, quoted};
use super::{Done, Init, Plan, program_name};
use crate::config::TOKEN_VARIABLE;

impl Init {
    /// What is still to do, each a command or an action, and why.
    pub(super) fn steps(&self, plan: &Plan, done: &Done) -> Vec<(String, &'static str)> {
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
            let step = format!("install the program as {}", quoted(missing));
            steps.push((step, ""));
        }
        if !plan.has_token {
            let again = match service {
                Some(_) => format!("{program} init --service"),
                None => command("init"),
            };
            steps.push((
                again,
                "once more, when there is a token; it knows the other answers",
            ));
        } else if service.is_none()
            && plan.kept.is_none()
            && self.sources.environment.contains_key(TOKEN_VARIABLE)
        {
            let step = format!("unset {TOKEN_VARIABLE}");
            steps.push((
                step,
                "for there may be only one token, and it is in the file now",
            ));
        }
        if let (None, Some(set)) = (service, self.server_of_environment())
            && plan.server.as_ref().is_some_and(|server| *server != set)
        {
            let step = format!("unset {SERVER_VARIABLE}");
            steps.push((step, "for it takes the place of the server in the file"));
        }
        // Of a configuration that was kept the account may not be known: check says what it is.
        if !done.is_bot && (plan.owner.is_some() || plan.kept.is_none()) {
            steps.push((
                command("upgrade"),
                "makes the account a bot account, for good",
            ));
        }
        if !done.was_checked {
            steps.push((command("check"), "says what is still missing"));
        }
        match service {
            None => steps.push((command("run"), "plays")),
            Some(service) if done.is_started || service.is_running() => {
                if !done.is_started {
                    let drain = command("drain");
                    steps.push((drain, "restarts the service when its games are over"));
                }
                steps.push((command("status"), "says how it is doing"));
            }
            Some(service) if service.has_systemd() => {
                let sudo = if root.is_none() { "sudo " } else { "" };
                let start = format!("{sudo}systemctl enable --now knightwatch");
                steps.push((start, "plays, also after a restart of the machine"));
                steps.push((command("status"), "says how it is doing"));
            }
            Some(service) => {
                let state = service.state_directory();
                let credentials = self.place.token.parent().unwrap_or(&state);
                let start = format!(
                    "STATE_DIRECTORY={} CREDENTIALS_DIRECTORY={} {} run",
                    quoted(&state),
                    quoted(credentials),
                    program_name()
                );
                steps.push((start, "plays; have your own service manager do that"));
            }
        }
        steps
    }

    pub(super) fn say_what_is_next(&self, plan: &Plan, done: &Done) -> anyhow::Result<()> {
        let service = self.place.service.as_ref();
        let steps = self.steps(plan, done);
        if service.is_some_and(|service| !service.has_systemd()) {
            self.talk.say(
                "systemd does not run here, so no unit was installed; knightwatch init --print-unit prints it.",
            )?;
        }
        self.talk.say(match service.and_then(Service::root) {
            Some(root) => format!("\nWhat is next, in the system below {}:", root.display()),
            None => "\nWhat is next:".to_owned(),
        })?;
        let lengths = steps.iter().map(|(step, _)| step.len());
        let width = lengths.filter(|length| *length <= 50).max().unwrap_or(0);
        for (number, (step, why)) in steps.iter().enumerate() {
            let line = format!("  {}. {step:<width$}   {why}", number + 1);
            self.talk.say(line.trim_end())?;
        }
        Ok(())
    }

    /// ` --config FILE`, where the file would not be found without.
    fn config_argument(&self) -> String {
        let real = |path: &Path| path.canonicalize().ok();
        let found = self.sources.find_file();
        let is_found = found.is_some_and(|found| real(&found) == real(&self.place.config));
        match is_found {
            true => String::new(),
            false => format!(" --config {}", quoted(&self.place.config)),
        }
    }
}
