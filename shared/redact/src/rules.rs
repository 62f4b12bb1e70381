//! The secrets that are known by how they begin: which vendors' keys there are and what their bodies are made of. The lengths are those of
//! the vendors' documents, a little less where a vendor has changed them before.

use crate::base64;

/// What a body is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// ASCII letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Digits and the letters `a` to `f`.
    Hex,
    /// Upper-case letters and digits.
    Upper,
    /// Base64 of the usual alphabet, with its padding.
    Base64,
    /// What RFC 6750 allows in a bearer token.
    Token,
    /// A path of letters, digits and `/`.
    Path,
}

impl Set {
    /// Whether `byte` may be in a body.
    pub(crate) fn has(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() && !matches!(self, Self::Hex | Self::Upper)
            || match self {
                Self::Alnum => false,
                Self::Word => matches!(byte, b'_' | b'-'),
                Self::Dotted => matches!(byte, b'_' | b'-' | b'.'),
                Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
                Self::Upper => byte.is_ascii_digit() || byte.is_ascii_uppercase(),
                Self::Base64 => matches!(byte, b'+' | b'/' | b'='),
                Self::Token => matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'='),
                Self::Path => byte == b'/',
            }
    }
}

/// What else must hold of a body, so that a word of a text is not taken for a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Nothing else must hold.
    Any,
    /// At least three digits and a letter.
    Random,
    /// At least two dots with something between them: a JSON Web Token or one that is encrypted.
    Jwt,
    /// At least two pieces of ten bytes or more, with dots between them.
    Halves,
    /// Base64 of a name, a colon and a password.
    Basic,
}

impl Shape {
    /// Whether `body` has it.
    pub(crate) fn fits(self, body: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Random => {
                let digits = body.iter().filter(|byte| byte.is_ascii_digit()).count();
                digits >= 3 && body.iter().any(u8::is_ascii_alphabetic)
            }
            Self::Jwt => {
                let mut segments = body.split(|byte| *byte == b'.').skip(1);
                segments.next().is_some_and(|it| it.len() >= 4)
                    && segments.next().is_some_and(|it| it.len() >= 4)
            }
            Self::Halves => body.split(|byte| *byte == b'.').filter(|half| half.len() >= 10).count() >= 2,
            Self::Basic => {
                let plain = base64::bytes(body);
                plain.contains(&b':')
                    && !plain.iter().any(u8::is_ascii_control)
                    && std::str::from_utf8(&plain).is_ok()
            }
        }
    }
}

/// Where a secret stands behind what it is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// What it is known by is a part of it.
    Prefix,
    /// The secret follows at once, and what it is known by stays.
    After,
    /// The secret follows behind `=`, `:` or the like, and what it is known by stays.
    Value,
}

/// A kind of secret that is known by how it begins.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The name of the kind in marks and metrics.
    pub(crate) name: &'static str,
    /// How it begins; at least three bytes each.
    pub(crate) starts: &'static [&'static str],
    /// The place of the secret behind what it is known by.
    pub(crate) start: Start,
    /// What its body is made of.
    pub(crate) body: Set,
    /// Fewest bytes of the body.
    pub(crate) min: usize,
    /// Most bytes of the body; a longer one is something else.
    pub(crate) max: usize,
    /// What else holds of it.
    pub(crate) shape: Shape,
}

const MANY: usize = usize::MAX;

const fn key(name: &'static str, starts: &'static [&'static str], body: Set, min: usize) -> Rule {
    Rule { name, starts, start: Start::Prefix, body, min, max: MANY, shape: Shape::Any }
}

const fn random(name: &'static str, starts: &'static [&'static str], body: Set, min: usize) -> Rule {
    Rule { shape: Shape::Random, ..key(name, starts, body, min) }
}

const fn exact(name: &'static str, starts: &'static [&'static str], body: Set, bytes: usize) -> Rule {
    Rule { max: bytes, ..key(name, starts, body, bytes) }
}

/// Keys of vendors. Of two that begin alike the longer one stands first.
pub(crate) const KEYS: [Rule; 40] = [
    key("anthropic-key", &["sk-ant-"], Set::Word, 20),
    random("openrouter-key", &["sk-or-"], Set::Word, 20),
    random("langfuse-key", &["sk-lf-"], Set::Word, 20),
    random("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], Set::Word, 20),
    random("openai-key", &["sk-"], Set::Word, 20),
    key("google-key", &["AIza"], Set::Word, 35),
    key("google-token", &["ya29."], Set::Dotted, 20),
    key("google-secret", &["GOCSPX-"], Set::Word, 20),
    exact("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], Set::Upper, 16),
    key("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Set::Alnum, 36),
    key("github-token", &["github_pat_"], Set::Word, 36),
    key(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-", "glft-", "glimt-"],
        Set::Dotted,
        20,
    ),
    random(
        "slack-token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xoxc-", "xoxd-", "xapp-"],
        Set::Dotted,
        20,
    ),
    key("slack-webhook", &["hooks.slack.com/services/"], Set::Path, 20),
    key("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"], Set::Alnum, 16),
    key("huggingface-token", &["hf_"], Set::Alnum, 30),
    key("npm-token", &["npm_"], Set::Alnum, 36),
    key("pypi-token", &["pypi-AgE"], Set::Word, 50),
    Rule { shape: Shape::Halves, ..key("sendgrid-key", &["SG."], Set::Dotted, 40) },
    exact(
        "twilio-key",
        &[
            "SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd",
            "SKe", "SKf",
        ],
        Set::Hex,
        31,
    ),
    key("groq-key", &["gsk_"], Set::Alnum, 40),
    random("xai-key", &["xai-"], Set::Alnum, 60),
    key("perplexity-key", &["pplx-"], Set::Alnum, 40),
    key("replicate-token", &["r8_"], Set::Alnum, 37),
    key("nvidia-key", &["nvapi-"], Set::Word, 40),
    key("langsmith-key", &["lsv2_pt_", "lsv2_sk_"], Set::Word, 32),
    key("databricks-token", &["dapi"], Set::Hex, 32),
    key("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Set::Hex, 64),
    key("shopify-token", &["shpat_", "shpss_", "shpca_", "shppa_"], Set::Hex, 32),
    key("linear-key", &["lin_api_"], Set::Alnum, 32),
    key("notion-token", &["ntn_"], Set::Alnum, 40),
    key("postman-key", &["PMAK-"], Set::Word, 50),
    key("atlassian-token", &["ATATT3"], Set::Token, 60),
    key("docker-token", &["dckr_pat_"], Set::Word, 20),
    key("vault-token", &["hvs."], Set::Word, 24),
    key("grafana-token", &["glsa_", "glc_"], Set::Base64, 32),
    key("supabase-token", &["sbp_"], Set::Hex, 40),
    key("fanlight-token", &["fanlight_"], Set::Word, 43),
    key("age-key", &["AGE-SECRET-KEY-1"], Set::Upper, 50),
    Rule { shape: Shape::Jwt, ..key("jwt", &["eyJ"], Set::Dotted, 30) },
];

/// Secrets that are known by what stands before them.
pub(crate) const VALUES: [Rule; 6] = [
    Rule {
        start: Start::After,
        shape: Shape::Random,
        ..key("bearer-token", &["Bearer ", "bearer ", "BEARER "], Set::Token, 16)
    },
    Rule {
        start: Start::After,
        shape: Shape::Basic,
        ..key("basic-credentials", &["Basic ", "basic ", "BASIC "], Set::Base64, 8)
    },
    Rule {
        start: Start::Value,
        shape: Shape::Random,
        ..key("authorization", &["uthorization", "UTHORIZATION"], Set::Token, 20)
    },
    Rule {
        start: Start::Value,
        ..exact(
            "aws-secret-key",
            &[
                "ecret_access_key",
                "ECRET_ACCESS_KEY",
                "ecretAccessKey",
                "ecret access key",
                "ecret Access Key",
            ],
            Set::Base64,
            40,
        )
    },
    Rule { start: Start::Value, ..key("azure-key", &["AccountKey", "SharedAccessKey"], Set::Base64, 40) },
    Rule {
        start: Start::Value,
        shape: Shape::Random,
        ..key(
            "api-key",
            &["api-key", "api_key", "apikey", "apiKey", "API_KEY", "API-KEY", "Api-Key", "ApiKey"],
            Set::Token,
            20,
        )
    },
];

/// The name of marks for private keys.
pub(crate) const PRIVATE_KEY: &str = "private-key";

/// The name of marks for payment cards.
pub(crate) const CARD: &str = "card";

/// The name of marks for addresses.
pub(crate) const EMAIL: &str = "email";
