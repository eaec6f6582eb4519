//! A real file system that runs full: a small one in memory, for tests that run as root.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// A small file system in memory, mounted at a directory until this is dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

/// What takes all room on a disk until it is dropped.
#[derive(Debug)]
pub struct Ballast {
    path: PathBuf,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SmallDisk {
    /// Mounts one of this size, in the words of `mount`. None, and said so, where nothing can be mounted.
    ///
    /// # Panics
    /// If the directory cannot be made.
    #[must_use]
    pub fn mount(at: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(at).expect("a directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"]).arg(at);
        if !mount.status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: nothing can be mounted here");
            return None;
        }
        Some(Self(at.to_owned()))
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all room that there is, and what others free, until the answer is dropped.
    ///
    /// # Panics
    /// If nothing can be written at all.
    #[must_use]
    pub fn fill(&self) -> Ballast {
        let path = self.0.join("ballast");
        let mut file = File::create(&path).expect("a file");
        let mut take_all = move || while file.write(&[0; 4096]).is_ok_and(|written| written > 0) {};
        take_all();
        let end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&end);
        let thread = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                take_all();
                thread::sleep(Duration::from_millis(1));
            }
        });
        Ballast { path, end, thread: Some(thread) }
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
