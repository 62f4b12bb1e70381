"""Where a hub is."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

DEFAULT_URL = "http://127.0.0.1:4600"


@dataclass(frozen=True)
class Address:
    """The base URL of a hub, and the token for it."""

    url: str
    token: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str | None, token: str | None) -> Address:
        """What is given, else what ``FANLIGHT_URL`` and ``FANLIGHT_TOKEN`` say, else the hub of this machine."""
        url = (url or os.environ.get("FANLIGHT_URL") or DEFAULT_URL).rstrip("/")
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise ValueError(f"{url!r} is not the http address of a hub")
        return cls(url, token or os.environ.get("FANLIGHT_TOKEN") or None)

    @property
    def socket(self) -> str:
        """Where the WebSocket is."""
        return "ws" + self.url.removeprefix("http") + "/v1/ws"

    @property
    def headers(self) -> dict[str, str]:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def path(self, *segments: str) -> str:
        """A path of the interface, each segment escaped."""
        return urlsplit(self.url).path + "/v1/" + "/".join(quote(segment, safe="") for segment in segments)
