"""Publish what an agent does to a Fanlight hub, exactly once, and watch it.

``Publisher`` and ``SyncPublisher`` say events, ``Run`` says what an agent does in events, ``ingest`` passes a vendor's stream on,
``subscribe`` watches. The adapters of frameworks are modules of ``fanlight.adapters`` and are loaded only where they are used.
"""

from .errors import BufferFull, Closed, EventTooLarge, FanlightError, Fenced, Refused, Undelivered, Unreachable
from .ingest import Taken, ingest
from .position import Position
from .publisher import Durability, News, Publisher, Standing
from .run import Run, Voice
from .subscription import Level, Subscription, subscribe
from .sync import SyncPublisher

__all__ = [
    "BufferFull",
    "Closed",
    "Durability",
    "EventTooLarge",
    "FanlightError",
    "Fenced",
    "Level",
    "News",
    "Position",
    "Publisher",
    "Refused",
    "Run",
    "Standing",
    "Subscription",
    "SyncPublisher",
    "Taken",
    "Undelivered",
    "Unreachable",
    "Voice",
    "ingest",
    "subscribe",
]
