//! Numbers too large for numbers: sums of logarithms.

pub(super) fn ln(x: f64) -> f64 {
    libm::log(x)
}

pub(super) fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// The logarithm of the sum of two numbers, given theirs.
pub(super) fn add_logs(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + libm::log1p(exp(low - high)) }
}
