// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bundle/archive/reader.h"
#include "bundle/blocks/block_store.h"
#include "bundle/blocks/raw_memory.h"
#include "bundle/left_out_code.h"
#include "bundle/names.h"
#include "bundle/pack/decoder.h"
#include "bundle/reader.h"

namespace mneme::bundle {

// The walk over a bundle's members (reader_members.cc) and over its memory (reader_memory.cc).
struct Reader::Implementation {
  Implementation(int fd, const std::string& name, Memory memory)
      : fd(fd), name(name), memory(memory), archive(fd, name), store(memory_limit) {}

  using Member = ArchiveReader::Member;
  using Known = std::unordered_map<Digest, uint32_t>;

  void open();
  std::optional<Item> next();

  // Members, each with its name taken apart. What gives no item yet returns nothing.
  std::optional<Item> take(const Member& member, const MemberName& parsed);
  void take_code(const Member& member, const Digest& digest);
  Item take_kernel(const Member& json, const MemberName& parsed);
  Item take_variant(const Member& json, const MemberName& parsed);
  Item take_instance(const Member& member, const MemberName& parsed);
  Item take_run(const Member& member, const MemberName& parsed);
  Item take_choice(const Member& member, const MemberName& parsed);
  Item take_summary(const Member& member);
  std::optional<Item> take_memory(const Member& member, const MemberName& parsed);
  std::optional<Item> take_pack(const Member& member);

  // The member that has to come next. Throws Error, naming `after`, when another comes.
  Member expect(const std::string& expected, const std::string& after);
  void note_name(const Member& member, MemberKind kind);
  // The whole member as text. Throws Error when it is larger than `limit`.
  std::string text_of_member(const Member& member, uint64_t limit);
  std::string json_of_member(const Member& member);
  void copy_text(const std::string& member, std::string_view contents);
  void copy_variant(VariantMember variant, const std::string& name);
  // Copies the member without looking at it; `begin` opens it at the writer.
  void copy_through(const Member& member, MemberKind kind);
  void skip();

  // Memory.
  bool decodes() const {
    return (memory == Memory::kDecode && info.memory != "none") ||
           (memory == Memory::kPacks && (info.memory == "raw" || info.memory == "kept"));
  }
  bool gives_packs() const { return memory == Memory::kPacks && info.memory == "packs"; }
  bool has_block(const Digest& digest) const;
  State take_state(const Digest& id, const InstanceInfo& instance, const char* which);
  void check_blocks(const State& state, const InstanceInfo& instance) const;
  void keep_only(std::span<const Digest> kept);
  // What the instance in hand cites.
  std::vector<Digest> in_hand() const;
  void store_run_blocks(const RunInfo& run);

  int fd;
  std::string name;
  Memory memory;
  uint64_t memory_limit = physical_memory();
  ArchiveReader archive;
  BundleInfo info;
  std::string truncation;
  bool ended = false, summary_seen = false;
  Writer* writer = nullptr;
  Writer* others_writer = nullptr;  // in place of `writer`, for members that are unknown
  std::function<void()> leaving;
  std::function<bool(std::span<const PackEntry>)> wanted;
  bool copy_memory = true;

  std::unordered_set<Digest> names;  // digests of the names met
  Known kernels;                     // with the size of their arguments
  struct Holder {
    Digest kernel, code;
  };
  std::unordered_map<Digest, Holder> holders;  // variants with code members, that others may have the code of
  struct Eligible {
    Digest kernel;
    Configuration configuration;
  };
  std::unordered_map<Digest, Eligible> eligible;  // variants that a choice may name
  LeftOutCode left_out;
  std::unordered_map<Digest, std::string> codes;  // members that kernels and variants may have as their code
  uint64_t code_bytes = 0;                        // of those

  BlockStore store;
  PackDecoder decoder{store};
  RawMemory raw;
  std::unordered_set<Digest> at_hand;                   // blocks of packs that are given
  std::unordered_map<Digest, std::string> state_texts;  // since the instance before
  std::unordered_map<Digest, State> states;             // cited by the instance before
};

}  // namespace mneme::bundle
