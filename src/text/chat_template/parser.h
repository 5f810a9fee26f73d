// Tokens to syntax tree: the grammar of jinja2 3.1 with the loopcontrols extension and transformers' `generation` tag.
#pragma once

#include <string_view>

#include "text/chat_template/ast.h"

namespace toccata::jinja {

// Parses a whole template; the names in the tree are not resolved yet (scope.h). Faults carry the line.
NodeList parse_template(std::string_view source);

}  // namespace toccata::jinja
