"""The jinja2 environment that Hugging Face transformers renders chat templates in, and a runner for test cases."""

import datetime
import json
import warnings

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

warnings.simplefilter("ignore", SyntaxWarning)  # of the Python code that jinja2 compiles templates to

# The clock that strftime_now reads in all cases.
NOW = datetime.datetime(2024, 7, 26, 15, 4, 9, 42)


class GenerationTag(jinja2.ext.Extension):
    """{% generation %} ... {% endgeneration %}: rendered like a call block around its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("render_body"), [], [], body).set_lineno(line)

    def render_body(self, caller):
        return caller()


class DictFactory:
    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args, **kwargs):
        return dict.fromkeys(*args, **kwargs)


def check_name(name):
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(
            f"Chat templates cannot store underscore-prefixed attributes on a namespace, but got {name!r}"
        )


class Namespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        attributes = dict(*args[1:], **kwargs)
        for name in attributes:
            check_name(name)
        jinja2.utils.Namespace.__init__(args[0], attributes)

    def __setitem__(self, name, value):
        check_name(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def make_environment():
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals.update(
        raise_exception=raise_exception,
        strftime_now=lambda format: NOW.strftime(format),
        dict=DictFactory(),
        namespace=Namespace,
    )
    return environment


ENVIRONMENT = make_environment()


def run(template, context):
    """Renders a template; gives the fields of the expected outcome: text, or error and for raise_exception message."""
    try:
        # Through JSON, as the C++ side gets it: tuples become lists, keys become strings.
        text = ENVIRONMENT.from_string(template).render(json.loads(json.dumps(context)))
        text.encode("utf-8")
        return {"text": text}
    except Exception as error:  # noqa: BLE001  whatever Python raises is the expected outcome
        outcome = {"error": type(error).__name__}
        if type(error) is jinja2.exceptions.TemplateError:
            outcome["message"] = str(error)
        return outcome


REASONING = ("reasoning_content", "thinking", "reasoning")
TAG = "CONTINUE_FINAL_MESSAGE_TAG "


def render_chat(template, messages, tools=None, add_generation_prompt=True, continue_final_message=False, variables=None):
    """What transformers' apply_chat_template gives as text, for bos <bos> and eos <eos>; raises ValueError as it does."""
    if not messages:
        raise ValueError("no messages")
    if continue_final_message and add_generation_prompt:
        raise ValueError("continue_final_message and add_generation_prompt")
    chat = []
    for message in json.loads(json.dumps(messages)):
        message = {key: value for key, value in message.items() if value is not None}
        reasoning = next((message[name] for name in REASONING if name in message), None)
        if reasoning is not None:
            message = {"thinking": reasoning, **message, "reasoning_content": reasoning}
        chat.append(message)
    if continue_final_message:
        final = chat[-1].get("content")
        if final is None or "content" not in template:
            raise ValueError("nothing to continue")
        if isinstance(final, list):
            blocks = [block for block in final if "text" in block]
            if not blocks:
                raise ValueError("no text to continue")
            final = blocks[-1]["text"]
            blocks[-1]["text"] += TAG
        else:
            chat[-1]["content"] = final + TAG
    text = ENVIRONMENT.from_string(template).render(
        **{"bos_token": "<bos>", "eos_token": "<eos>", "documents": None, **(variables or {})},
        messages=chat, tools=tools, add_generation_prompt=add_generation_prompt)
    if continue_final_message:
        if final.strip() not in text or TAG.strip() not in text:
            raise ValueError("the final message does not appear")
        at = text.rindex(TAG.strip())
        text = text[:at] if text[at:].startswith(TAG) else text[:at].rstrip()
    return text


def run_chat(template, conversation):
    try:
        return {"text": render_chat(template, **conversation)}
    except Exception as error:  # noqa: BLE001
        outcome = {"error": type(error).__name__}
        if type(error) is jinja2.exceptions.TemplateError:
            outcome["message"] = str(error)
        return outcome
