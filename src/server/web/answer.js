// One answer while it comes: its text, its tokens, its times, and how all that is told in a line.

export class Answer {
  content = "";
  tokens = [];  // as in logprobs.content of the API
  #begin = performance.now();
  #first = 0;
  #last = 0;
  #usage = null;
  #reason = null;

  take(event) {
    if (event.usage) this.#usage = event.usage;
    const choice = event.choices[0];
    if (!choice) return;
    const text = choice.delta?.content ?? "";
    const tokens = choice.logprobs?.content ?? [];
    if (text !== "" || tokens.length > 0) {
      this.#last = performance.now();
      this.#first ||= this.#last;
    }
    this.content += text;
    this.tokens.push(...tokens);
    this.#reason = choice.finish_reason ?? this.#reason;
  }

  // "86 tokens, 41.2 tokens/s, first after 120 ms, ..."; `stopped`: the user ended it.
  note(stopped) {
    const parts = [];
    const count = this.#usage?.completion_tokens ?? this.tokens.length;
    if (count > 0) parts.push(count === 1 ? "1 token" : `${count} tokens`);
    const seconds = (this.#last - this.#first) / 1000;
    if (count > 1 && seconds > 0) parts.push(`${((count - 1) / seconds).toFixed(1)} tokens/s`);
    if (this.#first > 0) parts.push(`first after ${duration(this.#first - this.#begin)}`);
    const cached = this.#usage?.prompt_tokens_details?.cached_tokens;
    if (cached > 0) parts.push(`${cached} of ${this.#usage.prompt_tokens} prompt tokens cached`);
    const details = this.#usage?.completion_tokens_details;
    if (details) {
      const accepted = details.accepted_prediction_tokens;
      parts.push(`${accepted} of ${accepted + details.rejected_prediction_tokens} drafted tokens accepted`);
    }
    if (stopped) parts.push("stopped");
    if (this.#reason === "length") parts.push("cut at the limit");
    if (this.#reason === "timeout") parts.push("timed out");
    return parts.join(" \u00b7 ");
  }
}

const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
