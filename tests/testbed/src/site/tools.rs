//! What an operator has at hand on a site that runs: `sitectl`, signals, metrics.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use super::Site;

/// What operators reach the site with, as they would.
impl Site {
    /// What `sitectl` prints, and whether it was content.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn sitectl(&self, line: &str) -> Result<(bool, String)> {
        self.sitectl_as(line, "operator")
    }

    /// The same with the certificate of a part of the site, on a site that has certificates.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn sitectl_as(&self, line: &str, who: &str) -> Result<(bool, String)> {
        let mut command = Command::new(self.programs().join("sitectl"));
        command.args(line.split(' ')).env("SITECTL_CONTROLLER", self.url());
        if self.plan.tls {
            let file = |name: &str| self.directory().join(name);
            command
                .env("SITECTL_CA", file("ca.pem"))
                .env("SITECTL_CERT", file(&format!("{who}.pem")))
                .env("SITECTL_KEY", file(&format!("{who}.key")));
        }
        let output = command.output().context("run sitectl")?;
        let text = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
        Ok((output.status.success(), text))
    }

    /// What a `sitectl` prints that has to be content.
    ///
    /// # Errors
    /// If it is not: with what it prints.
    pub fn must(&self, line: &str) -> Result<String> {
        let (fine, said) = self.sitectl(line)?;
        ensure!(fine, "sitectl {line}: {said}");
        Ok(said)
    }

    /// Has the controller read its rules again, as an operator would on its machine.
    ///
    /// # Errors
    /// If it does not run.
    pub fn hang_up(&self) -> Result<()> {
        self.controller.signal("HUP")
    }

    /// One value of the controller's metrics, by its name with labels; none if it is not there.
    ///
    /// # Errors
    /// If there are no metrics, or the value is no number.
    pub fn metric(&self, name: &str) -> Result<Option<f64>> {
        let log = self.controller.tail(usize::MAX);
        let served = log.lines().rfind(|line| line.contains("metrics are served")).context("no metrics are served")?;
        let address = served.split("address=").nth(1).context("metrics without address")?.trim();
        let mut stream = TcpStream::connect(address).with_context(|| format!("connect to {address}"))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let value = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|text| text.parse().with_context(|| format!("{name} is {text}"))).transpose()
    }
}
