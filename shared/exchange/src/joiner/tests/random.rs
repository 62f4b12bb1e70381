//! Many loops over one key, in any order: the same instructions, the same questions, the same answers, calls side by
//! side, retries. Only what tools give back says whose it is.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{How, World, assistant, called, calls, gave, says, system, tools, user};
use crate::{AnswerEnd, Placement};
use model::event::ToolState;

/// Random numbers from a seed that proptest prints.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// How vendors name calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ids {
    /// Each has an id that no other has.
    Telling,
    /// They are counted anew in each answer.
    Counted,
    /// The client has its own.
    Client,
}

/// An agent loop that is being played.
struct Agent {
    number: usize,
    history: Vec<Value>,
    /// Calls of the model until it has said all.
    left: u64,
    flight: Option<Placement>,
    attempt: u32,
    made: u64,
}

struct Play {
    world: World,
    dice: Dice,
    ids: Ids,
    counts_attempts: bool,
    /// When a call was handed over, by what it will give back.
    expected: BTreeMap<String, u64>,
}

impl Play {
    fn step(&mut self, agent: &mut Agent) {
        self.world.wait(self.dice.below(50));
        match agent.flight.take() {
            None if agent.left == 0 => {}
            None => {
                let how =
                    How { attempts_before: self.counts_attempts.then_some(agent.attempt), ..How::default() };
                let body = json!({ "model": "m", "messages": agent.history });
                agent.flight = Some(self.world.ask(&how, &body));
            }
            Some(placement) if self.dice.below(5) == 0 => {
                let failure = super::fact("upstream_cut");
                let status = if self.dice.below(2) == 0 { 429 } else { 200 };
                self.world.answer_with(placement.answer, status, &Value::Null, AnswerEnd::Failed(failure));
                agent.attempt += 1;
            }
            Some(placement) => self.answered(agent, placement),
        }
    }

    fn answered(&mut self, agent: &mut Agent, placement: Placement) {
        agent.attempt = 0;
        agent.left -= 1;
        let number = self.dice.below(4);
        if number == 0 {
            // What the model says is the same for all.
            self.world.answer(placement, &says("All done."));
            agent.history.extend([assistant("All done."), user("And now?")]);
            return;
        }
        let made: Vec<(String, &str, String)> = (0..number)
            .map(|place| {
                agent.made += 1;
                let id = match self.ids {
                    Ids::Telling => format!("call_{:04}x{:04}", agent.number, agent.made),
                    Ids::Counted | Ids::Client => format!("call_{place}"),
                };
                (id, if place == 0 { "look" } else { "find" }, format!("{{\"at\": {place}}}"))
            })
            .collect();
        let given: Vec<(&str, &str, &str)> =
            made.iter().map(|(id, name, text)| (id.as_str(), *name, text.as_str())).collect();
        self.world.answer(placement, &calls(&given));
        let own: Vec<String> = match self.ids {
            Ids::Client => {
                (0..number).map(|place| format!("own-{}-{}-{place}", agent.number, agent.made)).collect()
            }
            _ => made.iter().map(|(id, ..)| id.clone()).collect(),
        };
        let sent: Vec<(&str, &str, &str)> =
            own.iter().zip(&given).map(|(id, call)| (id.as_str(), call.1, call.2)).collect();
        agent.history.push(called(&sent));
        let took = 1 + self.dice.below(900);
        for (place, id) in own.iter().enumerate() {
            let result = format!("#{} {} {}", agent.number, agent.made, place);
            self.expected.insert(result.clone(), self.world.now);
            agent.history.push(gave(id, &result));
        }
        self.world.wait(took);
    }
}

fn play(seed: u64) {
    let mut dice = Dice(seed | 1);
    let ids = [Ids::Telling, Ids::Counted, Ids::Client][usize::try_from(dice.below(3)).unwrap()];
    let agents = 2 + dice.below(19);
    let counts_attempts = dice.below(2) == 0;
    let mut play = Play { world: World::default(), dice, ids, counts_attempts, expected: BTreeMap::new() };
    let mut agents: Vec<Agent> = (0..agents)
        .map(|number| Agent {
            number: usize::try_from(number).unwrap(),
            history: vec![system("You are one of many."), user("Begin.")],
            left: 1 + play.dice.below(7),
            flight: None,
            attempt: 0,
            made: 0,
        })
        .collect();
    while agents.iter().any(|agent| agent.left > 0) {
        let sides = u64::try_from(agents.len()).unwrap();
        let at = usize::try_from(play.dice.below(sides)).unwrap();
        play.step(&mut agents[at]);
    }
    check(&play);
}

fn check(play: &Play) {
    let mut homes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (conversation, view) in &play.world.views {
        assert_eq!(view.anomalies.total, 0, "{conversation}: {:?}", view.anomalies);
        let mut seen = BTreeSet::new();
        for (name, tool) in tools(view) {
            let Some(result) = &tool.result else { continue };
            let text = result.to_text().into_owned();
            let place = if text.ends_with(" 0") { "look" } else { "find" };
            assert_eq!((name.as_str(), tool.state), (place, ToolState::Complete), "{text}");
            assert!(tool.arguments.text.contains(text.rsplit(' ').next().unwrap()), "{text}");
            assert!(seen.insert(text.clone()), "{text} twice");
            let agent = text.split(' ').next().unwrap();
            homes.entry(agent.to_owned()).or_default().insert(conversation);
            if play.ids == Ids::Telling {
                let executing = tool.executing_at.unwrap();
                assert_eq!(executing, play.expected[&text], "{text}");
                assert_eq!(tool.latency_ms().unwrap(), tool.ended_at.unwrap() - executing, "{text}");
            }
        }
        let whose: BTreeSet<_> = seen.iter().map(|text| text.split(' ').next().unwrap()).collect();
        assert!(whose.len() <= 1, "{conversation} has results of {whose:?}");
    }
    for (agent, homes) in homes {
        assert_eq!(homes.len(), 1, "agent {agent} is in {homes:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn loops_over_one_key_never_mix(seed in any::<u64>()) {
        play(seed);
    }
}

/// What the models of agents that loop through text say. One answer is the beginning of others.
const WORDS: [&str; 4] = [
    "Thought: look",
    "Thought: look\nAction: look {\"at\": 1}",
    "Thought: look\nAction: look {\"at\": 2}",
    "Action: find {\"at\": 1}",
];

/// Agents that loop through text: each writes the model's answer anew, and what its tool gave behind it or as words of
/// the user. Which agent it was stands only there.
fn play_words(seed: u64) {
    let mut dice = Dice(seed | 1);
    let mut world = World::default();
    let mut agents: Vec<(Vec<Value>, Option<Placement>, u64)> = (0..2 + dice.below(9))
        .map(|_| (vec![system("s"), user("Begin.")], None, 1 + dice.below(5)))
        .collect();
    while agents.iter().any(|(_, _, left)| *left > 0) {
        let at = usize::try_from(dice.below(u64::try_from(agents.len()).unwrap())).unwrap();
        let (history, flight, left) = &mut agents[at];
        world.wait(dice.below(50));
        match flight.take() {
            None if *left == 0 => {}
            None => *flight = Some(world.chat(&Value::from(history.clone()))),
            Some(placement) if dice.below(6) == 0 => {
                let failure = AnswerEnd::Failed(super::fact("upstream_cut"));
                world.answer_with(placement.answer, 429, &Value::Null, failure);
            }
            Some(placement) => {
                let text = WORDS[usize::try_from(dice.below(4)).unwrap()];
                world.answer(placement, &says(text));
                *left -= 1;
                let (printed, seen) = (text.replace('"', "'"), format!("Observation: #{at}"));
                if dice.below(2) == 0 {
                    history.extend([assistant(&format!("{printed}\n{seen}")), user("Go on.")]);
                } else {
                    history.extend([assistant(&printed), user(&seen)]);
                }
            }
        }
    }
    for (conversation, view) in &world.views {
        assert_eq!(view.anomalies.total, 0, "{conversation}: {:?}", view.anomalies);
        let said = super::messages(view);
        let whose: BTreeSet<&str> =
            said.iter().filter_map(|(_, text)| text.split_once('#')).map(|(_, agent)| agent).collect();
        assert!(whose.len() <= 1, "{conversation} has words of {whose:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn loops_through_text_over_one_key_never_mix(seed in any::<u64>()) {
        play_words(seed);
    }
}
