//! Latencies, counted in buckets that are at most 3 % wide.

const BITS: u32 = 5;

/// Counts of values.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self { counts: vec![0; (64 << BITS) as usize], total: 0 }
    }

    /// Counts one value.
    pub fn add(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.total += 1;
    }

    /// The value that `share` (0 to 1) of all values do not exceed; 0 when there are none.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return ceiling(index);
            }
        }
        0
    }
}

fn bucket(value: u64) -> usize {
    if value < 1 << BITS {
        return value as usize;
    }
    let shift = value.ilog2() - BITS;
    (((shift + 1) << BITS) as usize) + ((value >> shift) as usize & ((1 << BITS) - 1))
}

fn ceiling(index: usize) -> u64 {
    let (row, column) = ((index >> BITS) as u32, (index & ((1 << BITS) - 1)) as u64);
    match row {
        0 => column,
        _ => ((column + (1 << BITS) + 1) << (row - 1)) - 1,
    }
}
