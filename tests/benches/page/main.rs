//! How the page feels and what it costs while models speak fast, beside the usual pages over the same log: real hub, real
//! Chromium, the load in a process of its own. The method is that of docs/performance.md.
#![expect(clippy::indexing_slicing, reason = "a bench that meets another answer may end")]
#![expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]

mod args;
mod arm;
mod ear;
mod gauge;
mod histogram;
mod line;
mod load;
mod report;
mod rows;
mod story;
mod table;

use crate::args::Args;
use crate::load::Load;

pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench").peekable();
    if words.next_if(|word| word == "--load").is_some() {
        return Load::parse(words)?.run();
    }
    let args = Args::parse(words)?;
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?
        .block_on(rows::run(&args))
}
