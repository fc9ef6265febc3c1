// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/writer.h"

#include <unordered_set>

#include "base/error.h"
#include "base/pipeline.h"
#include "bundle/archive/writer.h"
#include "bundle/blocks/block_window.h"
#include "bundle/blocks/coverage.h"
#include "bundle/names.h"
#include "bundle/pack/writer.h"

namespace mneme::bundle {
namespace {

// What an instance needs stored, in order, and which of it the stream holds already.
std::vector<PackItem> missing_blocks(const State& prologue, const State& epilogue, BlockWindow& at_hand) {
  std::vector<PackItem> items;
  auto need = [&](const BlockReference& block, bool of_epilogue, const Digest& base) {
    if (block.digest == zero_block_digest() || !at_hand.add(block.digest)) return;
    items.push_back({{block.digest, base, 0}, block.address, of_epilogue});
  };
  for (const BlockReference& block : prologue.blocks) need(block, false, {});
  // Both states list the same addresses.
  for (size_t i = 0; i < epilogue.blocks.size(); ++i) {
    const Digest& before = prologue.blocks[i].digest;
    need(epilogue.blocks[i], true, before == zero_block_digest() ? Digest{} : before);
  }
  return items;
}

}  // namespace

struct Writer::Implementation {
  Implementation(int fd, std::string name) : archive(fd, std::move(name)) {}

  void begin(const std::string& name, uint64_t size);
  void add(const std::string& name, Bytes contents) {
    begin(name, contents.size());
    archive.append(contents);
  }
  void begin_pack(uint64_t size) {
    memory_bytes += size;
    archive.begin(pack_name(packs++), size);
  }
  void add_pack(Bytes pack) {
    begin_pack(pack.size());
    archive.append(pack);
  }
  // Throws Error unless the state is the one that is named and fits the segments. Returns its text.
  std::string check_state(const InstanceInfo& instance, const State& state, bool epilogue) const;
  // What is left to do of an instance whose blocks are stored: `texts` are those of its states.
  void add_stored_instance(const InstanceInfo& instance, const std::string (&texts)[2],
                           const std::vector<Digest>& cited, std::string_view text);
  void add_json(const InstanceInfo& instance, std::string_view text);
  void let_go();  // blocks, if it is time to
  void add_raw_state(const InstanceInfo& instance, const State& state, bool epilogue, const BlockSource& block);

  ArchiveWriter archive;
  PackWriter pack_writer;
  std::unordered_set<Digest> names;  // digests of the names written
  uint64_t packs = 0;
  uint64_t memory_bytes = 0;
  // What the next instance may cite. States: those that the instance before cites or that were stored since.
  BlockWindow blocks;
  std::unordered_set<Digest> states;
  uint64_t lists = 0;
};

Writer::Writer(int fd, std::string name) : implementation_(new Implementation(fd, std::move(name))) {}
Writer::~Writer() {
  ArchiveWriter& archive = implementation_->archive;
  if (!archive.can_be_ended() || !is_pipe(archive.fd())) return;
  try {
    const bool begun = !implementation_->names.empty();
    if (begun && !has(std::string(kSummaryMember))) {
      Summary summary;
      summary.truncated = summary.failed = true;
      add(std::string(kSummaryMember), write(summary));
    }
    finish();
  } catch (const Error&) {
    // Nobody reads it.
  }
}

void Writer::Implementation::begin(const std::string& name, uint64_t size) {
  check_name(name);
  MemberKind kind = parse_name(name).kind;
  if (!names.insert(digest_of(name)).second && !may_recur(kind)) {
    throw Error::of("{} would be in the bundle twice", shown(name));
  }
  if (kind == MemberKind::kState || kind == MemberKind::kPack || kind == MemberKind::kRaw ||
      kind == MemberKind::kKeep) {
    memory_bytes += size;
  }
  archive.begin(name, size);
}

void Writer::add(const std::string& name, Bytes contents) {
  begin(name, contents.size());
  append(contents);
}
void Writer::begin(const std::string& name, uint64_t size) {
  implementation_->begin(name, size);
  if (parse_name(name).kind != MemberKind::kInstance) return;
  // Not by add_instance(): what it cites is not known here, so nothing is taken for granted.
  implementation_->blocks.clear();
  implementation_->states.clear();
}
void Writer::append(Bytes piece) { implementation_->archive.append(piece); }
void Writer::begin_pack(uint64_t size) { implementation_->begin_pack(size); }
bool Writer::has(const std::string& name) const { return implementation_->names.contains(digest_of(name)); }
uint64_t Writer::memory_bytes() const { return implementation_->memory_bytes; }
void Writer::finish() { implementation_->archive.finish(); }

std::string Writer::Implementation::check_state(const InstanceInfo& instance, const State& state, bool epilogue) const {
  std::string text = bundle::write(state);
  std::string where = fmt::format("the {} of instance {}", epilogue ? "epilogue" : "prologue", instance.id.hex());
  if (digest_of(text) != (epilogue ? instance.epilogue : instance.prologue)) {
    throw Error::of("{} is not the state that the instance names", where);
  }
  check_coverage(state, instance.segments, where);
  return text;
}

void Writer::add_instance(const InstanceInfo& instance, const State& prologue, const State& epilogue,
                          const BlockSource& block, std::string_view text) {
  Implementation& self = *implementation_;
  std::string texts[] = {self.check_state(instance, prologue, false), self.check_state(instance, epilogue, true)};
  auto contents = [&](const PackItem& item, bool base) {
    Bytes bytes = block(item.address, item.epilogue && !base);
    if (bytes.size() != kBlockSize) throw Error::of("block {:#x} was given {} bytes", item.address, bytes.size());
    if (!base) check_gaps(item.address, bytes, instance.segments);
    return bytes;
  };
  self.pack_writer.write(missing_blocks(prologue, epilogue, self.blocks), contents,
                         [&](Bytes pack) { self.add_pack(pack); });
  self.add_stored_instance(instance, texts, cited_blocks(prologue, epilogue), text);
}

void Writer::add_instance(const InstanceInfo& instance, const State& prologue, const State& epilogue,
                          std::string_view text) {
  Implementation& self = *implementation_;
  std::string texts[] = {self.check_state(instance, prologue, false), self.check_state(instance, epilogue, true)};
  const std::vector<Digest> cited = cited_blocks(prologue, epilogue);
  for (const Digest& digest : cited) {
    if (!at_hand(digest)) throw Error::of("instance {} lacks block {}", instance.id.hex(), digest.hex());
  }
  self.add_stored_instance(instance, texts, cited, text);
}

void Writer::Implementation::add_stored_instance(const InstanceInfo& instance, const std::string (&texts)[2],
                                                 const std::vector<Digest>& cited, std::string_view text) {
  const Digest ids[] = {instance.prologue, instance.epilogue};
  for (int i = 0; i < 2; ++i) {
    if (states.insert(ids[i]).second) add(state_name(ids[i]), bytes_of(texts[i]));
  }
  add_json(instance, text);
  blocks.add_instance(cited);
  states = {instance.prologue, instance.epilogue};
  let_go();
}

void Writer::Implementation::let_go() {
  if (auto kept = blocks.let_go()) add(keep_name(lists++), bytes_of(write_kept(*kept)));
}

void Writer::keep_others(uint64_t bytes) { implementation_->blocks.keep_others(bytes / kBlockSize); }

void Writer::begin_input() {
  implementation_->blocks.begin_input();
  implementation_->let_go();
}

void Writer::Implementation::add_json(const InstanceInfo& instance, std::string_view text) {
  const std::string name = instance_name(instance.kernel, instance.id);
  if (text.empty()) return add(name, bytes_of(bundle::write(instance)));
  add(name, bytes_of(text));
}

void Writer::add_pack(Bytes pack, std::span<const Digest> blocks) {
  implementation_->add_pack(pack);
  for (const Digest& block : blocks) implementation_->blocks.add(block);
}

bool Writer::at_hand(const Digest& block) const {
  return block == zero_block_digest() || implementation_->blocks.holds(block);
}

void Writer::Implementation::add_raw_state(const InstanceInfo& instance, const State& state, bool epilogue,
                                           const BlockSource& block) {
  static const std::vector<std::byte> kZeros(kBlockSize);
  std::vector<std::string> files = raw_files(instance.segments);
  size_t listed = 0;
  for (size_t i = 0; i < instance.segments.size(); ++i) {
    const Segment& segment = instance.segments[i];
    begin(raw_name(epilogue ? instance.epilogue : instance.prologue, files[i]), segment.size);
    uint64_t end = segment.address + segment.size;
    while (state.blocks[listed].address < block_of(segment.address)) ++listed;
    for (size_t b = listed; b < state.blocks.size() && state.blocks[b].address < end; ++b) {
      const auto& [address, digest] = state.blocks[b];
      Bytes bytes = digest == zero_block_digest() ? Bytes(kZeros) : block(address, epilogue);
      if (bytes.size() != kBlockSize) throw Error::of("block {:#x} was given {} bytes", address, bytes.size());
      check_gaps(address, bytes, instance.segments);
      uint64_t from = std::max(address, segment.address), to = std::min(address + kBlockSize, end);
      archive.append(bytes.subspan(from - address, to - from));
    }
  }
}

void Writer::add_raw_instance(const InstanceInfo& instance, const State& prologue, const State& epilogue,
                              const BlockSource& block, std::string_view text) {
  Implementation& self = *implementation_;
  self.check_state(instance, prologue, false);
  self.check_state(instance, epilogue, true);
  if (self.states.insert(instance.prologue).second) self.add_raw_state(instance, prologue, false, block);
  if (self.states.insert(instance.epilogue).second) self.add_raw_state(instance, epilogue, true, block);
  self.add_json(instance, text);
  self.blocks.clear();
  self.states = {instance.prologue, instance.epilogue};
}

void Writer::add_blocks(std::span<const LooseBlock> blocks) {
  Implementation& self = *implementation_;
  std::vector<PackItem> items;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].contents.size() != kBlockSize) throw Error("a block of another size than a block's was to be stored");
    if (blocks[i].digest == zero_block_digest() || !self.blocks.add(blocks[i].digest)) continue;
    items.push_back({{blocks[i].digest, {}, 0}, i, false});
  }
  self.pack_writer.write(
      std::move(items), [&](const PackItem& item, bool) { return blocks[item.address].contents; },
      [&](Bytes pack) { self.add_pack(pack); });
}

}  // namespace mneme::bundle
