// Which events the hub has, which are on their way, and what is said next. No I/O.
//
// Events are counted from 1 as they are offered; beginsAfter <= acked <= sent <= offered:
//
//     1 … beginsAfter │ … acked │ … sent │ … offered
//        given away   │ kept as │ in     │ waits
//                     │ long as │ flight │
//                     │ there   │
//                     │ is room │
//
// The hub's numbers begin at 1 in each life: number n is event base + n. A hub that has forgotten what it acked says which
// number it expects. What is still kept is sent again; where it is not, a new life begins with the first event that is.

/** Most frames that wait for their acks. */
export const FLIGHTS_MAX = 16;

/** A frame, but for its events; `last` is `first - 1` for a question. */
export interface Numbers {
  id: number;
  life: number;
  first: number;
  last: number;
}

/** See the file. */
export class Ledger {
  base = 0;
  beginsAfter = 0;
  acked = 0;
  sent = 0;
  offered = 0;
  /** Events that a hub forgot and could not be told again. */
  missing = 0;
  /** Whether what is due is a question: a frame without events. */
  asks = false;
  #flights: { id: number; last: number }[] = [];
  #nextId = 1;
  #sinceId = 1;
  #isUp = false;

  constructor(public life = 1) {}

  /** So many more events are there to be sent. */
  offer(count: number): void {
    this.offered += count;
  }

  /** Whether the hub has everything. */
  isDone(): boolean {
    return this.acked === this.offered && this.#flights.length === 0 && this.#isUp && !this.asks;
  }

  /** Whether frames wait for their acks. */
  hasFlights(): boolean {
    return this.#flights.length > 0;
  }

  /** Events up to `event`, which are acked, are not kept any more. */
  forget(event: number): void {
    this.beginsAfter = Math.max(this.beginsAfter, Math.min(event, this.acked));
  }

  /** A connection is there. Whoever has told something asks first whether the hub still has it. */
  connected(): void {
    this.#again();
    this.#isUp = true;
    this.asks = this.acked > this.base;
  }

  /** The connection is gone, and with it what was in flight. */
  lost(): void {
    this.#again();
    this.#isUp = false;
  }

  #again(): void {
    this.#flights = [];
    this.#sinceId = this.#nextId;
    this.sent = this.acked;
  }

  /** Whether something is to be sent now. */
  isDue(): boolean {
    return this.#isUp && this.#flights.length < FLIGHTS_MAX && (this.asks || this.sent < this.offered);
  }

  /** What is due is sent now: so many events, none for a question. */
  send(count: number): Numbers {
    const id = this.#nextId++;
    const first = this.sent - this.base + 1;
    this.sent = Math.min(this.sent + count, this.offered);
    this.asks = false;
    this.#flights.push({ id, last: this.sent });
    return { id, life: this.life, first, last: this.sent - this.base };
  }

  /** The hub has the frame and all before it. Says whether that is news. */
  ack(id: number): boolean {
    if (id < this.#sinceId) return false;
    while (this.#flights[0] && this.#flights[0].id <= id) {
      this.acked = Math.max(this.acked, this.#flights.shift()!.last);
    }
    return true;
  }

  /** The hub did not take the frame, since it expects another number. How many events are lost for good by that. */
  gap(id: number, expected: number): number {
    if (id < this.#sinceId) return 0;
    const stands = Math.min(this.base + Math.max(expected - 1, 0), this.offered);
    if (stands >= this.beginsAfter) {
      this.acked = stands;
      this.#again();
      return 0;
    }
    const missing = this.beginsAfter - stands;
    this.missing += missing;
    this.life += 1;
    this.base = this.acked = this.beginsAfter;
    this.#again();
    return missing;
  }
}
