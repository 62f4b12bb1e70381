// What can go wrong, by name.

/** Anything that this package throws on its own account. */
export class FanlightError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** No hub answers there. */
export class Unreachable extends FanlightError {}

/** The hub does not take it, and would not the next time either. `code` is the hub's. */
export class Refused extends FanlightError {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(`${code}: ${message}`);
  }
}

/** A newer life of this publisher is known to the hub: somebody else publishes under its name. */
export class Fenced extends Refused {}

/** The hub closed for good, or this side did. `code` is the close code, 0 where there is none. */
export class Closed extends FanlightError {
  constructor(
    readonly code: number,
    reason: string,
  ) {
    super(code ? `${code} ${reason}` : reason);
  }
}

/** So much waits for the hub that nothing more is taken. */
export class BufferFull extends FanlightError {}

/** One event is larger than what a hub takes. */
export class EventTooLarge extends FanlightError {}

/** The hub did not have everything when the wait was over; `count` events are missing. */
export class Undelivered extends FanlightError {
  constructor(
    readonly count: number,
    why: string,
  ) {
    super(`${count} events did not reach the hub: ${why}`);
  }
}

/** There is no socket, or not any more; it may work later. Stays inside of the package. */
export class Lost extends Error {
  constructor(
    why: string,
    /** The wait that the hub asked for. */
    readonly retryMs?: number,
  ) {
    super(why);
  }
}
