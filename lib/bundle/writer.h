// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bundle/format.h"

namespace mneme::bundle {

// Writes a bundle as one deterministic pax tar to a descriptor. Every member is flushed when written.
// Not thread-safe. All functions throw Error when writing fails (a full disk, a closed pipe).
class Writer {
 public:
  // `fd` is borrowed; `name` is what messages call it.
  Writer(int fd, std::string name);
  // Without finish() the archive stays visibly cut short. In a pipe it is ended instead, where that is possible, and
  // says that its writer failed (FORMAT.md): those that read it need not.
  ~Writer();

  // Any member, byte for byte. Refuses (Error) a name written before, unless its contents follow from its name: states
  // and raw members may recur.
  void add(const std::string& name, Bytes contents);
  void add(const std::string& name, std::string_view contents) { add(name, bytes_of(contents)); }
  // A member whose contents come in pieces: exactly `size` bytes through append().
  void begin(const std::string& name, uint64_t size);
  void append(Bytes piece);
  // begin() for a pack made elsewhere: it takes the next number here.
  void begin_pack(uint64_t size);
  // Whether a member of this name was written.
  bool has(const std::string& name) const;

  // Stores an instance's memory and then its json: new blocks as packs (compressed in parallel), both
  // states, then the instance. `block(address, state)` returns the kBlockSize bytes of a block of the
  // prologue (false) or epilogue (true); it is called from several threads, may be called again for the same block,
  // and its bytes need to stay only until the same thread asks for another block of the same state.
  // Blocks at hand (cited by the instance before, or stored since) are cited, not stored again; an epilogue's block
  // whose predecessor, the prologue's at the same address, is at hand is stored as XOR with it where that is smaller.
  // `text`: its json, where that came from another bundle.
  // Throws Error when a state is not the one that the instance names, does not list exactly the blocks that the
  // segments lie in, or when a block has bytes that belong to no segment and are not zero.
  using BlockSource = std::function<Bytes(uint64_t address, bool epilogue)>;
  void add_instance(const InstanceInfo& instance, const State& prologue, const State& epilogue,
                    const BlockSource& block, std::string_view text = {});
  // The same where all blocks are at hand, by add_pack(). Throws Error when one is not.
  void add_instance(const InstanceInfo& instance, const State& prologue, const State& epilogue, std::string_view text);
  // The same with the memory as raw members (BundleInfo.memory "raw"): a member a segment and state, each state in
  // full but not again right after an instance that has it. `block` is called from this thread, in order, for
  // blocks that are not all zero.
  void add_raw_instance(const InstanceInfo& instance, const State& prologue, const State& epilogue,
                        const BlockSource& block, std::string_view text = {});

  // Stores blocks on their own (what a run observed) ahead of the member that cites them.
  struct LooseBlock {
    Digest digest;
    Bytes contents;  // kBlockSize bytes
  };
  void add_blocks(std::span<const LooseBlock> blocks);

  // A pack made elsewhere, with these blocks; bases are at hand, or in it.
  void add_pack(Bytes pack, std::span<const Digest> blocks);
  // For a bundle whose memory is "kept": blocks of up to so many bytes, and a quarter more, stay at hand besides those
  // that the instance before cites, and lists of them are written. Those that several inputs hold outlive others.
  void keep_others(uint64_t bytes);
  // What is added from now on is another input's.
  void begin_input();
  // Whether the next instance may cite the block.
  bool at_hand(const Digest& block) const;

  // Bytes of the packs, states and raw members written so far.
  uint64_t memory_bytes() const;

  // Ends the archive.
  void finish();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mneme::bundle
