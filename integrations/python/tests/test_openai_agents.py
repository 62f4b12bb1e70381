"""The trace processor of the OpenAI Agents SDK."""

import asyncio
import unittest

try:
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        Runner,
        function_span,
        function_tool,
        generation_span,
        handoff,
        set_trace_processors,
        trace,
    )
    from agents.tracing import agent_span
    from openai import AsyncOpenAI

    from fanlight.adapters.openai_agents import FanlightTracing
except ImportError as error:
    raise unittest.SkipTest(str(error)) from error

from recorded import Full, Recorded
from scripted import Scripted, calls, says


@function_tool
async def slow(city: str) -> str:
    """Takes its time."""
    await asyncio.sleep(0.05)
    return f"{city}: 21"


@function_tool
def broken(city: str) -> str:
    """Fails."""
    raise ValueError(f"no weather in {city}")


def model(script):
    client = AsyncOpenAI(base_url=script.url, api_key="none", max_retries=0)
    return OpenAIChatCompletionsModel("scripted", client)


class TheProcessor(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.said = Recorded()
        self.tracing = FanlightTracing(self.said)
        set_trace_processors([self.tracing])

    def tearDown(self):
        set_trace_processors([])

    async def test_shows_parallel_calls_with_their_own_latencies_and_the_answer(self):
        first = calls(("a", "slow", {"city": "Lisbon"}), ("b", "slow", {"city": "Oslo"}))
        with Scripted(first, says("Sunny in both.")) as script:
            await Runner.run(Agent(name="Weather", model=model(script), tools=[slow]), "The weather?")
        said = self.said
        self.assertEqual((said.events[0]["name"], said.of("message")[-1]["text"]), ("Weather", "The weather?"))
        told = said.calls()
        self.assertEqual([c["said"] for c in told.values()], [["call", "executing", "result"]] * 2)
        self.assertEqual((told["a"]["output"], told["b"]["output"]), ("Lisbon: 21", "Oslo: 21"))
        self.assertTrue(all(c["exec_ms"] >= 45 for c in told.values()), told)
        self.assertEqual(said.text(), "Sunny in both.")
        self.assertEqual(sum(e["usage"]["input_tokens"] for e in said.of("run.update") if "usage" in e), 20)
        self.assertEqual([e["status"] for e in said.of("run.end")], ["complete"])

    async def test_shows_what_streams_while_it_streams_and_once(self):
        with Scripted(calls(("a", "slow", {"city": "Oslo"})), says("one two three")) as script:
            result = Runner.run_streamed(Agent(name="Weather", model=model(script), tools=[slow]), "The weather?")
            passed = [event async for event in self.tracing.forward(result)]
        self.assertEqual(result.final_output, "onetwothree")
        self.assertGreater(len(passed), 3)
        self.assertEqual([e["text"] for e in self.said.of("part.delta")], ["one", "two", "three"])
        self.assertEqual(self.said.calls()["a"]["said"], ["call", "executing", "result"])

    async def test_shows_a_tool_that_fails(self):
        with Scripted(calls(("a", "broken", {"city": "Atlantis"})), says("Nobody knows.")) as script:
            await Runner.run(Agent(name="Weather", model=model(script), tools=[broken]), "The weather?")
        told = self.said.calls()["a"]
        # The SDK keeps why to itself.
        self.assertEqual((told["is_error"], told["output"][:17]), (True, "An error occurred"))
        self.assertEqual(self.said.events[-1]["status"], "complete")

    async def test_shows_a_run_that_fails(self):
        with Scripted() as script, self.assertRaises(Exception):  # noqa: B017
            await Runner.run(Agent(name="Weather", model=model(script)), "The weather?")
        self.assertIn("the script is over", self.said.of("error")[0]["message"])
        self.assertEqual(self.said.events[-1]["status"], "error")

    async def test_ends_the_calls_of_handoffs_by_whatever_name(self):
        written = calls(("a", "transfer_to_billing", {}), ("b", "escalate", {}), ("c", "transfer_to_legal", {}))
        with Scripted(written) as script, Scripted(says("-"), says("Refunded.")) as last:
            closer = Agent(name="Senior Staff", model=model(last))
            others = [Agent(name=name, model=model(last)) for name in ("Billing", "Legal")]
            offered = [*others, handoff(closer, tool_name_override="escalate")]
            await Runner.run(Agent(name="Triage", model=model(script), handoffs=offered), "Refund?")
        told = self.said.calls()
        self.assertEqual(told["a"]["output"], {"assistant": "Billing"})
        self.assertEqual(told["c"]["output"], "Multiple handoffs detected, ignoring this one.")
        self.assertEqual([e["status"] for e in self.said.of("run.end")], ["complete"])

    async def test_ends_the_call_of_a_handoff_with_a_name_of_its_own(self):
        with Scripted(calls(("a", "escalate", {}))) as script, Scripted(says("-"), says("Refunded.")) as last:
            offered = [handoff(Agent(name="Senior Staff", model=model(last)), tool_name_override="escalate")]
            await Runner.run(Agent(name="Triage", model=model(script), handoffs=offered), "Refund?")
        self.assertEqual(self.said.calls()["a"]["output"], {"assistant": "Senior Staff"})

    async def execute(self, arguments, result):
        """What the SDK says of an execution: the arguments only once it has begun."""
        with function_span("slow") as span:
            span.span_data.input = arguments
            await asyncio.sleep(0)
            span.span_data.output = result

    async def test_finds_the_call_by_its_arguments_where_another_is_never_executed(self):
        # The first call is written and dropped; the arguments come back written in another way.
        written = calls(("a", "slow", {"city": "Lisbon"}), ("b", "slow", {"city": "Oslo", "days": 1}))
        with trace("Weather"), agent_span("Weather"):
            with generation_span(output=[written], model="scripted"):
                pass
            await self.execute('{"days":1,"city":"Oslo"}', "Oslo: 21")
        told = self.said.calls()
        self.assertEqual((told["b"]["said"], told["b"]["output"]), (["call", "executing", "result"], "Oslo: 21"))
        self.assertEqual((told["a"]["said"], len(told)), (["call"], 2))

    async def test_takes_calls_in_their_order_where_their_arguments_are_not_told(self):
        written = calls(("a", "slow", {"city": "Lisbon"}), ("b", "slow", {"city": "Oslo"}))
        with trace("Weather"), agent_span("Weather"):
            with generation_span(output=[written], model="scripted"):
                pass
            for result in ("Lisbon: 21", "Oslo: 21"):
                await self.execute(None, result)
        told = self.said.calls()
        self.assertEqual([told[call]["output"] for call in "ab"], ["Lisbon: 21", "Oslo: 21"])

    def test_finds_it_without_a_loop_too(self):
        written = calls(("a", "slow", {"city": "Lisbon"}), ("b", "slow", {"city": "Oslo"}))
        with trace("Weather"), agent_span("Weather"):
            with generation_span(output=[written], model="scripted"):
                pass
            with function_span("slow", input='{"city": "Oslo"}', output="Oslo: 21"):
                pass
        self.assertEqual(self.said.calls()["b"]["output"], "Oslo: 21")

    async def test_shows_an_agent_that_is_a_tool_as_a_sub_agent_and_a_handoff_as_the_same_run(self):
        with (
            Scripted(calls(("i", "slow", {"city": "Rome"})), says("Rome: 21")) as inner,
            Scripted(calls(("o", "ask_scout", {"input": "Rome?"})), calls(("h", "transfer_to_closer", {}))) as outer,
            Scripted(says("-"), says("-"), says("Done.")) as last,
        ):
            scout = Agent(name="Scout", model=model(inner), tools=[slow])
            closer = Agent(name="Closer", model=model(last))
            tool = scout.as_tool("ask_scout", "Asks the scout.")
            await Runner.run(Agent(name="Lead", model=model(outer), tools=[tool], handoffs=[closer]), "The weather?")
        [agent] = self.said.of("agent.start")
        self.assertEqual((agent["name"], agent["tool"]), ("Scout", "o"))
        told = self.said.calls()
        self.assertEqual((told["i"]["agent"], told["i"]["said"]), (agent["agent"], ["call", "executing", "result"]))
        self.assertEqual((told["o"]["said"], told["o"]["output"]), (["call", "executing", "result"], "Rome: 21"))
        self.assertEqual(self.said.text(agent=agent["agent"]), "Rome: 21")
        by = [e.get("agent") for e in self.said.of("run.update") if "usage" in e]
        self.assertEqual((by.count(agent["agent"]), by.count(None)), (2, 3))
        self.assertEqual(self.said.text(), "Done.")
        self.assertEqual(self.said.of("status")[0]["text"], "handed over to Closer")
        self.assertEqual(
            (told["h"]["said"], told["h"]["output"]), (["call", "executing", "result"], {"assistant": "Closer"})
        )
        self.assertEqual([e["status"] for e in self.said.of("run.end")], ["complete"])

    async def test_keeps_its_troubles_from_the_agent(self):
        tracing = FanlightTracing(Full())
        set_trace_processors([tracing])
        with Scripted(says("Sunny.")) as script, self.assertLogs("fanlight") as logs:
            result = await Runner.run(Agent(name="Weather", model=model(script)), "The weather?")
        self.assertEqual((result.final_output, len(logs.records)), ("Sunny.", 1))
        self.assertGreater(tracing.voice.unsaid, 3)


if __name__ == "__main__":
    unittest.main()
