// Markdown to a tree of blocks. What is no markdown stays text: nothing here knows HTML. All work is linear in the
// text but for bounded look-ahead, and nesting has a limit, since the text is a model's and may be anything.

import {parseInline} from "./markdown_inline.js";

const DEEPEST = 12;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;

// [{type, source, ...}]; source: the block's lines, by which a view knows whether a block has changed.
//   code: language, text    heading: level, inline    rule    quote: blocks    paragraph: inline
//   list: ordered, start, items (blocks each)         table: align, header, rows (cells of inline)
export function parseMarkdown(text) {
  return parseBlocks(text.replace(/\r\n?/g, "\n").replaceAll("\t", "    ").split("\n"), 0);
}

function parseBlocks(lines, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      ++at;
      continue;
    }
    const [block, end] = parseBlock(lines, at, depth);
    block.source = lines.slice(at, end).join("\n");
    blocks.push(block);
    at = end;
  }
  return blocks;
}

// [block, the line after it]
function parseBlock(lines, at, depth) {
  const line = lines[at];
  if (FENCE.test(line)) return parseFence(lines, at);
  const level = headingLevel(line);
  if (level > 0) return [{type: "heading", level, inline: parseInline(headingText(line, level))}, at + 1];
  if (RULE.test(line)) return [{type: "rule"}, at + 1];
  if (depth < DEEPEST && QUOTE.test(line)) return parseQuote(lines, at, depth);
  if (depth < DEEPEST && isItem(line)) return parseList(lines, at, depth);
  if (isTable(lines, at)) return parseTable(lines, at);
  return parseParagraph(lines, at, depth);
}

const isBlank = (line) => line.trim() === "";
const indentOf = (line) => line.length - line.trimStart().length;
const isItem = (line) => ITEM.test(line) && indentOf(line) < 4;

function headingLevel(line) {
  const match = /^ {0,3}(#{1,6})(?= |$)/.exec(line);
  return match ? match[1].length : 0;
}

function headingText(line, level) {
  const text = line.trim().slice(level).trim();
  let end = text.length;
  while (end > 0 && text[end - 1] === "#") --end;
  return end === 0 || text[end - 1] === " " ? text.slice(0, end).trim() : text;
}

// A fence that nothing closes goes to the end, as while an answer streams.
function parseFence(lines, at) {
  const [, fence, info] = FENCE.exec(lines[at]);
  const indent = indentOf(lines[at]);
  const body = [];
  let end = at + 1;
  for (; end < lines.length; ++end) {
    const close = /^ {0,3}(`{3,}|~{3,}) *$/.exec(lines[end]);
    if (close && close[1][0] === fence[0] && close[1].length >= fence.length) {
      ++end;
      break;
    }
    body.push(lines[end].slice(Math.min(indent, indentOf(lines[end]))));
  }
  return [{type: "code", language: info.trim(), text: body.join("\n")}, end];
}

function parseQuote(lines, at, depth) {
  const body = [];
  let end = at;
  for (; end < lines.length && QUOTE.test(lines[end]); ++end) body.push(lines[end].replace(QUOTE, ""));
  return [{type: "quote", blocks: parseBlocks(body, depth + 1)}, end];
}

function markerOf(line) {
  const [, indent, marker] = ITEM.exec(line);
  const ordered = marker.length > 1;
  return {indent: indent.length, kind: ordered ? marker.at(-1) : marker, ordered, start: parseInt(marker, 10)};
}

// Models indent what belongs to an item by two to four columns, whatever the marker's width: two are enough here.
function parseList(lines, at, depth) {
  const first = markerOf(lines[at]);
  const items = [];
  let end = at;
  while (end < lines.length && ITEM.test(lines[end])) {
    const marker = markerOf(lines[end]);
    if (marker.kind !== first.kind || marker.indent >= first.indent + 2) break;
    const width = ITEM.exec(lines[end])[0].length;
    const body = [lines[end].slice(width)];
    const next = itemEnd(lines, end + 1, first.indent + 2);
    for (const line of lines.slice(end + 1, next)) body.push(line.slice(Math.min(width, indentOf(line))));
    items.push(parseBlocks(body, depth + 1));
    end = next;
    const following = skipBlank(lines, end);
    if (following < lines.length && ITEM.test(lines[following])) end = following;
  }
  return [{type: "list", ordered: first.ordered, start: first.start, items}, end];
}

function itemEnd(lines, from, indent) {
  let end = from;
  for (let at = from; at < lines.length; ++at) {
    if (isBlank(lines[at])) continue;
    const afterBlank = at > 0 && isBlank(lines[at - 1]);
    if (indentOf(lines[at]) < indent && (afterBlank || startsBlock(lines[at]))) break;
    end = at + 1;
  }
  return end;
}

function skipBlank(lines, at) {
  while (at < lines.length && isBlank(lines[at])) ++at;
  return at;
}

const startsBlock = (line) =>
    FENCE.test(line) || headingLevel(line) > 0 || RULE.test(line) || QUOTE.test(line) || isItem(line);

function cellsOf(line) {
  const text = line.trim();
  const inner = text.slice(text.startsWith("|") ? 1 : 0, text.endsWith("|") && !text.endsWith("\\|") ? -1 : undefined);
  const cells = [""];
  for (let i = 0; i < inner.length; ++i) {
    if (inner[i] === "\\" && inner[i + 1] === "|") {
      cells[cells.length - 1] += "|";
      ++i;
    } else if (inner[i] === "|") {
      cells.push("");
    } else {
      cells[cells.length - 1] += inner[i];
    }
  }
  return cells.map((cell) => cell.trim());
}

function isTable(lines, at) {
  if (!lines[at].includes("|") || at + 1 >= lines.length || !/^[ |:-]*-[ |:-]*$/.test(lines[at + 1])) return false;
  const cells = cellsOf(lines[at + 1]);
  return lines[at + 1].includes("|") && cells.length === cellsOf(lines[at]).length &&
      cells.every((cell) => /^:?-+:?$/.test(cell));
}

function parseTable(lines, at) {
  const header = cellsOf(lines[at]);
  const align = cellsOf(lines[at + 1]).map((cell) => {
    if (cell.endsWith(":")) return cell.startsWith(":") ? "center" : "right";
    return "left";
  });
  const rows = [];
  let end = at + 2;
  for (; end < lines.length && lines[end].includes("|"); ++end) {
    const cells = cellsOf(lines[end]);
    cells.push(cells.splice(header.length - 1).join(" | "));  // nothing is lost where there are too many
    rows.push(header.map((_, i) => parseInline(cells[i] ?? "")));
  }
  return [{type: "table", align, header: header.map((cell) => parseInline(cell)), rows}, end];
}

function parseParagraph(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end])) {
    // A number in the middle of a sentence that was wrapped begins no list, unless it is a 1.
    const item = isItem(lines[end]) && (!markerOf(lines[end]).ordered || markerOf(lines[end]).start === 1);
    const starts = startsBlock(lines[end]) && (!isItem(lines[end]) || item);
    if ((starts && depth < DEEPEST) || isTable(lines, end)) break;
    ++end;
  }
  return [{type: "paragraph", inline: parseInline(lines.slice(at, end).map((l) => l.trim()).join("\n"))}, end];
}
