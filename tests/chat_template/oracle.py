"""Writes test cases for the chat template interpreter: templates, contexts and what Python's jinja2 makes of them.

    python3 oracle.py --seed 1 --count 500 > random.jsonl      random programs
    python3 oracle.py --handwritten > handwritten.jsonl        the cases of handwritten.py
    python3 oracle.py --chats > chats.jsonl                    models/*.jinja with conversations.py; these cases have
                                                               `model` and `chat` in place of template and context

One JSON object a line: id, template, context (absent: the `shared_context` of an earlier line), and the outcome: `text`, or `error` (the name of Python's exception),
with `message` when the template raised it itself, or `refused` with words of the refusal.
"""

import argparse
import json
import pathlib
import re
import resource
import signal
import sys

import environment

MODELS = pathlib.Path(__file__).resolve().parent / "models"

# Python shows memory addresses for some objects: such text has no expected value.
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class TooSlow(BaseException):
    pass


def give_up(signal_number, frame):
    raise TooSlow


def random_cases(seed, count):
    import random_programs

    # Some programs ask for gigabytes or run for minutes in Python.
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    signal.signal(signal.SIGALRM, give_up)
    number = 0
    errors = 0
    written = 0
    while written < count:
        number += 1
        template, context = random_programs.make_program(f"{seed}/{number}")
        try:
            signal.alarm(2)
            outcome = environment.run(template, context)
            signal.alarm(0)
        except TooSlow:
            continue
        if outcome.get("error") in ("MemoryError", "RecursionError"):
            continue
        if ADDRESS.search(outcome.get("text", "")) or len(outcome.get("text", "")) > 4000:
            continue
        if "error" in outcome:
            if errors * 5 > written:  # a fifth of the cases may be errors
                continue
            errors += 1
        written += 1
        yield {"id": f"random/{seed}/{number}", "template": template, "context": context, **outcome}


def handwritten_cases():
    import handwritten

    yield {"shared_context": handwritten.CONTEXT}
    for number, (template, context) in enumerate(handwritten.CASES):
        outcome = environment.run(template, context)
        if ADDRESS.search(outcome.get("text", "")):
            raise SystemExit(f"no expected text for {template}")
        yield {"id": f"hand/{number}", "template": template, **outcome}
    for number, (template, feature) in enumerate(handwritten.REFUSED):
        if "error" in environment.run(template, handwritten.CONTEXT):
            raise SystemExit(f"jinja2 does not render {template}")
        yield {"id": f"refused/{number}", "template": template, "refused": feature}


def chat_cases():
    import conversations

    for path in sorted(MODELS.glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        for name, conversation in conversations.CONVERSATIONS.items():
            yield {"id": f"chat/{path.stem}/{name}", "model": path.stem, "chat": conversation,
                   **environment.run_chat(template, conversation)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--handwritten", action="store_true")
    parser.add_argument("--chats", action="store_true")
    arguments = parser.parse_args()
    if arguments.handwritten:
        cases = handwritten_cases()
    elif arguments.chats:
        cases = chat_cases()
    else:
        cases = random_cases(arguments.seed, arguments.count)
    for case in cases:
        sys.stdout.write(json.dumps(case, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
