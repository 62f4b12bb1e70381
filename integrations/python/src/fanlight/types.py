"""What travels between clients and the hub. Made by `cargo xtask schema` from schema/*.json: do not edit.

A later version of the hub may send kinds, frames, words and members that are not here.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

Durability = Literal["memory", "stored", "synced", "replicated"]
"""What an ack means (invariant I9)."""

RunStatus = Literal["running", "complete", "error", "cancelled", "interrupted"]
"""The status of a run or of a sub-agent."""


class Cost(TypedDict):
    """A cost as it is written."""

    amount: str
    """The amount in decimal digits: `"0.0123"`."""
    currency: str
    """The code of the currency, three capital letters."""


class _Usage(TypedDict):
    cached_tokens: int
    """Input tokens that were read from a cache."""
    input_tokens: int
    """Input tokens, read by the model."""
    output_tokens: int
    """Output tokens, written by the model."""
    reasoning_tokens: int
    """Output tokens that were spent on reasoning."""


class Usage(_Usage, total=False):
    """Counts of tokens. Absent means that nobody said."""

    cost: Cost
    """The cost of the tokens, as far as anybody knows."""


class _AgentView(TypedDict):
    depth: int
    """The depth of the sub-agent; 1 for a child of the main agent."""
    ended_at: Union[int, None]
    """When the sub-agent ended, in milliseconds since 1970."""
    name: Union[str, None]
    """The name of the sub-agent."""
    parent: Union[str, None]
    """The id of the sub-agent that called it; `None` for the main agent."""
    started_at: int
    """When the sub-agent began, in milliseconds since 1970."""
    status: RunStatus
    """The status of the sub-agent."""
    task: Union[str, None]
    """The task of the sub-agent."""
    tool: Union[str, None]
    """The id of the tool call that started it."""


class AgentView(_AgentView, total=False):
    """A sub-agent of a run."""

    model: str
    """The model that answers, when anybody said."""
    usage: Usage
    """Tokens that it used itself, without the agents that it called, when anybody said."""


class Agents(TypedDict, total=False):
    """A choice of agents of each run. Events about the run as a whole, errors among them, belong to every choice."""

    depth: int
    """The number of levels below it; `None` for all levels, 0 for that agent alone."""
    root: str
    """The id of the topmost agent; `None` for the main agent."""

AnomalyCode = Literal["malformed", "wrong_dialect", "run_without_start", "after_run_end", "part_without_start", "part_started_twice", "after_part_end", "delta_hole", "delta_overlap", "part_mismatch", "tool_without_start", "after_tool_end", "bad_arguments", "agent_without_start", "too_large", "too_many", "truncated", "copy_lost", "repeated"]
"""What a stream did that it should not have done."""


class Anomaly(TypedDict):
    """One thing that a stream did and should not have done. People are told of it as a warning."""

    code: AnomalyCode
    """The code of the anomaly."""
    detail: str
    """Where and which: an id, a line, a piece of the input."""


class Anomalies(TypedDict):
    """The anomalies of one view: all counted, the first `ANOMALIES_KEPT_MAX` kept."""

    first: list[Anomaly]
    """The first of them."""
    total: int
    """The number of all anomalies, also of those that are not kept."""


class _HelloFrame(TypedDict):
    t: Literal["hello"]
    versions: list[str]
    """Versions that the client speaks."""


class HelloFrame(_HelloFrame, total=False):
    """The first frame of a client."""

    client: str
    """The name of the client, for the hub's trace."""
    token: str
    """The token of the caller, where the request of the socket does not have one."""


class Position(TypedDict):
    """A point in a conversation: after the event `seq` of `epoch`. Written `EPOCH:SEQ`."""

    epoch: str
    """The epoch: the life of the log."""
    seq: int
    """The last event that this point includes; 0 for none."""

Level = Literal["critical", "parts", "deltas"]
"""The level of detail that a viewer gets."""


class _SubFrame(TypedDict):
    t: Literal["sub"]
    conv: str
    """The id of the conversation. It may not exist yet."""
    sub: int
    """The number that the client chooses for the subscription."""


class SubFrame(_SubFrame, total=False):
    """Subscribes to a conversation."""

    agents: Agents
    """The agents whose events are sent; `None` for all."""
    have: Position
    """The position up to which the client has the conversation already."""
    kinds: list[str]
    """The kinds of events that are sent; `None` for all."""
    level: Level
    """The level of detail."""
    min_interval_ms: int
    """The shortest time between two frames with events, in milliseconds: for who shows less often than that."""
    newest: int
    """Of a long conversation the newest part alone, of at most so many bytes; 0 for all of it."""
    window: str
    """With a position: the name of the part that the client has; absent if it has all of the conversation."""


class _WatchFrame(TypedDict):
    t: Literal["watch"]
    sub: int
    """The number that the client chooses for the subscription."""


class WatchFrame(_WatchFrame, total=False):
    """Subscribes to the list of conversations."""

    limit: int
    """How many rows to begin with, the newest activity first."""


class UnsubFrame(TypedDict):
    """Ends a subscription."""

    t: Literal["unsub"]
    sub: int
    """The number of the subscription."""


class ResyncFrame(TypedDict):
    """Asks for a snapshot: the client's state does not fit."""

    t: Literal["resync"]
    sub: int
    """The number of the subscription."""


class HbAckFrame(TypedDict):
    """The answer to a heartbeat."""

    t: Literal["hb_ack"]
    at: dict[str, int]
    """For each subscription the seq that the client has applied."""


class Origin(TypedDict):
    """A place in another conversation."""

    conversation: str
    """The id of that conversation."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class Rating(TypedDict, total=False):
    """A rating of one run or one message. The last rating of each counts."""

    by: str
    """The name of who rated, where the hub knows names. In an event it stands beside the rating."""
    good: bool
    """Whether it is good. Absent takes a rating back."""
    message: str
    """The id of the message that is rated, in the place of a run."""
    run: str
    """The id of the run that is rated."""
    why: str
    """The reason, in a few words; absent for none."""


class _LabelEvent(TypedDict):
    k: Literal["label"]


class LabelEvent(_LabelEvent, total=False):
    """Somebody changed what people made of the conversation: its title, pin, archive, tags or note. Only the hub writes it."""

    archived: bool
    """Whether the conversation is archived: the list leaves it out unless it is asked for."""
    by: str
    """The name of the principal who changed it, where the hub knows names."""
    note: str
    """A note about the conversation; empty for none."""
    pinned: bool
    """Whether the conversation is pinned: it stands before the others in the list."""
    rating: Rating
    """A rating of a run or a message."""
    tags: list[str]
    """All tags of the conversation, in order: single words, at most `LABEL_TAGS_MAX`."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RunStartEvent(TypedDict):
    k: Literal["run.start"]


class RunStartEvent(_RunStartEvent, total=False):
    """A run begins, or a run that had ended goes on."""

    dialect: str
    """The name of the dialect in which the run came."""
    host: str
    """The name of the machine that the agent runs on."""
    model: str
    """The name of the model."""
    name: str
    """The name of the main agent."""
    title: str
    """The title of the run, and so of the conversation."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RunUpdateEvent(TypedDict):
    k: Literal["run.update"]


class RunUpdateEvent(_RunUpdateEvent, total=False):
    """More is known about a run that goes on."""

    finish_reason: str
    """The reason why the model stopped, in the provider's word."""
    model: str
    """The name of the model."""
    title: str
    """The title of the run."""
    usage: Usage
    """The tokens of one more model call, added to those of the run and of the sub-agent that the event names."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RunStalledEvent(TypedDict):
    k: Literal["run.stalled"]
    since: int
    """When the run was last heard of, in milliseconds since 1970 by the hub's clock."""


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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RunEndEvent(TypedDict):
    k: Literal["run.end"]
    status: RunStatus
    """The status with which the run ended."""


class RunEndEvent(_RunEndEvent, total=False):
    """A run is over. Its open parts and executing calls are closed with it."""

    finish_reason: str
    """The reason why the model stopped, in the provider's word."""
    lost: bool
    """Nobody said so but the hub, for a publisher that was lost. Whatever else comes of the run lets it go on with all
    that was open.
    """
    usage: Usage
    """The tokens of the whole run, which replace what was added up."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _AgentStartEvent(TypedDict):
    k: Literal["agent.start"]


class AgentStartEvent(_AgentStartEvent, total=False):
    """A sub-agent begins; `Event::agent` is its id."""

    depth: int
    """The depth of the sub-agent, 1 for a child of the main agent; computed from the parent where absent."""
    model: str
    """The name of the model; absent to keep the one that was known."""
    name: str
    """The name of the sub-agent."""
    parent: str
    """The id of the sub-agent that called it; `None` for the main agent."""
    text: str
    """The task of the sub-agent."""
    tool: str
    """The id of the tool call that started it."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _AgentEndEvent(TypedDict):
    k: Literal["agent.end"]
    status: RunStatus
    """The status with which the sub-agent ended."""


class AgentEndEvent(_AgentEndEvent, total=False):
    """A sub-agent is done; `Event::agent` is its id."""

    model: str
    """The name of the model; absent to keep the one that was known."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _MessageFile(TypedDict):
    bytes: int
    """The size of the file in bytes; the hub fills it in."""
    name: str
    """The name of the file."""
    type: str
    """The media type of the file, such as `image/png`."""


class MessageFile(_MessageFile, total=False):
    """A file of a message."""

    data: str
    """The contents of the file in base64: on the way to the hub, and in exports. The hub keeps them apart."""
    hash: str
    """The name under which the hub has its contents; absent where it has none."""


class _MessageEvent(TypedDict):
    k: Literal["message"]
    message: str
    """The id of the message; a message that comes again replaces itself."""
    role: str
    """`user`, `system`, `assistant`, `developer`, `tool` or what the dialect says."""
    text: str
    """The text of the message."""


class MessageEvent(_MessageEvent, total=False):
    """A whole message of the history."""

    files: list[MessageFile]
    """The files that come with the message."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""

PartKind = Literal["text", "thinking", "refusal", "file"]
"""What a part is."""


class _PartStartEvent(TypedDict):
    k: Literal["part.start"]
    kind: PartKind
    """The kind of the part: text, thinking or file."""
    part: str
    """The id of the part, unique in its run."""


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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _PartDeltaEvent(TypedDict):
    k: Literal["part.delta"]
    part: str
    """The id of the part."""
    text: str
    """The text to append."""


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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _PartReplaceEvent(TypedDict):
    k: Literal["part.replace"]
    part: str
    """The id of the part."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _PartEndEvent(TypedDict):
    k: Literal["part.end"]
    part: str
    """The id of the part."""


class PartEndEvent(_PartEndEvent, total=False):
    """A part is whole."""

    duration_ms: int
    """The duration by the publisher's own clock, in milliseconds."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolStartEvent(TypedDict):
    k: Literal["tool.start"]
    name: str
    """The name of the tool, as far as it is known."""
    tool: str
    """The id of the tool call."""


class ToolStartEvent(_ToolStartEvent, total=False):
    """The model begins to write a call."""

    given_id: str
    """The id that the source gives it, where another call of the run had that id before."""
    server: bool
    """Whether the provider executes the call itself (web search and the like)."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolArgsEvent(TypedDict):
    k: Literal["tool.args"]
    text: str
    """The text to append to the arguments."""
    tool: str
    """The id of the tool call."""


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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolCallEvent(TypedDict):
    k: Literal["tool.call"]
    tool: str
    """The id of the tool call."""


class ToolCallEvent(_ToolCallEvent, total=False):
    """A call is written: its name and arguments are final, it waits to be executed."""

    arguments: str
    """The whole arguments as text (JSON in most dialects); nothing when the streamed ones are final."""
    name: str
    """The name of the tool, where it differs from the one at the start or the start was not seen."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""

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
    """The new state of the call."""
    tool: str
    """The id of the tool call."""


class ToolStateEvent(_ToolStateEvent, total=False):
    """A call changes its state."""

    exec_ms: int
    """The time for which the call was executed, in milliseconds, by the publisher."""
    queued_ms: int
    """The time that the call waited before it was executed, in milliseconds, by the publisher."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolOutputEvent(TypedDict):
    k: Literal["tool.output"]
    text: str
    """The text to append to the output."""
    tool: str
    """The id of the tool call."""


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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class ResultRef(TypedDict):
    """A result that is kept beside its event."""

    bytes: int
    """The size of the result as JSON, in bytes."""
    hash: str
    """The first 128 bits of their SHA-256, 32 hex digits: its name in the conversation. 16 hex digits in older logs."""


class _ToolResultEvent(TypedDict):
    k: Literal["tool.result"]
    output: Any
    """The result of the call: a string or any JSON."""
    tool: str
    """The id of the tool call."""


class ToolResultEvent(_ToolResultEvent, total=False):
    """What a call gave back; closes it."""

    embeds: Any
    """Things to embed that came with the result."""
    exec_ms: int
    """The time for which the call was executed, in milliseconds, by the publisher."""
    files: Any
    """Files that came with the result."""
    is_error: bool
    """Whether the tool call failed."""
    queued_ms: int
    """The time that the call waited before it was executed, in milliseconds, by the publisher."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ToolProgressEvent(TypedDict):
    k: Literal["tool.progress"]
    tool: str
    """The id of the tool call."""


class ToolProgressEvent(_ToolProgressEvent, total=False):
    """The progress of a tool call. Ephemeral."""

    current: int
    """The number of units that are done."""
    data: Any
    """What the tool reports beside the text, in a form of its own."""
    phase: str
    """The kind of the report, where it is more than how far the call is: `step`, `complete`, `error`, or a word of the
    tool's own.
    """
    text: str
    """The text of the report: what the tool does now."""
    total: int
    """The number of all units."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _StatusEvent(TypedDict):
    k: Literal["status"]
    text: str
    """The text of the line."""


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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ErrorEvent(TypedDict):
    k: Literal["error"]
    code: str
    """The name of the failure, as the source has it."""
    message: str
    """What went wrong, for a person."""


class ErrorEvent(_ErrorEvent, total=False):
    """Something failed. It does not end the run by itself."""

    retry_after_ms: int
    """How long to wait before another attempt, in milliseconds."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ApprovalRequestEvent(TypedDict):
    k: Literal["approval.request"]
    tool: str
    """The id of the tool call."""


class ApprovalRequestEvent(_ApprovalRequestEvent, total=False):
    """A call waits for a person's approval."""

    text: str
    """The question that the person is asked."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _ApprovalAnswerEvent(TypedDict):
    k: Literal["approval.answer"]
    approved: bool
    """Whether the call may be executed."""
    tool: str
    """The id of the tool call."""


class ApprovalAnswerEvent(_ApprovalAnswerEvent, total=False):
    """A person's answer to an approval request."""

    text: str
    """The reason, in the person's words."""
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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _CustomEvent(TypedDict):
    k: Literal["custom"]
    name: str
    """The name of the event, chosen by the publisher."""
    value: Any
    """The content of the event, as JSON."""


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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RawEvent(TypedDict):
    k: Literal["raw"]
    name: str
    """The name of the dialect."""
    value: Any
    """The foreign event, as JSON."""


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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _AnomalyEvent(TypedDict):
    k: Literal["anomaly"]
    code: AnomalyCode
    """The code of the anomaly."""
    detail: str
    """Where and which: an id, a line, a piece of the input."""


class AnomalyEvent(_AnomalyEvent, total=False):
    """The stream did something that it should not have done. Decoding went on."""

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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""


class _RateEvent(TypedDict):
    k: Literal["rate"]
    tokens: int
    """Tokens in the last second."""


class RateEvent(_RateEvent, total=False):
    """The rate at which tokens arrive. Ephemeral."""

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
    """The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first."""

Event = Union[ForkEvent, LabelEvent, RunStartEvent, RunUpdateEvent, RunStalledEvent, RunEndEvent, AgentStartEvent, AgentEndEvent, MessageEvent, PartStartEvent, PartDeltaEvent, PartReplaceEvent, PartEndEvent, ToolStartEvent, ToolArgsEvent, ToolCallEvent, ToolStateEvent, ToolOutputEvent, ToolResultEvent, ToolProgressEvent, StatusEvent, ErrorEvent, ApprovalRequestEvent, ApprovalAnswerEvent, CustomEvent, RawEvent, AnomalyEvent, RateEvent]
"""An event in its place. On the wire its fields stand beside those of the event, in one flat object."""


class _PubFrame(TypedDict):
    t: Literal["pub"]
    conv: str
    """The conversation; made when it does not exist."""
    events: list[Event]
    """The events to append, in order."""
    id: int
    """The client's number for this frame; the answer names it."""


class PubFrame(_PubFrame, total=False):
    """Publishes events into a conversation."""

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
    """The name of the agent that is to answer."""
    text: str
    """The text of the message."""
    id: str
    """The id of the command, chosen by its sender; the answer names it."""


class SayFrame(_SayFrame, total=False):
    """Sends a message to an agent, which answers it. An agent that is at work here gets the message with its next request."""

    files: list[MessageFile]
    """Files that come with the message, with their contents."""


class _StopFrame(TypedDict):
    command: Literal["stop"]
    id: str
    """The id of the command, chosen by its sender; the answer names it."""


class StopFrame(_StopFrame, total=False):
    """Stops a run at once."""

    run: str
    """The id of the run; absent for the newest run."""


class _ApproveFrame(TypedDict):
    command: Literal["approve"]
    tool: str
    """The id of the tool call."""
    id: str
    """The id of the command, chosen by its sender; the answer names it."""


class ApproveFrame(_ApproveFrame, total=False):
    """Lets a call that waits for approval be executed."""

    arguments: Any
    """Arguments that replace those of the model; absent to keep those."""
    run: str
    """The id of the run; absent for the newest run."""
    saw: str
    """The arguments that the person saw: the first 16 bytes of SHA-256 over their text in the view, as 32 hex digits."""


class _RejectFrame(TypedDict):
    command: Literal["reject"]
    tool: str
    """The id of the tool call."""
    id: str
    """The id of the command, chosen by its sender; the answer names it."""


class RejectFrame(_RejectFrame, total=False):
    """Refuses to let a call that waits for approval be executed."""

    run: str
    """The id of the run; absent for the newest run."""
    text: str
    """The reason, which the model is told."""


class _RetryFrame(TypedDict):
    command: Literal["retry"]
    id: str
    """The id of the command, chosen by its sender; the answer names it."""


class RetryFrame(_RetryFrame, total=False):
    """Continues a run that ended before it was complete. A run that waits before it asks its model again waits no longer."""

    run: str
    """The id of the run; absent for the newest run."""


class _LabelFrame(TypedDict):
    command: Literal["label"]
    id: str
    """The id of the command, chosen by its sender; the answer names it."""


class LabelFrame(_LabelFrame, total=False):
    """Changes the labels of the conversation: its title, pin, archive, tags, note. What is absent stays as it is."""

    archived: bool
    """Whether the conversation is archived: the list leaves it out unless it is asked for."""
    note: str
    """A note about the conversation; empty for none."""
    pinned: bool
    """Whether the conversation is pinned: it stands before the others in the list."""
    tags: list[str]
    """All tags of the conversation; an empty list removes them."""
    title: str
    """The title; empty to go back to the one that its runs say."""


class _RateFrame(TypedDict):
    command: Literal["rate"]
    id: str
    """The id of the command, chosen by its sender; the answer names it."""


class RateFrame(_RateFrame, total=False):
    """Rates a run or a message as good or bad. The last rating of each counts."""

    good: bool
    """Whether it is good; absent to take the rating back."""
    message: str
    """The id of the message that is rated, in the place of a run."""
    run: str
    """The id of the run that is rated, in the place of a message."""
    why: str
    """The reason, in a few words."""


class _ForkFrame(TypedDict):
    command: Literal["fork"]
    id: str
    """The id of the command, chosen by its sender; the answer names it."""


class ForkFrame(_ForkFrame, total=False):
    """Makes a new conversation with what was said in this one, up to a place. With an agent and a text, the agent answers the text there: so a
    message can be edited and run again, and the old conversation stays as it is.
    """

    agent: str
    """The name of the agent that is to answer."""
    at: int
    """The last event that the new conversation has; absent for all events."""
    before: str
    """The message before which the new conversation ends; another way to say the place."""
    into: str
    """The name of the new conversation; absent to let the hub choose one."""
    text: str
    """The text that the agent is to answer."""

Command = Union[SayFrame, StopFrame, ApproveFrame, RejectFrame, RetryFrame, LabelFrame, RateFrame, ForkFrame]
"""A command of a person. One that comes again with its id is not carried out again and gets the same answer."""


class CommandFrame(TypedDict):
    """Has a command carried out in a conversation; see `crate::command`."""

    t: Literal["command"]
    command: Command
    """The command, with the id that the answer names."""
    conv: str
    """The id of the conversation. It may not exist yet."""

ClientFrame = Union[HelloFrame, SubFrame, WatchFrame, UnsubFrame, ResyncFrame, HbAckFrame, PubFrame, CommandFrame]
"""A frame that a client sends."""


class ItemPart(TypedDict):
    """A streamed text, by its id."""

    part: str


class ItemTool(TypedDict):
    """A tool call, by its id."""

    tool: str


class ItemAgent(TypedDict):
    """A sub-agent begins here."""

    agent: str


class ItemNote(TypedDict):
    """A note, by its number in `RunView::notes`."""

    note: int

Item = Union[ItemPart, ItemTool, ItemAgent, ItemNote]
"""An item of a run."""


class _Closed(TypedDict):
    item: Item
    """The part, call or sub-agent that was open."""


class Closed(_Closed, total=False):
    """A part, call or sub-agent that was open when its run was lost."""

    state: ToolState
    """For a call, its state at that moment."""


class RowCall(TypedDict):
    """A call that is executing, in a row of the list."""

    name: str
    """The name of the tool."""
    since: int
    """When the call began to execute by the hub's clock, in milliseconds since 1970."""


class _ConversationRow(TypedDict):
    activity: Union[str, None]
    """What the newest run does now, or how it ended, in a few words."""
    agents: int
    """The number of sub-agents of the newest run."""
    anomalies: int
    """The number of all anomalies of the conversation."""
    approvals: int
    """The number of calls of the newest run that wait for a person."""
    at: int
    """When the newest event was taken, in milliseconds since 1970."""
    conversation: str
    """The id of the conversation."""
    ended_at: Union[int, None]
    """When the newest run ended, in milliseconds since 1970."""
    epoch: str
    """The epoch: the life of the log."""
    failed: int
    """The number of calls of the newest run that failed."""
    head: int
    """The newest seq of the conversation."""
    runs: int
    """The number of runs in the conversation."""
    started_at: int
    """When the newest run began, in milliseconds since 1970."""
    state: Union[RunStatus, None]
    """The status of the newest run; nothing before the first."""
    title: Union[str, None]
    """The title of the conversation."""
    tools: int
    """The number of calls of the newest run."""
    viewers: int
    """The number of viewers of the conversation."""


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
    """The number of its runs and messages that people rated bad."""
    call: RowCall
    """The call of the newest run that executes longest."""
    forked_from: Origin
    """The place that it was taken from, when it is a fork."""
    good: int
    """The number of its runs and messages that people rated good."""
    host: str
    """The name of the machine that the agent of the newest run runs on."""
    model: str
    """The name of the newest run's model."""
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
    """The tokens and costs of all runs together, as far as anybody said."""
    used: list[str]
    """The tools that the newest run called, each once, the first `crate::limits::ROW_TOOLS_MAX` of them."""
    written: int
    """Bytes of texts, thinking and arguments that the models of the newest run have written; 0 for roles that do not see all of it."""


class _Earlier(TypedDict):
    items: int
    """The number of items that are left out of the runs of which something is there."""
    messages: int
    """The number of messages that are left out."""
    runs: int
    """The number of runs of which nothing is there."""
    window: str
    """The name of the part that the view has: a viewer that comes back with a position says it."""


class Earlier(_Earlier, total=False):
    """What lies before a view that has only the newest part of its conversation."""

    bytes: int
    """About how many bytes all of that has. Roles from whom something is hidden are not told."""

ErrorCode = Literal["bad_request", "bad_conversation", "bad_position", "bad_event", "unknown_dialect", "unknown_conversation", "unknown_subscription", "subscription_in_use", "conversation_exists", "not_found", "method_not_allowed", "unauthenticated", "forbidden", "publish_not_granted", "forbidden_origin", "too_large", "too_many", "publisher_gap", "publisher_fenced", "gone", "shutting_down", "body_timeout", "unsupported_encoding", "durability_unavailable", "elsewhere", "log_failed", "log_unavailable", "disk_full", "disk_failing", "unknown_upstream", "upgrade_refused", "over_budget", "unknown_agent", "agent_unavailable", "not_resumable", "not_running", "still_running", "consent_mismatch", "run_of_hub", "upstream_unreachable", "upstream_failed", "internal"]
"""What went wrong with one request, frame or subscription. Never closes the socket by itself."""


class _ErrorFact(TypedDict):
    code: str
    """The name of the failure, as the source has it."""
    message: str
    """What went wrong, for a person."""


class ErrorFact(_ErrorFact, total=False):
    retry_after_ms: int
    """How long to wait before another attempt, in milliseconds."""
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
    """The tags of the conversation, at most `crate::limits::LABEL_TAGS_MAX`."""
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
"""The state of the log: whether it can write."""


class Loss(TypedDict, total=False):
    """The state of a run before the hub ended it because its publisher was lost. It has at most what was open then."""

    activity: str
    """The newest line about what went on."""
    activity_at: int
    """When `activity` was said, in milliseconds since 1970."""
    error: ErrorFact
    """The last failure before the loss."""
    open: list[Closed]
    """The parts, calls and sub-agents that were open, in order."""


class Within(TypedDict):
    """A place inside a run."""

    items: int
    """The number of the run's items before the message."""
    run: str
    """The id of the run."""


class _MessageView(TypedDict):
    at: int
    """When the hub took the message, in milliseconds since 1970."""
    role: str
    """The role of the speaker, such as `user`."""
    text: str
    """The text of the message."""


class MessageView(_MessageView, total=False):
    """A message of the history."""

    files: list[MessageFile]
    """The files that came with the message."""
    within: Within
    """The place where the message was said, if that was inside a run."""


class NoteBodyError(TypedDict):
    """Something failed."""

    error: ErrorFact


class NoteBodyCustomCustom(TypedDict):
    name: str
    """The name of the event, chosen by the publisher."""
    value: Any
    """The content of the event, as JSON."""


class NoteBodyCustom(TypedDict):
    """An event of the agent's own."""

    custom: NoteBodyCustomCustom


class NoteBodyRawRaw(TypedDict):
    name: str
    """The name of the foreign event's dialect, or the kind of the later version's event."""
    value: Any
    """The content of the event, as JSON."""


class NoteBodyRaw(TypedDict):
    """A foreign event, or one of a later version."""

    raw: NoteBodyRawRaw

NoteBody = Union[NoteBodyError, NoteBodyCustom, NoteBodyRaw]


class Note(TypedDict):
    """A note: something that happened once in a run."""

    agent: Union[str, None]
    """The id of the sub-agent it happened in; `None` for the main agent."""
    at: int
    """When it happened, in milliseconds since 1970."""
    body: NoteBody
    """What happened."""


class _PartView(TypedDict):
    agent: Union[str, None]
    """The id of the sub-agent that wrote it; `None` for the main agent."""
    cut: int
    """Bytes that were over the limit."""
    duration_ms: Union[int, None]
    """The duration by the publisher's own clock, in milliseconds."""
    ended_at: Union[int, None]
    """When the part ended, in milliseconds since 1970; nothing while it streams."""
    hash: str
    """FNV-1a 64 of the whole text, in hex on the wire since a browser's number does not hold 64 bits."""
    hidden: bool
    """Whether the provider keeps the text to itself."""
    kind: PartKind
    """The kind of the part."""
    late: bool
    """Whether text came after the end."""
    len: int
    """Bytes of the whole text."""
    missing: int
    """Bytes that never came."""
    overlapped: bool
    """Whether a delta overlapped with the text before it."""
    started_at: int
    """When the part began, in milliseconds since 1970."""
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
    """Whether a delta overlapped with the text before it."""
    text: str
    """The text, up to `PART_BYTES_MAX` bytes."""


class _ToolView(TypedDict):
    agent: Union[str, None]
    """The id of the sub-agent that called it; `None` for the main agent."""
    arguments: Streamed
    """The arguments as the model wrote them; JSON in most dialects."""
    embeds: Any
    """Things to embed that came with the result."""
    ended_at: Union[int, None]
    """When the call was over, in milliseconds since 1970."""
    exec_ms: Union[int, None]
    """The time for which the call was executed, in milliseconds, by the publisher."""
    executing_at: Union[int, None]
    """When the call began to execute, in milliseconds since 1970."""
    files: Any
    """Files that came with the result."""
    is_error: bool
    """Whether the call failed."""
    name: str
    """The name of the tool."""
    output: Streamed
    """The output that the tool has printed so far."""
    pending_at: Union[int, None]
    """When the call was written, in milliseconds since 1970."""
    question: Union[str, None]
    """The question that a person is asked, while the call waits for approval."""
    queued_ms: Union[int, None]
    """The time that the call waited, in milliseconds, by the publisher."""
    result: Any
    """The result of the call."""
    result_cut: int
    """Bytes of the result that were over the limit; the result is then its beginning, as a string."""
    server: bool
    """Whether the provider executes the call itself."""
    started_at: int
    """When the model began to write the call, in milliseconds since 1970."""
    state: ToolState
    """The state of the call."""


class ToolView(_ToolView, total=False):
    """A call of a tool."""

    approved: bool
    """Whether a person was asked and has agreed to it."""
    asked_at: int
    """When it last began to wait for a person. Views of older versions do not say."""
    given_id: str
    """The id that the source gives it, where another call of the run had that id before."""
    rejected: bool
    """Whether a person was asked and has declined it."""
    result_ref: ResultRef
    """Where the whole result is, when this is only its beginning, as a string."""


class _RunView(TypedDict):
    activity: Union[str, None]
    """The newest line about what goes on."""
    agents: dict[str, AgentView]
    """The sub-agents of the run, by id."""
    dialect: Union[str, None]
    """The name of the dialect in which the run came."""
    ended_at: Union[int, None]
    """When the run ended, in milliseconds since 1970."""
    error: Union[ErrorFact, None]
    """The last failure of the run."""
    finish_reason: Union[str, None]
    """The reason why the model stopped, in the provider's word."""
    full: bool
    """Whether more items came than a run holds."""
    items: list[Item]
    """Parts, calls, agents and notes, in order."""
    late: bool
    """Whether events came after the end."""
    model: Union[str, None]
    """The name of the model."""
    name: Union[str, None]
    """The name of the main agent."""
    notes: list[Note]
    """The notes of the run: errors and the agent's own events."""
    open: list[Item]
    """Parts, calls and agents that have not ended."""
    parts: dict[str, PartView]
    """The streamed texts of the run, by id."""
    started_at: int
    """When the run began, in milliseconds since 1970."""
    status: RunStatus
    """The status of the run."""
    title: Union[str, None]
    """The title of the run."""
    tools: dict[str, ToolView]
    """The tool calls of the run, by id."""
    usage: Union[Usage, None]
    """The tokens of the run, if anybody said."""


class RunView(_RunView, total=False):
    """One execution of an agent."""

    activity_at: int
    """When `activity` was said, in milliseconds since 1970."""
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
"""The ways in which a viewer is served, from the best to the worst."""


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
"""What the hub sends first after it has accepted a subscription."""

SnapshotReason = Literal["epoch_changed", "too_old", "ahead_of_head", "cheaper", "lagging", "requested"]
"""The reason why a client with a position gets a snapshot."""


class _SubbedFrame(TypedDict):
    t: Literal["subbed"]
    epoch: str
    """The epoch: the life of the log."""
    head: int
    """The newest seq of the conversation."""
    mode: SubMode
    """Whether events follow, or a snapshot."""
    sub: int
    """The number of the subscription."""


class SubbedFrame(_SubbedFrame, total=False):
    """The answer to `sub`. The cursor exists from here on."""

    why: SnapshotReason
    """The reason why it is a snapshot although the client had a position."""


class TopItemMessage(TypedDict):
    """A message of the history."""

    message: str


class TopItemRun(TypedDict):
    """A run of an agent."""

    run: str

TopItem = Union[TopItemMessage, TopItemRun]
"""An item at the top level of a conversation."""


class _View(TypedDict):
    anomalies: Anomalies
    """The anomalies: what the streams did that they should not have done."""
    full: bool
    """Whether more runs or messages came than a view holds."""
    items: list[TopItem]
    """Messages and runs, in order."""
    messages: dict[str, MessageView]
    """The messages, by id, in order."""
    runs: dict[str, RunView]
    """The runs, by id, in order."""
    seq: int
    """The seq of the last event that is in the view."""
    title: Union[str, None]
    """What the conversation is about, as the newest run said it."""


class View(_View, total=False):
    """A conversation as it stands after the event `View::seq`."""

    earlier: Earlier
    """What lies before this view, where it has only the newest part of the conversation."""
    forked_from: Origin
    """Where the conversation was taken from, when it is a fork: all up to `Origin::seq` was said there."""
    label: Label
    """What people made of it: a title, a pin, tags."""


class _SnapFrame(TypedDict):
    t: Literal["snap"]
    epoch: str
    """The epoch: the life of the log."""
    seq: int
    """The seq of the last event in the state."""
    state: View
    """The view, or a piece of it."""
    sub: int
    """The number of the subscription."""


class SnapFrame(_SnapFrame, total=False):
    """The state at a position, or a piece of it; replaces what the client has of this subscription."""

    more: bool
    """Whether more pieces follow; all pieces together are the state."""

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
"""Events. They are valid only for a client that stands at `from - 1`; afterwards it stands at `to`."""


class LiveFrame(TypedDict):
    """The client has all there was when it subscribed or was sent a snapshot."""

    t: Literal["live"]
    seq: int
    """The seq that the client has reached."""
    sub: int
    """The number of the subscription."""


class LagFrame(TypedDict):
    """The viewer reads too slowly, or has caught up."""

    t: Literal["lag"]
    behind_events: int
    """The number of events that it is behind."""
    behind_ms: int
    """The time for which it has been behind, in milliseconds."""
    state: Rung
    """The way in which the viewer is served from here on."""
    sub: int
    """The number of the subscription."""


class _PresenceFrame(TypedDict):
    t: Literal["presence"]
    sub: int
    """The number of the subscription."""
    viewers: int
    """The number of viewers of the conversation, this one among them."""


class PresenceFrame(_PresenceFrame, total=False):
    """The number of viewers of a conversation, and their names."""

    names: list[str]
    """The names of the viewers, where names are told: each once and in order, the first `crate::limits::PRESENCE_NAMES_MAX` of them."""


class _FleetFrame(TypedDict):
    t: Literal["fleet"]
    full: bool
    """Whether these are all rows; otherwise they are only those that changed."""
    rows: list[ConversationRow]
    """The rows that are new or changed."""
    sub: int
    """The number of the subscription."""
    total: int
    """The number of all conversations."""
    ts: int
    """When the hub wrote the frame, in milliseconds since 1970."""


class FleetFrame(_FleetFrame, total=False):
    """Rows of the list of conversations."""

    gone: list[str]
    """Conversations that were deleted: remove their rows before `rows` are applied. One of these may be there again."""


class HbFrame(TypedDict):
    """A heartbeat. The client answers with `hb_ack`."""

    t: Literal["hb"]
    heads: dict[str, tuple[str, int]]
    """For each subscription the epoch and the newest seq."""
    ts: int
    """When the hub wrote the frame, in milliseconds since 1970."""


class _HealthFrame(TypedDict):
    t: Literal["health"]
    log: LogHealth
    """The state of the log."""


class HealthFrame(_HealthFrame, total=False):
    """Whether the log can write. Sent after `welcome` when it cannot, and to all when that changes."""

    detail: str
    """The error text of the operating system."""
    since: int
    """Since when the log cannot write, in milliseconds since 1970."""


class ByeFrame(TypedDict):
    """The hub is about to close the socket."""

    t: Literal["bye"]
    code: int
    """The close code of the WebSocket."""
    reason: str
    """The reason, for a person."""
    reconnect: bool
    """Whether the client should connect again."""
    retry_ms: int
    """How long the client should wait before it connects again, in milliseconds."""


class AckFrame(TypedDict):
    """The events of a `pub` were accepted."""

    t: Literal["ack"]
    duplicate: bool
    """Whether the frame had been accepted before."""
    durability: Durability
    """The durability that the ack stands for."""
    epoch: str
    """The epoch: the life of the log."""
    events: int
    """The number of events that were accepted; 0 for a duplicate."""
    id: int
    """The client's number of the `pub`."""
    seq: int
    """The newest seq after the events; for a duplicate, the newest seq now."""


class _DoneFrame(TypedDict):
    t: Literal["done"]
    after: Position
    """The position of the conversation before the command: its effects come after."""
    conversation: str
    """The conversation in which the outcome shows; for a fork, the new one."""
    id: str
    """The id of the command that this answers."""


class DoneFrame(_DoneFrame, total=False):
    """A command was carried out."""

    run: str
    """The id of the run that the command began or was about."""


class RefusedFrame(TypedDict):
    """A command was refused."""

    t: Literal["refused"]
    code: ErrorCode
    """The code of the error, for programs."""
    id: str
    """The id of the command; empty if it had none that could be read."""
    message: str
    """The reason, for a person."""


class _ErrorFrame(TypedDict):
    t: Literal["error"]
    code: ErrorCode
    """The code of the error, for programs."""
    message: str
    """What is wrong and where, for a person."""


class ErrorFrame(_ErrorFrame, total=False):
    """A frame or a subscription failed; the socket stays."""

    expected: int
    """For `publisher_gap`: the number that the hub expects."""
    id: int
    """The id of the `pub` that it is about."""
    sub: int
    """The number of the subscription that it is about."""

ServerFrame = Union[WelcomeFrame, SubbedFrame, SnapFrame, BatchFrame, LiveFrame, LagFrame, PresenceFrame, FleetFrame, HbFrame, HealthFrame, ByeFrame, AckFrame, DoneFrame, RefusedFrame, ErrorFrame]
"""A frame that the hub sends."""

Envelope = Event
"""An event as the hub sends it: with `at`, and with `seq` unless it is ephemeral."""


class Snapshot(TypedDict):
    """Not an event of the hub's: stands in a subscription's events for everything that was before it."""

    k: Literal["snapshot"]
    epoch: str
    seq: int
    state: View
