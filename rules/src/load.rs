//! Loading: joins `lang` (files to pack) and `eval` (pack to rule set). The crate's entry point.

use std::{collections::BTreeMap, path::Path, sync::Arc, thread};

use crate::{
    eval::RuleSet,
    ir::{
        diagnostic::{Diagnostics, LoadError, Place},
        limits,
    },
    lang::{
        files::read_pack_files,
        load::{LoadOptions, load_sources},
    },
};

/// Loads and checks the pack in a directory: all `*.rhai` files directly in it.
///
/// # Errors
/// All errors of the pack, or that it could not be read.
pub fn load_pack(directory: &Path) -> Result<RuleSet, LoadError> {
    load_pack_with(directory, &LoadOptions::default())
}

/// [`load_pack`] with a site's settings.
///
/// # Errors
/// All errors of the pack, or that it could not be read.
pub fn load_pack_with(directory: &Path, options: &LoadOptions) -> Result<RuleSet, LoadError> {
    let files = read_pack_files(directory, "rhai", limits::FILES).map_err(|error| {
        let place = Place { file: directory.display().to_string().into(), line: 0, column: 0 };
        let mut diagnostics = Diagnostics::default();
        let hint = "a pack is a directory with `*.rhai` files";
        diagnostics.error("unreadable", &place, format!("cannot read the pack: {error}"), hint);
        LoadError { diagnostics: diagnostics.0, sources: BTreeMap::new() }
    })?;
    load_files(files, options)
}

/// Some editors write it at the beginning of a file; it is no part of the rules.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Loads and checks a pack from the names and texts of its files.
///
/// # Errors
/// All errors of the pack.
pub fn load_files(
    files: impl IntoIterator<Item = (String, String)>,
    options: &LoadOptions,
) -> Result<RuleSet, LoadError> {
    let sources: BTreeMap<Arc<str>, Arc<str>> =
        files.into_iter().map(|(name, text)| (name.into(), text.trim_start_matches(BYTE_ORDER_MARK).into())).collect();
    thread::scope(|scope| {
        let loading = thread::Builder::new().stack_size(limits::LOADING_STACK).name("rules".to_owned());
        let loaded = loading.spawn_scoped(scope, || load_sources(sources.clone(), options).map(RuleSet::new));
        let stopped = |what: &str| {
            let mut diagnostics = Diagnostics::default();
            let whole = Place { file: "".into(), line: 0, column: 0 };
            let hint = "look for expressions that are nested very deeply";
            diagnostics.error("unreadable", &whole, format!("loading the pack {what}"), hint);
            LoadError { diagnostics: diagnostics.0, sources: sources.clone() }
        };
        match loaded {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err(stopped("crashed"))),
            Err(error) => Err(stopped(&format!("could not be started: {error}"))),
        }
    })
}
