"""What travels between clients and the hub. Made by `cargo xtask schema` from schema/*.json: do not edit.

A later version of the hub may send kinds, frames, words and members that are not here.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

Durability = Literal["memory", "stored", "synced", "replicated"]
"""What an ack means (invariant I9)."""

RunStatus = Literal["running", "complete", "error", "cancelled", "interrupted"]
"""How a run or an agent stands."""


class Cost(TypedDict):
    """A cost as it is written."""

    amount: str
    """How much, in decimal digits: `"0.0123"`."""
    currency: str
    """The code of the currency, three capital letters."""


class _Usage(TypedDict):
    cached_tokens: int
    """Of those read, from a cache."""
    input_tokens: int
    """Read by the model."""
    output_tokens: int
    """Written by the model."""
    reasoning_tokens: int
    """Of those written, for reasoning."""


class Usage(_Usage, total=False):
    """Tokens. All counts are whole tokens; absent means that nobody said."""

    cost: Cost
    """What they cost, as far as anybody knows."""


class _AgentView(TypedDict):
    depth: int
    """How deep it stands; 1 for a child of the main agent."""
    ended_at: Union[int, None]
    """When it ended."""
    name: Union[str, None]
    """Its name."""
    parent: Union[str, None]
    """The agent that called it."""
    started_at: int
    """When it began."""
    status: RunStatus
    """How it stands."""
    task: Union[str, None]
    """What it is to do."""
    tool: Union[str, None]
    """The tool call that started it."""


class AgentView(_AgentView, total=False):
    """A sub-agent."""

    model: str
    """The model that answers, when anybody said."""
    usage: Usage
    """Tokens that it used itself, without the agents that it called, when anybody said."""


class Agents(TypedDict, total=False):
    """Some of the agents of each run. Events about the run as a whole, errors among them, belong to every choice."""

    depth: int
    """How many levels below it; nothing for all of them, 0 for itself alone."""
    root: str
    """The topmost one; nothing for the main agent."""

AnomalyCode = Literal["malformed", "wrong_dialect", "run_without_start", "after_run_end", "part_without_start", "part_started_twice", "after_part_end", "delta_hole", "delta_overlap", "part_mismatch", "tool_without_start", "after_tool_end", "bad_arguments", "agent_without_start", "too_large", "too_many", "truncated", "copy_lost", "repeated"]
"""What a stream did that it should not have done."""


class Anomaly(TypedDict):
    """One thing that a stream did and should not have done. People are told of it as a warning."""

    code: AnomalyCode
    """What."""
    detail: str
    """Where and which: an id, a line, a piece of the input."""


class Anomalies(TypedDict):
    """The anomalies of one view: all counted, the first `ANOMALIES_KEPT_MAX` kept."""

    first: list[Anomaly]
    """The first of them."""
    total: int
    """How many there were."""


class _HelloFrame(TypedDict):
    t: Literal["hello"]
    versions: list[str]
    """Versions that the client speaks."""


class HelloFrame(_HelloFrame, total=False):
    """The first frame."""

    client: str
    """Who it is, for the hub's trace."""
    token: str
    """Who calls, where the request of the socket does not say so."""


class Position(TypedDict):
    """A point in a conversation: after the event `seq` of `epoch`. Written `EPOCH:SEQ`."""

    epoch: str
    """The life of the log."""
    seq: int
    """The last event that this point includes; 0 for none."""

Level = Literal["critical", "parts", "deltas"]
"""How deep a viewer looks."""


class _SubFrame(TypedDict):
    t: Literal["sub"]
    conv: str
    """The conversation. It may not exist yet."""
    sub: int
    """The subscription's number."""


class SubFrame(_SubFrame, total=False):
    """View a conversation."""

    agents: Agents
    """Which agents; nothing for all."""
    have: Position
    """What the client has already."""
    kinds: list[str]
    """What kinds of events; nothing for all."""
    level: Level
    """How deep."""
    min_interval_ms: int
    """The shortest time between two frames with events, in milliseconds: for who shows less often than that."""


class _WatchFrame(TypedDict):
    t: Literal["watch"]
    sub: int
    """The subscription's number."""


class WatchFrame(_WatchFrame, total=False):
    """View the list of conversations."""

    limit: int
    """How many rows to begin with, the newest activity first."""


class UnsubFrame(TypedDict):
    """End a subscription."""

    t: Literal["unsub"]
    sub: int
    """Its number."""


class ResyncFrame(TypedDict):
    """The client's state does not fit: send the snapshot."""

    t: Literal["resync"]
    sub: int
    """The subscription's number."""


class HbAckFrame(TypedDict):
    """The answer to a heartbeat."""

    t: Literal["hb_ack"]
    at: dict[str, int]
    """For each subscription the seq that the client has applied."""


class Origin(TypedDict):
    """A place in another conversation."""

    conversation: str
    """The other one."""
    epoch: str
    """The life of its log then."""
    seq: int
    """The last event that both have; 0 where they have none in common."""

_ForkEvent = TypedDict(
    "_ForkEvent",
    {
        "k": Literal["fork"],
        "from": Origin,
    },
)
"""The conversation is a fork: everything before this was said in another one."""


class ForkEvent(_ForkEvent, total=False):
    """The conversation is a fork: everything before this was said in another one."""

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class Rating(TypedDict, total=False):
    """What somebody thinks of one run or one message. Of each the last rating counts."""

    by: str
    """Who rated, where the hub knows names. In an event it stands beside the rating."""
    good: bool
    """Whether it is good. Absent takes a rating back."""
    message: str
    """The message that is meant, in the place of a run."""
    run: str
    """The run that is meant."""
    why: str
    """Why, in a few words; absent for no reason."""


class _LabelEvent(TypedDict):
    k: Literal["label"]


class LabelEvent(_LabelEvent, total=False):
    """Somebody changed what people made of the conversation: its title, pin, archive, tags or note. Only the hub writes it."""

    archived: bool
    """Whether the list leaves it out unless it is asked for."""
    by: str
    """The name of the principal who changed it, where the hub knows names."""
    note: str
    """A note about it; empty for none."""
    pinned: bool
    """Whether it stands before the others in the list."""
    rating: Rating
    """What somebody thinks of a run or a message."""
    tags: list[str]
    """All its tags, in order: single words, at most `LABEL_TAGS_MAX`."""
    title: str
    """The title that somebody gives it; empty to go back to the title that its runs say."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RunStartEvent(TypedDict):
    k: Literal["run.start"]


class RunStartEvent(_RunStartEvent, total=False):
    """A run begins, or a run that had ended goes on."""

    dialect: str
    """The dialect that it came in."""
    host: str
    """The name of the machine that the agent runs on."""
    model: str
    """The model that answers."""
    name: str
    """The name of the main agent."""
    title: str
    """What the run, and so the conversation, is about."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RunUpdateEvent(TypedDict):
    k: Literal["run.update"]


class RunUpdateEvent(_RunUpdateEvent, total=False):
    """More is known about a run that goes on."""

    finish_reason: str
    """Why the model stopped, in its own word."""
    model: str
    """The model that answers."""
    title: str
    """What it is about."""
    usage: Usage
    """Tokens of one more model call, added to the run's, and to those of the sub-agent that the event names."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RunStalledEvent(TypedDict):
    k: Literal["run.stalled"]
    since: int
    """When it was last heard of, in milliseconds since 1970 by the hub's clock."""


class RunStalledEvent(_RunStalledEvent, total=False):
    """Nobody has spoken for a run for a while, and nobody is there who did. The hub says so; whatever else comes of the
    run takes it back.
    """

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RunEndEvent(TypedDict):
    k: Literal["run.end"]
    status: RunStatus
    """How it ended."""


class RunEndEvent(_RunEndEvent, total=False):
    """A run is over. Its open parts and executing calls are closed with it."""

    finish_reason: str
    """Why the model stopped, in its own word."""
    lost: bool
    """Nobody said so but the hub, for a publisher that was lost. Whatever else comes of the run lets it go on with all
    that was open.
    """
    usage: Usage
    """Tokens of the whole run; replaces what was added up."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _AgentStartEvent(TypedDict):
    k: Literal["agent.start"]


class AgentStartEvent(_AgentStartEvent, total=False):
    """A sub-agent begins; `Event::agent` is its id."""

    depth: int
    """How deep it stands, 1 for a child of the main agent; computed from the parent where absent."""
    model: str
    """The model that answers; the one that was known where absent."""
    name: str
    """Its name."""
    parent: str
    """The agent that called it; nothing for the main one."""
    text: str
    """What it is to do."""
    tool: str
    """The tool call that started it."""
    usage: Usage
    """Tokens that it has used before, where it goes on; what was known where absent. The run's stay as they are."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _AgentEndEvent(TypedDict):
    k: Literal["agent.end"]
    status: RunStatus
    """How it ended."""


class AgentEndEvent(_AgentEndEvent, total=False):
    """A sub-agent is done; `Event::agent` is its id."""

    model: str
    """The model that answered; the one that was known where absent."""
    usage: Usage
    """Tokens that it has used itself, without the agents that it called; replaces what was added up for it. The run's
    stay as they are.
    """
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _MessageFile(TypedDict):
    bytes: int
    """Its size in bytes; the hub fills it in."""
    name: str
    """What it is called."""
    type: str
    """Its media type, as `image/png`."""


class MessageFile(_MessageFile, total=False):
    """A file of a message."""

    data: str
    """Its contents in base64: on its way to the hub, and in exports. The hub keeps them apart."""
    hash: str
    """The name under which the hub has its contents; absent where it has none."""


class _MessageEvent(TypedDict):
    k: Literal["message"]
    message: str
    """Its id; a message that comes again replaces itself."""
    role: str
    """`user`, `system`, `assistant`, `developer`, `tool` or what the dialect says."""
    text: str
    """The text."""


class MessageEvent(_MessageEvent, total=False):
    """A whole message of the history."""

    files: list[MessageFile]
    """What comes with it."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""

PartKind = Literal["text", "thinking", "refusal", "file"]
"""What a part is."""


class _PartStartEvent(TypedDict):
    k: Literal["part.start"]
    kind: PartKind
    """What it is."""
    part: str
    """Its id."""


class PartStartEvent(_PartStartEvent, total=False):
    """A streamed text begins."""

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _PartDeltaEvent(TypedDict):
    k: Literal["part.delta"]
    part: str
    """The part."""
    text: str
    """The text."""


class PartDeltaEvent(_PartDeltaEvent, total=False):
    """More text of a part."""

    off: int
    """Where the text starts in the part, in bytes of UTF-8; the hub fills it in when the publisher does not."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _PartReplaceEvent(TypedDict):
    k: Literal["part.replace"]
    part: str
    """The part."""
    text: str
    """The whole new text."""


class PartReplaceEvent(_PartReplaceEvent, total=False):
    """The text of a part is replaced as a whole (dialects that repeat or correct themselves)."""

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _PartEndEvent(TypedDict):
    k: Literal["part.end"]
    part: str
    """The part."""


class PartEndEvent(_PartEndEvent, total=False):
    """A part is whole."""

    duration_ms: int
    """How long it took by the publisher's own clock, in milliseconds."""
    hash: str
    """FNV-1a 64 of the whole text, 16 hex digits; the hub fills it in."""
    hidden: bool
    """The provider keeps the text to itself (encrypted thinking)."""
    len: int
    """Length of the whole text in bytes; the hub fills it in."""
    signature: str
    """The provider's mark on its thinking, without which it does not take the text back."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolStartEvent(TypedDict):
    k: Literal["tool.start"]
    name: str
    """The name of the tool, as far as it is known."""
    tool: str
    """The call."""


class ToolStartEvent(_ToolStartEvent, total=False):
    """The model begins to write a call."""

    given_id: str
    """The id that the source gives it, where another call of the run had that id before."""
    server: bool
    """The provider executes it itself (web search and the like)."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolArgsEvent(TypedDict):
    k: Literal["tool.args"]
    text: str
    """The text."""
    tool: str
    """The call."""


class ToolArgsEvent(_ToolArgsEvent, total=False):
    """More text of a call's arguments."""

    off: int
    """Where the text starts in the arguments, in bytes."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolCallEvent(TypedDict):
    k: Literal["tool.call"]
    tool: str
    """The call."""


class ToolCallEvent(_ToolCallEvent, total=False):
    """A call is written: its name and arguments are final, it waits to be executed."""

    arguments: str
    """The whole arguments as text (JSON in most dialects); nothing when the streamed ones are final."""
    name: str
    """Its name, where it differs from the one at the start or the start was not seen."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""

ToolState = Literal["writing", "pending", "approval", "executing", "complete", "error", "cancelled", "interrupted"]
"""The life of a tool call:

```text
writing → pending → approval? → executing → complete | error | cancelled | interrupted
```

It only goes forward; the last four are final.
"""


class _ToolStateEvent(TypedDict):
    k: Literal["tool.state"]
    state: ToolState
    """The new state."""
    tool: str
    """The call."""


class ToolStateEvent(_ToolStateEvent, total=False):
    """A call changes its state."""

    exec_ms: int
    """How long it was executed, in milliseconds, by the publisher."""
    queued_ms: int
    """How long it waited before it was executed, in milliseconds, by the publisher."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolOutputEvent(TypedDict):
    k: Literal["tool.output"]
    text: str
    """The text."""
    tool: str
    """The call."""


class ToolOutputEvent(_ToolOutputEvent, total=False):
    """More of what a call that still executes has printed."""

    off: int
    """Where the text starts in the output, in bytes."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class ResultRef(TypedDict):
    """A result that is kept beside its event."""

    bytes: int
    """Its bytes as JSON."""
    hash: str
    """The first 128 bits of their SHA-256, 32 hex digits: its name in the conversation. 16 hex digits in older logs."""


class _ToolResultEvent(TypedDict):
    k: Literal["tool.result"]
    output: Any
    """What it gave back: a string or any JSON."""
    tool: str
    """The call."""


class ToolResultEvent(_ToolResultEvent, total=False):
    """What a call gave back; closes it."""

    embeds: Any
    """Things to embed that came with it."""
    exec_ms: int
    """How long it was executed, in milliseconds, by the publisher."""
    files: Any
    """Files that came with it."""
    is_error: bool
    """Whether it failed."""
    queued_ms: int
    """How long it waited before it was executed, in milliseconds, by the publisher."""
    ref: ResultRef
    """Where the whole output is, when this is only its beginning, as a string."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolProgressEvent(TypedDict):
    k: Literal["tool.progress"]
    tool: str
    """The call."""


class ToolProgressEvent(_ToolProgressEvent, total=False):
    """How far a call is. Ephemeral."""

    current: int
    """Units done."""
    data: Any
    """What the tool reports beside the text, in a form of its own."""
    phase: str
    """What the report is, where it is more than how far the call is: `step`, `complete`, `error`, or a word of the
    tool's own.
    """
    text: str
    """What it does now."""
    total: int
    """Units in all."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _StatusEvent(TypedDict):
    k: Literal["status"]
    text: str
    """The line."""


class StatusEvent(_StatusEvent, total=False):
    """A line about what goes on ("retrying model in 8 s")."""

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ErrorEvent(TypedDict):
    k: Literal["error"]
    code: str
    """The name of the failure, as the source has it."""
    message: str
    """What went wrong."""


class ErrorEvent(_ErrorEvent, total=False):
    """Something failed. It does not end the run by itself."""

    retry_after_ms: int
    """How long to wait before, in milliseconds."""
    retryable: bool
    """Whether trying again may help; false is a failure that is permanent. Absent where nobody said."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ApprovalRequestEvent(TypedDict):
    k: Literal["approval.request"]
    tool: str
    """The call."""


class ApprovalRequestEvent(_ApprovalRequestEvent, total=False):
    """A call waits for a person's approval."""

    text: str
    """What the person is asked."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ApprovalAnswerEvent(TypedDict):
    k: Literal["approval.answer"]
    approved: bool
    """Whether it may go on."""
    tool: str
    """The call."""


class ApprovalAnswerEvent(_ApprovalAnswerEvent, total=False):
    """The person's answer."""

    text: str
    """Why, in the person's words."""
    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _CustomEvent(TypedDict):
    k: Literal["custom"]
    name: str
    """Its name."""
    value: Any
    """Its content."""


class CustomEvent(_CustomEvent, total=False):
    """An event of the agent's own, passed through."""

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RawEvent(TypedDict):
    k: Literal["raw"]
    name: str
    """The dialect."""
    value: Any
    """The foreign event."""


class RawEvent(_RawEvent, total=False):
    """A foreign event that the decoder has no other name for, as it came."""

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _AnomalyEvent(TypedDict):
    k: Literal["anomaly"]
    code: AnomalyCode
    """What."""
    detail: str
    """Where and which: an id, a line, a piece of the input."""


class AnomalyEvent(_AnomalyEvent, total=False):
    """The stream did something that it should not have done; it was survived."""

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RateEvent(TypedDict):
    k: Literal["rate"]
    tokens: int
    """Tokens in the last second."""


class RateEvent(_RateEvent, total=False):
    """How fast tokens come. Ephemeral."""

    agent: str
    """The sub-agent that did it; nothing for the main agent."""
    at: int
    """When the hub took it, in milliseconds since 1970 by the hub's clock."""
    by_hub: bool
    """The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
    runs that it gave up. Nobody else can: it is taken away from all that is received.
    """
    producer_at: int
    """When it happened by the publisher's clock, in milliseconds since 1970."""
    publisher: str
    """Who published it, where it has a name."""
    run: str
    """The run that it belongs to; `RunId::none` for events about the conversation."""
    seq: int
    """Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""

Event = Union[ForkEvent, LabelEvent, RunStartEvent, RunUpdateEvent, RunStalledEvent, RunEndEvent, AgentStartEvent, AgentEndEvent, MessageEvent, PartStartEvent, PartDeltaEvent, PartReplaceEvent, PartEndEvent, ToolStartEvent, ToolArgsEvent, ToolCallEvent, ToolStateEvent, ToolOutputEvent, ToolResultEvent, ToolProgressEvent, StatusEvent, ErrorEvent, ApprovalRequestEvent, ApprovalAnswerEvent, CustomEvent, RawEvent, AnomalyEvent, RateEvent]
"""An event in its place. On the wire its fields stand beside those of the event, in one flat object."""


class _PubFrame(TypedDict):
    t: Literal["pub"]
    conv: str
    """The conversation; made when it does not exist."""
    events: list[Event]
    """The events."""
    id: int
    """The client's number for this frame; the answer names it."""


class PubFrame(_PubFrame, total=False):
    """Publish."""

    durability: Durability
    """What the ack must mean. If absent: `Durability::Stored`, or `Durability::Memory` if the log offers no more."""
    pepoch: int
    """The life of the publisher; a higher one fences a lower one off."""
    pfirst: int
    """The number of the first event, where events are numbered one by one; 0 where the frame has one number, its `pseq`."""
    pid: str
    """The publisher, for exactly-once."""
    pseq: int
    """The number of this frame, or of its last event, in the life of the publisher, from 1, rising by 1; 0 for a publisher
    that does not count.
    """


class _SayFrame(TypedDict):
    command: Literal["say"]
    agent: str
    """The agent."""
    text: str
    """The message."""
    id: str
    """Chosen by whoever commands; names the answer."""


class SayFrame(_SayFrame, total=False):
    """A message to an agent, which answers it. One that is at work here is told with its next request."""

    files: list[MessageFile]
    """Files that come with it, with their contents."""


class _StopFrame(TypedDict):
    command: Literal["stop"]
    id: str
    """Chosen by whoever commands; names the answer."""


class StopFrame(_StopFrame, total=False):
    """A run is to stop at once."""

    run: str
    """The run; the newest where it is not said."""


class _ApproveFrame(TypedDict):
    command: Literal["approve"]
    tool: str
    """The call."""
    id: str
    """Chosen by whoever commands; names the answer."""


class ApproveFrame(_ApproveFrame, total=False):
    """A call that waits for approval may be executed."""

    arguments: Any
    """Its arguments, where they are to be others."""
    run: str
    """The run; the newest where it is not said."""
    saw: str
    """Which arguments the person saw: the first 16 bytes of SHA-256 over their text in the view, as 32 hex digits."""


class _RejectFrame(TypedDict):
    command: Literal["reject"]
    tool: str
    """The call."""
    id: str
    """Chosen by whoever commands; names the answer."""


class RejectFrame(_RejectFrame, total=False):
    """A call that waits for approval may not be executed."""

    run: str
    """The run; the newest where it is not said."""
    text: str
    """Why; the model is told."""


class _RetryFrame(TypedDict):
    command: Literal["retry"]
    id: str
    """Chosen by whoever commands; names the answer."""


class RetryFrame(_RetryFrame, total=False):
    """A run that ended before it was complete is to go on. One that waits before it asks its model again waits no longer."""

    run: str
    """The run; the newest where it is not said."""


class _LabelFrame(TypedDict):
    command: Literal["label"]
    id: str
    """Chosen by whoever commands; names the answer."""


class LabelFrame(_LabelFrame, total=False):
    """What people make of the conversation changes: its title, pin, archive, tags, note. What is absent stays as it is."""

    archived: bool
    """Whether the list leaves it out unless it is asked for."""
    note: str
    """A note about it; empty for none."""
    pinned: bool
    """Whether it stands before the others in the list."""
    tags: list[str]
    """All its tags; empty for none."""
    title: str
    """The title; empty to go back to the one that its runs say."""


class _RateFrame(TypedDict):
    command: Literal["rate"]
    id: str
    """Chosen by whoever commands; names the answer."""


class RateFrame(_RateFrame, total=False):
    """Somebody thinks that a run or a message is good or bad. Of each the last rating counts."""

    good: bool
    """Whether it is good; absent takes the rating back."""
    message: str
    """The message, in the place of a run."""
    run: str
    """The run."""
    why: str
    """Why, in a few words."""


class _ForkFrame(TypedDict):
    command: Literal["fork"]
    id: str
    """Chosen by whoever commands; names the answer."""


class ForkFrame(_ForkFrame, total=False):
    """A new conversation with what was said in this one, up to a place. With an agent and a text the agent answers it there:
    so a message is edited and run again, and what was is as it was.
    """

    agent: str
    """The agent that is to answer."""
    at: int
    """The last event that the new one has; all where it is not said."""
    before: str
    """The message that the new one ends before, where that is how the place is said."""
    into: str
    """The name of the new one; made up where it is not said."""
    text: str
    """What it is told."""

Command = Union[SayFrame, StopFrame, ApproveFrame, RejectFrame, RetryFrame, LabelFrame, RateFrame, ForkFrame]
"""A command of a person. One that comes again with its id is not carried out again and gets the same answer."""


class CommandFrame(TypedDict):
    """Have something done in a conversation; see `crate::command`."""

    t: Literal["command"]
    command: Command
    """What, with the id that the answer names."""
    conv: str
    """The conversation. It may not exist yet."""

ClientFrame = Union[HelloFrame, SubFrame, WatchFrame, UnsubFrame, ResyncFrame, HbAckFrame, PubFrame, CommandFrame]
"""What a client sends."""


class ItemPart(TypedDict):
    """A streamed text."""

    part: str


class ItemTool(TypedDict):
    """A call."""

    tool: str


class ItemAgent(TypedDict):
    """A sub-agent begins here."""

    agent: str


class ItemNote(TypedDict):
    """A note, by its number in `RunView::notes`."""

    note: int

Item = Union[ItemPart, ItemTool, ItemAgent, ItemNote]
"""Something inside a run."""


class _Closed(TypedDict):
    item: Item
    """What."""


class Closed(_Closed, total=False):
    """Something that was open when its run was lost."""

    state: ToolState
    """For a call, how it stood."""


class RowCall(TypedDict):
    """A call that executes, as the list tells of it."""

    name: str
    """The tool."""
    since: int
    """Since when, by the hub's clock, in milliseconds since 1970."""


class _ConversationRow(TypedDict):
    activity: Union[str, None]
    """What it does now, or how it ended, in a few words."""
    agents: int
    """Sub-agents of the newest run."""
    anomalies: int
    """How many anomalies there were, in all."""
    approvals: int
    """Calls of the newest run that wait for a person."""
    at: int
    """When the newest event was taken."""
    conversation: str
    """Its name."""
    ended_at: Union[int, None]
    """When its newest run ended."""
    epoch: str
    """The life of its log."""
    failed: int
    """Calls of the newest run that failed."""
    head: int
    """The newest seq."""
    runs: int
    """Runs in all."""
    started_at: int
    """When its newest run began."""
    state: Union[RunStatus, None]
    """How its newest run stands; nothing before the first."""
    title: Union[str, None]
    """What it is about."""
    tools: int
    """Calls of the newest run."""
    viewers: int
    """How many watch."""


class ConversationRow(_ConversationRow, total=False):
    """A conversation in the list: enough to draw its row."""

    agent: str
    """The name of the main agent of the newest run."""
    answer: str
    """The beginning of the last text of the newest run, once that is complete."""
    archived: bool
    """Whether somebody archived it: lists leave it out unless it is asked for."""
    asks: str
    """The tool of the first call of the newest run that waits for a person."""
    bad: int
    """How many they rated bad."""
    call: RowCall
    """The call of the newest run that executes longest."""
    forked_from: Origin
    """Where it was taken from, when it is a fork."""
    good: int
    """How many of its runs and messages people rated good."""
    host: str
    """The name of the machine that the agent of the newest run runs on."""
    model: str
    """The model of the newest run."""
    more_calls: list[RowCall]
    """Further executing calls of the newest run, the longest first, at most `crate::limits::ROW_MORE_CALLS_MAX`."""
    pinned: bool
    """Whether somebody pinned it: it stands before the others."""
    reason: str
    """Why its newest run did not complete, as figures over time name it: the code of its error, else `error`, `interrupted` or
    `cancelled`.
    """
    said: str
    """The end of the last text of the newest run, while that goes on."""
    stalled: bool
    """Whether that run goes on but nobody has spoken for it for a while."""
    tags: list[str]
    """The tags that somebody gave it, at most `crate::limits::LABEL_TAGS_MAX`."""
    usage: Usage
    """What all runs used together, as far as anybody said."""
    used: list[str]
    """The tools that the newest run called, each once, the first `crate::limits::ROW_TOOLS_MAX` of them."""
    written: int
    """Bytes of texts, thinking and arguments that the models of the newest run have written; 0 for roles that do not see all of it."""

ErrorCode = Literal["bad_request", "bad_conversation", "bad_position", "bad_event", "unknown_dialect", "unknown_conversation", "unknown_subscription", "subscription_in_use", "conversation_exists", "not_found", "method_not_allowed", "unauthenticated", "forbidden", "publish_not_granted", "forbidden_origin", "too_large", "too_many", "publisher_gap", "publisher_fenced", "gone", "shutting_down", "body_timeout", "unsupported_encoding", "durability_unavailable", "elsewhere", "log_failed", "log_unavailable", "disk_full", "disk_failing", "unknown_upstream", "upgrade_refused", "over_budget", "unknown_agent", "agent_unavailable", "not_resumable", "not_running", "still_running", "consent_mismatch", "run_of_hub", "upstream_unreachable", "upstream_failed", "internal"]
"""What went wrong with one request, frame or subscription. Never closes the socket by itself."""


class _ErrorFact(TypedDict):
    code: str
    """The name of the failure, as the source has it."""
    message: str
    """What went wrong."""


class ErrorFact(_ErrorFact, total=False):
    retry_after_ms: int
    """How long to wait before, in milliseconds."""
    retryable: bool
    """Whether trying again may help; false is a failure that is permanent. Absent where nobody said."""


class Label(TypedDict, total=False):
    """What people made of a conversation."""

    archived: bool
    """Whether the list leaves it out unless it is asked for."""
    by: str
    """Who made the last change, where the hub knew."""
    note: str
    """A note about it."""
    pinned: bool
    """Whether it stands before the others in the list."""
    ratings: list[Rating]
    """What they think of runs and messages, at most `RATINGS_MAX`, each once."""
    tags: list[str]
    """Its tags, at most `crate::limits::LABEL_TAGS_MAX`."""
    title: str
    """The title that somebody gave it. It counts before the title that its runs say."""


class Limits(TypedDict):
    """The bounds that a client can run into; see `crate::limits`."""

    events_per_publish: int
    inbound_frame_bytes: int
    part_bytes: int
    ring_bytes: int
    ring_events: int
    snapshot_bytes: int
    subscriptions_per_socket: int

LogHealth = Literal["well", "disk_full", "disk_failing"]
"""Whether the log writes."""


class Loss(TypedDict, total=False):
    """How a run was before the hub ended it because its publisher was lost. At most what was open then."""

    activity: str
    """The line about what went on."""
    activity_at: int
    """When `activity` was said."""
    error: ErrorFact
    """The last failure."""
    open: list[Closed]
    """What was open, in order."""


class Within(TypedDict):
    """A place inside a run."""

    items: int
    """How many items the run had before."""
    run: str
    """The run."""


class _MessageView(TypedDict):
    at: int
    """When the hub took it."""
    role: str
    """Who speaks."""
    text: str
    """What."""


class MessageView(_MessageView, total=False):
    """A message of the history."""

    files: list[MessageFile]
    """What came with it."""
    within: Within
    """Where it was said, when that was inside a run."""


class NoteBodyError(TypedDict):
    """A failure."""

    error: ErrorFact


class NoteBodyCustomCustom(TypedDict):
    name: str
    """Its name."""
    value: Any
    """Its content."""


class NoteBodyCustom(TypedDict):
    """An event of the agent's own."""

    custom: NoteBodyCustomCustom


class NoteBodyRawRaw(TypedDict):
    name: str
    """Its dialect or kind."""
    value: Any
    """Its content."""


class NoteBodyRaw(TypedDict):
    """A foreign event, or one of a later version."""

    raw: NoteBodyRawRaw

NoteBody = Union[NoteBodyError, NoteBodyCustom, NoteBodyRaw]


class Note(TypedDict):
    """Something that happened once in a run."""

    agent: Union[str, None]
    """Which sub-agent."""
    at: int
    """When."""
    body: NoteBody
    """What."""


class _PartView(TypedDict):
    agent: Union[str, None]
    """The sub-agent that wrote it."""
    cut: int
    """Bytes that were over the limit."""
    duration_ms: Union[int, None]
    """How long it took by the publisher's own clock, in milliseconds."""
    ended_at: Union[int, None]
    """When it ended; nothing while it streams."""
    hash: str
    """FNV-1a 64 of the whole text, in hex on the wire since a browser's number does not hold 64 bits."""
    hidden: bool
    """The provider keeps the text to itself."""
    kind: PartKind
    """What it is."""
    late: bool
    """Whether text came after the end."""
    len: int
    """Bytes of the whole text."""
    missing: int
    """Bytes that never came."""
    overlapped: bool
    """Whether deltas overlapped."""
    started_at: int
    """When it began."""
    text: str
    """The text, up to `PART_BYTES_MAX` bytes."""


class PartView(_PartView, total=False):
    """A streamed text, thinking or file."""

    signature: str
    """The provider's mark on its thinking, without which it does not take the text back."""


class Streamed(TypedDict):
    """A text that grows. `Streamed::len` and `Streamed::hash` are those of the whole text, even where
    `Streamed::text` stops at the limit.
    """

    cut: int
    """Bytes that were over the limit."""
    hash: str
    """FNV-1a 64 of the whole text, in hex on the wire since a browser's number does not hold 64 bits."""
    late: bool
    """Whether text came after the end."""
    len: int
    """Bytes of the whole text."""
    missing: int
    """Bytes that never came."""
    overlapped: bool
    """Whether deltas overlapped."""
    text: str
    """The text, up to `PART_BYTES_MAX` bytes."""


class _ToolView(TypedDict):
    agent: Union[str, None]
    """The sub-agent that called it."""
    arguments: Streamed
    """The arguments as the model wrote them; JSON in most dialects."""
    embeds: Any
    """Things to embed that came with the result."""
    ended_at: Union[int, None]
    """When it was over."""
    exec_ms: Union[int, None]
    """How long it was executed, in milliseconds, by the publisher."""
    executing_at: Union[int, None]
    """When it began to execute."""
    files: Any
    """Files that came with the result."""
    is_error: bool
    """Whether it failed."""
    name: str
    """The tool."""
    output: Streamed
    """What it has printed so far."""
    pending_at: Union[int, None]
    """When it was written."""
    question: Union[str, None]
    """What a person is asked, while it waits for approval."""
    queued_ms: Union[int, None]
    """How long it waited, in milliseconds, by the publisher."""
    result: Any
    """What it gave back."""
    result_cut: int
    """Bytes of the result that were over the limit; the result is then its beginning, as a string."""
    server: bool
    """The provider executes it itself."""
    started_at: int
    """When the model began to write it."""
    state: ToolState
    """How it stands."""


class ToolView(_ToolView, total=False):
    """A tool call."""

    approved: bool
    """A person was asked and has agreed to it."""
    asked_at: int
    """When it last began to wait for a person. Views of older versions do not say."""
    given_id: str
    """The id that the source gives it, where another call of the run had that id before."""
    rejected: bool
    """A person was asked and has declined it."""
    result_ref: ResultRef
    """Where the whole result is, when this is only its beginning, as a string."""


class _RunView(TypedDict):
    activity: Union[str, None]
    """The line about what goes on."""
    agents: dict[str, AgentView]
    """The sub-agents."""
    dialect: Union[str, None]
    """The dialect that it came in."""
    ended_at: Union[int, None]
    """When it ended."""
    error: Union[ErrorFact, None]
    """The last failure."""
    finish_reason: Union[str, None]
    """Why the model stopped, in its own word."""
    full: bool
    """Whether more items came than a run holds."""
    items: list[Item]
    """Parts, calls, agents and notes, in order."""
    late: bool
    """Whether events came after the end."""
    model: Union[str, None]
    """The model."""
    name: Union[str, None]
    """The name of the main agent."""
    notes: list[Note]
    """Errors and the agent's own events."""
    open: list[Item]
    """Parts, calls and agents that have not ended."""
    parts: dict[str, PartView]
    """The streamed texts."""
    started_at: int
    """When it began."""
    status: RunStatus
    """How it stands."""
    title: Union[str, None]
    """What it is about."""
    tools: dict[str, ToolView]
    """The calls."""
    usage: Union[Usage, None]
    """Tokens, when anybody said."""


class RunView(_RunView, total=False):
    """One agent execution."""

    activity_at: int
    """When `activity` was said."""
    host: str
    """The name of the machine that the agent runs on, where its publisher said so."""
    loss: Loss
    """What the loss of its publisher closed, as long as nobody has come back."""
    own: bool
    """An agent of the hub does it, or did: the hub itself has begun it, and nobody else can write into it."""
    raw_bytes: int
    """Bytes of raw events that are in the log, kept or not. The first `crate::limits::RAW_BYTES_PER_RUN_MAX` are kept."""
    stalled_at: int
    """Since when the hub has not heard of it, once it said so; nothing as soon as more comes."""

Rung = Literal["immediate", "merged", "snapshot"]
"""How a viewer is told what happens."""


class SilenceThresholds(TypedDict):
    """After how long nothing was heard of something that runs the page says so. 0 is never. They only choose words and order: the hub ends
    nothing by them.
    """

    silent_long_ms: int
    """How long a run must be silent before it needs a person, in milliseconds."""
    silent_ms: int
    """How long no event must arrive in a run that waits neither for a person nor for a call before it is silent, in milliseconds."""
    stuck_ms: int
    """How long a call must execute before it is stuck, in milliseconds."""


class WelcomeFrame(TypedDict):
    """The answer to `hello`."""

    t: Literal["welcome"]
    features: list[str]
    """What this hub offers beyond the core."""
    hb_ms: int
    """Between two heartbeats, in milliseconds."""
    limits: Limits
    """The bounds that a client can run into."""
    session: str
    """The name of this socket, for the hub's trace."""
    silence: SilenceThresholds
    """When runs and calls count as silent or stuck; an older hub says nothing, which means the defaults."""
    ts: int
    """When the hub wrote the frame, in milliseconds since 1970."""
    version: str
    """The version that is spoken from here on."""

SubMode = Literal["tail", "snapshot"]
"""How a subscription goes on."""

SnapshotReason = Literal["epoch_changed", "too_old", "ahead_of_head", "cheaper", "lagging", "requested"]
"""Why a client with a position gets a snapshot."""


class _SubbedFrame(TypedDict):
    t: Literal["subbed"]
    epoch: str
    """The life of the log."""
    head: int
    """The newest seq."""
    mode: SubMode
    """How it goes on."""
    sub: int
    """The subscription."""


class SubbedFrame(_SubbedFrame, total=False):
    """The answer to `sub`. The cursor exists from here on."""

    why: SnapshotReason
    """Why it is a snapshot although the client had a position."""


class TopItemMessage(TypedDict):
    """A message of the history."""

    message: str


class TopItemRun(TypedDict):
    """A run."""

    run: str

TopItem = Union[TopItemMessage, TopItemRun]
"""Something at the top of a conversation."""


class _View(TypedDict):
    anomalies: Anomalies
    """What the streams did that they should not have done."""
    full: bool
    """Whether more runs or messages came than a view holds."""
    items: list[TopItem]
    """Messages and runs, in order."""
    messages: dict[str, MessageView]
    """The history."""
    runs: dict[str, RunView]
    """The runs."""
    seq: int
    """The last event that is in."""
    title: Union[str, None]
    """What the conversation is about, as the newest run said it."""


class View(_View, total=False):
    """A conversation as it stands after the event `View::seq`."""

    forked_from: Origin
    """Where the conversation was taken from, when it is a fork: all up to `Origin::seq` was said there."""
    label: Label
    """What people made of it: a title, a pin, tags."""


class _SnapFrame(TypedDict):
    t: Literal["snap"]
    epoch: str
    """The life of the log."""
    seq: int
    """The last event that is in."""
    state: View
    """The state."""
    sub: int
    """The subscription."""


class SnapFrame(_SnapFrame, total=False):
    """The state at a position, or a piece of it; replaces what the client has of this subscription."""

    more: bool
    """Whether more pieces follow; the state is theirs together."""

BatchFrame = TypedDict(
    "BatchFrame",
    {
        "t": Literal["batch"],
        "ev": list[Event],
        "from": int,
        "sub": int,
        "to": int,
        "ts": int,
    },
)
"""Events. Valid only for a client that stands at `from - 1`; afterwards it stands at `to`."""


class LiveFrame(TypedDict):
    """The client has all there was when it subscribed or was sent a snapshot."""

    t: Literal["live"]
    seq: int
    """Where it stands."""
    sub: int
    """The subscription."""


class LagFrame(TypedDict):
    """The viewer does not take what comes as fast as it comes, or does again."""

    t: Literal["lag"]
    behind_events: int
    """How many events it is behind."""
    behind_ms: int
    """For how long it has been behind, in milliseconds."""
    state: Rung
    """How it is told from here on."""
    sub: int
    """The subscription."""


class _PresenceFrame(TypedDict):
    t: Literal["presence"]
    sub: int
    """The subscription."""
    viewers: int
    """The viewers of the conversation, this one among them."""


class PresenceFrame(_PresenceFrame, total=False):
    """How many watch, and who."""

    names: list[str]
    """Who they are, where names are told: each once and in order, the first `crate::limits::PRESENCE_NAMES_MAX` of them."""


class _FleetFrame(TypedDict):
    t: Literal["fleet"]
    full: bool
    """Whether these are all; else only those that changed."""
    rows: list[ConversationRow]
    """The rows."""
    sub: int
    """The subscription."""
    total: int
    """How many conversations there are."""
    ts: int
    """When the hub wrote the frame, in milliseconds since 1970."""


class FleetFrame(_FleetFrame, total=False):
    """Rows of the list of conversations."""

    gone: list[str]
    """Conversations that were deleted: their rows go, before `rows` are taken. One of these may be there again."""


class HbFrame(TypedDict):
    """A heartbeat. The client answers with `hb_ack`."""

    t: Literal["hb"]
    heads: dict[str, tuple[str, int]]
    """For each subscription the life of the log and the newest seq."""
    ts: int
    """When the hub wrote the frame, in milliseconds since 1970."""


class _HealthFrame(TypedDict):
    t: Literal["health"]
    log: LogHealth
    """How it is."""


class HealthFrame(_HealthFrame, total=False):
    """Whether the log writes: sent after `welcome` when it does not, and to all when that changes."""

    detail: str
    """What the system said."""
    since: int
    """Since when it cannot write, in milliseconds since 1970."""


class ByeFrame(TypedDict):
    """The hub is about to close the socket."""

    t: Literal["bye"]
    code: int
    """The close code."""
    reason: str
    """Why."""
    reconnect: bool
    """Whether the client should come back."""
    retry_ms: int
    """How long it should wait before, in milliseconds."""


class AckFrame(TypedDict):
    """The events of a `pub` are in."""

    t: Literal["ack"]
    duplicate: bool
    """Whether the frame was taken before."""
    durability: Durability
    """What the ack means."""
    epoch: str
    """The life of the log."""
    events: int
    """How many events were taken; 0 for a duplicate."""
    id: int
    """The client's number of the `pub`."""
    seq: int
    """The newest seq after the events; for a duplicate the newest of now."""


class _DoneFrame(TypedDict):
    t: Literal["done"]
    after: Position
    """Where the conversation stood before: what came of it comes after."""
    conversation: str
    """The conversation in which it shows: of a fork the new one."""
    id: str
    """That of the command."""


class DoneFrame(_DoneFrame, total=False):
    """A command was carried out."""

    run: str
    """The run that it began or was about."""


class RefusedFrame(TypedDict):
    """A command was not."""

    t: Literal["refused"]
    code: ErrorCode
    """What."""
    id: str
    """The command; empty where it had none that could be read."""
    message: str
    """Why, for a person."""


class _ErrorFrame(TypedDict):
    t: Literal["error"]
    code: ErrorCode
    """What."""
    message: str
    """What and where, for a person."""


class ErrorFrame(_ErrorFrame, total=False):
    """A frame or a subscription failed; the socket stays."""

    expected: int
    """For `publisher_gap`: the number that is expected."""
    id: int
    """The `pub` that it is about."""
    sub: int
    """The subscription that it is about."""

ServerFrame = Union[WelcomeFrame, SubbedFrame, SnapFrame, BatchFrame, LiveFrame, LagFrame, PresenceFrame, FleetFrame, HbFrame, HealthFrame, ByeFrame, AckFrame, DoneFrame, RefusedFrame, ErrorFrame]
"""What the hub sends."""

Envelope = Event
"""An event as the hub sends it: with `at`, and with `seq` unless it is ephemeral."""


class Snapshot(TypedDict):
    """Not an event of the hub's: stands in a subscription's events for everything that was before it."""

    k: Literal["snapshot"]
    epoch: str
    seq: int
    state: View
