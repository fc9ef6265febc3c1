// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/pack/queue.h"

#include <algorithm>
#include <deque>
#include <set>

#include "base/error.h"
#include "bundle/blocks/coverage.h"
#include "bundle/workers.h"

namespace mneme::bundle {

void PackQueue::begin() {
  packs_.clear();
  places_.clear();
}

bool PackQueue::wants(std::span<const PackEntry> entries) const {
  return std::ranges::any_of(entries, [&](const PackEntry& entry) {
    return !writer_.at_hand(entry.digest) && !places_.contains(entry.digest);
  });
}

void PackQueue::add(PackMember pack) {
  const uint64_t key = next_++;
  Waiting waiting{std::move(pack)};
  for (size_t i = 0; i < waiting.pack.entries.size(); ++i) {
    const Digest& digest = waiting.pack.entries[i].digest;
    if (!writer_.at_hand(digest) && places_.try_emplace(digest, Place{key, i}).second) ++waiting.left;
  }
  if (waiting.left > 0) packs_.emplace(key, std::move(waiting));
}

// A base is in an earlier pack or in the same, so packs are looked through from the last to the first: when one's turn
// comes, all that is wanted of it is known.
PackQueue::Wanted PackQueue::find(std::span<const Digest> cited, const std::string& where) const {
  std::map<uint64_t, std::set<size_t>, std::greater<>> found;
  auto want = [&](const Digest& digest) {
    if (writer_.at_hand(digest)) return;
    auto place = places_.find(digest);
    if (place == places_.end()) throw Error::of("{} cites block {}, which no pack at hand holds", where, digest.hex());
    found[place->second.pack].insert(place->second.number);
  };
  for (const Digest& digest : cited) want(digest);
  Wanted wanted;
  for (auto each = found.begin(); each != found.end(); ++each) {
    const std::vector<PackEntry>& entries = packs_.at(each->first).pack.entries;
    const std::set<size_t> at_first = each->second;
    for (size_t number : at_first) {
      if (!entries[number].base.empty()) want(entries[number].base);
    }
    wanted[each->first].assign(each->second.begin(), each->second.end());
  }
  return wanted;
}

std::unique_ptr<PackCutter> PackQueue::take_cutter() {
  if (cutters_.empty()) return std::make_unique<PackCutter>();
  std::unique_ptr<PackCutter> cutter = std::move(cutters_.back());
  cutters_.pop_back();
  return cutter;
}

void PackQueue::write_packs(const Wanted& wanted) {
  struct Job {
    const PackMember* pack;
    const std::vector<size_t>* numbers;
    std::unique_ptr<PackCutter> cutter;  // where only a part is wanted
    std::future<Bytes> part;
  };
  std::deque<Job> jobs;
  std::unique_ptr<Workers> workers;  // its end joins the threads before what they use is gone
  auto finish_first = [&] {
    Job& job = jobs.front();
    std::vector<Digest> digests;
    for (size_t number : *job.numbers) digests.push_back(job.pack->entries[number].digest);
    writer_.add_pack(job.cutter ? job.part.get() : Bytes(job.pack->bytes), digests);
    if (job.cutter) cutters_.push_back(std::move(job.cutter));
    jobs.pop_front();
  };
  for (const auto& [key, numbers] : wanted) {
    Job job{&packs_.at(key).pack, &numbers, {}, {}};
    if (numbers.size() < job.pack->entries.size()) {
      while (jobs.size() > Workers::count()) finish_first();
      job.cutter = take_cutter();
      if (!workers) workers = std::make_unique<Workers>();
      job.part = workers->submit([pack = job.pack, &numbers, cutter = job.cutter.get()] {
        return cutter->cut(pack->bytes, pack->entries, numbers, pack->name);
      });
    }
    jobs.push_back(std::move(job));
  }
  while (!jobs.empty()) finish_first();
  for (const auto& [key, numbers] : wanted) {
    Waiting& waiting = packs_.at(key);
    for (size_t number : numbers) places_.erase(waiting.pack.entries[number].digest);
    waiting.left -= numbers.size();
    if (waiting.left == 0) packs_.erase(key);
  }
}

void PackQueue::write(std::span<const Digest> cited, const std::string& where) { write_packs(find(cited, where)); }

void PackQueue::write(const InstanceMember& instance) {
  write(cited_blocks(instance.prologue, instance.epilogue), instance_name(instance.info.kernel, instance.info.id));
  writer_.add_instance(instance.info, instance.prologue, instance.epilogue, instance.text);
  begin();  // the next one may cite what this one cites, which is at hand
}

void PackQueue::leave_out(const InstanceMember& instance) {
  const std::string where = instance_name(instance.info.kernel, instance.info.id);
  const Wanted wanted = find(cited_blocks(instance.prologue, instance.epilogue), where);
  std::erase_if(packs_, [&](const auto& pack) { return !wanted.contains(pack.first); });
  places_.clear();
  for (const auto& [key, numbers] : wanted) {
    Waiting& waiting = packs_.at(key);
    waiting.left = numbers.size();
    for (size_t number : numbers) places_.emplace(waiting.pack.entries[number].digest, Place{key, number});
  }
}

}  // namespace mneme::bundle
