//! Files of a pack, read with care: a name can lead to anything.

use std::{
    fs::File,
    io::{Error, ErrorKind, Read as _, Result},
    path::Path,
};

use crate::limits::FILE_BYTES;

/// The text of one file of a pack.
///
/// # Errors
/// It cannot be read, is no regular file (a pipe would never end), is not text, or is longer than a pack's file may be.
pub fn read_pack_file(path: &Path) -> Result<String> {
    let refused = |why: String| Error::new(ErrorKind::InvalidData, format!("{}: {why}", path.display()));
    // Asked before it is opened: to open a pipe waits for whoever writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused("it is no regular file".to_owned()));
    }
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes > FILE_BYTES) {
        return Err(refused(format!("it has more than {FILE_BYTES} bytes")));
    }
    Ok(text)
}
