// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/pack/writer.h"

#include <algorithm>
#include <deque>
#include <span>

#include "bundle/workers.h"

namespace mneme::bundle {
namespace {

Bytes encode(PackEncoder& encoder, std::span<const PackItem> items, const PackWriter::Contents& contents) {
  std::vector<PackEntry> entries;
  for (const PackItem& item : items) entries.push_back(item.entry);
  return encoder.encode(std::move(entries), [&](size_t i, bool base) { return contents(items[i], base); });
}

}  // namespace

void PackWriter::write(std::vector<PackItem> items, const Contents& contents, const Sink& sink) {
  struct Job {
    std::unique_ptr<PackEncoder> encoder;
    std::future<Bytes> pack;
  };
  std::deque<Job> jobs;
  auto take_encoder = [&] {
    if (encoders_.empty()) return std::make_unique<PackEncoder>();
    auto encoder = std::move(encoders_.back());
    encoders_.pop_back();
    return encoder;
  };
  if (items.size() <= kBlocksPerPack) {  // not worth a thread
    if (items.empty()) return;
    auto encoder = take_encoder();
    sink(encode(*encoder, items, contents));
    encoders_.push_back(std::move(encoder));
    return;
  }
  Workers workers;  // its end joins the threads before what they use is gone
  auto finish_first = [&] {
    sink(jobs.front().pack.get());
    encoders_.push_back(std::move(jobs.front().encoder));
    jobs.pop_front();
  };
  for (size_t from = 0; from < items.size(); from += kBlocksPerPack) {
    if (jobs.size() >= Workers::count() + 1) finish_first();
    std::span<const PackItem> part(&items[from], std::min(kBlocksPerPack, items.size() - from));
    Job job{take_encoder(), {}};
    job.pack = workers.submit([&contents, part, &encoder = *job.encoder] { return encode(encoder, part, contents); });
    jobs.push_back(std::move(job));
  }
  while (!jobs.empty()) finish_first();
}

}  // namespace mneme::bundle
