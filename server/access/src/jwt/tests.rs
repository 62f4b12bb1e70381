//! Tests of which tokens of others are believed: each is right but for one thing.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use ring::{hmac, rsa};
use serde_json::json;

use super::*;
use crate::mapping::IdentityRule;
use crate::roles::Roles;

const SECRET: &str = "a secret of thirty-two bytes or more";

/// In seconds since 1970.
const NOW: u64 = 1_000_000;

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn signed(header: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", b64(header.to_string()), b64(claims.to_string()));
    let signature = sign(message.as_bytes());
    format!("{message}.{}", b64(signature))
}

fn hmac_of(secret: &[u8]) -> impl FnOnce(&[u8]) -> Vec<u8> + '_ {
    |message| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message).as_ref().to_vec()
}

fn claims() -> Value {
    json!({"iss":"https://id.example","aud":"hub","sub":"ann","exp":NOW + 60})
}

/// The claims with one of them changed.
fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn mapping() -> IdentityMapping {
    let rule = IdentityRule {
        claim: "sub".into(),
        value: None,
        grants: vec!["view:*".parse().unwrap()],
        role: None,
    };
    IdentityMapping::new("sub", vec![rule], &Roles::default()).unwrap()
}

fn issuer(kind: JwtKeyKind, algorithms: &[&str], keys: JwtKeys) -> JwtIssuer {
    let settings = JwtSettings {
        issuer: "https://id.example".into(),
        audiences: vec!["hub".into(), "hub-2".into()],
        algorithms: algorithms.iter().map(|word| (*word).to_owned()).collect(),
        skew_s: 30,
        keys: kind,
    };
    let mut issuer = JwtIssuer::new(settings, mapping()).unwrap();
    issuer.set_keys(keys);
    issuer
}

fn by_secret() -> JwtIssuer {
    issuer(JwtKeyKind::Secret, &[], JwtKeys::secret(SECRET).unwrap())
}

/// What the token gets at `NOW`.
fn verify(issuer: &JwtIssuer, token: &str) -> Result<u64, Denial> {
    issuer.verify(token, NOW * 1000).map(|verified| verified.expires)
}

fn hs256(claims: &Value) -> String {
    signed(&json!({"alg":"HS256","typ":"JWT"}), claims, hmac_of(SECRET.as_bytes()))
}

struct Keys {
    rsa: RsaKeyPair,
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
}

impl Keys {
    fn new() -> Self {
        let random = SystemRandom::new();
        let der = STANDARD.decode(include_str!("../../../../tests/fixtures/jwt/rsa-test-key.txt")).unwrap();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self {
            rsa: RsaKeyPair::from_pkcs8(&der).unwrap(),
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap(),
        }
    }

    fn jwks(&self) -> Value {
        let rsa: rsa::PublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        let point = self.ec.public_key().as_ref();
        json!({"keys":[
            {"kty":"RSA","kid":"r","use":"sig","n":b64(rsa.n),"e":b64(rsa.e)},
            {"kty":"OKP","crv":"Ed25519","kid":"d","x":b64(self.ed.public_key())},
            {"kty":"EC","crv":"P-256","kid":"e","x":b64(&point[1..33]),"y":b64(&point[33..])},
            {"kty":"oct","kid":"o","k":b64(SECRET)},
            {"kty":"RSA","kid":"enc","use":"enc","n":"AQAB","e":"AQAB"},
            {"kty":"what","kid":"w"},
        ]})
    }

    fn sign(&self, algorithm: &str, kid: Option<&str>, claims: &Value) -> String {
        let mut header = json!({"alg":algorithm});
        if let Some(kid) = kid {
            header["kid"] = json!(kid);
        }
        let random = SystemRandom::new();
        signed(&header, claims, |message| match algorithm {
            "RS256" => {
                let mut signature = vec![0; self.rsa.public().modulus_len()];
                self.rsa.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
            "EdDSA" => self.ed.sign(message).as_ref().to_vec(),
            _ => self.ec.sign(&random, message).unwrap().as_ref().to_vec(),
        })
    }
}

fn by_set(keys: &Keys, algorithms: &[&str]) -> JwtIssuer {
    issuer(JwtKeyKind::Public, algorithms, JwtKeys::set(&keys.jwks().to_string()).unwrap())
}

#[test]
fn each_algorithm_is_taken_with_its_own_key_and_with_no_other() {
    let keys = Keys::new();
    let issuer = by_set(&keys, &[]);
    for (algorithm, kid) in [("RS256", "r"), ("EdDSA", "d"), ("ES256", "e")] {
        let token = keys.sign(algorithm, Some(kid), &claims());
        assert_eq!(verify(&issuer, &token), Ok((NOW + 90) * 1000), "{algorithm}");
        assert!(verify(&issuer, &keys.sign(algorithm, None, &claims())).is_ok(), "one key fits {algorithm}");
        for other in ["r", "d", "e"].into_iter().filter(|other| *other != kid) {
            let token = keys.sign(algorithm, Some(other), &claims());
            assert_eq!(verify(&issuer, &token), Err(Denial::Untrusted), "{algorithm} by {other}");
        }
    }
    assert!(verify(&by_secret(), &hs256(&claims())).is_ok());
}

#[test]
fn attack_algorithm_confusion() {
    let keys = Keys::new();
    let issuer = by_set(&keys, &[]);
    let public = keys.jwks();
    let modulus = URL_SAFE_NO_PAD.decode(public["keys"][0]["n"].as_str().unwrap()).unwrap();
    let of_set = public.to_string();
    let of_key = public["keys"][0].to_string();
    // What everybody knows of the public key is no secret to sign with.
    for secret in [modulus.as_slice(), of_set.as_bytes(), of_key.as_bytes(), SECRET.as_bytes(), b""] {
        for kid in ["r", "d", "e", "o"] {
            let token = signed(&json!({"alg":"HS256","kid":kid}), &claims(), hmac_of(secret));
            assert!(verify(&issuer, &token).is_err(), "{kid}");
        }
    }
    for alg in ["none", "None", "NONE", "nOnE", "", "HS512", "RS257"] {
        for issuer in [&issuer, &by_secret()] {
            let token = signed(&json!({"alg":alg}), &claims(), |_| Vec::new());
            assert_eq!(verify(issuer, &token), Err(Denial::Untrusted), "{alg}");
        }
    }
    // A key of the settings signs only as the settings say.
    let narrow = by_set(&keys, &["EdDSA"]);
    assert!(verify(&narrow, &keys.sign("EdDSA", Some("d"), &claims())).is_ok());
    assert_eq!(verify(&narrow, &keys.sign("RS256", Some("r"), &claims())), Err(Denial::Untrusted));
    // And a key that says what it is for is for nothing else.
    let mut set = keys.jwks();
    set["keys"][0]["alg"] = json!("PS256");
    let other = issuer_of(&set);
    assert_eq!(verify(&other, &keys.sign("RS256", Some("r"), &claims())), Err(Denial::Untrusted));
}

fn issuer_of(set: &Value) -> JwtIssuer {
    issuer(JwtKeyKind::Public, &[], JwtKeys::set(&set.to_string()).unwrap())
}

#[test]
fn attack_tricks_with_the_name_of_the_key_and_with_keys_in_the_token() {
    let keys = Keys::new();
    let issuer = by_set(&keys, &[]);
    for kid in ["", "R", "r\u{0}", "../../dev/null", "/dev/null", "r' OR '1'='1", "o", "enc", "w"] {
        let token = keys.sign("RS256", Some(kid), &claims());
        assert_eq!(verify(&issuer, &token), Err(Denial::UnknownKey), "{kid:?}");
    }
    let own = Keys::new();
    let stranger = own.ed.public_key();
    let jwk = json!({"kty":"OKP","crv":"Ed25519","x":b64(stranger)});
    for header in [
        json!({"alg":"EdDSA","jwk":jwk}),
        json!({"alg":"EdDSA","kid":"d","jwk":jwk}),
        json!({"alg":"EdDSA","kid":"d","jku":"https://evil.example/jwks"}),
        json!({"alg":"EdDSA","kid":"d","x5u":"https://evil.example/x","x5c":["AA=="]}),
    ] {
        let token = signed(&header, &claims(), |message| own.ed.sign(message).as_ref().to_vec());
        assert_eq!(verify(&issuer, &token), Err(Denial::Untrusted), "{header}");
    }
    // The test can forge: with that key in the set the same token is taken.
    let forged = issuer_of(&json!({"keys":[jwk]}));
    let token = signed(&json!({"alg":"EdDSA"}), &claims(), |message| own.ed.sign(message).as_ref().to_vec());
    assert!(verify(&forged, &token).is_ok());
    let critical = json!({"alg":"EdDSA","crit":["b64"],"b64":false});
    let token = signed(&critical, &claims(), |message| own.ed.sign(message).as_ref().to_vec());
    assert_eq!(verify(&forged, &token), Err(Denial::Untrusted), "what must be understood is not");
    let logout = json!({"alg":"EdDSA","typ":"logout+jwt"});
    let token = signed(&logout, &claims(), |message| own.ed.sign(message).as_ref().to_vec());
    assert_eq!(verify(&forged, &token), Err(Denial::Untrusted), "made for something else");
}

#[test]
fn attack_other_issuers_audiences_and_times() {
    let issuer = by_secret();
    let good = [
        claims(),
        with("aud", json!(["x", "hub-2"])),
        with("nbf", json!(NOW + 30)),
        with("exp", json!(NOW - 29)),
        with("exp", json!(1_000_000.5)),
    ];
    for claims in good {
        assert!(verify(&issuer, &hs256(&claims)).is_ok(), "{claims}");
    }
    let bad = [
        (without("iss"), Denial::Untrusted),
        (with("iss", json!("https://id.example/")), Denial::Untrusted),
        (with("iss", json!(["https://id.example", "https://evil.example"])), Denial::Untrusted),
        (without("aud"), Denial::Untrusted),
        (with("aud", json!("hu")), Denial::Untrusted),
        (with("aud", json!([])), Denial::Untrusted),
        (with("aud", json!(["x"])), Denial::Untrusted),
        (without("exp"), Denial::Untrusted),
        (with("exp", json!(null)), Denial::Untrusted),
        (with("exp", json!(format!("{}", NOW + 60))), Denial::Untrusted),
        (with("exp", json!(true)), Denial::Untrusted),
        (with("exp", json!([NOW + 60])), Denial::Untrusted),
        (with("exp", json!(-1)), Denial::Untrusted),
        (with("exp", json!(NOW - 30)), Denial::Expired),
        (with("exp", json!(0)), Denial::Expired),
        (with("nbf", json!(NOW + 31)), Denial::NotYet),
        (with("nbf", json!("0")), Denial::Untrusted),
        (with("iat", json!(NOW + 31)), Denial::NotYet),
        (with("iat", json!({})), Denial::Untrusted),
    ];
    for (claims, denial) in bad {
        assert_eq!(verify(&issuer, &hs256(&claims)), Err(denial), "{claims}");
    }
    // As far as numbers go, and no farther.
    let end = verify(&issuer, &hs256(&with("exp", json!(1e300))));
    assert_eq!(end, Ok(u64::MAX));
}

#[test]
fn attack_tokens_that_are_changed_cut_or_joined() {
    let issuer = by_secret();
    let token = hs256(&claims());
    let parts: Vec<_> = token.split('.').collect();
    let (header, body, signature) = (parts[0], parts[1], parts[2]);
    let admin = b64(with("sub", json!("admin")).to_string());
    for changed in [
        format!("{header}.{admin}.{signature}"),
        format!("{header}.{body}."),
        format!("{header}.{body}"),
        format!("{header}.{body}.{signature}.{signature}"),
        format!("{header}.{body}.{signature}="),
        format!("{header}.{body}.{}", signature.chars().skip(1).collect::<String>()),
        format!(".{body}.{signature}"),
        format!("{header}..{signature}"),
        token.to_uppercase(),
        format!(" {token}"),
        "..".to_owned(),
        String::new(),
    ] {
        assert_eq!(verify(&issuer, &changed), Err(Denial::Untrusted), "{changed}");
    }
    let long = hs256(&with("note", json!("x".repeat(JWT_BYTES_MAX))));
    assert_eq!(verify(&issuer, &long), Err(Denial::Malformed), "i7: {JWT_BYTES_MAX}");
    assert_eq!(unchecked_issuer(&long), None);
}

#[test]
fn keys_and_settings_that_protect_nothing_are_refused() {
    assert_eq!(JwtKeys::secret("short\n").map(|_| ()), Err(JwtKeyError::Short(5)));
    let pem = "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkq\n-----END PUBLIC KEY-----\n";
    assert_eq!(JwtKeys::secret(pem).map(|_| ()), Err(JwtKeyError::Public));
    assert!(matches!(JwtKeys::set("{}"), Err(JwtKeyError::Set(_))));
    assert_eq!(JwtKeys::set(r#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#).map(|_| ()), Err(JwtKeyError::None));
    let many = json!({"keys":vec![json!({}); JWT_KEYS_MAX + 1]});
    assert_eq!(JwtKeys::set(&many.to_string()).map(|_| ()), Err(JwtKeyError::Many(JWT_KEYS_MAX + 1)));
    let good = JwtSettings {
        issuer: "i".into(),
        audiences: vec!["a".into()],
        algorithms: vec![],
        skew_s: JWT_SKEW_S_MAX,
        keys: JwtKeyKind::Public,
    };
    let new = |settings| JwtIssuer::new(settings, mapping()).map(|_| ());
    assert_eq!(new(good.clone()), Ok(()));
    assert_eq!(new(JwtSettings { audiences: vec![], ..good.clone() }), Err(JwtSettingsError::NoAudience));
    assert_eq!(new(JwtSettings { issuer: "".into(), ..good.clone() }), Err(JwtSettingsError::NoIssuer));
    assert_eq!(new(JwtSettings { skew_s: 301, ..good.clone() }), Err(JwtSettingsError::Skew(301)));
    for (kind, word) in
        [(JwtKeyKind::Public, "HS256"), (JwtKeyKind::Secret, "RS256"), (JwtKeyKind::Public, "none")]
    {
        let settings = JwtSettings { keys: kind, algorithms: vec![word.to_owned()], ..good.clone() };
        assert_eq!(new(settings), Err(JwtSettingsError::Algorithm(word.to_owned())), "{word}");
    }
}
