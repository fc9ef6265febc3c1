// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bundle/pack/cutter.h"
#include "bundle/reader.h"
#include "bundle/writer.h"

namespace mneme::bundle {

// Passes packs from one bundle, or from several one after another, into another: each block that the other's instances
// and runs cite, and that it has not at hand, and no other. Packs wait here until a member comes that cites them. Those
// of which all blocks are wanted are copied as they are, of others a smaller pack is made.
//
// What holds after each instance: a block that is at hand in the bundle that is read is at hand in the other, or waits
// here.
class PackQueue {
 public:
  explicit PackQueue(Writer& writer) : writer_(writer) {}  // borrowed

  // Another bundle begins: what waits is of no use to it.
  void begin();
  // Whether any of its blocks may have to be passed on.
  bool wants(std::span<const PackEntry> entries) const;
  void add(PackMember pack);

  // Writes what waits of these blocks, and the bases they need. Throws Error naming `where` when one is neither at hand
  // nor waits.
  void write(std::span<const Digest> cited, const std::string& where);
  // All that an instance needs, and the instance.
  void write(const InstanceMember& instance);
  // An instance that is not passed on: the next one may cite what it cites, and may not cite what else waits.
  void leave_out(const InstanceMember& instance);

 private:
  struct Waiting {
    PackMember pack;
    size_t left = 0;  // of its blocks wait
  };
  struct Place {
    uint64_t pack;  // key of packs_
    size_t number;  // in it
  };
  using Wanted = std::map<uint64_t, std::vector<size_t>>;  // numbers, ascending, by pack

  Wanted find(std::span<const Digest> cited, const std::string& where) const;
  void write_packs(const Wanted& wanted);
  std::unique_ptr<PackCutter> take_cutter();

  Writer& writer_;
  std::map<uint64_t, Waiting> packs_;  // in their order
  uint64_t next_ = 0;
  std::unordered_map<Digest, Place> places_;  // of blocks that wait: where they came first
  std::vector<std::unique_ptr<PackCutter>> cutters_;
};

}  // namespace mneme::bundle
