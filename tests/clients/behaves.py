"""What the project's own package does at its borders. The program says itself what is wrong.

Usage: behaves.py HUB          against a hub with a log on disk
       behaves.py HUB memory   against one without, that dies and comes back when this program says `ready`
       behaves.py HUB changed  against one whose words are changed on their way, once this program has said `ready`
"""

import asyncio
import os
import sys

from fanlight import BufferFull, Fenced, Publisher, Refused, Subscription, SyncPublisher, Undelivered

HUB = sys.argv[1]
NOBODY = "http://127.0.0.1:9"


def status(number):
    return {"k": "status", "text": str(number), "run": "r"}


async def is_fenced_off_by_a_later_life():
    try:
        async with Publisher("fenced", url=HUB, publisher="one", life=7) as first:
            await first.publish(status(1))
            await first.flush(30)
            async with Publisher("fenced", url=HUB, publisher="one", life=8) as second:
                await second.publish(status(2))
            await first.publish(status(3))
    except Fenced:
        return
    raise AssertionError("the first life goes on")


async def is_told_what_the_hub_does_not_take():
    try:
        async with Publisher("refused", url=HUB) as publisher:
            await publisher.publish({"k": "part.delta", "run": "r"})
    except Refused as refused:
        assert refused.code == "bad_event", refused
        return
    raise AssertionError("an event without its members was taken")


async def sends_what_no_frame_holds():
    async with Publisher("large", url=HUB, durability="synced") as publisher:
        await publisher.publish({"k": "run.start", "run": "r"}, {"k": "tool.call", "run": "r", "tool": "t", "name": "read"})
        await publisher.publish({"k": "tool.result", "run": "r", "tool": "t", "output": "é" * (1 << 20)})
        await publisher.publish({"k": "run.end", "run": "r", "status": "complete"})
        standing = await publisher.flush(30)
    assert standing.acked == 4 and standing.position.seq == 4, standing
    async with Subscription("large", url=HUB) as subscription:
        async for event in subscription:
            call = event["state"]["runs"]["r"]["tools"]["t"]
            assert call["result_ref"]["bytes"] == (2 << 20) + 2, call["result_ref"]
            return


async def waits_or_says_so_where_there_is_no_room():
    publisher = Publisher("full", url=NOBODY, waiting_bytes_max=1_000)
    publisher.start()
    try:
        for number in range(100):
            publisher.offer(status(number))
    except BufferFull:
        assert 10 < number < 30, number
    else:
        raise AssertionError("100 events fit into 1000 bytes")
    try:
        await asyncio.wait_for(publisher.publish(status(0)), 0.1)
    except asyncio.TimeoutError:
        pass
    else:
        raise AssertionError("publish did not wait")
    try:
        await publisher.flush(0.1)
    except Undelivered as undelivered:
        assert undelivered.count == number, undelivered
    else:
        raise AssertionError("flush did not say what is missing")
    await publisher.stop()


async def goes_on_where_another_viewer_stood():
    async with Publisher("resumed", url=HUB) as publisher, Subscription("resumed", url=HUB) as first:
        await publisher.publish(*map(status, range(10)))
        await publisher.flush(30)
        async for frame in first.frames():
            if frame["t"] == "live":
                break
        # What is live was handed out with the frame before.
        position = f"{first.position.epoch}:{first.position.seq}"
        await publisher.publish(*map(status, range(10, 20)))
        async with Subscription("resumed", url=HUB, have=position) as second:
            seen = []
            async for event in second:
                seen.append(event["text"])
                if seen[-1] == "19":
                    break
        assert seen == [str(number) for number in range(10, 20)], seen


async def sees_whole_texts_alone_where_it_asks_for_them():
    async with Subscription("parts", url=HUB, level="parts") as subscription, Publisher("parts", url=HUB) as publisher:
        seen = []
        begun = False
        async for frame in subscription.frames():
            if frame["t"] == "live" and not begun:
                begun = True
                await publisher.publish({"k": "run.start", "run": "r"}, {"k": "part.start", "run": "r", "part": "p", "kind": "text"})
                for word in ("one", " two"):
                    await publisher.publish({"k": "part.delta", "run": "r", "part": "p", "text": word})
                await publisher.publish({"k": "part.end", "run": "r", "part": "p"}, {"k": "run.end", "run": "r", "status": "complete"})
            if frame["t"] == "batch":
                seen += frame["ev"]
                if any(event["k"] == "run.end" for event in frame["ev"]):
                    break
        assert [event["text"] for event in seen if event["k"] == "part.replace"] == ["one two"], seen
        assert not any(event["k"] == "part.delta" for event in seen), seen


async def publishes_from_code_that_cannot_wait():
    def work():
        with SyncPublisher("sync", url=HUB) as publisher:
            for number in range(1_000):
                publisher.offer(status(number))
            assert publisher.flush(30).acked == 1_000
            publisher.publish(status(1_000), timeout=30)
        return publisher.standing

    standing = await asyncio.to_thread(work)
    assert standing.acked == standing.position.seq == 1_001, standing


def publishes_from_a_process_that_is_forked_off():
    with SyncPublisher("forked", url=HUB) as publisher:
        publisher.offer(status(0))
        publisher.flush(30)
        child = os.fork()
        if child == 0:
            try:
                publisher.offer(status(1), status(2))
                standing = publisher.close(30)
                os._exit(0 if standing.acked == 2 else 3)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        publisher.offer(status(3))
        standing = publisher.flush(30)
    assert (standing.acked, standing.position.seq) == (2, 4), standing


async def tells_a_hub_that_forgot_everything_again():
    told = []
    async with Publisher("forgetful", url=HUB, durability="memory", on_news=told.append) as publisher:
        await publisher.publish(*map(status, range(100)))
        await publisher.flush(30)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await publisher.publish(*map(status, range(100, 200)))
        standing = await publisher.flush(60)
    assert (standing.acked, standing.missing, standing.position.seq) == (200, 0, 200), standing
    assert [news.what for news in told].count("connected") == 2, told
    try:
        async with Publisher("forgetful", url=HUB, durability="stored") as publisher:
            await publisher.publish(status(0))
    except Refused as refused:
        assert refused.code == "durability_unavailable", refused
        return
    raise AssertionError("a hub without a log has stored something")


async def notices_a_text_that_was_changed_on_its_way():
    async with Subscription("changed", url=HUB) as subscription:
        text = ""
        async for event in subscription:
            if event["k"] == "part.delta":
                text += event["text"]
                assert text == "a bogus! word", text
            elif event["k"] == "snapshot" and event["state"]["runs"]:
                assert text, "the snapshot came before it was asked for"
                assert event["state"]["runs"]["r"]["parts"]["p"]["text"] == "a honest word", event
                return
            elif event["k"] == "snapshot":
                print("ready", flush=True)


async def main():
    if "memory" in sys.argv:
        await tells_a_hub_that_forgot_everything_again()
        return
    if "changed" in sys.argv:
        await notices_a_text_that_was_changed_on_its_way()
        return
    await is_fenced_off_by_a_later_life()
    await is_told_what_the_hub_does_not_take()
    await sends_what_no_frame_holds()
    await waits_or_says_so_where_there_is_no_room()
    await goes_on_where_another_viewer_stood()
    await sees_whole_texts_alone_where_it_asks_for_them()
    await publishes_from_code_that_cannot_wait()


if len(sys.argv) == 2:
    publishes_from_a_process_that_is_forked_off()
asyncio.run(asyncio.wait_for(main(), 120))
