// Publishing, each event exactly once, through the loss of the network and of the hub.
//
// A publisher numbers its events, keeps those that the hub does not have yet, and sends them again where it must. It takes no
// more than it may keep: `publish` then waits, `offer` throws `BufferFull`. What a hub has acked at `memory` it forgets when it
// dies; as long as there is room that is kept too, and a hub that comes back empty-handed is told everything again.

import { type Address, addressOf, type HubOptions, urlOf } from "./address.js";
import { askedMs, waitMs } from "./backoff.js";
import { BufferFull, Closed, EventTooLarge, FanlightError, Fenced, Lost, Refused, Undelivered } from "./errors.js";
import { Ledger } from "./ledger.js";
import { Link } from "./link.js";
import { Signal } from "./signal.js";
import type { AckFrame, Durability, ErrorFrame, Event, Position } from "./types.js";
import { byteLength, Window } from "./window.js";

/** Most bytes of events, as JSON, that wait for their acks. */
export const WAITING_BYTES_MAX = 4 << 20;

/** Most bytes of events that are kept, acked or not. */
export const KEPT_BYTES_MAX = 16 << 20;

/** Largest event that a hub takes. */
const EVENT_BYTES_MAX = 15 << 20;
const FRAME_BYTES_TARGET = 256 << 10;
const FRAME_HEAD_BYTES = 4 << 10;

/** How long `close` waits for the hub. */
const LINGER_MS = 30_000;

/** Refusals that may be none the next time. */
const PASSING = new Set<string>(["too_many", "shutting_down", "elsewhere", "log_failed", "internal", "publisher_gap"]);

/** How far a publisher has come. */
export interface Standing {
  /** Events that were taken. */
  offered: number;
  /** Events that the hub has. */
  acked: number;
  /** Events that a hub forgot and could not be told again. */
  missing: number;
  /** Where the conversation stood at the newest ack. */
  position: Position | undefined;
}

/** What happens on the way. */
export type News =
  | { what: "connected" }
  | { what: "lost"; why: string; retryMs: number }
  | { what: "forgotten"; missing: number };

/** How to publish. */
export interface PublisherOptions extends HubOptions {
  /** A name that nobody else uses at the same time; without it one is made up. */
  publisher?: string | undefined;
  /** Higher than all lives that the name had before; without it the time of day. */
  life?: number | undefined;
  /** What an ack must mean; without it, the best that the hub's log offers without waiting for the disk itself. */
  durability?: Durability | undefined;
  /** See WAITING_BYTES_MAX. */
  waitingBytesMax?: number | undefined;
  /** See KEPT_BYTES_MAX. */
  keptBytesMax?: number | undefined;
  /** Hears what happens on the way. */
  onNews?: ((news: News) => void) | undefined;
}

/** Publishes into one conversation, from the moment when it is made. Call `close` at the end. */
export class Publisher implements AsyncDisposable {
  readonly name: string;
  #address: Address;
  #options: PublisherOptions;
  #ledger: Ledger;
  #window = new Window();
  #position: Position | undefined;
  #attempt = 0;
  #why = "no connection yet";
  #failure: Error | undefined;
  #isStopped = false;
  #link: Link | undefined;
  #changed = new Signal();
  #hurry = new Signal();

  constructor(
    readonly conversation: string,
    options: PublisherOptions = {},
  ) {
    this.#address = addressOf(options);
    this.#options = options;
    this.name = options.publisher ?? `js-${crypto.randomUUID()}`;
    this.#ledger = new Ledger(options.life ?? (options.publisher === undefined ? 1 : Date.now()));
    void this.#run();
  }

  /** How far it has come. */
  get standing(): Standing {
    const { offered, acked, missing } = this.#ledger;
    return { offered, acked, missing, position: this.#position };
  }

  /** Bytes of the events that wait for their acks. */
  get waitingBytes(): number {
    return this.#window.bytesAfter(this.#ledger.acked);
  }

  /** Takes events; waits as long as there is no room. Throws why the hub does not take them, where that is so. */
  async publish(...events: Event[]): Promise<void> {
    for (const json of events.map(encode)) {
      while (!this.#hasRoom()) await this.#changed.wait();
      this.#push(json);
    }
  }

  /** The same without waiting: throws `BufferFull` where there is no room, and has then taken none of them. */
  offer(...events: Event[]): void {
    const encoded = events.map(encode);
    if (!this.#hasRoom()) {
      throw new BufferFull(`${this.waitingBytes} bytes wait for ${this.#address.url} (${this.#why})`);
    }
    for (const json of encoded) this.#push(json);
  }

  /** Waits until the hub has everything. Throws `Undelivered` when the time is over before. */
  async flush(ms?: number): Promise<Standing> {
    if (this.#ledger.offered === 0) return this.standing;
    const end = ms === undefined ? undefined : Date.now() + ms;
    this.#attempt = 0;
    this.#hurry.notify();
    while (!this.#ledger.isDone()) {
      this.#check();
      const left = end === undefined ? undefined : end - Date.now();
      if (left !== undefined && left <= 0) {
        throw new Undelivered(this.#ledger.offered - this.#ledger.acked, this.#why);
      }
      await this.#changed.wait(left);
    }
    return this.standing;
  }

  /** Waits until the hub has everything, then lets go. Throws `Undelivered` when the time is over before. */
  async close(ms: number = LINGER_MS): Promise<Standing> {
    try {
      return this.#isStopped ? this.standing : await this.flush(ms);
    } finally {
      this.stop();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Lets go of the connection. What the hub does not have is lost. */
  stop(): void {
    this.#isStopped = true;
    this.#failure ??= new Closed(0, "the publisher was stopped");
    this.#link?.close();
    this.#hurry.notify();
    this.#changed.notify();
  }

  #check(): void {
    if (this.#failure) throw this.#failure;
  }

  #hasRoom(): boolean {
    this.#check();
    return this.waitingBytes < (this.#options.waitingBytesMax ?? WAITING_BYTES_MAX);
  }

  #push(json: string): void {
    this.#window.push(json);
    this.#ledger.offer(1);
    this.#trim();
    this.#changed.notify();
  }

  #trim(): void {
    const waiting = this.#options.waitingBytesMax ?? WAITING_BYTES_MAX;
    this.#window.shrink(Math.max(this.#options.keptBytesMax ?? KEPT_BYTES_MAX, waiting), this.#ledger.acked);
    this.#ledger.forget(this.#window.beginsAfter);
  }

  #tell(news: News): void {
    try {
      this.#options.onNews?.(news);
    } catch {
      // What the listener does wrong is not the publisher's to bear.
    }
  }

  async #run(): Promise<void> {
    while (!this.#isStopped && !this.#failure) {
      try {
        const link = await Link.open(this.#address);
        this.#link = link;
        this.#ledger.connected();
        this.#tell({ what: "connected" });
        await this.#converse(link);
      } catch (error) {
        await this.#lost(error);
      }
    }
    this.#ledger.lost();
    this.#changed.notify();
  }

  async #lost(error: unknown): Promise<void> {
    this.#link?.abort();
    this.#link = undefined;
    this.#ledger.lost();
    if (this.#isStopped) return;
    if (!(error instanceof Lost)) {
      this.#failure = error instanceof FanlightError ? error : new Closed(0, String(error));
      return;
    }
    this.#why = error.message;
    this.#attempt += 1;
    const retryMs = error.retryMs === undefined ? waitMs(this.#attempt) : askedMs(error.retryMs);
    this.#tell({ what: "lost", why: this.#why, retryMs });
    this.#changed.notify();
    // Whoever waits for the end does not wait for the next attempt too.
    await this.#hurry.wait(retryMs);
  }

  /** Says what is due and hears what comes, until either fails. */
  async #converse(link: Link): Promise<void> {
    let failed: unknown;
    const speaking = this.#speak(link, () => failed !== undefined).catch((error: unknown) => {
      failed ??= error;
      link.abort();
    });
    try {
      for (;;) await this.#hear(link);
    } catch (error) {
      failed ??= error;
    }
    this.#changed.notify();
    await speaking;
    throw failed;
  }

  async #speak(link: Link, isOver: () => boolean): Promise<void> {
    const room = Math.max(link.welcome.limits.inbound_frame_bytes - FRAME_HEAD_BYTES, 1);
    while (!isOver()) {
      if (!this.#ledger.isDue()) {
        await this.#changed.wait();
        continue;
      }
      const after = this.#ledger.sent;
      if (!this.#ledger.asks && this.#window.nextBytes(after) > room) {
        if (this.#ledger.hasFlights()) await this.#changed.wait();
        else await this.#request(this.#window.after(after, 1, Infinity));
        continue;
      }
      const most = Math.min(FRAME_BYTES_TARGET, room);
      const events = this.#ledger.asks ? [] : this.#window.after(after, link.welcome.limits.events_per_publish, most);
      link.sendText(this.#frame(events));
    }
  }

  #frame(events: string[]): string {
    const { id, life, first, last } = this.#ledger.send(events.length);
    const { durability } = this.#options;
    const head = { t: "pub", id, conv: this.conversation, pid: this.name, pepoch: life, pfirst: first, pseq: last, durability };
    return `${JSON.stringify(head).slice(0, -1)},"events":[${events.join(",")}]}`;
  }

  /** Publishes one event over HTTP, which takes larger ones. */
  async #request(events: string[]): Promise<void> {
    const { id, life, first, last } = this.#ledger.send(1);
    const headers: Record<string, string> = {
      "content-type": "application/json",
      "fanlight-publisher": `${this.name}/${life}/${first}-${last}`,
    };
    if (this.#options.durability) headers["fanlight-durability"] = this.#options.durability;
    let answer: Response;
    let said: { code?: string; detail?: string; position?: Position; durability?: Durability };
    try {
      const url = urlOf(this.#address, "conversations", this.conversation, "events");
      answer = await this.#address.fetch(url, { method: "POST", headers, body: `[${events.join(",")}]` });
      said = (await answer.json()) as typeof said;
    } catch (error) {
      throw new Lost(String(error));
    }
    const problem = `${answer.status} ${said.code ?? ""}: ${said.detail ?? ""}`;
    if (answer.ok && said.position) {
      this.#acked(id, said.position, said.durability);
    } else if ([408, 409, 429].includes(answer.status) || answer.status >= 500) {
      // A gap shows again over the socket, which says what is expected.
      throw new Lost(problem);
    } else {
      throw refusal(said.code ?? String(answer.status), problem);
    }
  }

  async #hear(link: Link): Promise<void> {
    const frame = await link.receive();
    if (frame.t === "ack") this.#ackedFrame(frame);
    else if (frame.t === "error" && frame.id !== undefined) this.#refused(frame, frame.id);
    else if (frame.t === "hb") link.send({ t: "hb_ack", at: {} });
  }

  #ackedFrame(frame: AckFrame): void {
    this.#acked(frame.id, { epoch: frame.epoch, seq: frame.seq }, frame.durability);
  }

  #acked(id: number, position: Position, durability: Durability | undefined): void {
    if (!this.#ledger.ack(id)) return;
    this.#attempt = 0;
    this.#position = position;
    if (durability !== undefined && durability !== "memory") this.#window.dropTo(this.#ledger.acked);
    this.#trim();
    this.#changed.notify();
  }

  #refused(frame: ErrorFrame, id: number): void {
    if (frame.code === "publisher_gap" && frame.expected !== undefined) {
      const missing = this.#ledger.gap(id, frame.expected);
      if (missing) this.#tell({ what: "forgotten", missing });
      this.#changed.notify();
    } else if (PASSING.has(frame.code)) {
      throw new Lost(`${frame.code}: ${frame.message}`);
    } else {
      throw refusal(frame.code, frame.message);
    }
  }
}

/** An event as it is sent, with the time at which it happened. */
export function encode(event: Event): string {
  const timed = event.at === undefined && event.producer_at === undefined ? { ...event, at: Date.now() } : event;
  let json = JSON.stringify(timed);
  // Half a character is not text; streams that are cut anywhere have such.
  if (/\\ud[89a-f]/.test(json)) json = JSON.stringify(timed, (_, value) => wellFormed(value));
  if (json.length > EVENT_BYTES_MAX / 3 && byteLength(json) > EVENT_BYTES_MAX) {
    throw new EventTooLarge(`an event of ${byteLength(json)} bytes, more than the ${EVENT_BYTES_MAX} that fit`);
  }
  return json;
}

function wellFormed(value: unknown): unknown {
  return typeof value === "string" ? new TextDecoder().decode(new TextEncoder().encode(value)) : value;
}

function refusal(code: string, message: string): Refused {
  return code === "publisher_fenced" ? new Fenced(code, message) : new Refused(code, message);
}
