// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: bundles as mneme-capture and mneme-compile write them, made by hand. The kernel is add_one (testdata/).
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "bundle/writer.h"

namespace mneme::run {

inline constexpr uint64_t kWordsAddress = 0x400000000100;  // of add_one's buffer
inline constexpr uint64_t kTableAddress = 0x400800000000;  // of a global that no kernel changes
inline constexpr uint64_t kTableSize = 64;

inline constexpr char kAllocating[] = "allocating";  // a kernel, which is said to allocate memory

// A kernel that takes a texture and a surface, too: each word of the buffer becomes one more by the texture's texels,
// which are ones, and each texel of the surface likewise.
inline constexpr char kTextured[] = "textured";
inline constexpr uint64_t kTextureAddress = 0x400900000000, kSurfaceAddress = 0x400a00000000;  // their segments
enum class Textured { kNone, kArray, kLevels, kLinear };  // what the texture stands for

// How a recorded launch departs from what add_one does.
struct Change {
  std::optional<uint64_t> epilogue_byte = {};  // of the buffer: recorded as another than the kernel leaves
  bool idle = false;                           // recorded as a launch that changed nothing
  bool blank = false;                          // the buffer holds zeros before the launch
  std::vector<std::string> missing = {};       // what the instance says is not in it
  bool cooperative = false;                    // as the instance has it
  bundle::Dim3 cluster = {};                   // likewise
  uint64_t stack_bytes = 0;                    // likewise
  std::string annotation = {};                 // of the buffer
  Textured textured = Textured::kNone;         // of kTextured, for which it has to be something
};

class Recording {
 public:
  explicit Recording(std::string memory = "packs");

  // All in the order of the calls; a kernel is written before what needs it.
  Digest add_variant(const std::string& fixture, const std::string& kernel = "add_one");
  // Of a kernel of the played driver's (lib/device/cuda/testdata).
  Digest add_fake_variant(const std::string& played, const std::string& kernel = "add_one");
  Digest add_instance(uint32_t words, uint32_t seed = 0, Change change = {}, const std::string& kernel = "add_one");
  void add_member(const std::string& name, const std::string& contents) { writer_->add(name, contents); }
  bundle::Writer& writer() { return *writer_; }

  // The bundle; with its end, or as far as it came.
  std::string finish(bool truncated = false);
  std::string unfinished();

 private:
  const bundle::KernelInfo& kernel(const std::string& name);
  Digest add_code(bundle::VariantInfo variant, const std::string& what, const std::string& code,
                  const std::string& kernel);

  Fd file_;
  std::unique_ptr<bundle::Writer> writer_;
  std::string memory_;
  std::map<std::string, bundle::KernelInfo> kernels_;
  uint64_t launches_ = 0;
};

// What the buffer holds before the launch: words that are reproducible from the seed.
std::string buffer_before(uint32_t words, uint32_t seed);
std::string buffer_after(uint32_t words, uint32_t seed);

// A program run to its end, which must be an exit.
struct Ended {
  int status = 0;  // exit status
  std::string output, errors;
};
using Words = std::vector<std::string>;
Ended run_program(const Words& words, const std::string& input);
// Under bash, with pipefail.
Ended run_shell(const std::string& script, const std::string& input);

}  // namespace mneme::run
