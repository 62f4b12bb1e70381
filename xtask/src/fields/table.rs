//! The table of all fields, as a document.

use super::{FieldBounds, FieldForm};
use std::collections::BTreeMap;

/// What stands above the rows.
const HEAD: &str = "\
# Every field and its bound

Every field of every event and frame ([protocol](protocol.md)), what bounds it, the file that holds to the bound and a test of it. Written by
`cargo xtask bounds` from `schema/*.json` and `schema/bounds.txt`; tidy fails where a field has no bound, where a bound names
no limit of `shared/model/src/limits.rs`, and where the test is not there. A field that only the hub writes says what it writes.

A frame of a client has at most `INBOUND_FRAME_BYTES_MAX` bytes, its first one `HELLO_BYTES_MAX`, a body of native events `EVENTS_BODY_BYTES_MAX`, an import `IMPORT_BYTES_MAX`, whatever
stands in them; and the bytes that were received count for the ring (`RING_BYTES_MAX`) and the queue of the log
(`LOG_QUEUE_BYTES_MAX`), whichever field they stand in.

| field | holds | bound | weighed in | test |
|---|---|---|---|---|
";

/// What one address and one principal may do, which no field holds. `tests/it` compares its numbers with the defaults.
const TAIL: &str = "
## Of one address and one principal

With access control. What `[access.limits]` sets is a number of the settings, and this is where it begins; the others are fixed. Who does more is told
`too_many` with `Retry-After`, unless the table says otherwise, and nobody else is counted for it. A test of this table compares the numbers.

| limit | value | whose | counted in | test |
|---|---|---|---|---|
| `connections_per_address` | 1,000 open; beyond, they are closed | an address, or 64 bits of IPv6 | `server/edge/src/access/bounds.rs` | `i7_an_address_has_so_many_connections_open` |
| `failed_logins_per_minute` | 1,000, all of them at once too | an address | `server/edge/src/access/bounds.rs` | `i7_logins_that_fail_bar_their_address_for_a_while_at_every_door`, `i7_sockets_that_guess_bar_their_address_too` |
| `provider_logins_per_minute` | 60 begun, all of them at once too | an address | `server/edge/src/access/bounds.rs` | `attack_logins_begun_by_a_stranger_reach_the_database_at_a_rate` |
| questions to the database of several hubs by who is not admitted yet | 2 at a time, 5 s of waiting | a hub | `server/edge/src/access/bounds.rs` | `i7_strangers_take_turns_and_wait_for_a_bounded_time` |
| what a token has spent, in the database of several hubs | the newest 2 periods of a currency; 93 days after the last charge, or after a hub last had the token | a token | `server/log/src/shared_access.rs` | `i7_what_tokens_have_spent_goes_with_its_period_and_with_the_token` |
| `requests_per_principal` | 500 open, streams and waits among them | a principal | `server/edge/src/access/bounds.rs` | `i7_a_principal_has_so_many_requests_and_sockets_open_and_others_are_not_counted` |
| `sockets_per_principal` | 1,000 open; beyond, closed with 4008 | a principal | `server/edge/src/access/bounds.rs` | `i7_a_principal_has_so_many_requests_and_sockets_open_and_others_are_not_counted` |
| `publishes_per_second` | 1,000 frames or requests with events, ten times as many at once | a principal | `server/edge/src/access/bounds.rs` | `i7_who_publishes_too_fast_is_told_so_and_others_are_not` |
| `received_mib_per_minute` | 16,384 MiB of bodies and frames, all of them at once too; who sends more waits, and a new request with a body is refused | a principal | `server/edge/src/http/access/counted.rs` | `i7_who_sends_more_bytes_than_it_may_waits_and_others_do_not`, `i7_a_socket_that_sends_more_bytes_than_it_may_is_read_more_slowly` |
| `sent_mib_per_minute` | 32,768 MiB of answers, all of them at once too; what has begun is finished | a principal | `server/edge/src/http/access/counted.rs` | `i7_who_fetches_more_bytes_than_it_may_waits_and_others_do_not` |
| `received_mib_per_minute_per_address` | 16,384 MiB of bodies and frames, whoever sends them, known or not, all of them at once too; who sends more waits, and a new request with a body is refused | an address, or 64 bits of IPv6 | `server/access/src/quota/bytes.rs` | `i7_principals_of_one_address_share_what_it_may_send_and_another_address_pays_for_none_of_it`, `i7_sockets_of_one_address_are_read_more_slowly_together`, `i7_bytes_of_strangers_count_for_their_address` |
| `sent_mib_per_minute_per_address` | 32,768 MiB of answers, whoever fetches them, all of them at once too; what has begun is finished | an address, or 64 bits of IPv6 | `server/access/src/quota/bytes.rs` | `i7_principals_of_one_address_share_what_it_may_fetch` |
| `subscriptions_per_principal` | 20,000 at once, on all sockets | a principal | `server/edge/src/access/bounds.rs` | `i7_subscriptions_of_a_principal_and_of_an_address_are_bounded_over_all_sockets` |
| `subscriptions_per_address` | 40,000 at once, whoever has them | an address, or 64 bits of IPv6 | `server/edge/src/access/bounds.rs` | `i7_subscriptions_of_a_principal_and_of_an_address_are_bounded_over_all_sockets` |
| `head_s` | 20 s to agree on TLS, and 20 s to bring the head of a request; over HTTP/2 60 s without an open stream, and 60 s more to end; then it is cut | a connection | `server/edge/src/app/entry.rs` | `attack_heads_that_come_byte_after_byte`, `attack_handshakes_that_never_end`, `attack_heads_over_http2_that_never_end` |
| `stranger_body_s` | 30 s for the whole body, of up to 16 KiB; then `body_timeout` | whoever is not known yet | `server/edge/src/http/body.rs` | `attack_bodies_of_strangers_that_come_byte_after_byte` |
| `frames_per_minute` | 600,000 frames of sockets and requests with events, all of them at once too; sockets that send more are read more slowly | a principal | `server/access/src/quota/acts.rs` | `i7_sockets_that_send_more_frames_than_they_may_are_read_more_slowly`, `i7_requests_with_events_of_a_principal_and_of_an_address_are_counted_as_frames` |
| `frames_per_minute_per_address` | 1,200,000 frames of sockets and requests with events, all of them at once too; sockets that send more are read more slowly, whoever does it | an address, or 64 bits of IPv6 | `server/access/src/quota/acts.rs` | `i7_sockets_that_send_more_frames_than_they_may_are_read_more_slowly`, `i7_requests_with_events_of_a_principal_and_of_an_address_are_counted_as_frames` |
| `conversations_per_minute` | 10,000 that begin, all of them at once too | a principal | `server/access/src/quota/acts.rs` | `i7_conversations_that_a_principal_and_an_address_begin_are_counted`, `attack_conversations_are_counted_at_whichever_door_they_begin` |
| `conversations_per_minute_per_address` | 20,000 that begin, all of them at once too, whoever does it | an address, or 64 bits of IPv6 | `server/access/src/quota/acts.rs` | `i7_conversations_that_a_principal_and_an_address_begin_are_counted`, `attack_conversations_are_counted_at_whichever_door_they_begin` |
| `searches_per_minute` | 1,000, all of them at once too | a principal | `server/access/src/quota/acts.rs` | `i7_searches_of_a_principal_and_of_an_address_are_counted` |
| `searches_per_minute_per_address` | 2,000, all of them at once too, whoever does it | an address, or 64 bits of IPv6 | `server/access/src/quota/acts.rs` | `i7_searches_of_a_principal_and_of_an_address_are_counted` |
| `exports_per_minute` | 6,000, all of them at once too | a principal | `server/access/src/quota/acts.rs` | `i7_exports_of_a_principal_and_of_an_address_are_counted` |
| `exports_per_minute_per_address` | 12,000, all of them at once too, whoever does it | an address, or 64 bits of IPv6 | `server/access/src/quota/acts.rs` | `i7_exports_of_a_principal_and_of_an_address_are_counted` |
| `imports_per_minute` | 6,000, all of them at once too | a principal | `server/access/src/quota/acts.rs` | `i7_imports_of_a_principal_and_of_an_address_are_counted` |
| `imports_per_minute_per_address` | 12,000, all of them at once too, whoever does it | an address, or 64 bits of IPv6 | `server/access/src/quota/acts.rs` | `i7_imports_of_a_principal_and_of_an_address_are_counted` |
| rates that are remembered, of failed logins, of publishing, of bytes and of each kind, of principals and of addresses | 10,000 each; the one that used least is forgotten, and none of the others is looked at for that | all | `server/access/src/quota.rs` | `attack_so_many_strangers_do_not_make_each_count_look_at_all_of_them`, `i7_of_so_many_is_a_rate_kept_and_those_who_used_most_stay`, `i7_of_so_many_principals_are_bytes_counted_and_those_who_had_most_stay`, `i7_of_so_many_addresses_are_bytes_counted_and_those_that_had_most_stay` |
| sessions of browsers | 2,000, of one token or link 100; the oldest goes | all, a principal | `server/access/src/sessions.rs` | `i7_sessions_are_bounded_and_nobody_logs_others_out` |
| logins that are begun at a provider | 1,000 for ten minutes | all | `server/access/src/oidc.rs` | `i7_logins_that_are_begun_and_left_are_bounded` |
| logins and links of hubs that share a log | 1,000 logins, the oldest goes; 1,000 links, another one is refused | all | `server/log/src/shared_access.rs` | `i7_a_login_that_is_under_way_is_taken_once_by_any_hub_and_the_oldest_go_first`, `i7_views_of_a_link_are_counted_once_for_all_hubs_and_links_are_bounded` |
| the note of whom a link is for | 200 bytes, one line | a link | `server/access/src/shares.rs` | `a_note_of_whom_a_link_is_for_is_a_line_of_text` |
| tasks that write copies of turns | one for each live link to a turn that runs, so 1,000; 500 events at once | all | `server/edge/src/frozen/following.rs` | `a_live_link_that_is_revoked_while_its_turn_runs_cuts_off_and_goes_with_its_copy` |
| copies that are given up at once for the hub of their original | 8; others wait for the next look | a hub | `server/edge/src/frozen/moving.rs` | `i7_so_many_copies_move_at_once_and_each_of_them_once` |
| copies that frozen links show | one for each link, so 1,000; what is left of others goes within a minute | all | `server/edge/src/frozen.rs` | `what_a_frozen_link_shows_goes_with_the_link_and_with_the_conversation` |
| tokens, grants of one | 1,000, 64 | all, a token | `server/access/src/tokens.rs` | `i7_a_hub_has_a_bounded_number_of_tokens` |
| refusals in the audit log | 60 in a minute; the rest is a number | all | `server/access/src/audit/budget.rs` | `i7_refusals_are_written_up_to_a_number_in_each_minute_and_the_rest_is_counted` |
| views in the audit log | one of a principal and conversation in 10 minutes; 10,000 are remembered, and of more some are written again | all | `server/access/src/audit/views.rs` | `i7_of_more_views_than_are_remembered_some_are_written_again` |
| names of viewers in one `presence` | 50; of more the first | a conversation | `server/hub/src/hub/viewer_roster.rs` | `i7_of_many_names_the_first_are_told` |
";

/// Writes docs/limits.md from the fields and their bounds. One row for each field, in the order of their
/// names; a field without a bound says so in bold.
pub(crate) fn table(fields: &BTreeMap<String, FieldForm>, bounds: &FieldBounds) -> String {
    let mut text = HEAD.to_owned();
    for (field, form) in fields {
        let holds = match form {
            FieldForm::Fields(name) => format!("{name}, field by field"),
            other => other.word().to_owned(),
        };
        let (bound, weighed, test) = match bounds.of(field, form) {
            Some(row) => (row.bound.clone(), code(&row.weighed), code(&row.test)),
            None if matches!(form, FieldForm::Fields(_)) => {
                (String::from("its fields"), String::new(), String::new())
            }
            None => (String::from("**none**"), String::new(), String::new()),
        };
        for cell in [format!("| `{field}` | "), holds, format!(" | {bound} | {weighed} | {test} |\n")] {
            text.push_str(&cell);
        }
    }
    text.push_str(TAIL);
    text
}

/// A word as code; nothing for an empty one.
fn code(word: &str) -> String {
    if word.is_empty() { String::new() } else { format!("`{word}`") }
}
