//! Tests of frames on the wire.
