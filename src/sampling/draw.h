// The draw: the candidate with the largest share + G (sampling/race.h), the lowest id among equals.
#pragma once

#include <cstdint>
#include <span>

#include "sampling/candidates.h"
#include "sampling/race.h"

namespace toccata {

// Among candidates in any order; their weights are not looked at. Not empty.
int32_t draw(std::span<const Candidate> candidates, const Race& race);

// Among all tokens of a row at a temperature above 0: the same as draw() of all of them. Looks into few runs of the
// row. row.best must be above -infinity.
int32_t draw_any(const LogitsRow& row, double temperature, const Race& race);

}  // namespace toccata
