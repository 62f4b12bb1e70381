// What travels between clients and the hub. Made by `cargo xtask schema` from schema/*.json: do not edit.
//
// A later version of the hub may send kinds, frames, words and members that are not here.

/** What an ack means (invariant I9). */
export type Durability = "memory" | "stored" | "synced" | "replicated";

/** How a run or an agent stands. */
export type RunStatus = "running" | "complete" | "error" | "cancelled" | "interrupted";

/** A cost as it is written. */
export interface Cost {
  /** How much, in decimal digits: `"0.0123"`. */
  amount: string;
  /** The code of the currency, three capital letters. */
  currency: string;
}

/** Tokens. All counts are whole tokens; absent means that nobody said. */
export interface Usage {
  /** Of those read, from a cache. */
  cached_tokens: number;
  /** What they cost, as far as anybody knows. */
  cost?: Cost;
  /** Read by the model. */
  input_tokens: number;
  /** Written by the model. */
  output_tokens: number;
  /** Of those written, for reasoning. */
  reasoning_tokens: number;
}

/** A sub-agent. */
export interface AgentView {
  /** How deep it stands; 1 for a child of the main agent. */
  depth: number;
  /** When it ended. */
  ended_at: number | null;
  /** The model that answers, when anybody said. */
  model?: string;
  /** Its name. */
  name: string | null;
  /** The agent that called it. */
  parent: string | null;
  /** When it began. */
  started_at: number;
  /** How it stands. */
  status: RunStatus;
  /** What it is to do. */
  task: string | null;
  /** The tool call that started it. */
  tool: string | null;
  /** Tokens that it used itself, without the agents that it called, when anybody said. */
  usage?: Usage;
}

/** Some of the agents of each run. Events about the run as a whole, errors among them, belong to every choice. */
export interface Agents {
  /** How many levels below it; nothing for all of them, 0 for itself alone. */
  depth?: number;
  /** The topmost one; nothing for the main agent. */
  root?: string;
}

/** What a stream did that it should not have done. */
export type AnomalyCode = "malformed" | "wrong_dialect" | "run_without_start" | "after_run_end" | "part_without_start" | "part_started_twice" | "after_part_end" | "delta_hole" | "delta_overlap" | "part_mismatch" | "tool_without_start" | "after_tool_end" | "bad_arguments" | "agent_without_start" | "too_large" | "too_many" | "truncated" | "copy_lost" | "repeated";

/** One thing that a stream did and should not have done. People are told of it as a warning. */
export interface Anomaly {
  /** What. */
  code: AnomalyCode;
  /** Where and which: an id, a line, a piece of the input. */
  detail: string;
}

/** The anomalies of one view: all counted, the first `ANOMALIES_KEPT_MAX` kept. */
export interface Anomalies {
  /** The first of them. */
  first: Anomaly[];
  /** How many there were. */
  total: number;
}

/** The first frame. */
export interface HelloFrame {
  t: "hello";
  /** Who it is, for the hub's trace. */
  client?: string;
  /** Who calls, where the request of the socket does not say so. */
  token?: string;
  /** Versions that the client speaks. */
  versions: string[];
}

/** A point in a conversation: after the event `seq` of `epoch`. Written `EPOCH:SEQ`. */
export interface Position {
  /** The life of the log. */
  epoch: string;
  /** The last event that this point includes; 0 for none. */
  seq: number;
}

/** How deep a viewer looks. */
export type Level = "critical" | "parts" | "deltas";

/** View a conversation. */
export interface SubFrame {
  t: "sub";
  /** Which agents; nothing for all. */
  agents?: Agents;
  /** The conversation. It may not exist yet. */
  conv: string;
  /** What the client has already. */
  have?: Position;
  /** What kinds of events; nothing for all. */
  kinds?: string[];
  /** How deep. */
  level?: Level;
  /** The shortest time between two frames with events, in milliseconds: for who shows less often than that. */
  min_interval_ms?: number;
  /** The subscription's number. */
  sub: number;
}

/** View the list of conversations. */
export interface WatchFrame {
  t: "watch";
  /** How many rows to begin with, the newest activity first. */
  limit?: number;
  /** The subscription's number. */
  sub: number;
}

/** End a subscription. */
export interface UnsubFrame {
  t: "unsub";
  /** Its number. */
  sub: number;
}

/** The client's state does not fit: send the snapshot. */
export interface ResyncFrame {
  t: "resync";
  /** The subscription's number. */
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
  /** The other one. */
  conversation: string;
  /** The life of its log then. */
  epoch: string;
  /** The last event that both have; 0 where they have none in common. */
  seq: number;
}

/** The conversation is a fork: everything before this was said in another one. */
export interface ForkEvent {
  k: "fork";
  /** Where it was taken. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** What somebody thinks of one run or one message. Of each the last rating counts. */
export interface Rating {
  /** Who rated, where the hub knows names. In an event it stands beside the rating. */
  by?: string;
  /** Whether it is good. Absent takes a rating back. */
  good?: boolean;
  /** The message that is meant, in the place of a run. */
  message?: string;
  /** The run that is meant. */
  run?: string;
  /** Why, in a few words; absent for no reason. */
  why?: string;
}

/** Somebody changed what people made of the conversation: its title, pin, archive, tags or note. Only the hub writes it. */
export interface LabelEvent {
  k: "label";
  /** Whether the list leaves it out unless it is asked for. */
  archived?: boolean;
  /** The name of the principal who changed it, where the hub knows names. */
  by?: string;
  /** A note about it; empty for none. */
  note?: string;
  /** Whether it stands before the others in the list. */
  pinned?: boolean;
  /** What somebody thinks of a run or a message. */
  rating?: Rating;
  /** All its tags, in order: single words, at most `LABEL_TAGS_MAX`. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A run begins, or a run that had ended goes on. */
export interface RunStartEvent {
  k: "run.start";
  /** The dialect that it came in. */
  dialect?: string;
  /** The name of the machine that the agent runs on. */
  host?: string;
  /** The model that answers. */
  model?: string;
  /** The name of the main agent. */
  name?: string;
  /** What the run, and so the conversation, is about. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** More is known about a run that goes on. */
export interface RunUpdateEvent {
  k: "run.update";
  /** Why the model stopped, in its own word. */
  finish_reason?: string;
  /** The model that answers. */
  model?: string;
  /** What it is about. */
  title?: string;
  /** Tokens of one more model call, added to the run's, and to those of the sub-agent that the event names. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/**
 * Nobody has spoken for a run for a while, and nobody is there who did. The hub says so; whatever else comes of the
 * run takes it back.
 */
export interface RunStalledEvent {
  k: "run.stalled";
  /** When it was last heard of, in milliseconds since 1970 by the hub's clock. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A run is over. Its open parts and executing calls are closed with it. */
export interface RunEndEvent {
  k: "run.end";
  /** Why the model stopped, in its own word. */
  finish_reason?: string;
  /**
   * Nobody said so but the hub, for a publisher that was lost. Whatever else comes of the run lets it go on with all
   * that was open.
   */
  lost?: boolean;
  /** How it ended. */
  status: RunStatus;
  /** Tokens of the whole run; replaces what was added up. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A sub-agent begins; `Event::agent` is its id. */
export interface AgentStartEvent {
  k: "agent.start";
  /** How deep it stands, 1 for a child of the main agent; computed from the parent where absent. */
  depth?: number;
  /** The model that answers; the one that was known where absent. */
  model?: string;
  /** Its name. */
  name?: string;
  /** The agent that called it; nothing for the main one. */
  parent?: string;
  /** What it is to do. */
  text?: string;
  /** The tool call that started it. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A sub-agent is done; `Event::agent` is its id. */
export interface AgentEndEvent {
  k: "agent.end";
  /** The model that answered; the one that was known where absent. */
  model?: string;
  /** How it ended. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A file of a message. */
export interface MessageFile {
  /** Its size in bytes; the hub fills it in. */
  bytes: number;
  /** Its contents in base64: on its way to the hub, and in exports. The hub keeps them apart. */
  data?: string;
  /** The name under which the hub has its contents; absent where it has none. */
  hash?: string;
  /** What it is called. */
  name: string;
  /** Its media type, as `image/png`. */
  type: string;
}

/** A whole message of the history. */
export interface MessageEvent {
  k: "message";
  /** What comes with it. */
  files?: MessageFile[];
  /** Its id; a message that comes again replaces itself. */
  message: string;
  /** `user`, `system`, `assistant`, `developer`, `tool` or what the dialect says. */
  role: string;
  /** The text. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** What a part is. */
export type PartKind = "text" | "thinking" | "refusal" | "file";

/** A streamed text begins. */
export interface PartStartEvent {
  k: "part.start";
  /** What it is. */
  kind: PartKind;
  /** Its id. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** More text of a part. */
export interface PartDeltaEvent {
  k: "part.delta";
  /** Where the text starts in the part, in bytes of UTF-8; the hub fills it in when the publisher does not. */
  off?: number;
  /** The part. */
  part: string;
  /** The text. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The text of a part is replaced as a whole (dialects that repeat or correct themselves). */
export interface PartReplaceEvent {
  k: "part.replace";
  /** The part. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A part is whole. */
export interface PartEndEvent {
  k: "part.end";
  /** How long it took by the publisher's own clock, in milliseconds. */
  duration_ms?: number;
  /** FNV-1a 64 of the whole text, 16 hex digits; the hub fills it in. */
  hash?: string;
  /** The provider keeps the text to itself (encrypted thinking). */
  hidden?: boolean;
  /** Length of the whole text in bytes; the hub fills it in. */
  len?: number;
  /** The part. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The model begins to write a call. */
export interface ToolStartEvent {
  k: "tool.start";
  /** The id that the source gives it, where another call of the run had that id before. */
  given_id?: string;
  /** The name of the tool, as far as it is known. */
  name: string;
  /** The provider executes it itself (web search and the like). */
  server?: boolean;
  /** The call. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** More text of a call's arguments. */
export interface ToolArgsEvent {
  k: "tool.args";
  /** Where the text starts in the arguments, in bytes. */
  off?: number;
  /** The text. */
  text: string;
  /** The call. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A call is written: its name and arguments are final, it waits to be executed. */
export interface ToolCallEvent {
  k: "tool.call";
  /** The whole arguments as text (JSON in most dialects); nothing when the streamed ones are final. */
  arguments?: string;
  /** Its name, where it differs from the one at the start or the start was not seen. */
  name?: string;
  /** The call. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
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
  /** How long it was executed, in milliseconds, by the publisher. */
  exec_ms?: number;
  /** How long it waited before it was executed, in milliseconds, by the publisher. */
  queued_ms?: number;
  /** The new state. */
  state: ToolState;
  /** The call. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** More of what a call that still executes has printed. */
export interface ToolOutputEvent {
  k: "tool.output";
  /** Where the text starts in the output, in bytes. */
  off?: number;
  /** The text. */
  text: string;
  /** The call. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A result that is kept beside its event. */
export interface ResultRef {
  /** Its bytes as JSON. */
  bytes: number;
  /** The first 128 bits of their SHA-256, 32 hex digits: its name in the conversation. 16 hex digits in older logs. */
  hash: string;
}

/** What a call gave back; closes it. */
export interface ToolResultEvent {
  k: "tool.result";
  /** Things to embed that came with it. */
  embeds?: unknown;
  /** How long it was executed, in milliseconds, by the publisher. */
  exec_ms?: number;
  /** Files that came with it. */
  files?: unknown;
  /** Whether it failed. */
  is_error?: boolean;
  /** What it gave back: a string or any JSON. */
  output: unknown;
  /** How long it waited before it was executed, in milliseconds, by the publisher. */
  queued_ms?: number;
  /** Where the whole output is, when this is only its beginning, as a string. */
  ref?: ResultRef;
  /** The call. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** How far a call is. Ephemeral. */
export interface ToolProgressEvent {
  k: "tool.progress";
  /** Units done. */
  current?: number;
  /** What the tool reports beside the text, in a form of its own. */
  data?: unknown;
  /**
   * What the report is, where it is more than how far the call is: `step`, `complete`, `error`, or a word of the
   * tool's own.
   */
  phase?: string;
  /** What it does now. */
  text?: string;
  /** The call. */
  tool: string;
  /** Units in all. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A line about what goes on ("retrying model in 8 s"). */
export interface StatusEvent {
  k: "status";
  /** The line. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** Something failed. It does not end the run by itself. */
export interface ErrorEvent {
  k: "error";
  /** The name of the failure, as the source has it. */
  code: string;
  /** What went wrong. */
  message: string;
  /** How long to wait before, in milliseconds. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A call waits for a person's approval. */
export interface ApprovalRequestEvent {
  k: "approval.request";
  /** What the person is asked. */
  text?: string;
  /** The call. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The person's answer. */
export interface ApprovalAnswerEvent {
  k: "approval.answer";
  /** Whether it may go on. */
  approved: boolean;
  /** Why, in the person's words. */
  text?: string;
  /** The call. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** An event of the agent's own, passed through. */
export interface CustomEvent {
  k: "custom";
  /** Its name. */
  name: string;
  /** Its content. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** A foreign event that the decoder has no other name for, as it came. */
export interface RawEvent {
  k: "raw";
  /** The dialect. */
  name: string;
  /** The foreign event. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** The stream did something that it should not have done; it was survived. */
export interface AnomalyEvent {
  k: "anomaly";
  /** What. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** How fast tokens come. Ephemeral. */
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
  /** Its number in the epoch; 0 for an ephemeral event, which has none. A merged delta has the seq of its first. */
  seq?: number;
}

/** An event in its place. On the wire its fields stand beside those of the event, in one flat object. */
export type Event = ForkEvent | LabelEvent | RunStartEvent | RunUpdateEvent | RunStalledEvent | RunEndEvent | AgentStartEvent | AgentEndEvent | MessageEvent | PartStartEvent | PartDeltaEvent | PartReplaceEvent | PartEndEvent | ToolStartEvent | ToolArgsEvent | ToolCallEvent | ToolStateEvent | ToolOutputEvent | ToolResultEvent | ToolProgressEvent | StatusEvent | ErrorEvent | ApprovalRequestEvent | ApprovalAnswerEvent | CustomEvent | RawEvent | AnomalyEvent | RateEvent;

/** Publish. */
export interface PubFrame {
  t: "pub";
  /** The conversation; made when it does not exist. */
  conv: string;
  /** What the ack must mean. If absent: `Durability::Stored`, or `Durability::Memory` if the log offers no more. */
  durability?: Durability;
  /** The events. */
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

/** A message to an agent, which answers it. One that is at work here is told with its next request. */
export interface SayFrame {
  command: "say";
  /** The agent. */
  agent: string;
  /** Files that come with it, with their contents. */
  files?: MessageFile[];
  /** The message. */
  text: string;
  /** Chosen by whoever commands; names the answer. */
  id: string;
}

/** A run is to stop at once. */
export interface StopFrame {
  command: "stop";
  /** The run; the newest where it is not said. */
  run?: string;
  /** Chosen by whoever commands; names the answer. */
  id: string;
}

/** A call that waits for approval may be executed. */
export interface ApproveFrame {
  command: "approve";
  /** Its arguments, where they are to be others. */
  arguments?: unknown;
  /** The run; the newest where it is not said. */
  run?: string;
  /** Which arguments the person saw: the first 16 bytes of SHA-256 over their text in the view, as 32 hex digits. */
  saw?: string;
  /** The call. */
  tool: string;
  /** Chosen by whoever commands; names the answer. */
  id: string;
}

/** A call that waits for approval may not be executed. */
export interface RejectFrame {
  command: "reject";
  /** The run; the newest where it is not said. */
  run?: string;
  /** Why; the model is told. */
  text?: string;
  /** The call. */
  tool: string;
  /** Chosen by whoever commands; names the answer. */
  id: string;
}

/** A run that ended before it was complete is to go on. One that waits before it asks its model again waits no longer. */
export interface RetryFrame {
  command: "retry";
  /** The run; the newest where it is not said. */
  run?: string;
  /** Chosen by whoever commands; names the answer. */
  id: string;
}

/** What people make of the conversation changes: its title, pin, archive, tags, note. What is absent stays as it is. */
export interface LabelFrame {
  command: "label";
  /** Whether the list leaves it out unless it is asked for. */
  archived?: boolean;
  /** A note about it; empty for none. */
  note?: string;
  /** Whether it stands before the others in the list. */
  pinned?: boolean;
  /** All its tags; empty for none. */
  tags?: string[];
  /** The title; empty to go back to the one that its runs say. */
  title?: string;
  /** Chosen by whoever commands; names the answer. */
  id: string;
}

/** Somebody thinks that a run or a message is good or bad. Of each the last rating counts. */
export interface RateFrame {
  command: "rate";
  /** Whether it is good; absent takes the rating back. */
  good?: boolean;
  /** The message, in the place of a run. */
  message?: string;
  /** The run. */
  run?: string;
  /** Why, in a few words. */
  why?: string;
  /** Chosen by whoever commands; names the answer. */
  id: string;
}

/**
 * A new conversation with what was said in this one, up to a place. With an agent and a text the agent answers it there:
 * so a message is edited and run again, and what was is as it was.
 */
export interface ForkFrame {
  command: "fork";
  /** The agent that is to answer. */
  agent?: string;
  /** The last event that the new one has; all where it is not said. */
  at?: number;
  /** The message that the new one ends before, where that is how the place is said. */
  before?: string;
  /** The name of the new one; made up where it is not said. */
  into?: string;
  /** What it is told. */
  text?: string;
  /** Chosen by whoever commands; names the answer. */
  id: string;
}

/** A command of a person. One that comes again with its id is not carried out again and gets the same answer. */
export type Command = SayFrame | StopFrame | ApproveFrame | RejectFrame | RetryFrame | LabelFrame | RateFrame | ForkFrame;

/** Have something done in a conversation; see `crate::command`. */
export interface CommandFrame {
  t: "command";
  /** What, with the id that the answer names. */
  command: Command;
  /** The conversation. It may not exist yet. */
  conv: string;
}

/** What a client sends. */
export type ClientFrame = HelloFrame | SubFrame | WatchFrame | UnsubFrame | ResyncFrame | HbAckFrame | PubFrame | CommandFrame;

/** A streamed text. */
export interface ItemPart {
  part: string;
}

/** A call. */
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

/** Something inside a run. */
export type Item = ItemPart | ItemTool | ItemAgent | ItemNote;

/** Something that was open when its run was lost. */
export interface Closed {
  /** What. */
  item: Item;
  /** For a call, how it stood. */
  state?: ToolState;
}

/** A call that executes, as the list tells of it. */
export interface RowCall {
  /** The tool. */
  name: string;
  /** Since when, by the hub's clock, in milliseconds since 1970. */
  since: number;
}

/** A conversation in the list: enough to draw its row. */
export interface ConversationRow {
  /** What it does now, or how it ended, in a few words. */
  activity: string | null;
  /** The name of the main agent of the newest run. */
  agent?: string;
  /** Sub-agents of the newest run. */
  agents: number;
  /** How many anomalies there were, in all. */
  anomalies: number;
  /** The beginning of the last text of the newest run, once that is complete. */
  answer?: string;
  /** Calls of the newest run that wait for a person. */
  approvals: number;
  /** Whether somebody archived it: lists leave it out unless it is asked for. */
  archived?: boolean;
  /** The tool of the first call of the newest run that waits for a person. */
  asks?: string;
  /** When the newest event was taken. */
  at: number;
  /** How many they rated bad. */
  bad?: number;
  /** The call of the newest run that executes longest. */
  call?: RowCall;
  /** Its name. */
  conversation: string;
  /** When its newest run ended. */
  ended_at: number | null;
  /** The life of its log. */
  epoch: string;
  /** Calls of the newest run that failed. */
  failed: number;
  /** Where it was taken from, when it is a fork. */
  forked_from?: Origin;
  /** How many of its runs and messages people rated good. */
  good?: number;
  /** The newest seq. */
  head: number;
  /** The name of the machine that the agent of the newest run runs on. */
  host?: string;
  /** The model of the newest run. */
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
  /** Runs in all. */
  runs: number;
  /** The end of the last text of the newest run, while that goes on. */
  said?: string;
  /** Whether that run goes on but nobody has spoken for it for a while. */
  stalled?: boolean;
  /** When its newest run began. */
  started_at: number;
  /** How its newest run stands; nothing before the first. */
  state: RunStatus | null;
  /** The tags that somebody gave it, at most `crate::limits::LABEL_TAGS_MAX`. */
  tags?: string[];
  /** What it is about. */
  title: string | null;
  /** Calls of the newest run. */
  tools: number;
  /** What all runs used together, as far as anybody said. */
  usage?: Usage;
  /** The tools that the newest run called, each once, the first `crate::limits::ROW_TOOLS_MAX` of them. */
  used?: string[];
  /** How many watch. */
  viewers: number;
  /** Bytes of texts, thinking and arguments that the models of the newest run have written; 0 for roles that do not see all of it. */
  written?: number;
}

/** What went wrong with one request, frame or subscription. Never closes the socket by itself. */
export type ErrorCode = "bad_request" | "bad_conversation" | "bad_position" | "bad_event" | "unknown_dialect" | "unknown_conversation" | "unknown_subscription" | "subscription_in_use" | "conversation_exists" | "not_found" | "method_not_allowed" | "unauthenticated" | "forbidden" | "publish_not_granted" | "forbidden_origin" | "too_large" | "too_many" | "publisher_gap" | "publisher_fenced" | "gone" | "shutting_down" | "body_timeout" | "unsupported_encoding" | "durability_unavailable" | "elsewhere" | "log_failed" | "log_unavailable" | "disk_full" | "disk_failing" | "unknown_upstream" | "upgrade_refused" | "over_budget" | "unknown_agent" | "agent_unavailable" | "not_resumable" | "not_running" | "still_running" | "consent_mismatch" | "run_of_hub" | "upstream_unreachable" | "upstream_failed" | "internal";

export interface ErrorFact {
  /** The name of the failure, as the source has it. */
  code: string;
  /** What went wrong. */
  message: string;
  /** How long to wait before, in milliseconds. */
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
  /** Its tags, at most `crate::limits::LABEL_TAGS_MAX`. */
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

/** Whether the log writes. */
export type LogHealth = "well" | "disk_full" | "disk_failing";

/** How a run was before the hub ended it because its publisher was lost. At most what was open then. */
export interface Loss {
  /** The line about what went on. */
  activity?: string;
  /** When `activity` was said. */
  activity_at?: number;
  /** The last failure. */
  error?: ErrorFact;
  /** What was open, in order. */
  open?: Closed[];
}

/** A place inside a run. */
export interface Within {
  /** How many items the run had before. */
  items: number;
  /** The run. */
  run: string;
}

/** A message of the history. */
export interface MessageView {
  /** When the hub took it. */
  at: number;
  /** What came with it. */
  files?: MessageFile[];
  /** Who speaks. */
  role: string;
  /** What. */
  text: string;
  /** Where it was said, when that was inside a run. */
  within?: Within;
}

/** A failure. */
export interface NoteBodyError {
  error: ErrorFact;
}

export interface NoteBodyCustomCustom {
  /** Its name. */
  name: string;
  /** Its content. */
  value: unknown;
}

/** An event of the agent's own. */
export interface NoteBodyCustom {
  custom: NoteBodyCustomCustom;
}

export interface NoteBodyRawRaw {
  /** Its dialect or kind. */
  name: string;
  /** Its content. */
  value: unknown;
}

/** A foreign event, or one of a later version. */
export interface NoteBodyRaw {
  raw: NoteBodyRawRaw;
}

export type NoteBody = NoteBodyError | NoteBodyCustom | NoteBodyRaw;

/** Something that happened once in a run. */
export interface Note {
  /** Which sub-agent. */
  agent: string | null;
  /** When. */
  at: number;
  /** What. */
  body: NoteBody;
}

/** A streamed text, thinking or file. */
export interface PartView {
  /** The sub-agent that wrote it. */
  agent: string | null;
  /** Bytes that were over the limit. */
  cut: number;
  /** How long it took by the publisher's own clock, in milliseconds. */
  duration_ms: number | null;
  /** When it ended; nothing while it streams. */
  ended_at: number | null;
  /** FNV-1a 64 of the whole text, in hex on the wire since a browser's number does not hold 64 bits. */
  hash: string;
  /** The provider keeps the text to itself. */
  hidden: boolean;
  /** What it is. */
  kind: PartKind;
  /** Whether text came after the end. */
  late: boolean;
  /** Bytes of the whole text. */
  len: number;
  /** Bytes that never came. */
  missing: number;
  /** Whether deltas overlapped. */
  overlapped: boolean;
  /** The provider's mark on its thinking, without which it does not take the text back. */
  signature?: string;
  /** When it began. */
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
  /** Whether deltas overlapped. */
  overlapped: boolean;
  /** The text, up to `PART_BYTES_MAX` bytes. */
  text: string;
}

/** A tool call. */
export interface ToolView {
  /** The sub-agent that called it. */
  agent: string | null;
  /** A person was asked and has agreed to it. */
  approved?: boolean;
  /** The arguments as the model wrote them; JSON in most dialects. */
  arguments: Streamed;
  /** When it last began to wait for a person. Views of older versions do not say. */
  asked_at?: number;
  /** Things to embed that came with the result. */
  embeds: unknown;
  /** When it was over. */
  ended_at: number | null;
  /** How long it was executed, in milliseconds, by the publisher. */
  exec_ms: number | null;
  /** When it began to execute. */
  executing_at: number | null;
  /** Files that came with the result. */
  files: unknown;
  /** The id that the source gives it, where another call of the run had that id before. */
  given_id?: string;
  /** Whether it failed. */
  is_error: boolean;
  /** The tool. */
  name: string;
  /** What it has printed so far. */
  output: Streamed;
  /** When it was written. */
  pending_at: number | null;
  /** What a person is asked, while it waits for approval. */
  question: string | null;
  /** How long it waited, in milliseconds, by the publisher. */
  queued_ms: number | null;
  /** A person was asked and has declined it. */
  rejected?: boolean;
  /** What it gave back. */
  result: unknown;
  /** Bytes of the result that were over the limit; the result is then its beginning, as a string. */
  result_cut: number;
  /** Where the whole result is, when this is only its beginning, as a string. */
  result_ref?: ResultRef;
  /** The provider executes it itself. */
  server: boolean;
  /** When the model began to write it. */
  started_at: number;
  /** How it stands. */
  state: ToolState;
}

/** One agent execution. */
export interface RunView {
  /** The line about what goes on. */
  activity: string | null;
  /** When `activity` was said. */
  activity_at?: number;
  /** The sub-agents. */
  agents: Record<string, AgentView>;
  /** The dialect that it came in. */
  dialect: string | null;
  /** When it ended. */
  ended_at: number | null;
  /** The last failure. */
  error: ErrorFact | null;
  /** Why the model stopped, in its own word. */
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
  /** The model. */
  model: string | null;
  /** The name of the main agent. */
  name: string | null;
  /** Errors and the agent's own events. */
  notes: Note[];
  /** Parts, calls and agents that have not ended. */
  open: Item[];
  /** An agent of the hub does it, or did: the hub itself has begun it, and nobody else can write into it. */
  own?: boolean;
  /** The streamed texts. */
  parts: Record<string, PartView>;
  /** Bytes of raw events that are in the log, kept or not. The first `crate::limits::RAW_BYTES_PER_RUN_MAX` are kept. */
  raw_bytes?: number;
  /** Since when the hub has not heard of it, once it said so; nothing as soon as more comes. */
  stalled_at?: number;
  /** When it began. */
  started_at: number;
  /** How it stands. */
  status: RunStatus;
  /** What it is about. */
  title: string | null;
  /** The calls. */
  tools: Record<string, ToolView>;
  /** Tokens, when anybody said. */
  usage: Usage | null;
}

/** How a viewer is told what happens. */
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

/** How a subscription goes on. */
export type SubMode = "tail" | "snapshot";

/** Why a client with a position gets a snapshot. */
export type SnapshotReason = "epoch_changed" | "too_old" | "ahead_of_head" | "cheaper" | "lagging" | "requested";

/** The answer to `sub`. The cursor exists from here on. */
export interface SubbedFrame {
  t: "subbed";
  /** The life of the log. */
  epoch: string;
  /** The newest seq. */
  head: number;
  /** How it goes on. */
  mode: SubMode;
  /** The subscription. */
  sub: number;
  /** Why it is a snapshot although the client had a position. */
  why?: SnapshotReason;
}

/** A message of the history. */
export interface TopItemMessage {
  message: string;
}

/** A run. */
export interface TopItemRun {
  run: string;
}

/** Something at the top of a conversation. */
export type TopItem = TopItemMessage | TopItemRun;

/** A conversation as it stands after the event `View::seq`. */
export interface View {
  /** What the streams did that they should not have done. */
  anomalies: Anomalies;
  /** Where the conversation was taken from, when it is a fork: all up to `Origin::seq` was said there. */
  forked_from?: Origin;
  /** Whether more runs or messages came than a view holds. */
  full: boolean;
  /** Messages and runs, in order. */
  items: TopItem[];
  /** What people made of it: a title, a pin, tags. */
  label?: Label;
  /** The history. */
  messages: Record<string, MessageView>;
  /** The runs. */
  runs: Record<string, RunView>;
  /** The last event that is in. */
  seq: number;
  /** What the conversation is about, as the newest run said it. */
  title: string | null;
}

/** The state at a position, or a piece of it; replaces what the client has of this subscription. */
export interface SnapFrame {
  t: "snap";
  /** The life of the log. */
  epoch: string;
  /** Whether more pieces follow; the state is theirs together. */
  more?: boolean;
  /** The last event that is in. */
  seq: number;
  /** The state. */
  state: View;
  /** The subscription. */
  sub: number;
}

/** Events. Valid only for a client that stands at `from - 1`; afterwards it stands at `to`. */
export interface BatchFrame {
  t: "batch";
  /** The events; deltas of one part may be joined. */
  ev: Event[];
  /** The first seq that is covered. */
  from: number;
  /** The subscription. */
  sub: number;
  /** The last seq that is covered; `from - 1` where only ephemeral events are in. */
  to: number;
  /** When the hub wrote the frame, in milliseconds since 1970. */
  ts: number;
}

/** The client has all there was when it subscribed or was sent a snapshot. */
export interface LiveFrame {
  t: "live";
  /** Where it stands. */
  seq: number;
  /** The subscription. */
  sub: number;
}

/** The viewer does not take what comes as fast as it comes, or does again. */
export interface LagFrame {
  t: "lag";
  /** How many events it is behind. */
  behind_events: number;
  /** For how long it has been behind, in milliseconds. */
  behind_ms: number;
  /** How it is told from here on. */
  state: Rung;
  /** The subscription. */
  sub: number;
}

/** How many watch, and who. */
export interface PresenceFrame {
  t: "presence";
  /** Who they are, where names are told: each once and in order, the first `crate::limits::PRESENCE_NAMES_MAX` of them. */
  names?: string[];
  /** The subscription. */
  sub: number;
  /** The viewers of the conversation, this one among them. */
  viewers: number;
}

/** Rows of the list of conversations. */
export interface FleetFrame {
  t: "fleet";
  /** Whether these are all; else only those that changed. */
  full: boolean;
  /** Conversations that were deleted: their rows go, before `rows` are taken. One of these may be there again. */
  gone?: string[];
  /** The rows. */
  rows: ConversationRow[];
  /** The subscription. */
  sub: number;
  /** How many conversations there are. */
  total: number;
  /** When the hub wrote the frame, in milliseconds since 1970. */
  ts: number;
}

/** A heartbeat. The client answers with `hb_ack`. */
export interface HbFrame {
  t: "hb";
  /** For each subscription the life of the log and the newest seq. */
  heads: Record<string, [string, number]>;
  /** When the hub wrote the frame, in milliseconds since 1970. */
  ts: number;
}

/** Whether the log writes: sent after `welcome` when it does not, and to all when that changes. */
export interface HealthFrame {
  t: "health";
  /** What the system said. */
  detail?: string;
  /** How it is. */
  log: LogHealth;
  /** Since when it cannot write, in milliseconds since 1970. */
  since?: number;
}

/** The hub is about to close the socket. */
export interface ByeFrame {
  t: "bye";
  /** The close code. */
  code: number;
  /** Why. */
  reason: string;
  /** Whether the client should come back. */
  reconnect: boolean;
  /** How long it should wait before, in milliseconds. */
  retry_ms: number;
}

/** The events of a `pub` are in. */
export interface AckFrame {
  t: "ack";
  /** Whether the frame was taken before. */
  duplicate: boolean;
  /** What the ack means. */
  durability: Durability;
  /** The life of the log. */
  epoch: string;
  /** How many events were taken; 0 for a duplicate. */
  events: number;
  /** The client's number of the `pub`. */
  id: number;
  /** The newest seq after the events; for a duplicate the newest of now. */
  seq: number;
}

/** A command was carried out. */
export interface DoneFrame {
  t: "done";
  /** Where the conversation stood before: what came of it comes after. */
  after: Position;
  /** The conversation in which it shows: of a fork the new one. */
  conversation: string;
  /** That of the command. */
  id: string;
  /** The run that it began or was about. */
  run?: string;
}

/** A command was not. */
export interface RefusedFrame {
  t: "refused";
  /** What. */
  code: ErrorCode;
  /** The command; empty where it had none that could be read. */
  id: string;
  /** Why, for a person. */
  message: string;
}

/** A frame or a subscription failed; the socket stays. */
export interface ErrorFrame {
  t: "error";
  /** What. */
  code: ErrorCode;
  /** For `publisher_gap`: the number that is expected. */
  expected?: number;
  /** The `pub` that it is about. */
  id?: number;
  /** What and where, for a person. */
  message: string;
  /** The subscription that it is about. */
  sub?: number;
}

/** What the hub sends. */
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
