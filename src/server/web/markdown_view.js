// Shows markdown as DOM nodes. The text only ever becomes text nodes and checked addresses of links: whatever a model
// says, it cannot become markup or script.

import {parseMarkdown} from "./markdown.js";
import {element} from "./dom.js";

export class MarkdownView {
  #parent;
  #shown = [];  // [{source, node}]

  constructor(parent) {
    this.#parent = parent;
  }

  // Blocks that did not change keep their nodes, so that a selection survives the stream.
  update(text) {
    const blocks = parseMarkdown(text);
    let same = 0;
    while (same < blocks.length && same < this.#shown.length && blocks[same].source === this.#shown[same].source) ++same;
    for (const {node} of this.#shown.splice(same)) node.remove();
    for (const block of blocks.slice(same)) {
      const node = renderBlock(block);
      this.#parent.append(node);
      this.#shown.push({source: block.source, node});
    }
  }
}

const RENDERERS = {
  paragraph: (b) => element("p", {}, renderInline(b.inline)),
  heading: (b) => element(`h${Math.min(6, b.level + 2)}`, {}, renderInline(b.inline)),
  rule: () => element("hr"),
  quote: (b) => element("blockquote", {}, b.blocks.map(renderBlock)),
  list: renderList,
  table: renderTable,
  code: renderCode,
};

const renderBlock = (block) => RENDERERS[block.type](block);

function renderInline(nodes) {
  return nodes.map((node) => {
    if (typeof node === "string") return node;
    if (node.type === "code") return element("code", {}, node.text);
    if (node.type !== "link") return element({strong: "strong", em: "em", strike: "s"}[node.type], {},
                                            renderInline(node.children));
    return element("a", {href: node.href, target: "_blank", rel: "noopener noreferrer nofollow"},
                   renderInline(node.children));
  });
}

function renderList(block) {
  const items = block.items.map((blocks) => {
    const tight = blocks.length > 0 && blocks[0].type === "paragraph";
    const first = tight ? renderInline(blocks[0].inline) : [];
    return element("li", {}, [...first, ...blocks.slice(tight ? 1 : 0).map(renderBlock)]);
  });
  if (!block.ordered) return element("ul", {}, items);
  return element("ol", block.start === 1 ? {} : {start: String(block.start)}, items);
}

function renderTable(block) {
  const row = (cells, tag) => element("tr", {}, cells.map(
      (cell, i) => element(tag, {class: block.align[i]}, renderInline(cell))));
  const table = element("table", {}, [element("thead", {}, row(block.header, "th")),
                                      element("tbody", {}, block.rows.map((cells) => row(cells, "td")))]);
  return element("div", {class: "table", tabindex: "0", role: "region", "aria-label": "Table"}, table);
}

function renderCode(block) {
  const button = element("button", {type: "button", class: "quiet"}, "Copy");
  button.addEventListener("click", () => copyText(block.text, button));
  return element("figure", {class: "code"}, [
    element("figcaption", {}, [element("span", {}, block.language || "text"), button]),
    element("pre", {tabindex: "0"}, element("code", {}, block.text)),
  ]);
}

// The clipboard is there on https and localhost only; elsewhere the text is selected by an invisible field.
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", {class: "hidden", readonly: ""});
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
    button.focus();
  }
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = label === "Copied" ? "Copy" : label), 1200);
}
