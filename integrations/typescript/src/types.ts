// What travels between clients and the hub. Made by `cargo xtask schema` from schema/*.json: do not edit.
//
// A later version of the hub may send kinds, frames, words and members that are not here.

/** What an ack means (invariant I9). */
export type Durability = "memory" | "stored" | "synced" | "replicated";

/** The status of a run or of a sub-agent. */
export type RunStatus = "running" | "complete" | "error" | "cancelled" | "interrupted";

/** A cost as it is written. */
export interface Cost {
  /** The amount in decimal digits: `"0.0123"`. */
  amount: string;
  /** The code of the currency, three capital letters. */
  currency: string;
}

/** Counts of tokens. Absent means that nobody said. */
export interface Usage {
  /** Input tokens that were read from a cache. */
  cached_tokens: number;
  /** The cost of the tokens, as far as anybody knows. */
  cost?: Cost;
  /** Input tokens, read by the model. */
  input_tokens: number;
  /** Output tokens, written by the model. */
  output_tokens: number;
  /** Output tokens that were spent on reasoning. */
  reasoning_tokens: number;
}

/** A sub-agent of a run. */
export interface AgentView {
  /** The depth of the sub-agent; 1 for a child of the main agent. */
  depth: number;
  /** When the sub-agent ended, in milliseconds since 1970. */
  ended_at: number | null;
  /** The model that answers, when anybody said. */
  model?: string;
  /** The name of the sub-agent. */
  name: string | null;
  /** The id of the sub-agent that called it; `None` for the main agent. */
  parent: string | null;
  /** When the sub-agent began, in milliseconds since 1970. */
  started_at: number;
  /** The status of the sub-agent. */
  status: RunStatus;
  /** The task of the sub-agent. */
  task: string | null;
  /** The id of the tool call that started it. */
  tool: string | null;
  /** Tokens that it used itself, without the agents that it called, when anybody said. */
  usage?: Usage;
}

/** A choice of agents of each run. Events about the run as a whole, errors among them, belong to every choice. */
export interface Agents {
  /** The number of levels below it; `None` for all levels, 0 for that agent alone. */
  depth?: number;
  /** The id of the topmost agent; `None` for the main agent. */
  root?: string;
}

/** What a stream did that it should not have done. */
export type AnomalyCode = "malformed" | "wrong_dialect" | "run_without_start" | "after_run_end" | "part_without_start" | "part_started_twice" | "after_part_end" | "delta_hole" | "delta_overlap" | "part_mismatch" | "tool_without_start" | "after_tool_end" | "bad_arguments" | "agent_without_start" | "too_large" | "too_many" | "truncated" | "copy_lost" | "repeated";

/** One thing that a stream did and should not have done. People are told of it as a warning. */
export interface Anomaly {
  /** The code of the anomaly. */
  code: AnomalyCode;
  /** Where and which: an id, a line, a piece of the input. */
  detail: string;
}

/** The anomalies of one view: all counted, the first `ANOMALIES_KEPT_MAX` kept. */
export interface Anomalies {
  /** The first of them. */
  first: Anomaly[];
  /** The number of all anomalies, also of those that are not kept. */
  total: number;
}

/** The first frame of a client. */
export interface HelloFrame {
  t: "hello";
  /** The name of the client, for the hub's trace. */
  client?: string;
  /** The token of the caller, where the request of the socket does not have one. */
  token?: string;
  /** Versions that the client speaks. */
  versions: string[];
}

/** A point in a conversation: after the event `seq` of `epoch`. Written `EPOCH:SEQ`. */
export interface Position {
  /** The epoch: the life of the log. */
  epoch: string;
  /** The last event that this point includes; 0 for none. */
  seq: number;
}

/** The level of detail that a viewer gets. */
export type Level = "critical" | "parts" | "deltas";

/** Subscribes to a conversation. */
export interface SubFrame {
  t: "sub";
  /** The agents whose events are sent; `None` for all. */
  agents?: Agents;
  /** The id of the conversation. It may not exist yet. */
  conv: string;
  /** The position up to which the client has the conversation already. */
  have?: Position;
  /** The kinds of events that are sent; `None` for all. */
  kinds?: string[];
  /** The level of detail. */
  level?: Level;
  /** The shortest time between two frames with events, in milliseconds: for who shows less often than that. */
  min_interval_ms?: number;
  /** Of a long conversation the newest part alone, of at most so many bytes; 0 for all of it. */
  newest?: number;
  /** The number that the client chooses for the subscription. */
  sub: number;
  /** With a position: the name of the part that the client has; absent if it has all of the conversation. */
  window?: string;
}

/** Subscribes to the list of conversations. */
export interface WatchFrame {
  t: "watch";
  /** How many rows to begin with, the newest activity first. */
  limit?: number;
  /** The number that the client chooses for the subscription. */
  sub: number;
}

/** Ends a subscription. */
export interface UnsubFrame {
  t: "unsub";
  /** The number of the subscription. */
  sub: number;
}

/** Asks for a snapshot: the client's state does not fit. */
export interface ResyncFrame {
  t: "resync";
  /** The number of the subscription. */
  sub: number;
}

/** The answer to a heartbeat. */
export interface HbAckFrame {
  t: "hb_ack";
  /** For each subscription the seq that the client has applied. */
  at: Record<string, number>;
}

/** A place in another conversation. */
export interface Origin {
  /** The id of that conversation. */
  conversation: string;
  /** The life of its log then. */
  epoch: string;
  /** The last event that both have; 0 where they have none in common. */
  seq: number;
}

/** The conversation is a fork: everything before this was said in another one. */
export interface ForkEvent {
  k: "fork";
  /** The conversation that it was taken from, and the place in it. */
  from: Origin;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A rating of one run or one message. The last rating of each counts. */
export interface Rating {
  /** The name of who rated, where the hub knows names. In an event it stands beside the rating. */
  by?: string;
  /** Whether it is good. Absent takes a rating back. */
  good?: boolean;
  /** The id of the message that is rated, in the place of a run. */
  message?: string;
  /** The id of the run that is rated. */
  run?: string;
  /** The reason, in a few words; absent for none. */
  why?: string;
}

/** Somebody changed what people made of the conversation: its title, pin, archive, tags or note. Only the hub writes it. */
export interface LabelEvent {
  k: "label";
  /** Whether the conversation is archived: the list leaves it out unless it is asked for. */
  archived?: boolean;
  /** The name of the principal who changed it, where the hub knows names. */
  by?: string;
  /** A note about the conversation; empty for none. */
  note?: string;
  /** Whether the conversation is pinned: it stands before the others in the list. */
  pinned?: boolean;
  /** A rating of a run or a message. */
  rating?: Rating;
  /** All tags of the conversation, in order: single words, at most `LABEL_TAGS_MAX`. */
  tags?: string[];
  /** The title that somebody gives it; empty to go back to the title that its runs say. */
  title?: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A run begins, or a run that had ended goes on. */
export interface RunStartEvent {
  k: "run.start";
  /** The name of the dialect in which the run came. */
  dialect?: string;
  /** The name of the machine that the agent runs on. */
  host?: string;
  /** The name of the model. */
  model?: string;
  /** The name of the main agent. */
  name?: string;
  /** The title of the run, and so of the conversation. */
  title?: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** More is known about a run that goes on. */
export interface RunUpdateEvent {
  k: "run.update";
  /** The reason why the model stopped, in the provider's word. */
  finish_reason?: string;
  /** The name of the model. */
  model?: string;
  /** The title of the run. */
  title?: string;
  /** The tokens of one more model call, added to those of the run and of the sub-agent that the event names. */
  usage?: Usage;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/**
 * Nobody has spoken for a run for a while, and nobody is there who did. The hub says so; whatever else comes of the
 * run takes it back.
 */
export interface RunStalledEvent {
  k: "run.stalled";
  /** When the run was last heard of, in milliseconds since 1970 by the hub's clock. */
  since: number;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A run is over. Its open parts and executing calls are closed with it. */
export interface RunEndEvent {
  k: "run.end";
  /** The reason why the model stopped, in the provider's word. */
  finish_reason?: string;
  /**
   * Nobody said so but the hub, for a publisher that was lost. Whatever else comes of the run lets it go on with all
   * that was open.
   */
  lost?: boolean;
  /** The status with which the run ended. */
  status: RunStatus;
  /** The tokens of the whole run, which replace what was added up. */
  usage?: Usage;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A sub-agent begins; `Event::agent` is its id. */
export interface AgentStartEvent {
  k: "agent.start";
  /** The depth of the sub-agent, 1 for a child of the main agent; computed from the parent where absent. */
  depth?: number;
  /** The name of the model; absent to keep the one that was known. */
  model?: string;
  /** The name of the sub-agent. */
  name?: string;
  /** The id of the sub-agent that called it; `None` for the main agent. */
  parent?: string;
  /** The task of the sub-agent. */
  text?: string;
  /** The id of the tool call that started it. */
  tool?: string;
  /** Tokens that it has used before, where it goes on; what was known where absent. The run's stay as they are. */
  usage?: Usage;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A sub-agent is done; `Event::agent` is its id. */
export interface AgentEndEvent {
  k: "agent.end";
  /** The name of the model; absent to keep the one that was known. */
  model?: string;
  /** The status with which the sub-agent ended. */
  status: RunStatus;
  /**
   * Tokens that it has used itself, without the agents that it called; replaces what was added up for it. The run's
   * stay as they are.
   */
  usage?: Usage;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A file of a message. */
export interface MessageFile {
  /** The size of the file in bytes; the hub fills it in. */
  bytes: number;
  /** The contents of the file in base64: on the way to the hub, and in exports. The hub keeps them apart. */
  data?: string;
  /** The name under which the hub has its contents; absent where it has none. */
  hash?: string;
  /** The name of the file. */
  name: string;
  /** The media type of the file, such as `image/png`. */
  type: string;
}

/** A whole message of the history. */
export interface MessageEvent {
  k: "message";
  /** The files that come with the message. */
  files?: MessageFile[];
  /** The id of the message; a message that comes again replaces itself. */
  message: string;
  /** `user`, `system`, `assistant`, `developer`, `tool` or what the dialect says. */
  role: string;
  /** The text of the message. */
  text: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** What a part is. */
export type PartKind = "text" | "thinking" | "refusal" | "file";

/** A streamed text begins. */
export interface PartStartEvent {
  k: "part.start";
  /** The kind of the part: text, thinking or file. */
  kind: PartKind;
  /** The id of the part, unique in its run. */
  part: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** More text of a part. */
export interface PartDeltaEvent {
  k: "part.delta";
  /** Where the text starts in the part, in bytes of UTF-8; the hub fills it in when the publisher does not. */
  off?: number;
  /** The id of the part. */
  part: string;
  /** The text to append. */
  text: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The text of a part is replaced as a whole (dialects that repeat or correct themselves). */
export interface PartReplaceEvent {
  k: "part.replace";
  /** The id of the part. */
  part: string;
  /** The whole new text. */
  text: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A part is whole. */
export interface PartEndEvent {
  k: "part.end";
  /** The duration by the publisher's own clock, in milliseconds. */
  duration_ms?: number;
  /** FNV-1a 64 of the whole text, 16 hex digits; the hub fills it in. */
  hash?: string;
  /** The provider keeps the text to itself (encrypted thinking). */
  hidden?: boolean;
  /** Length of the whole text in bytes; the hub fills it in. */
  len?: number;
  /** The id of the part. */
  part: string;
  /** The provider's mark on its thinking, without which it does not take the text back. */
  signature?: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The model begins to write a call. */
export interface ToolStartEvent {
  k: "tool.start";
  /** The id that the source gives it, where another call of the run had that id before. */
  given_id?: string;
  /** The name of the tool, as far as it is known. */
  name: string;
  /** Whether the provider executes the call itself (web search and the like). */
  server?: boolean;
  /** The id of the tool call. */
  tool: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** More text of a call's arguments. */
export interface ToolArgsEvent {
  k: "tool.args";
  /** Where the text starts in the arguments, in bytes. */
  off?: number;
  /** The text to append to the arguments. */
  text: string;
  /** The id of the tool call. */
  tool: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A call is written: its name and arguments are final, it waits to be executed. */
export interface ToolCallEvent {
  k: "tool.call";
  /** The whole arguments as text (JSON in most dialects); nothing when the streamed ones are final. */
  arguments?: string;
  /** The name of the tool, where it differs from the one at the start or the start was not seen. */
  name?: string;
  /** The id of the tool call. */
  tool: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/**
 * The life of a tool call:
 *
 * ```text
 * writing → pending → approval? → executing → complete | error | cancelled | interrupted
 * ```
 *
 * It only goes forward; the last four are final.
 */
export type ToolState = "writing" | "pending" | "approval" | "executing" | "complete" | "error" | "cancelled" | "interrupted";

/** A call changes its state. */
export interface ToolStateEvent {
  k: "tool.state";
  /** The time for which the call was executed, in milliseconds, by the publisher. */
  exec_ms?: number;
  /** The time that the call waited before it was executed, in milliseconds, by the publisher. */
  queued_ms?: number;
  /** The new state of the call. */
  state: ToolState;
  /** The id of the tool call. */
  tool: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** More of what a call that still executes has printed. */
export interface ToolOutputEvent {
  k: "tool.output";
  /** Where the text starts in the output, in bytes. */
  off?: number;
  /** The text to append to the output. */
  text: string;
  /** The id of the tool call. */
  tool: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A result that is kept beside its event. */
export interface ResultRef {
  /** The size of the result as JSON, in bytes. */
  bytes: number;
  /** The first 128 bits of their SHA-256, 32 hex digits: its name in the conversation. 16 hex digits in older logs. */
  hash: string;
}

/** What a call gave back; closes it. */
export interface ToolResultEvent {
  k: "tool.result";
  /** Things to embed that came with the result. */
  embeds?: unknown;
  /** The time for which the call was executed, in milliseconds, by the publisher. */
  exec_ms?: number;
  /** Files that came with the result. */
  files?: unknown;
  /** Whether the tool call failed. */
  is_error?: boolean;
  /** The result of the call: a string or any JSON. */
  output: unknown;
  /** The time that the call waited before it was executed, in milliseconds, by the publisher. */
  queued_ms?: number;
  /** Where the whole output is, when this is only its beginning, as a string. */
  ref?: ResultRef;
  /** The id of the tool call. */
  tool: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The progress of a tool call. Ephemeral. */
export interface ToolProgressEvent {
  k: "tool.progress";
  /** The number of units that are done. */
  current?: number;
  /** What the tool reports beside the text, in a form of its own. */
  data?: unknown;
  /**
   * The kind of the report, where it is more than how far the call is: `step`, `complete`, `error`, or a word of the
   * tool's own.
   */
  phase?: string;
  /** The text of the report: what the tool does now. */
  text?: string;
  /** The id of the tool call. */
  tool: string;
  /** The number of all units. */
  total?: number;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A line about what goes on ("retrying model in 8 s"). */
export interface StatusEvent {
  k: "status";
  /** The text of the line. */
  text: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** Something failed. It does not end the run by itself. */
export interface ErrorEvent {
  k: "error";
  /** The name of the failure, as the source has it. */
  code: string;
  /** What went wrong, for a person. */
  message: string;
  /** How long to wait before another attempt, in milliseconds. */
  retry_after_ms?: number;
  /** Whether trying again may help; false is a failure that is permanent. Absent where nobody said. */
  retryable?: boolean;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A call waits for a person's approval. */
export interface ApprovalRequestEvent {
  k: "approval.request";
  /** The question that the person is asked. */
  text?: string;
  /** The id of the tool call. */
  tool: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A person's answer to an approval request. */
export interface ApprovalAnswerEvent {
  k: "approval.answer";
  /** Whether the call may be executed. */
  approved: boolean;
  /** The reason, in the person's words. */
  text?: string;
  /** The id of the tool call. */
  tool: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** An event of the agent's own, passed through. */
export interface CustomEvent {
  k: "custom";
  /** The name of the event, chosen by the publisher. */
  name: string;
  /** The content of the event, as JSON. */
  value: unknown;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A foreign event that the decoder has no other name for, as it came. */
export interface RawEvent {
  k: "raw";
  /** The name of the dialect. */
  name: string;
  /** The foreign event, as JSON. */
  value: unknown;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The stream did something that it should not have done. Decoding went on. */
export interface AnomalyEvent {
  k: "anomaly";
  /** The code of the anomaly. */
  code: AnomalyCode;
  /** Where and which: an id, a line, a piece of the input. */
  detail: string;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The rate at which tokens arrive. Ephemeral. */
export interface RateEvent {
  k: "rate";
  /** Tokens in the last second. */
  tokens: number;
  /** The sub-agent that did it; nothing for the main agent. */
  agent?: string;
  /** When the hub took it, in milliseconds since 1970 by the hub's clock. */
  at?: number;
  /**
   * The hub itself says so: of the beginnings, questions, answers, ends and notes of its own agents' runs, of forks, and of
   * runs that it gave up. Nobody else can: it is taken away from all that is received.
   */
  by_hub?: boolean;
  /** When it happened by the publisher's clock, in milliseconds since 1970. */
  producer_at?: number;
  /** Who published it, where it has a name. */
  publisher?: string;
  /** The run that it belongs to; `RunId::none` for events about the conversation. */
  run?: string;
  /** The number of the event in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** An event in its place. On the wire its fields stand beside those of the event, in one flat object. */
export type Event = ForkEvent | LabelEvent | RunStartEvent | RunUpdateEvent | RunStalledEvent | RunEndEvent | AgentStartEvent | AgentEndEvent | MessageEvent | PartStartEvent | PartDeltaEvent | PartReplaceEvent | PartEndEvent | ToolStartEvent | ToolArgsEvent | ToolCallEvent | ToolStateEvent | ToolOutputEvent | ToolResultEvent | ToolProgressEvent | StatusEvent | ErrorEvent | ApprovalRequestEvent | ApprovalAnswerEvent | CustomEvent | RawEvent | AnomalyEvent | RateEvent;

/** Publishes events into a conversation. */
export interface PubFrame {
  t: "pub";
  /** The conversation; made when it does not exist. */
  conv: string;
  /** What the ack must mean. If absent: `Durability::Stored`, or `Durability::Memory` if the log offers no more. */
  durability?: Durability;
  /** The events to append, in order. */
  events: Event[];
  /** The client's number for this frame; the answer names it. */
  id: number;
  /** The life of the publisher; a higher one fences a lower one off. */
  pepoch?: number;
  /** The number of the first event, where events are numbered one by one; 0 where the frame has one number, its `pseq`. */
  pfirst?: number;
  /** The publisher, for exactly-once. */
  pid?: string;
  /**
   * The number of this frame, or of its last event, in the life of the publisher, from 1, rising by 1; 0 for a publisher
   * that does not count.
   */
  pseq?: number;
}

/** Sends a message to an agent, which answers it. An agent that is at work here gets the message with its next request. */
export interface SayFrame {
  command: "say";
  /** The name of the agent that is to answer. */
  agent: string;
  /** Files that come with the message, with their contents. */
  files?: MessageFile[];
  /** The text of the message. */
  text: string;
  /** The id of the command, chosen by its sender; the answer names it. */
  id: string;
}

/** Stops a run at once. */
export interface StopFrame {
  command: "stop";
  /** The id of the run; absent for the newest run. */
  run?: string;
  /** The id of the command, chosen by its sender; the answer names it. */
  id: string;
}

/** Lets a call that waits for approval be executed. */
export interface ApproveFrame {
  command: "approve";
  /** Arguments that replace those of the model; absent to keep those. */
  arguments?: unknown;
  /** The id of the run; absent for the newest run. */
  run?: string;
  /** The arguments that the person saw: the first 16 bytes of SHA-256 over their text in the view, as 32 hex digits. */
  saw?: string;
  /** The id of the tool call. */
  tool: string;
  /** The id of the command, chosen by its sender; the answer names it. */
  id: string;
}

/** Refuses to let a call that waits for approval be executed. */
export interface RejectFrame {
  command: "reject";
  /** The id of the run; absent for the newest run. */
  run?: string;
  /** The reason, which the model is told. */
  text?: string;
  /** The id of the tool call. */
  tool: string;
  /** The id of the command, chosen by its sender; the answer names it. */
  id: string;
}

/** Continues a run that ended before it was complete. A run that waits before it asks its model again waits no longer. */
export interface RetryFrame {
  command: "retry";
  /** The id of the run; absent for the newest run. */
  run?: string;
  /** The id of the command, chosen by its sender; the answer names it. */
  id: string;
}

/** Changes the labels of the conversation: its title, pin, archive, tags, note. What is absent stays as it is. */
export interface LabelFrame {
  command: "label";
  /** Whether the conversation is archived: the list leaves it out unless it is asked for. */
  archived?: boolean;
  /** A note about the conversation; empty for none. */
  note?: string;
  /** Whether the conversation is pinned: it stands before the others in the list. */
  pinned?: boolean;
  /** All tags of the conversation; an empty list removes them. */
  tags?: string[];
  /** The title; empty to go back to the one that its runs say. */
  title?: string;
  /** The id of the command, chosen by its sender; the answer names it. */
  id: string;
}

/** Rates a run or a message as good or bad. The last rating of each counts. */
export interface RateFrame {
  command: "rate";
  /** Whether it is good; absent to take the rating back. */
  good?: boolean;
  /** The id of the message that is rated, in the place of a run. */
  message?: string;
  /** The id of the run that is rated, in the place of a message. */
  run?: string;
  /** The reason, in a few words. */
  why?: string;
  /** The id of the command, chosen by its sender; the answer names it. */
  id: string;
}

/**
 * Makes a new conversation with what was said in this one, up to a place. With an agent and a text, the agent answers the text there: so a
 * message can be edited and run again, and the old conversation stays as it is.
 */
export interface ForkFrame {
  command: "fork";
  /** The name of the agent that is to answer. */
  agent?: string;
  /** The last event that the new conversation has; absent for all events. */
  at?: number;
  /** The message before which the new conversation ends; another way to say the place. */
  before?: string;
  /** The name of the new conversation; absent to let the hub choose one. */
  into?: string;
  /** The text that the agent is to answer. */
  text?: string;
  /** The id of the command, chosen by its sender; the answer names it. */
  id: string;
}

/** A command of a person. One that comes again with its id is not carried out again and gets the same answer. */
export type Command = SayFrame | StopFrame | ApproveFrame | RejectFrame | RetryFrame | LabelFrame | RateFrame | ForkFrame;

/** Has a command carried out in a conversation; see `crate::command`. */
export interface CommandFrame {
  t: "command";
  /** The command, with the id that the answer names. */
  command: Command;
  /** The id of the conversation. It may not exist yet. */
  conv: string;
}

/** A frame that a client sends. */
export type ClientFrame = HelloFrame | SubFrame | WatchFrame | UnsubFrame | ResyncFrame | HbAckFrame | PubFrame | CommandFrame;

/** A streamed text, by its id. */
export interface ItemPart {
  part: string;
}

/** A tool call, by its id. */
export interface ItemTool {
  tool: string;
}

/** A sub-agent begins here. */
export interface ItemAgent {
  agent: string;
}

/** A note, by its number in `RunView::notes`. */
export interface ItemNote {
  note: number;
}

/** An item of a run. */
export type Item = ItemPart | ItemTool | ItemAgent | ItemNote;

/** A part, call or sub-agent that was open when its run was lost. */
export interface Closed {
  /** The part, call or sub-agent that was open. */
  item: Item;
  /** For a call, its state at that moment. */
  state?: ToolState;
}

/** A call that is executing, in a row of the list. */
export interface RowCall {
  /** The name of the tool. */
  name: string;
  /** When the call began to execute by the hub's clock, in milliseconds since 1970. */
  since: number;
}

/** A conversation in the list: enough to draw its row. */
export interface ConversationRow {
  /** What the newest run does now, or how it ended, in a few words. */
  activity: string | null;
  /** The name of the main agent of the newest run. */
  agent?: string;
  /** The number of sub-agents of the newest run. */
  agents: number;
  /** The number of all anomalies of the conversation. */
  anomalies: number;
  /** The beginning of the last text of the newest run, once that is complete. */
  answer?: string;
  /** The number of calls of the newest run that wait for a person. */
  approvals: number;
  /** Whether somebody archived it: lists leave it out unless it is asked for. */
  archived?: boolean;
  /** The tool of the first call of the newest run that waits for a person. */
  asks?: string;
  /** When the newest event was taken, in milliseconds since 1970. */
  at: number;
  /** The number of its runs and messages that people rated bad. */
  bad?: number;
  /** The call of the newest run that executes longest. */
  call?: RowCall;
  /** The id of the conversation. */
  conversation: string;
  /** When the newest run ended, in milliseconds since 1970. */
  ended_at: number | null;
  /** The epoch: the life of the log. */
  epoch: string;
  /** The number of calls of the newest run that failed. */
  failed: number;
  /** The place that it was taken from, when it is a fork. */
  forked_from?: Origin;
  /** The number of its runs and messages that people rated good. */
  good?: number;
  /** The newest seq of the conversation. */
  head: number;
  /** The name of the machine that the agent of the newest run runs on. */
  host?: string;
  /** The name of the newest run's model. */
  model?: string;
  /** Further executing calls of the newest run, the longest first, at most `crate::limits::ROW_MORE_CALLS_MAX`. */
  more_calls?: RowCall[];
  /** Whether somebody pinned it: it stands before the others. */
  pinned?: boolean;
  /**
   * Why its newest run did not complete, as figures over time name it: the code of its error, else `error`, `interrupted` or
   * `cancelled`.
   */
  reason?: string;
  /** The number of runs in the conversation. */
  runs: number;
  /** The end of the last text of the newest run, while that goes on. */
  said?: string;
  /** Whether that run goes on but nobody has spoken for it for a while. */
  stalled?: boolean;
  /** When the newest run began, in milliseconds since 1970. */
  started_at: number;
  /** The status of the newest run; nothing before the first. */
  state: RunStatus | null;
  /** The tags that somebody gave it, at most `crate::limits::LABEL_TAGS_MAX`. */
  tags?: string[];
  /** The title of the conversation. */
  title: string | null;
  /** The number of calls of the newest run. */
  tools: number;
  /** The tokens and costs of all runs together, as far as anybody said. */
  usage?: Usage;
  /** The tools that the newest run called, each once, the first `crate::limits::ROW_TOOLS_MAX` of them. */
  used?: string[];
  /** The number of viewers of the conversation. */
  viewers: number;
  /** Bytes of texts, thinking and arguments that the models of the newest run have written; 0 for roles that do not see all of it. */
  written?: number;
}

/** What lies before a view that has only the newest part of its conversation. */
export interface Earlier {
  /** About how many bytes all of that has. Roles from whom something is hidden are not told. */
  bytes?: number;
  /** The number of items that are left out of the runs of which something is there. */
  items: number;
  /** The number of messages that are left out. */
  messages: number;
  /** The number of runs of which nothing is there. */
  runs: number;
  /** The name of the part that the view has: a viewer that comes back with a position says it. */
  window: string;
}

/** What went wrong with one request, frame or subscription. Never closes the socket by itself. */
export type ErrorCode = "bad_request" | "bad_conversation" | "bad_position" | "bad_event" | "unknown_dialect" | "unknown_conversation" | "unknown_subscription" | "subscription_in_use" | "conversation_exists" | "not_found" | "method_not_allowed" | "unauthenticated" | "forbidden" | "publish_not_granted" | "forbidden_origin" | "too_large" | "too_many" | "publisher_gap" | "publisher_fenced" | "gone" | "shutting_down" | "body_timeout" | "unsupported_encoding" | "durability_unavailable" | "elsewhere" | "log_failed" | "log_unavailable" | "disk_full" | "disk_failing" | "unknown_upstream" | "upgrade_refused" | "over_budget" | "unknown_agent" | "agent_unavailable" | "not_resumable" | "not_running" | "still_running" | "consent_mismatch" | "run_of_hub" | "upstream_unreachable" | "upstream_failed" | "internal";

export interface ErrorFact {
  /** The name of the failure, as the source has it. */
  code: string;
  /** What went wrong, for a person. */
  message: string;
  /** How long to wait before another attempt, in milliseconds. */
  retry_after_ms?: number;
  /** Whether trying again may help; false is a failure that is permanent. Absent where nobody said. */
  retryable?: boolean;
}

/** What people made of a conversation. */
export interface Label {
  /** Whether the list leaves it out unless it is asked for. */
  archived?: boolean;
  /** Who made the last change, where the hub knew. */
  by?: string;
  /** A note about it. */
  note?: string;
  /** Whether it stands before the others in the list. */
  pinned?: boolean;
  /** What they think of runs and messages, at most `RATINGS_MAX`, each once. */
  ratings?: Rating[];
  /** The tags of the conversation, at most `crate::limits::LABEL_TAGS_MAX`. */
  tags?: string[];
  /** The title that somebody gave it. It counts before the title that its runs say. */
  title?: string;
}

/** The bounds that a client can run into; see `crate::limits`. */
export interface Limits {
  events_per_publish: number;
  inbound_frame_bytes: number;
  part_bytes: number;
  ring_bytes: number;
  ring_events: number;
  snapshot_bytes: number;
  subscriptions_per_socket: number;
}

/** The state of the log: whether it can write. */
export type LogHealth = "well" | "disk_full" | "disk_failing";

/** The state of a run before the hub ended it because its publisher was lost. It has at most what was open then. */
export interface Loss {
  /** The newest line about what went on. */
  activity?: string;
  /** When `activity` was said, in milliseconds since 1970. */
  activity_at?: number;
  /** The last failure before the loss. */
  error?: ErrorFact;
  /** The parts, calls and sub-agents that were open, in order. */
  open?: Closed[];
}

/** A place inside a run. */
export interface Within {
  /** The number of the run's items before the message. */
  items: number;
  /** The id of the run. */
  run: string;
}

/** A message of the history. */
export interface MessageView {
  /** When the hub took the message, in milliseconds since 1970. */
  at: number;
  /** The files that came with the message. */
  files?: MessageFile[];
  /** The role of the speaker, such as `user`. */
  role: string;
  /** The text of the message. */
  text: string;
  /** The place where the message was said, if that was inside a run. */
  within?: Within;
}

/** Something failed. */
export interface NoteBodyError {
  error: ErrorFact;
}

export interface NoteBodyCustomCustom {
  /** The name of the event, chosen by the publisher. */
  name: string;
  /** The content of the event, as JSON. */
  value: unknown;
}

/** An event of the agent's own. */
export interface NoteBodyCustom {
  custom: NoteBodyCustomCustom;
}

export interface NoteBodyRawRaw {
  /** The name of the foreign event's dialect, or the kind of the later version's event. */
  name: string;
  /** The content of the event, as JSON. */
  value: unknown;
}

/** A foreign event, or one of a later version. */
export interface NoteBodyRaw {
  raw: NoteBodyRawRaw;
}

export type NoteBody = NoteBodyError | NoteBodyCustom | NoteBodyRaw;

/** A note: something that happened once in a run. */
export interface Note {
  /** The id of the sub-agent it happened in; `None` for the main agent. */
  agent: string | null;
  /** When it happened, in milliseconds since 1970. */
  at: number;
  /** What happened. */
  body: NoteBody;
}

/** A streamed text, thinking or file. */
export interface PartView {
  /** The id of the sub-agent that wrote it; `None` for the main agent. */
  agent: string | null;
  /** Bytes that were over the limit. */
  cut: number;
  /** The duration by the publisher's own clock, in milliseconds. */
  duration_ms: number | null;
  /** When the part ended, in milliseconds since 1970; nothing while it streams. */
  ended_at: number | null;
  /** FNV-1a 64 of the whole text, in hex on the wire since a browser's number does not hold 64 bits. */
  hash: string;
  /** Whether the provider keeps the text to itself. */
  hidden: boolean;
  /** The kind of the part. */
  kind: PartKind;
  /** Whether text came after the end. */
  late: boolean;
  /** Bytes of the whole text. */
  len: number;
  /** Bytes that never came. */
  missing: number;
  /** Whether a delta overlapped with the text before it. */
  overlapped: boolean;
  /** The provider's mark on its thinking, without which it does not take the text back. */
  signature?: string;
  /** When the part began, in milliseconds since 1970. */
  started_at: number;
  /** The text, up to `PART_BYTES_MAX` bytes. */
  text: string;
}

/**
 * A text that grows. `Streamed::len` and `Streamed::hash` are those of the whole text, even where
 * `Streamed::text` stops at the limit.
 */
export interface Streamed {
  /** Bytes that were over the limit. */
  cut: number;
  /** FNV-1a 64 of the whole text, in hex on the wire since a browser's number does not hold 64 bits. */
  hash: string;
  /** Whether text came after the end. */
  late: boolean;
  /** Bytes of the whole text. */
  len: number;
  /** Bytes that never came. */
  missing: number;
  /** Whether a delta overlapped with the text before it. */
  overlapped: boolean;
  /** The text, up to `PART_BYTES_MAX` bytes. */
  text: string;
}

/** A call of a tool. */
export interface ToolView {
  /** The id of the sub-agent that called it; `None` for the main agent. */
  agent: string | null;
  /** Whether a person was asked and has agreed to it. */
  approved?: boolean;
  /** The arguments as the model wrote them; JSON in most dialects. */
  arguments: Streamed;
  /** When it last began to wait for a person. Views of older versions do not say. */
  asked_at?: number;
  /** Things to embed that came with the result. */
  embeds: unknown;
  /** When the call was over, in milliseconds since 1970. */
  ended_at: number | null;
  /** The time for which the call was executed, in milliseconds, by the publisher. */
  exec_ms: number | null;
  /** When the call began to execute, in milliseconds since 1970. */
  executing_at: number | null;
  /** Files that came with the result. */
  files: unknown;
  /** The id that the source gives it, where another call of the run had that id before. */
  given_id?: string;
  /** Whether the call failed. */
  is_error: boolean;
  /** The name of the tool. */
  name: string;
  /** The output that the tool has printed so far. */
  output: Streamed;
  /** When the call was written, in milliseconds since 1970. */
  pending_at: number | null;
  /** The question that a person is asked, while the call waits for approval. */
  question: string | null;
  /** The time that the call waited, in milliseconds, by the publisher. */
  queued_ms: number | null;
  /** Whether a person was asked and has declined it. */
  rejected?: boolean;
  /** The result of the call. */
  result: unknown;
  /** Bytes of the result that were over the limit; the result is then its beginning, as a string. */
  result_cut: number;
  /** Where the whole result is, when this is only its beginning, as a string. */
  result_ref?: ResultRef;
  /** Whether the provider executes the call itself. */
  server: boolean;
  /** When the model began to write the call, in milliseconds since 1970. */
  started_at: number;
  /** The state of the call. */
  state: ToolState;
}

/** One execution of an agent. */
export interface RunView {
  /** The newest line about what goes on. */
  activity: string | null;
  /** When `activity` was said, in milliseconds since 1970. */
  activity_at?: number;
  /** The sub-agents of the run, by id. */
  agents: Record<string, AgentView>;
  /** The name of the dialect in which the run came. */
  dialect: string | null;
  /** When the run ended, in milliseconds since 1970. */
  ended_at: number | null;
  /** The last failure of the run. */
  error: ErrorFact | null;
  /** The reason why the model stopped, in the provider's word. */
  finish_reason: string | null;
  /** Whether more items came than a run holds. */
  full: boolean;
  /** The name of the machine that the agent runs on, where its publisher said so. */
  host?: string;
  /** Parts, calls, agents and notes, in order. */
  items: Item[];
  /** Whether events came after the end. */
  late: boolean;
  /** What the loss of its publisher closed, as long as nobody has come back. */
  loss?: Loss;
  /** The name of the model. */
  model: string | null;
  /** The name of the main agent. */
  name: string | null;
  /** The notes of the run: errors and the agent's own events. */
  notes: Note[];
  /** Parts, calls and agents that have not ended. */
  open: Item[];
  /** An agent of the hub does it, or did: the hub itself has begun it, and nobody else can write into it. */
  own?: boolean;
  /** The streamed texts of the run, by id. */
  parts: Record<string, PartView>;
  /** Bytes of raw events that are in the log, kept or not. The first `crate::limits::RAW_BYTES_PER_RUN_MAX` are kept. */
  raw_bytes?: number;
  /** Since when the hub has not heard of it, once it said so; nothing as soon as more comes. */
  stalled_at?: number;
  /** When the run began, in milliseconds since 1970. */
  started_at: number;
  /** The status of the run. */
  status: RunStatus;
  /** The title of the run. */
  title: string | null;
  /** The tool calls of the run, by id. */
  tools: Record<string, ToolView>;
  /** The tokens of the run, if anybody said. */
  usage: Usage | null;
}

/** The ways in which a viewer is served, from the best to the worst. */
export type Rung = "immediate" | "merged" | "snapshot";

/**
 * After how long nothing was heard of something that runs the page says so. 0 is never. They only choose words and order: the hub ends
 * nothing by them.
 */
export interface SilenceThresholds {
  /** How long a run must be silent before it needs a person, in milliseconds. */
  silent_long_ms: number;
  /** How long no event must arrive in a run that waits neither for a person nor for a call before it is silent, in milliseconds. */
  silent_ms: number;
  /** How long a call must execute before it is stuck, in milliseconds. */
  stuck_ms: number;
}

/** The answer to `hello`. */
export interface WelcomeFrame {
  t: "welcome";
  /** What this hub offers beyond the core. */
  features: string[];
  /** Between two heartbeats, in milliseconds. */
  hb_ms: number;
  /** The bounds that a client can run into. */
  limits: Limits;
  /** The name of this socket, for the hub's trace. */
  session: string;
  /** When runs and calls count as silent or stuck; an older hub says nothing, which means the defaults. */
  silence: SilenceThresholds;
  /** When the hub wrote the frame, in milliseconds since 1970. */
  ts: number;
  /** The version that is spoken from here on. */
  version: string;
}

/** What the hub sends first after it has accepted a subscription. */
export type SubMode = "tail" | "snapshot";

/** The reason why a client with a position gets a snapshot. */
export type SnapshotReason = "epoch_changed" | "too_old" | "ahead_of_head" | "cheaper" | "lagging" | "requested";

/** The answer to `sub`. The cursor exists from here on. */
export interface SubbedFrame {
  t: "subbed";
  /** The epoch: the life of the log. */
  epoch: string;
  /** The newest seq of the conversation. */
  head: number;
  /** Whether events follow, or a snapshot. */
  mode: SubMode;
  /** The number of the subscription. */
  sub: number;
  /** The reason why it is a snapshot although the client had a position. */
  why?: SnapshotReason;
}

/** A message of the history. */
export interface TopItemMessage {
  message: string;
}

/** A run of an agent. */
export interface TopItemRun {
  run: string;
}

/** An item at the top level of a conversation. */
export type TopItem = TopItemMessage | TopItemRun;

/** A conversation as it stands after the event `View::seq`. */
export interface View {
  /** The anomalies: what the streams did that they should not have done. */
  anomalies: Anomalies;
  /** What lies before this view, where it has only the newest part of the conversation. */
  earlier?: Earlier;
  /** Where the conversation was taken from, when it is a fork: all up to `Origin::seq` was said there. */
  forked_from?: Origin;
  /** Whether more runs or messages came than a view holds. */
  full: boolean;
  /** Messages and runs, in order. */
  items: TopItem[];
  /** What people made of it: a title, a pin, tags. */
  label?: Label;
  /** The messages, by id, in order. */
  messages: Record<string, MessageView>;
  /** The runs, by id, in order. */
  runs: Record<string, RunView>;
  /** The seq of the last event that is in the view. */
  seq: number;
  /** What the conversation is about, as the newest run said it. */
  title: string | null;
}

/** The state at a position, or a piece of it; replaces what the client has of this subscription. */
export interface SnapFrame {
  t: "snap";
  /** The epoch: the life of the log. */
  epoch: string;
  /** Whether more pieces follow; all pieces together are the state. */
  more?: boolean;
  /** The seq of the last event in the state. */
  seq: number;
  /** The view, or a piece of it. */
  state: View;
  /** The number of the subscription. */
  sub: number;
}

/** Events. They are valid only for a client that stands at `from - 1`; afterwards it stands at `to`. */
export interface BatchFrame {
  t: "batch";
  /** The events; deltas of one part may be joined. */
  ev: Event[];
  /** The first seq that the frame covers. */
  from: number;
  /** The number of the subscription. */
  sub: number;
  /** The last seq that the frame covers; `from - 1` if it has only ephemeral events. */
  to: number;
  /** When the hub wrote the frame, in milliseconds since 1970. */
  ts: number;
}

/** The client has all there was when it subscribed or was sent a snapshot. */
export interface LiveFrame {
  t: "live";
  /** The seq that the client has reached. */
  seq: number;
  /** The number of the subscription. */
  sub: number;
}

/** The viewer reads too slowly, or has caught up. */
export interface LagFrame {
  t: "lag";
  /** The number of events that it is behind. */
  behind_events: number;
  /** The time for which it has been behind, in milliseconds. */
  behind_ms: number;
  /** The way in which the viewer is served from here on. */
  state: Rung;
  /** The number of the subscription. */
  sub: number;
}

/** The number of viewers of a conversation, and their names. */
export interface PresenceFrame {
  t: "presence";
  /** The names of the viewers, where names are told: each once and in order, the first `crate::limits::PRESENCE_NAMES_MAX` of them. */
  names?: string[];
  /** The number of the subscription. */
  sub: number;
  /** The number of viewers of the conversation, this one among them. */
  viewers: number;
}

/** Rows of the list of conversations. */
export interface FleetFrame {
  t: "fleet";
  /** Whether these are all rows; otherwise they are only those that changed. */
  full: boolean;
  /** Conversations that were deleted: remove their rows before `rows` are applied. One of these may be there again. */
  gone?: string[];
  /** The rows that are new or changed. */
  rows: ConversationRow[];
  /** The number of the subscription. */
  sub: number;
  /** The number of all conversations. */
  total: number;
  /** When the hub wrote the frame, in milliseconds since 1970. */
  ts: number;
}

/** A heartbeat. The client answers with `hb_ack`. */
export interface HbFrame {
  t: "hb";
  /** For each subscription the epoch and the newest seq. */
  heads: Record<string, [string, number]>;
  /** When the hub wrote the frame, in milliseconds since 1970. */
  ts: number;
}

/** Whether the log can write. Sent after `welcome` when it cannot, and to all when that changes. */
export interface HealthFrame {
  t: "health";
  /** The error text of the operating system. */
  detail?: string;
  /** The state of the log. */
  log: LogHealth;
  /** Since when the log cannot write, in milliseconds since 1970. */
  since?: number;
}

/** The hub is about to close the socket. */
export interface ByeFrame {
  t: "bye";
  /** The close code of the WebSocket. */
  code: number;
  /** The reason, for a person. */
  reason: string;
  /** Whether the client should connect again. */
  reconnect: boolean;
  /** How long the client should wait before it connects again, in milliseconds. */
  retry_ms: number;
}

/** The events of a `pub` were accepted. */
export interface AckFrame {
  t: "ack";
  /** Whether the frame had been accepted before. */
  duplicate: boolean;
  /** The durability that the ack stands for. */
  durability: Durability;
  /** The epoch: the life of the log. */
  epoch: string;
  /** The number of events that were accepted; 0 for a duplicate. */
  events: number;
  /** The client's number of the `pub`. */
  id: number;
  /** The newest seq after the events; for a duplicate, the newest seq now. */
  seq: number;
}

/** A command was carried out. */
export interface DoneFrame {
  t: "done";
  /** The position of the conversation before the command: its effects come after. */
  after: Position;
  /** The conversation in which the outcome shows; for a fork, the new one. */
  conversation: string;
  /** The id of the command that this answers. */
  id: string;
  /** The id of the run that the command began or was about. */
  run?: string;
}

/** A command was refused. */
export interface RefusedFrame {
  t: "refused";
  /** The code of the error, for programs. */
  code: ErrorCode;
  /** The id of the command; empty if it had none that could be read. */
  id: string;
  /** The reason, for a person. */
  message: string;
}

/** A frame or a subscription failed; the socket stays. */
export interface ErrorFrame {
  t: "error";
  /** The code of the error, for programs. */
  code: ErrorCode;
  /** For `publisher_gap`: the number that the hub expects. */
  expected?: number;
  /** The id of the `pub` that it is about. */
  id?: number;
  /** What is wrong and where, for a person. */
  message: string;
  /** The number of the subscription that it is about. */
  sub?: number;
}

/** A frame that the hub sends. */
export type ServerFrame = WelcomeFrame | SubbedFrame | SnapFrame | BatchFrame | LiveFrame | LagFrame | PresenceFrame | FleetFrame | HbFrame | HealthFrame | ByeFrame | AckFrame | DoneFrame | RefusedFrame | ErrorFrame;

/** An event as the hub sends it: with `at`, and with `seq` unless it is ephemeral. */
export type Envelope = Event & { at: number };

/** Not an event of the hub's: stands in a subscription's events for everything that was before it. */
export interface Snapshot {
  k: "snapshot";
  epoch: string;
  seq: number;
  state: View;
}
