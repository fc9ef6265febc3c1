// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-capture's side of --apply: the environment of the application's processes, and their reports.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bundle/reader.h"
#include "verify/speedup.h"

namespace mneme::capture {

struct ApplySettings {
  std::string bundle;   // empty: nothing is applied
  uint64_t checks = 0;  // launches of each choice that are checked first
  bool infer = false;   // as mneme-verify takes it
  bool measure = false;
  std::string recorded = "own";  // the code by which launches are made that are recorded, or "variant"
};

// What became of one choice, in all processes.
struct Applied {
  bundle::Choice choice;
  std::string kernel;  // demangled
  uint64_t launches = 0, in_graphs = 0, checked = 0, differing = 0, faulted = 0;
  uint64_t measured = 0;                // launches with the application's own code, to compare times
  std::string trouble;                  // why it was not applied, or not any more
  uint64_t own_ns = 0, variant_ns = 0;  // medians; 0: not measured
  verify::Speedup speedup;
};

struct Missed {
  std::string kernel, reason;
  uint64_t launches = 0;
};

class Applying {
 public:
  // Reads the bundle. Throws Error where it has no choices.
  explicit Applying(const ApplySettings& settings);
  ~Applying();  // removes what processes have reported
  Applying(const Applying&) = delete;
  Applying& operator=(const Applying&) = delete;

  // What goes into the application's environment: NAME=value.
  std::vector<std::string> variables() const;
  // Takes what the processes have reported. When they have ended.
  void collect();

  const ApplySettings& settings() const { return settings_; }
  // The variant of a choice, with its code. Throws Error where there is no such choice.
  bundle::VariantMember variant_of(const Digest& choice) const;

  const std::vector<Applied>& choices() const { return choices_; }
  const std::vector<Missed>& misses() const { return misses_; }
  uint64_t launches() const { return launches_; }  // of kernels that have choices
  uint64_t applied() const;
  uint64_t differing() const;
  uint64_t faulted() const;

 private:
  void read_bundle();
  uint64_t sum_of(uint64_t Applied::* count) const;
  void add(const std::string& path);

  const ApplySettings settings_;
  std::string folder_;
  std::map<Digest, bundle::VariantMember> variants_;
  std::vector<Applied> choices_;                      // by name of their members, as reports have them
  std::vector<std::vector<uint64_t>> own_, variant_;  // times of each choice, ns
  std::vector<Missed> misses_;
  uint64_t launches_ = 0;
};

// For people, a line each; and for programs, one json text.
std::vector<std::string> report(const Applying& applying);
std::string json_report(const Applying& applying, double seconds);

}  // namespace mneme::capture
