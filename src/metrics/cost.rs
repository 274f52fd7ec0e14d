//! What a trial cost: what the provider charged, and what it would have without a cache.

use crate::model::{CacheWrites, Cost, CostSource, Pricing, Usage};

/// Costs that somebody else has worked out, in USD.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KnownCost {
    /// By the provider's own client.
    pub provider_usd: Option<f64>,
    /// By `@ccusage/codex` on the trial's own session files.
    pub ccusage_usd: Option<f64>,
}

/// The cost of a trial. Billed is the provider's figure, else ccusage's, else computed; all else is computed
/// from tokens and prices. What cannot be known, or is no finite number, is absent.
///
/// - computed = uncached x in + read x in x read multiplier + written x in x write multiplier + out x out, where the
///   multiplier of written tokens is that of 5 minutes but for the share that `writes` says live one hour
/// - cold equivalent = (uncached + read + written) x in + out x out
/// - savings = cold equivalent - billed; read rate = read / (uncached + read)
#[must_use]
pub fn cost(
    usage: Option<&Usage>,
    writes: CacheWrites,
    pricing: Option<&Pricing>,
    known: KnownCost,
) -> Cost {
    let priced = usage.zip(pricing);
    let computed = priced.and_then(|(usage, pricing)| amount(computed(usage, writes, pricing)));
    let cold = priced.and_then(|(usage, pricing)| amount(cold(usage, pricing)));
    let by = |source, usd: Option<f64>| usd.and_then(amount).map(|usd| (usd, source));
    let billed = by(CostSource::Provider, known.provider_usd)
        .or_else(|| by(CostSource::Ccusage, known.ccusage_usd))
        .or_else(|| by(CostSource::Computed, computed));
    let savings = cold.zip(billed).map(|(cold, (billed, _))| cold - billed);
    Cost {
        billed_usd: billed.map(|(usd, _)| usd),
        source: billed.map(|(_, source)| source),
        cold_equivalent_usd: cold,
        cache_savings_usd: savings.filter(|usd| usd.is_finite()),
        cache_read_rate: usage.and_then(read_rate),
    }
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
    (usd.is_finite() && usd >= 0.0).then_some(usd)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "exact up to 2^53 tokens, and no trial has more"
)]
fn tokens(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRICING: Pricing = Pricing {
        input_per_token: 2e-6,
        output_per_token: 1e-5,
        cache_read_multiplier: 0.1,
        cache_write_multiplier_5m: 1.25,
        cache_write_multiplier_1h: 2.0,
    };
    const USAGE: Usage = Usage {
        uncached_input: 1000,
        cached_read: 4000,
        cache_write: 2000,
        output: 500,
    };

    fn close(left: Option<f64>, right: f64) {
        let left = left.expect("a number");
        assert!((left - right).abs() < 1e-12, "{left} is not {right}");
    }

    #[test]
    fn costs_follow_the_contract() {
        let computed = |five_minutes, one_hour| {
            let writes = CacheWrites {
                five_minutes,
                one_hour,
            };
            cost(Some(&USAGE), writes, Some(&PRICING), KnownCost::default())
        };
        // 1000 x 2 + 4000 x 0.2 + 500 x 10 = 7800 millionths; 2000 written x 2.5 or 4.0, each part at its own price; where
        // the parts are not the whole, the rest is taken to be as they are.
        let cases = [
            ((0, 0), 0.0128),
            ((2000, 0), 0.0128),
            ((0, 2000), 0.0158),
            ((1500, 500), 0.01355),
            ((500, 1500), 0.01505),
            ((1000, 1000), 0.0143),
            ((10, 30), 0.01505),
            ((u64::MAX, u64::MAX), 0.0143),
        ];
        for ((five_minutes, one_hour), expected) in cases {
            close(computed(five_minutes, one_hour).billed_usd, expected);
        }
        let cost = computed(0, 0);
        assert_eq!(cost.source, Some(CostSource::Computed));
        close(cost.cold_equivalent_usd, 0.019);
        close(cost.cache_savings_usd, 0.0062);
        close(cost.cache_read_rate, 0.8);
    }

    #[test]
    fn the_providers_figure_comes_first_then_ccusages_then_ours() {
        let cases = [
            (Some(0.5), Some(0.25), Some(0.5), Some(CostSource::Provider)),
            (None, Some(0.25), Some(0.25), Some(CostSource::Ccusage)),
            (
                Some(f64::NAN),
                Some(0.25),
                Some(0.25),
                Some(CostSource::Ccusage),
            ),
            (Some(-1.0), None, None, None),
            (Some(0.0), Some(0.25), Some(0.0), Some(CostSource::Provider)),
        ];
        for (provider_usd, ccusage_usd, billed, source) in cases {
            let known = KnownCost {
                provider_usd,
                ccusage_usd,
            };
            let cost = cost(None, CacheWrites::default(), None, known);
            assert_eq!((cost.billed_usd, cost.source), (billed, source));
            assert_eq!(cost.cold_equivalent_usd, None);
        }
    }

    #[test]
    fn what_is_unknown_is_absent_and_never_zero() {
        let none = CacheWrites::default();
        let nothing = cost(None, none, Some(&PRICING), KnownCost::default());
        assert_eq!(nothing, Cost::default());
        let unpriced = cost(Some(&USAGE), none, None, KnownCost::default());
        assert_eq!(
            (unpriced.billed_usd, unpriced.cold_equivalent_usd),
            (None, None)
        );
        close(unpriced.cache_read_rate, 0.8);
        let empty = cost(
            Some(&Usage::default()),
            none,
            Some(&PRICING),
            KnownCost::default(),
        );
        assert_eq!((empty.billed_usd, empty.cache_read_rate), (Some(0.0), None));
    }

    proptest! {
        #[test]
        fn no_input_gives_a_number_that_is_none(tokens in any::<[u64; 4]>(), parts in any::<[u64; 2]>(), prices in any::<[f64; 5]>(), known in any::<[Option<f64>; 2]>()) {
            let [uncached_input, cached_read, cache_write, output] = tokens;
            let usage = Usage { uncached_input, cached_read, cache_write, output };
            let [input_per_token, output_per_token, cache_read_multiplier, cache_write_multiplier_5m, cache_write_multiplier_1h] = prices;
            let pricing = Pricing { input_per_token, output_per_token, cache_read_multiplier, cache_write_multiplier_5m, cache_write_multiplier_1h };
            let [provider_usd, ccusage_usd] = known;
            let cost = cost(Some(&usage), CacheWrites { five_minutes: parts[0], one_hour: parts[1] }, Some(&pricing), KnownCost { provider_usd, ccusage_usd });
            for number in [cost.billed_usd, cost.cold_equivalent_usd, cost.cache_savings_usd, cost.cache_read_rate].into_iter().flatten() {
                prop_assert!(number.is_finite());
            }
            prop_assert_eq!(cost.billed_usd.is_some(), cost.source.is_some());
        }
    }
}
