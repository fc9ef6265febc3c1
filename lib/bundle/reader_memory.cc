// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "base/error.h"
#include "bundle/blocks/coverage.h"
#include "bundle/reader_implementation.h"

namespace mneme::bundle {

std::optional<Item> Reader::Implementation::take_memory(const Member& member, const MemberName& parsed) {
  uint64_t limit = UINT64_MAX;
  if (parsed.kind == MemberKind::kPack) limit = max_pack_size();
  if (parsed.kind == MemberKind::kState || parsed.kind == MemberKind::kKeep) limit = kMaxStateSize;
  if (memory != Memory::kPass && parsed.kind == MemberKind::kRaw) limit = memory_limit;
  if (member.size > limit) {
    throw Error::of("{} claims {} bytes; such a member has at most {}", member.name, member.size, limit);
  }
  if (memory == Memory::kPass) {
    if (copy_memory) {
      copy_through(member, parsed.kind);
    } else {
      skip();
    }
    return std::nullopt;
  }
  if (gives_packs() && parsed.kind == MemberKind::kPack) return take_pack(member);
  // Read to where it is needed, and copied from there once it is complete.
  if (parsed.kind == MemberKind::kRaw) {
    if (gives_packs()) throw Error::of("{} is raw memory, in a bundle whose memory is packs", member.name);
    Mapping& mapping = raw.add(parsed.digests[0], std::string(parsed.file), member.size);
    while (std::optional<Piece> piece = archive.piece()) mapping.append(piece->bytes);
    if (writer && copy_memory) writer->add(member.name, mapping.bytes());
    return std::nullopt;
  }
  std::vector<std::byte> contents;
  if (parsed.kind == MemberKind::kPack) contents = decoder.buffer();
  contents.reserve(std::min(member.size, max_pack_size()));
  while (std::optional<Piece> piece = archive.piece()) {
    contents.insert(contents.end(), piece->bytes.begin(), piece->bytes.end());
  }
  if (writer && copy_memory) {
    if (parsed.kind == MemberKind::kPack) {
      writer->begin_pack(contents.size());
      writer->append(contents);
    } else {
      writer->add(member.name, contents);
    }
  }
  if (parsed.kind == MemberKind::kPack) {
    decoder.add(std::move(contents), member.name);
  } else if (parsed.kind == MemberKind::kKeep) {
    std::vector<Digest> kept = parse_kept(contents, member.name);
    decoder.settle();
    const std::vector<Digest> cited = in_hand();
    kept.insert(kept.end(), cited.begin(), cited.end());
    keep_only(kept);
  } else {
    state_texts[parsed.digests[0]] = text_of(contents);
  }
  return std::nullopt;
}

// The index tells whether the rest is worth holding.
std::optional<Item> Reader::Implementation::take_pack(const Member& member) {
  PackMember pack{member.name, {}, {}};
  auto read_to = [&](size_t size) {
    while (pack.bytes.size() < size) {
      std::optional<Piece> piece = archive.piece();
      if (!piece) return;
      pack.bytes.insert(pack.bytes.end(), piece->bytes.begin(), piece->bytes.end());
    }
  };
  read_to(pack_index_size(kBlocksPerPack));
  pack.entries = parse_pack_index(pack.bytes, member.name);
  for (const PackEntry& entry : pack.entries) {
    if (entry.base.empty()) at_hand.insert(entry.digest);
  }
  for (const PackEntry& entry : pack.entries) {
    if (!entry.base.empty() && !has_block(entry.base)) {
      throw Error::of("{}: block {} builds on block {}, which no pack at hand holds", member.name, entry.digest.hex(),
                      entry.base.hex());
    }
  }
  for (const PackEntry& entry : pack.entries) at_hand.insert(entry.digest);
  if (wanted && !wanted(pack.entries)) {
    skip();
    return std::nullopt;
  }
  pack.bytes.reserve(std::min(member.size, max_pack_size()));
  read_to(SIZE_MAX);
  frame_of_pack(pack.bytes, pack.entries.size(), member.name);
  return pack;
}

bool Reader::Implementation::has_block(const Digest& digest) const {
  return gives_packs() ? digest == zero_block_digest() || at_hand.contains(digest) : store.find(digest) != nullptr;
}

void Reader::Implementation::keep_only(std::span<const Digest> kept) {
  if (gives_packs()) {
    at_hand = {kept.begin(), kept.end()};
  } else {
    store.keep_only(kept);
  }
}

std::vector<Digest> Reader::Implementation::in_hand() const {
  std::vector<Digest> cited;
  for (const auto& [id, state] : states) {
    for (const BlockReference& block : state.blocks) cited.push_back(block.digest);
  }
  return cited;
}

State Reader::Implementation::take_state(const Digest& id, const InstanceInfo& instance, const char* which) {
  std::string where = fmt::format("state {}, the {} of instance {},", id.hex(), which, instance.id.hex());
  State state;
  auto text = state_texts.find(id);
  if (auto known = states.find(id); known != states.end()) {
    state = known->second;
  } else if (text != state_texts.end()) {
    if (digest_of(text->second) != id) throw Error::of("{} is damaged: its digest is not its name", state_name(id));
    state = parse_state(bytes_of(text->second), state_name(id));
  } else if (raw.has(id)) {
    state = raw.build(id, instance.segments, store);
    states[id] = state;
  } else {
    throw Error::of("{} is not in the bundle with it or the instance before", where);
  }
  check_coverage(state, instance.segments, where);
  return state;
}

void Reader::Implementation::check_blocks(const State& state, const InstanceInfo& instance) const {
  for (const BlockReference& block : state.blocks) {
    if (has_block(block.digest)) continue;
    throw Error::of("{} cites block {} at {:#x}, which no pack at hand holds",
                    instance_name(instance.kernel, instance.id), block.digest.hex(), block.address);
  }
}

// For a copy that leaves the packs out.
void Reader::Implementation::store_run_blocks(const RunInfo& run) {
  const std::vector<Digest> cited = cited_blocks(run);
  if (cited.empty()) return;
  std::string where = run_name(run.kernel, run.instance, run.variant);
  if (memory != Memory::kDecode) throw Error::of("{} cites blocks, which a copy without memory needs decoded", where);
  decoder.settle();
  std::vector<Writer::LooseBlock> blocks;
  for (const Digest& digest : cited) {
    const std::byte* bytes = store.find(digest);
    if (!bytes) throw Error::of("{} cites block {}, which no pack at hand holds", where, digest.hex());
    blocks.push_back({digest, Bytes(bytes, kBlockSize)});
  }
  writer->add_blocks(blocks);
}

}  // namespace mneme::bundle
