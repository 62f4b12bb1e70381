//! The hub over real sockets. One binary, one module for each capability.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails right there"
)]

mod absent; // what README says is missing
mod access; // who may see, say and do what
mod access_asked; // what somebody has set going ends with their token
mod access_audit; // who did what, and that nobody changes it unseen
mod access_ends; // revoked, expired, logged out
mod access_offers; // what somebody is told that they may do
mod access_page; // logging in, links, the certificate
mod access_roles; // what a role hides, at every door
mod access_who; // whose name stands in the conversation
mod ask; // `fanlight ask`: an agent from the terminal
mod asked_with_files; // images, PDF and texts; how the model is to answer
mod attacks; // what somebody tries who may not
mod bad_input; // wrong dialects, broken JSON, frames over the limit, bodies that stop
mod bounded; // endless input
mod client; // the library of headless clients
mod client_tls; // the hub's own commands and sinks over https
mod cluster; // hubs that share a log
mod commands; // the other commands as processes: pipes, exit codes, a hub that is down
mod consent; // given to what was shown and asked about
mod control; // commands over a socket
mod delete; // by an operator: from memory, lists, searches and files
mod deliver; // each event once, whatever becomes of the hub
mod dialects; // calls in texts, described dialects, conversions
mod doctor; // what is said of things that are broken
mod doors; // what the tests of served contracts have in common
mod doors_back;
mod doors_bernard; // Bernard's own client
mod doors_callers; // those who say the same are told apart
mod doors_consents;
mod doors_openai; // chat completions: any client, and Bernard's
mod doors_pages; // AG-UI and the AI SDK
mod doors_responses; // OpenAI's responses
mod doors_seeds; // Forge, Deep Agent, Ralph
mod drain; // SIGTERM: everybody is told, the process ends
mod export;
mod figures; // conversations as files
mod forged; // runs in the name of the hub's agents
mod front_proxies; // nginx and Caddy with the files of the documents
mod help; // the documents in the binary, and what problems lead to
mod hostile; // what neighbours may do, and what it costs the others
mod http2; // over TLS, with every rule of HTTP/1.1
mod ingest; // streams come in, events show while the body still arrives
mod kept; // while the disk is full, and what is said of it
mod label; // titles, pins, archives, tags, notes
mod lens; // levels, filters, fewer frames
mod limits; // numbers, results, references: at the edge, over each door
mod links; // whom a link is for, and what one shows that is frozen
mod links_live; // one turn as it comes, until its runs end
mod links_opened; // what a link says once it is over, and who stays logged in
mod main_job; // recordings at their pace, several viewers, a terminal among them
mod memory; // what a burst took is given back
mod money; // what runs cost
mod newest; // the newest part of a long conversation
mod numbers; // metrics and readiness
mod openapi; // the document of the interface, and that it is true
mod orphans; // publishers that vanish, and come back
mod postgres; // a hub whose log is in PostgreSQL
mod postgres_deleted; // no row has the words of a deleted conversation
mod postgres_erased; // `fanlight scan` and `erase` on a log in PostgreSQL
mod presence; // who else is here
mod proxy; // calls of models pass through, unchanged
mod proxy_again; // connections that end while a request is on its way
mod proxy_detour; // through the proxy of the environment
mod proxy_faults; // upstreams that fail, callers that hang up
mod proxy_keys; // keys stay nowhere
mod proxy_lent; // with the hub's own key, and a budget
mod proxy_many; // many agents with one key
mod proxy_narrow; // few calls on a connection
mod proxy_packed; // gzip, br, zstd; HTTP/2 behind TLS
mod proxy_replayed; // recorded calls of all APIs
mod proxy_secrets; // keys of others in bodies
mod proxy_sockets; // WebSockets: bytes, ends, what is said in them
mod proxy_struck; // headers that no upstream may write
mod proxy_waits; // between the calls of a loop
mod publish; // acks, duplicates, gaps, older lives
mod raw_budget; // a run with endless raw events
mod read; // snapshots, lists and events over plain HTTP and SSE
mod redaction; // secrets are stored and shown nowhere, found, erased
mod redaction_everywhere; // of each rule, in each dialect
mod remote; // agents elsewhere: stopped, failing, asked again
mod remote_kinds;
mod remote_pauses; // each kind of them in its own words
mod results; // results that are too large for their events
mod resume; // cut and come back, late, slow, after a crash
mod rolling; // all hubs of a log are restarted, one after the other
mod runner; // agents of the hub's own: asked, retried, stopped, resumed
mod runner_apis; // models of other APIs, calls in the text, providers in YAML
mod runner_far; // tools behind TLS: keys, wrong certificates, answers that break off
mod runner_requests; // what its models are told of what was said
mod runner_sinks; // raw events of a provider go into files and sockets
mod runner_tools; // executed while the model speaks; servers that hang, crash, lie
mod searching; // what a search is narrowed to, and for whom
mod security; // origins, hosts, headers
mod several_access; // logins and share links at whichever hub
mod several_budgets; // what is spent at all hubs together
mod several_doors; // doors, proxy calls, spans and streams at whichever hub
mod several_hubs; // one log, one owner for each conversation, followers
mod several_moves;
mod several_overload; // conversations go to another hub while they are published to and watched
mod several_resume; // viewers come back at another hub
mod sinks; // into files and into other hubs
mod stored;
mod stream; // the streams of other clients, live
mod sunk; // sinks, and names that are used again
mod trace_requests;
mod traces; // spans of OpenTelemetry
mod viewing; // large snapshots, drift
mod whole; // imports and forks, and a hub that dies
mod work; // one bound for all work of one client
