"""Publishers in processes that are forked off."""

import json
import os
import select
import signal
import threading
import time
import unittest
import warnings

from fanlight import Closed, SyncPublisher, Undelivered, sync

NOBODY = "http://127.0.0.1:9"
DEADLINE_S = 20


def status(number):
    return {"k": "status", "text": str(number), "run": "r"}


def forked(work):
    """What ``work`` returns in a process that is forked off."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads beside a fork, which is the matter here.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.write(theirs, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    try:
        if not select.select([ours], [], [], DEADLINE_S)[0]:
            os.kill(child, signal.SIGKILL)
            raise AssertionError("the forked process hangs")
        return json.loads(os.read(ours, 65536) or b"null")
    finally:
        os.waitpid(child, 0)
        os.close(ours)


@unittest.skipUnless(hasattr(os, "fork"), "there is no fork here")
class AForkedProcess(unittest.TestCase):
    def setUp(self):
        self.publisher = SyncPublisher("forked", url=NOBODY)
        self.publisher.offer(status(1), status(2))
        self.addCleanup(self.publisher.abandon, 0)

    def flush(self, publisher):
        """How many events wait for a hub that is not there, and whether that was said in time."""
        begun = time.monotonic()
        try:
            publisher.flush(0.1)
        except Undelivered as undelivered:
            return [undelivered.count, time.monotonic() - begun < 2]
        return None

    def test_has_publishers_of_its_own(self):
        def work():
            publisher = SyncPublisher("child", url=NOBODY)
            publisher.offer(status(1))
            said = self.flush(publisher)
            publisher.abandon(0)
            return said

        self.assertEqual(forked(work), [1, True])

    def test_goes_on_with_those_of_its_parent_as_new_ones(self):
        def work():
            self.publisher.offer(status(3))
            said = self.flush(self.publisher)
            self.publisher.abandon(0)
            return [*said, self.publisher._publisher.name]

        count, in_time, name = forked(work)
        self.assertEqual((count, in_time), (1, True))
        self.assertNotEqual(name, self.publisher._publisher.name)
        # The parent still has what it had.
        self.assertEqual(self.flush(self.publisher), [2, True])

    def test_leaves_a_name_that_was_given_to_its_parent(self):
        named = SyncPublisher("forked", url=NOBODY, publisher="one")
        self.addCleanup(named.abandon, 0)

        def work():
            said = []
            for use in (named.offer, named.publish):
                try:
                    use(status(1))
                except Closed as closed:
                    said.append(str(closed))
            named.close(1)
            return said

        said = forked(work)
        self.assertEqual(len(said), 2)
        self.assertIn("one belongs to the process that made it", said[0])

    def test_ends_though_nobody_closed_anything(self):
        def work():
            begun = time.monotonic()
            sync._at_exit()
            return time.monotonic() - begun < 2

        self.assertTrue(forked(work))


class AThreadThatDoesNotAnswer(unittest.TestCase):
    def test_is_not_waited_for(self):
        publisher = SyncPublisher("stuck", url=NOBODY)
        publisher.offer(status(1))
        held, go_on = threading.Event(), threading.Event()
        publisher._loop.call_soon_threadsafe(lambda: (held.set(), go_on.wait(DEADLINE_S)))
        held.wait(DEADLINE_S)
        try:
            with self.assertRaises(Undelivered) as raised:
                publisher.close(0.1)
            self.assertIn("does not answer", str(raised.exception))
        finally:
            go_on.set()


if __name__ == "__main__":
    unittest.main()
