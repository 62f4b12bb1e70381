//! The page in a real Chromium, and where people come and go in a real Firefox, against the real hub.

mod access; // for everybody: what axe and Lighthouse find
mod agents; // sub-agents in the panel, one of them alone
mod bounded; // as many elements whatever is said
mod bulk; // many rows of the table at once
mod calls; // the panel of calls, what stays visible when steps are folded
mod context; // what fills it, in the header
mod control; // the hub's agents commanded, forks, comparisons
mod copying; // what is copied is what there is
mod deleting; // by an operator, behind a question
mod delivery; // packed, kept, policed
mod details; // facts of a conversation, the marks of its connection
mod diagrams; // Mermaid: drawn, refused, shut in
mod dialogs; // what lies over the page has the keys to itself
mod directions; // texts that are read from the right
mod embeds; // pages of tools with their scripts: on a click, and shut in
mod finding; // a word everywhere, links, commands, keys
mod firefox; // the page in another engine: a run, its diagrams, the operator's pages
mod first; // an empty hub, the first event, what opens by itself
mod forms; // edits, patches, to-do lists, code with the numbers of its lines
mod heal; // reload, crash of the hub
mod hostile; // texts, agents, patterns and embeds that are meant to harm
mod kinds; // results in their own form
mod lanes; // the timeline in lanes, packed per agent
mod list; // the list of conversations: rows, conditions, pages, width
mod live; // tokens while they stream, calls through their states
mod look; // light, dark, narrow; what is shown is what came
mod mathematics; // formulas and footnotes of answers
mod modules; // parts of the page that are fetched when they are needed
mod names; // who is here and who decided, with access control
mod newest; // the newest part of a long conversation, and the rest
mod offers; // what is offered to whom, and why something is not
mod operator; // single points of what an operator does with many conversations
mod order; // titles, pins, archives, tags on the page
mod outline; // questions, headings and failures of a conversation
mod overview; // the table of runs and the dashboard
mod people; // log in, share, be shut out while watching, come back: Chromium and Firefox
mod pictures; // the pictures of the README
mod reading; // nothing jumps, choices stay
mod recording; // files that are dropped on the page
mod replay; // the past, exactly, and back
mod rules; // the ten rules of a page that moves while somebody reads and touches it
mod same; // the view of random histories equals the hub's (I6)
mod scene; // one run with everything in it, written for these tests
mod screens; // which views there are, and the screens that each is pictured on
mod searching; // in all conversations, and the ways to it
mod secure; // over HTTP/2 with the TLS of the hub
mod sharing; // links: to whom, live or frozen, and what they say once they are over
mod silence; // after how long, as the hub is set
mod since; // what is new to whoever comes back, what people think of it
mod tasks; // nine questions of an operator, and what each takes
mod timeline; // the waterfall: live, zoomed, windowed
mod together; // two browsers and a terminal on recordings
mod troubles; // what the page says when something is wrong, or was
mod turns; // questions stand above their answers, whenever they come
mod upstreams; // calls through the proxy whose upstream fails
mod wall; // all conversations at once
