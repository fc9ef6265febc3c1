// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a process has applied, in a file that it and mneme-capture map: it survives the process however that ends, and a
// launch that is only counted costs no message.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace mneme::record {

inline constexpr uint64_t kReportMagic = 0x3330'7964'6d65'6e6d;  // of this layout
inline constexpr char kOtherCode[] =
    "its code differs from the code that was tuned";  // of the bundle's kernel of that name
inline constexpr uint32_t kSamples = 1024;            // times of each side; later ones replace earlier ones
inline constexpr uint32_t kMisses = 512;              // pairs of a kernel and a reason

// One of the bundle's choices, by its place among them.
struct ChoiceReport {
  std::atomic<uint64_t> applied;   // launches
  std::atomic<uint64_t> in_graph;  // of them, by a graph
  std::atomic<uint64_t> checked, differing;
  std::atomic<uint64_t> faulted;       // launches that the variant failed while it ran
  std::atomic<uint64_t> own_launches;  // with the application's own code, to compare times
  // Nanoseconds of the application's own code, and of the variant.
  struct Times {
    std::atomic<uint64_t> count;
    std::atomic<uint32_t> samples[kSamples];
  } own, variant;
  char trouble[512];  // why it is not applied any more; empty: it is
};

// Launches with the application's own code of a kernel that the bundle has.
struct MissReport {
  std::atomic<uint32_t> ready;  // the texts are there
  std::atomic<uint64_t> launches;
  char kernel[256], reason[512];
};

struct ReportHeader {
  uint64_t magic;
  uint64_t choices;
  std::atomic<uint64_t> launches;  // all
  MissReport misses[kMisses];
};

// A process's own. Where there is no folder for it, it is memory that nobody else sees.
class Report {
 public:
  // A file in `folder`, named by the process; empty: none. Throws Error.
  Report(const std::string& folder, size_t choices);
  // For mneme-capture. Throws Error.
  explicit Report(const std::string& path);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  ReportHeader& header() { return *static_cast<ReportHeader*>(memory_); }
  std::span<ChoiceReport> choices();
  // The counter of a kernel's launches that miss for this reason; null: there are too many.
  std::atomic<uint64_t>* miss(std::string_view kernel, std::string_view reason);

 private:
  std::mutex mutex_;  // of miss()
  void* memory_ = nullptr;
  size_t size_ = 0;
};

// The part of it that fits, which always ends.
void put_text(std::span<char> field, std::string_view text);

}  // namespace mneme::record
