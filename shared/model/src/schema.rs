//! JSON Schemas of what travels, for clients in other languages. They describe what is written; a reader of a later
//! version must bear kinds, frames, words and fields that are not in them.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::envelope::Envelope;
use crate::frame::{ClientFrame, ServerFrame};
use crate::ids::{AgentId, ConversationId, MessageId, PartId, PublisherId, RunId, ToolCallId};
use crate::json::Json;
use crate::lens::Kinds;
use crate::limits::{CONVERSATION_ID_BYTES_MAX, ID_BYTES_MAX};
use crate::position::Epoch;
use crate::view::View;

/// The schemas: the name of each, and itself. Each stands alone.
pub fn schemas() -> [(&'static str, Schema); 4] {
    [
        ("event", of::<Envelope>()),
        ("client-frame", of::<ClientFrame>()),
        ("server-frame", of::<ServerFrame>()),
        ("view", of::<View>()),
    ]
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

macro_rules! words {
    ($($name:ident, $most:expr);*) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "maxLength": $most})
            }
        }
    )*};
}

words! {
    RunId, ID_BYTES_MAX; AgentId, ID_BYTES_MAX; MessageId, ID_BYTES_MAX; PartId, ID_BYTES_MAX; ToolCallId, ID_BYTES_MAX;
    PublisherId, ID_BYTES_MAX; ConversationId, CONVERSATION_ID_BYTES_MAX; Epoch, ID_BYTES_MAX
}

impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

impl JsonSchema for Kinds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Kinds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": {"type": "string"}})
    }
}
