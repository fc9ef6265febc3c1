// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mneme-verify tells about the runs: a line of json each, a table for people, JUnit's xml for CI.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "verify/speedup.h"
#include "verify/verdict.h"

namespace mneme::verify {

inline constexpr char kTooSlow[] = "too slow";
// Of a run with `algebra` (algebra.h).
inline constexpr char kSameComputation[] = "same computation", kOtherComputation[] = "different computation",
                      kReferenceComputation[] = "reference";

// How fast a variant is beside another one.
struct TimeComparison {
  Digest reference;  // variant
  // "reference", "faster", "slower", "too slow", "within noise", "same code" or "too few rounds"
  std::string outcome;
  Speedup speedup;
  double bound = 0;  // so many times the reference's time it may take; 0: as long as it likes
};

// One pair of variant and instance, judged.
struct Row {
  Digest kernel;
  std::string name;  // demangled
  Digest instance;
  Digest variant;
  bundle::Configuration configuration;
  std::string form;                    // "loop", "fiber"
  std::optional<bundle::RunInfo> run;  // without its blocks; none: the pair was not run
  Verdict verdict;
  bool passed = false;                              // it is verified, or as good as that (Rules::lenient)
  std::optional<bundle::Resources> resources = {};  // that the variant takes, as far as its assembler says so
  std::optional<uint32_t> occupancy = {};           // waves at once: of a SIMD (AMD) or a multiprocessor (NVIDIA)
  std::optional<TimeComparison> comparison = {};    // where one was asked for and can be made
  std::string algebra = {};                         // of a variant with `algebra`: one of those texts, or empty
  bool launch_changed_memory = true;                // the recorded one; else what does nothing is verified, too
};

// Names come from strangers: nothing in them may steer a terminal.
std::string printable(std::string text);
std::string short_hash(const Digest& digest);

// Of each row, the keys in which its configuration differs from that of another variant of the kernel, but for the
// passes: "fuse=true block=128". Empty where none of these is set, or where the variants differ in passes only.
std::vector<std::string> distinguishing_settings(const std::vector<Row>& rows);

// Whether the segment's policy has an infinite threshold.
bool lets_anything_pass(const SegmentVerdict& segment);

// In nanoseconds; 0 when there are none.
uint64_t fastest(const std::vector<uint64_t>& nanoseconds);

// One line, with its newline. `segments` are the instance's.
std::string json_line(const Row& row, const std::vector<bundle::Segment>& segments);
// For people: what is wrong first, each with its worst reasons below it, in at most so many lines (but for one row and
// its reasons, which are always there), and how many are verified.
std::string table(const std::vector<Row>& rows, size_t most_lines = 40);
std::string junit(const std::vector<Row>& rows);
// Why one is too slow, as a sentence.
std::string too_slow_text(const TimeComparison& comparison);

}  // namespace mneme::verify
