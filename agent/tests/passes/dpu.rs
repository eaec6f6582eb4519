use std::{fs, path::Path};

use agent::{Agent, Settings};
use tempfile::TempDir;

use super::controller::{Controller, admin};

pub(crate) const ID: &str = "fm100ds0123456789abcdefghijklmnopqrstuv0123456789abcdefghij";

/// NVUE as far as an agent sees it: pending and applied configurations, each a file, and the one to go back to from a
/// trial. A file `on-<step>` is shell that runs before the step and may end the command. What it is a part of is a file too.
const NV: &str = r#"
cd "$1"; shift
[ "$1" = show ] && { echo "nv $*" >> probes; exec cat system.json; }
echo "nv $*" >> commands
revision() { r=$(($(cat revision 2>/dev/null || echo 0) + $1)); echo $r > revision; echo $r; }
put() { [ -f applied ] && cp applied former; mv pending applied; }
step=$2
case "$3" in --confirm-yes|--confirm-no) step=${3#--} ;; esac
[ -f "on-$step" ] && . "./on-$step"
case "$step $3" in
"replace "*) cp "$3" pending; echo "created [rev_id: $(revision 1)]" ;;
"diff empty") [ "$4" = applied ] && cat applied || cat pending ;;
"diff "*) if [ -f pending ] && ! cmp -s pending applied; then printf -- '- set:\n    changed: yes\n'; fi ;;
"apply --confirm") put; touch trial; echo "confirm [rev_id: $(revision 0)]" ;;
"apply "*) put; echo "applied [rev_id: $(revision 0)]" ;;
"confirm-yes "*) rm trial; echo "applied [rev_id: $(revision 0)]" ;;
"confirm-no "*) [ -f trial ] || { echo "Error: There is no configuration to confirm."; exit 1; }
    rm trial; mv former applied; echo "confirm_fail [rev_id: $(revision 0)]" ;;
"detach "*) rm -f pending ;;
"revision "*) [ -f pending ] && echo "{\"$(revision 0)\": {\"state\": \"pending\"}}" || echo '{}' ;;
*) echo "Error: $*"; exit 1 ;;
esac
"#;

const VTYSH: &str = r#"
cd "$1"; shift
echo "vtysh $*" >> probes
[ -f on-vtysh ] && . ./on-vtysh
cat bgp.json
"#;

/// A DHCP server: what it was last made to read.
const DHCP: &str = r#"
cd "$1"
echo "dhcp $2" >> commands
[ -f "on-dhcp-$2" ] && . "./on-dhcp-$2"
case "$2" in
reload) cp kea.conf served ;;
stop) rm -f served ;;
esac
"#;

/// One DPU in a directory.
pub(crate) struct Dpu {
    directory: TempDir,
    controller: String,
}

impl Dpu {
    pub(crate) fn new(controller: &str) -> Self {
        let dpu = Self { directory: tempfile::tempdir().unwrap(), controller: controller.to_owned() };
        for (name, script) in [("nv", NV), ("vtysh", VTYSH), ("dhcp", DHCP)] {
            dpu.write(name, script);
        }
        dpu.sessions(&[("p0_if", "Established"), ("p1_if", "Established")]);
        dpu
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path().join(name)).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path().join(name)).ok()
    }

    /// The commands run since the last look.
    pub(crate) fn commands(&self) -> Vec<String> {
        let all = self.read("commands").unwrap_or_default();
        self.write("commands", "");
        let name = self.path().display().to_string();
        all.lines().map(|line| line.replace(&name, "DPU")).collect()
    }

    /// BGP as FRR shows it: the same sessions in IPv4 and in EVPN.
    pub(crate) fn sessions(&self, sessions: &[(&str, &str)]) {
        let peers: Vec<String> =
            sessions.iter().map(|(name, state)| format!("{name:?}: {{\"state\": {state:?}}}")).collect();
        let table = format!("{{\"vrfName\": \"default\", \"peers\": {{{}}}, \"dynamicPeers\": 0}}", peers.join(", "));
        self.write("bgp.json", &format!("{{\"ipv4Unicast\": {table}, \"l2VpnEvpn\": {table}}}"));
    }

    pub(crate) fn settings_text(&self) -> String {
        let (controller, dpu) = (&self.controller, self.path().display());
        format!(
            r#"
            controller = "{controller}"
            machine_id = "{ID}"
            state_dir = "{dpu}/state"
            [rpc]
            connect_timeout_secs = 1
            call_timeout_secs = 1
            [period]
            loop_secs = 0.05
            post_config_check_secs = 0
            longest_backoff_secs = 0.05
            [hbn]
            nv = ["sh", "{dpu}/nv", "{dpu}"]
            vtysh = ["sh", "{dpu}/vtysh", "{dpu}"]
            command_timeout_secs = 1
            confirm_secs = 1
            nvue_file = "{dpu}/nvue.yaml"
            [dhcp]
            config_file = "{dpu}/kea.conf"
            check = ["sh", "{dpu}/dhcp", "{dpu}", "check"]
            reload = ["sh", "{dpu}/dhcp", "{dpu}", "reload"]
            stop = ["sh", "{dpu}/dhcp", "{dpu}", "stop"]
            nameservers = ["192.0.2.53"]
            provisioning_server = "192.0.2.54"
            "#
        )
    }

    /// An agent as a service manager would start it: nothing but the files of the one before.
    pub(crate) fn agent(&self) -> Agent {
        self.agent_with(|_| ())
    }

    pub(crate) fn agent_with(&self, change: impl FnOnce(&mut Settings)) -> Agent {
        let mut settings = Settings::parse(&self.settings_text()).unwrap();
        change(&mut settings);
        Agent::new(settings).unwrap()
    }
}

/// A DPU that runs V1: loopback address 192.0.2.11, host address 198.51.100.49.
pub(crate) async fn running() -> (Controller, Dpu, Agent) {
    let (controller, uri) = Controller::start().await;
    controller.says(admin(1, 11));
    let dpu = Dpu::new(&uri);
    let mut agent = dpu.agent();
    assert!(agent.pass().await.healthy);
    dpu.commands();
    (controller, dpu, agent)
}
