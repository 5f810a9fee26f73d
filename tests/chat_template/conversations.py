"""Conversations for the templates in models/: every template meets every conversation."""

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Weather in a <city>, \"now\" or later.",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "A name, e.g. Zürich "},
        "days": {"type": "integer", "minimum": 1, "default": 3},
        "units": {"type": "string", "enum": ["C", "F"], "nullable": True},
        "tags": {"type": "array", "items": {"type": "string"}},
    }, "required": ["city"]},
    "return": {"type": "object", "additionalProperties": {"type": "number"}}}}
NESTED = {"type": "function", "function": {
    "name": "plan", "description": "Plans a trip.\nIn two lines.",
    "parameters": {"type": "object", "required": ["stops"], "properties": {
        "stops": {"type": "array", "items": {"type": "object", "properties": {
            "at": {"oneOf": [{"type": "string", "description": "a name"}, {"type": "array", "items": {"type": "number"}}]},
            "nights": {"type": ["integer", "null"]}}, "required": ["at"]}},
        "free": {"type": "boolean", "default": False}, "anything": {}}}}}
NO_ARGUMENTS = {"type": "function", "function": {"name": "ping", "description": "", "parameters": {"type": "object", "properties": {}}}}


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **extra):
    return {"role": "assistant", "content": content, **extra}


def call(name, arguments, **extra):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **extra}


SYSTEM = {"role": "system", "content": " You are a test. \n"}
HISTORY = [user("Hi"), assistant("Hello!"), user(" And now?\r\nTell me  more about the long line that has to be wrapped somewhere. ")]
CALLS = [user("Weather in Zürich?"),
         assistant("", tool_calls=[call("get_weather", {"city": "Zürich", "days": 2, "f": 1.0}, id="abcdefghi")]),
         {"role": "tool", "content": "{\"t\": 7.5, \"sky\": \"☁ & <wind>\"}", "tool_call_id": "abcdefghi"}]

CONVERSATIONS = {
    "user": dict(messages=[user("Hello!")]),
    "nogen": dict(messages=[user("Hello!"), assistant("Hi.")], add_generation_prompt=False),
    "system": dict(messages=[SYSTEM, user("Hello!")]),
    "multi": dict(messages=[SYSTEM, *HISTORY]),
    "unicode": dict(messages=[{"role": "system", "content": "日本語"}, user("😀 ça va ? مرحبا {{ x }} {% if %} <|e|>")]),
    "empty": dict(messages=[{"role": "system", "content": ""}, user("")]),
    "tools": dict(messages=[user("Weather?")], tools=[WEATHER, NESTED, NO_ARGUMENTS]),
    "tools_system": dict(messages=[SYSTEM, *HISTORY], tools=[NESTED]),
    "calls": dict(messages=CALLS, tools=[WEATHER]),
    "calls_answered": dict(messages=[*CALLS, assistant("7.5 degrees."), user("Thanks")], tools=[WEATHER]),
    "two_calls": dict(messages=[user("Both?"), assistant("Wait.", tool_calls=[
        call("get_weather", {"city": "A"}, id="123456789"), call("plan", '{"stops": []}', id="987654321")]),
        {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}], tools=[WEATHER, NESTED]),
    "null_content": dict(messages=[user("x"), assistant(None, tool_calls=[call("ping", {}, id="short")])]),
    "thinking": dict(messages=[user("1+1?"), assistant("<think>\nsum\n</think>\n\n2"), user("2+2?"), assistant("<think>\nagain\n</think>\n\n4")],
                     add_generation_prompt=False),
    "reasoning": dict(messages=[user("1+1?"), assistant("2", reasoning_content="sum"), user("2?")]),
    "thinking_alias": dict(messages=[user("1+1?"), assistant("2", thinking="sum\n")], add_generation_prompt=False),
    "no_thinking": dict(messages=[user("1+1?")], variables={"enable_thinking": False}),
    "no_think_rule": dict(messages=[{"role": "system", "content": "Short. /no_think"}, user("1+1?"), assistant("2"), user("?")]),
    "parts": dict(messages=[{"role": "system", "content": [{"type": "text", "text": "Look."}]},
                            user([{"type": "image"}, {"type": "text", "text": " What is it? "}]), assistant("A cat")]),
    "bad_part": dict(messages=[user([{"type": "video"}])]),
    "documents": dict(messages=[SYSTEM, user("Who?")], variables={"documents": [
        {"title": "a b", "text": "one\ntwo"}, {"title": "c", "text": "a text that is much longer than forty characters", "n": 2}]}),
    "documents_tools": dict(messages=[user("Who?")], tools=[NO_ARGUMENTS], variables={"documents": [{"text": "x"}], "controls": {"length": "long"}}),
    "builtin": dict(messages=CALLS, variables={"interpreter_tools": ["python", "get_weather", "search"], "day": "today"}),
    "effort": dict(messages=[{"role": "developer", "content": "Be brief."}, user("x")], variables={"reasoning_effort": "high"}),
    "two_users": dict(messages=[user("a"), user("b")]),
    "odd_role": dict(messages=[user("a"), {"role": "critic", "content": "b"}]),
    "mapping_result": dict(messages=[*CALLS[:2], {"role": "tool", "content": {"content": {"t": 1}}}]),
    "missing_content": dict(messages=[{"role": "user"}]),
    "continue": dict(messages=[user("Poem?"), assistant("Roses are")], add_generation_prompt=False, continue_final_message=True),
    "continue_space": dict(messages=[user("Poem?"), assistant(" Roses are \n ")], add_generation_prompt=False, continue_final_message=True),
    "continue_think": dict(messages=[user("?"), assistant("<think>\nhm")], add_generation_prompt=False, continue_final_message=True),
    "continue_empty": dict(messages=[user("?"), assistant("")], add_generation_prompt=False, continue_final_message=True),
    "continue_parts": dict(messages=[user("?"), assistant([{"type": "text", "text": "One"}, {"type": "image"}])],
                           add_generation_prompt=False, continue_final_message=True),
    "continue_nothing": dict(messages=[user("?"), assistant(None)], add_generation_prompt=False, continue_final_message=True),
    "continue_image": dict(messages=[user("?"), assistant([{"type": "image"}])], add_generation_prompt=False, continue_final_message=True),
    "continue_both": dict(messages=[user("?"), assistant("x")], add_generation_prompt=True, continue_final_message=True),
    "continue_user": dict(messages=[user("Write: ")], add_generation_prompt=False, continue_final_message=True),
    "continue_number": dict(messages=[user("?"), assistant(5)], add_generation_prompt=False, continue_final_message=True),
    "no_messages": dict(messages=[]),
}
