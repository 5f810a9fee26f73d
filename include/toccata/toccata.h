/* The C API: an engine, its tokenizer and streamed answers, in plain C11. docs/C_API.md shows a program.
 *
 * Structs begin with struct_size, which their _init function sets to what the program passes, sizeof the struct: a
 * library that is newer than the program then knows which fields the program has, and gives the others their defaults.
 * One that is older refuses. Always call _init first.
 *
 * A function that can fail returns a toccata_status; the sentence that says what is wrong is toccata_error() of the
 * same thread. All functions may be called from any thread, but a request's events are to be polled by one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum toccata_status {
  TOCCATA_OK = 0,
  TOCCATA_INVALID_ARGUMENT = 1, /* an option or a parameter that cannot be honoured */
  TOCCATA_INVALID_FILE = 2,     /* a file that is damaged or not what it claims to be */
  TOCCATA_UNSUPPORTED = 3,      /* well-formed, but a feature that toccata does not have */
  TOCCATA_NOT_FOUND = 4,        /* no such file */
  TOCCATA_EXHAUSTED = 5,        /* memory, or places in the queue: try again later */
  TOCCATA_UNAVAILABLE = 6,      /* the engine is shutting down */
  TOCCATA_INTERNAL = 7,         /* the outside failed in a way that has no better name */
  TOCCATA_TIMED_OUT = 8         /* toccata_poll: no event yet */
} toccata_status;

const char* toccata_version(void);
/* Of the last call in this thread that failed; "" before the first. Valid until the next call that fails. */
const char* toccata_error(void);

/* --- engine --- */

typedef struct toccata_engine toccata_engine;

typedef struct toccata_engine_options {
  size_t struct_size;
  const char* model;        /* a GGUF file (the first shard of a split one) */
  int32_t threads;          /* 0: all CPUs of this process */
  int64_t context;          /* most tokens of one sequence; 0: the model's, as far as the KV pool holds it */
  uint64_t kv_memory;       /* bytes of the KV pool; 0: a share of the machine's memory */
  const char* cache_type_k; /* "f16" and so on */
  const char* cache_type_v;
  int64_t max_sequences; /* that run at once */
  int64_t max_waiting;   /* requests in the queue; more are refused */
  int64_t chunk_size;    /* prompt tokens per step; 0: chosen by measured cost */
  double itl_target_ms;  /* gap between two tokens that the chosen chunk keeps; 0: none */
  bool prefix_caching;
} toccata_engine_options;

void toccata_engine_options_init(toccata_engine_options* options, size_t struct_size);

/* Loads the model; takes seconds. *engine is set on success only. */
toccata_status toccata_engine_start(const toccata_engine_options* options, toccata_engine** engine);
/* Ends what is left with TOCCATA_FINISH_CANCELLED. Requests may be freed before or after. Not from a callback. NULL is
 * allowed. */
void toccata_engine_free(toccata_engine* engine);

int64_t toccata_context(const toccata_engine* engine);
int32_t toccata_vocabulary(const toccata_engine* engine);

/* Token ids of a text of `size` bytes of UTF-8. add_special: with the tokens that the model's tokenizer puts around a
 * text. *count is the number of tokens; the first `capacity` of them are written to `tokens`. */
toccata_status toccata_tokenize(const toccata_engine* engine, const char* text, size_t size, bool add_special,
                                int32_t* tokens, size_t capacity, size_t* count);

/* --- requests --- */

typedef struct toccata_request toccata_request;

typedef struct toccata_request_options {
  size_t struct_size;
  const int32_t* prompt; /* token ids, copied */
  size_t prompt_tokens;
  int64_t max_tokens;      /* of the answer; -1: until an end token or the context's end */
  const char* const* stop; /* stop strings, copied */
  size_t stops;
  bool ignore_eos;
  float temperature; /* 0: greedy */
  int32_t top_k;     /* 0: off */
  float top_p;       /* 1: off */
  float min_p;       /* 0: off */
  float repetition_penalty, presence_penalty, frequency_penalty;
  uint64_t seed;
  bool logprobs;          /* the log-probability of each token */
  int32_t priority;       /* lower runs first */
  double timeout_seconds; /* 0: none */
  const char* cache_salt; /* prefixes are shared only between requests of the same salt; NULL: none */
} toccata_request_options;

void toccata_request_options_init(toccata_request_options* options, size_t struct_size);

typedef enum toccata_event_kind {
  TOCCATA_EVENT_TOKEN = 0, /* a token, with the text that is complete with it */
  TOCCATA_EVENT_TEXT = 1,  /* the rest of the text, without a token */
  TOCCATA_EVENT_FINISH = 2 /* the last event, exactly once */
} toccata_event_kind;

typedef enum toccata_finish {
  TOCCATA_FINISH_STOP = 0,      /* an end token or a stop string */
  TOCCATA_FINISH_LENGTH = 1,    /* max_tokens or the context's end */
  TOCCATA_FINISH_CANCELLED = 2, /* toccata_cancel, or the engine was freed */
  TOCCATA_FINISH_TIMEOUT = 3,   /* timeout_seconds passed */
  TOCCATA_FINISH_ERROR = 4      /* `text` says why */
} toccata_finish;

typedef struct toccata_event {
  size_t struct_size;
  toccata_event_kind kind;
  int32_t token;    /* -1 unless kind is TOCCATA_EVENT_TOKEN */
  float logprob;    /* natural; 0 unless asked for */
  const char* text; /* UTF-8, terminated, maybe empty; valid until the next poll, or the callback's return */
  size_t text_size;
  toccata_finish finish; /* with TOCCATA_EVENT_FINISH, as all below */
  int64_t prompt_tokens, cached_tokens, generated_tokens;
  double first_token_seconds, total_seconds;
} toccata_event;

void toccata_event_init(toccata_event* event, size_t struct_size);

/* Called from the engine's thread; must return quickly and call nothing of the request but toccata_cancel. */
typedef void (*toccata_callback)(void* user, const toccata_event* event);

/* Never waits for the model. Without a callback (NULL) the events wait to be polled. *request is set on success only;
 * the callback may be called before toccata_submit returns. */
toccata_status toccata_submit(toccata_engine* engine, const toccata_request_options* options, toccata_callback callback,
                              void* user, toccata_request** request);
/* The next event, waiting at most timeout_ms (-1: as long as it takes). TOCCATA_TIMED_OUT is no failure. After
 * TOCCATA_EVENT_FINISH, and for a request with a callback, it is TOCCATA_INVALID_ARGUMENT. `event` must have been
 * through toccata_event_init. */
toccata_status toccata_poll(toccata_request* request, int64_t timeout_ms, toccata_event* event);
/* Ends the request within one step; its events still come. Without effect once it has finished. */
void toccata_cancel(toccata_request* request);
/* Cancels it if it runs; its callback may be called until TOCCATA_EVENT_FINISH came. NULL is allowed. */
void toccata_request_free(toccata_request* request);

#ifdef __cplusplus
}
#endif
