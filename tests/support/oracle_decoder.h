// A textbook decoder in double precision on plain weights: the oracle for the model tests. It shares nothing with
// src/model but the configuration's field names.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "model/config.h"

namespace toccata::test {

using Vec = std::vector<double>;

struct OracleDecoder {
  model::ModelConfig c;
  std::map<std::string, std::vector<float>> w;  // by GGUF tensor name; matrices row-major [rows][cols]

  const std::vector<float>& weight(const std::string& name) const { return w.at(name); }
  bool has(const std::string& name) const { return w.count(name) > 0; }

  static Vec norm(const Vec& x, const std::vector<float>& g, double eps, size_t at = 0, size_t n = 0) {
    if (n == 0) n = x.size();
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += x[at + i] * x[at + i];
    const double r = 1.0 / std::sqrt(sum / static_cast<double>(n) + eps);
    Vec y(n);
    for (size_t i = 0; i < n; ++i) y[i] = x[at + i] * r * static_cast<double>(g[i]);
    return y;
  }

  Vec linear(const std::string& name, const Vec& x) const {
    const std::vector<float>& m = weight(name + ".weight");
    const size_t rows = m.size() / x.size();
    Vec y(rows, 0.0);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t k = 0; k < x.size(); ++k) y[r] += static_cast<double>(m[r * x.size() + k]) * x[k];
      if (has(name + ".bias")) y[r] += static_cast<double>(weight(name + ".bias")[r]);
    }
    return y;
  }

  // Rotates one head at x[at]; `local` chooses the sliding-window layers' base.
  void rope(Vec& x, size_t at, int64_t pos, bool local) const {
    const model::RopeConfig& r = local ? c.rope_local : c.rope;
    const int half = r.dim / 2;
    for (int i = 0; i < half; ++i) {
      double f = std::pow(r.base, -2.0 * i / r.dim) / r.linear_factor;
      if (!local && has("rope_freqs.weight"))
        f /= static_cast<double>(weight("rope_freqs.weight")[static_cast<size_t>(i)]);
      const double a = static_cast<double>(pos) * f, cs = std::cos(a), sn = std::sin(a);
      const size_t i0 = at + static_cast<size_t>(r.interleaved ? 2 * i : i);
      const size_t i1 = at + static_cast<size_t>(r.interleaved ? 2 * i + 1 : i + half);
      const double x0 = x[i0], x1 = x[i1];
      x[i0] = x0 * cs - x1 * sn;
      x[i1] = x0 * sn + x1 * cs;
    }
  }

  double activate(double g) const {
    if (c.activation == model::Activation::kSilu) return g / (1.0 + std::exp(-g));
    return 0.5 * g * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (g + 0.044715 * g * g * g)));
  }

  // Q, K and V of all positions for one layer.
  void project(int layer, const std::vector<Vec>& x, std::vector<Vec>& q, std::vector<Vec>& k,
               std::vector<Vec>& v) const {
    const std::string p = "blk." + std::to_string(layer) + ".";
    const bool local = c.window[static_cast<size_t>(layer)] > 0;
    const size_t hd = static_cast<size_t>(c.head_dim);
    for (size_t t = 0; t < x.size(); ++t) {
      const Vec h = norm(x[t], weight(p + "attn_norm.weight"), static_cast<double>(c.norm_eps));
      q.push_back(linear(p + "attn_q", h));
      k.push_back(linear(p + "attn_k", h));
      v.push_back(linear(p + "attn_v", h));
      for (Vec* m : {&q.back(), &k.back()}) {
        for (size_t at = 0; at < m->size(); at += hd) {
          if (c.qk_norm) {
            const char* name = m == &q.back() ? "attn_q_norm.weight" : "attn_k_norm.weight";
            const Vec n = norm(*m, weight(p + name), static_cast<double>(c.norm_eps), at, hd);
            std::copy(n.begin(), n.end(), m->begin() + static_cast<std::ptrdiff_t>(at));
          }
          rope(*m, at, static_cast<int64_t>(t), local);
        }
      }
    }
  }

  Vec attend(int layer, size_t t, const std::vector<Vec>& q, const std::vector<Vec>& k,
             const std::vector<Vec>& v) const {
    const size_t hd = static_cast<size_t>(c.head_dim), heads = static_cast<size_t>(c.heads);
    const size_t group = heads / static_cast<size_t>(c.kv_heads);
    const int64_t window = c.window[static_cast<size_t>(layer)];
    const size_t from = window > 0 && static_cast<int64_t>(t) >= window ? t + 1 - static_cast<size_t>(window) : 0;
    Vec out(heads * hd, 0.0);
    for (size_t h = 0; h < heads; ++h) {
      const size_t at = h * hd, kv = h / group * hd;
      Vec p;
      double top = -1e300, sum = 0;
      for (size_t j = from; j <= t; ++j) {
        double s = 0;
        for (size_t d = 0; d < hd; ++d) s += q[t][at + d] * k[j][kv + d];
        p.push_back(s * static_cast<double>(c.attn_scale));
        top = std::max(top, p.back());
      }
      for (double& s : p) sum += s = std::exp(s - top);
      for (size_t j = from; j <= t; ++j) {
        for (size_t d = 0; d < hd; ++d) out[at + d] += p[j - from] / sum * v[j][kv + d];
      }
    }
    return out;
  }

  void add_branch(Vec& x, Vec y, const std::string& post_norm) const {
    if (c.post_norms) y = norm(y, weight(post_norm), static_cast<double>(c.norm_eps));
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  // Logits of every position of a prompt.
  std::vector<Vec> logits(const std::vector<int32_t>& tokens) const {
    const size_t dim = static_cast<size_t>(c.dim);
    std::vector<Vec> x;
    for (int32_t id : tokens) {
      Vec e(dim);
      for (size_t i = 0; i < dim; ++i) {
        e[i] = static_cast<double>(weight("token_embd.weight")[static_cast<size_t>(id) * dim + i]) *
               static_cast<double>(c.embedding_scale);
      }
      x.push_back(e);
    }
    for (int l = 0; l < c.layers; ++l) {
      const std::string p = "blk." + std::to_string(l) + ".";
      std::vector<Vec> q, k, v;
      project(l, x, q, k, v);
      for (size_t t = 0; t < x.size(); ++t) {
        add_branch(x[t], linear(p + "attn_output", attend(l, t, q, k, v)), p + "post_attention_norm.weight");
        const Vec h = norm(x[t], weight(p + "ffn_norm.weight"), static_cast<double>(c.norm_eps));
        Vec gate = linear(p + "ffn_gate", h);
        const Vec up = linear(p + "ffn_up", h);
        for (size_t i = 0; i < gate.size(); ++i) gate[i] = activate(gate[i]) * up[i];
        add_branch(x[t], linear(p + "ffn_down", gate), p + "post_ffw_norm.weight");
      }
    }
    std::vector<Vec> out;
    for (const Vec& row : x) {
      const Vec h = norm(row, weight("output_norm.weight"), static_cast<double>(c.norm_eps));
      out.push_back(linear(has("output.weight") ? "output" : "token_embd", h));
    }
    return out;
  }
};

}  // namespace toccata::test
