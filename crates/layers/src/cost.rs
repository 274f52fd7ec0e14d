//! Layer 3: what it took. What does not hold warns.

use super::finding::Findings;

/// Warns if a trial used more than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Deserialize, schemars::JsonSchema)]
pub struct CostSpec {
    /// Maximum cost as a multiple of the baseline's cost. Below 1 it demands an improvement.
    pub max_cost_multiplier: Option<f64>,
    /// Maximum number of tokens, input and output together.
    #[schemars(range(max = 1_000_000_000_000_000_u64))]
    pub max_total_tokens: Option<u64>,
    /// Maximum number of requests to a model.
    #[schemars(range(max = 1_000_000_000_000_000_u64))]
    pub max_llm_calls: Option<u64>,
    /// Maximum duration in milliseconds.
    #[schemars(range(max = 1_000_000_000_000_000_u64))]
    pub max_latency_ms: Option<u64>,
    /// Maximum cost in USD.
    pub max_cost_usd: Option<f64>,
}

/// What was spent; unknown is none, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// USD.
    pub cost_usd: Option<f64>,
    /// Tokens in and out, cached ones included.
    pub total_tokens: Option<u64>,
    /// Requests to a model.
    pub llm_calls: Option<u64>,
    /// Milliseconds from start to end.
    pub latency_ms: Option<f64>,
    /// Whether more may have been spent than money and tokens tell.
    pub is_lower_bound: bool,
    /// Calls of tools by sub-agents that no event tells, where that is known.
    pub hidden_calls: Option<u64>,
}

/// A limit, what was spent of it, and whether that may have been more.
struct Limit {
    most: Option<f64>,
    actual: Option<f64>,
    may_be_more: bool,
    /// What else is told of it.
    beside: String,
}

/// Checks a bill; `baseline_usd` is what the baseline cost.
#[must_use]
pub fn cost(spec: &CostSpec, spent: &Spent, baseline_usd: Option<f64>) -> Findings {
    let mut findings = Findings::default();
    multiplier(spec, spent, baseline_usd, &mut findings);
    let certain = |most: Option<u64>, actual| Limit {
        most: most.map(of),
        actual,
        may_be_more: false,
        beside: String::new(),
    };
    let limits = [
        (
            "max_total_tokens",
            Limit {
                may_be_more: spent.is_lower_bound,
                ..certain(spec.max_total_tokens, spent.total_tokens.map(of))
            },
        ),
        (
            "max_llm_calls",
            certain(spec.max_llm_calls, spent.llm_calls.map(of)),
        ),
        (
            "max_latency_ms",
            certain(spec.max_latency_ms, spent.latency_ms),
        ),
        (
            "max_cost_usd",
            Limit {
                most: spec.max_cost_usd,
                actual: spent.cost_usd,
                may_be_more: spent.is_lower_bound,
                beside: String::new(),
            },
        ),
    ];
    for (check, limit) in limits {
        limit.check(check, &mut findings);
    }
    findings
}

fn multiplier(spec: &CostSpec, spent: &Spent, baseline: Option<f64>, findings: &mut Findings) {
    const CHECK: &str = "max_cost_multiplier";
    let Some(most) = spec.max_cost_multiplier else {
        return;
    };
    match baseline {
        None => findings.skip(CHECK, "no baseline whose cost is known"),
        Some(baseline) if baseline > 0.0 => Limit {
            most: Some(most),
            actual: spent.cost_usd.map(|actual| actual / baseline),
            may_be_more: spent.is_lower_bound,
            beside: format!(", the baseline cost {baseline} USD"),
        }
        .check(CHECK, findings),
        Some(_) => findings.skip(CHECK, "the baseline cost nothing"),
    }
}

impl Limit {
    fn check(&self, check: &'static str, findings: &mut Findings) {
        let Some(most) = self.most else {
            return;
        };
        let Some(actual) = self.actual.filter(|actual| actual.is_finite()) else {
            findings.skip(check, "it is not known");
            return;
        };
        let holds = actual <= most;
        if holds && self.may_be_more {
            let why = format!("at least {actual}: more was spent than is known");
            findings.skip(check, why);
            return;
        }
        findings.limit(
            check,
            holds,
            format!("{actual} of at most {most}{}", self.beside),
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "no trial has 2^53 tokens")]
const fn of(count: u64) -> f64 {
    count as f64
}
