//! Tests of what is packed.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn raw(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::encode_all(plain, 3).unwrap()
}

/// "Hello, Hello, Hello!" as brotli; there is no encoder here.
const BROTLI: &[u8] = &[
    0x8b, 0x09, 0x80, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x2c, 0x20, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x2c, 0x20,
    0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x21, 0x03,
];

fn in_pieces(encodings: &[Encoding], packed: &[u8], size: usize) -> Vec<u8> {
    let mut inflate = Inflate::new(encodings).unwrap();
    let pieces = packed.chunks(size.max(1));
    pieces.flat_map(|piece| inflate.feed(piece.to_vec()).unwrap()).collect()
}

proptest! {
    #[test]
    fn i11_what_was_packed_comes_out_however_it_is_cut(plain: Vec<u8>, size in 1_usize..50) {
        for (encoding, packed) in [(Encoding::Gzip, gzip(&plain)), (Encoding::Deflate, zlib(&plain)), (Encoding::Zstd, zstd(&plain))] {
            prop_assert_eq!(&in_pieces(&[encoding], &packed, size), &plain);
        }
        let both = zstd(&gzip(&plain));
        prop_assert_eq!(&in_pieces(&[Encoding::Gzip, Encoding::Zstd], &both, size), &plain);
        prop_assert_eq!(&in_pieces(&[], &plain, size), &plain);
    }
}

#[test]
fn deflate_without_its_frame_is_taken() {
    // As text of a server would be; the first byte of raw deflate says other things than a zlib header.
    let plain = b"data: {\"a\": 1}\n\n".repeat(20);
    assert_eq!(in_pieces(&[Encoding::Deflate], &raw(&plain), 3), plain);
}

#[test]
fn brotli_comes_out() {
    assert_eq!(in_pieces(&[Encoding::Brotli], BROTLI, 2), b"Hello, Hello, Hello!");
}

#[test]
fn what_is_flushed_is_there_at_once() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    let mut zstd = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    let mut inflates = [Inflate::new(&[Encoding::Gzip]).unwrap(), Inflate::new(&[Encoding::Zstd]).unwrap()];
    for word in ["one ", "two ", "three "] {
        gzip.write_all(word.as_bytes()).unwrap();
        gzip.flush().unwrap();
        zstd.write_all(word.as_bytes()).unwrap();
        zstd.flush().unwrap();
        let packed = [std::mem::take(gzip.get_mut()), std::mem::take(zstd.get_mut())];
        for (inflate, packed) in inflates.iter_mut().zip(packed) {
            assert_eq!(inflate.feed(packed).unwrap(), word.as_bytes());
        }
    }
}

#[test]
fn i7_a_bomb_is_stopped() {
    let bomb = gzip(&vec![0; STEP_BYTES_MAX + 1]);
    let mut inflate = Inflate::new(&[Encoding::Gzip]).unwrap();
    assert!(inflate.feed(bomb).is_err());
}

#[test]
fn the_names_of_packings_are_read() {
    let of = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, axum::http::HeaderValue::from_static(value));
        encodings(&headers)
    };
    assert_eq!(of("gzip"), Some(vec![Encoding::Gzip]));
    assert_eq!(of("X-GZIP, br"), Some(vec![Encoding::Gzip, Encoding::Brotli]));
    assert_eq!(of("identity"), Some(vec![]));
    assert_eq!(of("gzip, gzip, gzip"), None);
    assert_eq!(of("own"), None);
    assert_eq!(encodings(&HeaderMap::new()), Some(vec![]));
}
