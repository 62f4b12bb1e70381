"""A viewer's side of one subscription: which frames count, where it stands, whether it has drifted. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .position import Position

DRIFTED_MAX = 1_000
"""Texts that are remembered as drifted."""
HASH_START = 0xCBF29CE484222325
HASH_PRIME = 0x100000001B3
MASK = (1 << 64) - 1


def fnv1a(octets: bytes, start: int = HASH_START) -> int:
    """FNV-1a 64, from ``start`` on."""
    value = start
    for octet in octets:
        value = ((value ^ octet) * HASH_PRIME) & MASK
    return value


class Outcome(Enum):
    """What became of a frame."""

    SUBSCRIBED = "subscribed"
    PIECE = "piece"
    """Of a snapshot whose rest is still to come."""
    REPLACED = "replaced"
    APPLIED = "applied"
    LIVE = "live"
    NOTHING = "nothing"
    """It covers nothing new, or is none of ours."""
    GAP = "gap"
    """It must not be applied: ask for a resync."""
    DRIFT = "drift"
    """It is applied, and a text is not what the hub says: ask for a resync."""


@dataclass
class Text:
    """What is known of a text that streams."""

    length: int = 0
    hash: int = HASH_START

    def add(self, offset: int | None, octets: bytes) -> None:
        """Adds a delta: what overlaps is taken once, what is missing is counted."""
        begin = self.length if offset is None else offset
        known = max(self.length - begin, 0)
        self.length = max(self.length, begin + len(octets))
        octets = octets[known:]
        self.hash = fnv1a(octets, self.hash)

    def fits(self, end: dict[str, Any]) -> bool:
        """Whether it is what its end says."""
        length, said = end.get("len"), end.get("hash")
        return (length is None or length == self.length) and (said is None or said == f"{self.hash:016x}")


@dataclass
class Tracker:
    """Follows the frames of one subscription. ``checks_texts`` is false where something is left out."""

    checks_texts: bool = True
    epoch: str | None = None
    seq: int = 0
    head: int = 0
    is_live: bool = False
    state: dict[str, Any] | None = None
    """The newest snapshot, put together; whoever takes it sets this back to nothing."""
    _joined: bool = False
    _pieces: dict[str, Any] | None = None
    _texts: dict[tuple[str, str], Text] = field(default_factory=dict)
    _drifted: set[tuple[str, str]] = field(default_factory=set)
    _heard: bool = False
    _stood: int | None = None

    def resume(self, have: Position) -> None:
        """Starts from a position that is known already. Texts that stream there are not checked."""
        self.epoch, self.seq, self.head = have.epoch, have.seq, have.seq

    def position(self) -> Position | None:
        """What to send as ``have``: nothing before the first answer."""
        return None if self.epoch is None else Position(self.epoch, self.seq)

    def disconnected(self) -> None:
        """The socket is gone: nothing may be applied before the next answer."""
        self._joined = self.is_live = False
        self._pieces = self._stood = None

    def heartbeat(self, head: list[Any] | None) -> bool:
        """Takes what a heartbeat says. True when the subscription is dead though the socket lives: ask for a resync."""
        behind = head is None or head[0] != self.epoch or head[1] > self.seq
        dead = behind and not self._heard and self._stood == self.seq
        self._heard = False
        self._stood = self.seq if behind and not dead else None
        return dead

    def take(self, frame: dict[str, Any]) -> Outcome:
        """Takes the next frame of this subscription."""
        self._heard = True
        kind = frame.get("t")
        if kind == "batch":
            return self._batch(frame)
        if kind == "snap":
            return self._snapshot(frame)
        if kind == "live":
            self.head = max(self.head, frame["seq"])
            self.is_live = self._joined and self.seq >= frame["seq"]
            return Outcome.LIVE if self.is_live else Outcome.GAP
        if kind == "subbed":
            same = self.epoch is None or self.epoch == frame["epoch"]
            self._joined = frame["mode"] == "tail" and same
            self.is_live = False
            self._pieces = None
            self.head = frame["head"]
            if self.epoch is None:
                self.epoch = frame["epoch"]
            return Outcome.SUBSCRIBED
        return Outcome.NOTHING

    def _snapshot(self, frame: dict[str, Any]) -> Outcome:
        whole: dict[str, Any] = frame["state"]
        if self._pieces is not None:
            before, self._pieces = self._pieces, None
            before["items"] += whole.get("items", [])
            before["messages"] |= whole.get("messages", {})
            before["runs"] |= whole.get("runs", {})
            whole = before
        if frame.get("more"):
            self._pieces = whole
            return Outcome.PIECE
        if self.epoch != frame["epoch"]:
            self.epoch = frame["epoch"]
            self._drifted.clear()
        self.seq = whole["seq"] = frame["seq"]
        self.head = max(self.head, self.seq)
        self.state = whole
        self._joined = True
        self._texts = dict(self._streaming(whole)) if self.checks_texts else {}
        return Outcome.REPLACED

    def _streaming(self, state: dict[str, Any]) -> list[tuple[tuple[str, str], Text]]:
        """The texts of a snapshot that go on, with what the hub says of them so far."""
        found = []
        for run, view in state.get("runs", {}).items():
            for item in view.get("open", []):
                part = item.get("part")
                if part in view.get("parts", {}):
                    body = view["parts"][part]
                    found.append(((run, part), Text(body["len"], int(body["hash"], 16))))
        return found

    def _batch(self, frame: dict[str, Any]) -> Outcome:
        first, last = frame["from"], frame["to"]
        if not self._joined:
            return Outcome.GAP
        if last <= self.seq and first <= last:
            return Outcome.NOTHING
        self.head = max(self.head, last)
        if first != self.seq + 1:
            return Outcome.GAP
        drifted = False
        if self.checks_texts:
            for event in frame["ev"]:
                drifted |= self._check(event)
        self.seq = max(self.seq, last)
        return Outcome.DRIFT if drifted else Outcome.APPLIED

    def _check(self, event: dict[str, Any]) -> bool:
        """Follows the texts; true at the end of one that is not what the hub says. Each is told once."""
        kind = event.get("k")
        if kind not in ("part.start", "part.delta", "part.replace", "part.end"):
            return False
        name = (event.get("run", ""), event["part"])
        if kind == "part.start":
            self._texts.setdefault(name, Text())
        elif kind == "part.end":
            text = self._texts.pop(name, None)
            if text is None or text.fits(event) or name in self._drifted or len(self._drifted) >= DRIFTED_MAX:
                return False
            self._drifted.add(name)
            return True
        elif kind == "part.replace":
            octets = event["text"].encode()
            self._texts[name] = Text(len(octets), fnv1a(octets))
        else:
            # Of one that was streaming before this viewer came nothing is known.
            text = self._texts.get(name) if event.get("off") else self._texts.setdefault(name, Text())
            if text is not None:
                text.add(event.get("off"), event["text"].encode())
        return False
