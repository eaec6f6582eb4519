//! Reading files that others put there: only regular ones, and only up to a limit, so that no file can keep a daemon waiting
//! or fill its memory.

use std::{
    fs::OpenOptions,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Not to wait for a writer of a FIFO; the same number on all processors of Linux that this product runs on.
const O_NONBLOCK: i32 = 0o4000;

/// All of a regular file.
///
/// # Errors
/// If it cannot be read, is no regular file, or has more than `most` bytes.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// All of a regular file, as text.
///
/// # Errors
/// As [`read_file`], and if it is no UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_file(path, most)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (text, fifo) = (dir.path().join("text"), dir.path().join("fifo"));
        std::fs::write(&text, "12345").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert_eq!(read_text(&text, 5).unwrap(), "12345");
        for (path, most, fault) in [
            (text.as_path(), 4, "more than 4 bytes"),
            (fifo.as_path(), 9, "no regular file"),
            (Path::new("/dev/zero"), 9, "no regular file"),
            (dir.path(), 9, "no regular file"),
        ] {
            let error = read_file(path, most).unwrap_err().to_string();
            assert!(error.contains(fault), "{}: {error}", path.display());
        }
    }
}
