// The chat: conversations, the one that is shown, and the answer that is being generated.

import {Answer} from "./answer.js";
import {streamChat} from "./api.js";
import {byId, confirmingButton, element} from "./dom.js";
import {MessageView} from "./message_view.js";
import {loadConversations, newConversation, saveConversations} from "./store.js";

const TITLE_LENGTH = 48;

export class Chat {
  #settings;
  #askForKey;
  #conversations = loadConversations();
  #current = newConversation();
  #running = null;  // AbortController
  #messages = byId("messages");
  #prompt = byId("prompt");

  constructor(settings, askForKey) {
    this.#settings = settings;
    this.#askForKey = askForKey;
    if (this.#conversations.length > 0) this.#current = this.#conversations[0];
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    byId("stop").addEventListener("click", () => this.stop());
    byId("new-chat").addEventListener("click", () => this.#open(newConversation()));
    confirmingButton(byId("clear-all"), "Really delete all?", () => {
      this.#conversations = [];
      this.#open(newConversation());
      this.#save();
    });
    this.#prompt.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.send();
    });
    this.#prompt.addEventListener("input", () => this.#fitPrompt());
    this.#open(this.#current);
  }

  get running() {
    return this.#running !== null;
  }

  stop() {
    this.#running?.abort();
  }

  send() {
    const content = this.#prompt.value;
    if (this.running || content.trim() === "") return;
    const problem = this.#settings.problem();
    if (problem) return this.notice(problem);
    this.#prompt.value = "";
    this.#fitPrompt();
    const conversation = this.#current;
    if (conversation.messages.length === 0) {
      const title = content.trim().replace(/\s+/g, " ");
      conversation.title = title.length > TITLE_LENGTH ? `${title.slice(0, TITLE_LENGTH)}\u2026` : title;
    }
    conversation.messages.push({role: "user", content});
    this.#conversations = [conversation, ...this.#conversations.filter((c) => c !== conversation)];
    this.#show();
    this.#generate(conversation);
  }

  notice(text) {
    byId("notice").textContent = text;
    byId("notice").hidden = text === "";
  }

  #retry() {
    if (this.running) return;
    if (this.#current.messages.at(-1)?.role === "assistant") this.#current.messages.pop();
    this.#show();
    this.#generate(this.#current);
  }

  async #generate(conversation) {
    const controller = this.#setRunning(new AbortController());
    const body = {
      ...this.#settings.fields(),
      model: byId("model").value || undefined,
      messages: [...this.#settings.systemMessages(), ...conversation.messages.map(({role, content}) => ({role, content}))],
    };
    const message = {role: "assistant", content: "", tokens: []};
    const view = new MessageView(message, () => this.#retry());
    view.begin();
    this.#append(view.node);
    const answer = new Answer();
    let frame = 0;
    const show = () => {
      frame = 0;
      this.#keepAtEnd(() => view.showText());
    };
    let failure = null;
    try {
      for await (const event of streamChat(body, controller.signal)) {
        answer.take(event);
        message.content = answer.content;
        frame ||= requestAnimationFrame(show);
      }
    } catch (error) {
      failure = error;
    }
    cancelAnimationFrame(frame);
    Object.assign(message, {tokens: answer.tokens, note: answer.note(failure?.name === "AbortError")});
    show();
    this.#finish(conversation, view, failure);
  }

  #finish(conversation, view, failure) {
    const {message} = view;
    const stopped = failure?.name === "AbortError";
    const kept = message.content !== "" || failure === null || (stopped && message.tokens.length > 0);
    if (kept && this.#conversations.includes(conversation)) conversation.messages.push(message);
    this.#keepAtEnd(() => view.finish());
    if (!kept) view.node.remove();
    this.#setRunning(null);
    this.#save();
    byId("announcement").textContent = stopped ? "Stopped." : failure ? "The answer failed." : "The answer is complete.";
    if (failure && !stopped) {
      this.notice(failure.message);
      if (failure.status === 401) this.#askForKey();
    }
    if (!kept && conversation === this.#current) this.#offerRetry();
  }

  // After a failure the question stands alone: it can be asked again.
  #offerRetry() {
    const button = element("button", {type: "button", class: "quiet small retry"}, "Try again");
    button.addEventListener("click", () => this.#retry());
    this.#append(button);
  }

  #setRunning(controller) {
    this.#running = controller;
    const hadFocus = [byId("send"), byId("stop")].includes(document.activeElement);
    byId("send").hidden = controller !== null;
    byId("stop").hidden = controller === null;
    if (hadFocus) (controller ? byId("stop") : this.#prompt).focus();
    if (controller) {
      this.notice("");
      byId("announcement").textContent = "The answer is being generated.";
    }
    return controller;
  }

  #open(conversation) {
    this.stop();
    this.#current = conversation;
    this.notice("");
    this.#show();
    this.#prompt.focus();
  }

  #show() {
    const {messages} = this.#current;
    const nodes = messages.map((message, i) => {
      const last = i === messages.length - 1 && message.role === "assistant";
      return new MessageView(message, last ? () => this.#retry() : null).node;
    });
    if (nodes.length === 0) {
      nodes.push(element("div", {class: "welcome"}, [
        element("h1", {}, "What would you like to know?"),
        element("p", {}, "The model runs on this server; nothing you write goes anywhere else."),
      ]));
    }
    this.#messages.replaceChildren(...nodes);
    this.#messages.scrollTop = this.#messages.scrollHeight;
    this.#showList();
  }

  #showList() {
    byId("conversations").replaceChildren(...this.#conversations.map((conversation) => {
      const open = element("button", {type: "button", class: "open"}, conversation.title);
      if (conversation === this.#current) open.setAttribute("aria-current", "true");
      open.addEventListener("click", () => this.#open(conversation));
      const remove = element("button", {type: "button", class: "quiet small"}, "Delete");
      confirmingButton(remove, "Really?", () => this.#remove(conversation));
      return element("li", {}, [open, remove]);
    }));
    byId("clear-all").hidden = this.#conversations.length === 0;
  }

  #remove(conversation) {
    this.#conversations = this.#conversations.filter((c) => c !== conversation);
    this.#save();
    if (conversation === this.#current) this.#open(this.#conversations[0] ?? newConversation());
    this.#showList();
  }

  #save() {
    if (!saveConversations(this.#conversations)) {
      this.notice("The browser has no room for this conversation: it is lost when the page is closed.");
    }
  }

  #append(node) {
    this.#keepAtEnd(() => this.#messages.append(node));
  }

  // Whoever has scrolled up to read stays there.
  #keepAtEnd(change) {
    const box = this.#messages;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    change();
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  #fitPrompt() {
    this.#prompt.style.height = "auto";
    this.#prompt.style.height = `${Math.min(this.#prompt.scrollHeight + 2, 200)}px`;
  }
}
