// Server-sent events: the text of a stream, cut anywhere, to the data of its events.

export class SseParser {
  #rest = "";
  #data = [];

  // The data of the events that are complete with this piece.
  push(text) {
    const events = [];
    const all = this.#rest + text;
    let begin = 0;
    for (;;) {
      const end = lineEnd(all, begin);
      if (end < 0) break;
      const data = this.#line(all.slice(begin, end));
      if (data !== null) events.push(data);
      begin = end + (all.startsWith("\r\n", end) ? 2 : 1);
    }
    this.#rest = all.slice(begin);
    return events;
  }

  #line(line) {
    if (line === "") {
      if (this.#data.length === 0) return null;
      const data = this.#data.join("\n");
      this.#data = [];
      return data;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    if (field !== "data") return null;  // a comment (empty name), or a field that nobody needs here
    const value = colon < 0 ? "" : line.slice(colon + 1);
    this.#data.push(value.startsWith(" ") ? value.slice(1) : value);
    return null;
  }
}

// Lines end with \n, \r\n or \r; a \r at the end of what came may be half of \r\n. -1: there is none yet.
function lineEnd(text, from) {
  for (let i = from; i < text.length; ++i) {
    const c = text[i];
    if (c === "\n") return i;
    if (c === "\r") return i + 1 < text.length ? i : -1;
  }
  return -1;
}
