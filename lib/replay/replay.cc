// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/replay.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_set>

#include "base/error.h"
#include "bundle/launch.h"
#include "replay/baseline.h"
#include "replay/outcomes.h"
#include "verify/image_comparison.h"
#include "verify/scale.h"

namespace mneme::run {
namespace {

using bundle::kBlockSize;

constexpr uint64_t kReadAtOnce = 1 << 20;  // bytes

Bytes zero_block() {
  static const std::vector<std::byte> zeros(kBlockSize);
  return zeros;
}

// Adds a block to ranges that are in order.
void add_block(std::vector<device::BlockRange>& ranges, uint64_t address) {
  if (ranges.empty() || ranges.back().address + ranges.back().size != address) ranges.push_back({address, 0});
  ranges.back().size += kBlockSize;
}

bool is_zero(Bytes bytes) { return std::memcmp(bytes.data(), zero_block().data(), bytes.size()) == 0; }

}  // namespace

Replay::Replay(device::Device& device, bundle::InstanceMember instance, Fetch fetch, verify::ElementKernel& kernel,
               verify::ImageKernel* on_device, Hold hold)
    : device_(device),
      instance_(std::move(instance)),
      fetch_(std::move(fetch)),
      hold_(std::move(hold)),
      kernel_(kernel),
      on_device_(on_device),
      layout_(instance_.info.segments) {
  place_blocks();
  for (const verify::Range& range : layout_.ranges()) {
    if (!device_.map_to_write(range.address, range.size)) undefined_.push_back(range);
  }
  make_images();
  write_prologue();
  if (epilogue_) write_epilogue();
}

// Merges the two states, both by address.
void Replay::place_blocks() {
  const auto& before = instance_.prologue.blocks;
  const auto& after = instance_.epilogue.blocks;
  size_t b = 0, a = 0;
  while (b < before.size() || a < after.size()) {
    uint64_t address = UINT64_MAX;
    if (b < before.size()) address = std::min(address, before[b].address);
    if (a < after.size()) address = std::min(address, after[a].address);
    if (!layout_.covers(address)) {
      throw Error::of("instance {} holds a block at {:#x}, outside of its segments", instance_.info.id.hex(), address);
    }
    Block block{address, bundle::zero_block_digest(), bundle::zero_block_digest()};
    if (b < before.size() && before[b].address == address) block.prologue = before[b++].digest;
    if (a < after.size() && after[a].address == address) block.epilogue = after[a++].digest;
    blocks_.push_back(block);
  }
}

void Replay::make_images() {
  std::vector<device::BlockRange> ranges;
  for (const verify::Range& range : layout_.ranges()) ranges.push_back({range.address, range.size});
  prologue_ = device_.make_image(ranges);
  if (prologue_) epilogue_ = device_.make_image(ranges);
  if (!epilogue_) prologue_.reset();
}

void Replay::fetch_to(const std::vector<Placed>& placed, const Write& write) {
  std::vector<Digest> wanted;
  for (const Placed& block : placed) wanted.push_back(block.digest);
  fetch_(wanted, [&](size_t first, Bytes blocks) {
    const Placed* next = &placed[first];
    while (!blocks.empty()) {
      uint64_t begin = next->address, end = begin + kBlockSize;
      for (++next; end - begin < blocks.size() && next->address == end; ++next) end += kBlockSize;
      write(begin, blocks.first(end - begin));
      blocks = blocks.subspan(end - begin);
    }
  });
}

// Where the prologue has no block, or one of zeros.
void Replay::write_zeros() {
  auto known = blocks_.begin();
  for (const verify::Range& range : undefined_) {
    for (uint64_t address = range.address; address < range.address + range.size; address += kBlockSize) {
      while (known != blocks_.end() && known->address < address) ++known;
      bool listed = known != blocks_.end() && known->address == address;
      if (!listed || known->prologue == bundle::zero_block_digest()) device_.write(address, zero_block());
    }
  }
}

void Replay::write_prologue() {
  write_zeros();
  // What the host will need to restore memory and to compare it.
  std::unordered_set<Digest> kept;
  std::vector<Placed> placed;
  for (const Block& block : blocks_) {
    if (block.prologue == bundle::zero_block_digest()) continue;  // there already
    placed.push_back({block.address, block.prologue});
    if (!prologue_ && block.prologue != block.epilogue) kept.insert(block.prologue);
  }
  const bool held = hold_ && !prologue_ && hold_(placed.size());
  fetch_to(placed, [&](uint64_t address, Bytes blocks) {
    device_.begin_write(address, blocks);
    if (!held && kept.empty()) return;
    for (uint64_t at = 0; at < blocks.size(); at += kBlockSize) {
      Digest digest = block_at(address + at).prologue;
      Bytes block = blocks.subspan(at, kBlockSize);
      if (held) {
        at_hand_.emplace(digest, block);
      } else if (kept.erase(digest)) {
        keep_at_hand(digest, block);
      }
    }
  });
  if (prologue_) prologue_->take();
}

void Replay::write_epilogue() {
  epilogue_->take();
  std::vector<Placed> placed;
  std::vector<device::BlockRange> zeros;
  for (const Block& block : blocks_) {
    if (block.prologue == block.epilogue) continue;
    if (block.epilogue == bundle::zero_block_digest()) {
      add_block(zeros, block.address);
    } else {
      placed.push_back({block.address, block.epilogue});
    }
  }
  for (const device::BlockRange& range : zeros) epilogue_->clear(range);
  fetch_to(placed, [&](uint64_t address, Bytes blocks) { epilogue_->write(address, blocks); });
}

Bytes Replay::keep_at_hand(const Digest& digest, Bytes bytes) {
  return at_hand_.emplace(digest, bytes_of(copies_.emplace_back(text_of(bytes)))).first->second;
}

Bytes Replay::pristine(const Digest& digest) {
  if (digest == bundle::zero_block_digest()) return zero_block();
  auto found = at_hand_.find(digest);
  if (found != at_hand_.end()) return found->second;
  Bytes kept;
  fetch_(std::span(&digest, 1), [&](size_t, Bytes bytes) { kept = keep_at_hand(digest, bytes); });
  return kept;
}

Bytes Replay::expected(const Digest& digest) {
  if (digest == bundle::zero_block_digest()) return zero_block();
  auto found = at_hand_.find(digest);
  if (found != at_hand_.end()) return found->second;
  fetch_(std::span(&digest, 1), [&](size_t, Bytes bytes) { expected_ = text_of(bytes); });
  return bytes_of(expected_);
}

// Whether these bytes are the block of that digest; by their own digest where the block is not at hand.
bool Replay::is(const Digest& digest, Bytes bytes) {
  if (digest == bundle::zero_block_digest()) return is_zero(bytes);
  auto found = at_hand_.find(digest);
  if (found == at_hand_.end()) return digest_of(bytes) == digest;
  return std::memcmp(found->second.data(), bytes.data(), bytes.size()) == 0;
}

void Replay::restore(From from) {
  if (prologue_) {
    std::vector<device::BlockRange> ranges;
    for (const Block& dirty : dirty_) add_block(ranges, dirty.address);
    for (const device::BlockRange& range : ranges) {
      from == From::kHost ? prologue_->put_back_from_host(range) : prologue_->put_back(range);
    }
  } else {
    for (const Block& dirty : dirty_) device_.write(dirty.address, pristine(dirty.prologue));
  }
  dirty_.clear();
}

// What a scan finds out for a run, with what it needs for that.
class Replay::Findings {
 public:
  // Lists the blocks that differ if `run` is given; does nothing else if `compares` is not set.
  Findings(Replay& replay, bundle::RunInfo* run, bool compares, const verify::Readings& readings,
           uint64_t max_difference, const Observed& observed)
      : replay_(replay),
        run_(run),
        compares_(compares),
        comparison_(replay.layout_, readings, replay.scale_of(readings), replay.kernel_),
        room_(max_difference),
        observed_(observed) {
    if (replay.variation_) steady_.emplace(replay.layout_, readings, *replay.variation_);
  }

  // The blocks by address, each once.
  void take(const Block& block, Bytes expected, Bytes actual, bool differs) {
    bool torn = comparison_.is_torn(block.address);
    if (differs && torn && !last_compared_) {
      std::vector<std::byte> room;
      compare(last_, {}, replay_.device_.view(last_.address, kBlockSize, room), true);
    }
    bool with_last = !differs && torn && last_differed_ && last_.address + kBlockSize == block.address;
    if (differs || with_last) compare(block, expected, actual, with_last);
    last_ = block;
    last_differed_ = differs;
    last_compared_ = differs || with_last;
  }

  // Whether it has a use for more blocks.
  bool wants_more() const { return compares_ || (run_ && run_->blocks_complete); }

  std::vector<bundle::SegmentDifference> differences() {
    pieces_.flush();
    std::vector<bundle::SegmentDifference> differences = comparison_.differences();
    if (steady_) steady_->note_in(differences);
    return differences;
  }

 private:
  void compare(const Block& block, Bytes expected, Bytes actual, bool list) {
    if (expected.empty()) expected = replay_.expected(block.epilogue);
    list = comparison_.differs(block.address, expected, actual) || list;
    if (compares_) pieces_.add(block.address, expected, actual);
    if (steady_) steady_->add(block.address, expected, actual);
    if (!list || !run_ || !run_->blocks_complete) return;
    if (room_ < 2 * kBlockSize) {
      run_->blocks_complete = false;
      return;
    }
    room_ -= 2 * kBlockSize;
    run_->blocks.push_back({block.address, block.epilogue, digest_of(actual)});
    observed_(block.address, block.epilogue, actual);
  }

  Replay& replay_;
  bundle::RunInfo* run_;
  bool compares_;
  verify::Comparison comparison_;
  verify::ComparisonInPieces pieces_{comparison_};
  std::optional<verify::SteadyDifferences> steady_;  // if there is a baseline
  uint64_t room_;                                    // bytes of blocks that may yet be listed
  const Observed& observed_;
  Block last_;
  bool last_differed_ = false, last_compared_ = false;
};

Replay::Block Replay::block_at(uint64_t address) const {
  auto found = std::ranges::lower_bound(blocks_, address, {}, &Block::address);
  if (found != blocks_.end() && found->address == address) return *found;
  return {address, bundle::zero_block_digest(), bundle::zero_block_digest()};
}

double Replay::scale(size_t segment, const verify::Reading& reading) {
  if (reading.scale) return *reading.scale;
  auto found = scales_.find({segment, reading.type});
  if (found != scales_.end()) return found->second;
  const verify::Range& range = layout_.segment(segment);
  const uint64_t begin = range.address / kBlockSize * kBlockSize, end = range.address + range.size;
  verify::RootMeanSquare root(reading, range.size);
  auto add = [&](uint64_t address, Bytes blocks) {
    uint64_t from = std::max(address, range.address), to = std::min(address + blocks.size(), end);
    root.add(from - range.address, blocks.subspan(from - address, to - from));
  };
  if (epilogue_) {
    std::vector<std::byte> blocks(kReadAtOnce);
    for (uint64_t at = begin; at < end; at += kReadAtOnce) {
      uint64_t size = (std::min(kReadAtOnce, end - at) + kBlockSize - 1) / kBlockSize * kBlockSize;
      epilogue_->read(at, std::span(blocks).first(size));
      add(at, Bytes(blocks).first(size));
    }
  } else {
    std::vector<Placed> placed;
    auto block = std::ranges::lower_bound(blocks_, begin, {}, &Block::address);
    for (; block != blocks_.end() && block->address < end; ++block) {
      if (block->epilogue != bundle::zero_block_digest()) placed.push_back({block->address, block->epilogue});
    }
    fetch_to(placed, add);
  }
  return scales_[{segment, reading.type}] = root.value();
}

verify::ScaleOf Replay::scale_of(const verify::Readings& readings) {
  return [this, &readings](size_t segment) { return scale(segment, *readings[segment]); };
}

uint64_t Replay::note_changes() {
  uint64_t changed_bytes = 0;
  for (const device::BlockChange& change : prologue_->changes()) {
    dirty_.push_back(block_at(change.address));
    changed_bytes += change.bytes;
  }
  return changed_bytes;
}

uint64_t Replay::count_strays() {
  uint64_t strays = 0;
  std::vector<std::byte> room, image;
  for (const Block& block : dirty_) {
    const std::vector<verify::Piece> pieces = layout_.pieces(block.address);
    if (pieces.size() == 1 && pieces[0].size == kBlockSize) continue;
    Bytes after = device_.view(block.address, kBlockSize, room), before;
    if (prologue_) {
      image.resize(kBlockSize);
      prologue_->read(block.address, image);
      before = image;
    } else {
      before = pristine(block.prologue);
    }
    // What is a segment's is compared elsewhere.
    uint64_t at = 0;
    auto count_up_to = [&](uint64_t end) {
      strays += verify::count_differences(before.subspan(at, end - at), after.subspan(at, end - at));
    };
    for (const verify::Piece& piece : pieces) {
      count_up_to(piece.in_block);
      at = piece.in_block + piece.size;
    }
    count_up_to(kBlockSize);
  }
  return strays;
}

uint64_t Replay::scan_differing(const Scanned& take) {
  uint64_t changed_bytes = note_changes();
  read_differing(epilogue_->changes(), take, [] { return true; });
  return changed_bytes;
}

void Replay::read_differing(std::span<const device::BlockChange> changes, const Scanned& take,
                            const std::function<bool()>& more) {
  // Elements may lie across blocks.
  std::map<uint64_t, bool> read;  // address → whether it differs
  for (const device::BlockChange& change : changes) {
    read[change.address] = true;
    for (uint64_t beside : {change.address - kBlockSize, change.address + kBlockSize}) {
      if (layout_.covers(beside)) read.try_emplace(beside, false);
    }
  }
  // What is expected is nearer here than where the recording is read.
  std::vector<std::byte> expected(kReadAtOnce), actual(kReadAtOnce);
  for (auto next = read.begin(); next != read.end() && more();) {
    auto first = next;
    uint64_t size = 0;
    for (; next != read.end() && next->first == first->first + size && size < kReadAtOnce; ++next) size += kBlockSize;
    epilogue_->read(first->first, std::span(expected).first(size));
    device_.read(first->first, std::span(actual).first(size));
    for (uint64_t at = 0; first != next; ++first, at += kBlockSize) {
      take(block_at(first->first), Bytes(expected).subspan(at, kBlockSize), Bytes(actual).subspan(at, kBlockSize),
           first->second);
    }
  }
}

uint64_t Replay::scan(const Scanned& take) {
  uint64_t changed_bytes = 0;
  std::vector<std::byte> room;
  auto known = blocks_.begin();
  for (const verify::Range& range : layout_.ranges()) {
    for (uint64_t done = 0; done < range.size; done += kReadAtOnce) {
      Bytes piece = device_.view(range.address + done, std::min(kReadAtOnce, range.size - done), room);
      for (uint64_t at = 0; at < piece.size(); at += kBlockSize) {
        uint64_t address = range.address + done + at;
        Bytes actual = piece.subspan(at, kBlockSize);
        Block block{address, bundle::zero_block_digest(), bundle::zero_block_digest()};
        if (known != blocks_.end() && known->address == address) block = *known++;

        bool changed = !is(block.prologue, actual);
        if (changed) {
          dirty_.push_back(block);
          changed_bytes += verify::count_differences(pristine(block.prologue), actual);
        }
        take(block, {}, actual, block.prologue == block.epilogue ? changed : !is(block.epilogue, actual));
      }
    }
  }
  return changed_bytes;
}

void Replay::execute(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration, Bytes code,
                     uint32_t times, const RunSettings& settings, const Foreign& foreign, const After& after,
                     std::vector<bundle::Finding>* found) {
  const bundle::InstanceInfo& info = instance_.info;
  bundle::LaunchSize size = bundle::launch_size(info, configuration);
  if (!device_.runs_in_this_process()) device::refuse_unknown_handles(kernel, info);
  foreign(true);
  std::unique_ptr<device::Code> loaded = device_.load(kernel, code);
  foreign(false);
  device::Launch launch{size.grid, size.block, size.shared_bytes, info.arguments, info.segments};
  launch.cooperative = info.cooperative;
  launch.cluster = info.cluster;
  launch.stack_bytes = info.stack_bytes;
  launch.arrays = info.arrays;
  launch.textures = info.textures;
  launch.poison_shared = settings.poison_shared;
  launch.cold = settings.cold;
  launch.warn = [](const std::string& sentence) { std::fprintf(stderr, "mneme-run: warning: %s\n", sentence.c_str()); };
  launch.findings = found;
  const bool fits = prologue_ && layout_.block_bytes() <= device_.cache_size();
  auto execute_once = [&](bool timed) {
    launch.timed = timed;
    foreign(true);
    uint64_t nanoseconds = device_.execute(*loaded, launch);
    foreign(false);
    launch.warn = {};  // once is enough
    launch.findings = nullptr;
    return nanoseconds;
  };
  constexpr uint64_t kLong = 5'000'000;  // nanoseconds, of which filling a cache is less than a hundredth
  uint64_t taken = 0;
  Usual usual;
  for (uint32_t i = 0; i < times; i++) {
    restore();
    const bool in_its_cache = fits && !settings.cold && i >= settings.warmup && taken < kLong;
    if (in_its_cache) choose_source(execute_once, usual);
    taken =
        in_its_cache ? execute_in_its_cache(execute_once, usual, source_.value_or(From::kDevice)) : execute_once(true);
    after(i, taken);
    if (fits && usual.always) usual.blocks = dirty_;
  }
  restore();
}

bundle::RunInfo Replay::completed_run(const bundle::VariantInfo& variant) const {
  bundle::RunInfo run;
  run.kernel = instance_.info.kernel;
  run.instance = instance_.info.id;
  run.variant = variant.id;
  run.device = device_.name();
  run.status = "completed";
  run.clock = device_.clock();
  run.compared_bytes = layout_.segment_bytes();
  return run;
}

bundle::RunInfo Replay::run(const bundle::KernelInfo& kernel, const bundle::VariantInfo& variant, Bytes code,
                            const RunSettings& all, const Foreign& foreign, const Observed& observed) {
  RunSettings settings = all;
  settings.warmup = variant.configuration.warmup.value_or(all.warmup);
  settings.iterations = variant.configuration.iterations.value_or(all.iterations);
  bundle::RunInfo run = completed_run(variant);
  run.warmup = settings.warmup;
  run.cold = settings.cold;
  verify::Readings readings = verify::readings(instance_.info, variant.stores);
  uint32_t times = settings.warmup + settings.iterations;
  const After after = [&](uint32_t i, uint64_t taken) {
    if (i >= settings.warmup) run.nanoseconds.push_back(taken);
    bool equal_so_far = run.differences.empty();
    // What varies by itself is told apart byte by byte.
    const bool on_device = epilogue_ && on_device_ && !variation_;
    Findings findings(*this, equal_so_far ? &run : nullptr, !on_device, readings, settings.max_difference, observed);
    Scanned scanned = [&](const Block& block, Bytes expected, Bytes actual, bool differs) {
      findings.take(block, expected, actual, differs);
    };
    if (on_device) {
      run.changed_bytes = note_changes();
      std::vector<device::BlockChange> changes = epilogue_->changes();
      read_differing(changes, scanned, [&] { return findings.wants_more(); });
      verify::ImageComparison comparison(layout_, readings, scale_of(readings), device_, *epilogue_, *on_device_,
                                         kernel_);
      note_differences(run, comparison.differences(changes));
    } else {
      run.changed_bytes = prologue_ ? scan_differing(scanned) : scan(scanned);
      note_differences(run, findings.differences());
    }
    if (i == 0) run.stray_bytes = count_strays();
  };
  auto* found = variant.configuration.checks.empty() ? nullptr : &run.findings;
  execute(kernel, variant.configuration, code, times, settings, foreign, after, found);
  // A device that has given its clock up measures by another from then on: all by that one.
  if (std::string clock = device_.clock(); clock != run.clock) {
    run.clock = std::move(clock);
    run.nanoseconds.clear();
    execute(kernel, variant.configuration, code, times, settings, foreign, after);
  }
  return run;
}

bundle::RunInfo Replay::measure(const bundle::KernelInfo& kernel, const bundle::VariantInfo& variant, Bytes code,
                                const RunSettings& settings, const Foreign& foreign, const Observed& observed) {
  verify::Readings readings = verify::readings(instance_.info, variant.stores);
  Repetitions repetitions(layout_, readings, scale_of(readings), settings.max_difference,
                          [this](const Digest& digest) { return expected(digest); });
  RunSettings untimed = settings;
  untimed.warmup = settings.baseline;
  execute(kernel, variant.configuration, code, settings.baseline, untimed, foreign, [&](uint32_t, uint64_t) {
    repetitions.begin_execution();
    scan([&](const Block& block, Bytes, Bytes actual, bool differs) {
      repetitions.take(block.address, block.epilogue, actual, differs);
    });
    repetitions.end_execution();
  });
  bundle::RunInfo run = completed_run(variant);
  run.baseline = repetitions.result();
  for (const bundle::VaryingBlock& block : run.baseline->blocks) {
    observed(block.address, block.bytes, repetitions.variation().at(block.address));
  }
  set_variation(repetitions.variation());
  return run;
}

}  // namespace mneme::run
