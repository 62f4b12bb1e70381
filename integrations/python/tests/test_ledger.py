"""What a publisher says next: the ledger, the window, the events as they are sent."""

import json
import unittest

from fanlight import EventTooLarge
from fanlight._ledger import FLIGHTS_MAX, Ledger, Numbers
from fanlight._window import Window
from fanlight.publisher import encode


def connected(ledger: Ledger) -> Ledger:
    ledger.connected()
    return ledger


class TheLedger(unittest.TestCase):
    def test_numbers_events_from_one_and_is_done_when_all_are_acked(self):
        ledger = connected(Ledger())
        ledger.offer(3)
        self.assertEqual(ledger.send(2), Numbers(id=1, life=1, first=1, last=2))
        self.assertEqual(ledger.send(2), Numbers(id=2, life=1, first=3, last=3))
        self.assertFalse(ledger.is_due())
        self.assertTrue(ledger.ack(2), "an ack covers what was sent before")
        self.assertTrue(ledger.is_done())

    def test_sends_again_what_was_not_acked_and_asks_first(self):
        ledger = connected(Ledger())
        ledger.offer(4)
        ledger.send(2)
        ledger.send(2)
        ledger.ack(1)
        ledger.lost()
        self.assertFalse(ledger.is_due())
        ledger.connected()
        self.assertTrue(ledger.asks())
        self.assertEqual(ledger.send(0), Numbers(id=3, life=1, first=3, last=2), "a question has no events")
        self.assertFalse(ledger.ack(2), "an answer to what was sent before the cut says nothing")
        self.assertEqual(ledger.send(2), Numbers(id=4, life=1, first=3, last=4))

    def test_goes_back_to_what_the_hub_expects(self):
        ledger = connected(Ledger())
        ledger.offer(5)
        ledger.send(5)
        ledger.ack(1)
        ledger.lost()
        ledger.connected()
        ledger.send(0)
        self.assertEqual(ledger.gap(2, 3), 0)
        self.assertEqual((ledger.acked, ledger.life), (2, 1))
        self.assertEqual(ledger.send(3), Numbers(id=3, life=1, first=3, last=5))
        self.assertEqual(ledger.gap(2, 1), 0, "a gap is told once")
        self.assertEqual(ledger.acked, 2)

    def test_begins_a_new_life_where_what_is_expected_is_not_here_any_more(self):
        ledger = connected(Ledger())
        ledger.offer(5)
        ledger.send(5)
        ledger.ack(1)
        ledger.forget(4)
        ledger.lost()
        ledger.connected()
        ledger.send(0)
        self.assertEqual(ledger.gap(2, 1), 4)
        self.assertEqual(ledger.missing, 4)
        self.assertEqual(ledger.send(1), Numbers(id=3, life=2, first=1, last=1))

    def test_has_no_more_frames_under_way_than_it_may(self):
        ledger = connected(Ledger())
        ledger.offer(100)
        for _ in range(FLIGHTS_MAX):
            self.assertTrue(ledger.is_due())
            ledger.send(1)
        self.assertFalse(ledger.is_due())
        ledger.ack(1)
        self.assertTrue(ledger.is_due())


class TheWindow(unittest.TestCase):
    def test_gives_what_fits_and_one_at_least(self):
        window = Window()
        for event in (b"aaaa", b"bb", b"cc", b"dddd"):
            window.push(event)
        self.assertEqual(window.after(0, 10, 1), [b"aaaa"])
        self.assertEqual(window.after(1, 10, 6), [b"bb", b"cc"])
        self.assertEqual(window.after(1, 1, 100), [b"bb"])
        self.assertEqual((window.kept_bytes(), window.bytes_after(2), window.bytes_after(4)), (16, 8, 0))

    def test_drops_what_is_acked_and_nothing_else(self):
        window = Window()
        for event in (b"aaaa", b"bb", b"cc"):
            window.push(event)
        window.shrink(0, 2)
        self.assertEqual((window.begins_after, window.after(2, 10, 100)), (2, [b"cc"]))
        window.drop_to(3)
        self.assertEqual((window.kept_bytes(), window.begins_after), (0, 3))


class AnEvent(unittest.TestCase):
    def test_is_told_when_it_happened(self):
        self.assertGreater(json.loads(encode({"k": "status", "text": "x"}))["at"], 1_700_000_000_000)
        self.assertEqual(json.loads(encode({"k": "status", "at": 7}))["at"], 7)

    def test_that_no_hub_would_take_is_refused_here(self):
        with self.assertRaises(EventTooLarge):
            encode({"k": "status", "text": "x" * (16 << 20)})
        with self.assertRaises(ValueError):
            encode({"k": "custom", "value": float("nan")})
        self.assertIn(b"?", encode({"k": "status", "text": "\ud800"}), "half a character is not text")


if __name__ == "__main__":
    unittest.main()
