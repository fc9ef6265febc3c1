// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/races.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bundle/checks.h"
#include "device/host/checks/findings.h"
#include "device/host/checks/places.h"
#include "device/host/heap/device_heap.h"

namespace mneme::device::host {

using codegen::host::Site;

Races::Races(const RunOptions& options, const codegen::host::CodeObject& code)
    : options_(options),
      wave_size_(std::clamp<uint32_t>(code.wave_size, 1, kMostLanes)),
      in_step_(code.checks & codegen::host::kInStep) {}

// ---- work-items and their order ----------------------------------------------------------------------------------

void Races::begin(Block& block, const BlockContext& context) {
  const size_t threads = size_t{context.block[0]} * context.block[1] * context.block[2];
  std::ranges::copy(context.group, block.group);
  block.number = number_of_block(context);
  block.items.assign(threads, {});
  block.arriving.assign(threads, 0);
  block.views.assign(1, {});
  block.uses.assign(1, 0);
  block.free_views.clear();
  block.shared.assign((shared_size(context) + 3) / 4, {});
  block.epoch = 0;
  block.has_news = false;
  block.known = nullptr;
  block.fence = nullptr;
  block.told.clear();
}

Races::Told& Races::told(Block& block, uint32_t thread) {
  if (block.told.empty()) block.told.resize(block.items.size());
  return block.told[thread];
}

KnowledgePointer Races::known(const Block& block, uint32_t thread) {
  return block.told.empty() ? nullptr : block.told[thread].known;
}

Races::Block& Races::block_of(const BlockContext& context) {
  if (&context != last_context_) {
    std::unique_ptr<Block>& block = blocks_[&context];
    if (!block) block = std::make_unique<Block>();
    last_context_ = &context;
    last_block_ = block.get();
  }
  if (!std::ranges::equal(context.group, last_block_->group)) begin(*last_block_, context);
  return *last_block_;
}

void Races::release_view(Block& block, Item& item) {
  if (item.view && --block.uses[item.view] == 0) block.free_views.push_back(item.view);
  item.view = 0;
}

// The lanes that have come to a collective have left it when one of them does something else: all know of each other
// what they did before.
void Races::leave_collective(Block& block, uint32_t thread) {
  uint64_t& lanes = block.arriving[thread / wave_size_];
  if (!(lanes >> thread % wave_size_ & 1)) return;
  const uint32_t first = thread / wave_size_ * wave_size_;
  View view{};
  KnowledgePointer known;
  for (uint32_t lane = 0; lane < wave_size_; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    Item& item = block.items[first + lane];
    if (item.view) {
      const View& known = block.views[item.view];
      for (uint32_t i = 0; i < wave_size_; ++i) view[i] = std::max(view[i], known[i]);
    }
    known = joined(known, Races::known(block, first + lane));
    view[lane] = std::max(view[lane], item.count++);
    release_view(block, item);
  }
  uint32_t number = static_cast<uint32_t>(block.views.size());
  if (block.free_views.empty()) {
    block.views.push_back(view);
    block.uses.push_back(0);
  } else {
    number = block.free_views.back();
    block.free_views.pop_back();
    block.views[number] = view;
  }
  for (uint32_t lane = 0; lane < wave_size_; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    Item& item = block.items[first + lane];
    item.view = number;
    if (known) told(block, first + lane).known = known;
    ++block.uses[number];
  }
  lanes = 0;
}

void Races::synchronise(const BlockContext& context, uint32_t thread, codegen::host::TrackedSync kind) {
  Block& block = block_of(context);
  leave_collective(block, thread);
  Item& item = block.items[thread];
  switch (kind) {
    case codegen::host::kTrackedGridBarrier:
      ++item.grid_epoch;
      [[fallthrough]];
    case codegen::host::kTrackedBarrier:
      if (++item.epoch > block.epoch) {
        block.epoch = item.epoch;
        if (block.has_news) pass_barrier(block);
      }
      release_view(block, item);
      if (block.known) told(block, thread).known = block.known;
      break;
    case codegen::host::kTrackedWave:
      block.arriving[thread / wave_size_] |= uint64_t{1} << thread % wave_size_;
      break;
    case codegen::host::kTrackedFence:
      return pass_fence(block, thread, false);
    case codegen::host::kTrackedBlockFence:
      return pass_fence(block, thread, true);
    default:
      break;
  }
}

// All work-items have come to a barrier: they know what any of them knew, and have passed the fences that any passed.
void Races::pass_barrier(Block& block) {
  auto fences = std::make_shared<Release>();
  fences->block = block.number;
  for (Told& item : block.told) {
    block.known = joined(block.known, item.known);
    if (item.fence) fences->epoch = std::max(fences->epoch, item.fence->epoch);
  }
  bool any = false;
  for (Told& item : block.told) {
    if (item.fence && item.fence->epoch == fences->epoch) {
      for (const auto& [thread, count] : item.fence->items) fences->add(thread, count);
    }
    any |= item.fence != nullptr;
    item.fence = item.block_fence = nullptr;
  }
  block.has_news = false;
  if (!any) return;
  fences->known = block.known;
  const bool alike =
      fences->items.size() == block.items.size() &&
      std::ranges::all_of(fences->items, [&](const auto& item) { return item.second == fences->items.front().second; });
  if (alike) fences->all = fences->items.front().second;
  if (alike) fences->items.clear();
  block.fence = std::move(fences);
}

void Races::pass_fence(Block& block, uint32_t thread, bool for_block) {
  Item& item = block.items[thread];
  auto fence = std::make_shared<Release>();
  fence->block = block.number;
  fence->epoch = item.epoch;
  fence->for_block = for_block;
  fence->known = known(block, thread);
  if (item.view) {
    const View& view = block.views[item.view];
    for (uint32_t lane = 0; lane < wave_size_; ++lane) {
      if (view[lane]) fence->add(thread / wave_size_ * wave_size_ + lane, view[lane]);
    }
  }
  fence->add(thread, item.count++);
  block.has_news = true;
  Told& news = told(block, thread);
  if (for_block) {
    news.block_fence = std::move(fence);
  } else {
    news.fence = std::move(fence);
    news.block_fence = nullptr;
  }
}

void Races::acquire(Block& block, uint32_t thread, uint64_t channel) {
  auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  Told& item = told(block, thread);
  const Channel* one = found->second.get();
  if (item.known) {
    auto known = item.known->find(one);
    if (known != item.known->end() && known->second == one->size()) return;
  }
  auto more = item.known ? std::make_shared<Knowledge>(*item.known) : std::make_shared<Knowledge>();
  (*more)[one] = one->size();
  item.known = std::move(more);
  block.has_news = true;
}

void Races::release(Block& block, uint32_t thread, uint64_t channel) {
  if (block.told.empty()) return;
  const Told& item = block.told[thread];
  for (const ReleasePointer& fence : {block.fence, item.fence, item.block_fence}) {
    if (!fence) continue;
    std::unique_ptr<Channel>& one = channels_[channel];
    if (!one) one = std::make_unique<Channel>();
    one->put(fence);
  }
}

bool Races::knows(const Now& now, uint32_t thread, uint32_t count) const {
  if (thread == now.thread) return true;
  if (thread / wave_size_ != now.thread / wave_size_) return false;
  if (in_step_ && count < now.item.count) return true;
  if (now.item.view == 0) return false;
  return now.block.views[now.item.view][thread % wave_size_] >= count;
}

bool Races::is_before(const Now& now, Tag tag) const {
  if (is_before_here(now, tag)) return true;
  if (now.block.told.empty()) return false;
  const KnowledgePointer& known = now.block.told[now.thread].known;
  if (!known) return false;
  const Record& record = history_.of(tag);
  if (record.kind == Record::kSet) return is_before(now, record.first) && is_before(now, record.rest);
  auto is_known = [&](uint32_t thread, uint32_t count) {
    if (record.block == now.block.number && knows(now, thread, count)) return true;
    return has(*known, {record.block, record.epoch, thread, count}, now.block.number);
  };
  return is_known(History::thread_of(tag), record.count) &&
         (record.kind == Record::kOne || is_known(record.second, record.second_count));
}

// By barriers and collectives alone.
bool Races::is_before_here(const Now& now, Tag tag) const {
  const Record& record = history_.of(tag);
  if (record.kind == Record::kSet) return is_before_here(now, record.first) && is_before_here(now, record.rest);
  if (record.grid_epoch < now.item.grid_epoch) return true;
  if (record.block != now.block.number) return false;
  if (record.epoch < now.item.epoch) return true;
  if (!knows(now, History::thread_of(tag), record.count)) return false;
  return record.kind == Record::kOne || knows(now, record.second, record.second_count);
}

// Of several, one of another wave: of that hardware in lock step makes no less.
Races::Other Races::unordered(const Now& now, Tag tag) const {
  const Record& record = history_.of(tag);
  if (record.kind == Record::kSet) return unordered(now, is_before(now, record.first) ? record.rest : record.first);
  const uint32_t first = History::thread_of(tag);
  bool is_first = record.kind == Record::kOne || record.block != now.block.number;
  if (record.kind == Record::kWave) is_first |= first != now.thread && !knows(now, first, record.count);
  if (record.kind == Record::kBlock) is_first |= first / wave_size_ != now.thread / wave_size_;
  return {record.block, is_first ? first : record.second, record.site};
}

Races::Made& Races::made_at(Block& block, const Item& item, const Site& site) {
  Made& made = block.made[reinterpret_cast<uint64_t>(&site) / sizeof(Site) % block.made.size()];
  if (made.site == &site && made.block == block.number && made.epoch == item.epoch && made.count == item.count &&
      made.grid_epoch == item.grid_epoch) {
    return made;
  }
  Record record;
  record.block = block.number;
  record.epoch = item.epoch;
  record.grid_epoch = item.grid_epoch;
  record.count = item.count;
  record.site = &site;
  record.writes_atomically = is_strong(site) && writes(site);
  record.is_special = !(site.flags & codegen::host::kTrackedAtomic) || (site.flags & codegen::host::kTrackedBlock);
  made = {&site, block.number, item.epoch, item.grid_epoch, item.count, history_.tag(record, 0), {}, {}};
  return made;
}

// ---- accesses ----------------------------------------------------------------------------------------------------

// The head of the accesses since the last write, with this one; none: it goes beside it.
Tag Races::merged(const Now& now, Tag head) {
  const Record& record = history_.of(head);
  if (record.block != now.block.number || record.grid_epoch != now.item.grid_epoch || record.epoch != now.item.epoch ||
      is_strong(*record.site) != is_strong(now.site) || writes(*record.site) != writes(now.site)) {
    return Tag::kNone;
  }
  const uint32_t first = History::thread_of(head);
  if (record.kind == Record::kBlock) return head;
  if (first == now.thread && record.kind == Record::kOne) return now.tag;
  const bool same_wave = first / wave_size_ == now.thread / wave_size_;
  if (record.kind == Record::kWave && same_wave) return head;
  Record both = record;
  both.kind = same_wave ? Record::kWave : Record::kBlock;
  both.second = static_cast<uint16_t>(now.thread);
  both.second_count = now.item.count;
  return history_.tag(both, first);
}

Tag Races::add(const Now& now, Tag readers) {
  if (readers == Tag::kNone) return now.tag;
  const Record all = history_.of(readers);  // more may come
  const bool is_set = all.kind == Record::kSet;
  if ((!all.writes_atomically || is_strong(now.site)) && is_before_here(now, readers)) return now.tag;
  Tag head = merged(now, is_set ? all.first : readers);
  if (head != Tag::kNone) {
    if (!is_set) return head;
    if (head == all.first) return readers;
    Record set = all;
    set.first = head;
    return history_.tag(set, 0);
  }
  // The same further down, as where blocks take turns.
  Tag rest = readers;
  for (int i = 0; i < 4 && history_.of(rest).kind == Record::kSet; ++i) {
    rest = history_.of(rest).rest;
    const Tag next = history_.of(rest).kind == Record::kSet ? history_.of(rest).first : rest;
    if (merged(now, next) == next) return readers;
  }
  if (is_set && all.length >= kMostReaders) return readers;
  Record set;
  set.kind = Record::kSet;
  set.first = now.tag;
  set.rest = readers;
  set.length = (is_set ? all.length : 1) + 1;
  const Record& own = history_.of(now.tag);
  set.writes_atomically = history_.of(readers).writes_atomically || own.writes_atomically;
  set.is_special = history_.of(readers).is_special || own.is_special;
  return history_.tag(set, 0);
}

bool Races::writes_the_same(const Now& now) const {
  if (!(now.site.flags & codegen::host::kTrackedValue) || now.size > sizeof now.value) return false;
  return std::memcmp(reinterpret_cast<const void*>(now.address), &now.value, now.size) == 0;
}

void Races::report(const Now& now, Tag tag, bool are_equal) {
  const Other other = unordered(now, tag);
  const bool same_block = other.block == now.block.number;
  const bool same_wave = same_block && other.thread / wave_size_ == now.thread / wave_size_;
  const char* kind = are_equal                                 ? "equal-values"
                     : same_wave                               ? bundle::kWarpSynchronous.data()
                     : writes(now.site) && writes(*other.site) ? "write-write"
                     : writes(now.site)                        ? "read-write"
                                                               : "write-read";
  options_.findings->note(
      {"races", kind, &now.site, other.site, are_equal || same_wave}, [&](bundle::Finding& finding) {
        finding.line = now.site.place;
        finding.other = other.site->place;
        finding.sentence =
            fmt::format("{}, unordered with {}, which {} there{}{}",
                        describe_tracked(now.context, now.thread, verb_of(now.site), now.address, now.size, now.site),
                        text_of(now.context, {other.block, other.thread}), verb_of(*other.site), at(*other.site),
                        are_equal   ? "; both write the same value"
                        : same_wave ? "; they are of one wave, whose lanes need not be in step"
                                    : "");
      });
}

// Whether two accesses may not be unordered. Strong ones may, unless one is for its block only, or they rely on the
// lanes of a wave being in step.
bool Races::conflict(const Now& now, const Record& other) const {
  if (!writes(now.site) && !writes(*other.site)) return false;
  if (!is_strong(now.site) || !is_strong(*other.site)) return true;
  const uint32_t flags = now.site.flags | other.site->flags;
  if (other.block != now.block.number) return flags & codegen::host::kTrackedBlock;
  return now.is_shared && !(flags & codegen::host::kTrackedAtomic) && other.kind != Record::kBlock;
}

void Races::compare(const Now& now, Slot& slot) {
  const bool stores = writes(now.site) && !is_strong(now.site);
  if (slot.writer != Tag::kNone && !is_before(now, slot.writer)) {
    report(now, slot.writer, stores && writes_the_same(now));
  }
  if (slot.readers == Tag::kNone) return;
  const Record& all = history_.of(slot.readers);
  if (!writes(now.site) && !all.writes_atomically) return;
  if (!all.is_special && !history_.of(now.tag).is_special) return;  // atomic operations of the whole device
  Tag of_wave = Tag::kNone;
  bool is_seen = false;  // by an atomic operation that came before: those on the word before that have come, too
  for (Tag rest = slot.readers; rest != Tag::kNone;) {
    const Record& record = history_.of(rest);
    const bool is_set = record.kind == Record::kSet;
    const Tag one = is_set ? record.first : rest;
    rest = is_set ? record.rest : Tag::kNone;
    const Record& other = history_.of(one);
    if (is_strong(*other.site) && is_seen) continue;
    if (!conflict(now, other)) continue;
    if (is_before(now, one)) {
      is_seen |= is_strong(*other.site);
      continue;
    }
    if (is_of_wave(now, one)) {
      of_wave = one;
    } else if (other.block != now.block.number || !is_strong(now.site) || !is_strong(*other.site)) {
      return report(now, one, false);
    }
  }
  if (of_wave != Tag::kNone) report(now, of_wave, false);
}

bool Races::is_of_wave(const Now& now, Tag tag) const {
  const Other other = unordered(now, tag);
  return other.block == now.block.number && other.thread / wave_size_ == now.thread / wave_size_;
}

void Races::access_slot(const Now& now, Slot& slot) {
  const bool stores = writes(now.site) && !is_strong(now.site);
  if (slot.readers == Tag::kNone) {
    if (slot.writer == Tag::kNone || slot.writer == now.tag) {
      (stores ? slot.writer : slot.readers) = now.tag;
      return;
    }
  } else if (slot.readers == now.made.readers && slot.writer == now.made.writer) {
    return;
  }
  compare(now, slot);
  if (stores) {
    slot = {now.tag, Tag::kNone};
    return;
  }
  const Tag before = slot.readers;
  slot.readers = add(now, before);
  if (before == slot.readers && !writes(now.site)) remember(now, slot);
}

// The next work-item that finds the same there has nothing to do.
void Races::remember(const Now& now, const Slot& slot) const {
  const Record& all = history_.of(slot.readers);
  const Record& head = all.kind == Record::kSet ? history_.of(all.first) : all;
  if (head.kind != Record::kBlock || head.block != now.block.number || all.writes_atomically) return;
  if (slot.writer != Tag::kNone) {
    const Record& writer = history_.of(slot.writer);
    const bool is_before =
        writer.grid_epoch < now.item.grid_epoch || (writer.block == now.block.number && writer.epoch < now.item.epoch);
    if (!is_before) return;
  }
  now.made.writer = slot.writer;
  now.made.readers = slot.readers;
}

// Bytes [first, last) of the word.
void Races::access_word(const Now& now, Word& word, uint32_t first, uint32_t last) {
  const bool is_whole = first == 0 && last == 4;
  if (!word.is_split()) {
    if (is_whole) return access_slot(now, word.whole());
    shadow_.split(word);
  }
  Shadow::Bytes& bytes = shadow_.bytes(word);
  for (uint32_t i = first; i < last; ++i) access_slot(now, bytes[i]);
  if (!is_whole || !writes(now.site) || is_strong(now.site)) return;
  shadow_.join(word);
  word.whole() = {now.tag, Tag::kNone};
}

// Memory that is neither the launch's nor the block's is the work-items' own: on stacks, and in frames.
bool Races::is_known(uint64_t address) {
  if (address - known_begin_ < known_end_ - known_begin_) return true;
  if (const KnownMemory* known = known_at(options_, address)) {
    known_begin_ = known->address;
    known_end_ = known->address + known->size;
    return true;
  }
  return options_.heap && options_.heap->has(address);
}

void Races::start_anew() {
  history_.clear();
  shadow_.clear();
  for (auto& [context, block] : blocks_) {
    std::ranges::fill(block->shared, Word{});
    block->made = {};
  }
}

void Races::access(const BlockContext& context, uint32_t thread, uint64_t address, uint64_t size, uint64_t value,
                   const Site& site) {
  if (size == 0) return;
  Block& block = block_of(context);
  leave_collective(block, thread);
  const uint64_t shared = reinterpret_cast<uint64_t>(context.shared);
  const bool is_shared = address - shared < block.shared.size() * 4;
  if (is_strong(site)) {
    // Shared memory lies where that of other blocks did.
    const uint64_t channel = is_shared ? ~(uint64_t{block.number} << 20 | (address - shared)) : address;
    if (!channels_.empty()) acquire(block, thread, channel);
    if (site.flags & codegen::host::kTrackedRelease)
      pass_fence(block, thread, site.flags & codegen::host::kTrackedBlock);
    if (writes(site)) release(block, thread, channel);
  }
  if (!is_shared && !is_known(address)) return;
  if (history_.is_full()) start_anew();
  const Item& item = block.items[thread];
  Made& made = made_at(block, item, site);
  const Now now{context,
                block,
                item,
                thread,
                site,
                address,
                size,
                value,
                is_shared,
                made,
                History::with_thread(made.tag, thread)};
  const uint64_t base = is_shared ? shared : 0;
  const uint64_t begin = address - base, end = begin + size;
  for (uint64_t at = begin & ~uint64_t{3}; at < end; at += 4) {
    const uint32_t first = at < begin ? static_cast<uint32_t>(begin - at) : 0;
    const uint32_t last = end - at < 4 ? static_cast<uint32_t>(end - at) : 4;
    if (is_shared) {
      if (at / 4 < block.shared.size()) access_word(now, block.shared[at / 4], first, last);
    } else {
      access_word(now, shadow_.chunk(at & ~(Shadow::kChunk - 1))[at % Shadow::kChunk / 4], first, last);
    }
  }
}

void Races::forget(uint64_t address, uint64_t size) {
  for (uint64_t at = address & ~uint64_t{3}; at < address + size; at += 4) {
    Word& word = shadow_.chunk(at & ~(Shadow::kChunk - 1))[at % Shadow::kChunk / 4];
    if (word.is_split()) shadow_.join(word);
    word.whole() = {};
  }
}

}  // namespace mneme::device::host
