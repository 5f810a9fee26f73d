// The arithmetic over pairs, the table, and the report as JSON and back.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <boost/json.hpp>

#include "ablate.h"
#include "json_reader.h"

namespace toccata::cli {
namespace json = boost::json;

namespace {

std::string number(double x) {
  char buffer[48];
  const double size = std::fabs(x);
  std::snprintf(buffer, sizeof buffer,
                size >= 1e7   ? "%.3g"
                : size >= 100 ? "%.0f"
                : size >= 10  ? "%.1f"
                : size >= 0.1 ? "%.2f"
                              : "%.4f",
                x);
  return buffer;
}

std::string row_text(const AblationRow& row) {
  const Ratio r = ratio_of(row);
  const std::string unit = row.unit.empty() ? "" : ", " + row.unit;
  std::string line = "| " + row.optimization + " | " + row.phase + " | " + row.bottleneck + " | " + row.metric + unit +
                     " | " + number(median_of(row.off)) + " | " + number(median_of(row.on)) + " | ";
  line += r.pairs == 0 ? "-" : number(r.median) + " (" + number(r.least) + " to " + number(r.most) + ")";
  line += " | " + (row.limit > 0 ? number(row.limit) + ", " + row.limit_note : std::string("-")) + " |\n";
  return line;
}

json::array numbers(const std::vector<double>& values) {
  json::array a;
  for (const double v : values) a.push_back(json_number(v));
  return a;
}

json::object row_json(const AblationRow& row) {
  const Ratio r = ratio_of(row);
  json::object o{{"optimization", row.optimization},
                 {"phase", row.phase},
                 {"bottleneck", row.bottleneck},
                 {"metric", row.metric},
                 {"unit", row.unit},
                 {"smaller_is_better", row.smaller_is_better},
                 {"off", numbers(row.off)},
                 {"on", numbers(row.on)},
                 {"ratio", nullptr},
                 {"limit", row.limit > 0 ? json_number(row.limit) : json::value()},
                 {"limit_note", row.limit_note}};
  if (r.pairs > 0) {
    o["ratio"] = json::object{{"median", json_number(r.median)},
                              {"least", json_number(r.least)},
                              {"most", json_number(r.most)},
                              {"pairs", r.pairs}};
  }
  return o;
}

json::object plot_json(const AblationPlot& plot) {
  json::array series;
  for (const AblationPlot::Series& s : plot.series) {
    json::array points;
    for (const auto& [x, y] : s.points) points.push_back(json::array{json_number(x), json_number(y)});
    series.push_back(json::object{{"name", s.name}, {"points", std::move(points)}});
  }
  return {{"title", plot.title}, {"x", plot.x}, {"y", plot.y}, {"series", std::move(series)}};
}

// A reader that remembers the first fault.
class Fields {
 public:
  Fields(const json::value& value, std::string where) : where_(std::move(where)) {
    object_ = value.if_object();
    if (object_ == nullptr) fault(where_ + " is no object");
  }

  std::string text(std::string_view key) {
    if (object_ == nullptr) return {};
    Result<std::string> s = json_string(*object_, key, where_);
    if (!s) fault(s.error().message);
    return s ? *s : std::string();
  }
  const json::array& list(std::string_view key) {
    static const json::array kNone;
    if (object_ == nullptr) return kNone;
    const Result<const json::array*> a = json_array(*object_, key, where_);
    if (!a) fault(a.error().message);
    return a ? **a : kNone;
  }
  std::vector<double> numbers(std::string_view key) {
    std::vector<double> values;
    for (const json::value& v : list(key)) values.push_back(number(v, key));
    return values;
  }
  double number(const json::value& v, std::string_view key) {
    if (v.is_number()) return v.to_number<double>();
    fault(where_ + ": '" + std::string(key) + "' must hold numbers");
    return 0;
  }
  const json::value* find(std::string_view key) const {
    return object_ == nullptr ? nullptr : object_->if_contains(key);
  }
  void fault(std::string message) {
    if (status) status = fail(ErrorCode::kInvalidFile, std::move(message));
  }

  Status status;

 private:
  std::string where_;
  const json::object* object_ = nullptr;
};

AblationRow read_row(Fields& f) {
  AblationRow row;
  row.optimization = f.text("optimization");
  row.phase = f.text("phase");
  row.bottleneck = f.text("bottleneck");
  row.metric = f.text("metric");
  row.unit = f.text("unit");
  const json::value* smaller = f.find("smaller_is_better");
  if (smaller == nullptr || !smaller->is_bool()) {
    f.fault("a row without 'smaller_is_better'");
  } else {
    row.smaller_is_better = smaller->get_bool();
  }
  row.off = f.numbers("off");
  row.on = f.numbers("on");
  const json::value* limit = f.find("limit");
  if (limit != nullptr && !limit->is_null()) row.limit = f.number(*limit, "limit");
  row.limit_note = f.text("limit_note");
  return row;
}

AblationPlot read_plot(Fields& f, const std::string& where) {
  AblationPlot plot{f.text("title"), f.text("x"), f.text("y"), {}};
  for (const json::value& value : f.list("series")) {
    Fields s(value, where);
    AblationPlot::Series series{s.text("name"), {}};
    for (const json::value& point : s.list("points")) {
      const json::array* xy = point.if_array();
      if (xy == nullptr || xy->size() != 2) {
        s.fault(where + ": a point must be two numbers");
        break;
      }
      series.points.emplace_back(s.number((*xy)[0], "points"), s.number((*xy)[1], "points"));
    }
    if (!s.status) f.fault(s.status.error().message);
    plot.series.push_back(std::move(series));
  }
  return plot;
}

}  // namespace

double percentile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double k = static_cast<double>(values.size() - 1) * share;
  const auto low = static_cast<size_t>(k), high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (k - static_cast<double>(low));
}

double median_of(std::vector<double> values) { return percentile_of(std::move(values), 0.5); }

double deviation_of(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  const double n = static_cast<double>(values.size()), mean = values.empty() ? 0 : sum / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return values.empty() ? 0 : std::sqrt(squares / n);
}

Ratio ratio_of(const AblationRow& row) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(row.off.size(), row.on.size()); ++i) {
    if (!(row.off[i] > 0) || !(row.on[i] > 0)) continue;
    ratios.push_back(row.smaller_is_better ? row.off[i] / row.on[i] : row.on[i] / row.off[i]);
  }
  if (ratios.empty()) return {};
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return {std::ssize(ratios), median_of(ratios), *least, *most};
}

std::string ablation_table(const AblationReport& report) {
  std::string text =
      "| optimization | targeted phase | bottleneck | metric | off | on | ratio | limit |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const AblationRow& row : report.rows) text += row_text(row);
  return text;
}

std::string ablation_json(const AblationReport& report) {
  json::array rows, plots;
  for (const AblationRow& row : report.rows) rows.push_back(row_json(row));
  for (const AblationPlot& plot : report.plots) plots.push_back(plot_json(plot));
  return json::serialize(json::object{{"model", report.model},
                                      {"machine", report.machine},
                                      {"workload", report.workload},
                                      {"rows", std::move(rows)},
                                      {"plots", std::move(plots)}}) +
         "\n";
}

Result<AblationReport> ablation_from_json(std::string_view text, const std::string& where) {
  const Result<json::value> value = parse_json(text, where);
  if (!value) return tl::unexpected(value.error());
  Fields f(*value, where);
  AblationReport report{f.text("model"), f.text("machine"), f.text("workload"), {}, {}};
  for (const json::value& v : f.list("rows")) {
    Fields row(v, where + ", row " + std::to_string(report.rows.size() + 1));
    report.rows.push_back(read_row(row));
    if (!row.status) return tl::unexpected(row.status.error());
  }
  for (const json::value& v : f.list("plots")) {
    const std::string name = where + ", plot " + std::to_string(report.plots.size() + 1);
    Fields plot(v, name);
    report.plots.push_back(read_plot(plot, name));
    if (!plot.status) return tl::unexpected(plot.status.error());
  }
  if (!f.status) return tl::unexpected(f.status.error());
  return report;
}

}  // namespace toccata::cli
