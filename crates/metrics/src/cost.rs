//! What a trial cost: what the provider charged, and what it would have without a cache.

use proctor_model::{CacheWrites, Cost, CostSource, Pricing, Usage, is_amount};

/// Costs that somebody else has worked out, in USD.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KnownCost {
    /// By the provider's own client.
    pub provider_usd: Option<f64>,
    /// By ccusage on the trial's own session files.
    pub ccusage_usd: Option<f64>,
    /// By our prices, from the tokens of these files.
    pub session_usd: Option<f64>,
    /// Whether the tokens of the stream are not all: the final figures never came.
    pub tokens_are_lower_bound: bool,
    /// Whether the provider's client tells the cost of these tokens alone.
    pub provider_is_lower_bound: bool,
}

/// Tokens with their price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PricedTokens {
    /// The tokens.
    pub usage: Usage,
    /// Written ones by their time to live.
    pub writes: CacheWrites,
    /// Their price.
    pub pricing: Pricing,
}

impl PricedTokens {
    /// What they cost, in USD; nothing where that is no amount.
    #[must_use]
    pub fn usd(&self) -> Option<f64> {
        amount(computed(&self.usage, self.writes, &self.pricing))
    }
}

/// What tokens of several models cost together, in USD: unknown where there are none, or where one is unknown.
#[must_use]
pub fn priced_usd(parts: &[PricedTokens]) -> Option<f64> {
    total(parts, PricedTokens::usd)
}

/// Two sources that differ by more than this share of the higher one do not agree.
const TOLERANCE: f64 = 0.02;
/// Nor does anybody care about less than this, in USD.
const TRIFLE: f64 = 0.000_1;

/// The cost of a trial. Billed is the provider's figure, else ccusage's, else computed from the stream's tokens, else from
/// those of the session files; where the provider's figure is known to lack something, it is the highest of these. `parts` are the tokens with their prices, none where one has no price. What cannot be
/// known, or is no finite number, is absent.
///
/// - computed = uncached x in + read x in x read multiplier + written x in x write multiplier + out x out, where the
///   multiplier of written tokens is that of 5 minutes but for the share that `writes` says live one hour
/// - cold equivalent = (uncached + read + written) x in + out x out
/// - savings = cold equivalent - billed; read rate = read / (uncached + read)
#[must_use]
pub fn cost(usage: Option<&Usage>, parts: &[PricedTokens], known: KnownCost) -> Cost {
    let computed_usd = priced_usd(parts);
    let cold = total(parts, |part| amount(cold(&part.usage, &part.pricing)));
    let provider_usd = known.provider_usd.and_then(amount);
    let ccusage_usd = known.ccusage_usd.and_then(amount);
    let session_usd = known.session_usd.and_then(amount);
    let by = |source, usd: Option<f64>| usd.map(|usd| (usd, source));
    let sources = [
        by(CostSource::Provider, provider_usd),
        by(CostSource::Ccusage, ccusage_usd),
        by(CostSource::Computed, computed_usd),
        by(CostSource::Computed, session_usd),
    ];
    let mut sources = sources.into_iter().flatten();
    let billed = if known.provider_is_lower_bound {
        sources.reduce(|most, next| if next.0 > most.0 { next } else { most })
    } else {
        sources.next()
    };
    let savings = cold.zip(billed).map(|(cold, (billed, _))| cold - billed);
    let lower_bound = known.tokens_are_lower_bound;
    // What is known to lack something is expected to be less.
    let told = |usd: &f64| {
        let lacks_less = known.provider_is_lower_bound && provider_usd < Some(*usd);
        !lower_bound || lacks_less
    };
    Cost {
        billed_usd: billed.map(|(usd, _)| usd),
        source: billed.map(|(_, source)| source),
        cold_equivalent_usd: cold,
        cache_savings_usd: savings.filter(|usd| is_amount(usd.abs())),
        cache_read_rate: usage.and_then(read_rate),
        provider_usd,
        ccusage_usd,
        session_usd,
        computed_usd,
        price: None,
        flags: disagreements(&[
            ("provider", provider_usd),
            ("ccusage", ccusage_usd),
            ("session", session_usd.filter(told)),
            ("computed", computed_usd.filter(told)),
        ]),
        is_lower_bound: billed.is_some_and(|(_, source)| match source {
            CostSource::Provider => known.provider_is_lower_bound,
            // Session files lack what the stream lacks: what was open when the agent was stopped.
            CostSource::Ccusage | CostSource::Computed => {
                lower_bound || known.provider_is_lower_bound
            }
        }),
    }
}

/// Every two sources that do not agree: `ccusage<computed:79%`, the lower one first, with how far it is below the other.
fn disagreements(sources: &[(&str, Option<f64>)]) -> Vec<String> {
    let known: Vec<(&str, f64)> = sources
        .iter()
        .filter_map(|(name, usd)| Some((*name, (*usd)?)))
        .collect();
    let mut flags = Vec::new();
    for (place, one) in known.iter().enumerate() {
        for other in &known[place + 1..] {
            let (low, high) = if one.1 <= other.1 {
                (one, other)
            } else {
                (other, one)
            };
            let apart = high.1 - low.1;
            if apart > TRIFLE && apart > TOLERANCE * high.1 {
                let share = apart / high.1 * 100.0;
                flags.push(format!("{}<{}:{share:.0}%", low.0, high.0));
            }
        }
    }
    flags
}

fn total(parts: &[PricedTokens], of: impl Fn(&PricedTokens) -> Option<f64>) -> Option<f64> {
    let sum: Option<f64> = parts.iter().map(of).sum();
    sum.filter(|_| !parts.is_empty()).and_then(amount)
}

fn computed(usage: &Usage, writes: CacheWrites, pricing: &Pricing) -> f64 {
    let one_hour = writes.share_of_one_hour();
    let write_multiplier = match one_hour {
        0.0 => pricing.cache_write_multiplier_5m,
        1.0 => pricing.cache_write_multiplier_1h,
        share => {
            (1.0 - share) * pricing.cache_write_multiplier_5m
                + share * pricing.cache_write_multiplier_1h
        }
    };
    let input = pricing.input_per_token;
    tokens(usage.uncached_input) * input
        + tokens(usage.cached_read) * input * pricing.cache_read_multiplier
        + tokens(usage.cache_write) * input * write_multiplier
        + tokens(usage.output) * pricing.output_per_token
}

fn cold(usage: &Usage, pricing: &Pricing) -> f64 {
    let input =
        tokens(usage.uncached_input) + tokens(usage.cached_read) + tokens(usage.cache_write);
    input * pricing.input_per_token + tokens(usage.output) * pricing.output_per_token
}

fn read_rate(usage: &Usage) -> Option<f64> {
    let read = tokens(usage.cached_read);
    let all = tokens(usage.uncached_input) + read;
    (all > 0.0).then(|| read / all)
}

/// An amount of money, or nothing if it is none.
fn amount(usd: f64) -> Option<f64> {
    is_amount(usd).then_some(usd)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to 2^53 tokens, and no trial has more"
)]
fn tokens(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
