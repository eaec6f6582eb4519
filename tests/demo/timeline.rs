//! How the demo tells what happens: with the time, the acts, and a table at the end.

use std::{
    path::PathBuf,
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use proto::site::{Explanation, HostHistoryRequest};
use testbed::{HostPlan, Site};
use tokio::{process::Command, time::sleep};

/// Longer lines are cut.
const WIDTH: usize = 130;
const PAUSE: Duration = Duration::from_millis(100);

/// Tells what happens, with the time since the demo began.
pub(crate) struct Timeline {
    began: Instant,
    act: String,
    programs: PathBuf,
    shown: Vec<(String, String)>,
}

impl Timeline {
    pub(crate) fn new(site: &Site) -> Self {
        Self { began: Instant::now(), act: String::new(), programs: site.programs(), shown: Vec::new() }
    }

    /// The act that is being told.
    pub(crate) fn act(&self) -> &str {
        &self.act
    }

    /// Where the site's programs are.
    pub(crate) fn programs(&self) -> String {
        self.programs.display().to_string()
    }

    /// Begins an act.
    pub(crate) fn begin(&mut self, act: &str) {
        println!("\n── {act}");
        act.clone_into(&mut self.act);
    }

    /// Tells one thing.
    pub(crate) fn say(&self, text: impl std::fmt::Display) {
        println!("{:6.1} s  {text}", self.began.elapsed().as_secs_f64());
    }

    /// Notes something that was shown, for the summary.
    pub(crate) fn proves(&mut self, what: &str, how: impl Into<String>) {
        self.shown.push((what.into(), how.into()));
    }

    /// Everything that was shown, as a table.
    pub(crate) fn summary(&self) -> String {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED).set_header(["shown", "how"]);
        for (what, how) in &self.shown {
            table.add_row([what, how]);
        }
        format!("{table}\nAll of it took {:.0} s.", self.began.elapsed().as_secs_f64())
    }

    /// Runs `sitectl` as an operator would and shows what it says.
    pub(crate) async fn sitectl(&self, site: &Site, arguments: &[&str]) -> Result<()> {
        self.say(format_args!("$ sitectl {}", arguments.join(" ")));
        let output = Command::new(self.programs.join("sitectl"))
            .args(arguments)
            .env("SITECTL_CONTROLLER", site.url())
            .stdin(Stdio::null())
            .output()
            .await
            .context("run sitectl")?;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            println!("{}", fitting(&format!("          {line}")).trim_end());
        }
        if !output.status.success() {
            bail!("sitectl {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// Follows a host, telling its states and what it waits for as they change, until `done` says so.
    pub(crate) async fn follow(
        &self,
        site: &Site,
        host: &HostPlan,
        secs: u64,
        mut done: impl AsyncFnMut(&Explanation) -> Result<bool>,
    ) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(secs);
        let mut version = site.host_detail(host).await?.state_version;
        let mut told = String::new();
        loop {
            let seen = site.explain(host).await?;
            version = self.tell_transitions(site, host, &version).await?;
            let why = match seen.outcome.as_str() {
                "wait" => format!("{} waits in {}: {}", host.name, seen.state, seen.reason),
                "error" => format!("{} stays in {}: {}", host.name, seen.state, seen.reason),
                _ => String::new(),
            };
            if !why.is_empty() && told != why {
                self.say(&why);
                told = why;
            }
            if done(&seen).await? {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("after {secs} s {} is still in {}: {}", host.name, seen.state, seen.reason);
            }
            sleep(PAUSE).await;
        }
    }

    /// Tells the transitions after the one that made `version`, and gives the newest version.
    async fn tell_transitions(&self, site: &Site, host: &HostPlan, version: &str) -> Result<String> {
        let request = HostHistoryRequest { host: host.name.clone(), limit: 50, ..HostHistoryRequest::default() };
        let newest_first = site.operator()?.get_host_history(request).await?.into_inner().transitions;
        let fresh: Vec<_> = newest_first.iter().take_while(|step| step.state_version != version).collect();
        for step in fresh.iter().rev() {
            self.say(format_args!("{} goes to {}", host.name, step.to));
        }
        Ok(fresh.first().map_or_else(|| version.to_owned(), |step| step.state_version.clone()))
    }
}

/// A line without what does not fit on a screen.
fn fitting(line: &str) -> String {
    if line.chars().count() <= WIDTH { line.to_owned() } else { line.chars().take(WIDTH - 1).chain(['…']).collect() }
}
