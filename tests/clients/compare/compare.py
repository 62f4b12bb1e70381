"""Asks Ralph, Deep Agent and Forge twenty questions each: their own servers, and the hub in front of them. Compares what
a client is streamed, field by field, and says what is lost, moved and added. How it is run: docs/integrations/clients.md."""

import argparse
import difflib
import http.client
import json
import os
import re
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import model
import questions
import servers

# What two runs of the same server do not have in common.
VOLATILE = {"latency_ms": "time", "timestamp": "time"}
# Texts come in pieces, which may be joined on the way.
TEXTS = {"token", "thinking", "message"}


def body_of(kind, agent, chat, history, asked):
    messages = [*history, {"role": "user", "content": asked}]
    if kind == "ralph":
        return {"user_id": "somebody", "chat_id": chat, "messages": messages}
    if kind == "deep-agent":
        return {"messages": messages, "stream": True}
    return {"user_message": asked, "messages": history, "model": agent}


def ask(url, body):
    """The events that are streamed, and how the stream ends."""
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "user-agent": body.pop("who", "compare"),
    }
    asked = urllib.request.Request(f"{url}/chat/stream", json.dumps(body).encode(), headers)
    text, end = bytearray(), "whole"
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:
            while piece := answer.read1():
                text += piece
    except urllib.error.HTTPError as error:
        return [], f"{error.code} {error.read().decode()}"
    except (OSError, http.client.HTTPException) as error:
        end = f"broken off: {type(error).__name__}"
    return list(events(text.decode())), end


def events(text):
    """(name, payload) of each event."""
    for block in re.split(r"\r?\n\r?\n", text):
        name, data = "message", []
        for line in re.split(r"\r?\n", block):
            field, _, value = line.partition(":")
            if field == "event":
                name = value.strip()
            elif field == "data":
                data.append(value.removeprefix(" "))
        if data:
            yield name, json.loads("\n".join(data))


def kind_of(event):
    name, payload = event
    return payload.get("type", name) if name == "message" else name


def texts(payload):
    """The object in which a piece of text stands, and its field."""
    inner = payload.get("data", payload)
    return inner, "token" if "token" in inner else "content"


def joined(told):
    """The same events with the pieces of a text joined, names of calls and agents by their order, and without
    times and pings."""
    all_, names = [], {}
    for name, payload in json.loads(json.dumps(told)):
        if name == "ping":
            continue
        if kind_of((name, payload)) in TEXTS and all_ and kind_of(all_[-1]) == kind_of((name, payload)):
            (before, field), (more, _) = texts(all_[-1][1]), texts(payload)
            goes_on = before.get("cumulative", "") + more[field] == more.get("cumulative", more[field])
            if before.get("agent_depth") == more.get("agent_depth") and ("cumulative" not in more or goes_on):
                before[field] += more[field]
                before |= {"cumulative": more["cumulative"]} if "cumulative" in more else {}
                continue
        all_.append([name, payload])
    return [(name, settled(payload, names)) for name, payload in all_]


def settled(value, names):
    if isinstance(value, list):
        return [settled(inner, names) for inner in value]
    if isinstance(value, str):
        uuid = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
        # Deep Agent's server writes the id of a message or not, as its threads meet.
        value = re.sub(f" id='{uuid}'", "", value)
        return re.sub(uuid, lambda it: names.setdefault(it[0], f"id-{len(names) + 1}"), value)
    if not isinstance(value, dict):
        return value
    return {
        field: VOLATILE[field] if field in VOLATILE and inner is not None else settled(inner, names)
        for field, inner in value.items()
    }


def lines(told, end):
    events_ = [f"{name} {json.dumps(it, ensure_ascii=False, sort_keys=True)}" for name, it in joined(told)]
    return [*events_, f"end {end}"]


def differences(straight, through):
    """What is (lost, moved, added) on the way through the hub."""
    lost, added = Counter(straight) - Counter(through), Counter(through) - Counter(straight)
    matcher = difflib.SequenceMatcher(a=straight, b=through, autojunk=False)
    kept = Counter(line for a, _, size in matcher.get_matching_blocks() for line in straight[a : a + size])
    moved = Counter(straight) - kept - lost
    lost = [line for line in lost.elements() if not any(goes_on(line, more) for more in added)]
    return lost, list(moved.elements()), list(added.elements())


def goes_on(line, more):
    """Whether `more` is the same event with texts that go on: nothing of `line` is missing in it."""
    (name, said), (other, longer) = (it.split(" ", 1) for it in (line, more))
    if name != other or name == "end":
        return False
    said, longer = json.loads(said), json.loads(longer)
    same = [longer.get(field) == value or field in ("token", "cumulative") for field, value in said.items()]
    return all(same) and all(str(longer.get(field)).startswith(str(value)) for field, value in said.items())


def converse(kind, agent, url, question, chat):
    """All that is told in answer to a question and those before it."""
    history, told = [], []
    for asked in question.asked:
        answer, end = ask(url, body_of(kind, agent, chat, history, asked))
        told.append((answer, end))
        spoken = [texts(payload) for name, payload in answer if kind_of((name, payload)) in ("token", "message")]
        reply = "".join(inner[field] for inner, field in spoken)
        history = [*history, {"role": "user", "content": asked}, {"role": "assistant", "content": reply}]
    return [line for answer, end in told for line in lines(answer, end)]


def compare(name, it, hub, asked):
    """A row for each question."""
    rows = []
    for question in asked:
        chat = question.name[:3]
        agent = None if it.kind != "forge" else "scripted"
        straight = converse(it.kind, agent, it.url, question, chat)
        agent = None if it.kind != "forge" else name
        through = converse(it.kind, agent, f"{hub.url}/compat/{it.kind}", question, chat)
        rows.append((question.name, *differences(straight, through), straight, through))
    return rows


def verdict(lost, moved, added):
    words = [("loses", lost), ("moves", moved), ("adds", added)]
    return ", ".join(f"{word} {len(found)}" for word, found in words if found) or "equal"


def short(line):
    return line if len(line) <= 300 else f"{line[:220]} … {line[-60:]} ({len(line)} characters)"


def main():
    settings = argparse.ArgumentParser(description=__doc__)
    for name in model.TOOLS:
        settings.add_argument(f"--{name}", nargs=2, metavar=("PYTHON", "CHECKOUT"))
    settings.add_argument("--hub", default=os.environ.get("FANLIGHT_BIN", "target/release/fanlight"))
    settings.add_argument("--only", help="one question, as Q07; everything of it is shown")
    given = settings.parse_args()
    place, scripted, all_, running = Path(tempfile.mkdtemp(prefix="compare-")), model.start(), {}, []
    print(f"logs are below {place}", file=sys.stderr)
    try:
        for name in model.TOOLS:
            if at := getattr(given, name.replace("-", "_")):
                all_[name] = servers.start(name, *at, scripted, place)
                running.append(all_[name])
        if given.forge:
            all_["forge-alone"] = servers.start("forge", *given.forge, scripted, place, armory=False)
            running.append(all_["forge-alone"])
        hub = servers.hub(os.path.abspath(given.hub), all_, place)
        running.append(hub)
        lossless = [show(name, it, hub, given.only) for name, it in all_.items()]
    finally:
        for it in reversed(running):
            it.stop()
    sys.exit(0 if all(lossless) else 1)


def show(name, it, hub, only):
    """Prints a table. True where nothing is lost."""
    asked = [question for question in questions.QUESTIONS + questions.MORE if only in (None, question.name[:3])]
    rows = compare(name, it, hub, asked)
    counted = [row for row in rows if not row[0].startswith("Q21")]
    equal = sum(not (row[1] or row[2] or row[3]) for row in counted)
    print(f"\n## {name}: {equal} of {len(counted)} equal, {sum(not row[1] for row in counted)} without a loss\n")
    print("| question | events | the hub |\n|---|---|---|")
    for question, lost, moved, added, straight, _ in rows:
        print(f"| {question} | {len(straight)} | {verdict(lost, moved, added)} |")
    for question, lost, moved, added, straight, through in rows:
        if lost or moved or added:
            print(f"\n{question}:")
        for mark, found in [("lost ", lost), ("moved", moved), ("added", added)]:
            for line in found:
                print(f"    {mark} {short(line)}")
        if only:
            print("\n".join(["", "straight:", *map(short, straight), "", "through:", *map(short, through)]))
    return not any(row[1] for row in rows)


main()
