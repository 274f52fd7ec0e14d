//! What a trial cost: what the provider charged, and what it would have without a cache.

use crate::model::{CacheWrites, Cost, CostSource, Pricing, Usage};

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
        cache_savings_usd: savings.filter(|usd| usd.is_finite()),
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

    fn priced(usage: Usage, writes: CacheWrites) -> PricedTokens {
        PricedTokens {
            usage,
            writes,
            pricing: PRICING,
        }
    }

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
            cost(Some(&USAGE), &[priced(USAGE, writes)], KnownCost::default())
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
                ..KnownCost::default()
            };
            let cost = cost(None, &[], known);
            assert_eq!((cost.billed_usd, cost.source), (billed, source));
            assert_eq!(cost.cold_equivalent_usd, None);
        }
    }

    #[test]
    fn what_is_unknown_is_absent_and_never_zero() {
        let none = CacheWrites::default();
        let nothing = cost(None, &[], KnownCost::default());
        assert_eq!(nothing, Cost::default());
        let unpriced = cost(Some(&USAGE), &[], KnownCost::default());
        assert_eq!(
            (unpriced.billed_usd, unpriced.cold_equivalent_usd),
            (None, None)
        );
        close(unpriced.cache_read_rate, 0.8);
        let zero = Usage::default();
        let empty = cost(Some(&zero), &[priced(zero, none)], KnownCost::default());
        assert_eq!((empty.billed_usd, empty.cache_read_rate), (Some(0.0), None));
    }

    #[test]
    fn sources_that_do_not_agree_are_told_and_small_change_is_not() {
        // The tokens cost 0.0128.
        let told = |provider_usd, ccusage_usd, session_usd, tokens_are_lower_bound| {
            let known = KnownCost {
                provider_usd,
                ccusage_usd,
                session_usd,
                tokens_are_lower_bound,
                ..KnownCost::default()
            };
            let parts = [priced(USAGE, CacheWrites::default())];
            cost(Some(&USAGE), &parts, known).flags
        };
        let none: [&str; 0] = [];
        assert_eq!(told(Some(0.0129), Some(0.0128), None, false), none);
        assert_eq!(
            told(None, Some(0.0064), None, false),
            ["ccusage<computed:50%"]
        );
        assert_eq!(
            told(Some(0.0256), None, None, false),
            ["computed<provider:50%"]
        );
        assert_eq!(
            told(Some(0.0256), None, None, true),
            none,
            "known to lack something"
        );
        assert_eq!(
            told(Some(0.0128), Some(0.0064), Some(0.0128), false),
            [
                "ccusage<provider:50%",
                "ccusage<session:50%",
                "ccusage<computed:50%"
            ]
        );
    }

    #[test]
    fn tokens_of_several_models_are_priced_apart_and_one_unknown_price_spoils_the_sum() {
        let dear = PricedTokens {
            pricing: Pricing {
                input_per_token: 4e-6,
                output_per_token: 2e-5,
                ..PRICING
            },
            ..priced(USAGE, CacheWrites::default())
        };
        let both = [priced(USAGE, CacheWrites::default()), dear];
        close(
            cost(Some(&USAGE), &both, KnownCost::default()).billed_usd,
            0.0384,
        );
        let unknown = PricedTokens {
            pricing: Pricing {
                input_per_token: f64::NAN,
                ..PRICING
            },
            ..dear
        };
        assert_eq!(priced_usd(&[dear, unknown]), None);
    }

    #[test]
    fn what_is_computed_from_too_few_tokens_is_a_lower_bound_and_the_providers_word_is_not() {
        let bound = |provider_usd, provider_is_lower_bound| {
            let known = KnownCost {
                provider_usd,
                tokens_are_lower_bound: true,
                provider_is_lower_bound,
                ..KnownCost::default()
            };
            cost(
                Some(&USAGE),
                &[priced(USAGE, CacheWrites::default())],
                known,
            )
            .is_lower_bound
        };
        assert_eq!((bound(None, false), bound(Some(1.0), false)), (true, false));
        let by_ccusage = KnownCost {
            ccusage_usd: Some(1.0),
            tokens_are_lower_bound: true,
            ..KnownCost::default()
        };
        assert!(
            cost(None, &[], by_ccusage).is_lower_bound,
            "of its sessions"
        );
        assert!(bound(Some(1.0), true), "of a stream without its sub-agents");
    }

    #[test]
    fn where_the_provider_knows_less_than_others_the_highest_is_billed_and_the_difference_is_told()
    {
        let known = KnownCost {
            provider_usd: Some(0.01),
            session_usd: Some(0.2),
            tokens_are_lower_bound: true,
            provider_is_lower_bound: true,
            ..KnownCost::default()
        };
        let tokens = [priced(USAGE, CacheWrites::default())];
        let cost = cost(Some(&USAGE), &tokens, known);
        assert_eq!(cost.billed_usd, Some(0.2));
        assert_eq!(cost.source, Some(CostSource::Computed));
        assert!(cost.is_lower_bound);
        assert!(
            cost.flags.contains(&"provider<session:95%".to_owned()),
            "{:?}",
            cost.flags
        );
    }

    proptest! {
        #[test]
        fn no_input_gives_a_number_that_is_none(tokens in any::<[u64; 4]>(), parts in any::<[u64; 2]>(), prices in any::<[f64; 5]>(), known in any::<[Option<f64>; 2]>()) {
            let [uncached_input, cached_read, cache_write, output] = tokens;
            let usage = Usage { uncached_input, cached_read, cache_write, output };
            let [input_per_token, output_per_token, cache_read_multiplier, cache_write_multiplier_5m, cache_write_multiplier_1h] = prices;
            let pricing = Pricing { input_per_token, output_per_token, cache_read_multiplier, cache_write_multiplier_5m, cache_write_multiplier_1h };
            let [provider_usd, ccusage_usd] = known;
            let part = PricedTokens { usage, writes: CacheWrites { five_minutes: parts[0], one_hour: parts[1] }, pricing };
            let cost = cost(Some(&usage), &[part, part], KnownCost { provider_usd, ccusage_usd, ..KnownCost::default() });
            for number in [cost.billed_usd, cost.cold_equivalent_usd, cost.cache_savings_usd, cost.cache_read_rate].into_iter().flatten() {
                prop_assert!(number.is_finite());
            }
            prop_assert_eq!(cost.billed_usd.is_some(), cost.source.is_some());
        }
    }
}
