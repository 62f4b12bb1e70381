//! Secrets that come in are stored and shown nowhere, and those that were stored before are found and erased.

use std::path::Path;
use std::process::Stdio;

use model::Lens;
use model::frame::SubscriptionOptions;
use model::ids::ConversationId;
use serde_json::{Value, json};
use tests::hub::binary;
use tests::wait::patiently;
use tests::{TestHub, viewer};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
