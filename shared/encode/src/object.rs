//! Writes JSON objects field by field, in the order in which the dialect's own servers do, straight into the stream.

use serde::Serialize;

/// An object that is being written. It appends to the stream and keeps nothing else.
#[derive(Debug)]
pub(crate) struct ObjectWriter<'a> {
    /// The bytes of the stream.
    out: &'a mut Vec<u8>,
    /// No field was written yet.
    is_empty: bool,
}

impl<'a> ObjectWriter<'a> {
    /// Writes one object to the end of `out`; `fill` adds its fields.
    pub(crate) fn write(out: &'a mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
        out.push(b'{');
        fill(&mut ObjectWriter { out, is_empty: true });
        out.push(b'}');
    }

    /// Adds a field. A value that cannot be written becomes `null`.
    pub(crate) fn put<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> &mut Self {
        self.key(key);
        let before = self.out.len();
        if serde_json::to_writer(&mut *self.out, value).is_err() {
            self.out.truncate(before);
            self.out.extend_from_slice(b"null");
        }
        self
    }

    /// Adds a field, if there is a value.
    pub(crate) fn put_some<T: Serialize>(&mut self, key: &str, value: Option<T>) -> &mut Self {
        match value {
            Some(value) => self.put(key, &value),
            None => self,
        }
    }

    /// Adds a field with an object of its own.
    pub(crate) fn nest(&mut self, key: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) -> &mut Self {
        self.key(key);
        ObjectWriter::write(self.out, fill);
        self
    }

    /// Adds a field with a list of one object.
    pub(crate) fn nest_one(&mut self, key: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) -> &mut Self {
        self.key(key);
        self.out.push(b'[');
        ObjectWriter::write(self.out, fill);
        self.out.push(b']');
        self
    }

    /// Adds a field with a list that has an object for each of `items`.
    pub(crate) fn nest_all<T>(
        &mut self,
        key: &str,
        items: &[T],
        fill: impl Fn(&T, &mut ObjectWriter<'_>),
    ) -> &mut Self {
        self.key(key);
        self.out.push(b'[');
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.out.push(b',');
            }
            ObjectWriter::write(self.out, |object| fill(item, object));
        }
        self.out.push(b']');
        self
    }

    /// Adds the arguments of a call as JSON if they are valid, else as a string: a model wrote them. Empty
    /// arguments become an object without fields.
    pub(crate) fn put_arguments(&mut self, key: &str, text: &str) -> &mut Self {
        if text.trim().is_empty() {
            return self.nest(key, |_nothing| {});
        }
        match model::Json::parse(text) {
            Some(json) => self.put(key, &json),
            None => self.put(key, text),
        }
    }

    /// Writes a key, with a comma before it unless it is the first.
    fn key(&mut self, key: &str) {
        if !std::mem::replace(&mut self.is_empty, false) {
            self.out.push(b',');
        }
        // Keys are not escaped: they are plain words of the dialects.
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

/// Writes one server-sent event without a name, whose data is the object that `fill` makes.
pub(crate) fn data_event(out: &mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    out.extend_from_slice(b"data: ");
    ObjectWriter::write(out, fill);
    out.extend_from_slice(b"\n\n");
}

/// Writes one server-sent event with a name, whose data is the object that `fill` makes.
pub(crate) fn named_event(out: &mut Vec<u8>, name: &str, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
    data_event(out, fill);
}

/// Writes one line of NDJSON with the object that `fill` makes.
pub(crate) fn json_line(out: &mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    ObjectWriter::write(out, fill);
    out.push(b'\n');
}
