// The page: views, panels, the key, and the state of the server.

import {ApiError, getKey, listModels, setKey} from "./api.js";
import {Chat} from "./chat.js";
import {Dashboard} from "./dashboard.js";
import {byId, element} from "./dom.js";
import {hideCard} from "./tokens_view.js";
import {Settings} from "./settings.js";

const WIDE = matchMedia("(min-width: 60rem)");
const RETRY_MS = 2000;

function setUpPanels() {
  const panels = ["history", "settings"];
  const show = (name, on) => {
    byId(name).hidden = !on;
    byId(`${name}-button`).setAttribute("aria-expanded", String(on));
  };
  for (const name of panels) {
    byId(`${name}-button`).addEventListener("click", () => {
      const on = byId(name).hidden;
      if (!WIDE.matches) panels.forEach((other) => show(other, false));
      show(name, on);
      if (on) byId(name).querySelector("button, textarea").focus();
    });
  }
  show("history", WIDE.matches);
  byId("history").addEventListener("click", (event) => {
    if (!WIDE.matches && event.target.closest(".open, #new-chat")) show("history", false);
  });
  return () => {  // closes what lies over the conversation; true if there was something
    const open = WIDE.matches ? [] : panels.filter((name) => !byId(name).hidden);
    open.forEach((name) => {
      show(name, false);
      byId(`${name}-button`).focus();
    });
    return open.length > 0;
  };
}

function setState(kind, text) {
  const dot = element("span", {class: `dot ${kind}`, "aria-hidden": "true"});
  byId("server-state").replaceChildren(dot, text);
}

function askForKey() {
  const dialog = byId("key-dialog");
  byId("key-button").hidden = false;
  byId("key").value = getKey();
  if (!dialog.open) dialog.showModal();
}

async function connect() {
  try {
    const models = await listModels();
    const chosen = byId("model").value;
    byId("model").replaceChildren(...models.map((model) => element("option", {value: model.id}, model.id)));
    if (models.some((model) => model.id === chosen)) byId("model").value = chosen;
    const ready = models.some((model) => model.max_model_len !== undefined);
    ready ? setState("good", "ready") : setState("busy", "loading the model");
    if (!ready) setTimeout(connect, RETRY_MS);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      setState("bad", "key needed");
      askForKey();
      return;
    }
    setState("bad", "not reached");
    setTimeout(connect, RETRY_MS);
  }
}

function setUpKey() {
  byId("key-button").addEventListener("click", askForKey);
  byId("key-button").hidden = getKey() === "";
  byId("key-cancel").addEventListener("click", () => byId("key-dialog").close(""));
  byId("key-dialog").addEventListener("close", () => {
    if (byId("key-dialog").returnValue === "ok") {
      setKey(byId("key").value.trim());
      connect();
    }
    byId("key").value = "";
  });
}

const VIEWS = ["chat", "dashboard"];

// The view is in the address, so that it can be linked and the back button works.
function setUpViews(onChange) {
  const show = () => {
    const asked = location.hash.replace("#/", "");
    const view = VIEWS.includes(asked) ? asked : VIEWS[0];
    for (const name of VIEWS) {
      byId(name).hidden = name !== view;
      const link = byId(`nav-${name}`);
      name === view ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    }
    hideCard();
    onChange();
  };
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId(VIEWS.find((name) => !byId(name).hidden)).focus();
  });
  addEventListener("hashchange", show);
  show();
}

const closePanels = setUpPanels();
setUpKey();
const chat = new Chat(new Settings(), askForKey);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || byId("key-dialog").open) return;
  hideCard();
  if (!closePanels()) chat.stop();
});
const dashboard = new Dashboard((error) => {
  if (error.status === 401) askForKey();
});
setUpViews(() => dashboard.update());
connect();
