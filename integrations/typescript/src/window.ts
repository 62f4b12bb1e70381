// The events that a publisher keeps in memory, as the JSON that is sent.

interface Entry {
  json: string;
  /** All the bytes up to its end since the first event. */
  end: number;
}

const encoder = new TextEncoder();

/** Bytes of `text` in UTF-8. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** Events by their counts: those that the hub does not have yet, and behind them those that it could forget again. */
export class Window {
  /** The event before the first that is kept. */
  beginsAfter = 0;
  #entries: Entry[] = [];
  /** Entries at the beginning of the list that are dropped already; it is cut only now and then. */
  #dropped = 0;
  #start = 0;

  /** Adds the next event. */
  push(json: string): void {
    this.#entries.push({ json, end: this.#end() + byteLength(json) + 1 });
  }

  #end(): number {
    return this.#entries.at(-1)?.end ?? this.#start;
  }

  #index(event: number): number {
    return this.#dropped + Math.max(event - this.beginsAfter, 0);
  }

  /** Bytes of all that is kept, with a comma for each. */
  bytes(): number {
    return this.#end() - this.#start;
  }

  /** Bytes of the events after `event`. */
  bytesAfter(event: number): number {
    const before = this.#index(event) - 1;
    if (before < this.#dropped) return this.bytes();
    return this.#end() - (this.#entries[before]?.end ?? this.#end());
  }

  /** The bytes of the event after `event`. */
  nextBytes(event: number): number {
    return this.bytesAfter(event) - this.bytesAfter(event + 1);
  }

  /** The events after `event`: one at least if there is one, then as many as fit. */
  after(event: number, countMax: number, bytesMax: number): string[] {
    const taken: string[] = [];
    let left = bytesMax;
    for (let index = this.#index(event); taken.length < countMax; index += 1) {
      const entry = this.#entries[index];
      if (!entry) break;
      left -= entry.end - (index > this.#dropped ? this.#entries[index - 1]!.end : this.#start);
      if (taken.length > 0 && left < 0) break;
      taken.push(entry.json);
    }
    return taken;
  }

  /** Drops the events up to `event`. */
  dropTo(event: number): void {
    while (this.beginsAfter < event && this.#dropped < this.#entries.length) {
      this.#start = this.#entries[this.#dropped]!.end;
      this.#dropped += 1;
      this.beginsAfter += 1;
    }
    // Twice what is kept at most.
    if (this.#dropped * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#dropped);
      this.#dropped = 0;
    }
  }

  /** Drops events up to `event`, the oldest first, as long as more than `bytesMax` are kept. */
  shrink(bytesMax: number, event: number): void {
    while (this.bytes() > bytesMax && this.beginsAfter < event) this.dropTo(this.beginsAfter + 1);
  }
}
