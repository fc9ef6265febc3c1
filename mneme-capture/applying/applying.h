// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-capture's side of --apply: the environment of the application's processes, and their reports.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bundle/reader.h"
#include "verify/speedup.h"

namespace mneme::capture {

struct ApplySettings {
  std::string bundle;   // empty: nothing is applied
  std::string kernel;   // a regular expression: only choices of kernels whose demangled names match; empty: all
  uint64_t checks = 0;  // launches of each choice that are checked first
  bool infer = false;   // as mneme-verify takes it
  bool measure = false;
  std::string undo = "cheap";  // when the host device keeps memory, to put it back where a variant faults; or "always"
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
  void select_kernels();
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

// How long the run would take with the application's own code alone, and with the variants alone, of what it took with
// both: the kernels' times are added up, as if nothing ran beside them. Intervals are those of the choices' speedups.
struct WallTime {
  struct Estimate {
    double value = 0, low = 0, high = 0;
  };
  double measured = 0;       // seconds
  Estimate own, variants;    // seconds
  Estimate ratio;            // of the two
  uint64_t left_out = 0;     // launches of choices whose times are too few
  bool with_checks = false;  // launches were checked meanwhile: the times have that in them
};
// nullopt: no choice has times that can be compared.
std::optional<WallTime> wall_time(const Applying& applying, double seconds);

// For people, a line each; and for programs, one json text. `seconds`: the application's wall time.
std::vector<std::string> report(const Applying& applying, double seconds);
std::string json_report(const Applying& applying, double seconds);

}  // namespace mneme::capture
