//! How far several hubs on one log go: prints the tables of `docs/scale.md` and draws `docs/images/scale.svg`. Fails if the formulas and the
//! simulation are further apart than [`APART_MAX`]. The model is `tests::scale`, what its figures are measured with `benches/scale/units.py`.

use std::io::Write as _;

use tests::scale::load::{PublisherRoute, ViewerRoute};
use tests::scale::needs::{average, by_share};
use tests::scale::storms::{Death, RollingRestart, death, rolling_restart};
use tests::scale::traffic::{Counted, HubSteps};
use tests::scale::{
    Design, Dice, Load, Machines, Need, Placed, Steps, Units, expected, needs, plot, simulated, tables,
};

/// Where all randomness comes from.
const SEED: u64 = 23;

/// For how long agents speak in the simulation.
const SECONDS: f64 = 60.0;

/// Most by which the simulation may differ from the formulas.
const APART_MAX: f64 = 0.02;

/// The sizes in the tables.
const SIZES: [u32; 3] = [3, 30, 300];

/// Further sizes in the picture.
const DRAWN: [u32; 14] = [3, 4, 5, 7, 10, 15, 20, 30, 45, 70, 100, 150, 220, 300];

const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/images/scale.svg");

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Other ways to build it, each on top of the one before but for the last.
const DESIGNS: [(&str, Design); 5] = [
    ("today", Design::TODAY),
    ("publishers at the owner", Design { publishers: PublisherRoute::Owner, ..Design::TODAY }),
    ("and viewers at few hubs", ROUTED),
    ("and rows once a second", Design { commit_s: 1.0, ..ROUTED }),
    ("16 databases instead", Design { databases: 16, ..ROUTED }),
];

const ROUTED: Design =
    Design { publishers: PublisherRoute::Owner, viewers: ViewerRoute::FewHubs(2_000), ..Design::TODAY };

/// One size, simulated.
struct Run {
    load: Load,
    counted: Counted,
    death: Death,
    restart: RollingRestart,
}

fn main() -> Outcome<()> {
    let (units, machines) = (Units::KNOWN, Machines::default());
    let mut out = std::io::stdout().lock();
    let runs = SIZES.map(|hubs| run(Load::million(hubs), &units, &machines));
    let loads = [0, 1, 2].map(|size| runs.get(size).map_or(Load::million(3), |run| run.load));
    let totals: Vec<Steps> = runs.iter().map(|run| run.counted.all).collect();
    for run in &runs {
        check(run)?;
    }
    writeln!(out, "## Units\n\n{}", tables::units(&units))?;
    writeln!(out, "## Steps\n\n{}", tables::steps(&loads, &totals))?;
    let columns: Vec<String> = SIZES.iter().map(|hubs| format!("{hubs} hubs")).collect();
    let in_use: Vec<Vec<Need>> = runs.iter().map(|run| worst(run, &units, &machines)).collect();
    writeln!(out, "## In use, busiest hub, simulated\n\n{}", tables::shares(&columns, &in_use))?;
    for (needs, hubs) in in_use.iter().zip(SIZES) {
        let first: Vec<String> = by_share(needs.clone())
            .iter()
            .take(4)
            .map(|need| format!("{} {:.2}", need.of, need.share()))
            .collect();
        writeln!(out, "* {hubs} hubs: {}", first.join(", "))?;
    }
    writeln!(out, "\n## Costs\n\n{}", tables::costs(&columns, &loads, &units))?;
    let (deaths, restarts): (Vec<Death>, Vec<RollingRestart>) =
        runs.iter().map(|run| (run.death, run.restart)).unzip();
    writeln!(out, "## Storms\n\n{}", tables::storms(&loads, &deaths, &restarts))?;
    for hubs in [30, 300] {
        let names: Vec<String> = DESIGNS.iter().map(|(name, _)| (*name).to_owned()).collect();
        let loads: Vec<Load> = DESIGNS.iter().map(|(_, design)| Load::million(hubs).with(*design)).collect();
        let in_use: Vec<Vec<Need>> = loads.iter().map(|load| modelled(load, &units, &machines)).collect();
        writeln!(out, "## Designs, {hubs} hubs\n\n{}", tables::shares(&names, &in_use))?;
        writeln!(out, "{}", tables::costs(&names, &loads, &units))?;
    }
    let lines = lines(&runs, &units, &machines);
    let title =
        "How much is in use, by the number of hubs. Lines: the model. Dots: the busiest hub, simulated.";
    std::fs::write(PICTURE, plot::draw(title, &lines))?;
    Ok(())
}

/// Simulates one size.
fn run(load: Load, units: &Units, machines: &Machines) -> Run {
    let mut dice = Dice(SEED);
    let placed = Placed::new(&load, &mut dice);
    let counted = simulated(&load, &placed, SECONDS, &mut dice);
    let death = death(&load, &placed, (units, machines), &mut dice);
    let restart = rolling_restart(&load, &placed, &mut dice);
    Run { load, counted, death, restart }
}

/// Fails if the formulas do not say what was simulated.
fn check(run: &Run) -> Outcome<()> {
    let apart = run.counted.all.differs_from(&expected(&run.load));
    if apart > APART_MAX {
        let hubs = run.load.hubs;
        return Err(format!("with {hubs} hubs the simulation differs from the formulas by {apart:.3}").into());
    }
    Ok(())
}

/// What the average hub needs, by the formulas.
fn modelled(load: &Load, units: &Units, machines: &Machines) -> Vec<Need> {
    let steps = expected(load);
    needs(load, &steps, &average(&steps, load), (units, machines)).to_vec()
}

/// What the hub needs that needs most of each, simulated.
fn worst(run: &Run, units: &Units, machines: &Machines) -> Vec<Need> {
    let of = |hub: &HubSteps| needs(&run.load, &run.counted.all, hub, (units, machines));
    let mut worst = of(&average(&run.counted.all, &run.load));
    for hub in &run.counted.hubs {
        for (most, need) in worst.iter_mut().zip(of(hub)) {
            if need.needs > most.needs {
                *most = need;
            }
        }
    }
    worst.to_vec()
}

/// The lines of the picture.
fn lines(runs: &[Run], units: &Units, machines: &Machines) -> Vec<plot::Line> {
    let models = DRAWN.map(|hubs| (f64::from(hubs), modelled(&Load::million(hubs), units, machines)));
    let dots: Vec<_> =
        runs.iter().map(|run| (f64::from(run.load.hubs), worst(run, units, machines))).collect();
    let Some((_, first)) = models.first() else { return Vec::new() };
    let line = |(place, need): (usize, &Need)| {
        let at = |(hubs, needs): &(f64, Vec<Need>)| Some((*hubs, needs.get(place)?.share()));
        plot::Line {
            name: need.of.to_owned(),
            model: models.iter().filter_map(at).collect(),
            dots: dots.iter().filter_map(at).collect(),
        }
    };
    first.iter().enumerate().map(line).collect()
}
