// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/reader.h"

#include <algorithm>

#include "base/error.h"
#include "base/pipeline.h"
#include "bundle/reader_implementation.h"

namespace mneme::bundle {

Reader::Reader(int fd, std::string name, Memory memory) try {
  implementation_ = std::make_unique<Implementation>(fd, name, memory);
  implementation_->open();
} catch (const Truncation&) {
  throw Error::of("{} ends within its first member, {}", name, kBundleMember);
}
Reader::~Reader() = default;

const BundleInfo& Reader::info() const { return implementation_->info; }
void Reader::copy_to(Writer* writer, bool copy_memory) {
  implementation_->writer = writer;
  implementation_->copy_memory = copy_memory;
}
void Reader::copy_others_to(Writer* writer) { implementation_->others_writer = writer; }
bool Reader::piped() const { return is_pipe(implementation_->fd); }
bool Reader::truncated() const { return !implementation_->truncation.empty(); }
const std::string& Reader::truncation() const { return implementation_->truncation; }
void Reader::choose_packs(std::function<bool(std::span<const PackEntry>)> wanted) {
  implementation_->wanted = std::move(wanted);
}
bool Reader::decodes() const { return implementation_->decodes(); }
void Reader::set_memory_limit(uint64_t bytes) {
  implementation_->memory_limit = bytes;
  implementation_->store.pool().set_limit(bytes);
}

void Reader::before_leaving(std::function<void()> leaving) { implementation_->leaving = std::move(leaving); }

std::optional<Item> Reader::next() {
  if (implementation_->ended) return std::nullopt;
  try {
    std::optional<Item> item = implementation_->next();
    implementation_->decoder.settle();
    implementation_->ended = !item;
    return item;
  } catch (const Truncation& cut) {
    implementation_->decoder.drop();
    implementation_->ended = true;
    implementation_->truncation = fmt::format("{} was cut short {}", implementation_->name, cut.where);
    return std::nullopt;
  } catch (...) {
    implementation_->decoder.drop();
    implementation_->ended = true;
    throw;
  }
}

Bytes Reader::block(const Digest& digest) const {
  const std::byte* bytes = implementation_->store.find(digest);
  if (!bytes) throw Error::of("{}: no pack at hand holds block {}", implementation_->name, digest.hex());
  return {bytes, kBlockSize};
}

Writer::BlockSource blocks_of(const Reader& reader, const InstanceMember& instance) {
  return [&reader, &instance](uint64_t address, bool epilogue) {
    const State& state = epilogue ? instance.epilogue : instance.prologue;
    auto found = std::ranges::lower_bound(state.blocks, address, {}, &BlockReference::address);
    if (found == state.blocks.end() || found->address != address) {
      throw Error::of("instance {} has no block {:#x}", instance.info.id.hex(), address);
    }
    return reader.block(found->digest);
  };
}

}  // namespace mneme::bundle
