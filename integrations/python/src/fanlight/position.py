"""Where something stands in a conversation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """After the event ``seq`` of one life (``epoch``) of a conversation's log. Written ``EPOCH:SEQ``."""

    epoch: str
    seq: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.seq}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """The position that ``text`` holds."""
        epoch, colon, seq = text.rpartition(":")
        if not colon or not epoch or not seq.isdecimal():
            raise ValueError(f"{text[:80]!r} is not a position, which is written EPOCH:SEQ")
        return cls(epoch, int(seq))
