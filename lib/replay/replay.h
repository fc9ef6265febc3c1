// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bundle/reader.h"
#include "device/device.h"
#include "verify/choice.h"
#include "verify/compare.h"
#include "verify/device_kernel.h"
#include "verify/layout.h"
#include "verify/variation.h"

namespace mneme::run {

struct RunSettings {
  uint32_t warmup = 1;
  uint32_t iterations = 3;
  uint32_t baseline = 0;               // executions of the recorded code that come first; 0: none
  uint64_t max_difference = 64 << 20;  // bytes of blocks that differ, expected and actual, given to `observed`
  bool poison_shared = false;          // shared memory does not begin as zeros
  bool move_globals = false;           // the device was made so (device/moved_globals.h)
  bool cold = false;                   // caches are emptied before each execution
};

// One recorded launch on a device: its memory in place, its kernel executed as often as wanted, each time from the
// recorded prologue, and what memory then holds compared with the recorded epilogue.
class Replay {
 public:
  // Calls `take(first, blocks)` for all digests in order, with some of them at a time: `blocks` holds those of
  // digests[first] and what follows it. It is valid during the call, and for what the device begins to write in it.
  using Take = std::function<void(size_t first, Bytes blocks)>;
  using Fetch = std::function<void(std::span<const Digest>, const Take&)>;
  // Whether so many blocks, those of the next fetch, are to stay valid as long as this object.
  using Hold = std::function<bool(size_t blocks)>;
  // Around code of the kernel's own: loading and executing it.
  using Foreign = std::function<void(bool begins)>;
  // A block that differs; `actual` is valid during the call.
  using Observed = std::function<void(uint64_t address, const Digest& expected, Bytes actual)>;

  // Maps the segments' blocks and writes the prologue. `kernel` compares what is read back; `on_device`, if there is
  // one, what lies on a device that makes images. Throws Error when an address is taken.
  Replay(device::Device& device, bundle::InstanceMember instance, Fetch fetch,
         verify::ElementKernel& kernel = verify::plain_element_kernel(), verify::ImageKernel* on_device = nullptr,
         Hold hold = {});

  // Executes a variant: warm-ups, then iterations. Every execution is compared; the blocks given are those of
  // the first that differs. Throws Error when the kernel cannot be loaded or fails; the memory is then not restored.
  bundle::RunInfo run(const bundle::KernelInfo& kernel, const bundle::VariantInfo& variant, Bytes code,
                      const RunSettings& settings, const Foreign& foreign, const Observed& observed);

  // Executes the recorded code, as often as the settings say, and finds out what varies by itself: a run of which
  // nothing but the baseline is of use. What is run from then on is told how much of its differences varies. The blocks
  // given are those that the baseline cites. Throws as run() does.
  bundle::RunInfo measure(const bundle::KernelInfo& kernel, const bundle::VariantInfo& variant, Bytes code,
                          const RunSettings& settings, const Foreign& foreign, const Observed& observed);
  // The same known from before, of the same instance.
  void set_variation(verify::Variation variation) { variation_ = std::move(variation); }

 private:
  struct Block {
    uint64_t address = 0;
    Digest prologue, epilogue;  // the zero block's where a state does not list it
  };
  class Findings;

  void place_blocks();
  // Where the device has room for images: of the prologue, which memory holds by then, and of the epilogue.
  void make_images();
  void write_prologue();
  void write_zeros();
  void write_epilogue();
  // A block, and where it is to be.
  struct Placed {
    uint64_t address = 0;
    Digest digest;
  };
  // Has them fetched, and calls `write` with blocks that follow one another.
  using Write = std::function<void(uint64_t address, Bytes blocks)>;
  void fetch_to(const std::vector<Placed>& placed, const Write& write);
  // What memory is restored from where there are images: a copy on the device, which goes through its cache, or one of
  // the host's.
  enum class From { kDevice, kHost };
  void restore(From from = From::kDevice);
  bundle::RunInfo completed_run(const bundle::VariantInfo& variant) const;
  // Executes so many times, each time from the prologue; `after` is called after each, with its number and how long it
  // took. `found`: takes what code with checks finds in the first; null: nothing is looked for.
  using After = std::function<void(uint32_t, uint64_t)>;
  void execute(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration, Bytes code, uint32_t times,
               const RunSettings& settings, const Foreign& foreign, const After& after,
               std::vector<bundle::Finding>* found = nullptr);
  // What executions of a kernel change, as far as they always did.
  struct Usual {
    std::vector<Block> blocks;  // by address
    bool always = true;
  };
  // Once untimed and, from the prologue again, once timed, whose time it returns: comparing has left other things in
  // the cache than an execution does. So would a look at what the first one changed: what is restored in between is
  // what is usual, if that is known. Should it have been something else, both are done again, with a look.
  using ExecuteOnce = std::function<uint64_t(bool timed)>;
  uint64_t execute_in_its_cache(const ExecuteOnce& execute_once, Usual& usual, From from);
  // Where what is restored and its copy leave little of the cache for the rest: decides, once, what to restore from
  // between the two, by trial. Restoring can but take away what the first execution left in the cache: the less it
  // does, the less the second takes. Memory is the prologue's before and after.
  void choose_source(const ExecuteOnce& execute_once, Usual usual);
  // Reads all blocks back, by address, notes which are no longer the prologue's, and tells of each whether it is not
  // the epilogue's. Returns how many bytes are not the prologue's.
  // `expected` is the epilogue's block, or nothing where it is not at hand.
  using Scanned = std::function<void(const Block&, Bytes expected, Bytes actual, bool differs)>;
  uint64_t scan(const Scanned& take);
  // With images: notes which blocks are no longer the prologue's; how many bytes of them.
  uint64_t note_changes();
  // As scan(), with images: what is read back is only blocks that differ, and those on both sides of them.
  uint64_t scan_differing(const Scanned& take);
  // The same of blocks that differ from the epilogue, as long as `more` says so.
  void read_differing(std::span<const device::BlockChange> changes, const Scanned& take,
                      const std::function<bool()>& more);
  // How many bytes the last execution changed beside segments, in blocks that are not theirs alone.
  uint64_t count_strays();
  Block block_at(uint64_t address) const;
  // What scaled errors of a segment that is read so are measured by: its annotation's scale, or the root mean square of
  // what was recorded there, which is read once.
  double scale(size_t segment, const verify::Reading& reading);
  verify::ScaleOf scale_of(const verify::Readings& readings);
  Bytes pristine(const Digest& digest);  // valid as long as this object
  Bytes keep_at_hand(const Digest& digest, Bytes bytes);
  Bytes expected(const Digest& digest);  // valid until the next call
  bool is(const Digest& digest, Bytes bytes);

  device::Device& device_;
  bundle::InstanceMember instance_;
  Fetch fetch_;
  Hold hold_;  // may be empty
  verify::ElementKernel& kernel_;
  verify::ImageKernel* on_device_;
  verify::Layout layout_;
  std::vector<verify::Range> undefined_;       // memory that does not hold zeros as mapped
  std::vector<Block> blocks_;                  // those that either state lists, by address
  std::unordered_map<Digest, Bytes> at_hand_;  // the prologue's blocks that some execution changes, or all
  std::deque<std::string> copies_;             // of some of them
  std::string expected_;
  std::vector<Block> dirty_;                                         // what the last execution changed
  std::unique_ptr<device::Image> prologue_, epilogue_;               // both or none
  std::optional<From> source_;                                       // as choose_source() has decided
  std::optional<verify::Variation> variation_;                       // if there is a baseline
  std::map<std::pair<size_t, verify::ElementType>, double> scales_;  // that scale() has found, by segment and type
};

}  // namespace mneme::run
