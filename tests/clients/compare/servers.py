"""Starts the servers as they are: each from a checkout of its own, with an interpreter that has its packages."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

# Its model stands at a fixed place: the one thing that is set from outside.
RALPH = """
import functools, os, sys
import agno.models.openrouter as openrouter
openrouter.OpenRouter = functools.partial(openrouter.OpenRouter, base_url=os.environ["MODEL"])
import uvicorn
uvicorn.run("ralph.server:app", host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
"""


@dataclass(frozen=True)
class Server:
    """One of them, and what its clients send."""

    kind: str
    url: str
    process: subprocess.Popen

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def until_up(url, process, what):
    """Waits until it answers, three minutes at most."""
    end = time.monotonic() + 180
    while process.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    process.terminate()
    sys.exit(f"{what} does not answer; see its log")


def start(name, python, checkout, model, place, *, armory=True):
    """The server `name` of the checkout, whose model is `model`; it writes below `place`."""
    place = place / f"{name}{'' if armory else '-alone'}"
    place.mkdir()
    port = free_port()
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    uvicorn = [python, "-m", "uvicorn", "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    if name == "ralph":
        command = [python, "-c", RALPH, str(port)]
        more = {
            "MODEL": f"{model}/ralph/v1",
            "RALPH_OPENROUTER_API_KEY": "none",
            "RALPH_USER_DATA_DIR": str(place),
            "RALPH_DOLT_PORT": "1",
            "RALPH_HONCHO_ENVIRONMENT": "local",
        }
    elif name == "deep-agent":
        command = [*uvicorn, "agent.services.api.main:app"]
        more = {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": f"{model}/deep-agent",
            "OPENAI_API_KEY": "none",
            "TAVILY_API_KEY": "none",
            "LANGFUSE_TRACING_ENABLED": "false",
        }
    else:
        command = [*uvicorn, "forge_orchestrator.server:app"]
        more = {
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{model}/forge/v1",
            "ORCHESTRATOR_DEFAULT_MODEL": "scripted",
            "ORCHESTRATOR_ARMORY_URL": f"{model}/mcp" if armory else "http://127.0.0.1:1/mcp",
            "ORCHESTRATOR_MODELS_CACHE_FILE": str(place / "cache.json"),
            "ORCHESTRATOR_MODELS_CONFIG_FILE": str(place / "config.json"),
        }
    environment = {**kept, **more, "PYTHONPATH": str(Path(checkout) / "src")}
    with open(place / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=place, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    until_up(f"{url}/health", process, name)
    return Server(name, url, process)


def hub(program, servers, place):
    """A hub with these servers as its agents, by their names, behind the doors of their kinds."""
    tables = [f'[agents.{name}]\nkind = "{it.kind}"\nurl = "{it.url}"\n' for name, it in servers.items()]
    doors = "".join(f'{kind} = "{kind}"\n' for kind in ("ralph", "deep-agent", "forge") if kind in servers)
    (place / "fanlight.toml").write_text("\n".join(tables) + f"[compat]\n{doors}")
    port = free_port()
    command = [program, "serve", "--config", str(place / "fanlight.toml"), "--listen", f"127.0.0.1:{port}"]
    with open(place / "hub.log", "wb") as log:
        process = subprocess.Popen(command, cwd=place, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    until_up(f"{url}/healthz", process, "the hub")
    return Server("hub", url, process)
