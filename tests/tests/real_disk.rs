//! An agent whose state directory is a real file system that runs full.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests, which end by panicking")]

use std::{
    fs,
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

use proto::forge::{DpuNetworkStatus, FlatInterfaceConfig, ManagedHostNetworkConfigResponse};
use testbed::{
    Binaries,
    real::{AgentProcess, AgentSetup, Lab, Part, ScriptedController, admin_answer, missing},
};

const REPORTED: Duration = Duration::from_secs(20);

/// A file system of 256 KiB in memory, mounted at a directory until this is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Self {
        fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        let done = mount.args(["-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs"]).arg(at).status().unwrap();
        assert!(done.success(), "mount: {done}");
        Self(at.to_owned())
    }

    /// Takes all room that there is, and what others free, until the answer is dropped.
    fn full(&self) -> Ballast {
        let path = self.0.join("ballast");
        let mut file = fs::File::create(&path).unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&end);
        let mut take_all = move || {
            while file.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
        };
        take_all();
        let thread = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                take_all();
                thread::sleep(Duration::from_millis(1));
            }
        });
        Ballast { path, end, thread: Some(thread) }
    }
}

struct Ballast {
    path: PathBuf,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
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

fn admin(version: u64, vlan_id: u32) -> ManagedHostNetworkConfigResponse {
    let port = FlatInterfaceConfig {
        vlan_id,
        vni: 1_025_014,
        vpc_vni: 42,
        gateway: "192.168.97.1/24".into(),
        ip: "192.168.97.49".into(),
        interface_prefix: "192.168.97.49/32".into(),
        prefix: "192.168.97.0/24".into(),
        is_l2_segment: true,
        ..FlatInterfaceConfig::default()
    };
    admin_answer(version, port)
}

fn acknowledges(report: Option<&DpuNetworkStatus>, version: &str) -> bool {
    report.is_some_and(|report| {
        report.network_config_version.as_deref() == Some(version) && report.network_config_error.is_none()
    })
}

#[test]
fn needs_root_a_full_disk_is_told_and_lasts_no_longer_than_it_is_full() {
    if missing(&[Part::Namespaces]) {
        return;
    }
    let lab = Lab::new(&[]);
    let controller = ScriptedController::start();
    let setup = AgentSetup { controller: controller.url(), ..AgentSetup::default() };
    let mut agent = AgentProcess::new(&lab, &Binaries::ready(false).unwrap(), &setup);
    let disk = SmallDisk::mount(&lab.path().join("agent/state"));
    controller.wants(admin(1, 14));
    agent.start();
    let report = |what: &str, wanted: &dyn Fn(Option<&DpuNetworkStatus>) -> bool| {
        controller.wait_for_report(what, REPORTED, |report| {
            if wanted(report) { Ok(()) } else { Err(format!("{report:?}\nthe agent says:\n{}", agent.log())) }
        })
    };
    report("V1", &|report| acknowledges(report, "V1-T1733950583707475"));

    let ballast = disk.full();
    controller.wants(admin(2, 15));
    let full = report("the full disk", &|report| {
        report.is_some_and(|report| report.network_config_error.as_ref().is_some_and(|why| why.contains("No space")))
    });
    let acknowledged = full.network_config_version.as_deref();
    assert_ne!(acknowledged, Some("V2-T1733950583707475"), "what cannot be recorded is not acknowledged");

    drop(ballast);
    report("V2", &|report| acknowledges(report, "V2-T1733950583707475"));
    let kept = fs::read(disk.0.join("intent.pb")).unwrap();
    assert!(kept.windows(20).any(|text| text == b"V2-T1733950583707475"), "a restart goes on with the second version");
}
