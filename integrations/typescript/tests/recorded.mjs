// A publisher that keeps what it is told, and what an adapter made of a run, in short.

/** Takes the place of a publisher. */
export class Recorded {
  events = [];

  offer(...events) {
    this.events.push(...events);
  }

  of(kind) {
    return this.events.filter((event) => event.k === kind);
  }

  text(kind = "text", agent = undefined) {
    const starts = this.of("part.start").filter((event) => event.kind === kind && event.agent === agent);
    const parts = new Set(starts.map((event) => event.part));
    const deltas = this.of("part.delta").filter((event) => parts.has(event.part));
    return deltas.map((event) => event.text).join("");
  }

  /** Of each call: what was said of it, in order, and what came of it. */
  calls() {
    const told = {};
    for (const event of this.events) {
      if (!event.k.startsWith("tool.")) continue;
      const call = (told[event.tool] ??= { said: [] });
      const { k, run, tool, state, ...rest } = event;
      call.said.push(state ?? k.slice("tool.".length));
      Object.assign(call, rest);
    }
    return told;
  }
}

/** A publisher without room. */
export class Full {
  offer() {
    throw new Error("full");
  }
}
