use std::num::NonZeroU32;

use proto::forge::ManagedHostNetworkConfigResponse;

/// What the controller answered.
pub(crate) enum Answer {
    /// What this DPU is to run.
    Config(Box<ManagedHostNetworkConfigResponse>),
    /// The site does not know this DPU.
    NotFound,
    /// Anything else.
    Failed(Failure),
}

/// Why there is no answer that means anything.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// For people.
    pub(crate) reason: String,
    /// The controller itself answered, so it can be told something too.
    pub(crate) reachable: bool,
}

/// What an answer means for the DPU.
#[derive(Clone, PartialEq)]
pub(crate) enum Desired {
    /// Run this.
    Config(Box<ManagedHostNetworkConfigResponse>),
    /// The site does not know this DPU: cut the host off.
    Isolated,
    /// Keep what runs.
    KeepLast,
}

/// Counts `NotFound` answers in a row. Answers are counted, not passes, and any other answer ends the run: a site that
/// cannot be asked has not said that it does not know this DPU.
pub(crate) struct Isolation {
    after: NonZeroU32,
    run: u32,
}

impl Isolation {
    pub(crate) fn new(after: NonZeroU32) -> Self {
        Self { after, run: 0 }
    }

    pub(crate) fn judge(&mut self, answer: Answer) -> Desired {
        match answer {
            Answer::Config(response) => {
                self.run = 0;
                Desired::Config(response)
            }
            Answer::NotFound => {
                self.run = self.run.saturating_add(1);
                if self.run >= self.after.get() { Desired::Isolated } else { Desired::KeepLast }
            }
            Answer::Failed(_) => {
                self.run = 0;
                Desired::KeepLast
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter an answer (k: config, n: NotFound, e: another error) and what it means (K, I, -).
    fn meanings(after: u32, answers: &str) -> String {
        let mut isolation = Isolation::new(NonZeroU32::new(after).unwrap());
        answers
            .chars()
            .map(|letter| {
                let answer = match letter {
                    'k' => Answer::Config(Box::default()),
                    'n' => Answer::NotFound,
                    _ => Answer::Failed(Failure { reason: "Unavailable".into(), reachable: false }),
                };
                match isolation.judge(answer) {
                    Desired::Config(_) => 'K',
                    Desired::Isolated => 'I',
                    Desired::KeepLast => '-',
                }
            })
            .collect()
    }

    #[test]
    fn answers_in_a_row_isolate_and_any_other_answer_ends_the_run() {
        for (after, answers, wanted) in [
            (1, "kn", "KI"),
            (1, "keee", "K---"),
            (1, "nek", "I-K"),
            (2, "knk", "K-K"),
            // Only the second NotFound in a row counts, at t=80.
            (2, "knknenenn", "K-K-----I"),
            (3, "nnnn", "--II"),
        ] {
            assert_eq!(meanings(after, answers), wanted, "{after} {answers}");
        }
    }
}
