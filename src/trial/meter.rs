//! What a trial has cost so far, as far as its stream tells: what a budget goes by while it runs.

use std::sync::Arc;

use crate::config::{AgentSpec, Suite};
use crate::metrics::PricedTokens;
use crate::model::{AgentEvent, CacheWrites, EventKind, Pricing};

/// Two amounts closer than this are one.
const NOTHING: f64 = 1e-9;

/// Counts the money of one trial.
#[derive(Debug)]
pub(super) struct Meter {
    suite: Arc<Suite>,
    agent: AgentSpec,
    pricing: Option<Pricing>,
    by_tokens: Option<f64>,
    told: Option<f64>,
    most: Option<f64>,
}

impl Meter {
    /// A meter for `agent`, whose model is `model` as far as its command line tells; it may spend `most` USD.
    pub(super) fn new(
        suite: &Arc<Suite>,
        (agent, model): (&AgentSpec, Option<&str>),
        most: Option<f64>,
    ) -> Self {
        let price = suite.price(agent, model);
        Self {
            suite: suite.clone(),
            agent: agent.clone(),
            pricing: price.map(|(pricing, _)| pricing),
            by_tokens: None,
            told: None,
            most,
        }
    }

    /// Takes an event in.
    pub(super) fn see(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::Started {
                model: Some(model), ..
            } => {
                let price = self.suite.price(&self.agent, Some(model));
                self.pricing = price.map(|(pricing, _)| pricing).or(self.pricing);
            }
            EventKind::UsageSeen(usage) => {
                let usd = self.pricing.and_then(|pricing| {
                    let writes = CacheWrites::default();
                    let tokens = PricedTokens {
                        usage: *usage,
                        writes,
                        pricing,
                    };
                    tokens.usd()
                });
                self.by_tokens = larger(self.by_tokens, usd);
            }
            EventKind::CostSeen(usd) if usd.is_finite() => {
                self.told = larger(self.told, Some(*usd));
            }
            _ => {}
        }
    }

    /// USD so far: what the agent's own count says, else what its tokens cost; the higher one where both are known.
    pub(super) fn spent(&self) -> Option<f64> {
        larger(self.told, self.by_tokens)
    }

    /// Whether all that the trial may spend is gone.
    pub(super) fn is_empty(&self) -> bool {
        let spent = self.spent().unwrap_or(0.0);
        self.most.is_some_and(|most| spent >= most - NOTHING)
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}
