// Binds every name of a syntax tree to a local variable or to the rendering context, and checks what jinja2 checks
// when it compiles: known filters and tests, `break` inside a loop, no assignment to `loop`.
#pragma once

#include "text/chat_template/statements.h"

namespace toccata::jinja {

// Takes the body of a template; faults carry the line.
Program resolve_names(NodeList body);

}  // namespace toccata::jinja
