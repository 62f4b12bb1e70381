//! What one call with the hub's key costs: by what the vendor says that it used, or, where it does not say,
//! by an estimate that is rather too high.
//!
//! | the answer | is charged |
//! |---|---|
//! | whole, with tokens or a cost | that, by the price of the model, or the highest price for a model without one |
//! | whole, without them | a token for each 4 bytes of the request and of the text, or each 256 bytes as they came |
//! | broken off, by either side | the higher of both |
//! | refused (4xx, 5xx), or no answer | nothing |

use std::sync::Arc;

use compact_str::CompactString;
use dialects::Decoded;
use model::event::{Cost, Kind, Usage};
use model::price;

use crate::access::OpenCall;
use crate::proxy::Proxy;

/// Bytes of text that are estimated as one token.
const BYTES_OF_TEXT: u64 = 4;

/// Bytes of a stream, with all that is around the text, that are estimated as one token at least.
const BYTES_OF_STREAM: u64 = 256;

/// Measures one call. Owned by its recorder. Dropping it charges what is known by then, so that no call is
/// free because its recording broke off.
#[derive(Debug)]
pub(in crate::proxy) struct Meter {
    proxy: Arc<Proxy>,
    open: OpenCall,
    /// The model, as the answer names it, or else the request.
    model: Option<CompactString>,
    asked_bytes: u64,
    text_bytes: u64,
    answer_bytes: u64,
    usage: Option<Usage>,
    /// Whether the upstream did not do the call.
    is_refused: bool,
    /// Whether the answer came to its end.
    is_whole: bool,
}

impl Meter {
    /// A meter of a call that begins.
    pub(super) fn new(proxy: &Arc<Proxy>, open: OpenCall) -> Self {
        Self {
            proxy: Arc::clone(proxy),
            open,
            model: None,
            asked_bytes: 0,
            text_bytes: 0,
            answer_bytes: 0,
            usage: None,
            is_refused: false,
            is_whole: false,
        }
    }

    /// Takes the length of the request and the model that it asks.
    pub(in crate::proxy) fn asked(&mut self, bytes: usize, model: Option<&CompactString>) {
        self.asked_bytes = bytes as u64;
        self.model = model.cloned();
    }

    /// Takes the status of the answer.
    pub(in crate::proxy) fn begun(&mut self, status: u16) {
        self.is_refused = status >= 400;
    }

    /// Takes how many bytes of the answer came, those that could not be read among them.
    pub(in crate::proxy) fn came(&mut self, bytes: u64) {
        self.answer_bytes = self.answer_bytes.saturating_add(bytes);
    }

    /// Takes what was read of the answer.
    pub(in crate::proxy) fn read(&mut self, decoded: &Decoded) {
        for event in decoded.envelopes.iter().map(|envelope| &envelope.event) {
            self.usage = price::known_after(self.usage, event);
            let (model, text) = match &event.kind {
                Kind::RunStart(start) => (start.model.as_ref(), 0),
                Kind::RunUpdate(update) => (update.model.as_ref(), 0),
                Kind::PartDelta { text, .. } | Kind::ToolArgs { text, .. } => (None, text.len()),
                Kind::PartReplace { text, .. } => (None, text.len()),
                Kind::ToolCall { arguments: Some(text), .. } => (None, text.len()),
                _ => (None, 0),
            };
            self.model = model.cloned().or(self.model.take());
            self.text_bytes = self.text_bytes.saturating_add(text as u64);
        }
    }

    /// Takes how the call ended. A call to which there was no answer costs nothing.
    pub(in crate::proxy) fn ended(&mut self, end: CallEnd) {
        self.is_whole = end == CallEnd::Whole;
        self.is_refused |= end == CallEnd::Unanswered;
    }

    /// What the call costs, in the currency of its budget, and whether that is an estimate.
    fn cost(&self) -> (Cost, bool) {
        let currency = self.open.budget().limit.currency();
        let prices = &self.proxy.prices;
        let of_model = self.model.as_deref().and_then(|model| prices.of(model));
        let price = of_model.filter(|price| price.currency == currency).or_else(|| prices.dearest(currency));
        let priced = |usage: &Usage| price.map_or(Cost::new(0, currency), |price| price.of(usage));
        let told = self.usage.as_ref().map(|usage| {
            usage.cost.filter(|cost| cost.currency() == currency).unwrap_or_else(|| priced(usage))
        });
        let estimate = priced(&Usage {
            input_tokens: self.asked_bytes.div_ceil(BYTES_OF_TEXT),
            output_tokens: (self.text_bytes / BYTES_OF_TEXT).max(self.answer_bytes / BYTES_OF_STREAM),
            ..Usage::default()
        });
        match told {
            Some(told) if self.is_whole || told.picos() >= estimate.picos() => (told, false),
            _ => (estimate, true),
        }
    }
}

/// How a call ended, as far as its price depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::proxy) enum CallEnd {
    /// The answer is whole, so what it says of its usage holds.
    Whole,
    /// The answer broke off.
    CutOff,
    /// There was no answer.
    Unanswered,
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.is_refused {
            return;
        }
        let charged = self.cost();
        if let Some(ledger) = self.proxy.gate.ledger() {
            ledger.charge(&self.open, charged);
        }
    }
}
