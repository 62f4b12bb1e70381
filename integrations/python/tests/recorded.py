"""A publisher that keeps what it is told, and what an adapter made of a run, in short."""

from fanlight import BufferFull


class Recorded:
    """Takes the place of a publisher."""

    def __init__(self):
        self.events = []

    def offer(self, *events):
        self.events.extend(dict(event) for event in events)

    def of(self, kind):
        return [event for event in self.events if event["k"] == kind]

    def text(self, kind="text", agent=None):
        parts = {e["part"] for e in self.of("part.start") if e["kind"] == kind and e.get("agent") == agent}
        return "".join(e["text"] for e in self.of("part.delta") if e["part"] in parts)

    def calls(self):
        """Of each call: what was said of it, in order, and what came of it."""
        told = {}
        for event in self.events:
            if event["k"].startswith("tool."):
                call = told.setdefault(event["tool"], {"said": []})
                said = event["k"].removeprefix("tool.")
                call["said"].append(event.get("state", said))
                call |= {name: event[name] for name in ("name", "arguments", "output", "agent") if name in event}
                if said == "result":
                    call |= {"is_error": event.get("is_error", False), "exec_ms": event.get("exec_ms")}
        return told


class Full:
    """A publisher without room."""

    def offer(self, *events):
        raise BufferFull("full")
