//! `sitectl rules fmt`: the one way in which rules are laid out.

use std::fs;

use super::Pack;
use crate::{failure::Failure, output::Format};

#[derive(clap::Args)]
pub(crate) struct Fmt {
    #[command(flatten)]
    pack: Pack,
    /// Changes nothing, and fails if something would change
    #[arg(long)]
    check: bool,
}

impl Fmt {
    pub(super) fn run(&self, format: Format) -> Result<String, Failure> {
        let dir = &self.pack.dir;
        let files = controller::read_pack_dir(dir).map_err(|error| Failure::Usage(error.to_string()))?;
        let mut changed = Vec::new();
        for file in files.iter().filter(|file| file.path.ends_with(".rhai")) {
            let laid_out = rules::format(&file.text);
            if laid_out == file.text {
                continue;
            }
            changed.push(file.path.clone());
            if !self.check {
                let path = dir.join(&file.path);
                fs::write(&path, laid_out)
                    .map_err(|error| Failure::Refused(format!("cannot write {}: {error}", path.display())))?;
            }
        }
        let text = format.answer(&changed, |changed| match changed.as_slice() {
            [] => "nothing to lay out".to_owned(),
            changed => changed.join("\n"),
        })?;
        if self.check && !changed.is_empty() {
            return Err(Failure::Refused(format!("to be laid out with `sitectl rules fmt`:\n{text}")));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_laid_out_once_and_checked_without_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.rhai");
        let rough = "initial(\"A\");\nstate(\"A\").no_sla()\n.wait(\"x\")\n";
        fs::write(&file, rough).unwrap();
        let run = |check| {
            let fmt = Fmt { pack: Pack { dir: dir.path().to_owned() }, check };
            fmt.run(Format::Table).map_err(|failure| failure.to_string())
        };
        assert!(run(true).is_err_and(|text| text.contains("a.rhai")));
        assert_eq!(fs::read_to_string(&file).unwrap(), rough, "a check changes nothing");
        assert_eq!(run(false).unwrap(), "a.rhai");
        assert_eq!(fs::read_to_string(&file).unwrap(), rules::format(rough));
        assert_eq!(run(true).unwrap(), "nothing to lay out");
    }
}
