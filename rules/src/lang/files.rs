//! Reads files of packs, of any origin: only regular files of limited size and number.

use std::{
    io::{Error, ErrorKind, Result},
    path::Path,
};

use crate::ir::limits::FILE_BYTES;

/// Name and text of all files directly in a directory whose names end with an extension.
///
/// # Errors
/// The directory cannot be read or has more than `most` of them; or one of them cannot be read, is not a regular file (a
/// pipe would never end), is not text, or is longer than a pack's file may be.
pub fn read_pack_files(directory: &Path, extension: &str, most: usize) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_none_or(|found| found != extension) {
            continue;
        }
        if files.len() >= most {
            return Err(Error::new(ErrorKind::InvalidData, format!("it has more than {most} files")));
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = types::read_text(&path, FILE_BYTES)
            .map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        files.push((name, text));
    }
    Ok(files)
}
