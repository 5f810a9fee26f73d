// One message of the conversation: its text, what is known about it, and its buttons.

import {element} from "./dom.js";
import {copyText, MarkdownView} from "./markdown_view.js";
import {hideCard, tokensView} from "./tokens_view.js";

export class MessageView {
  // onRetry: null where there is nothing to be tried again.
  constructor(message, onRetry) {
    this.message = message;
    const own = message.role === "user";
    this.body = element("div", {class: "body"});
    this.note = element("span", {class: "note"});
    this.foot = element("div", {class: "foot"});
    this.node = element("article", {class: `message ${message.role}`, "aria-label": own ? "You" : "Answer"},
                        [this.body, this.foot]);
    if (!own) this.node.setAttribute("aria-live", "polite");
    this.markdown = own ? null : new MarkdownView(this.body);
    this.onRetry = onRetry;
    this.showText();
    this.finish();
  }

  // While an answer streams, screen readers wait for its end.
  begin() {
    this.node.setAttribute("aria-busy", "true");
    this.node.classList.add("streaming");
    this.foot.replaceChildren();
  }

  showText() {
    this.markdown ? this.markdown.update(this.message.content) : (this.body.textContent = this.message.content);
  }

  finish() {
    this.node.setAttribute("aria-busy", "false");
    this.node.classList.remove("streaming");
    this.note.textContent = this.message.note ?? "";
    const buttons = [this.#button("Copy", (button) => copyText(this.message.content, button))];
    if (this.message.tokens?.length > 0) buttons.push(this.#tokensButton());
    if (this.onRetry) buttons.push(this.#button("Try again", this.onRetry));
    this.foot.replaceChildren(...buttons, this.note);
  }

  #button(label, action) {
    const button = element("button", {type: "button", class: "quiet small"}, label);
    button.addEventListener("click", () => action(button));
    return button;
  }

  #tokensButton() {
    const button = this.#button("Tokens", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(on));
      this.body.replaceChildren();
      if (on) {
        this.body.append(tokensView(this.message.tokens));
      } else {
        hideCard();
        this.markdown = new MarkdownView(this.body);
        this.showText();
      }
    });
    button.setAttribute("aria-pressed", "false");
    return button;
  }
}
