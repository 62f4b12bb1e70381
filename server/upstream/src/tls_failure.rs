//! Why TLS was not agreed on, in words that say how to mend it. The text of rustls follows in brackets.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use crate::error::reason;

/// The reason why a connection was not made, with the remedy where TLS failed for a cause that people can mend.
pub(crate) fn explained(error: &(dyn Error + 'static)) -> String {
    let reason = reason(error);
    match remedy(error, &reason) {
        None => reason,
        Some(remedy) => format!("{remedy} ({reason})"),
    }
}

/// What is wrong, and how to mend it.
fn remedy(error: &(dyn Error + 'static), reason: &str) -> Option<&'static str> {
    use rustls::Error as Tls;

    // It is said by tokio-rustls alone, and no type tells it from other ends.
    if reason.contains("tls handshake eof") {
        return Some(
            "it closed the connection before TLS was agreed on; write http:// if it speaks plain HTTP",
        );
    }
    match tls_error(error)? {
        Tls::InvalidMessage(_) => {
            Some("what answers there speaks no TLS; write http:// if it speaks plain HTTP")
        }
        Tls::InvalidCertificate(wrong) => remedy_of_certificate(wrong),
        _ => None,
    }
}

/// What is wrong with a certificate, and how to mend it.
fn remedy_of_certificate(wrong: &CertificateError) -> Option<&'static str> {
    use CertificateError as Wrong;

    Some(match wrong {
        Wrong::UnknownIssuer => {
            "its certificate is from an issuer that this machine does not trust; if you do, name a file with the issuer's certificate (ca)"
        }
        Wrong::BadSignature => {
            "its certificate is not from the issuer that it names, such as another with the same name; name a file with the right one (ca)"
        }
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => {
            "its certificate is for other names; reach it under one of them, or give it a certificate with this one"
        }
        Wrong::Expired | Wrong::ExpiredContext { .. } => {
            "its certificate has expired; renew it there, or set the clock of this machine right"
        }
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
            "its certificate is not valid yet; set the clocks of both machines right"
        }
        // The type of this cause is that of another crate.
        Wrong::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is that of an issuer (CA:TRUE), which a server may not have; make one with basicConstraints=CA:FALSE"
        }
        _ => return None,
    })
}

/// The error of rustls among the causes. One that came through a socket is inside an `io::Error`, whose `source` leaves it out.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => cause.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests;
