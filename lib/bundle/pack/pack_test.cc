// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/pack/pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "bundle/blocks/coverage.h"
#include "bundle/pack/decoder.h"
#include "bundle/pack/encoder.h"
#include "bundle/pack/planes.h"
#include "bundle/testing/sample.h"
#include "bundle/workers.h"

namespace mneme::bundle {
namespace {

std::string random_bytes(size_t size, uint32_t seed) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return out;
}

std::string doubles(double phase) {
  std::string out(kBlockSize, '\0');
  for (size_t i = 0; i < kBlockSize / 8; ++i) {
    double value = std::sin(0.37 * static_cast<double>(i) + phase) + 2;
    std::memcpy(out.data() + 8 * i, &value, 8);
  }
  return out;
}

TEST(Planes, AreWhatTheFormatSays) {
  std::string in = random_bytes(kBlockSize, 1), out(kBlockSize, '\0'), back(kBlockSize, '\0');
  for (uint32_t stride : {4u, 8u}) {
    split_planes(bytes_of(in).data(), reinterpret_cast<std::byte*>(out.data()), kBlockSize, stride);
    for (size_t i = 0; i < kBlockSize; ++i) ASSERT_EQ(out[i % stride * (kBlockSize / stride) + i / stride], in[i]) << i;
    join_planes(bytes_of(out).data(), reinterpret_cast<std::byte*>(back.data()), kBlockSize, stride);
    EXPECT_EQ(back, in);
  }
}

struct Packed {
  std::vector<PackEntry> entries;
  std::vector<std::byte> bytes;
};

Packed pack(const std::vector<std::string>& blocks, const std::vector<std::string>& bases = {}) {
  std::vector<PackEntry> entries(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    entries[i].digest = digest_of(blocks[i]);
    if (i < bases.size()) entries[i].base = digest_of(bases[i]);
  }
  PackEncoder encoder;
  Bytes bytes = encoder.encode(entries, [&](size_t i, bool base) { return bytes_of(base ? bases[i] : blocks[i]); });
  return {parse_pack_index(bytes, "the pack"), {bytes.begin(), bytes.end()}};
}

void expect_blocks(const std::vector<std::vector<std::byte>>& packs, const std::vector<std::string>& blocks) {
  BlockStore store(physical_memory());
  PackDecoder decoder(store);
  for (const auto& bytes : packs) decoder.add(bytes, "the pack");
  decoder.settle();
  for (const std::string& block : blocks) {
    const std::byte* found = store.find(digest_of(block));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(text_of({found, kBlockSize}), block);
  }
}

TEST(Pack, GivesItsBlocksBack) {
  std::vector<std::string> blocks;
  for (uint32_t i = 0; i < kBlocksPerPack; ++i) {
    if (i % 4 == 0) blocks.push_back(random_bytes(kBlockSize, i));
    if (i % 4 == 1) blocks.push_back(doubles(i));
    if (i % 4 == 2) blocks.push_back(std::string(kBlockSize, static_cast<char>(i)));
    if (i % 4 == 3) blocks.push_back(sample_field(kBlockSize, i));
  }
  expect_blocks({pack(blocks).bytes}, blocks);
}

TEST(Pack, PutsNumbersIntoPlanesOfTheirSize) {
  Packed of_doubles = pack({doubles(1), doubles(2)});
  EXPECT_EQ(of_doubles.entries[0].stride, 8u);
  EXPECT_LT(of_doubles.bytes.size(), 2 * kBlockSize * 9 / 10);
  EXPECT_EQ(pack({sample_field(kBlockSize, 1)}).entries[0].stride, 4u);
  EXPECT_EQ(pack({std::string(kBlockSize, 'x')}).entries[0].stride, 0u);
}

TEST(Pack, UsesABaseWhereThatIsSmaller) {
  std::string base = random_bytes(kBlockSize, 1), block = base;
  for (size_t i = 0; i < block.size(); i += 64) block[i] = static_cast<char>(block[i] + 1);
  Packed with_base = pack({block}, {base});
  EXPECT_EQ(with_base.entries[0].base, digest_of(base));
  EXPECT_LT(with_base.bytes.size(), kBlockSize / 8);
  expect_blocks({pack({base}).bytes, with_base.bytes}, {base, block});

  std::string smooth(kBlockSize, 'x');
  EXPECT_TRUE(pack({smooth}, {base}).entries[0].base.empty()) << "noise does not help";
}

TEST(Pack, NeedsItsBases) {
  std::string base = random_bytes(kBlockSize, 1), block = base;
  block[0] = static_cast<char>(block[0] + 1);
  BlockStore store(physical_memory());
  PackDecoder decoder(store);
  decoder.add(pack({block}, {base}).bytes, "the pack");
  EXPECT_THROW(decoder.settle(), Error);
}

TEST(Pack, DependsOnContentsAlone) {
  std::vector<std::string> blocks{doubles(1), random_bytes(kBlockSize, 3)};
  std::vector<std::byte> once = pack(blocks).bytes;
  PackEncoder used;
  std::vector<PackEntry> other{{digest_of("x"), {}, 0}};
  std::string text(kBlockSize, 'x');
  used.encode(other, [&](size_t, bool) { return bytes_of(text); });
  std::vector<PackEntry> entries{{digest_of(blocks[0]), {}, 0}, {digest_of(blocks[1]), {}, 0}};
  Bytes again = used.encode(entries, [&](size_t i, bool) { return bytes_of(blocks[i]); });
  EXPECT_TRUE(std::equal(once.begin(), once.end(), again.begin(), again.end()));
}

TEST(BlockPool, GivesWhatIsReadyFirst) {
  BlockPool pool(16 << 20);
  EXPECT_EQ(pool.bytes(), 0u);
  pool.prepare();
  const uint64_t ready = pool.bytes();
  ASSERT_GT(ready, 0u);
  std::set<std::byte*> taken;
  for (uint64_t i = 0; i < ready / kBlockSize; ++i) {
    std::byte* block = pool.take();
    std::memset(block, 1, kBlockSize);
    taken.insert(block);
  }
  EXPECT_EQ(taken.size(), ready / kBlockSize);
  EXPECT_EQ(pool.bytes(), ready) << "nothing more was needed";
  pool.take();
  EXPECT_GT(pool.bytes(), ready);
  while (pool.bytes() < 16 << 20) pool.prepare();
  EXPECT_THROW(pool.prepare(), Error);
}

TEST(BlockPool, UsesMemoryAgainAndKeepsSomeOfIt) {
  BlockPool pool(16 << 20, 10 * kBlockSize);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 192; ++i) {
    blocks.push_back(pool.take());
    std::memset(blocks.back(), i, kBlockSize);
  }
  EXPECT_EQ(std::set(blocks.begin(), blocks.end()).size(), 192u);
  EXPECT_EQ(pool.idle_bytes(), 0u);
  std::byte* kept = blocks[0];
  std::byte* beyond = blocks[100];
  for (std::byte* block : blocks) pool.give_back(block);
  EXPECT_EQ(pool.idle_bytes(), 10 * kBlockSize);
  EXPECT_EQ(kept[5], std::byte{0}) << "what it held first";
  EXPECT_EQ(beyond[5], std::byte{0}) << "its memory has gone back to the system";
  EXPECT_EQ(blocks[9][5], std::byte{9}) << "this one's not";
  std::set<std::byte*> again;
  for (int i = 0; i < 192; ++i) again.insert(pool.take());
  EXPECT_EQ(again, std::set(blocks.begin(), blocks.end())) << "no new memory as long as there is some";
}

TEST(BlockStore, KeepsWhatIsCitedAndReusesTheRest) {
  BlockStore store(8 << 20);  // room for one slab
  for (int round = 0; round < 10; ++round) {
    State state;
    for (uint64_t i = 0; i < 60; ++i) {
      Digest digest{static_cast<uint64_t>(round), i};
      store.add(digest, store.pool().take());
      state.blocks.push_back({i * kBlockSize, digest});
    }
    store.keep_only(cited_blocks(state, {}));
    EXPECT_NE(store.find({static_cast<uint64_t>(round), 59}), nullptr);
    EXPECT_EQ(store.find({static_cast<uint64_t>(round) - 1, 59}), nullptr);
  }
  EXPECT_NE(store.find(zero_block_digest()), nullptr);
  EXPECT_THROW(for (int i = 0; i < 100; ++i) store.pool().take(), Error);
}

TEST(Workers, RunEverythingAndHandExceptionsOn) {
  std::atomic<int> done = 0;
  Workers::for_each(1000, [&](size_t) { ++done; });
  EXPECT_EQ(done, 1000);
  EXPECT_THROW(Workers::for_each(10,
                                 [](size_t i) {
                                   if (i == 5) throw Error("five");
                                 }),
               Error);
  Workers workers;
  std::vector<std::future<int>> results;
  results.reserve(100);
  for (int i = 0; i < 100; ++i) results.push_back(workers.submit([i] { return i * i; }));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(results[static_cast<size_t>(i)].get(), i * i);
  EXPECT_THROW(workers.submit([]() -> int { throw Error("no"); }).get(), Error);
}

}  // namespace
}  // namespace mneme::bundle
