//! The DPU agent: one straight line that runs every 30 s.
//!
//! fetch → render → plan → apply → check → report. Rendering, planning, parsing and judging health are pure; commands,
//! files and the network are touched at the edges. What the DPU runs is known from a marker that is written after a
//! confirmed apply, never from a file that was only written.
//!
//! A room calls only rooms below it, which a test checks:
//!
//! ```text
//! agent                                   one pass after the other
//! apply                                   makes the DPU run a target
//! desired                                 what the controller wants, and the files for it
//! controller                              the link to the site
//! health                                  probes
//! hbn                                     HBN as it is
//! config                                  the configuration file
//! state                                   what survives a restart
//! render, lint                            files from a response, and faults in them
//! parse                                   readers of what commands print
//! ```

mod agent;
mod apply;
mod config;
mod controller;
mod desired;
mod hbn;
mod health;
pub mod lint;
pub mod parse;
pub mod render;
mod state;

pub use agent::{Agent, AgentError, Pass};
pub use config::{ConfigFault, LogFormat, Settings};
pub use health::{PREVENT_ALLOCATIONS, PREVENT_HOST_STATE_CHANGES};
pub use state::{LastResponse, MAX_FILE_BYTES, Runs, StateDirLock, StatusFile};

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// The rooms, from the lowest, each with the names that the crate root gives on from it.
    const ROOMS: [(&str, &[&str]); 11] = [
        ("parse", &[]),
        ("lint", &[]),
        ("render", &[]),
        ("state", &["MAX_FILE_BYTES"]),
        ("config", &["Settings"]),
        ("hbn", &[]),
        ("health", &[]),
        ("controller", &[]),
        ("desired", &[]),
        ("apply", &[]),
        ("agent", &[]),
    ];

    fn files(directory: &Path, visit: &mut impl FnMut(&Path, &str)) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, visit);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                visit(&path, &fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// The first name of a path behind `crate::`, or those of a list in braces.
    fn first_names(rest: &str) -> Vec<&str> {
        let word = |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        if !rest.starts_with('{') {
            return vec![&rest[..word(rest)]];
        }
        let (mut depth, mut names) = (0, Vec::new());
        for (at, character) in rest.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => (),
            }
            if depth == 0 {
                break;
            }
            if depth == 1 && matches!(character, '{' | ',') {
                let item = rest[at + 1..].trim_start();
                names.push(&item[..word(item)]);
            }
        }
        names.retain(|name| !name.is_empty());
        names
    }

    #[test]
    fn a_room_calls_only_rooms_below_it() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut arrows = 0;
        for (height, (room, _)) in ROOMS.iter().enumerate() {
            files(&source.join(room), &mut |path, text| {
                for name in text.split("crate::").skip(1).flat_map(first_names) {
                    let called = ROOMS.iter().position(|(room, given)| *room == name || given.contains(&name));
                    let called = called.unwrap_or_else(|| panic!("{}: no room has `{name}`", path.display()));
                    assert!(called <= height, "{}: `{room}` calls `{name}`, which is above it", path.display());
                    arrows += usize::from(called < height);
                }
            });
        }
        assert!(arrows > 50, "only {arrows} were found");
    }
}
