"""Which frames count: gaps, doubles, snapshots in pieces, texts that have drifted."""

import unittest

from fanlight import Position
from fanlight._tracker import HASH_START, Outcome, Tracker, fnv1a

RUN = "r"


def subbed(epoch="e", mode="tail", head=0):
    return {"t": "subbed", "sub": 1, "epoch": epoch, "mode": mode, "head": head}


def batch(first, last, *events):
    return {"t": "batch", "sub": 1, "from": first, "to": last, "ev": list(events)}


def snap(seq, epoch="e", more=False, **state):
    view = {"items": [], "messages": {}, "runs": {}, **state}
    return {"t": "snap", "sub": 1, "epoch": epoch, "seq": seq, "more": more, "state": view}


def delta(text, off=None):
    event = {"k": "part.delta", "run": RUN, "part": "p", "text": text}
    return event if off is None else {**event, "off": off}


START = {"k": "part.start", "run": RUN, "part": "p", "kind": "text"}


def end(text):
    octets = text.encode()
    return {"k": "part.end", "run": RUN, "part": "p", "len": len(octets), "hash": f"{fnv1a(octets):016x}"}


class TheTracker(unittest.TestCase):
    def setUp(self):
        self.tracker = Tracker()

    def takes(self, *frames):
        return [self.tracker.take(frame) for frame in frames]

    def test_applies_what_follows_and_nothing_else(self):
        outcomes = self.takes(subbed(), batch(1, 3), batch(2, 3), batch(5, 6), batch(4, 3), batch(4, 6))
        self.assertEqual(
            outcomes,
            [Outcome.SUBSCRIBED, Outcome.APPLIED, Outcome.NOTHING, Outcome.GAP, Outcome.APPLIED, Outcome.APPLIED],
        )
        self.assertEqual(self.tracker.position(), Position("e", 6))

    def test_applies_nothing_before_the_answer(self):
        self.takes(subbed(), batch(1, 3))
        self.tracker.disconnected()
        self.assertEqual(self.takes(batch(4, 4)), [Outcome.GAP])
        self.assertEqual(self.takes(subbed(head=4), batch(4, 4)), [Outcome.SUBSCRIBED, Outcome.APPLIED])

    def test_goes_on_in_another_epoch_only_from_its_snapshot(self):
        self.takes(subbed(), batch(1, 3))
        self.assertEqual(self.takes(subbed("f", "snapshot"), batch(4, 4))[1], Outcome.GAP)
        self.assertEqual(self.tracker.position(), Position("e", 3))
        self.assertEqual(self.takes(snap(9, "f"), batch(10, 10)), [Outcome.REPLACED, Outcome.APPLIED])
        self.assertEqual(self.tracker.position(), Position("f", 10))

    def test_puts_a_snapshot_in_pieces_together(self):
        self.takes(subbed(mode="snapshot", head=8))
        outcomes = self.takes(
            snap(8, more=True, items=[{"run": "a"}], runs={"a": {}}, title="T"),
            snap(8, items=[{"run": "b"}], runs={"b": {}}),
        )
        self.assertEqual(outcomes, [Outcome.PIECE, Outcome.REPLACED])
        state = self.tracker.state
        self.assertEqual(
            (state["items"], list(state["runs"]), state["title"]), ([{"run": "a"}, {"run": "b"}], ["a", "b"], "T")
        )

    def test_is_live_where_it_has_what_there_was(self):
        self.takes(subbed(head=2))
        self.assertEqual(self.takes({"t": "live", "sub": 1, "seq": 2}), [Outcome.GAP])
        self.assertEqual(self.takes(batch(1, 2), {"t": "live", "sub": 1, "seq": 2})[1], Outcome.LIVE)

    def test_tells_once_that_a_text_has_drifted(self):
        self.takes(subbed())
        self.assertEqual(self.takes(batch(1, 3, START, delta("é", 0), end("é"))), [Outcome.APPLIED])
        self.assertEqual(self.takes(batch(4, 6, START, delta("a", 0), end("b"))), [Outcome.DRIFT])
        self.assertEqual(self.takes(batch(7, 9, START, delta("a", 0), end("b"))), [Outcome.APPLIED])

    def test_follows_a_text_from_the_snapshot_on(self):
        body = {"text": "ab", "len": 2, "hash": f"{fnv1a(b'ab'):016x}"}
        self.takes(subbed(mode="snapshot"), snap(5, runs={RUN: {"open": [{"part": "p"}], "parts": {"p": body}}}))
        self.assertEqual(self.takes(batch(6, 7, delta("c", 2), end("abc"))), [Outcome.APPLIED])

    def test_takes_once_what_overlaps(self):
        self.takes(subbed())
        self.assertEqual(self.takes(batch(1, 4, START, delta("ab", 0), delta("bc", 1), end("abc"))), [Outcome.APPLIED])

    def test_hears_that_it_is_dead_over_two_heartbeats(self):
        self.takes(subbed(), batch(1, 3))
        self.assertFalse(self.tracker.heartbeat(["e", 5]), "something came since")
        self.assertTrue(self.tracker.heartbeat(["e", 5]))
        self.assertFalse(self.tracker.heartbeat(["e", 5]), "it was asked for")
        self.takes(batch(4, 5))
        self.assertFalse(self.tracker.heartbeat(["e", 5]))
        self.assertFalse(self.tracker.heartbeat(["e", 5]))

    def test_hashes_as_the_hub_does(self):
        self.assertEqual(fnv1a(b""), HASH_START)
        self.assertEqual(f"{fnv1a(b'a'):016x}", "af63dc4c8601ec8c")


class APosition(unittest.TestCase):
    def test_is_written_as_it_is_read(self):
        self.assertEqual(str(Position.parse("k3v9:1041")), "k3v9:1041")
        for text in ("", "k3v9", ":1", "a:", "a:-1"):
            with self.assertRaises(ValueError):
                Position.parse(text)


if __name__ == "__main__":
    unittest.main()
