// A viewer's side of one subscription: which frames count, where it stands, whether it has drifted. No I/O.

import type { BatchFrame, Event, PartEndEvent, Position, ServerFrame, SnapFrame, View } from "./types.js";

/** Texts that are remembered as drifted. */
const DRIFTED_MAX = 1_000;

const encoder = new TextEncoder();

/** FNV-1a 64 in two halves of 32 bits: numbers do not hold 64, and `bigint` is several times slower. */
export class Hash {
  #high: number;
  #low: number;

  constructor(hex = "cbf29ce484222325") {
    this.#high = Number.parseInt(hex.slice(0, 8), 16);
    this.#low = Number.parseInt(hex.slice(8), 16);
  }

  /** Adds bytes. */
  add(octets: Uint8Array): void {
    let [high, low] = [this.#high, this.#low];
    for (const octet of octets) {
      low = (low ^ octet) >>> 0;
      // The prime is 2^40 + 0x1b3.
      const product = low * 0x1b3;
      high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
      low = product >>> 0;
    }
    [this.#high, this.#low] = [high, low];
  }

  /** 16 hex digits. */
  hex(): string {
    return [this.#high, this.#low].map((half) => half.toString(16).padStart(8, "0")).join("");
  }
}

/** What is known of a text that streams. */
class Text {
  constructor(
    private length = 0,
    private readonly hash = new Hash(),
  ) {}

  /** Adds a delta: what overlaps is taken once, what is missing is counted. */
  add(offset: number | undefined, octets: Uint8Array): void {
    const begin = offset ?? this.length;
    const known = Math.max(this.length - begin, 0);
    this.length = Math.max(this.length, begin + octets.length);
    this.hash.add(octets.subarray(known));
  }

  /** Whether it is what its end says. */
  fits(end: PartEndEvent): boolean {
    return (end.len ?? this.length) === this.length && (end.hash === undefined || end.hash === this.hash.hex());
  }
}

/**
 * What became of a frame: `nothing` covers nothing new or is none of ours; `gap` must not be applied and asks for a resync;
 * `drift` is applied, but a text is not what the hub says, which asks for a resync as well.
 */
export type Outcome = "subscribed" | "piece" | "replaced" | "applied" | "live" | "nothing" | "gap" | "drift";

/** See the file. */
export class Tracker {
  epoch: string | undefined;
  seq = 0;
  head = 0;
  isLive = false;
  /** The newest snapshot, put together; whoever takes it takes it away. */
  state: View | undefined;
  #joined = false;
  #pieces: View | undefined;
  #texts = new Map<string, Text>();
  #drifted = new Set<string>();
  #heard = false;
  #stood: number | undefined;

  /** `checksTexts` is false where something is left out. */
  constructor(private readonly checksTexts = true) {}

  /** Starts from a position that is known already. Texts that stream there are not checked. */
  resume(have: Position): void {
    this.epoch = have.epoch;
    this.seq = this.head = have.seq;
  }

  /** What to send as `have`: nothing before the first answer. */
  position(): Position | undefined {
    return this.epoch === undefined ? undefined : { epoch: this.epoch, seq: this.seq };
  }

  /** The socket is gone: nothing may be applied before the next answer. */
  disconnected(): void {
    this.#joined = this.isLive = false;
    this.#pieces = this.#stood = undefined;
  }

  /** Takes what a heartbeat says. True when the subscription is dead though the socket lives: ask for a resync. */
  heartbeat(head: [string, number] | undefined): boolean {
    const behind = !head || head[0] !== this.epoch || head[1] > this.seq;
    const dead = behind && !this.#heard && this.#stood === this.seq;
    this.#heard = false;
    this.#stood = behind && !dead ? this.seq : undefined;
    return dead;
  }

  /** Takes the next frame of this subscription. */
  take(frame: ServerFrame): Outcome {
    this.#heard = true;
    switch (frame.t) {
      case "batch":
        return this.#batch(frame);
      case "snap":
        return this.#snapshot(frame);
      case "live":
        this.head = Math.max(this.head, frame.seq);
        this.isLive = this.#joined && this.seq >= frame.seq;
        return this.isLive ? "live" : "gap";
      case "subbed":
        this.#joined = frame.mode === "tail" && (this.epoch === undefined || this.epoch === frame.epoch);
        this.isLive = false;
        this.#pieces = undefined;
        this.head = frame.head;
        this.epoch ??= frame.epoch;
        return "subscribed";
      default:
        return "nothing";
    }
  }

  #snapshot(frame: SnapFrame): Outcome {
    let whole = frame.state;
    if (this.#pieces) {
      const before = this.#pieces;
      this.#pieces = undefined;
      before.items.push(...(whole.items ?? []));
      Object.assign(before.messages, whole.messages);
      Object.assign(before.runs, whole.runs);
      whole = before;
    }
    if (frame.more) {
      this.#pieces = whole;
      return "piece";
    }
    if (this.epoch !== frame.epoch) {
      this.epoch = frame.epoch;
      this.#drifted.clear();
    }
    this.seq = whole.seq = frame.seq;
    this.head = Math.max(this.head, this.seq);
    this.state = whole;
    this.#joined = true;
    this.#texts.clear();
    if (this.checksTexts) this.#follow(whole);
    return "replaced";
  }

  /** The texts of a snapshot that go on, with what the hub says of them so far. */
  #follow(state: View): void {
    for (const [run, view] of Object.entries(state.runs ?? {})) {
      for (const item of view.open ?? []) {
        const part = "part" in item ? item.part : undefined;
        const body = part === undefined ? undefined : view.parts[part];
        if (body) this.#texts.set(nameOf(run, part!), new Text(body.len, new Hash(body.hash)));
      }
    }
  }

  #batch(frame: BatchFrame): Outcome {
    if (!this.#joined) return "gap";
    if (frame.to <= this.seq && frame.from <= frame.to) return "nothing";
    this.head = Math.max(this.head, frame.to);
    if (frame.from !== this.seq + 1) return "gap";
    let drifted = false;
    if (this.checksTexts) for (const event of frame.ev) drifted = this.#check(event) || drifted;
    this.seq = Math.max(this.seq, frame.to);
    return drifted ? "drift" : "applied";
  }

  /** Follows the texts; true at the end of one that is not what the hub says. Each is told once. */
  #check(event: Event): boolean {
    switch (event.k) {
      case "part.start": {
        const name = nameOf(event.run, event.part);
        if (!this.#texts.has(name)) this.#texts.set(name, new Text());
        return false;
      }
      case "part.delta": {
        const name = nameOf(event.run, event.part);
        // Of one that was streaming before this viewer came nothing is known.
        if (!event.off && !this.#texts.has(name)) this.#texts.set(name, new Text());
        this.#texts.get(name)?.add(event.off, encoder.encode(event.text));
        return false;
      }
      case "part.replace": {
        const text = new Text();
        text.add(0, encoder.encode(event.text));
        this.#texts.set(nameOf(event.run, event.part), text);
        return false;
      }
      case "part.end": {
        const name = nameOf(event.run, event.part);
        const text = this.#texts.get(name);
        this.#texts.delete(name);
        if (!text || text.fits(event) || this.#drifted.has(name) || this.#drifted.size >= DRIFTED_MAX) return false;
        this.#drifted.add(name);
        return true;
      }
      default:
        return false;
    }
  }
}

function nameOf(run: string | undefined, part: string): string {
  return JSON.stringify([run ?? "", part]);
}
