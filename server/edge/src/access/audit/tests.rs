//! Tests of the audit log in its folder.

use access::{NewToken, Secret, SecretKind};

use super::*;

fn command(number: usize) -> Audited {
    Audited::new(AuditedAction::Command, "ann").about("c").with(format!("stop {number}"))
}

fn log(folder: &Path) -> AuditLog {
    AuditLog::open(folder, &Tokens::default()).unwrap()
}

#[test]
fn a_log_goes_on_where_it_ended_and_is_whole() {
    let place = tempfile::tempdir().unwrap();
    let first = log(place.path());
    (0..3).for_each(|number| first.write(command(number)));
    drop(first);
    log(place.path()).write(command(3));
    let report = verify(place.path()).unwrap();
    assert_eq!((report.entries, report.head.n, report.fault), (6, 6, None));
    #[cfg(unix)]
    for file in [NEWEST, HEAD] {
        let about = fs::metadata(place.path().join(file)).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777, 0o600, "{file}");
    }
}

#[test]
fn a_change_is_found_and_said_when_the_hub_starts_again() {
    let place = tempfile::tempdir().unwrap();
    let first = log(place.path());
    (0..5).for_each(|number| first.write(command(number)));
    drop(first);
    let path = place.path().join(NEWEST);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("stop 2", "stop 9")).unwrap();
    let (file, line, _) = verify(place.path()).unwrap().fault.unwrap();
    assert!(file.ends_with(NEWEST) && line == 5, "the line behind the changed one: {file}:{line}");
    let again = log(place.path());
    let newest = again.page(u64::MAX, 1).unwrap().entries.remove(0);
    assert_eq!(
        (newest.what.deed, newest.what.failed.as_deref()),
        (AuditedAction::Start, Some("audit_broken"))
    );
    assert_eq!(verify(place.path()).unwrap().fault.unwrap().1, 5, "it stays to be seen");
}

#[test]
fn lines_that_were_cut_off_at_the_end_are_missed_and_a_torn_one_is_mended() {
    let place = tempfile::tempdir().unwrap();
    let first = log(place.path());
    (0..5).for_each(|number| first.write(command(number)));
    drop(first);
    let path = place.path().join(NEWEST);
    let text = fs::read_to_string(&path).unwrap();
    let kept: String = text.split_inclusive('\n').take(3).collect();
    fs::write(&path, &kept).unwrap();
    assert!(verify(place.path()).unwrap().fault.unwrap().2.contains("entry 6"));
    // A crash while a line was written.
    fs::write(&path, format!("{text}{{\"n\":7,")).unwrap();
    let again = log(place.path());
    assert_eq!(verify(place.path()).unwrap().fault, None);
    let start = again.page(u64::MAX, 1).unwrap().entries.remove(0);
    assert!(start.n == 7 && start.what.detail.unwrap().contains("not finished"));
}

#[test]
fn i7_parts_are_closed_at_their_size_and_the_oldest_goes() {
    let place = tempfile::tempdir().unwrap();
    let log = AuditLog::open_with(place.path(), &Tokens::default(), 1_000).unwrap();
    (0..200).for_each(|number| log.write(command(number)));
    let all = parts(place.path()).unwrap();
    assert_eq!(all.len(), AUDIT_PARTS_MAX);
    assert!(all.iter().all(|part| fs::metadata(part).unwrap().len() <= 1_000));
    let report = verify(place.path()).unwrap();
    assert!(report.fault.is_none() && report.head.n == 201 && report.entries < 201, "{report:?}");
    // Page by page through the parts.
    let (mut before, mut seen) = (u64::MAX, Vec::new());
    loop {
        let page = log.page(before, 7).unwrap();
        seen.extend(page.entries.iter().map(|entry| entry.n));
        before = seen.last().copied().unwrap();
        if !page.more {
            break;
        }
    }
    assert_eq!(seen.len() as u64, report.entries);
    assert!(seen.windows(2).all(|two| two[0] == two[1] + 1) && seen[0] == 201);
    // A part that is gone from the middle is missed.
    fs::remove_file(&all[3]).unwrap();
    assert!(verify(place.path()).unwrap().fault.unwrap().2.contains("comes here"));
}

#[test]
fn i7_refusals_do_not_fill_the_log() {
    let place = tempfile::tempdir().unwrap();
    let log = log(place.path());
    (0..10_000)
        .for_each(|_| log.write(Audited::new(AuditedAction::Refused, "").with("GET /v1/conversations")));
    log.write(command(0));
    let written = verify(place.path()).unwrap().entries;
    // The minute may change once meanwhile.
    assert!(written <= 3 + 2 * u64::from(access::audit::REFUSALS_PER_MINUTE_MAX), "{written}");
}

#[test]
fn tokens_that_come_and_go_are_noted_also_while_no_hub_runs() {
    let place = tempfile::tempdir().unwrap();
    let mut tokens = Tokens::default();
    let make = |tokens: &mut Tokens, name: &str, number: u8| {
        let hash = Secret::mint(SecretKind::Token, &[number; 32]).hash();
        let new = NewToken {
            name,
            grants: vec!["view:*".parse().unwrap()],
            role: None,
            upstreams: Vec::new(),
            budget: None,
            lives_ms: None,
        };
        tokens.create(new, hash, u64::MAX).unwrap();
    };
    let first = AuditLog::open(place.path(), &tokens).unwrap();
    let before = tokens.clone();
    make(&mut tokens, "ann", 1);
    first.tokens_between(&before, &tokens);
    drop(first);
    tokens.revoke("ann").unwrap();
    make(&mut tokens, "bob", 2);
    let again = AuditLog::open(place.path(), &tokens).unwrap();
    let told = again.page(u64::MAX, 10).unwrap().entries;
    let told: Vec<_> = told.iter().map(|entry| (entry.what.deed, entry.what.detail.as_deref())).collect();
    let (bob, ann) = (Some("bob"), Some("ann"));
    let expected = [
        (AuditedAction::RevokeToken, ann),
        (AuditedAction::CreateToken, bob),
        (AuditedAction::Start, None),
        (AuditedAction::CreateToken, ann),
    ];
    assert_eq!(told[..4], expected);
}
