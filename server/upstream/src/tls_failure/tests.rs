//! What is said about failures of TLS. Real servers are in `tests/it/client_tls.rs`.

use rustls::{CertificateError, InvalidMessage};

use super::*;

/// The failure of a connection, as tokio-rustls wraps it.
fn failure(error: rustls::Error) -> Box<dyn Error + Send + Sync> {
    Box::new(io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error)))
}

#[test]
fn a_failure_of_tls_says_how_to_mend_it_and_keeps_its_cause() {
    let cases = [
        (CertificateError::UnknownIssuer, "(ca)"),
        (CertificateError::NotValidForName, "other names"),
        (CertificateError::Expired, "renew it"),
        (CertificateError::NotValidYet, "clocks"),
    ];
    for (wrong, remedy) in cases {
        let text = explained(&*failure(rustls::Error::InvalidCertificate(wrong.clone())));
        assert!(text.contains(remedy), "{wrong:?}: {text}");
        assert!(text.contains("invalid peer certificate"), "{wrong:?}: {text}");
    }
    let text = explained(&*failure(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)));
    assert!(text.contains("http://"), "{text}");
}

#[test]
fn other_failures_are_said_as_they_are() {
    let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "refused");
    assert_eq!(explained(&refused), "refused");
    let alert = rustls::Error::AlertReceived(rustls::AlertDescription::ProtocolVersion);
    assert!(!explained(&*failure(alert)).contains('('));
}
