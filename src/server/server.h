// The life of the server: port, model, signals, shutdown.
#pragma once

#include <functional>
#include <memory>

#include "server/service.h"
#include "toccata/engine.h"

namespace toccata::server {

struct ServerOptions {
  HttpOptions http;
  ServiceOptions service;
  double shutdown_seconds = 10;  // that running requests get after a signal
};

// Listens at once (503 until the model is loaded), calls start_engine, serves until SIGTERM or SIGINT, and lets running
// requests end. A second signal ends the process at once. Returns the exit code; one line on stderr tells of a fault.
int serve(const ServerOptions& options, TextSide text,
          const std::function<Result<std::unique_ptr<Engine>>()>& start_engine);

}  // namespace toccata::server
