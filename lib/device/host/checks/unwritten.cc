// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/unwritten.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "device/host/checks/findings.h"
#include "device/host/checks/places.h"
#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

using codegen::host::BlockContext;
using codegen::host::kMostWritten;
using codegen::host::Site;
using codegen::host::UseOfUnwritten;
using codegen::host::WrittenMemory;
using codegen::host::WrittenRange;

constexpr uint8_t kWritten = 0xff;

const uint8_t* all_written() {
  static const auto* all = [] {
    auto* bytes = new std::array<uint8_t, kMostWritten>;
    bytes->fill(kWritten);
    return bytes;
  }();
  return all->data();
}

uint8_t* anything() {
  static auto* bytes = new std::array<uint8_t, kMostWritten>;
  return bytes->data();
}

bool is_in(const WrittenRange& range, uint64_t address) { return address - range.begin < range.size; }

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

std::string text_of(UseOfUnwritten how, const Site& site) {
  const char* text = how == codegen::host::kDecidesBranch ? "a branch depends on it"
                     : how == codegen::host::kIsAddress   ? "it is used as an address"
                     : how == codegen::host::kIsUpdate    ? "an atomic operation takes it"
                                                          : "a result of it is stored";
  return text + at(site);
}

}  // namespace

const WrittenMemory& unfollowed_memory() {
  static const WrittenMemory kNothing = {{0, 0, nullptr}, {0, 0, nullptr}, all_written(), anything()};
  return kNothing;
}

const WrittenMemory* Unwritten::begin(const BlockContext& context) {
  std::unique_ptr<Block>& block = blocks_[&context];
  if (!block) block = std::make_unique<Block>();
  const uint64_t size = shared_size(context);
  block->shadow.assign(size + kMostWritten, 0);
  block->kept.clear();
  block->memory = {{number(context.shared), size, block->shadow.data()}, options_.device, all_written(), anything()};
  return &block->memory;
}

std::unordered_map<uint64_t, uint32_t>& Unwritten::kept_for(const BlockContext& context, uint64_t address) {
  Block& block = block_of(context);
  return is_in(block.memory.shared, address) ? block.kept : kept_;
}

// 0: the bytes were never written.
uint32_t Unwritten::kept_at(const BlockContext& context, uint64_t address, uint64_t size) {
  const auto& kept = kept_for(context, address);
  if (kept.empty()) return 0;
  for (uint64_t at = address; at < address + size; ++at) {
    if (auto found = kept.find(at); found != kept.end()) return found->second;
  }
  return 0;
}

uint32_t Unwritten::read(const BlockContext& context, uint32_t thread, uint64_t address, uint64_t size,
                         const Site& site) {
  const bool is_memory = !(site.flags & (codegen::host::kReadsLane | codegen::host::kReadsLocal));
  if (uint32_t known = is_memory ? kept_at(context, address, size) : 0) return known;
  std::vector<uint32_t>& numbers = of_place_[&site];
  if (numbers.size() < kMostOfPlace) {
    reads_.emplace_back();
    numbers.push_back(static_cast<uint32_t>(reads_.size()));
  }
  reads_[numbers.back() - 1] = {&site, address, size, thread};
  return numbers.back();
}

void Unwritten::keep(const BlockContext& context, uint32_t number, uint64_t address, uint64_t size) {
  auto& kept = kept_for(context, address);
  if (kept.size() >= kMostKept) kept.clear();
  kept[address] = number;
  for (uint64_t at = address + 1; at < address + size; ++at) kept.erase(at);
}

uint8_t* Unwritten::shadow_of(const WrittenMemory& memory, uint64_t address, uint64_t size) {
  for (const WrittenRange& range : {memory.shared, memory.device}) {
    if (is_in(range, address) && size <= range.size - (address - range.begin)) {
      return range.shadow + (address - range.begin);
    }
  }
  return nullptr;
}

void Unwritten::write(const BlockContext& context, uint64_t to, uint64_t from, uint64_t size) {
  const WrittenMemory& memory = block_of(context).memory;
  uint8_t* shadow = shadow_of(memory, to, size);
  if (!shadow) return;
  const uint8_t* copied = from ? shadow_of(memory, from, size) : nullptr;
  copied ? std::memmove(shadow, copied, size) : std::memset(shadow, kWritten, size);
}

void Unwritten::use(const BlockContext& context, uint32_t number, UseOfUnwritten how, uint64_t address,
                    const Site& site) {
  if (how == codegen::host::kStoresResult && is_in(block_of(context).memory.shared, address)) return;
  const Read& read = reads_.at((number & ~codegen::host::kComputedRead) - 1);
  const bool of_lane = read.site->flags & codegen::host::kReadsLane;
  const bool of_local = read.site->flags & codegen::host::kReadsLocal;
  const bool of_shared = !of_lane && !of_local && is_in(block_of(context).memory.shared, read.address);
  const char* kind = of_lane ? "lane" : of_local ? "local" : of_shared ? "shared" : "device";
  const Findings::Key key = {.check = of_lane ? "sync" : "init", .kind = kind, .site = read.site};
  options_.findings->note(key, [&](bundle::Finding& finding) {
    if (of_lane || of_local) {
      const std::string what =
          of_lane ? fmt::format("takes a value from lane {}{}, which does not take part", read.address, at(*read.site))
                  : fmt::format("reads {} byte{} of a local variable{}, which nobody has written", read.size,
                                read.size == 1 ? "" : "s", at(*read.site));
      finding.sentence = fmt::format("kernel '{}', {}: {}", static_cast<const ServiceState*>(context.launch)->kernel,
                                     text_of(context, {number_of_block(context), read.thread}), what);
    } else {
      finding.sentence = describe_tracked(context, read.thread, "reads", read.address, read.size, *read.site) +
                         ", which nobody has written";
    }
    finding.sentence += "; " + text_of(how, site);
    finding.line = read.site->place;
    if (finding.line != site.place) finding.other = site.place;
  });
}

}  // namespace mneme::device::host
