// `toccata bench ablate`: each optimization off and on, in pairs, and what came of it. Here the figures and how they
// are shown; who takes them is in ablate_takes.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "toccata/result.h"

namespace toccata::cli {

// One line of the table. off[i] and on[i] were taken one after the other in round i.
struct AblationRow {
  std::string optimization, phase, bottleneck, metric, unit;
  bool smaller_is_better = true;
  std::vector<double> off, on;
  double limit = 0;  // of the ratio, by a formula that `limit_note` names; 0: none known
  std::string limit_note;
};

struct AblationPlot {
  struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;
  };
  std::string title, x, y;
  std::vector<Series> series;
};

struct AblationReport {
  std::string model, machine, workload;  // a line each
  std::vector<AblationRow> rows;
  std::vector<AblationPlot> plots;
};

// How many times better `on` is: of each round off / on where smaller is better, else on / off. Rounds in which either
// is not above zero do not count.
struct Ratio {
  int64_t pairs = 0;
  double median = 0, least = 0, most = 0;
};
Ratio ratio_of(const AblationRow& row);

double median_of(std::vector<double> values);                    // 0 for an empty list
double percentile_of(std::vector<double> values, double share);  // 0..1, interpolated; 0 for an empty list
double deviation_of(const std::vector<double>& values);          // of the whole, 0 for an empty list

std::string ablation_table(const AblationReport& report);  // Markdown
std::string ablation_json(const AblationReport& report);   // with all takes
std::string ablation_html(const AblationReport& report);   // one file without references to others
// The reverse of ablation_json. Error: kInvalidFile, names `where` and the field.
Result<AblationReport> ablation_from_json(std::string_view text, const std::string& where);

}  // namespace toccata::cli
