// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "bundle/format.h"
#include "bundle/writer.h"

namespace mneme::bundle {

struct KernelMember {
  KernelInfo info;
  std::string bitcode;
};

struct VariantMember {
  VariantInfo info;
  std::string code;
};

// What next() meets. Json, states, bitcode and code are checked (sizes, digests) before they are given.
// A kernel comes once both its members have arrived, a variant likewise. Packs are taken up by the
// reader; where nothing needs the memory (Memory::kPass) they are neither decompressed nor given.
struct InstanceMember {
  InstanceInfo info;
  State prologue;
  State epilogue;
};
struct RunMember {
  RunInfo info;
};
struct OtherMember {  // unknown to this version
  std::string name;
};
using Item = std::variant<KernelMember, VariantMember, InstanceMember, RunMember, Summary, OtherMember>;

enum class Memory {
  kPass,    // packs and states go by unread: InstanceMember's states stay empty
  kDecode,  // block() works for the instance in hand
};

// Reads a bundle in one pass from a descriptor (a pipe, or a file, which may be mapped). Distrusts it:
// every fault is an Error that says which member and what is wrong with it.
//
// A stream that ends early is not an error of next(): it returns nothing and truncated() is true,
// with truncation() saying where; a caller passes on what came before and exits with kBadInput. An
// empty stream, no tar, no bundle, a newer version: Error from the constructor.
class Reader {
 public:
  Reader(int fd, std::string name, Memory memory);
  ~Reader();

  const BundleInfo& info() const;

  // While set, every member read (bundle.json excepted) is also copied to the writer byte for byte,
  // before next() returns it: this is how a tool that only adds passes the rest on. `copy_memory` false leaves out
  // packs, states (mneme-run consumes the memory). Summary is never copied: the caller writes it, at the end.
  void copy_to(Writer* writer, bool copy_memory = true);

  std::optional<Item> next();

  bool truncated() const;
  const std::string& truncation() const;  // a sentence

  // The bytes of a block cited by the instance given last (or the one before it), or by a run;
  // kBlockSize bytes, valid until next() gives another instance. The zero block always exists.
  // Throws Error naming the digest when no pack held it. Safe to call from several threads.
  Bytes block(const Digest& digest) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mneme::bundle
