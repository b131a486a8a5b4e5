//! Fits: where a progression of estimates is heading.
//!
//! Each takes points (elapsed, estimate), weighs them by what had elapsed, and says where the fitted function gives what will then have elapsed.
//! All are linear in their coefficients, so a handful of sums is all they need. Sums of estimates are kept relative to a scale,
//! because estimates may be too large for numbers.

use super::numbers::{add_logs, exp, ln};

/// A function to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// None: the last estimate as it is.
    Empty,
    /// A constant.
    Constant,
    /// A straight line.
    Linear,
    /// A logarithm.
    Logarithmic,
}

impl Fit {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Empty, Self::Constant, Self::Linear, Self::Logarithmic];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Logarithmic => "logarithmic",
        }
    }
}

/// Sums over the points of a progression.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progression {
    last: f64,
    elapsed: f64,
    /// Estimates are divided by e to this power.
    scale: f64,
    weight: f64,
    y: f64,
    /// For `x = t` and for `x = ln t`: sums of x, x², x·y.
    straight: [f64; 3],
    logarithmic: [f64; 3],
}

impl Progression {
    /// Takes a point: what has elapsed, and the logarithm of the estimate.
    pub fn add(&mut self, elapsed: f64, estimate: f64) {
        (self.last, self.elapsed) = (estimate, elapsed);
        if elapsed <= 0.0 {
            return;
        }
        if self.weight == 0.0 {
            self.scale = estimate;
        } else if estimate > self.scale + 100.0 {
            let factor = exp(self.scale - estimate);
            self.y *= factor;
            self.straight[2] *= factor;
            self.logarithmic[2] *= factor;
            self.scale = estimate;
        }
        let y = exp(estimate - self.scale);
        self.weight += elapsed;
        self.y += elapsed * y;
        for (sums, x) in [(&mut self.straight, elapsed), (&mut self.logarithmic, ln(elapsed))] {
            sums[0] += elapsed * x;
            sums[1] += elapsed * x * x;
            sums[2] += elapsed * x * y;
        }
    }

    /// What will have elapsed in the end, as a logarithm; `None` if the fit has no answer, or before the first point.
    pub fn solve(&self, fit: Fit) -> Option<f64> {
        if self.weight == 0.0 {
            return (fit == Fit::Empty && self.elapsed > 0.0).then_some(self.last);
        }
        let solution = match fit {
            Fit::Empty => self.last,
            Fit::Constant => self.scale + ln(self.y / self.weight),
            Fit::Linear => {
                let (slope, offset) = self.line(&self.straight)?;
                // offset / (1 - slope), both to be multiplied by the scale.
                let rest = exp(-self.scale) - slope;
                let quotient = offset / rest;
                if !quotient.is_finite() || quotient <= 0.0 {
                    return None;
                }
                ln(quotient)
            }
            Fit::Logarithmic => {
                let (slope, offset) = self.line(&self.logarithmic)?;
                self.meet(slope, offset)?
            }
        };
        // It cannot be less than what has elapsed.
        let least = ln(self.elapsed);
        solution.is_finite().then_some(solution.max(least))
    }

    /// The line through the points, relative to the scale. One point is a constant.
    fn line(&self, [x, xx, xy]: &[f64; 3]) -> Option<(f64, f64)> {
        let determinant = self.weight * xx - x * x;
        if determinant <= 1e-12 * self.weight * xx {
            return Some((0.0, self.y / self.weight));
        }
        let slope = (self.weight * xy - x * self.y) / determinant;
        let offset = (self.y - slope * x) / self.weight;
        (slope.is_finite() && offset.is_finite()).then_some((slope, offset))
    }

    /// Where `slope · ln t + offset`, times the scale, is `t`, for the larger such `t`; as `ln t`.
    fn meet(&self, slope: f64, offset: f64) -> Option<f64> {
        let above = |x: f64| slope * x + offset - exp(x - self.scale);
        // It rises up to here, if it does at all, and falls for ever after.
        let mut low = if slope > 0.0 { self.scale + ln(slope) } else { self.scale.min(0.0) };
        if slope > 0.0 && above(low) < 0.0 {
            return None;
        }
        let mut step = 1.0;
        while slope <= 0.0 && above(low) < 0.0 {
            low -= step;
            step *= 2.0;
            if step > 1e9 {
                return None;
            }
        }
        let mut high = low + 1.0;
        let mut step = 1.0;
        while above(high) > 0.0 {
            high += step;
            step *= 2.0;
            if step > 1e9 {
                return None;
            }
        }
        for _ in 0..200 {
            let middle = low + (high - low) / 2.0;
            if above(middle) > 0.0 { low = middle } else { high = middle }
        }
        Some(add_logs(low, f64::NEG_INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn progression(points: &[(f64, f64)]) -> Progression {
        let mut progression = Progression::default();
        for (t, y) in points {
            progression.add(*t, ln(*y));
        }
        progression
    }

    fn close(a: Option<f64>, b: f64) {
        let a = a.map(exp).unwrap_or(f64::NAN);
        assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
    }

    #[test]
    fn exact_functions_are_found_again() {
        let points: Vec<_> = (1..40).map(|i| (f64::from(i), 1000.0)).collect();
        for fit in Fit::ALL {
            close(progression(&points).solve(fit), 1000.0);
        }
        // y = t/2 + 300 meets t at 600.
        let points: Vec<_> = (1..40).map(|i| (f64::from(i), f64::from(i) / 2.0 + 300.0)).collect();
        close(progression(&points).solve(Fit::Linear), 600.0);
        // y = 100 ln t + 50: the larger solution of t = 100 ln t + 50.
        let points: Vec<_> = (1..40).map(|i| (f64::from(i), 100.0 * f64::from(i).ln() + 50.0)).collect();
        let solved = progression(&points).solve(Fit::Logarithmic).map(exp).unwrap_or(f64::NAN);
        assert!((100.0 * solved.ln() + 50.0 - solved).abs() < 1e-6 && solved > 100.0, "{solved}");
    }

    #[test]
    fn a_line_that_never_meets_has_no_solution() {
        let points: Vec<_> = (1..40).map(|i| (f64::from(i), 3.0 * f64::from(i) + 10.0)).collect();
        assert_eq!(progression(&points).solve(Fit::Linear), None);
        let points: Vec<_> = (1..40).map(|i| (f64::from(i), (f64::from(i) * 0.5).max(0.1))).collect();
        // Below what has elapsed: it cannot be less than that.
        assert_eq!(progression(&points).solve(Fit::Constant).map(|x| exp(x).round()), Some(39.0));
    }

    #[test]
    fn closed_forms_agree_with_iteration() {
        // A plain numeric least-squares search on random progressions, by coordinate descent over a and b.
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / (1u64 << 31) as f64
        };
        for _ in 0..50 {
            let (a, b) = (20.0 * random(), 100.0 + 400.0 * random());
            let points: Vec<_> =
                (1..30).map(|i| (f64::from(i), a * f64::from(i).ln() + b + 30.0 * (random() - 0.5))).collect();
            let p = progression(&points);
            let error = |a: f64, b: f64| -> f64 {
                points.iter().map(|(t, y)| t * (a * t.ln() + b - y) * (a * t.ln() + b - y)).sum()
            };
            let (slope, offset) = p.line(&p.logarithmic).unwrap_or_default();
            let (slope, offset) = (slope * exp(p.scale), offset * exp(p.scale));
            let best = error(slope, offset);
            for (da, db) in [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01), (0.01, -0.01), (-0.01, 0.01)] {
                assert!(error(slope + da, offset + db) >= best - 1e-9);
            }
        }
    }

    #[test]
    fn astronomic_estimates_do_not_overflow() {
        let mut progression = Progression::default();
        for i in 1..100 {
            progression.add(f64::from(i), 31_920.0 + 0.01 * f64::from(i));
        }
        for fit in [Fit::Empty, Fit::Constant, Fit::Logarithmic] {
            let solved = progression.solve(fit).unwrap_or(f64::NAN);
            assert!((31_900.0..31_960.0).contains(&solved), "{fit:?}: {solved}");
        }
    }
}
