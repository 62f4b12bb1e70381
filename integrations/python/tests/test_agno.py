"""The Agno forwarder."""

import asyncio
import unittest

try:
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat
    from agno.team import Team

    from fanlight.adapters.agno import aforward, forward
except ImportError as error:
    raise unittest.SkipTest(str(error)) from error

from recorded import Recorded
from scripted import Scripted, calls, says


async def slow(city: str) -> str:
    """Takes its time."""
    await asyncio.sleep(0.05)
    return f"{city}: 21"


def broken(city: str) -> str:
    """Fails."""
    raise ValueError(f"no weather in {city}")


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
        with Scripted(leads, says("It is so.")) as leader, Scripted(says("Rome: 21")) as member:
            scout = Agent(name="scout", model=model(member), telemetry=False)
            team = Team(name="Desk", members=[scout], model=model(leader), telemetry=False)
            for _ in forward(said, team.run("The weather?", stream=True, stream_events=True)):
                pass
        self.assertEqual(said.events[0]["name"], "Desk")
        [agent] = said.of("agent.start")
        self.assertEqual(agent["name"], "scout")
        self.assertEqual(said.text(agent=agent["agent"]), "Rome:21")
        self.assertEqual(said.text(), "Itisso.")
        self.assertEqual(len(said.of("agent.end")), 1)
        by = [e.get("agent") for e in said.of("run.update") if "usage" in e]
        self.assertEqual(sorted(by, key=str), sorted([None, None, agent["agent"]], key=str))


if __name__ == "__main__":
    unittest.main()
