//! Two measurements of the same things: is their difference more than chance?

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::spread::{count, mean, sample_std};

/// What two paired tests say of differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// How many pairs.
    pub pairs: usize,
    /// Their mean difference.
    pub mean: f64,
    /// Student's t; `None` where all differences are equal, or below two pairs.
    pub t: Option<f64>,
    /// Two-sided p of Student's t.
    pub p_t: Option<f64>,
    /// Two-sided p of the randomization test; `None` without pairs.
    pub p_randomization: Option<f64>,
}

/// Draws of the randomization test where there are too many pairs for all sign patterns.
pub const DRAWS: u32 = 10_000;
/// Up to so many pairs that differ, every sign pattern is tried.
const ALL_PATTERNS: usize = 14;
/// Signs that are drawn at most; with more pairs there are fewer draws, yet never below a tenth of [`DRAWS`].
const MOST_SIGNS: usize = 500_000_000;

/// Both tests of the differences.
///
/// t: Student, "The Probable Error of a Mean", Biometrika 6 (1908), 1-25: mean / (s / sqrt(n)), with n - 1 degrees of freedom.
/// Randomization: R. A. Fisher, "The Design of Experiments" (1935), section 21, as M. D. Smucker, J. Allan and B. Carterette
/// recommend it for rankings ("A Comparison of Statistical Significance Tests for Information Retrieval Evaluation", CIKM 2007):
/// the share of sign patterns whose sum is at least as far from 0; drawn ones are counted with the observed one among them.
#[must_use]
pub fn paired(differences: &[f64]) -> Option<Paired> {
    let middle = mean(differences)?;
    let deviation = sample_std(differences).filter(|deviation| *deviation > 0.0);
    let t = deviation.map(|deviation| middle / (deviation / count(differences.len()).sqrt()));
    Some(Paired {
        pairs: differences.len(),
        mean: middle,
        t,
        p_t: t.map(|t| two_sided(t, count(differences.len() - 1))),
        p_randomization: Some(randomization(differences)),
    })
}

/// The chance of a t at least as far from 0, with `freedom` degrees of freedom.
///
/// M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.1 with 26.5.27: the regularized incomplete
/// beta function at freedom / (freedom + t^2) with freedom / 2 and 1 / 2.
#[must_use]
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The regularized incomplete beta function, by its continued fraction (the same book, 26.5.8), evaluated by the method of
/// W. J. Lentz (Applied Optics 15 (1976), 668-671).
#[expect(clippy::many_single_char_names, reason = "the letters of the formula")]
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    let away = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..=1000_u32 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for part in [even, odd] {
            d = 1.0 / away(1.0 + part * d);
            c = away(1.0 + part / c);
            fraction *= c * d;
        }
        if (fraction / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (front.exp() * fraction / a).clamp(0.0, 1.0)
}

/// The logarithm of the gamma function of a positive number, to some 13 digits.
///
/// Stirling's series (the same book, 6.1.41) after the argument was raised above 12 by the recurrence.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0_f64);
    while x < 12.0 {
        product *= x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let tail = 1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + tail / x - product.ln()
}

/// The share of sign patterns whose sum is at least as far from 0. Pairs that are equal change no sum.
fn randomization(differences: &[f64]) -> f64 {
    let differing: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|it| *it != 0.0)
        .collect();
    let observed = differing.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order differ in their last bits.
    let scale: f64 = differing.iter().map(|it| it.abs()).sum();
    let least = observed - scale * 1e-12;
    let mut bits = vec![0_u64; differing.len().div_ceil(64)];
    let far = |bits: &[u64]| u32::from(signed_sum(&differing, bits).abs() >= least);
    if differing.len() <= ALL_PATTERNS {
        let all = 1_u32 << differing.len();
        let hits: u32 = (0..all).map(|pattern| far(&[u64::from(pattern)])).sum();
        return f64::from(hits) / f64::from(all);
    }
    let affordable = u32::try_from(MOST_SIGNS / differing.len()).unwrap_or(DRAWS);
    let draws = affordable.clamp(DRAWS / 10, DRAWS);
    let mut random = ChaCha8Rng::seed_from_u64(0x0070_6169_7265_6400);
    let mut hits = 0_u32;
    for _ in 0..draws {
        bits.fill_with(|| random.next_u64());
        hits += far(&bits);
    }
    f64::from(hits + 1) / f64::from(draws + 1)
}

fn signed_sum(values: &[f64], signs: &[u64]) -> f64 {
    let words = values.chunks(64).zip(signs);
    let sums = words.map(|(values, word)| {
        let signed =
            values.iter().enumerate().map(
                |(bit, value)| {
                    if word >> bit & 1 == 1 { -value } else { *value }
                },
            );
        signed.sum::<f64>()
    });
    sums.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_tails_of_students_t() {
        // scipy.stats.t.sf(t, freedom) * 2
        let cases = [
            (0.0, 5.0, 1.0),
            (1.0, 1.0, 0.5),
            (12.706_204_736_432_095, 1.0, 0.05),
            (2.570_581_835_636_197, 5.0, 0.05),
            (4.032_142_983_555_228, 5.0, 0.01),
            (1.983_971_518_449_633_4, 99.0, 0.050_027_799_6),
            (-2.0, 30.0, 0.054_625_045),
            (1.96, 1e6, 0.049_996_067_6),
        ];
        for (t, freedom, p) in cases {
            let got = two_sided(t, freedom);
            assert!((got - p).abs() < 1e-7, "{t} {freedom}: {got}, not {p}");
        }
    }

    #[test]
    fn a_known_sample_of_pairs() {
        // W. S. Gosset's own example: hours of sleep gained with one drug over another
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let got = paired(&sleep).unwrap();
        assert_eq!(got.pairs, 10);
        assert!((got.mean - 1.58).abs() < 1e-12);
        assert!((got.t.unwrap() - 4.062_127_683_382_037).abs() < 1e-9);
        assert!((got.p_t.unwrap() - 0.002_832_890_197_384_26).abs() < 1e-9);
        // all nine that differ do so upwards: 2 of 512 patterns
        assert!((got.p_randomization.unwrap() - 2.0 / 512.0).abs() < 1e-12);
    }

    #[test]
    fn edges_have_no_t_and_never_a_p_of_zero() {
        assert_eq!(paired(&[]), None);
        let one = paired(&[0.5]).unwrap();
        assert_eq!(
            (one.t, one.p_t, one.p_randomization),
            (None, None, Some(1.0))
        );
        let equal = paired(&[0.0; 40]).unwrap();
        assert_eq!((equal.t, equal.p_randomization), (None, Some(1.0)));
        let far: Vec<f64> = (1..200).map(f64::from).collect();
        let far = paired(&far).unwrap();
        assert!(far.p_randomization.unwrap() > 0.0 && far.p_randomization.unwrap() < 2e-4);
        assert_eq!(
            far,
            paired(&(1..200).map(f64::from).collect::<Vec<_>>()).unwrap()
        );
    }

    #[test]
    fn drawing_comes_close_to_trying_all() {
        let values: Vec<f64> = (0..14)
            .map(|index| f64::from(index * 7 % 11) - 3.4)
            .collect();
        let all = paired(&values).unwrap().p_randomization.unwrap();
        // two pairs that hardly differ change no sum that counts, and force drawing
        let mut more = values;
        more.extend([1e-15; 2]);
        let drawn = paired(&more).unwrap().p_randomization.unwrap();
        assert!((all - drawn).abs() < 0.02, "{all} {drawn}");
    }
}
