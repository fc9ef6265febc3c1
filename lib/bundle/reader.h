// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "bundle/format.h"
#include "bundle/pack/pack.h"
#include "bundle/writer.h"

namespace mneme::bundle {

// `text` of each: its json as it came, with the keys that this version does not know.

struct KernelMember {
  KernelInfo info;
  std::string bitcode;  // empty for one without IR, which has what follows
  std::string text = {};
  std::string code = {}, ptx = {};  // as KernelInfo names them
  std::string source = {};          // what kSourceFile holds (objects/source.h); empty: it is not in the bundle
};

struct VariantMember {
  VariantInfo info;
  std::string code;  // empty for one that has no code member (VariantInfo::has_code_member)
  std::string text = {};
};

// What one of files_of() holds.
const std::string& contents_of(const KernelMember& kernel, const KernelFile& file);

// What next() meets. Json, states, bitcode and code are checked (sizes, digests) before they are given.
// A kernel comes once all its members have arrived, a variant likewise; the one whose code a variant says that it has
// came before. Packs are taken up by the
// reader, or given as they are (Memory::kPacks); where nothing needs the memory (Memory::kPass) they are neither
// decompressed nor given.
struct InstanceMember {
  InstanceInfo info;
  State prologue;  // each lists exactly the blocks that the segments lie in
  State epilogue;
  std::string text = {};
};
struct RunMember {
  RunInfo info;
  std::string text = {};
};
// Its variant came before, is of its kernel and has code; the guards lie within the kernel's arguments.
struct ChoiceMember {
  Choice info;
  std::string text = {};
};
struct PackMember {
  std::string name;
  std::vector<PackEntry> entries;  // bases are at hand
  std::vector<std::byte> bytes;    // of all of it; what its one frame holds has not been looked at
};
struct OtherMember {  // unknown to this version
  std::string name;
};
using Item = std::variant<KernelMember, VariantMember, InstanceMember, RunMember, ChoiceMember, PackMember, Summary,
                          OtherMember>;

enum class Memory {
  kPass,    // packs and states go by unread: InstanceMember's states stay empty
  kDecode,  // block() works for the instance in hand, whether the bundle's memory is packs or raw
  kPacks,   // packs are given undecoded, and what cites their blocks is checked; of raw memory as kDecode
};

// Reads a bundle in one pass from a descriptor (a pipe or a file). Distrusts it:
// every fault is an Error that says which member and what is wrong with it.
//
// A stream that ends early is not an error of next(): it returns nothing and truncated() is true,
// with truncation() saying where; a caller passes on what came before and exits with kBadInput. An
// empty stream, no tar, no bundle, a newer version: Error from the constructor.
//
// Where BundleInfo.memory is "none" (mneme-run consumed it), kDecode gives instances with empty states too.
// No thread of the reader's runs while its caller has control: callers may fork.
class Reader {
 public:
  Reader(int fd, std::string name, Memory memory);
  ~Reader();

  const BundleInfo& info() const;

  // While set, every member read (bundle.json excepted) is also copied to the writer byte for byte,
  // before next() returns it: this is how a tool that only adds passes the rest on. `copy_memory` false leaves out
  // packs, states (mneme-run consumes the memory); the blocks that runs cite are then stored anew ahead of them.
  // Packs are numbered anew. A kernel, variant, run or choice that the writer has already is not copied again: what a
  // tool wrote itself stands. (A variant with the code of one that was left out so gets code of its own.) Summary is
  // never copied: the caller writes it, at the end.
  void copy_to(Writer* writer, bool copy_memory = true);
  // Copies only members that this version does not know: for a tool that writes all others itself.
  void copy_others_to(Writer* writer);

  std::optional<Item> next();

  // With kPacks: packs for which this says no are not given. Unless set, all are.
  void choose_packs(std::function<bool(std::span<const PackEntry>)> wanted);
  // Whether block() works: the memory is decoded as it is read.
  bool decodes() const;

  // Called by next() when another instance has come, before the blocks of the one in hand are let go.
  void before_leaving(std::function<void()> leaving);

  // Whether it reads from a pipe: then the tool that failed ahead of it (Summary::failed) is in the same pipeline. The
  // constructor throws Reported where that tool wrote nothing but an archive's end.
  bool piped() const;
  bool truncated() const;
  const std::string& truncation() const;  // a sentence

  // The bytes of a block cited by the instance given last, or by a run since;
  // kBlockSize bytes, valid until next() gives another instance. The zero block always exists.
  // Throws Error naming the digest when no pack held it. Safe to call from several threads.
  Bytes block(const Digest& digest) const;

  // Blocks that need more than so many bytes are an Error (default: the machine's memory).
  void set_memory_limit(uint64_t bytes);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// The memory of the reader's instance in hand, as Writer takes it. Borrows both.
Writer::BlockSource blocks_of(const Reader& reader, const InstanceMember& instance);

}  // namespace mneme::bundle
