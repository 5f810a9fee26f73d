// An answer token by token: the colour tells how sure the model was, an underline that speculation had drafted it. The
// card with the figures follows the pointer, a tap, or the arrow keys.

import {byId, element} from "./dom.js";

const card = () => byId("token-card");

// The token's text: characters may be spread over several tokens, and then the last one shows them.
function texts(tokens) {
  const decoder = new TextDecoder();
  return tokens.map((t) => decoder.decode(Uint8Array.from(t.bytes ?? []), {stream: true}));
}

const percent = (logprob) => {
  const p = 100 * Math.exp(logprob);
  return p >= 99.95 ? "100 %" : p >= 10 ? `${p.toFixed(1)} %` : p >= 0.01 ? `${p.toFixed(2)} %` : "< 0.01 %";
};
const visible = (text) => JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll(" ", "\u00b7") || "\u2205";
const level = (logprob) => Math.min(4, Math.floor(Math.exp(logprob) * 5));  // 4: 80 % and more

export function tokensView(tokens) {
  const shown = texts(tokens);
  const nodes = tokens.map((t, i) => element("span", {
    class: `token p${level(t.logprob)}${t.drafted ? " drafted" : ""}`,
    role: "option",
    id: `token-${Math.random().toString(36).slice(2)}`,
    "aria-selected": "false",
    "aria-label": `${visible(t.token)}, ${percent(t.logprob)}${t.drafted ? ", drafted" : ""}`,
  }, shown[i].replaceAll("\n", "\u21b5\n") || "\u25ab"));
  const view = element("div", {class: "tokens", role: "listbox", tabindex: "0", "aria-orientation": "horizontal",
                               "aria-label": "Tokens; the arrow keys go through them"}, nodes);
  let current = -1;
  const select = (index) => {
    if (current >= 0) nodes[current].setAttribute("aria-selected", "false");
    current = index;
    if (index < 0) {
      view.removeAttribute("aria-activedescendant");
      card().hidden = true;
      return;
    }
    nodes[index].setAttribute("aria-selected", "true");
    view.setAttribute("aria-activedescendant", nodes[index].id);
    showCard(tokens[index], nodes[index]);
  };
  const indexOf = (event) => nodes.indexOf(event.target.closest(".token"));
  view.addEventListener("pointerover", (event) => select(indexOf(event)));
  view.addEventListener("pointerleave", () => select(-1));
  view.addEventListener("blur", () => select(-1));
  view.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    select(Math.max(0, Math.min(nodes.length - 1, current + step)));
    nodes[current].scrollIntoView({block: "nearest"});
  });
  const legend = element("p", {class: "legend", "aria-hidden": "true"}, [
    "less than 20 %", ...[0, 1, 2, 3, 4].map((p) => element("span", {class: `token p${p}`}, "\u2003")), "80 % and more",
    ...(tokens.some((t) => t.drafted) ? [element("span", {class: "token p4 drafted"}, "drafted and accepted")] : []),
  ]);
  return element("div", {}, [view, legend]);
}

function showCard(token, node) {
  const box = card();
  const rows = (token.top_logprobs ?? []).map((other) => element("tr", {class: other.token === token.token ? "drawn" : ""}, [
    element("td", {}, visible(other.token)), element("td", {class: "right"}, percent(other.logprob))]));
  box.replaceChildren(
      element("p", {}, [element("strong", {}, visible(token.token)), ` ${percent(token.logprob)}`]),
      ...(token.drafted ? [element("p", {class: "drafted-note"}, "drafted by speculation and accepted")] : []),
      element("table", {"aria-label": "Most likely tokens"}, element("tbody", {}, rows)));
  box.hidden = false;
  const at = node.getBoundingClientRect();
  const below = at.bottom + box.offsetHeight + 8 < innerHeight;
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - box.offsetWidth - 8))}px`;
  box.style.top = `${below ? at.bottom + 4 : Math.max(8, at.top - box.offsetHeight - 4)}px`;
}

export const hideCard = () => (card().hidden = true);
