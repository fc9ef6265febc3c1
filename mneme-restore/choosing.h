// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which verified variant is the best for launches of each key.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bundle/format.h"

namespace mneme::restore {

// The choice of the variant for launches such as this one, without figures. Throws Error on a configuration that cannot
// be of the kernel or the instance.
bundle::Choice choice_for(const bundle::KernelInfo& kernel, const bundle::InstanceInfo& instance, const Digest& variant,
                          const bundle::Configuration& configuration);
// Whether the instance's launch has the choice's key, but for device and target.
bool has_key(const bundle::InstanceInfo& instance, const bundle::Choice& choice);

// Times of a variant on an instance, in nanoseconds, and of the baseline that it took turns with: round after round.
struct Proof {
  Digest instance;
  std::vector<uint64_t> baseline, times;
  uint32_t rounds = 1;
  bool changed_memory = true;  // the recorded launch; else code that does nothing is verified, too
};

// Of what several runs say of each variant and key, the best.
class Choosing {
 public:
  // A verified run. Of an instance that proved it before it is passed over.
  void prove(const bundle::Choice& choice, Proof proof);
  // A run that is not verified: the variant is not chosen for that key.
  void refute(const bundle::Choice& choice);
  // One that was chosen before, with its figures.
  void add(const bundle::Choice& choice);

  // One for each key, by kernels as they came and by id: of those that are faster than their baseline the one with the
  // largest ratio, the first of equal ones. None with guards where one with fewer guards is as fast on the same
  // instances: so of all that fit a launch the one with the most guarded bytes is the best.
  std::vector<bundle::Choice> best() const;
  // Variants that would be faster, but are proven only by launches that change no memory: they are never chosen.
  uint64_t little_proven() const;

 private:
  struct Candidate {
    bundle::Choice choice;  // with figures where it was chosen before
    std::vector<Proof> proofs;
    bool refuted = false;
    size_t order = 0;
  };
  Candidate& candidate(const bundle::Choice& choice);
  struct Best {
    bundle::Choice choice;
    const Candidate* candidate = nullptr;
    std::map<uint32_t, char> bytes = {};  // guarded ones, by their offsets
    Digest unguarded = {};                // the rest of the key
  };
  static bool is_needless(const Best& guarded, const Best& other);
  // The choice with the better figures; a ratio of 0: neither is faster.
  static bundle::Choice judged(const Candidate& candidate);

  std::map<Digest, size_t> kernels_;                          // and their order
  std::map<Digest, std::map<Digest, Candidate>> candidates_;  // by key and variant
  std::set<Digest> proven_;                                   // variants, by a launch that changed memory
  size_t count_ = 0;
};

}  // namespace mneme::restore
