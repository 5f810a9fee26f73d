// Conversations and settings, kept in this browser. What is stored may be anything: it is checked when it is read.

const CONVERSATIONS = "toccata.conversations", SETTINGS = "toccata.settings";
const MOST = 100;

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

// False: there is no room, or the browser keeps nothing.
function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

const isText = (value) => typeof value === "string";
const isMessage = (m) => m !== null && typeof m === "object" && ["user", "assistant"].includes(m.role) && isText(m.content);
const isConversation = (c) => c !== null && typeof c === "object" && isText(c.id) && isText(c.title) &&
    Array.isArray(c.messages) && c.messages.every(isMessage);

export function loadConversations() {
  const stored = read(CONVERSATIONS);
  return Array.isArray(stored) ? stored.filter(isConversation) : [];
}

// The newest first. What is only known while the page is open (tokens) is left out.
export function saveConversations(conversations) {
  const kept = conversations.filter((c) => c.messages.length > 0).slice(0, MOST);
  return write(CONVERSATIONS, kept.map((c) => ({
    id: c.id,
    title: c.title,
    messages: c.messages.map(({role, content, note}) => ({role, content, note})),
  })));
}

export function newConversation() {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
  return {id, title: "New chat", messages: []};
}

// {name: text}
export function loadSettings() {
  const stored = read(SETTINGS);
  if (stored === null || typeof stored !== "object") return {};
  return Object.fromEntries(Object.entries(stored).filter(([, value]) => isText(value)));
}

export const saveSettings = (settings) => write(SETTINGS, settings);
