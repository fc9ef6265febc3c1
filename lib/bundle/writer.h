// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "bundle/format.h"

namespace mneme::bundle {

// Writes a bundle as one deterministic pax tar to a descriptor. Every member is flushed when written.
// Not thread-safe. All functions throw Error when writing fails (a full disk, a closed pipe).
class Writer {
 public:
  // `fd` is borrowed; `name` is what messages call it.
  Writer(int fd, std::string name);
  ~Writer();  // without finish() the archive stays visibly cut short

  // Any member, byte for byte. Refuses (Error) a name written before.
  void add(const std::string& name, Bytes contents);
  void add(const std::string& name, std::string_view contents) { add(name, bytes_of(contents)); }
  // A member whose contents come in pieces: exactly `size` bytes through append().
  void begin(const std::string& name, uint64_t size);
  void append(Bytes piece);

  // Stores an instance's memory and then its json: new blocks as packs (compressed in parallel), both
  // states, then the instance. `block(address, state)` returns the kBlockSize bytes of a block of the
  // prologue (false) or epilogue (true); it is called from several threads, once for each block that
  // has to be stored. Blocks stored with this instance or with the one before it are cited, not
  // stored again; a block whose predecessor at the same address (epilogue: the prologue's; prologue:
  // the epilogue of the instance before) is at hand is stored as XOR with it where that is smaller.
  using BlockSource = std::function<Bytes(uint64_t address, bool epilogue)>;
  void add_instance(const InstanceInfo& instance, const State& prologue, const State& epilogue,
                    const BlockSource& block);

  // Stores blocks on their own (what a run observed) ahead of the member that cites them.
  struct LooseBlock {
    Digest digest;
    Bytes contents;  // kBlockSize bytes
  };
  void add_blocks(std::span<const LooseBlock> blocks);

  // Ends the archive.
  void finish();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mneme::bundle
