#include "server/server.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <future>

#include "base/clock.h"
#include "server/log.h"

namespace toccata::server {
namespace {

// SIGTERM and SIGINT of the process, taken by wait() instead of by a handler.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);  // all later threads inherit it
    std::signal(SIGPIPE, SIG_IGN);
  }
  // The signal, or 0 after the time.
  int wait(double seconds) {
    std::timespec time{};
    time.tv_sec = static_cast<std::time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
    const int signal = sigtimedwait(&set_, nullptr, &time);
    return signal > 0 ? signal : 0;
  }

 private:
  sigset_t set_;
};

void raise_file_limit() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Until nothing runs, the time is over or another signal comes; the last one ends the process.
void wait_for_requests(const HttpServer& http, Signals& signals, double seconds) {
  const double end = monotonic_seconds() + seconds;
  while (http.exchanges() > 0 && monotonic_seconds() < end) {
    if (signals.wait(0.05) == 0) continue;
    log_line("second signal: ended at once");
    _exit(0);
  }
}

void shut_down(const ServerOptions& options, Service& service, HttpServer& http, Signals& signals) {
  log_line("shutting down: %lld requests get %.0f s", static_cast<long long>(http.exchanges()),
           options.shutdown_seconds);
  service.drain();
  http.drain();
  wait_for_requests(http, signals, options.shutdown_seconds);
  if (http.exchanges() > 0) {
    log_line("%lld requests are cut off", static_cast<long long>(http.exchanges()));
    service.abort_all();
    wait_for_requests(http, signals, 2);
  }
  service.stop();
  http.stop();
}

}  // namespace

int serve(const ServerOptions& options, TextSide text,
          const std::function<Result<std::unique_ptr<Engine>>()>& start_engine) {
  Signals signals;
  raise_file_limit();
  Service service(options.service, std::move(text));
  Result<std::unique_ptr<HttpServer>> http = HttpServer::start(options.http, service);
  if (!http) {
    log_line("%s", http.error().message.c_str());
    return 1;
  }
  service.set_http(http->get());
  log_line("listening on http://%s:%u, loading the model", options.http.host.c_str(), (*http)->port());

  std::future<Result<std::unique_ptr<Engine>>> loading = std::async(std::launch::async, start_engine);
  while (loading.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (signals.wait(0.05) == 0) continue;
    log_line("ended while the model was loading");
    _exit(0);  // loading cannot be interrupted, and there is nothing to finish
  }
  Result<std::unique_ptr<Engine>> engine = loading.get();
  if (!engine) {
    (*http)->stop();
    log_line("%s", engine.error().message.c_str());
    return 1;
  }
  service.set_engine(**engine);
  const ModelInfo& info = (*engine)->info();
  log_line("ready: %s, context %lld tokens", service.text().names.front().c_str(),
           static_cast<long long>(info.context));

  while (signals.wait(3600) == 0) {
  }
  shut_down(options, service, **http, signals);
  engine->reset();  // before the server: what it still reports goes nowhere, but must have somewhere to go
  return 0;
}

}  // namespace toccata::server
