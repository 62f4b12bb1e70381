//! Secrets for tests: random ones of each kind, the same in each run. Tests of other crates include this file.

/// Random numbers of a fixed seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn body(&mut self, alphabet: &str, count: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..count).map(|_| letters[self.roll(letters.len())]).collect()
    }
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";

/// A secret: what everybody knows of it, and what nobody may.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) known: String,
    pub(crate) secret: String,
}

pub(crate) fn samples(count: usize) -> Vec<Sample> {
    let mut dice = Dice(20);
    let word = format!("{ALNUM}_-");
    (0..count)
        .map(|number| {
            let (known, secret) = match number % 20 {
                0 => ("sk-proj-", dice.body(&word, 44) + "7a4b9"),
                1 => ("sk-ant-", format!("api03-{}", dice.body(&word, 60))),
                2 => ("sk-", dice.body(ALNUM, 40) + "8a8b8"),
                3 => ("AIza", dice.body(&word, 35)),
                4 => ("AKIA", dice.body("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
                5 => ("ghp_", dice.body(ALNUM, 36)),
                6 => ("github_pat_", format!("{}_{}", dice.body(ALNUM, 22), dice.body(ALNUM, 59))),
                7 => ("glpat-", dice.body(ALNUM, 20)),
                8 => ("xoxb-", format!("123456789012-{}", dice.body(ALNUM, 24))),
                9 => ("sk_live_", dice.body(ALNUM, 24)),
                10 => ("hf_", dice.body(ALNUM, 34)),
                11 => ("npm_", dice.body(ALNUM, 36)),
                12 => ("pypi-AgE", format!("IcHlwaS5vcmc{}", dice.body(&word, 60))),
                13 => ("SG.", format!("{}.{}", dice.body(ALNUM, 22), dice.body(ALNUM, 43))),
                14 => ("SK4", dice.body(HEX, 31)),
                15 => ("Bearer ", dice.body(ALNUM, 40) + "123"),
                16 => (
                    "eyJ",
                    format!("hbGciOiJIUzI1NiJ9.eyJzdWIiOiI{}.{}", dice.body(ALNUM, 20), dice.body(&word, 43)),
                ),
                17 => ("aws_secret_access_key = ", dice.body(&format!("{ALNUM}/+"), 40)),
                18 => {
                    let lines = [dice.body(ALNUM, 64), dice.body(ALNUM, 64)].join("\n");
                    ("-----BEGIN RSA PRIVATE KEY-----", format!("\n{lines}\n-----END RSA PRIVATE KEY-----"))
                }
                _ => ("411111", card("411111", &mut dice)),
            };
            Sample { known: known.to_owned(), secret }
        })
        .collect()
}

/// The digits that make `begin` a card of 16 digits.
fn card(begin: &str, dice: &mut Dice) -> String {
    let rest = dice.body("0123456789", 9);
    let all = format!("{begin}{rest}");
    let sum: u32 = all
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let doubled = u32::from(digit - b'0') * if at % 2 == 0 { 2 } else { 1 };
            if doubled > 9 { doubled - 9 } else { doubled }
        })
        .sum();
    format!("{rest}{}", (10 - sum % 10) % 10)
}
