// The settings form, what it means in a request, and its copy in the browser.

import {byId} from "./dom.js";
import {loadSettings, saveSettings} from "./store.js";

const NUMBERS = ["temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "repetition_penalty", "presence_penalty",
                 "frequency_penalty"];
const ALTERNATIVES = 5;

export class Settings {
  #form = byId("settings-form");

  constructor() {
    const stored = loadSettings();
    for (const field of this.#form.elements) {
      if (!(field.name in stored)) continue;
      field.type === "checkbox" ? (field.checked = stored[field.name] === "on") : (field.value = stored[field.name]);
    }
    this.#form.addEventListener("input", () => this.#save());
    this.#form.addEventListener("reset", () => setTimeout(() => this.#save()));
    this.#form.addEventListener("submit", (event) => event.preventDefault());
  }

  #save() {
    const values = {};
    for (const field of this.#form.elements) {
      if (field.name) values[field.name] = field.type === "checkbox" ? (field.checked ? "on" : "off") : field.value;
    }
    saveSettings(values);
  }

  // A message if a field holds what no request may.
  problem() {
    const bad = [...this.#form.elements].find((field) => !field.checkValidity());
    return bad ? `${bad.closest("label").firstChild.textContent.trim()}: ${bad.validationMessage}` : null;
  }

  // Fields of a chat request; empty ones are the server's.
  fields() {
    const {elements} = this.#form;
    const fields = {};
    for (const name of NUMBERS) {
      if (elements[name].value !== "") fields[name] = Number(elements[name].value);
    }
    const method = elements.speculative.value;
    if (method !== "") fields.speculative = method === "off" ? "off" : {method};
    if (elements.logprobs.checked) Object.assign(fields, {logprobs: true, top_logprobs: ALTERNATIVES});
    return fields;
  }

  systemMessages() {
    const content = this.#form.elements.system.value;
    return content.trim() === "" ? [] : [{role: "system", content}];
  }
}
