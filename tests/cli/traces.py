"""Reads what --trace wrote, and checks what holds for every trace."""

import collections
import json


def refuse(constant):
    raise ValueError(f"{constant} is not JSON")


class Trace:
    """steps: their args; spans: {request: {station: (begin, end, args)}}, in microseconds."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.events = json.load(file, parse_constant=refuse)["traceEvents"]
        self.slices = [e for e in self.events if e["ph"] == "X"]
        self.steps = [e["args"] for e in self.slices if e["name"] == "step"]
        self.spans = collections.defaultdict(dict)
        self._pair()

    def _pair(self):
        open_spans = collections.defaultdict(list)
        for e in (e for e in self.events if e["ph"] in "be"):
            stack = open_spans[e["cat"], e["id"]]
            if e["ph"] == "b":
                stack.append(e)
                continue
            begin = stack.pop()
            assert begin["name"] == e["name"] and begin["ts"] <= e["ts"] + 0.002, (begin, e)
            name = "whole" if e["name"].startswith("request ") else e["name"]
            self.spans[e["id"]][name] = (begin["ts"], e["ts"], {**begin.get("args", {}), **e.get("args", {})})
        assert not any(open_spans.values()), open_spans

    def inside(self, outer, inner):
        """Slices of track `inner` that lie in slices of that name on the track of steps, by outer slice."""
        for step in (s for s in self.slices if s["name"] == outer):
            end = step["ts"] + step["dur"]
            yield step, [s for s in self.slices if s["tid"] == inner and s["name"] != outer
                         and step["ts"] - 0.01 <= s["ts"] and s["ts"] + s["dur"] <= end + 0.01]
