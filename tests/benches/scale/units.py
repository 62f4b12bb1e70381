"""Unit costs of several hubs on one PostgreSQL, side by side in one run: what `docs/scale.md` reckons with.

    python3 tests/benches/scale/units.py target/release/fanlight [--rounds 3] [--seconds 6]

Three hubs of the named binary and a PostgreSQL of their own run on 127.0.0.1, in a folder that goes with them. CPU is the time that
a process has been on a core, so waiting for a core does not count. On a busy machine trust the ratios alone.
"""

import argparse
import json
import os
import pathlib
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

MASK = bytes(4)


def cpu(pid):
    """Nanoseconds that all threads of a process have been on a core, also those that have ended (CPUCLOCK_SCHED of Linux)."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return 0


def memory(pid):
    """Resident bytes of a process that are its own."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def children(pid):
    return [int(p) for f in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for p in f.read_text().split()]


class Postgres:
    """A server of its own. CPU of sessions that ended is lost, so measure while they are open."""

    def __init__(self, folder):
        self.bin = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        self.folder = folder
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
        if self.user:
            shutil.chown(folder, "postgres", "postgres")
        make = ["initdb", "-U", "fanlight", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8", "-D", "data"]
        self.run(make, stdout=subprocess.DEVNULL)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        settings = ["max_connections=300", "shared_buffers=256MB", "max_wal_size=2GB", "unix_socket_directories=", f"port={self.port}"]
        command = [*self.user, str(self.bin / "postgres"), "-D", "data", *[x for s in settings for x in ("-c", s)]]
        self.process = subprocess.Popen(command, cwd=folder, stdout=open(folder / "trace", "w"), stderr=subprocess.STDOUT)
        while not self.sql("SELECT 1", check=False):
            time.sleep(0.1)
        self.sql("CREATE DATABASE fanlight")

    def run(self, command, **more):
        first = str(self.bin / command[0])
        return subprocess.run([*self.user, first, *command[1:]], cwd=self.folder, check=True, **more)

    def sql(self, statement, check=True):
        base = "fanlight" if "pg_stat" in statement or "FROM" in statement else "postgres"
        command = [str(self.bin / "psql"), "-h", "127.0.0.1", "-p", str(self.port), "-U", "fanlight", "-d", base, "-XAtc", statement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode and check:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def url(self):
        return f"postgres://fanlight@127.0.0.1:{self.port}/fanlight?sslmode=disable"

    def cpu(self):
        return sum(cpu(pid) for pid in [self.process.pid, *children(self.process.pid)])

    def counts(self):
        """Transactions that wrote something, and bytes of WAL so far."""
        xacts = self.sql("SELECT pg_snapshot_xmax(pg_current_snapshot()) FROM pg_stat_wal")
        wal = self.sql("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn FROM pg_stat_wal")
        return int(xacts or 0), int(wal)


class Hub:
    def __init__(self, binary, folder, options):
        folder.mkdir()
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(folder), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=open(folder / "trace", "w"), text=True)
        for line in self.process.stdout:
            if "listening on http://" in line:
                host, port = line.split("http://")[1].split()[0].strip("/").split(":")
                self.address = (host, int(port))
                break
        else:
            raise RuntimeError((folder / "trace").read_text())

    def cpu(self):
        return cpu(self.process.pid)

    def memory(self):
        return memory(self.process.pid)


class Socket:
    def __init__(self, hub):
        self.socket = socket.create_connection(hub.address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.unread, self.batches, self.to, self.live, self.acks, self.got = b"", 0, {}, 0, 0, 0
        head = f"GET /v1/ws HTTP/1.1\r\nHost: {hub.address[0]}:{hub.address[1]}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        self.socket.sendall((head + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: fanlight.v1\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.unread:
            self.unread += self.socket.recv(65536)
        if b" 101 " not in self.unread:
            raise RuntimeError(self.unread.decode())
        self.unread = self.unread.split(b"\r\n\r\n", 1)[1]
        self.send({"t": "hello", "versions": ["1"], "client": "bench"})

    def send(self, frame):
        self.socket.sendall(masked(frame))

    def read(self):
        """Takes what is there; answers heartbeats."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise RuntimeError("the hub has closed a socket")
        self.got += len(data)
        data = self.unread + data
        at = 0
        while len(data) >= at + 2:
            size, head = data[at + 1] & 127, 2
            if size == 126:
                size, head = int.from_bytes(data[at + 2 : at + 4], "big"), 4
            elif size == 127:
                size, head = int.from_bytes(data[at + 2 : at + 10], "big"), 10
            if len(data) < at + head + size:
                break
            self.take(data[at + head : at + head + size])
            at += head + size
        self.unread = data[at:]

    def take(self, payload):
        kind = payload[6:11]
        if kind.startswith(b"batch"):
            self.batches += 1
        elif kind.startswith(b"ack"):
            self.acks += 1
        elif kind.startswith(b"live"):
            self.live += 1
        elif kind.startswith(b"hb"):
            self.send({"t": "hb_ack", "at": {}})
        elif kind.startswith((b"error", b"bye")):
            raise RuntimeError(payload.decode())


def masked(frame):
    payload = json.dumps(frame).encode()
    size = len(payload)
    head = bytes([0x81, 0x80 | size]) if size < 126 else bytes([0x81, 0xFE]) + size.to_bytes(2, "big")
    return head + MASK + payload


class Load:
    """Sockets that are read by one thread."""

    def __init__(self):
        self.poll, self.by_file, self.failure, self.ended = select.epoll(), {}, None, False
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def add(self, socket_):
        self.by_file[socket_.socket.fileno()] = socket_
        self.poll.register(socket_.socket.fileno(), select.EPOLLIN)
        return socket_

    def loop(self):
        while not self.ended:
            for file, _ in self.poll.poll(0.2):
                if (found := self.by_file.get(file)) is None:
                    continue
                try:
                    found.read()
                except (OSError, RuntimeError) as error:
                    if not self.ended:
                        self.failure = error
                    self.poll.unregister(file)

    def close(self):
        self.ended = True
        self.thread.join()
        for socket_ in self.by_file.values():
            socket_.socket.close()
        self.poll.close()

    def wait(self, what, done):
        deadline = time.monotonic() + 120
        while not done():
            if self.failure or time.monotonic() > deadline:
                raise RuntimeError(f"{what}: {self.failure}")
            time.sleep(0.02)


TEXT = "and so the answer goes on word for word and so the answer goes on wor"


class Talk:
    """Publishers: one socket, some conversations that each say so many events a second."""

    def __init__(self, load, hub, names, durability=None):
        self.socket, self.names, self.number = load.add(Socket(hub)), names, 0
        self.load, self.durability = load, durability
        for name in names:
            self.say(name, [{"k": "run.start", "run": "r1"}, {"k": "part.start", "run": "r1", "part": "p1", "kind": "text"}])
        load.wait("openings", lambda: self.socket.acks >= self.number)

    def say(self, name, events):
        self.number += 1
        frame = {"t": "pub", "id": self.number, "conv": name, "events": events}
        if self.durability:
            frame["durability"] = self.durability
        self.socket.send(frame)

    def end(self):
        """Ends all runs. Of runs without an end the hub would find out later that their publisher is gone, while something else is measured."""
        for name in self.names:
            self.say(name, [{"k": "run.end", "run": "r1", "status": "complete"}])
        self.load.wait("ends", lambda: self.socket.acks >= self.number)

    def talk(self, rate, seconds):
        """Says `rate` events a second in each conversation, spread evenly. The number of events."""
        event, begun, said = [{"k": "part.delta", "run": "r1", "part": "p1", "text": TEXT}], time.monotonic(), 0
        total = int(rate * seconds * len(self.names))
        while said < total:
            due = min(total, int((time.monotonic() - begun) * rate * len(self.names)))
            while said < due:
                self.say(self.names[said % len(self.names)], event)
                said += 1
            time.sleep(0.001)
        self.load.wait("acks", lambda: self.socket.acks >= self.number)
        return said


class Bench:
    def __init__(self, args):
        self.args, self.turn = args, 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fanlight-units-"))
        os.chmod(self.folder, 0o755)
        (self.folder / "db").mkdir()
        self.database = Postgres(self.folder / "db")
        secret = self.folder / "secret"
        secret.write_text("a secret of more than thirty-two bytes")
        secret.chmod(0o600)
        shared = ["--log", self.database.url(), "--hub-address", "http://127.0.0.1:0", "--hub-secret-file", str(secret)]
        self.hubs = [Hub(args.binary, self.folder / f"hub{n}", shared) for n in range(3)]
        self.alone = {log: Hub(args.binary, self.folder / log, ["--log", log]) for log in ("memory", "sqlite")}

        everybody = {**{f"hub{n}": h for n, h in enumerate(self.hubs)}, "db": self.database, **self.alone}
        before = {name: each.cpu() for name, each in everybody.items()}
        time.sleep(args.seconds)
        # Nanoseconds of CPU in a second in which nothing happens.
        self.rest = {name: (each.cpu() - before[name]) / args.seconds for name, each in everybody.items()}

    def close(self):
        for hub in [*self.hubs, *self.alone.values()]:
            hub.process.kill()
            hub.process.wait()
        self.database.process.terminate()
        self.database.process.wait()
        shutil.rmtree(self.folder)

    def names(self, count):
        self.turn += 1
        return [f"t{self.turn}c{n}" for n in range(count)]

    def measure(self, hub, count, rate, watched=(), durability=None, through=None):
        """CPU of everybody for each event of `count` conversations at `hub`, without what they use when nothing happens. Each conversation has
        a viewer at each of `watched`. Publishers are at `through`, else at `hub`."""
        load, names = Load(), self.names(count)
        try:
            talk = Talk(load, hub, names, durability)
            if through:
                talk.socket, talk.number = load.add(Socket(through)), 0
            viewers = []
            for place in watched:
                socket_ = None
                for n, name in enumerate(names):
                    if n % 200 == 0:
                        socket_ = load.add(Socket(place))
                        viewers.append(socket_)
                    socket_.send({"t": "sub", "sub": n % 200 + 1, "conv": name})
            load.wait("viewers", lambda: sum(v.live for v in viewers) >= count * len(watched))
            talk.talk(rate, 1.0)
            everybody = {**{f"hub{n}": h for n, h in enumerate(self.hubs)}, "db": self.database, **self.alone}
            before, (xacts, wal) = {name: each.cpu() for name, each in everybody.items()}, self.database.counts()
            batches, begun = sum(v.batches for v in viewers), time.monotonic()
            events = talk.talk(rate, self.args.seconds)
            time.sleep(1.2)
            seconds = time.monotonic() - begun
            rest = lambda name: self.rest.get(name, 0) * seconds
            took = {name: (each.cpu() - before[name] - rest(name)) / 1e3 / events for name, each in everybody.items()}
            xacts_now, wal_now = self.database.counts()
            # Three hubs renew their leases each second.
            xacts = xacts_now - xacts - len(self.hubs) * seconds
            took |= {"xacts": xacts / events, "events/s": events / (seconds - 1.2), "wal": (wal_now - wal) / events}
            talk.end()
            took["db per xact"] = took["db"] / max(0.001, took["xacts"])
            took["frames"] = (sum(v.batches for v in viewers) - batches) / max(1, events * len(watched))
            return took
        finally:
            load.close()

    def one(self, hub, viewers, at):
        """The same for one conversation with so many viewers at `at`, each with a socket of its own."""
        load, names = Load(), self.names(1)
        try:
            talk = Talk(load, hub, names)
            talk.talk(50, 4)
            cost = [h.cpu() for h in self.hubs]
            before = [h.memory() for h in self.hubs]
            sockets = [load.add(Socket(at)) for _ in range(viewers)]
            for socket_ in sockets:
                socket_.send({"t": "sub", "sub": 1, "conv": names[0]})
            load.wait("viewers", lambda: all(s.live for s in sockets))
            time.sleep(0.5)
            joins = [(h.cpu() - cost[n]) / 1e3 / max(1, viewers) for n, h in enumerate(self.hubs)]
            held = [(h.memory() - before[n]) / max(1, viewers) for n, h in enumerate(self.hubs)]
            cost, frames = [h.cpu() for h in self.hubs], sum(s.batches for s in sockets)
            events = talk.talk(30, self.args.seconds)
            time.sleep(0.3)
            frames = sum(s.batches for s in sockets) - frames
            took = [(h.cpu() - cost[n]) / 1e3 for n, h in enumerate(self.hubs)]
            talk.end()
            each = {f"hub{n} µs": micros / events for n, micros in enumerate(took)}
            each |= {f"hub{n} µs to join": micros for n, micros in enumerate(joins)}
            each |= {f"hub{n} bytes to join": size for n, size in enumerate(held)}
            return each | {"frames": frames / events}
        finally:
            load.close()

    def follow(self, count, events):
        """What it costs to begin to follow so many conversations, and what they hold at owner and follower."""
        load, names = Load(), self.names(count)
        try:
            owner, follower = self.hubs[0], self.hubs[1]
            held = owner.memory()
            talk = Talk(load, owner, names)
            talk.talk(events / 2, 2)
            time.sleep(1.5)
            held_owner = (owner.memory() - held) / count
            before = (owner.cpu(), follower.cpu(), self.database.cpu(), follower.memory(), self.database.counts()[0])
            sockets = []
            for n, name in enumerate(names):
                if n % 200 == 0:
                    sockets.append(load.add(Socket(follower)))
                sockets[-1].send({"t": "sub", "sub": n % 200 + 1, "conv": name})
            load.wait("viewers", lambda: sum(s.live for s in sockets) >= count)
            time.sleep(1.2)
            after = (owner.cpu(), follower.cpu(), self.database.cpu(), follower.memory(), self.database.counts()[0])
            each = [(b - a) / count for a, b in zip(before, after, strict=True)]
            talk.end()
            return {
                "owner µs": each[0] / 1e3,
                "follower µs": each[1] / 1e3,
                "database µs": each[2] / 1e3,
                "transactions": each[4],
                "follower bytes": each[3],
                "owner bytes": held_owner,
            }
        finally:
            load.close()

    def idle(self, with_list):
        """CPU of a second in which nothing is said, with or without somebody who looks at the list of one hub."""
        load = Load()
        try:
            if with_list:
                load.add(Socket(self.hubs[2])).send({"t": "watch", "sub": 0})
            time.sleep(1)
            before = (self.hubs[2].cpu(), self.database.cpu(), self.database.counts()[0])
            time.sleep(self.args.seconds)
            after = (self.hubs[2].cpu(), self.database.cpu(), self.database.counts()[0])
            hub, database, xacts = [(b - a) / self.args.seconds for a, b in zip(before, after, strict=True)]
            return {"hub µs/s": hub / 1e3, "database µs/s": database / 1e3, "transactions/s": xacts}
        finally:
            load.close()


def show(title, rows):
    print(f"\n{title}")
    for name, values in rows.items():
        shown = {k: statistics.median(v[k] for v in values) for k in values[0]}
        print(f"  {name}: " + ", ".join(f"{k} {v:.2f}" for k, v in shown.items()), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6)
    args = parser.parse_args()
    bench = Bench(args)
    a, b, c = bench.hubs
    try:
        stored = {
            "memory": lambda: bench.measure(bench.alone["memory"], 100, 10),
            "sqlite, acks stored": lambda: bench.measure(bench.alone["sqlite"], 100, 10, (), "stored"),
            "postgres, acks memory": lambda: bench.measure(a, 100, 10, (), "memory"),
            "postgres, acks stored": lambda: bench.measure(a, 100, 10, (), "stored"),
            "postgres, acks memory, 1,000 × 1": lambda: bench.measure(a, 1000, 1, (), "memory"),
            "postgres, acks stored, 1 × 100": lambda: bench.measure(a, 1, 100, (), "stored"),
            "postgres, acks stored, 20 × 5": lambda: bench.measure(a, 20, 5, (), "stored"),
            "postgres, acks memory, 300 × 5": lambda: bench.measure(a, 300, 5, (), "memory"),
        }
        linked = {
            "nobody watches": lambda: bench.measure(a, 100, 10, (), "memory"),
            "one viewer at the owner": lambda: bench.measure(a, 100, 10, (a,), "memory"),
            "one viewer at a follower": lambda: bench.measure(a, 100, 10, (b,), "memory"),
            "one viewer at each of two followers": lambda: bench.measure(a, 100, 10, (b, c), "memory"),
            "nobody watches, published at another hub": lambda: bench.measure(a, 100, 10, (), "memory", through=b),
        }
        rows = {}

        def turn(name, what):
            try:
                rows.setdefault(name, []).append(what())
            except RuntimeError as error:
                print(f"{name}: {error}", file=sys.stderr)

        for _ in range(args.rounds):
            for name, what in {**stored, **linked}.items():
                turn(name, what)
        show("each event, CPU in µs", {name: rows[name] for name in {**stored, **linked} if name in rows})
        ones = {"nobody": (0, a), "50 at the owner": (50, a), "50 at a follower": (50, b)}
        runs = {name: [] for name in ones}
        for _ in range(args.rounds):
            for name, (viewers, place) in ones.items():
                runs[name].append(bench.one(a, viewers, place))
        show("one conversation, 30 events a second, for each event", runs)
        sizes = {f"500 conversations of {events} events": events for events in (10, 100)}
        show("to begin to follow", {name: [bench.follow(500, events) for _ in range(args.rounds)] for name, events in sizes.items()})
        show("idle", {"nothing": [bench.idle(False)], "the list is watched": [bench.idle(True)]})
    finally:
        bench.close()


if __name__ == "__main__":
    main()
