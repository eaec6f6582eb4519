//! Reads files of packs, of any origin: only regular files of limited size and number.

use std::{
    fs::File,
    io::{Error, ErrorKind, Read as _, Result},
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
        files.push((name, read_pack_file(&path)?));
    }
    Ok(files)
}

/// The text of one file.
fn read_pack_file(path: &Path) -> Result<String> {
    let refused = |why: String| Error::new(ErrorKind::InvalidData, format!("{}: {why}", path.display()));
    // Checked before opening, because opening a pipe waits for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused("it is not a regular file".to_owned()));
    }
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > FILE_BYTES) {
        return Err(refused(format!("it has more than {FILE_BYTES} bytes")));
    }
    Ok(text)
}
