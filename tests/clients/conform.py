"""A client of the hub, written from docs/protocol.md and docs/operations.md alone. Says what is not as it is written there.

Usage: python conform.py PATH-OF-FANLIGHT
"""

import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

WAIT = 60

class Hub:
    """The program under test, at one port through all its lives."""
    def __init__(self):
        self.folder, self.address = tempfile.TemporaryDirectory(), "127.0.0.1:0"
        self.start()
    def start(self):
        options = ["--listen", self.address, "--data-dir", self.folder.name]
        self.process = subprocess.Popen([sys.argv[1], "serve", *options], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip().removeprefix("listening on http://")
    def die(self):
        self.process.kill()
        self.process.wait()
        self.start()
    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.address, timeout=WAIT)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body.encode() if body else None, names)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        is_json = answer.headers.get_content_type() in ("application/json", "application/problem+json")
        return answer.status, json.loads(text) if is_json else text, answer.headers
    def refuses(self, code, status, *request, **headers):
        found, problem, names = self.ask(*request, **headers)
        assert (found, problem.get("code")) == (status, code), (request, found, problem)
        assert names.get_content_type() == "application/problem+json", names
    def post(self, conversation, events, **headers):
        status, answer, _ = self.ask("POST", f"/v1/conversations/{conversation}/events", events, **headers)
        assert status == 200, (status, answer)
        return answer

class Socket:
    """A socket that has said hello; answers heartbeats."""
    def __init__(self, hub, greets=True, **options):
        url = f"ws://{hub.address}/v1/ws"
        self.wire = connect(url, subprotocols=["fanlight.v1"], max_size=None, ping_interval=None, **options)
        self.at = {}
        if greets:
            self.say(t="hello", versions=["1"], client="conform/1")
            self.welcome = self.hear("welcome")
    def say(self, **frame):
        self.wire.send(json.dumps(frame))
    def hear(self, *kinds):
        end = time.monotonic() + WAIT
        while True:
            frame = json.loads(self.wire.recv(timeout=end - time.monotonic()))
            if frame["t"] == "hb":
                self.say(t="hb_ack", at=self.at)
            elif not kinds or frame["t"] in kinds:
                return frame
    def closed(self):
        """How the hub says goodbye: the code of `bye`, whether to come back, and the code of the close."""
        try:
            bye = self.hear("bye")
            self.wire.recv(timeout=WAIT)
        except ConnectionClosed as end:
            return bye["code"], bye["reconnect"], end.rcvd.code

class Publisher:
    """Says each event once, whatever becomes of its socket and of the hub."""
    def __init__(self, hub, name, conversation):
        self.hub, self.name, self.conversation = hub, name, conversation
        self.said, self.acked, self.id = [], 0, 0
        self.socket = Socket(hub)
    def send(self, first, last):
        self.id += 1
        frame = {"t": "pub", "id": self.id, "conv": self.conversation, "pid": self.name, "pepoch": 1}
        events = self.said[first - 1 : last]
        self.socket.say(**frame, pfirst=first, pseq=last, durability="stored", events=events)
    def frame(self, first, last):
        self.send(first, last)
        while True:
            answer = self.socket.hear("ack", "error")
            if answer["id"] == self.id:
                return answer
    def say(self, events, size=7):
        self.said += events
        while self.acked < len(self.said):
            last = min(self.acked + size, len(self.said))
            answer = self.frame(self.acked + 1, last)
            assert (answer["t"], answer["durability"]) == ("ack", "stored"), answer
            self.acked = last
    def say_unheard(self, events):
        """Says something and loses the socket before the answer."""
        self.said += events
        self.send(self.acked + 1, len(self.said))
        self.socket.wire.socket.shutdown(socket.SHUT_RDWR)
    def come_back(self):
        """Asks how far the hub is, and says the rest, cut otherwise than before."""
        self.socket = Socket(self.hub)
        answer = self.frame(len(self.said) + 1, len(self.said))
        assert answer["t"] == "ack" or answer["code"] == "publisher_gap", answer
        self.acked = answer.get("expected", len(self.said) + 1) - 1
        self.say([], size=3)

class Viewer:
    """Follows one conversation: the text of each part, and the seqs without a hole."""
    def __init__(self, hub, conversation, **wish):
        self.hub, self.conversation, self.wish = hub, conversation, wish
        self.have, self.texts, self.ended, self.events = None, {}, False, []
        self.come_back()
    def come_back(self):
        self.socket = Socket(self.hub)
        have = {"have": self.have} if self.have else {}
        self.socket.say(t="sub", sub=1, conv=self.conversation, **have, **self.wish)
        self.subbed = self.socket.hear("subbed")
        if self.subbed["mode"] == "snapshot":
            self.take(self.socket.hear("snap"))
        self.have = {"epoch": self.subbed["epoch"], "seq": self.have["seq"] if self.have else 0}
        self.until(lambda frame: frame["t"] == "live")
    def take(self, frame):
        if frame["t"] == "snap":
            while frame.get("more"):
                frame = self.socket.hear("snap")
            runs = frame["state"]["runs"].values()
            self.texts = {part: it["text"] for run in runs for part, it in run["parts"].items()}
            self.ended = any(run["status"] != "running" for run in runs)
            self.have = {"epoch": frame["epoch"], "seq": frame["seq"]}
        elif frame["t"] == "batch" and frame["to"] > self.have["seq"]:
            assert frame["from"] == self.have["seq"] + 1, (frame["from"], self.have)
            for event in frame["ev"]:
                self.events.append(event)
                text = self.texts.get(event.get("part"), "").encode()
                if event["k"] == "part.delta":
                    assert event["off"] == len(text), event
                    self.texts[event["part"]] = (text + event["text"].encode()).decode()
                elif event["k"] == "part.replace":
                    self.texts[event["part"]] = event["text"]
                self.ended |= event["k"] == "run.end"
            self.have["seq"] = frame["to"]
        self.socket.at = {1: self.have["seq"]}
    def until(self, wanted):
        while True:
            frame = self.socket.hear()
            self.take(frame)
            if wanted(frame):
                return frame

def words(first, last):
    return [{"k": "part.delta", "run": "r", "part": "p", "text": f"wörd {n} "} for n in range(first, last)]

def lines(events):
    return "".join(json.dumps(event) + "\n" for event in events)

BEGIN = [{"k": "run.start", "run": "r"}, {"k": "part.start", "run": "r", "part": "p", "kind": "text"}]
END = [{"k": "part.end", "run": "r", "part": "p"}, {"k": "run.end", "run": "r", "status": "complete"}]

def publishing_and_viewing(hub):
    publisher, viewer = Publisher(hub, "conform", "talk"), Viewer(hub, "talk")
    parts = Viewer(hub, "talk", level="parts")
    publisher.say(BEGIN + words(0, 50))
    viewer.until(lambda _: viewer.have["seq"] == 52)
    viewer.socket.wire.close()
    publisher.say_unheard(words(50, 90))
    publisher.come_back()
    viewer.come_back()
    assert (viewer.subbed["mode"], viewer.have["seq"]) == ("tail", 92), (viewer.subbed, viewer.have)
    # Whoever asks for it is told all of it again.
    viewer.socket.say(t="resync", sub=1)
    viewer.until(lambda frame: frame["t"] == "snap")
    # The hub dies: events that were stored are there, in a new epoch.
    publisher.say_unheard(words(90, 130))
    hub.die()
    publisher.come_back()
    before = viewer.have["epoch"]
    viewer.come_back()
    assert (viewer.subbed["mode"], viewer.subbed["why"]) == ("snapshot", "epoch_changed"), viewer.subbed
    assert viewer.have["epoch"] != before
    parts.come_back()
    publisher.say(END)
    for it in (viewer, parts):
        it.until(lambda _, it=it: it.have["seq"] == 134)
        text = "".join(event["text"] for event in words(0, 130))
        assert it.texts == {"p": text} and it.ended, it.texts
    kinds = [(event["k"], event["seq"]) for event in parts.events if event["k"].startswith("part.")]
    assert kinds[-2:] == [("part.replace", 133), ("part.end", 133)] and "part.delta" not in dict(kinds), kinds
    # The same number again is a duplicate, one too many a gap, an older life is over.
    again = publisher.frame(130, 134)
    assert (again["t"], again["duplicate"], again["events"]) == ("ack", True, 0), again
    publisher.said += words(0, 9)
    gap = publisher.frame(140, 143)
    assert (gap["code"], gap["expected"]) == ("publisher_gap", 135), gap

def over_http(hub):
    taken = hub.post("http", json.dumps(BEGIN), fanlight_durability="synced")
    assert (taken["position"]["seq"], taken["events"], taken["durability"]) == (2, 2, "synced"), taken
    claim = {"fanlight_publisher": "conform/2/1-3"}
    taken = hub.post("http", lines(words(0, 3)), **claim)
    assert not taken["duplicate"] and taken["durability"] == "stored", taken
    taken = hub.post("http", lines(words(0, 3)), **claim)
    assert taken["duplicate"] and taken["events"] == 0, taken
    path = "/v1/conversations/http/events"
    for claim, code in [("conform/2/9-9", "publisher_gap"), ("conform/1/1-1", "publisher_fenced")]:
        hub.refuses(code, 409, "POST", path, lines(words(3, 4)), fanlight_publisher=claim)
    hub.refuses("bad_request", 400, "POST", path, lines(words(3, 4)), fanlight_durability="eternal")
    hub.refuses("unsupported_encoding", 415, "POST", path, "x", content_encoding="gzip")
    hub.refuses("bad_event", 400, "POST", path, lines(words(3, 4)) + '{"k":"part.delta"}')
    hub.refuses("bad_event", 400, "POST", path, json.dumps([{"k": "rate", "run": "r", "tokens": 2**53 + 1}]))
    status, taken, _ = hub.ask("POST", "/v1/ingest/fanlight/http", lines(words(3, 5) + END), fanlight_durability="memory")
    assert (status, taken["events"], taken["durability"]) == (200, 4, "memory") and "duplicate" not in taken, taken
    seqs, after, ndjson = [], "", {"accept": "application/x-ndjson"}
    while True:
        status, page, headers = hub.ask("GET", f"/v1/conversations/http/events?limit=4{after}", **ndjson)
        assert status == 200, page
        if not page:
            break
        seqs += [json.loads(line)["seq"] for line in page.splitlines()]
        after = "&after=" + headers["Fanlight-Position"]
    assert seqs == list(range(1, 10)), seqs
    hub.refuses("gone", 410, "GET", "/v1/conversations/http/events?after=other:3", **ndjson)
    hub.refuses("bad_position", 400, "GET", "/v1/conversations/http/events?after=3", **ndjson)
    hub.refuses("unknown_conversation", 404, "GET", "/v1/conversations/nobody")
    hub.refuses("bad_conversation", 400, "POST", "/v1/conversations/a%2Fb/events", "[]")
    hub.refuses("unknown_dialect", 404, "POST", "/v1/ingest/morse/http", "...")
    hub.refuses("method_not_allowed", 405, "DELETE", "/v1/conversations")
    hub.refuses("forbidden_origin", 403, "GET", "/v1/conversations", sec_fetch_site="cross-site")

def commands(hub):
    fork = {"id": "k1", "command": "fork", "at": 5, "into": "copy"}
    status, done, _ = hub.ask("POST", "/v1/conversations/http/commands", json.dumps(fork))
    assert (status, done["id"], done["conversation"]) == (200, "k1", "copy"), done
    viewer = Socket(hub)
    viewer.say(t="command", conv="http", command=fork)
    assert viewer.hear("done", "refused") == {"t": "done", **done}, "it is not done twice"
    viewer.say(t="command", conv="http", command={"id": "k2", "command": "say", "agent": "nobody", "text": "?"})
    refused = viewer.hear("done", "refused")
    assert (refused["t"], refused["id"], refused["code"]) == ("refused", "k2", "unknown_agent"), refused
    for frame, code in [
        ({"t": "unsub", "sub": 9}, "unknown_subscription"),
        ({"t": "sub", "sub": 1, "conv": "a", "min_interval_ms": 501}, "bad_request"),
        ({"t": "sub", "sub": 1, "conv": "a/b"}, "bad_conversation"),
        ({"t": "sing"}, "bad_request"),
    ]:
        viewer.say(**frame)
        assert viewer.hear("error")["code"] == code, frame
    viewer.wire.send("no frame")
    assert viewer.hear("error")["code"] == "bad_request"

def closes(hub):
    rude, old, large, odd, lost, noisy = (Socket(hub, greets=n > 1) for n in range(6))
    rude.say(t="watch", sub=0)
    assert rude.closed() == (4500, False, 4500)
    old.say(t="hello", versions=["0"])
    assert old.closed() == (4505, False, 4505)
    large.wire.send("x" * (2**20 + 1))
    assert large.closed() == (4501, False, 4501)
    odd.wire.send(b"binary")
    assert odd.closed() == (4500, False, 4500)
    lost.say(t="sub", sub=1, conv="http")
    with suppress(ConnectionClosed):
        for _ in range(64):
            lost.say(t="resync", sub=1)
    assert lost.closed() == (4410, True, 4410)
    with suppress(ConnectionClosed):
        for n in range(2**21 // 125 + 9):
            noisy.wire.ping(f"{n:0125}")
    assert noisy.closed() == (4008, True, 4008)

def taking_nothing(hub):
    for n in range(20):
        hub.post("large", json.dumps([{"k": "part.replace", "run": f"r{n}", "part": "p", "text": "x" * 900_000}]))
    dead = Socket(hub, max_queue=1)
    dead.say(t="sub", sub=1, conv="large")
    calm, viewers = Socket(hub), {"large": 1}
    while viewers["large"]:  # the 30 s begin when the hub's kernel takes no more, which is a while after the peer did
        assert json.loads(calm.wire.recv(timeout=WAIT))["t"] == "hb", "one every 20 s"
        calm.say(t="hb_ack", at={})
        rows = hub.ask("GET", "/v1/conversations")[1]["conversations"]
        viewers = {row["conversation"]: row["viewers"] for row in rows}
    assert dead.closed() == (4408, True, 4408)

def main():
    hub = Hub()
    try:
        [check(hub) for check in (publishing_and_viewing, over_http, commands, closes, taking_nothing)]
        hub.process.terminate()
        assert hub.process.wait(WAIT) == 0
    finally:
        hub.process.kill()

main()
