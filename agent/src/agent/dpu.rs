//! What is known of the DPU, as a state machine without I/O. `agent` reports events to it: a plan with nothing to do, an
//! apply that succeeded or failed, a round of probes. It says what runs and what that means for the next pass.
//!
//! ```text
//!               applied                      failed, former proved │ applied
//!  Nothing ───────────────► Verified ◄──────────────────────────────────────── Unverified ◄── start with a marker
//!                              └──────────────────────────────────────────────────►┘
//!                                 failed, nothing proved │ HBN returned
//! ```

use std::time::{Duration, Instant};

use crate::{
    render::Expectations,
    state::{Marker, Runs, Versions},
};

/// What runs on the DPU, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Running {
    /// Nothing that an agent applied, or the record of it is lost.
    Nothing,
    /// What the marker says, unless something went wrong that nobody has checked yet. This is the state after a start, after
    /// HBN was away, and after a change of which NVUE proved neither success nor failure.
    Unverified(Marker),
    /// What the marker says: NVUE confirmed it, and nothing has happened since that could make it wrong.
    Verified(Marker),
}

impl Running {
    /// Whatever ran may have changed. The marker stays: it says what to verify.
    fn invalidated(self) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Unverified(marker) | Self::Verified(marker) => Self::Unverified(marker),
        }
    }

    /// What the marker says was proved. Without a marker there is nothing to prove.
    fn verified(self) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Unverified(marker) | Self::Verified(marker) => Self::Verified(marker),
        }
    }
}

/// HBN's answers, and whether the DHCP server listens on the interfaces that HBN has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hbn {
    /// HBN answers, and the DHCP server listens on its interfaces.
    Steady,
    /// HBN does not answer any more.
    Silent,
    /// HBN recreated its interfaces, since it came back or the DPU booted: the DHCP server has yet to look them up.
    Recreated,
    /// HBN does not answer any more, and the DHCP server has not looked up the interfaces from before that.
    SilentAgain,
}

impl Hbn {
    /// After a round of probes, in which HBN answered or not.
    fn probed(self, silent: bool) -> Self {
        match (self, silent) {
            (Self::Steady | Self::Silent, true) => Self::Silent,
            (Self::Recreated | Self::SilentAgain, true) => Self::SilentAgain,
            (Self::Steady, false) => Self::Steady,
            // It answers again: whatever restarted, its interfaces are new ones.
            (Self::Silent | Self::SilentAgain | Self::Recreated, false) => Self::Recreated,
        }
    }

    /// After an apply, which includes that the DHCP server looked up its interfaces.
    fn applied(self) -> Self {
        match self {
            Self::Steady | Self::Recreated => Self::Steady,
            Self::Silent | Self::SilentAgain => Self::Silent,
        }
    }

    fn is_silent(self) -> bool {
        matches!(self, Self::Silent | Self::SilentAgain)
    }
}

/// What a round of probes says about HBN, compared with the round before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contact {
    /// HBN answers as before.
    Steady,
    /// HBN does not answer: it may come back as another release.
    Lost,
    /// HBN answers again, and what it runs is uncertain.
    Returned,
}

/// What is known of the DPU.
pub(super) struct Dpu {
    running: Running,
    hbn: Hbn,
    /// When the configuration last changed; it has to settle before the DPU counts as healthy.
    changed: Option<Instant>,
    /// What a healthy DPU shows with what runs.
    expected: Expectations,
    /// Why the last try to change it failed.
    failure: Option<String>,
}

impl Dpu {
    /// At the start of an agent. `changed` is when the marker's change was made, if it may not have settled.
    pub(super) fn new(
        marker: Option<Marker>,
        same_boot: bool,
        changed: Option<Instant>,
        expected: Expectations,
    ) -> Self {
        let hbn = if same_boot { Hbn::Steady } else { Hbn::Recreated };
        Self { running: marker.map_or(Running::Nothing, Running::Unverified), hbn, changed, expected, failure: None }
    }

    /// The target runs already. Only a verified marker leads to such a plan, so nothing else changes.
    pub(super) fn at_target(&mut self, expected: &Expectations) {
        self.failure = None;
        self.expected = expected.clone();
    }

    /// The target was applied: any state → verified. A change of more than versions has to settle.
    pub(super) fn applied(&mut self, marker: Marker, changed: bool, expected: &Expectations, now: Instant) {
        if changed {
            self.changed = Some(now);
        }
        self.running = Running::Verified(marker);
        self.hbn = self.hbn.applied();
        self.at_target(expected);
    }

    /// The target could not be applied: → verified if the former configuration was proved to run, else → unverified. What
    /// the probes expect stays, and so do interfaces that the DHCP server has yet to look up.
    pub(super) fn failed(&mut self, former_runs: bool, reason: String) {
        self.change_running(if former_runs { Running::verified } else { Running::invalidated });
        self.failure = Some(reason);
    }

    /// A round of probes ended. When HBN returns, it may have come back without what it ran: → unverified.
    pub(super) fn probed(&mut self, hbn_is_silent: bool) -> Contact {
        let was_silent = self.hbn.is_silent();
        self.hbn = self.hbn.probed(hbn_is_silent);
        match (was_silent, hbn_is_silent) {
            (_, true) => Contact::Lost,
            (true, false) => {
                self.change_running(Running::invalidated);
                Contact::Returned
            }
            (false, false) => Contact::Steady,
        }
    }

    fn change_running(&mut self, change: fn(Running) -> Running) {
        self.running = change(std::mem::replace(&mut self.running, Running::Nothing));
    }

    /// The uplinks have these names in the present release of HBN. What runs may be of the release before.
    pub(super) fn rename_uplinks(&mut self, uplinks: Vec<String>) {
        if !self.expected.uplinks.is_empty() {
            self.expected.uplinks = uplinks;
        }
    }

    /// The marker, verified or not.
    pub(super) fn marker(&self) -> Option<&Marker> {
        match &self.running {
            Running::Nothing => None,
            Running::Unverified(marker) | Running::Verified(marker) => Some(marker),
        }
    }

    pub(super) fn is_verified(&self) -> bool {
        matches!(self.running, Running::Verified(_))
    }

    /// The versions that are known to run; none while that is uncertain, or while the DPU is isolated.
    pub(super) fn verified_versions(&self) -> Option<&Versions> {
        match &self.running {
            Running::Verified(marker) => marker.versions.as_ref(),
            Running::Nothing | Running::Unverified(_) => None,
        }
    }

    /// What runs, for people.
    pub(super) fn runs(&self) -> Runs {
        Runs::of(self.marker(), self.is_verified())
    }

    /// The DHCP server has yet to look up HBN's present interfaces.
    pub(super) fn interfaces_recreated(&self) -> bool {
        matches!(self.hbn, Hbn::Recreated | Hbn::SilentAgain)
    }

    pub(super) fn expected(&self) -> &Expectations {
        &self.expected
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// How long the last change has yet to settle at `now`, if it takes `wait` in all.
    pub(super) fn settles_in(&self, wait: Duration, now: Instant) -> Option<Duration> {
        let left = wait.checked_sub(now.saturating_duration_since(self.changed?))?;
        Some(left).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Digest;

    fn marker(version: &str) -> Marker {
        Marker {
            nvue: Digest::of(&[version.as_bytes()]),
            dhcp: None,
            versions: Some(Versions { managed_host: version.into(), ..Versions::default() }),
            expected: None,
            since: "2031-01-01T00:00:00Z".into(),
        }
    }

    fn dpu(marker: Option<Marker>, same_boot: bool) -> Dpu {
        Dpu::new(marker, same_boot, None, Expectations::default())
    }

    fn kind(dpu: &Dpu) -> &'static str {
        match dpu.running {
            Running::Nothing => "nothing",
            Running::Unverified(_) => "unverified",
            Running::Verified(_) => "verified",
        }
    }

    #[test]
    fn what_runs_follows_what_was_proved() {
        type Event = fn(&mut Dpu);
        let applied: Event = |dpu| dpu.applied(marker("V2"), true, &Expectations::default(), Instant::now());
        let refused: Event = |dpu| dpu.failed(true, "refused".into());
        let unclear: Event = |dpu| dpu.failed(false, "unclear".into());
        let returned: Event = |dpu| {
            assert_eq!((dpu.probed(true), dpu.probed(false)), (Contact::Lost, Contact::Returned));
        };
        let steady: Event = |dpu| assert_eq!(dpu.probed(false), Contact::Steady);
        for (case, start, events, end, version) in [
            ("start", None, &[][..], "nothing", None),
            ("first", None, &[applied][..], "verified", Some("V2")),
            ("a first that fails", None, &[unclear], "nothing", None),
            ("restart", Some("V1"), &[], "unverified", None),
            ("the former is proved", Some("V1"), &[refused], "verified", Some("V1")),
            ("unclear", Some("V1"), &[refused, unclear], "unverified", None),
            ("HBN was away", Some("V1"), &[applied, returned], "unverified", None),
            ("HBN was away at first", None, &[returned], "nothing", None),
            ("nothing happened", Some("V1"), &[applied, steady], "verified", Some("V2")),
        ] {
            let mut dpu = dpu(start.map(marker), true);
            events.iter().for_each(|event| event(&mut dpu));
            let known = dpu.verified_versions().map(|versions| versions.managed_host.as_str());
            assert_eq!((kind(&dpu), known), (end, version), "{case}");
        }
    }

    #[test]
    fn interfaces_are_recreated_until_an_apply() {
        // b: boot, s: HBN is silent, h: HBN is heard, a: an apply succeeds, f: one fails, which proves the former.
        for (events, recreated, silent) in [
            ("", false, false),
            ("b", true, false),
            ("ba", false, false),
            ("bf", true, false),
            ("s", false, true),
            ("sa", false, true),
            ("sh", true, false),
            ("sah", true, false),
            ("sha", false, false),
            ("bs", true, true),
            ("bsh", true, false),
            ("bsa", false, true),
            ("hh", false, false),
        ] {
            let mut dpu = dpu(Some(marker("V1")), !events.starts_with('b'));
            for event in events.chars() {
                match event {
                    's' => {
                        dpu.probed(true);
                    }
                    'h' => {
                        dpu.probed(false);
                    }
                    'a' => dpu.applied(marker("V2"), false, &Expectations::default(), Instant::now()),
                    'f' => dpu.failed(true, "refused".into()),
                    _ => (),
                }
            }
            assert_eq!((dpu.interfaces_recreated(), dpu.hbn.is_silent()), (recreated, silent), "{events}");
        }
    }

    #[test]
    fn a_change_settles_after_its_time_and_versions_alone_at_once() {
        let (wait, start) = (Duration::from_secs(30), Instant::now());
        let mut dpu = dpu(Some(marker("V1")), true);
        dpu.applied(marker("V2"), false, &Expectations::default(), start);
        assert_eq!(dpu.settles_in(wait, start), None);
        dpu.applied(marker("V3"), true, &Expectations::default(), start);
        for (after, left) in [(0, Some(30)), (29, Some(1)), (30, None), (31, None)] {
            let left = left.map(Duration::from_secs);
            assert_eq!(dpu.settles_in(wait, start + Duration::from_secs(after)), left, "{after}");
        }
    }
}
