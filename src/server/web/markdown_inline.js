// The inside of a block: strings, and {type: code (text), strong, em, strike (children), link (href, children)}.

const DEEPEST = 8;        // marks that are open at once
const LONGEST_LINK = 2000;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const BARE_URL = /https?:\/\/[^\s<>"'`|\\^{}]+/y;
const KINDS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "strike"};

// The address, if a click on it can do no more than open a page or a mail; else null.
export function safeHref(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
}

export function parseInline(text, links = true) {
  return new Inline(text, links).parse();
}

class Inline {
  constructor(text, links) {
    this.text = text;
    this.links = links;
    this.at = 0;
    this.frames = [{mark: "", nodes: []}];  // the marks that are open, and what stands behind each
    this.runs = backtickRuns(text);
  }

  parse() {
    while (this.at < this.text.length) this.#step();
    while (this.frames.length > 1) this.#giveUp();
    return this.frames[0].nodes;
  }

  #step() {
    const c = this.text[this.at];
    if (c === "\\" && ESCAPABLE.test(this.text[this.at + 1] ?? "")) {
      this.#literal(this.text[this.at + 1]);
      this.at += 2;
    } else if (c === "`") {
      this.#code();
    } else if (c === "*" || c === "_" || (c === "~" && this.text[this.at + 1] === "~")) {
      this.#mark(c);
    } else if (c === "[" || (c === "!" && this.text[this.at + 1] === "[")) {
      if (!this.links || !this.#link(c === "!")) this.#plain(c);
    } else if (c === "h" && this.links && this.#bareUrl()) {
      return;
    } else {
      this.#plain(c);
    }
  }

  #plain(c) {
    this.#literal(c);
    ++this.at;
  }

  #literal(text) {
    const nodes = this.frames.at(-1).nodes;
    if (typeof nodes.at(-1) === "string")
      nodes[nodes.length - 1] += text;
    else if (text !== "")
      nodes.push(text);
  }

  #push(node) {
    this.frames.at(-1).nodes.push(node);
  }

  #code() {
    const begin = this.at;
    while (this.text[this.at] === "`") ++this.at;
    const length = this.at - begin;
    const ends = this.runs.get(length) ?? [];  // none: an escaped backtick began the run
    while (ends.length > 0 && ends[0] < this.at) ends.shift();
    if (ends.length === 0) return this.#literal(this.text.slice(begin, this.at));
    let code = this.text.slice(this.at, ends[0]).replaceAll("\n", " ");
    if (code.length > 2 && code.startsWith(" ") && code.endsWith(" ")) code = code.slice(1, -1);
    this.#push({type: "code", text: code});
    this.at = ends[0] + length;
  }

  // A run of marks closes what it can, the innermost first, and opens with the rest.
  #mark(c) {
    const begin = this.at;
    while (this.text[this.at] === c) ++this.at;
    const before = this.text[begin - 1] ?? " ", after = this.text[this.at] ?? " ";
    const inWord = c === "_" && isWord(before) && isWord(after);
    const opens = !/\s/.test(after) && !inWord && (c !== "_" || !isWord(before));
    const closes = !/\s/.test(before) && !inWord && (c !== "_" || !isWord(after));
    let left = this.at - begin;
    while (closes && left > 0) {
      const closed = this.#close(c, left);
      if (closed === 0) break;
      left -= closed;
    }
    while (left > 0) {
      const mark = c.repeat(c === "~" ? Math.min(left, 2) : left >= 2 && left !== 3 ? 2 : 1);
      left -= mark.length;
      const open = opens && mark in KINDS && left <= 2 && this.frames.length <= DEEPEST;
      open ? this.frames.push({mark, nodes: []}) : this.#literal(mark);
    }
  }

  // How many characters of the run closed a frame; 0: none fits.
  #close(c, left) {
    for (let i = this.frames.length - 1; i > 0; --i) {
      const frame = this.frames[i];
      if (frame.mark[0] !== c || frame.mark.length > left || frame.nodes.length === 0) continue;
      while (this.frames.length - 1 > i) this.#giveUp();
      this.frames.pop();
      this.#push({type: KINDS[frame.mark], children: frame.nodes});
      return frame.mark.length;
    }
    return 0;
  }

  // The innermost mark was none.
  #giveUp() {
    const {mark, nodes} = this.frames.pop();
    this.#literal(mark);
    for (const node of nodes) typeof node === "string" ? this.#literal(node) : this.#push(node);
  }

  // [label](address "title"). An image is a link, too: the page loads nothing from elsewhere.
  #link(image) {
    const begin = this.at + (image ? 2 : 1);
    const limit = Math.min(this.text.length, begin + LONGEST_LINK);
    const close = matching(this.text, begin, limit, "[", "]");
    if (close < 0 || this.text[close + 1] !== "(") return false;
    const end = matching(this.text, close + 2, limit, "(", ")");
    if (end < 0) return false;
    const address = /^\s*<?([^\s<>]*)>?(?:\s+["'(].*)?\s*$/s.exec(this.text.slice(close + 2, end));
    const href = address && safeHref(address[1]);
    if (!href) return false;
    const label = this.text.slice(begin, close) || address[1];
    this.#push({type: "link", href, children: parseInline(label, false)});
    this.at = end + 1;
    return true;
  }

  #bareUrl() {
    if (isWord(this.text[this.at - 1] ?? " ")) return false;
    BARE_URL.lastIndex = this.at;
    const match = BARE_URL.exec(this.text);
    if (!match) return false;
    let url = match[0];
    for (;;) {  // punctuation at its end belongs to the sentence, as does a bracket that the URL did not open
      const last = url.at(-1);
      if (!/[.,;:!?*_~)\]]/.test(last) || (last === ")" && url.includes("("))) break;
      url = url.slice(0, -1);
    }
    const href = safeHref(url);
    if (!href) return false;
    this.#push({type: "link", href, children: [url]});
    this.at += url.length;
    return true;
  }
}

const isWord = (c) => /[\p{L}\p{N}_]/u.test(c);

// Where the bracket that is open at `from` closes; -1: not before `limit`.
function matching(text, from, limit, open, close) {
  let depth = 1;
  for (let i = from; i < limit; ++i) {
    if (text[i] === "\\") {
      ++i;
    } else if (text[i] === open) {
      ++depth;
    } else if (text[i] === close && --depth === 0) {
      return i;
    }
  }
  return -1;
}

// length: positions of the runs of so many backticks, ascending
function backtickRuns(text) {
  const runs = new Map();
  for (const match of text.matchAll(/`+/g)) {
    const length = match[0].length;
    if (!runs.has(length)) runs.set(length, []);
    runs.get(length).push(match.index);
  }
  return runs;
}
