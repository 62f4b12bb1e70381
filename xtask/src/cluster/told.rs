//! What the command says: where everything is, and what to try.

use super::databases::{DatabaseFacts, PRIMARY, ROLE, STANDBY};
use super::hubs::HubFacts;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A conversation that nobody has until somebody tries it.
const CONVERSATION: &str = "mine";

/// Everything that runs, as it was when it started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClusterFacts {
    pub(super) fanlight: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) hubs: Vec<HubFacts>,
    pub(super) databases: DatabaseFacts,
}

impl ClusterFacts {
    /// Where everything is and what to try, in lines for a second terminal.
    pub(super) fn summary(&self) -> String {
        let mut text =
            String::from("\nThree hubs on one log. Each shows everything; the demo runs in hub a.\n\n");
        for hub in &self.hubs {
            line(&mut text, &format!("  {:<9} {:<26} pid {}", hub.name, hub.url, hub.pid));
        }
        let DatabaseFacts { primary, standby, .. } = &self.databases;
        for (name, (port, pid)) in [(PRIMARY, primary), (STANDBY, standby)] {
            line(&mut text, &format!("  {name:<9} {:<26} pid {pid}", format!("127.0.0.1:{port}")));
        }
        line(&mut text, &format!("  what each of them says: {}/*.log", self.folder.display()));
        if let [a, b, c, ..] = &self.hubs[..] {
            text.push_str(&self.of_hubs(a, b, c));
        }
        text.push_str(&self.of_databases());
        text.push_str("\nCtrl-C ends everything and removes the folder.");
        text
    }

    /// What to do about a program that ended on its own.
    pub(super) fn ended(&self, name: &str) -> String {
        if let Some(hub) = self.hubs.iter().find(|hub| hub.name == name) {
            let again = &hub.again;
            return format!("{name} has ended. To start it again, in a terminal of its own:\n  {again}");
        }
        let standby = self.databases.standby.0;
        match name {
            PRIMARY => format!(
                "the primary has ended: nothing is acked until the standby is promoted\n  {}",
                self.psql(standby, "SELECT pg_promote()")
            ),
            STANDBY => format!(
                "the standby has ended: nothing is acked until the primary goes on without it\n  {}",
                self.go_on_alone()
            ),
            other => format!("{other} has ended"),
        }
    }

    fn of_hubs(&self, a: &HubFacts, b: &HubFacts, c: &HubFacts) -> String {
        let fanlight = self.fanlight.display();
        let event = r#"{"k":"status","text":"'$(date +%T)'","run":"r"}"#;
        format!(
            "
Make b the owner of a conversation, publish into it through c, and watch it through a:
  curl -d '{owned}' {b}/v1/conversations/{CONVERSATION}/events
  while sleep 1; do echo '{event}'; done | {fanlight} tee --dialect fanlight --conversation {CONVERSATION} --url {c}
  {fanlight} tail {CONVERSATION} --url {a}
Kill the owner. Within about 3 s another hub owns the conversation; publisher and viewer go on, and no event is lost or doubled:
  kill -9 {b_pid}
Pause a hub, let another one take what it owns (which may answer `elsewhere` the first time), and wake it: it writes nothing any more,
notices within a second, and ends:
  curl -d '{event_of_c}' {c}/v1/conversations/paused/events
  kill -STOP {c_pid}; curl -d '{event_of_c}' {a}/v1/conversations/paused/events; kill -CONT {c_pid}
Stop a hub in order: it hands its conversations over, and viewers at other hubs notice a pause at most:
  kill -TERM {a_pid}
",
            owned = r#"{"k":"status","text":"b owns this","run":"r"}"#,
            event_of_c = r#"{"k":"status","text":"of c","run":"r"}"#,
            a = a.url,
            b = b.url,
            c = c.url,
            a_pid = a.pid,
            b_pid = b.pid,
            c_pid = c.pid,
        )
    }

    fn of_databases(&self) -> String {
        let DatabaseFacts { primary, standby, .. } = &self.databases;
        format!(
            "
Lose the standby: nothing is acked until the primary is told to go on without it:
  kill -INT {standby_pid}
  {alone}
Or lose the primary: nothing is acked until the standby is promoted; the hubs find it by themselves:
  kill -9 {primary_pid}
  {promote}
",
            standby_pid = standby.1,
            alone = self.go_on_alone(),
            primary_pid = primary.1,
            promote = self.psql(standby.0, "SELECT pg_promote()"),
        )
    }

    /// A line for a shell that takes the standby off the primary's list. Hubs notice with their next commit.
    fn go_on_alone(&self) -> String {
        let take_off = self.psql(self.databases.primary.0, "ALTER SYSTEM SET synchronous_standby_names = ''");
        format!("{take_off} -c 'SELECT pg_reload_conf()'")
    }

    /// A line for a shell that runs `statement`, which holds no `"`, at the server of this port.
    fn psql(&self, port: u16, statement: &str) -> String {
        let DatabaseFacts { pass_file, psql, .. } = &self.databases;
        let (pass_file, psql) = (pass_file.display(), psql.display());
        format!(
            "PGPASSFILE={pass_file} {psql} -h 127.0.0.1 -p {port} -U {ROLE} -d postgres -c \"{statement}\""
        )
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _written = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests;
