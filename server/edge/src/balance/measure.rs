//! How much of its CPU limit this process uses: the CPU time of all its threads over the time that has passed. It means the same on
//! every machine, and whatever else runs there.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::LOOK_EVERY;

/// Over how many looks the mean is taken: ten seconds.
const LOOKS: usize = 5;

/// The CPU time of this process at the newest looks.
#[derive(Debug)]
pub(super) struct CpuMeter {
    /// The limit of the process, in thousandths of a core.
    limit_millicores: u64,
    /// When it was looked, and the CPU time until then; at most [`LOOKS`] and the one before them.
    looks: VecDeque<(Instant, Duration)>,
}

impl CpuMeter {
    /// Begins to measure the CPU time of the process.
    pub(super) fn new() -> Self {
        let looks = used().map(|used| (Instant::now(), used)).into_iter().collect();
        Self { limit_millicores: limit_millicores(), looks }
    }

    /// The limit, in thousandths of a core.
    pub(super) fn limit_millicores(&self) -> u64 {
        self.limit_millicores
    }

    /// What was used on average over the last looks, in thousandths of a core. 0 until there are as many looks as the mean is of, and where the system does not
    /// tell the time.
    pub(super) fn used_millicores(&mut self, now: Instant) -> u64 {
        let Some(used) = used() else { return 0 };
        self.looks.push_back((now, used));
        mean(&mut self.looks)
    }
}

/// The mean over the newest looks; older ones are forgotten.
fn mean(looks: &mut VecDeque<(Instant, Duration)>) -> u64 {
    while looks.len() > LOOKS + 1 {
        looks.pop_front();
    }
    let (Some((from, before)), Some((to, after))) = (looks.front(), looks.back()) else { return 0 };
    let passed = to.duration_since(*from);
    // Less says little: a hub is busy while it starts.
    if passed < LOOK_EVERY * 2 {
        return 0;
    }
    let used = after.saturating_sub(*before).as_micros() * 1_000 / passed.as_micros().max(1);
    u64::try_from(used).unwrap_or(u64::MAX)
}

/// The CPU time of all threads of this process.
#[cfg(unix)]
fn used() -> Option<Duration> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(now.tv_sec).ok()?;
    Some(Duration::new(seconds, u32::try_from(now.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn used() -> Option<Duration> {
    None
}

/// How much this process may use: the cores that it may run on, or less where its control group has a quota.
fn limit_millicores() -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cores = u64::try_from(cores).unwrap_or(u64::MAX).saturating_mul(1_000);
    quota_millicores().map_or(cores, |quota| quota.min(cores))
}

/// The least quota of the control groups (version 2) that this process is in. Parts of a core count here, which `available_parallelism` leaves out.
fn quota_millicores() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = std::path::Path::new("/sys/fs/cgroup").join(group);
    let all = folder.ancestors().take_while(|folder| folder.starts_with("/sys/fs/cgroup"));
    all.filter_map(|folder| quota_of(&std::fs::read_to_string(folder.join("cpu.max")).ok()?)).min()
}

/// Reads `cpu.max`: the quota and the period, in microseconds. `None` without a quota.
fn quota_of(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace().map(str::parse::<u64>);
    let (quota, period) = (words.next()?.ok()?, words.next()?.ok()?);
    quota.checked_mul(1_000)?.checked_div(period).filter(|quota| *quota > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_ten_seconds_and_a_hub_that_just_started_tells_none() {
        let began = Instant::now();
        let mut looks = VecDeque::from([(began, Duration::ZERO)]);
        let mut told = Vec::new();
        // One core for the first six seconds, then nothing.
        for second in (2..=20).step_by(2) {
            looks.push_back((began + Duration::from_secs(second), Duration::from_secs(second.min(6))));
            told.push(mean(&mut looks));
        }
        assert_eq!(told, [0, 1_000, 1_000, 750, 600, 400, 200, 0, 0, 0]);
    }

    #[test]
    fn a_quota_of_half_a_core_is_read_and_none_is_none() {
        assert_eq!(quota_of("50000 100000\n"), Some(500));
        assert_eq!(quota_of("max 100000\n"), None);
        assert_eq!(quota_of(""), None);
        assert!(limit_millicores() > 0);
    }

    #[cfg(unix)]
    #[test]
    fn work_of_this_process_is_seen() {
        let before = used().unwrap();
        let mut sum = 0_u64;
        while used().unwrap() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }
}
