"""The tool of all agents: finds places once the test lets it, and one never."""

import os
import time


def wait_for(place: str) -> str:
    """Waits until there is a file of that name."""
    if place == "Atlantis":
        raise ValueError("there is no such place")
    while not os.path.exists(place):
        time.sleep(0.01)
    return f"{place} is sunny"
