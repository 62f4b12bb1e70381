//! Tests of events on the wire.
