"""The Pydantic AI forwarder."""

import asyncio
import unittest

try:
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from fanlight.adapters.pydantic_ai import forward
except ImportError as error:
    raise unittest.SkipTest(str(error)) from error

from recorded import Recorded
from scripted import Scripted, calls, says


async def slow(city: str) -> str:
    """Takes its time."""
    await asyncio.sleep(0.05)
    return f"{city}: 21"


def broken(city: str) -> str:
    """Fails in a way that the model may mend."""
    raise ModelRetry(f"no weather in {city}")


def lost(city: str) -> str:
    """Fails."""
    raise ValueError(f"no weather in {city}")


class TheForwarder(unittest.IsolatedAsyncioTestCase):
    async def shows(self, script, *tools):
        said = Recorded()
        agent = Agent(
            OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=script.url, api_key="none")), tools=tools
        )
        try:
            async with agent.run_stream_events("The weather?") as events:
                async for _ in forward(said, events, "The weather?", name="Weather"):
                    pass
        except ValueError:
            pass
        return said

    async def test_shows_parallel_calls_with_their_own_latencies_and_the_answer(self):
        first = calls(("a", "slow", {"city": "Lisbon"}), ("b", "slow", {"city": "Oslo"}))
        with Scripted(first, says("Sunny in both.")) as script:
            said = await self.shows(script, slow)
        self.assertEqual((said.events[0]["name"], said.of("message")[0]["text"]), ("Weather", "The weather?"))
        told = said.calls()
        self.assertEqual([c["said"][-3:] for c in told.values()], [["call", "executing", "result"]] * 2)
        self.assertEqual((told["a"]["output"], told["b"]["output"]), ("Lisbon: 21", "Oslo: 21"))
        self.assertTrue(all(c["exec_ms"] >= 45 for c in told.values()), told)
        self.assertEqual(said.text(), "Sunnyinboth.")
        self.assertEqual(said.of("run.update")[-1]["usage"]["input_tokens"], 20)
        self.assertEqual([e["status"] for e in said.of("run.end")], ["complete"])

    async def test_shows_a_tool_that_fails_and_goes_on(self):
        with Scripted(calls(("a", "broken", {"city": "Atlantis"})), says("Nobody knows.")) as script:
            said = await self.shows(script, broken)
        self.assertTrue(said.calls()["a"]["is_error"])
        self.assertEqual(said.events[-1]["status"], "complete")

    async def test_shows_a_run_that_fails(self):
        with Scripted(calls(("a", "lost", {"city": "Atlantis"}))) as script:
            said = await self.shows(script, lost)
        self.assertIn("no weather in Atlantis", said.of("error")[0]["message"])
        self.assertEqual(said.events[-1]["status"], "error")


if __name__ == "__main__":
    unittest.main()
