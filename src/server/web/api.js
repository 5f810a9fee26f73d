// The server's API: keys, errors, streams.

import {SseParser} from "./sse.js";

const KEY = "toccata.key";

// For this tab alone: gone when it is closed.
export const getKey = () => sessionStorage.getItem(KEY) ?? "";
export function setKey(key) {
  key === "" ? sessionStorage.removeItem(KEY) : sessionStorage.setItem(KEY, key);
}

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;  // 0: in a stream, or the server was not reached
  }
}

export async function request(path, options = {}) {
  const headers = {...options.headers};
  if (getKey() !== "") headers.Authorization = `Bearer ${getKey()}`;
  let response;
  try {
    response = await fetch(path, {...options, headers, cache: "no-store"});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (!response.ok) throw new ApiError(response.status, await errorMessage(response));
  return response;
}

async function errorMessage(response) {
  try {
    const {message} = (await response.json()).error;
    if (message) return message[0].toUpperCase() + message.slice(1) + ".";
  } catch {  // a proxy's page, say
  }
  return `The server answered with status ${response.status}.`;
}

export async function listModels() {
  return (await (await request("/v1/models")).json()).data;
}

// The events of a streamed chat completion. The connection ends with the signal, and with it the request.
export async function* streamChat(body, signal) {
  const response = await request("/v1/chat/completions", {
    method: "POST",
    signal,
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify({...body, stream: true, stream_options: {include_usage: true}}),
  });
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  for (;;) {
    const {done, value} = await read(reader);
    if (done) throw new ApiError(0, "The connection was lost before the answer was complete.");
    for (const data of parser.push(decoder.decode(value, {stream: true}))) {
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw new ApiError(0, event.error.message);
      yield event;
    }
  }
}

async function read(reader) {
  try {
    return await reader.read();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The connection was lost before the answer was complete.");
  }
}
