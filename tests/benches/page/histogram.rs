//! Quantiles of what was found.

/// The 50th, 95th and 99th of 100 values, and the largest.
pub(crate) fn quantiles(mut values: Vec<f64>) -> [f64; 4] {
    values.sort_by(f64::total_cmp);
    let at = |percent: usize| {
        let place = (values.len() * percent / 100).min(values.len().saturating_sub(1));
        values.get(place).copied().unwrap_or(f64::NAN)
    };
    [at(50), at(95), at(99), at(100)]
}

/// The one in the middle.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    quantiles(values)[0]
}
