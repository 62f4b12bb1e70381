"""The Agno forwarder."""

import asyncio
import time
import unittest

try:
    from agno.agent import Agent
    from agno.db.in_memory import InMemoryDb
    from agno.models.openai import OpenAIChat
    from agno.team import Team
    from agno.tools import tool

    from fanlight.adapters.agno import Told, aforward, forward
except ImportError as error:
    raise unittest.SkipTest(str(error)) from error

from recorded import Recorded
from scripted import Scripted, calls, says


async def slow(city: str) -> str:
    """Takes its time."""
    await asyncio.sleep(0.05)
    return f"{city}: 21"


def look(city: str) -> str:
    """Takes its time too."""
    time.sleep(0.05)
    return f"{city}: 21"


def broken(city: str) -> str:
    """Fails."""
    raise ValueError(f"no weather in {city}")


def send(to: str) -> str:
    """Sends a letter."""
    return f"sent to {to}"


def model(script):
    return OpenAIChat(id="scripted", base_url=script.url, api_key="none")


class TheForwarder(unittest.IsolatedAsyncioTestCase):
    async def test_shows_parallel_calls_with_their_own_latencies_and_the_answer(self):
        said = Recorded()
        first = calls(("a", "slow", {"city": "Lisbon"}), ("b", "slow", {"city": "Oslo"}))
        with Scripted(first, says("Sunny in both.")) as script:
            agent = Agent(name="Weather", model=model(script), tools=[slow], telemetry=False)
            events = agent.arun("The weather?", stream=True, stream_events=True)
            passed = [event async for event in aforward(said, events, "The weather?")]
        self.assertEqual(passed[-1].event, "RunCompleted")
        self.assertEqual((said.events[0]["name"], said.of("message")[0]["text"]), ("Weather", "The weather?"))
        told = said.calls()
        self.assertEqual([c["said"] for c in told.values()], [["call", "executing", "result"]] * 2)
        self.assertEqual(told["b"]["output"], "Oslo: 21")
        self.assertTrue(all(c["exec_ms"] >= 45 for c in told.values()), told)
        self.assertEqual(said.text(), "Sunnyinboth.")
        self.assertEqual(sum(e["usage"]["input_tokens"] for e in said.of("run.update")), 20)
        self.assertEqual([e["status"] for e in said.of("run.end")], ["complete"])

    async def test_shows_a_tool_that_fails(self):
        said = Recorded()
        with Scripted(calls(("a", "broken", {"city": "Atlantis"})), says("Nobody knows.")) as script:
            agent = Agent(model=model(script), tools=[broken], telemetry=False)
            for _ in forward(said, agent.run("The weather?", stream=True, stream_events=True)):
                pass
        told = said.calls()["a"]
        self.assertTrue(told["is_error"])
        self.assertIn("no weather in Atlantis", told["output"])
        self.assertEqual(said.events[-1]["status"], "complete")

    async def test_shows_a_run_that_fails(self):
        said = Recorded()
        with Scripted() as script:
            agent = Agent(model=model(script), telemetry=False)
            for _ in forward(said, agent.run("The weather?", stream=True, stream_events=True)):
                pass
        self.assertIn("the script is over", said.of("error")[0]["message"])
        self.assertEqual(said.events[-1]["status"], "error")

    async def test_shows_members_of_a_team_as_sub_agents(self):
        said = Recorded()
        leads = calls(("d", "delegate_task_to_member", {"member_id": "scout", "task": "The weather in Rome"}))
        looks = calls(("m", "look", {"city": "Rome"}))
        with Scripted(leads, says("It is so.")) as leader, Scripted(looks, says("Rome: 21")) as member:
            scout = Agent(name="scout", model=model(member), tools=[look], telemetry=False)
            team = Team(name="Desk", members=[scout], model=model(leader), telemetry=False)
            for _ in forward(said, team.run("The weather?", stream=True, stream_events=True)):
                pass
        self.assertEqual(said.events[0]["name"], "Desk")
        [agent] = said.of("agent.start")
        self.assertEqual(agent["name"], "scout")
        self.assertEqual(said.text(agent=agent["agent"]), "Rome:21")
        self.assertEqual(said.text(), "Itisso.")
        self.assertEqual(len(said.of("agent.end")), 1)
        told = said.calls()["d"]
        self.assertGreaterEqual(told["exec_ms"], 50, "as long as the member worked, not as the handing over took")
        by = [e.get("agent") for e in said.of("run.update") if "usage" in e]
        self.assertEqual(sorted(by, key=str), sorted([None, None, *[agent["agent"]] * 2], key=str))

    def paused(self, script, answer, through):
        """A run that asks for consent, is answered with `answer`, and goes on; `through` forwards each of its two streams."""
        wants = tool(requires_confirmation=True)(send)
        agent = Agent(name="Mailer", model=model(script), tools=[wants], db=InMemoryDb(), telemetry=False)
        *_, last = through(agent.run("Write to Ann.", stream=True, stream_events=True))
        for requirement in last.requirements:
            answer(requirement)
        known = {"run_id": last.run_id, "session_id": last.session_id, "requirements": last.requirements}
        for _ in through(agent.continue_run(**known, stream=True, stream_events=True)):
            pass

    def test_shows_a_pause_and_its_continuation_as_one_run(self):
        said = Recorded()
        with Scripted(calls(("a", "send", {"to": "Ann"})), says("Sent.")) as script:
            self.paused(script, lambda it: it.confirm(), lambda events: forward(said, events))
        self.assertEqual(len({event["run"] for event in said.events}), 1)
        ends = [(event["status"], event.get("finish_reason")) for event in said.of("run.end")]
        self.assertEqual(ends, [("complete", "paused"), ("complete", None)])
        self.assertEqual([e["tool"] for e in said.of("approval.request")], ["a"])
        self.assertEqual([e["approved"] for e in said.of("approval.answer")], [True])
        self.assertEqual(said.calls()["a"]["output"], "sent to Ann")
        self.assertEqual(said.text(), "Sent.")
        parts = [event["part"] for event in said.of("part.start")]
        self.assertEqual(len(parts), len(set(parts)))

    def test_shows_a_rejected_call_that_agno_tells_nothing_of(self):
        said = Recorded()
        with Scripted(calls(("a", "send", {"to": "Ann"})), says("As you wish.")) as script:
            self.paused(script, lambda it: it.reject("not today"), lambda events: forward(said, events))
        [answer] = said.of("approval.answer")
        self.assertEqual((answer["tool"], answer["approved"]), ("a", False))
        self.assertEqual(said.of("tool.result"), [])

    def test_shows_both_streams_of_one_iterator_as_one_run(self):
        said = Recorded()
        told = Told(said)

        def through(events):
            for event in events:
                told.hear(event)
                yield event

        with Scripted(calls(("a", "send", {"to": "Ann"})), says("Sent.")) as script:
            self.paused(script, lambda it: it.confirm(), through)
        told.over()
        self.assertEqual(len(said.of("run.start")), 1)
        self.assertEqual([event["status"] for event in said.of("run.end")], ["complete"])
        self.assertEqual(said.calls()["a"]["said"], ["call", "executing", "result"])

    def test_shows_events_that_it_does_not_know(self):
        said = Recorded()
        told = Told(said)
        told.hear(Event(event="RunStarted"))
        told.hear(Event(event="GuardrailCompleted"))
        told.hear(Event(event="MemoryUpdateStarted"))
        told.over()
        self.assertEqual([event["name"] for event in said.of("custom")], ["GuardrailCompleted"])

    def test_shows_arguments_that_grow(self):
        said = Recorded()
        told = Told(said)
        told.hear(Event(event="RunStarted"))
        for piece in ('{"to": ', '"Ann"}'):
            told.hear(Event(event="ToolCallArgsDelta", tool_call_id="a", tool_call_name="send", arguments_delta=piece))
        told.over()
        self.assertEqual([event["text"] for event in said.of("tool.args")], ['{"to": ', '"Ann"}'])
        self.assertEqual([event["name"] for event in said.of("tool.start")], ["send"])


class Event:
    """One of agno's, of a version that this one is not."""

    def __init__(self, **fields):
        self.run_id, self.parent_run_id = "r", None
        self.__dict__.update(fields)

    def to_dict(self):
        return dict(self.__dict__)


if __name__ == "__main__":
    unittest.main()
