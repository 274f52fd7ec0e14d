//! `metrics.csv` and `summary.json`: the same bytes for the same records, in whatever order they came.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroU32;

use serde::Serialize;

use super::determinism::Determinism;
use super::figures::{Figures, precision, reciprocal_rank};
use super::ranked::Judged;
use super::table::{FIVE, TEN, Table};

/// A judge that was calibrated with fewer samples than this is not in the summary.
pub const LEAST_CALIBRATION: u64 = 100;

/// The columns of `metrics.csv`.
pub const COLUMNS: [&str; 11] = [
    "id",
    "p_at_5",
    "p_at_10",
    "ndcg_10",
    "mrr_10",
    "cov_entities",
    "p50_ms",
    "p95_ms",
    "errors",
    "retries",
    "privacy_leak",
];

impl Table {
    /// Writes `metrics.csv`: a row per query, sorted by id.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut rows = csv::Writer::from_writer(out);
        rows.write_record(COLUMNS)?;
        let groups = self
            .observations
            .chunk_by(|left, right| left.query == right.query);
        for (id, group) in self.ids.iter().zip(groups) {
            let row = Figures::of(group);
            let ratio = |value: Option<f64>| cell(value, 6);
            let ms = |q| cell(row.pooled_latency(q), 3);
            rows.write_record([
                id.clone(),
                ratio(row.typical_quality(precision(FIVE))),
                ratio(row.typical_quality(precision(TEN))),
                ratio(row.typical_quality(|it| it.ndcg(TEN))),
                ratio(row.typical_quality(reciprocal_rank(TEN))),
                ratio(row.typical(|it| it.coverage)),
                ms(0.5),
                ms(0.95),
                row.requests().errors.to_string(),
                row.retries().to_string(),
                ratio(row.leaks().rate()),
            ])?;
        }
        rows.flush()
    }

    /// The summary of all queries.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let all = Figures::of(&self.observations);
        let requests = all.requests();
        let leaks = all.leaks();
        Summary {
            version: "v0",
            quality: Quality {
                p_5: six(all.quality(precision(FIVE))),
                ndcg_10: six(all.quality(|it| it.ndcg(TEN))),
                mrr_10: six(all.quality(reciprocal_rank(TEN))),
            },
            operational: Operational {
                p50_ms: six(all.latency(0.5)),
                p95_ms: six(all.latency(0.95)),
                error_rate: six(requests.error_rate()),
            },
            privacy: Privacy {
                leak_rate: six(leaks.rate()),
            },
            extended: Extended {
                quality: self.extended_quality(&all),
                operational: self.extended_operational(&all),
                privacy: ExtendedPrivacy {
                    redaction_efficacy: six(leaks.redaction()),
                    block_efficacy: six(leaks.block()),
                    secure_field_bypass: six(all.bypassed()),
                },
                determinism: self.determinism(),
            },
        }
    }

    /// Whether the measurement can be repeated.
    #[must_use]
    pub fn determinism(&self) -> Determinism {
        self.frozen.judge(&self.observations)
    }

    /// Why groundedness is not in the summary though records have it.
    #[must_use]
    pub fn withheld(&self) -> Option<String> {
        let (_, fewest) = Figures::of(&self.observations).judges()?;
        (fewest < LEAST_CALIBRATION).then(|| {
            format!(
                "groundedness is withheld: calibration_n is {fewest} in some records, and a judge needs at least {LEAST_CALIBRATION} labelled samples"
            )
        })
    }

    fn extended_quality(&self, all: &Figures<'_>) -> ExtendedQuality {
        let mut further = BTreeMap::new();
        for k in self.cutoffs.iter().copied() {
            further.extend(at_cutoff(all, k));
        }
        let judges = all.judges().filter(|judges| judges.1 >= LEAST_CALIBRATION);
        ExtendedQuality {
            p_10: six(all.quality(precision(TEN))),
            recall_10: six(all.quality(|it| it.recall(TEN))),
            coverage_entities: six(all.mean(|it| it.coverage)),
            scored_queries: all.scored(),
            queries: self.ids.len() as u64,
            queries_without_results: self.without_results,
            groundedness: judges.map(|(models, fewest)| Groundedness {
                score: six(all.groundedness()),
                judge_models: models.into_iter().collect(),
                calibration_n: fewest,
            }),
            at: (!further.is_empty()).then_some(further),
        }
    }

    fn extended_operational(&self, all: &Figures<'_>) -> ExtendedOperational {
        let requests = all.requests();
        let reasons = all.reasons();
        let gauge = |of: Vec<f64>| match of.as_slice() {
            [median, max] => Some(Gauge {
                p50: six(Some(*median)),
                max: six(Some(*max)),
            }),
            _ => None,
        };
        ExtendedOperational {
            p99_ms: six(all.latency(0.99)),
            errors_per_1k: six(requests.error_rate().map(|rate| rate * 1000.0)),
            requests: requests.counted,
            errors: requests.errors,
            client_aborts: requests.aborts,
            timeout_fraction: six(all.late()),
            retries: all.retries(),
            retried_requests: reasons.values().sum(),
            by_reason: reasons
                .into_iter()
                .map(|(reason, count)| (self.reasons[reason as usize].clone(), count))
                .collect(),
            tool_success_rate: six(all.tool_success()),
            cpu_pct: gauge(all.gauge(|it| it.cpu_pct)),
            rss_mb: gauge(all.gauge(|it| it.rss_mb)),
        }
    }
}

/// All ranked metrics at a further cutoff.
fn at_cutoff(all: &Figures<'_>, k: NonZeroU32) -> [(String, Option<f64>); 4] {
    let value = |of: &dyn Fn(&Judged) -> Option<f64>| six(all.quality(of));
    [
        (format!("p@{k}"), value(&precision(k))),
        (format!("recall@{k}"), value(&|it| it.recall(k))),
        (format!("ndcg@{k}"), value(&|it| it.ndcg(k))),
        (format!("mrr@{k}"), value(&reciprocal_rank(k))),
    ]
}

/// A number with so many decimals (no figure is negative); the empty text for none.
fn cell(value: Option<f64>, decimals: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.decimals$}"))
}

/// A number with six decimals, as the summary has them.
pub(super) fn six(value: Option<f64>) -> Option<f64> {
    value.map(|value| format!("{value:.6}").parse().unwrap_or(value))
}

/// `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    version: &'static str,
    quality: Quality,
    operational: Operational,
    privacy: Privacy,
    extended: Extended,
}

impl Summary {
    /// The text of `summary.json`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        format!("{text}\n")
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Quality {
    #[serde(rename = "p@5")]
    p_5: Option<f64>,
    #[serde(rename = "ndcg@10")]
    ndcg_10: Option<f64>,
    #[serde(rename = "mrr@10")]
    mrr_10: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Operational {
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    error_rate: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Privacy {
    leak_rate: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Extended {
    quality: ExtendedQuality,
    operational: ExtendedOperational,
    privacy: ExtendedPrivacy,
    determinism: Determinism,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ExtendedQuality {
    #[serde(rename = "p@10")]
    p_10: Option<f64>,
    #[serde(rename = "recall@10")]
    recall_10: Option<f64>,
    coverage_entities: Option<f64>,
    scored_queries: u64,
    queries: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    queries_without_results: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groundedness: Option<Groundedness>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<BTreeMap<String, Option<f64>>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Groundedness {
    score: Option<f64>,
    judge_models: Vec<String>,
    calibration_n: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ExtendedOperational {
    p99_ms: Option<f64>,
    errors_per_1k: Option<f64>,
    requests: u64,
    errors: u64,
    client_aborts: u64,
    timeout_fraction: Option<f64>,
    retries: u64,
    retried_requests: u64,
    by_reason: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_success_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_pct: Option<Gauge>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rss_mb: Option<Gauge>,
}

/// A gauge over all records.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Gauge {
    p50: Option<f64>,
    max: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ExtendedPrivacy {
    redaction_efficacy: Option<f64>,
    block_efficacy: Option<f64>,
    secure_field_bypass: Option<f64>,
}
