"""What becomes of events for which there is no room."""

import asyncio
import threading
import unittest

from fanlight import BufferFull, Publisher, SyncPublisher

NOBODY = "http://127.0.0.1:9"


def status(number):
    return {"k": "status", "text": str(number), "run": "r"}


class NoRoom(unittest.TestCase):
    def publisher(self, bytes_max):
        publisher = SyncPublisher("full", url=NOBODY, waiting_bytes_max=bytes_max)
        self.addCleanup(publisher.abandon, 0)
        return publisher

    def test_events_are_taken_all_or_none(self):
        publisher = self.publisher(100)
        # There is room for the first of them, and then none.
        publisher.publish(*[status(number) for number in range(20)], timeout=5)
        self.assertEqual(publisher.standing.offered, 20)
        with self.assertRaises(BufferFull):
            publisher.publish(status(20), status(21), timeout=0.05)
        self.assertEqual(publisher.standing.offered, 20)

    def test_what_was_taken_too_late_is_not_said_to_be_refused(self):
        publisher = self.publisher(100)
        held = threading.Event()
        self.addCleanup(held.set)
        take = publisher._publisher.push_encoded

        def late(event):
            take(event)
            held.wait(5)

        publisher._publisher.push_encoded = late
        publisher.publish(status(1), status(2), timeout=1.0)
        held.set()
        publisher._publisher.push_encoded = take
        publisher._call(asyncio.sleep(0), 5)
        self.assertEqual(publisher.standing.offered, 2)


class AsyncNoRoom(unittest.IsolatedAsyncioTestCase):
    async def test_events_are_taken_all_or_none(self):
        publisher = Publisher("full", url=NOBODY, waiting_bytes_max=100)
        await publisher.publish(*[status(number) for number in range(20)])
        self.assertEqual(publisher.standing.offered, 20)
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(publisher.publish(status(20), status(21)), 0.05)
        self.assertEqual(publisher.standing.offered, 20)
        await publisher.stop()


if __name__ == "__main__":
    unittest.main()
