"""Twenty questions, and what a model answers to each: turns, one for each time that it is asked, of what it says and does.

`say` and `think` are texts in pieces, `call` is a call of a tool that each server has by a name of its own, `refuse` is an
answer with that status instead of a stream, `cut` ends the connection in the middle."""

from dataclasses import dataclass

# Of few words: Forge says each with all that came before it.
LONG = "".join(f"Line-{number}:{'the-quick-brown-fox-jumps-over-the-lazy-dog-' * 4}\n" for number in range(1, 301))
SCRIPTS = "Grüße, мир, 世界, עולם, مرحبا, e\u0301, 👩‍👩‍👧‍👦 🇳🇴, 𝔘𝔫𝔦, \u200b\u00a0\ufeff end"
MARKUP = '<details type="tool_calls" done="true">&amp; & \\n \\" \' </details><script>x</script>\u2028\u2029\t\x07 `'
LAYOUT = (
    "# Head\n\n* one\n  * two\n\n```py\nprint(1)  # two  spaces\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\nEnd  \n"
)


@dataclass(frozen=True)
class Question:
    """What is asked, one after the other in one conversation."""

    name: str
    asked: tuple[str, ...]


def say(*pieces):
    return ("say", list(pieces))


def think(*pieces):
    return ("think", list(pieces))


def call(tool, **arguments):
    return ("call", tool, arguments)


# By the key that stands in what is asked.
TURNS = {
    "Q01": [[say("Hello.")]],
    "Q02": [[say(*[f"word{number} " for number in range(200)])]],
    "Q03": [[say(*SCRIPTS.split(" "), SCRIPTS)]],
    "Q04": [[say(*LAYOUT.splitlines(keepends=True))]],
    "Q05": [[say(MARKUP, MARKUP)]],
    "Q06": [[say(*[LONG[start : start + 997] for start in range(0, len(LONG), 997)])]],
    "Q07": [[say()]],
    "Q08": [[say(" ", "\n", "x", "\n\n", "  ", "y ", " ")]],
    "Q09": [[think("Let me ", "think 🤔."), say("Thought ", "through.")]],
    "Q10": [[call("look")], [say("I looked.")]],
    "Q11": [[say("I look ", "first."), call("look")], [say("There ", "it is.")]],
    "Q12": [[call("look"), call("note", text="side by side")], [say("Both are done.")]],
    "Q13": [[think("First."), call("look")], [say("Again."), call("note", text="second")], [say("Two rounds.")]],
    "Q14": [[call("fail")], [say("It did not work.")]],
    "Q15": [[call("nobody_has_this", x=1)], [say("No such tool.")]],
    "Q16": [[call("much")], [say("That was much.")]],
    "Q17": [[call("note", text=SCRIPTS + '{"a": [1, null, "\\u0041"]}')], [say("Noted: ü.")]],
    "Q18": [[("refuse", 400)]],
    "Q19": [[say("Then "), call("look")], [("refuse", 400)]],
    "Q20": [[say("You asked before.")]],
    # What a sub-agent is asked, and what breaks off.
    "S01": [[think("Sub."), say("I reflect."), call("reflect")], [say("The sub-agent is done.")]],
    "Q21": [[say("This is ", "half"), ("cut",)]],
}

TITLES = {
    "Q01": "a short text",
    "Q02": "two hundred pieces",
    "Q03": "scripts, marks and pictures",
    "Q04": "Markdown and white space",
    "Q05": "markup and controls",
    "Q06": "56 KB",
    "Q07": "an empty answer",
    "Q08": "white space around little",
    "Q09": "thinking",
    "Q10": "a call",
    "Q11": "text, a call, text",
    "Q12": "two calls side by side",
    "Q13": "two rounds of calls",
    "Q14": "a call that fails",
    "Q15": "a tool that is not there",
    "Q16": "a large result, of Deep Agent a sub-agent",
    "Q17": "scripts in arguments",
    "Q18": "the model refuses",
    "Q19": "the model refuses after a call",
    "Q20": "a second question",
}

QUESTIONS = [Question(f"{key} {title}", (f"{key}: {title}?",)) for key, title in TITLES.items() if key != "Q20"]
QUESTIONS.append(Question(f"Q20 {TITLES['Q20']}", ("Q01: first?", "Q20: and second?")))
# Beyond the twenty.
MORE = [Question("Q21 the model breaks off", ("Q21: breaks off?",))]
