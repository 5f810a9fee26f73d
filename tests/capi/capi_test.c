/* The C API as a C11 program uses it: capi_test MODEL.gguf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "toccata/toccata.h"

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, toccata_error()); \
      exit(1);                                                                              \
    }                                                                                       \
  } while (0)

enum { kAnswer = 24, kMost = 64 };

struct answer {
  int32_t tokens[kMost];
  size_t count;
  volatile int finished;
  toccata_finish finish;
};

static toccata_engine* start(const char* model) {
  toccata_engine_options o;
  toccata_engine_options_init(&o, sizeof o);
  CHECK(o.struct_size == sizeof o && o.max_sequences > 1 && o.prefix_caching);
  o.model = model;
  o.threads = 2;
  o.kv_memory = 1 << 20;
  toccata_engine* engine = NULL;
  CHECK(toccata_engine_start(&o, &engine) == TOCCATA_OK);
  return engine;
}

static toccata_request_options ask(const int32_t* prompt, size_t n) {
  toccata_request_options o;
  toccata_request_options_init(&o, sizeof o);
  o.prompt = prompt;
  o.prompt_tokens = n;
  o.max_tokens = kAnswer;
  o.ignore_eos = true;
  o.seed = 7;
  o.temperature = 1.0f;
  return o;
}

static void take(struct answer* a, const toccata_event* e) {
  if (e->kind == TOCCATA_EVENT_TOKEN) {
    CHECK(a->count < kMost);
    a->tokens[a->count++] = e->token;
  }
  CHECK(e->text != NULL && strlen(e->text) == e->text_size);
  if (e->kind == TOCCATA_EVENT_FINISH) {
    a->finish = e->finish;
    a->finished = 1;
  }
}

static void on_event(void* user, const toccata_event* event) { take(user, event); }

static struct answer poll_all(toccata_request* request) {
  struct answer a = {.count = 0};
  toccata_event e;
  toccata_event_init(&e, sizeof e);
  while (!a.finished) {
    CHECK(toccata_poll(request, -1, &e) == TOCCATA_OK);
    take(&a, &e);
  }
  CHECK(toccata_poll(request, 0, &e) == TOCCATA_INVALID_ARGUMENT);
  CHECK(e.generated_tokens == (int64_t)a.count && e.total_seconds > 0);
  return a;
}

static void answers_are_the_same_however_they_come(toccata_engine* engine, const int32_t* prompt, size_t n) {
  const toccata_request_options o = ask(prompt, n);
  toccata_request *alone = NULL, *several[4], *called = NULL;
  CHECK(toccata_submit(engine, &o, NULL, NULL, &alone) == TOCCATA_OK);
  const struct answer expected = poll_all(alone);
  CHECK(expected.count == kAnswer && expected.finish == TOCCATA_FINISH_LENGTH);
  toccata_request_free(alone);
  struct answer by_callback = {.count = 0};
  for (int i = 0; i < 4; ++i) CHECK(toccata_submit(engine, &o, NULL, NULL, &several[i]) == TOCCATA_OK);
  CHECK(toccata_submit(engine, &o, on_event, &by_callback, &called) == TOCCATA_OK);
  toccata_event e;
  toccata_event_init(&e, sizeof e);
  CHECK(toccata_poll(called, 0, &e) == TOCCATA_INVALID_ARGUMENT);
  for (int i = 0; i < 4; ++i) {
    const struct answer a = poll_all(several[i]);
    CHECK(a.count == expected.count && memcmp(a.tokens, expected.tokens, sizeof(int32_t) * a.count) == 0);
    toccata_request_free(several[i]);
  }
  toccata_engine_free(engine); /* waits for the engine's thread; the request may still be freed */
  CHECK(by_callback.finished && by_callback.count <= expected.count);
  CHECK(memcmp(by_callback.tokens, expected.tokens, sizeof(int32_t) * by_callback.count) == 0);
  toccata_cancel(called);
  toccata_request_free(called);
}

static void requests_can_be_cancelled(toccata_engine* engine, const int32_t* prompt, size_t n) {
  toccata_request_options o = ask(prompt, n);
  o.max_tokens = 200;
  toccata_request* request = NULL;
  CHECK(toccata_submit(engine, &o, NULL, NULL, &request) == TOCCATA_OK);
  toccata_cancel(request);
  toccata_event e;
  toccata_event_init(&e, sizeof e);
  do {
    CHECK(toccata_poll(request, -1, &e) == TOCCATA_OK);
  } while (e.kind != TOCCATA_EVENT_FINISH);
  CHECK(e.finish == TOCCATA_FINISH_CANCELLED || e.generated_tokens == 200);
  toccata_request_free(request);
  CHECK(toccata_submit(engine, &o, NULL, NULL, &request) == TOCCATA_OK);
  toccata_request_free(request); /* while it runs */
}

static void faults_are_named(toccata_engine* engine, const int32_t* prompt, size_t n) {
  toccata_request* request = NULL;
  toccata_request_options o = ask(prompt, n);
  o.top_p = 2.0f;
  CHECK(toccata_submit(engine, &o, NULL, NULL, &request) == TOCCATA_INVALID_ARGUMENT);
  CHECK(request == NULL && strstr(toccata_error(), "top_p"));
  o = ask(prompt, 0);
  CHECK(toccata_submit(engine, &o, NULL, NULL, &request) == TOCCATA_INVALID_ARGUMENT);
  o = ask(NULL, 3);
  CHECK(toccata_submit(engine, &o, NULL, NULL, &request) == TOCCATA_INVALID_ARGUMENT);
  CHECK(strstr(toccata_error(), "prompt"));
  CHECK(toccata_submit(engine, NULL, NULL, NULL, &request) == TOCCATA_INVALID_ARGUMENT);
  o = ask(prompt, n);
  o.struct_size = 0;
  CHECK(toccata_submit(engine, &o, NULL, NULL, &request) == TOCCATA_INVALID_ARGUMENT);
  o.struct_size = sizeof o + 8; /* a later version */
  CHECK(toccata_submit(engine, &o, NULL, NULL, &request) == TOCCATA_INVALID_ARGUMENT);
  toccata_engine_options e;
  toccata_engine_options_init(&e, sizeof e);
  toccata_engine* none = NULL;
  CHECK(toccata_engine_start(&e, &none) == TOCCATA_INVALID_ARGUMENT);
  e.model = "/nowhere/none.gguf";
  CHECK(toccata_engine_start(&e, &none) != TOCCATA_OK && none == NULL && strstr(toccata_error(), "none.gguf"));
}

/* A program of an earlier version has fewer fields: the others have their defaults, and nothing is written past. */
static void structs_may_be_shorter(toccata_engine* engine, const int32_t* prompt, size_t n) {
  const size_t had = offsetof(toccata_request_options, temperature);
  toccata_request_options o;
  memset(&o, 0x55, sizeof o);
  toccata_request_options_init(&o, had);
  CHECK(o.struct_size == had && memcmp((char*)&o + had, "\x55\x55\x55\x55", 4) == 0);
  o.prompt = prompt;
  o.prompt_tokens = n;
  o.max_tokens = 3;
  toccata_request* request = NULL;
  CHECK(toccata_submit(engine, &o, NULL, NULL, &request) == TOCCATA_OK);
  toccata_event e;
  memset(&e, 0x55, sizeof e);
  const size_t size = offsetof(toccata_event, prompt_tokens);
  toccata_event_init(&e, size);
  do {
    CHECK(toccata_poll(request, -1, &e) == TOCCATA_OK);
  } while (e.kind != TOCCATA_EVENT_FINISH);
  CHECK(memcmp((char*)&e + size, "\x55\x55\x55\x55", 4) == 0);
  toccata_request_free(request);
}

int main(int argc, char** argv) {
  CHECK(argc == 2 && strlen(toccata_version()) > 0);
  toccata_engine* engine = start(argv[1]);
  int32_t prompt[16];
  size_t n = 0;
  CHECK(toccata_tokenize(engine, "hello world", 11, true, prompt, 16, &n) == TOCCATA_OK && n > 1 && n <= 16);
  size_t same = 0;
  CHECK(toccata_tokenize(engine, "hello world", 11, true, NULL, 0, &same) == TOCCATA_OK && same == n);
  CHECK(toccata_context(engine) > 0 && toccata_vocabulary(engine) > 0);
  faults_are_named(engine, prompt, n);
  structs_may_be_shorter(engine, prompt, n);
  requests_can_be_cancelled(engine, prompt, n);
  answers_are_the_same_however_they_come(engine, prompt, n); /* frees the engine */
  toccata_engine_free(NULL);
  toccata_request_free(NULL);
  return 0;
}
