// Watching a conversation, through the loss of the network and of the hub, without a hole and without doubles.

import { type Address, addressOf, type HubOptions } from "./address.js";
import { askedMs, waitMs } from "./backoff.js";
import { Lost, Refused } from "./errors.js";
import { Link } from "./link.js";
import { parsePosition } from "./position.js";
import { Signal } from "./signal.js";
import { Tracker } from "./tracker.js";
import type { Agents, Envelope, Level, Position, ServerFrame, Snapshot, SubFrame } from "./types.js";

/** The number of the one subscription of a socket. */
const SUB = 1;

/** How to watch. `level`, `agents`, `kinds` and `minIntervalMs` choose less than everything, as docs/protocol.md says. */
export interface SubscriptionOptions extends HubOptions {
  /** Where the viewer stands already: `position` of an earlier subscription, or that written as EPOCH:SEQ. */
  have?: Position | string | undefined;
  level?: Level | undefined;
  agents?: Agents | undefined;
  kinds?: string[] | undefined;
  minIntervalMs?: number | undefined;
  /** Ends the subscription. */
  signal?: AbortSignal | undefined;
}

/** One conversation as it goes on. Iterate over it, over `events()` or over `frames()`, one of them at a time. */
export class Subscription implements AsyncIterable<Envelope | Snapshot> {
  /** How often it has had a socket. */
  connections = 0;
  #address: Address;
  #tracker: Tracker;
  #wish: Partial<SubFrame> = {};
  #handedOut: Position | undefined;
  #link: Link | undefined;
  #attempt = 0;
  #retryMs = 0;
  #isClosed = false;
  #closing = new Signal();

  constructor(
    readonly conversation: string,
    options: SubscriptionOptions = {},
  ) {
    this.#address = addressOf(options);
    const { level, agents, kinds, minIntervalMs, have, signal } = options;
    this.#tracker = new Tracker((level ?? "deltas") === "deltas" && !agents && !kinds);
    if (level && level !== "deltas") this.#wish.level = level;
    if (agents) this.#wish.agents = agents;
    if (kinds) this.#wish.kinds = kinds;
    if (minIntervalMs) this.#wish.min_interval_ms = minIntervalMs;
    if (have !== undefined) {
      this.#handedOut = typeof have === "string" ? parsePosition(have) : have;
      this.#tracker.resume(this.#handedOut);
    }
    if (signal?.aborted) this.close();
    signal?.addEventListener("abort", () => this.close(), { once: true });
  }

  /** Everything up to here was handed out, and the next asked for. To be given as `have` later. */
  get position(): Position | undefined {
    return this.#handedOut;
  }

  /** Whether everything that there was at the beginning has come. */
  get isLive(): boolean {
    return this.#tracker.isLive;
  }

  /** Says good-bye to the hub, and ends the iteration. */
  close(): void {
    this.#isClosed = true;
    this.#link?.close();
    this.#link = undefined;
    this.#closing.notify();
  }

  [Symbol.asyncIterator](): AsyncIterator<Envelope | Snapshot> {
    return this.events();
  }

  /** Events as they come. One with `k` = "snapshot" stands for everything before it: forget, and take its `state`. */
  async *events(): AsyncGenerator<Envelope | Snapshot, void, undefined> {
    for await (const frame of this.frames()) {
      if (frame.t === "batch") {
        yield* frame.ev as Envelope[];
      } else if (frame.t === "snap" && !frame.more) {
        const state = this.#tracker.state!;
        this.#tracker.state = undefined;
        yield { k: "snapshot", epoch: frame.epoch, seq: frame.seq, state };
      }
    }
  }

  /** The hub's frames of this subscription as they came, without those that must not be applied. */
  async *frames(): AsyncGenerator<ServerFrame, void, undefined> {
    try {
      while (!this.#isClosed) {
        const frame = await this.#next();
        if (frame) yield frame;
        this.#handedOut = this.#tracker.position();
      }
    } finally {
      this.close();
    }
  }

  /** The next frame; nothing where there was none for the viewer, or the socket was lost. */
  async #next(): Promise<ServerFrame | undefined> {
    try {
      if (!this.#link) {
        if (this.#retryMs) await this.#closing.wait(this.#retryMs);
        if (this.#isClosed) return undefined;
        const link = await Link.open(this.#address);
        if (this.#isClosed) {
          link.close();
          return undefined;
        }
        this.connections += 1;
        this.#link = link;
        this.#subscribe(link);
      }
      return this.#take(this.#link, await this.#link.receive());
    } catch (error) {
      if (this.#isClosed) return undefined;
      if (!(error instanceof Lost)) throw error;
      this.#lost(error);
      return undefined;
    }
  }

  #lost(lost: Lost): void {
    this.#link?.abort();
    this.#link = undefined;
    this.#tracker.disconnected();
    this.#attempt += 1;
    this.#retryMs = lost.retryMs === undefined ? waitMs(this.#attempt) : askedMs(lost.retryMs);
  }

  #subscribe(link: Link): void {
    const have = this.#tracker.position();
    link.send({ t: "sub", sub: SUB, conv: this.conversation, ...this.#wish, ...(have ? { have } : {}) });
  }

  #take(link: Link, frame: ServerFrame): ServerFrame | undefined {
    this.#attempt = 0;
    switch (frame.t) {
      case "hb":
        if (this.#tracker.heartbeat(frame.heads[SUB])) link.send({ t: "resync", sub: SUB });
        link.send({ t: "hb_ack", at: { [SUB]: this.#tracker.seq } });
        return undefined;
      case "error":
        if (frame.code !== "unknown_subscription") throw new Refused(frame.code, frame.message);
        this.#subscribe(link);
        return undefined;
      case "health":
        return frame;
      default:
        if ((frame as { sub?: number }).sub !== SUB) return undefined;
    }
    const outcome = this.#tracker.take(frame);
    if (outcome === "gap" || outcome === "drift") link.send({ t: "resync", sub: SUB });
    if (outcome === "gap") return undefined;
    return outcome !== "nothing" || frame.t === "lag" || frame.t === "presence" ? frame : undefined;
  }
}

/** The events of a conversation as they come, until the loop is left. */
export function subscribe(conversation: string, options: SubscriptionOptions = {}): AsyncGenerator<Envelope | Snapshot> {
  return new Subscription(conversation, options).events();
}
