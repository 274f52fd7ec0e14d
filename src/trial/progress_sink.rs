//! Tells whoever watches a run, without the secrets that the run knows: what is told is printed, and may be kept by others.

use tokio::sync::mpsc::UnboundedSender;

use proctor_model::{Progress, TrialKey, TrialOutcome};
use proctor_record::Redactor;

/// Tells the one stream of progress; a listener that has gone is no error.
#[derive(Debug, Clone)]
pub struct ProgressSink {
    sender: UnboundedSender<Progress>,
    answers: Option<UnboundedSender<TrialKey>>,
    redactor: Redactor,
}

impl ProgressSink {
    /// A teller that speaks into `sender`, and leaves out what `redactor` knows.
    #[must_use]
    pub fn new(sender: UnboundedSender<Progress>, redactor: Redactor) -> Self {
        Self {
            sender,
            answers: None,
            redactor,
        }
    }

    /// The same, and `answers` hears of each trial whose model has answered for the first time.
    #[must_use]
    pub fn with_answers(self, answers: UnboundedSender<TrialKey>) -> Self {
        Self {
            answers: Some(answers),
            ..self
        }
    }

    /// Tells that the model of a trial has answered.
    pub fn answered(&self, key: &TrialKey) {
        if let Some(answers) = &self.answers {
            drop(answers.send(key.clone()));
        }
    }

    /// Tells one step.
    pub fn tell(&self, mut progress: Progress) {
        if !self.redactor.is_empty() {
            match &mut progress {
                Progress::TrialActivity { text, .. }
                | Progress::Notice { text }
                | Progress::Warning { text } => {
                    self.hide_in(text);
                }
                Progress::TrialFinished { outcome, .. } => self.hide_in_outcome(outcome),
                _ => {}
            }
        }
        // Whoever listened may be gone (a console that was closed); the run goes on.
        drop(self.sender.send(progress));
    }

    /// What an agent or a grader had a say in.
    fn hide_in_outcome(&self, outcome: &mut TrialOutcome) {
        let reason = outcome.failure_reason.iter_mut();
        let judges = outcome.layers.iter_mut().flat_map(|it| {
            let findings = it.findings.iter_mut();
            findings.chain(it.judges.iter_mut())
        });
        let texts = reason.chain(outcome.notes.iter_mut()).chain(judges);
        for text in texts {
            self.hide_in(text);
        }
        let hide = |text: &str| self.redactor.redact(text).into_owned();
        outcome.integrity.map_texts(hide);
    }

    fn hide_in(&self, text: &mut String) {
        if let std::borrow::Cow::Owned(safe) = self.redactor.redact(text) {
            *text = safe;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[test]
    fn what_is_told_holds_no_secret() {
        let mut redactor = Redactor::default();
        redactor.add("MY_API_KEY", "sk-live-Zz99Yy88Xx77");
        let (sender, mut told) = unbounded_channel();
        let teller = ProgressSink::new(sender, redactor);
        let text = "forbidden_added:tests/sk-live-Zz99Yy88Xx77".to_owned();
        teller.tell(Progress::Notice { text });
        let Ok(Progress::Notice { text }) = told.try_recv() else {
            panic!("nothing was told")
        };
        assert_eq!(text, "forbidden_added:tests/[redacted:MY_API_KEY]");
    }
}
