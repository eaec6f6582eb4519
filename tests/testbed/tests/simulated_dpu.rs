//! The stand-ins behave as NVUE, FRR and the supervisor do, in their words.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use testbed::{DpuDir, Fault, FaultKind, Revisions, Scenario, Services, Step};

const UNDERLAY: &str = "\
- header: {model: VX}
- set:
    interface:
      lo: {type: loopback, ip: {address: {10.1.0.1/32: {}}}}
      p0_if,p1_if: {type: swp}
    router: {bgp: {autonomous-system: 65000, router-id: 10.1.0.1, enable: on}}
    vrf:
      default:
        router:
          bgp:
            enable: on
            neighbor:
              p0_if: {peer-group: underlay, type: unnumbered}
              p1_if: {peer-group: underlay, type: unnumbered}
              10.2.0.9: {peer-group: routeserver, type: numbered}
              10.3.0.11: {peer-group: underlay, type: numbered, passive-mode: on}
            peer-group:
              underlay: {remote-as: external}
              routeserver:
                remote-as: external
                update-source: lo
                address-family: {ipv4-unicast: {enable: off}, l2vpn-evpn: {enable: on}}
";

struct Dpu {
    _temporary: tempfile::TempDir,
    dir: DpuDir,
}

impl Dpu {
    fn new() -> Result<Self> {
        let temporary = tempfile::tempdir()?;
        Ok(Self { dir: DpuDir::at(temporary.path().join("dpu"))?, _temporary: temporary })
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<Said> {
        let output = Command::new(program)
            .args(arguments)
            .env(testbed::DPU_DIR, self.dir.path())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("run {program}"))?;
        Said::of(output)
    }

    fn nv(&self, line: &str) -> Result<Said> {
        self.run(env!("CARGO_BIN_EXE_nv"), &line.split(' ').collect::<Vec<_>>())
    }

    fn vtysh(&self, command: &str) -> Result<Said> {
        self.run(env!("CARGO_BIN_EXE_vtysh"), &["-c", command])
    }

    fn file(&self, text: &str) -> Result<String> {
        let path = self.dir.join("startup.yaml");
        fs::write(&path, text)?;
        Ok(path.display().to_string())
    }

    fn replace(&self, text: &str) -> Result<Said> {
        self.nv(&format!("config replace {}", self.file(text)?))
    }

    fn fails(&self, on: Step, kind: FaultKind) -> Result<()> {
        let mut scenario = Scenario::default();
        scenario.nv.faults.push(Fault { on, kind, times: Some(1), reason: None, secs: 0.0 });
        self.dir.set_scenario(&scenario)
    }

    fn peers(&self) -> Result<Vec<String>> {
        let running = Revisions::open(&self.dir)?.running()?;
        Ok(running.entries(&["vrf", "default", "router", "bgp", "neighbor"]).map(|(peer, _)| peer.to_owned()).collect())
    }
}

#[derive(Debug)]
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Said {
    fn of(output: Output) -> Result<Self> {
        Ok(Self {
            code: output.status.code().context("killed")?,
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }
}

#[test]
fn a_configuration_is_replaced_compared_and_applied() -> Result<()> {
    let dpu = Dpu::new()?;
    assert_eq!(dpu.replace(UNDERLAY)?.stdout, "created [rev_id: 2]\n");
    let diff = dpu.nv("config diff")?.stdout;
    assert!(diff.starts_with("- set:\n") && diff.contains("autonomous-system: 65000"), "{diff}");
    assert_eq!(dpu.peers()?, [""; 0], "a pending revision runs nothing");
    assert_eq!(dpu.nv("config apply -y")?.stdout, "applied_and_saved [rev_id: 2]\n");
    assert_eq!(dpu.peers()?, ["10.2.0.9", "10.3.0.11", "p0_if", "p1_if"]);

    dpu.replace(&UNDERLAY.replace("65000", "65000 # the same"))?;
    assert_eq!(dpu.nv("config diff")?.stdout, "", "the same content in another file is no difference");
    dpu.nv("config detach")?;
    let history = dpu.nv("config history")?.stdout;
    assert!(history.contains("\n2                     applied_and_saved"), "{history}");
    let shown = dpu.nv("config show --applied")?.stdout;
    assert!(shown.starts_with("- header:\n") && shown.contains("version: HBN 3.2.0"), "{shown}");
    Ok(())
}

/// The known system renders one reference to nothing: a tenant peer on the admin network, whose group is not there.
const FAULTY_FIXTURE: (&str, &str) = (
    "full_nvue_startup_etv.expected.yaml",
    "Invalid config [rev_id: 2]\n  Config invalid at vrf.default.router.bgp.neighbor.10.255.255.3.peer-group: \
     'tenant' is not defined in router.bgp.peer-group\n",
);

#[test]
fn configurations_of_others_are_accepted_but_the_one_with_a_known_fault() -> Result<()> {
    let mut count = 0;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    for entry in fs::read_dir(fixtures.join("nvue"))?.chain(fs::read_dir(fixtures.join("nvue_hbn"))?) {
        let path: PathBuf = entry?.path();
        let name = path.to_string_lossy();
        if name.ends_with(".expected.yaml") || (name.contains("nvue_hbn") && name.ends_with(".yaml")) {
            let dpu = Dpu::new()?;
            let created = dpu.nv(&format!("config replace {}", path.display()))?;
            let applied = dpu.nv("config apply -y")?;
            let expected =
                if path.ends_with(FAULTY_FIXTURE.0) { FAULTY_FIXTURE.1 } else { "applied_and_saved [rev_id: 2]\n" };
            assert_eq!(applied.stdout, expected, "{}: {created:?}", path.display());
            count += 1;
        }
    }
    assert!(count > 20, "only {count} fixtures");
    Ok(())
}

#[test]
fn a_file_that_is_no_configuration_is_refused_before_anything_changes() -> Result<()> {
    for (text, complaint) in [
        ("- set:\n    vrf:\n", "Error: 'set' operation values must not be 'null'.\n"),
        ("- set:\n    vrf: {}\n    vrf: {}\n", "duplicate"),
    ] {
        let dpu = Dpu::new()?;
        let said = dpu.replace(text)?;
        assert!(said.code == 1 && said.stderr.contains(complaint), "{said:?}");
        assert_eq!(dpu.nv("config apply -y")?.stdout, "no config diff\n");
    }
    Ok(())
}

#[test]
fn a_reference_to_nothing_is_refused_on_apply() -> Result<()> {
    let dpu = Dpu::new()?;
    dpu.replace(&UNDERLAY.replace("p1_if: {peer-group: underlay", "p1_if: {peer-group: overlay"))?;
    let said = dpu.nv("config apply -y")?;
    let reason = "vrf.default.router.bgp.neighbor.p1_if.peer-group: 'overlay' is not defined";
    assert!(said.code == 1 && said.stdout.starts_with("Invalid config [rev_id: 2]\n  Config invalid at "), "{said:?}");
    assert!(said.stdout.contains(reason), "{said:?}");
    assert_eq!(dpu.peers()?, [""; 0]);
    Ok(())
}

#[test]
fn faults_strike_as_often_as_the_scenario_says_and_in_the_right_words() -> Result<()> {
    for (kind, code, words, runs) in [
        (FaultKind::Refuse, 1, "Invalid config [rev_id: 2]\n", 0),
        (FaultKind::ExitZeroError, 0, "Invalid config [rev_id: 2]\n", 0),
        (FaultKind::NvuedDown, 1, "Error: Could not connect to nvued.\n", 0),
        (FaultKind::DiesUnapplied, 1, "reloadingError: Could not connect to nvued.\n", 0),
        (FaultKind::DiesApplied, 1, "reloadingError: Could not connect to nvued.\n", 4),
        (FaultKind::FailsApplied, 1, "Unrecoverable internal error\n", 4),
        (FaultKind::HalfApplied, 1, "Failed to apply [rev_id: 2]\n", 0),
    ] {
        let dpu = Dpu::new()?;
        dpu.replace(UNDERLAY)?;
        dpu.fails(Step::Apply, kind)?;
        let said = dpu.nv("config apply -y")?;
        assert!(said.code == code && said.stdout.starts_with(words), "{kind:?}: {said:?}");
        assert_eq!(dpu.peers()?.len(), runs, "{kind:?}");
        dpu.replace(UNDERLAY)?;
        let again = dpu.nv("config apply -y")?.stdout;
        assert!(again.starts_with("applied_and_saved") || runs > 0, "{kind:?}: {again}");
        assert_eq!(dpu.peers()?.len(), 4, "{kind:?}");
    }
    Ok(())
}

#[test]
fn a_half_applied_configuration_runs_in_part_and_is_not_called_applied() -> Result<()> {
    let dpu = Dpu::new()?;
    dpu.replace(UNDERLAY)?;
    dpu.fails(Step::Apply, FaultKind::HalfApplied)?;
    dpu.nv("config apply -y")?;
    let revisions = Revisions::open(&dpu.dir)?;
    assert!(revisions.running()?.at(&["interface", "p0_if"]).is_some());
    assert!(revisions.running()?.at(&["vrf"]).is_none());
    assert_eq!(revisions.applied(), 1);
    assert!(dpu.nv("config diff")?.stdout.contains("p0_if"));
    Ok(())
}

#[test]
fn apply_asks_only_without_yes_and_takes_no_input_as_no() -> Result<()> {
    let dpu = Dpu::new()?;
    dpu.replace(UNDERLAY)?;
    let mut scenario = Scenario::default();
    scenario.nv.warning = Some("current hostname `dpu-7` will be replaced with `dpu-9`".into());
    dpu.dir.set_scenario(&scenario)?;
    let said = dpu.nv("config apply")?;
    assert!(said.code == 1 && said.stdout.ends_with("\n\nAre you sure? [y/N] "), "{said:?}");
    assert_eq!(dpu.peers()?.len(), 0);
    let said = dpu.nv("config apply -y")?.stdout;
    assert!(
        said.starts_with("Warning: current hostname") && said.ends_with("\n\napplied_and_saved [rev_id: 2]\n"),
        "{said}"
    );
    Ok(())
}

#[test]
fn a_trial_is_rolled_back_unless_it_is_confirmed() -> Result<()> {
    let dpu = Dpu::new()?;
    dpu.replace(UNDERLAY)?;
    assert_eq!(dpu.nv("config apply -y --confirm 0.4s")?.stdout, "confirm [rev_id: 2]\n");
    assert_eq!(dpu.peers()?.len(), 4, "a trial runs");
    thread::sleep(Duration::from_millis(500));
    assert_eq!(dpu.peers()?.len(), 0, "nobody confirmed it");
    assert_eq!(dpu.nv("config apply --confirm-yes")?.stdout, "Error: There is no configuration to confirm.\n");

    dpu.replace(UNDERLAY)?;
    dpu.nv("config apply -y --confirm 30s")?;
    assert_eq!(dpu.nv("config apply --confirm-yes")?.stdout, "applied_and_saved [rev_id: 3]\n");
    assert_eq!(dpu.peers()?.len(), 4);

    // Either may be done without saying so.
    for (step, option, runs) in [(Step::Confirm, "--confirm-yes", 4), (Step::RollBack, "--confirm-no", 0)] {
        let dpu = Dpu::new()?;
        dpu.replace(UNDERLAY)?;
        dpu.nv("config apply -y --confirm 30s")?;
        dpu.fails(step, FaultKind::FailsApplied)?;
        assert_eq!(dpu.nv(&format!("config apply {option}"))?.stdout, "Unrecoverable internal error\n");
        assert_eq!(dpu.nv("config apply --confirm-yes")?.stdout, "Error: There is no configuration to confirm.\n");
        assert_eq!(dpu.peers()?.len(), runs, "{option}");
    }
    Ok(())
}

#[test]
fn a_masked_secret_shows_in_every_diff() -> Result<()> {
    let dpu = Dpu::new()?;
    dpu.replace(UNDERLAY)?;
    dpu.nv("config apply -y")?;
    let mut scenario = Scenario::default();
    scenario.nv.masked_secret = true;
    dpu.dir.set_scenario(&scenario)?;
    dpu.replace(UNDERLAY)?;
    let diff = "- set:\n    system:\n      aaa:\n        user:\n          agent:\n            hashed-password: '*'\n";
    assert_eq!(dpu.nv("config diff")?.stdout, diff);
    Ok(())
}

#[test]
fn sessions_follow_from_what_runs() -> Result<()> {
    let dpu = Dpu::new()?;
    assert_eq!(dpu.vtysh("show bgp summary json")?.stdout, "{}\n");
    assert_eq!(dpu.vtysh("show bgp summary")?.stdout, "% BGP instance not found\n");
    dpu.replace(UNDERLAY)?;
    assert_eq!(dpu.vtysh("show bgp summary json")?.stdout, "{}\n", "a pending configuration has no sessions");
    dpu.nv("config apply -y")?;

    let summary: serde_json::Value = serde_json::from_str(&dpu.vtysh("show bgp summary json")?.stdout)?;
    for (family, peer, state) in [
        ("ipv4Unicast", "p0_if", "Established"),
        ("ipv4Unicast", "p1_if", "Established"),
        ("ipv4Unicast", "10.3.0.11", "Active"),
        ("l2VpnEvpn", "10.2.0.9", "Established"),
    ] {
        assert_eq!(summary[family]["peers"][peer]["state"], state, "{family} {peer}: {summary}");
    }
    assert_eq!((&summary["ipv4Unicast"]["totalPeers"], &summary["ipv4Unicast"]["failedPeers"]), (&3.into(), &1.into()));
    assert_eq!(summary["l2VpnEvpn"]["totalPeers"], 1);
    assert_eq!(summary["ipv4Unicast"]["peers"]["10.3.0.11"]["peerUptime"], "never");
    let table = dpu.vtysh("show bgp summary")?.stdout;
    assert!(table.contains("\ntor-0(p0_if)    4      65001 "), "{table}");
    Ok(())
}

#[test]
fn a_peer_goes_down_and_comes_back_as_the_scenario_says() -> Result<()> {
    let dpu = Dpu::new()?;
    dpu.replace(UNDERLAY)?;
    dpu.nv("config apply -y")?;
    let p0 = || -> Result<serde_json::Value> {
        let summary: serde_json::Value = serde_json::from_str(&dpu.vtysh("show bgp summary json")?.stdout)?;
        Ok(summary["ipv4Unicast"]["peers"]["p0_if"].clone())
    };
    assert_eq!(p0()?["connectionsDropped"], 0);
    let mut scenario = Scenario::default();
    scenario.bgp.peers.insert("p0_if".into(), "Active".into());
    dpu.dir.set_scenario(&scenario)?;
    assert_eq!((&p0()?["state"], &p0()?["connectionsDropped"]), (&"Active".into(), &1.into()));
    dpu.dir.set_scenario(&Scenario::default())?;
    assert_eq!((&p0()?["state"], &p0()?["connectionsEstablished"]), (&"Established".into(), &2.into()));
    Ok(())
}

#[test]
fn a_dead_daemon_leaves_standard_output_empty() -> Result<()> {
    for (daemon, stderr) in [
        (testbed::Daemon::BgpdDown, "bgpd is not running\n"),
        (testbed::Daemon::AllDown, "Exiting: failed to connect to any daemons.\n"),
    ] {
        let dpu = Dpu::new()?;
        let mut scenario = Scenario::default();
        scenario.bgp.daemon = daemon;
        dpu.dir.set_scenario(&scenario)?;
        let said = dpu.vtysh("show bgp summary json")?;
        assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (1, "", stderr));
    }
    Ok(())
}

#[test]
fn the_supervisor_starts_dhcp_only_with_a_configuration() -> Result<()> {
    let dpu = Dpu::new()?;
    let supervisorctl = |line: &str| dpu.run(env!("CARGO_BIN_EXE_supervisorctl"), &line.split(' ').collect::<Vec<_>>());
    let said = supervisorctl("restart kea-dhcp4")?;
    assert_eq!((said.code, said.stdout.as_str()), (1, "kea-dhcp4: ERROR (spawn error)\n"));
    fs::write(dpu.dir.join("kea-dhcp4.conf"), "{}")?;
    assert_eq!(supervisorctl("restart kea-dhcp4")?.stdout, "kea-dhcp4: ERROR (not running)\nkea-dhcp4: started\n");
    assert!(Services::of(&dpu.dir)?.dhcp_runs());
    let status = supervisorctl("status kea-dhcp4")?;
    assert!(
        status.code == 0 && status.stdout.starts_with("kea-dhcp4                        RUNNING   pid "),
        "{status:?}"
    );
    assert_eq!(supervisorctl("stop kea-dhcp4")?.stdout, "kea-dhcp4: stopped\n");
    assert_eq!(supervisorctl("status")?.code, 3, "something is stopped");
    assert!(!Services::of(&dpu.dir)?.dhcp_runs() && !dpu.dir.join("kea-dhcp4.running").exists());
    Ok(())
}

#[test]
fn every_command_is_noted_in_the_journal() -> Result<()> {
    let dpu = Dpu::new()?;
    dpu.nv("config diff")?;
    dpu.vtysh("show bgp summary json")?;
    let commands: Vec<_> = dpu.dir.journal()?.into_iter().map(|(_, command)| command).collect();
    assert_eq!(commands, ["nv config diff", "vtysh -c show bgp summary json"]);
    Ok(())
}
