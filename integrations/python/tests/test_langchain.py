"""The LangChain callback, with a model that says what is written here."""

import logging
import time
import unittest

try:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from fanlight.adapters.langchain import FanlightCallback
except ImportError as error:
    raise unittest.SkipTest(str(error)) from error

from recorded import Full, Recorded


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **kwargs):
        return self


def call(name, call_id, **arguments):
    return {"name": name, "args": arguments, "id": call_id, "type": "tool_call"}


def model(*messages):
    return Model(messages=iter(messages))


def slow(city: str) -> str:
    """Takes its time."""
    time.sleep(0.05)
    return f"{city}: 21"


def broken(city: str) -> str:
    """Fails."""
    raise ValueError(f"no weather in {city}")


QUESTION = {"messages": [{"role": "user", "content": "The weather?"}]}


class TheCallback(unittest.TestCase):
    def setUp(self):
        self.said = Recorded()
        self.callback = FanlightCallback(self.said)
        self.config = {"callbacks": [self.callback]}

    def test_shows_parallel_calls_with_their_own_latencies_and_the_answer(self):
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        script = model(
            AIMessage("Let me see.", tool_calls=[call("slow", "a", city="Lisbon"), call("slow", "b", city="Oslo")]),
            AIMessage("Sunny.", usage_metadata=usage),
        )
        create_agent(script, tools=[slow], name="weather").invoke(QUESTION, config=self.config)
        self.assertEqual(self.said.events[0]["name"], "weather")
        self.assertEqual(self.said.of("message")[0]["text"], "The weather?")
        self.assertEqual(self.said.text(), "Let me see.Sunny.")
        calls = self.said.calls()
        self.assertEqual([c["said"] for c in calls.values()], [["call", "executing", "result"]] * 2)
        self.assertEqual(calls["b"]["output"], "Oslo: 21")
        self.assertTrue(all(c["exec_ms"] >= 45 for c in calls.values()), calls)
        self.assertEqual(self.said.of("run.update")[-1]["usage"]["input_tokens"], 10)
        self.assertEqual(self.said.events[-1]["status"], "complete")
        self.assertEqual(len(self.said.of("run.end")), 1)

    def test_shows_a_tool_that_fails_and_the_run_that_fails_of_it(self):
        script = model(AIMessage("", tool_calls=[call("broken", "a", city="Atlantis")]))
        with self.assertRaises(ValueError):
            create_agent(script, tools=[broken]).invoke(QUESTION, config=self.config)
        told = self.said.calls()["a"]
        self.assertEqual((told["is_error"], told["output"]), (True, "ValueError: no weather in Atlantis"))
        self.assertEqual(self.said.of("error")[-1]["code"], "ValueError")
        self.assertEqual(self.said.events[-1]["status"], "error")

    def test_shows_what_streams_while_it_streams(self):
        for _ in create_agent(model(AIMessage("one two three")), tools=[]).stream(
            QUESTION, self.config, stream_mode="messages"
        ):
            pass
        self.assertGreater(len(self.said.of("part.delta")), 1)
        self.assertEqual(self.said.text(), "one two three")

    def test_shows_an_agent_inside_of_a_tool_as_a_sub_agent(self):
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        last = AIMessage("Rome.", usage_metadata=usage)
        inner = create_agent(
            model(AIMessage("Inner.", tool_calls=[call("slow", "i", city="Rome")]), last),
            tools=[slow],
            name="scout",
        )

        def ask(question: str) -> str:
            """Asks the scout."""
            return inner.invoke({"messages": question})["messages"][-1].text

        outer = model(AIMessage("", tool_calls=[call("ask", "o", question="Rome?")]), AIMessage("Done."))
        create_agent(outer, tools=[ask]).invoke(QUESTION, config=self.config)
        [agent] = self.said.of("agent.start")
        self.assertEqual((agent["name"], agent["tool"]), ("scout", "o"))
        self.assertEqual(self.said.calls()["i"]["agent"], agent["agent"])
        self.assertEqual(self.said.text(agent=agent["agent"]), "Inner.Rome.")
        self.assertEqual((self.said.text(), len(self.said.of("agent.end"))), ("Done.", 1))
        used = [e for e in self.said.of("run.update") if "usage" in e]
        self.assertEqual([(e["agent"], e["usage"]["input_tokens"]) for e in used], [(agent["agent"], 10)])

    def test_keeps_its_troubles_from_the_agent(self):
        callback = FanlightCallback(Full())
        with self.assertLogs("fanlight", logging.WARNING) as logs:
            create_agent(model(AIMessage("one two three")), tools=[]).invoke(QUESTION, config={"callbacks": [callback]})
        self.assertEqual(len(logs.records), 1)
        self.assertGreaterEqual(callback.voice.unsaid, 5)


class TheCallbackOfAnAsyncAgent(unittest.IsolatedAsyncioTestCase):
    async def test_shows_the_same(self):
        said = Recorded()
        script = model(
            AIMessage("", tool_calls=[call("slow", "a", city="Oslo"), call("slow", "b", city="Rome")]),
            AIMessage("Sunny."),
        )
        await create_agent(script, tools=[slow]).ainvoke(QUESTION, config={"callbacks": [FanlightCallback(said)]})
        self.assertEqual([c["said"] for c in said.calls().values()], [["call", "executing", "result"]] * 2)
        self.assertEqual((said.text(), said.events[-1]["status"]), ("Sunny.", "complete"))


if __name__ == "__main__":
    unittest.main()
