//! The laws of the model of several hubs (`tests::scale`): nothing is delivered twice or lost, and the formulas are those of the simulation.

#![expect(
    clippy::float_cmp,
    clippy::cast_precision_loss,
    reason = "what is compared is counted, and far below 2^52"
)]

use tests::scale::closed::{expected, followers, last_of_a_rolling_restart, moves_of_a_rolling_restart};
use tests::scale::load::{PublisherRoute, ViewerRoute};
use tests::scale::needs::{average, by_share};
use tests::scale::storms::{death, rolling_restart};
use tests::scale::{Design, Dice, Load, Machines, Placed, Steps, Units, needs, plot, simulated, tables};

/// A small load with a favourite.
fn small(hubs: u32) -> Load {
    Load { agents: 2_000, viewers: 20_000, favourite: 2_000, ..Load::million(hubs) }
}

const ROUTED: Design =
    Design { viewers: ViewerRoute::FewHubs(50), publishers: PublisherRoute::Owner, ..Design::TODAY };

fn placed(load: &Load) -> Placed {
    Placed::new(load, &mut Dice(7))
}

#[test]
fn every_viewer_is_at_one_hub_and_gets_each_event_once() {
    for load in [small(3), small(30), small(30).with(ROUTED)] {
        let placed = placed(&load);
        assert_eq!(placed.viewers().iter().sum::<u64>(), u64::from(load.viewers));
        assert_eq!(placed.conversations[0].viewers(), u64::from(load.favourite));
        let counted = simulated(&load, &placed, 2.0, &mut Dice(8));
        // Each event of a conversation comes to as many viewers as it has, so the sum is that of events × viewers.
        let by_hub: f64 = counted.hubs.iter().map(|hub| hub.steps.deliveries).sum();
        assert!((by_hub / counted.all.deliveries - 1.0).abs() < 1e-9);
        let ratio = counted.all.deliveries / (f64::from(load.viewers) * load.events_per_s);
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    }
}

#[test]
fn a_hub_follows_a_conversation_once_and_never_its_own() {
    for load in [small(2), small(30), small(30).with(ROUTED)] {
        let placed = placed(&load);
        for one in &placed.conversations {
            let followers: Vec<u32> = one.followers().collect();
            assert!(followers.is_sorted_by(|one, next| one < next) && !followers.contains(&one.owner));
            assert!(followers.len() < load.hubs as usize && followers.len() as u64 <= one.viewers());
        }
        let followed = placed.conversations.iter().filter(|one| one.followers().count() > 0).count();
        assert!(placed.follows() <= (u64::from(load.hubs) - 1) * followed as u64);
        assert!(placed.links() <= u64::from(load.hubs) * (u64::from(load.hubs) - 1));
        assert!(placed.links() <= placed.follows());
    }
}

#[test]
fn what_is_sent_between_hubs_arrives_there() {
    let load = small(30);
    let counted = simulated(&load, &placed(&load), 2.0, &mut Dice(8));
    let sum = |of: fn(&tests::scale::traffic::HubSteps) -> f64| counted.hubs.iter().map(of).sum::<f64>();
    assert!((sum(|hub| hub.link_frames_in) / counted.all.link_frames - 1.0).abs() < 1e-9);
    assert!((sum(|hub| hub.passed_in) / counted.all.passed - 1.0).abs() < 1e-9);
    assert!(counted.all.passed <= counted.all.events && counted.all.rows <= counted.all.events);
    assert!(counted.all.transactions <= counted.all.rows);
    assert!(counted.all.transactions <= f64::from(load.hubs) / load.design.commit_s);
}

#[test]
fn one_hub_follows_nobody_and_passes_nothing_on() {
    let load = small(1);
    let counted = simulated(&load, &placed(&load), 2.0, &mut Dice(8));
    let all = counted.all;
    assert_eq!((all.follows, all.link_frames, all.passed, all.lookups), (0.0, 0.0, 0.0, 0.0));
    assert_eq!(expected(&load).follows, 0.0);
}

#[test]
fn the_formulas_are_those_of_the_simulation() {
    for load in
        [small(3), small(30), small(30).with(ROUTED), small(30).with(Design { databases: 4, ..ROUTED })]
    {
        let counted = simulated(&load, &placed(&load), 30.0, &mut Dice(8));
        let apart = counted.all.differs_from(&expected(&load));
        assert!(apart < 0.05, "{load:?}\n{:?}\n{:?}", counted.all, expected(&load));
    }
}

#[test]
fn followers_grow_with_viewers_up_to_all_other_hubs() {
    let load = small(30);
    let by_viewers: Vec<f64> = [0.0, 1.0, 10.0, 100.0, 1e6].map(|viewers| followers(&load, viewers)).to_vec();
    assert!(by_viewers.is_sorted() && by_viewers[0] == 0.0);
    assert!((by_viewers[4] - 29.0).abs() < 1e-9);
    // Where viewers are sent to few hubs, a conversation with few of them is followed by nobody.
    assert_eq!(followers(&load.with(ROUTED), 40.0), 0.0);
}

#[test]
fn a_rolling_restart_moves_as_many_viewers_as_the_formula_says() {
    for load in [small(3), small(30)] {
        let restart = rolling_restart(&load, &placed(&load), &mut Dice(9));
        assert!((restart.moves / moves_of_a_rolling_restart(load.hubs) - 1.0).abs() < 0.02, "{restart:?}");
        assert!((restart.last / last_of_a_rolling_restart(load.hubs) - 1.0).abs() < 0.1, "{restart:?}");
    }
}

#[test]
fn who_was_at_the_dead_hub_comes_back_elsewhere_and_nobody_else_moves() {
    let load = small(30);
    let placed = placed(&load);
    let died = death(&load, &placed, (&Units::KNOWN, &Machines::default()), &mut Dice(9));
    assert_eq!(died.viewers, *placed.viewers().iter().max().unwrap() as f64);
    assert!(died.peak_per_hub * 29.0 >= died.viewers && died.follows <= died.viewers);
    assert!(died.all_back_s >= 0.25 && died.all_owned_s > 3.0);
}

#[test]
fn the_same_seed_gives_the_same_figures_and_the_same_picture() {
    let load = small(30);
    let run = || simulated(&load, &placed(&load), 1.0, &mut Dice(8)).all;
    assert_eq!(run(), run());
    let line =
        plot::Line { name: "a".into(), model: vec![(3.0, 0.1), (300.0, 5.0)], dots: vec![(30.0, 1.0)] };
    let svg = plot::draw("t", &[line]);
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("prefers-color-scheme"));
}

#[test]
fn the_need_that_is_met_least_is_named_first() {
    let load = Load::million(300);
    let steps = expected(&load);
    let average = average(&steps, &load);
    let all = needs(&load, &steps, &average, (&Units::KNOWN, &Machines::default()));
    let sorted = by_share(all.to_vec());
    assert!(sorted.windows(2).all(|pair| pair[0].share() >= pair[1].share()));
}

#[test]
fn asking_who_has_a_conversation_is_a_read_and_no_commit() {
    let load = Load::million(30);
    let asked = expected(&load);
    let at_the_owner = Steps { lookups: 0.0, ..asked };
    let of = |steps: &Steps, name: &str| {
        let all = needs(&load, steps, &average(steps, &load), (&Units::KNOWN, &Machines::default()));
        all.iter().find(|need| need.of == name).unwrap().needs
    };
    assert_eq!(of(&asked, "database: transactions"), asked.transactions);
    assert_eq!(of(&asked, "database: its log"), of(&at_the_owner, "database: its log"));
    assert_eq!(of(&asked, "database: reads of owners"), asked.lookups);
    for cpu in ["database: CPU", "hub: CPU"] {
        assert!(of(&asked, cpu) > of(&at_the_owner, cpu));
    }
}

#[test]
fn numbers_have_three_digits_that_count() {
    let numbers = [0.0, 0.0123, 1.0, 12.345, 99.96, 1_234.5, 1_234_567.0];
    assert_eq!(numbers.map(tables::number), ["0", "0.012", "1.00", "12.3", "100", "1,234", "1,234,567"]);
}
