//! The encoding `application/x-protobuf`. Few messages and few of their fields count here, so they are read in place:
//! nothing is allocated for what is not kept, and a body cannot ask for more memory than a few times its own size.
//!
//! ```text
//! ExportTraceServiceRequest { 1 ResourceSpans { 1 Resource { 1 KeyValue }, 2 ScopeSpans { 1 Scope { 1 name }, 2 Span } } }
//! Span { 1 trace, 2 id, 4 parent, 5 name, 7 start, 8 end, 9 KeyValue, 11 Event { 1 time, 2 name, 3 KeyValue },
//!        15 Status { 2 message, 3 code }, 16 flags }
//! KeyValue { 1 key, 2 AnyValue { 1 text, 2 bool, 3 int, 4 double, 5 list { 1 AnyValue }, 6 map { 1 KeyValue }, 7 bytes } }
//! ```
//!
//! Fields that are not in this picture are skipped; so are unknown ones, as protobuf demands. A span whose
//! inside is damaged is counted and the others are read; damage outside of spans fails the whole body.

use serde_json::{Map, Number, Value};

use super::{OtlpError, OtlpExport, id, name};
use crate::spans::{Attributes, FinishedSpan, SpanEvent};
use model::limits::JSON_DEPTH_MAX;

/// Two bits of a span's flags: 0x100 says that 0x200 is valid, 0x200 that the parent is remote.
const REMOTE: u32 = 0x300;

/// The `status.code` of a failure.
const FAILED: u64 = 2;

/// The bytes are not a message.
#[derive(Debug)]
struct MalformedMessage;

/// The value of one field, by its wire type. Groups, which OTLP does not have, are malformed.
#[derive(Debug, Clone, Copy)]
enum FieldValue<'a> {
    /// A number of variable length, or eight bytes.
    Number(u64),
    /// A text, bytes, or a message inside, still encoded.
    Bytes(&'a [u8]),
    /// A value of four bytes.
    Short(u32),
}

impl<'a> FieldValue<'a> {
    /// The bytes; empty if it is a number.
    fn bytes(self) -> &'a [u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }

    /// The number; 0 if it is bytes.
    fn number(self) -> u64 {
        match self {
            Self::Number(number) => number,
            Self::Short(number) => number.into(),
            Self::Bytes(_) => 0,
        }
    }

    /// The bytes as text; what is no UTF-8 is replaced.
    fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// The fields of one message, one after the other.
struct ProtobufFields<'a>(&'a [u8]);

impl<'a> ProtobufFields<'a> {
    /// The next field with its number; `None` at the end of the message. Fails if the message is cut, or the
    /// wire type or number is none.
    fn next(&mut self) -> Result<Option<(u64, FieldValue<'a>)>, MalformedMessage> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let wire = match key & 7 {
            0 => FieldValue::Number(self.varint()?),
            1 => FieldValue::Number(u64::from_le_bytes(
                self.take(8)?.try_into().map_err(|_short| MalformedMessage)?,
            )),
            2 => {
                let len = usize::try_from(self.varint()?).map_err(|_large| MalformedMessage)?;
                FieldValue::Bytes(self.take(len)?)
            }
            5 => FieldValue::Short(u32::from_le_bytes(
                self.take(4)?.try_into().map_err(|_short| MalformedMessage)?,
            )),
            _ => return Err(MalformedMessage),
        };
        if key >> 3 == 0 { Err(MalformedMessage) } else { Ok(Some((key >> 3, wire))) }
    }

    /// The next `len` bytes.
    fn take(&mut self, len: usize) -> Result<&'a [u8], MalformedMessage> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(MalformedMessage)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads a number of variable length, at most ten bytes.
    fn varint(&mut self) -> Result<u64, MalformedMessage> {
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(MalformedMessage)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(MalformedMessage)
    }
}

/// Calls `each` with every field of `message`, in order, until one fails.
fn each<'a>(
    message: &'a [u8],
    mut each: impl FnMut(u64, FieldValue<'a>) -> Result<(), MalformedMessage>,
) -> Result<(), MalformedMessage> {
    let mut fields = ProtobufFields(message);
    while let Some((number, wire)) = fields.next()? {
        each(number, wire)?;
    }
    Ok(())
}

/// Reads a body. Fails if it is cut or not protobuf; a damaged span is only counted.
pub(super) fn read(body: &[u8]) -> Result<OtlpExport, OtlpError> {
    let mut export = OtlpExport::default();
    let read = each(body, |number, wire| match number {
        1 => resource_spans(wire.bytes(), &mut export),
        _ => Ok(()),
    });
    read.map_err(|MalformedMessage| OtlpError(String::from("it is cut or no protobuf")))?;
    Ok(export)
}

/// Reads the spans of one `ResourceSpans`; the resource gives them the names of the service and its host.
fn resource_spans(message: &[u8], export: &mut OtlpExport) -> Result<(), MalformedMessage> {
    // The resource is the first field in practice, but may be at any place.
    let mut resource = Attributes::default();
    each(message, |number, wire| {
        if number == 1 {
            resource = attributes(wire.bytes(), 1)?;
        }
        Ok(())
    })?;
    let service = resource.text("service.name").map(name);
    let host = resource.text("host.name").map(name);
    each(message, |number, wire| match number {
        2 => scope_spans(wire.bytes(), (service, host), export),
        _ => Ok(()),
    })
}

/// Reads the spans of one `ScopeSpans` of the service `service` on the machine `host`.
fn scope_spans(
    message: &[u8],
    (service, host): (Option<&str>, Option<&str>),
    export: &mut OtlpExport,
) -> Result<(), MalformedMessage> {
    let mut scope = String::new();
    each(message, |number, wire| match number {
        1 => each(wire.bytes(), |number, wire| {
            if number == 1 {
                name(&wire.text()).clone_into(&mut scope);
            }
            Ok(())
        }),
        _ => Ok(()),
    })?;
    each(message, |number, wire| {
        if number == 2 {
            let read = span(wire.bytes()).map(|span| FinishedSpan {
                service: service.map(str::to_owned),
                host: host.map(str::to_owned),
                scope: scope.clone(),
                ..span
            });
            export.add(read.map_err(|MalformedMessage| "a span that is damaged"));
        }
        Ok(())
    })
}

/// Reads a `Span`, without its service, host and scope. A field that is missing has its zero value.
fn span(message: &[u8]) -> Result<FinishedSpan, MalformedMessage> {
    let mut span = FinishedSpan::default();
    each(message, |number, wire| {
        match number {
            1 => span.trace = id(wire.bytes()),
            2 => span.id = id(wire.bytes()),
            4 if !wire.bytes().is_empty() => span.parent = Some(id(wire.bytes())),
            5 => span.name = wire.text(),
            7 => span.start_ns = wire.number(),
            8 => span.end_ns = wire.number(),
            11 => span.events.push(event(wire.bytes())?),
            15 => each(wire.bytes(), |number, wire| {
                match number {
                    2 => span.status_message = wire.text(),
                    3 => span.failed = wire.number() == FAILED,
                    _ => {}
                }
                Ok(())
            })?,
            16 => span.is_parent_remote = wire.number() & u64::from(REMOTE) == u64::from(REMOTE),
            _ => {}
        }
        Ok(())
    })?;
    span.attributes = attributes(message, 9)?;
    Ok(span)
}

/// Reads an `Event` of a span.
fn event(message: &[u8]) -> Result<SpanEvent, MalformedMessage> {
    let mut event = SpanEvent::default();
    each(message, |number, wire| {
        match number {
            1 => event.at_ns = wire.number(),
            2 => event.name = wire.text(),
            _ => {}
        }
        Ok(())
    })?;
    event.attributes = attributes(message, 3)?;
    Ok(event)
}

/// The `KeyValue`s that are the fields `field` of `message`.
fn attributes(message: &[u8], field: u64) -> Result<Attributes, MalformedMessage> {
    let mut pairs = Vec::new();
    each(message, |number, wire| {
        if number == field {
            pairs.push(pair(wire.bytes(), 0)?);
        }
        Ok(())
    })?;
    Ok(pairs.into_iter().collect())
}

/// Reads a `KeyValue` that is nested `depth` levels deep.
fn pair(message: &[u8], depth: usize) -> Result<(String, Value), MalformedMessage> {
    let (mut key, mut value) = (String::new(), Value::Null);
    each(message, |number, wire| {
        match number {
            1 => key = wire.text(),
            2 => value = any(wire.bytes(), depth)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok((key, value))
}

/// The value of an `AnyValue`, as JSON. What is nested more than [`JSON_DEPTH_MAX`] levels deep is null, and
/// so is a number that JSON does not have; of bytes only their number is kept.
fn any(message: &[u8], depth: usize) -> Result<Value, MalformedMessage> {
    let mut value = Value::Null;
    if depth >= JSON_DEPTH_MAX {
        return Ok(value);
    }
    let below = depth.saturating_add(1);
    each(message, |number, wire| {
        value = match number {
            1 => Value::String(wire.text()),
            2 => Value::Bool(wire.number() != 0),
            3 => Value::from(i64::from_le_bytes(wire.number().to_le_bytes())),
            4 => Number::from_f64(f64::from_bits(wire.number())).map_or(Value::Null, Value::Number),
            5 => {
                let mut items = Vec::new();
                each(wire.bytes(), |number, wire| {
                    if number == 1 {
                        items.push(any(wire.bytes(), below)?);
                    }
                    Ok(())
                })?;
                Value::Array(items)
            }
            6 => {
                let mut fields = Map::new();
                each(wire.bytes(), |number, wire| {
                    if number == 1 {
                        fields.extend([pair(wire.bytes(), below)?]);
                    }
                    Ok(())
                })?;
                Value::Object(fields)
            }
            7 => Value::String(format!("[{} bytes]", wire.bytes().len())),
            _ => return Ok(()),
        };
        Ok(())
    })?;
    Ok(value)
}

/// `ExportTraceServiceResponse { 1 PartialSuccess { 1 rejected, 2 message } }`, which is empty when all is well.
pub(super) fn answer(rejected: u64, message: &str) -> Vec<u8> {
    let mut inner = Vec::new();
    if rejected > 0 {
        inner.push(0x08);
        put_varint(rejected, &mut inner);
    }
    if !message.is_empty() {
        inner.push(0x12);
        put_varint(message.len() as u64, &mut inner);
        inner.extend_from_slice(message.as_bytes());
    }
    if inner.is_empty() {
        return inner;
    }
    let mut answer = vec![0x0A];
    put_varint(inner.len() as u64, &mut answer);
    answer.append(&mut inner);
    answer
}

/// Appends `number` in the encoding of variable length.
fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7F);
            return;
        }
        out.push(low | 0x80);
    }
}
