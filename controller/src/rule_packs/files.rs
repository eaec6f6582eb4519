//! A pack's files from a directory, and their check as a whole. For the daemon and `sitectl rules`.

use std::path::Path;

use rules::{LoadOptions, RuleSet, read_pack_files};

use super::draw_faults;
use crate::{action_names, store::PackFile};

/// A directory of rules cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read rules at {path}: {why}")]
pub struct PackReadError {
    path: String,
    why: String,
}

/// Files that a pack may have.
const MOST_FILES: usize = 256;

/// Rules and tests of a pack: the `.rhai` files of a directory and the `.yaml` files of its `tests`, by relative path.
///
/// # Errors
/// If the directory or a file cannot be read, or a file is too large, no regular one, or not text.
pub fn read_pack_dir(dir: &Path) -> Result<Vec<PackFile>, PackReadError> {
    let fault = |why: String| PackReadError { path: dir.display().to_string(), why };
    let read = |dir: &Path, kind| read_pack_files(dir, kind, MOST_FILES).map_err(|error| fault(error.to_string()));
    let scripts = read(dir, "rhai")?;
    if scripts.is_empty() {
        return Err(fault("there is no .rhai file".to_owned()));
    }
    let tests = dir.join(TESTS.trim_end_matches('/'));
    let tests = if tests.is_dir() { read(&tests, "yaml")? } else { Vec::new() };
    let tests = tests.into_iter().map(|(name, text)| (format!("{TESTS}{name}"), text));
    let files = scripts.into_iter().chain(tests).map(|(path, text)| PackFile { path, text });
    let mut files: Vec<PackFile> = files.collect();
    if files.len() > MOST_FILES {
        return Err(fault(format!("there are more than {MOST_FILES} files")));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Where a pack has its tests.
const TESTS: &str = "tests/";

/// A pack after all checks, among them that the controller has its actions. Else its faults, drawn.
pub(super) fn compile(files: &[PackFile], options: &LoadOptions) -> Result<RuleSet, Vec<String>> {
    let scripts = files.iter().filter(|file| file.path.ends_with(".rhai"));
    let scripts = scripts.map(|file| (file.path.clone(), file.text.clone()));
    rules::load_files(scripts, options).map_err(|faults| draw_faults(&faults, false))
}

/// The pack's own tests that fail, and how. They speak of the pack's own times and limits, not of the site's.
pub(super) fn failing_tests(files: &[PackFile]) -> Result<Vec<String>, Vec<String>> {
    let rules = compile(files, &LoadOptions::default())?;
    let is_test =
        |path: &str| path.strip_prefix(TESTS).is_some_and(|name| !name.contains('/') && name.ends_with(".yaml"));
    let tests = files.iter().filter(|file| is_test(&file.path));
    let result = rules.run_tests(tests.map(|file| (file.path.as_str(), file.text.as_str())));
    let failed = result.cases.into_iter().filter_map(|case| Some((case.file, case.name, case.failure?)));
    Ok(failed.map(|(file, name, failure)| format!("{file}: {name}: {failure}")).collect())
}

/// The pack in a directory after all checks, among them that this controller has its actions.
///
/// # Errors
/// If the directory cannot be read, or the pack has faults: then they are drawn, with `colours` for terminals.
pub fn load_pack_dir(dir: &Path, colours: bool) -> Result<RuleSet, Vec<String>> {
    let files = read_pack_dir(dir).map_err(|error| vec![error.to_string()])?;
    let scripts = files.into_iter().filter(|file| file.path.ends_with(".rhai"));
    rules::load_files(scripts.map(|file| (file.path, file.text)), &with_actions(LoadOptions::default()))
        .map_err(|faults| draw_faults(&faults, colours))
}

/// Options under which a pack may only name actions that the controller has.
pub(super) fn with_actions(options: LoadOptions) -> LoadOptions {
    LoadOptions { known_actions: Some(action_names().into_iter().map(str::to_owned).collect()), ..options }
}
