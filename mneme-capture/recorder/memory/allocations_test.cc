// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/allocations.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "recorder/memory/address.h"
#include "recorder/memory/own_memory.h"
#include "recorder/runtime/fake_runtime.h"

namespace mneme::record {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;

bool notes_writes() { return static_cast<bool>(PageScan::make_protector()); }

class AllocationsTest : public ::testing::Test {
 protected:
  void* device(uint64_t size) { return allocations_.allocate(Space::kDevice, size); }

  FakeRuntime runtime_;
  std::vector<Chunk> chunks_;
  std::vector<uint64_t> dropped_;
  std::vector<Digests> known_;
  std::optional<size_t> known_when_told_;  // that digests are made
  std::vector<Reserved> elsewhere_;
  std::vector<Unwritten> unwritten_;
  bool reads_memory_ = false;
  Fd last_;
  Allocations allocations_{
      runtime_,
      FakeRuntime::kRange,
      {[this](const Chunk& chunk, int memory) {
         chunks_.push_back(chunk);
         last_ = Fd(::dup(memory));
       },
       [this](const Drop& drop) { dropped_.push_back(drop.address); },
       [this](const Digests& digests) { known_.push_back(digests); }, [this] { known_when_told_ = known_.size(); },
       [this] { return reads_memory_; }, [this](const Reserved& reserved) { elsewhere_.push_back(reserved); },
       [this](const Unwritten& unwritten) { unwritten_.push_back(unwritten); }}};
};

TEST_F(AllocationsTest, GivesTheSameAddressesEveryTime) {
  EXPECT_EQ(address_of(device(100)), memory::kDeviceBase);
  EXPECT_EQ(address_of(device(100)), memory::kDeviceBase + 256);
  EXPECT_EQ(address_of(device(bundle::kBlockSize)), memory::kDeviceBase + bundle::kBlockSize);
  EXPECT_EQ(address_of(allocations_.allocate(Space::kHost, 10)), memory::kHostBase);
  EXPECT_EQ(address_of(allocations_.allocate(Space::kHost, 10)), memory::kHostBase + 4096);
}

TEST_F(AllocationsTest, BacksMemoryByChunksAndSharesThem) {
  auto* bytes = static_cast<char*>(device(70 << 20));
  ASSERT_TRUE(bytes);
  ASSERT_EQ(chunks_.size(), 1u);
  EXPECT_EQ(chunks_[0].address, memory::kDeviceBase);
  EXPECT_EQ(chunks_[0].size, 128u << 20);
  std::memcpy(bytes + (69 << 20), "hello", 5);
  char seen[5];
  ASSERT_EQ(::pread(last_.get(), seen, 5, 69 << 20), 5);
  EXPECT_EQ(std::string(seen, 5), "hello");
  device(1 << 20);
  EXPECT_EQ(chunks_.size(), 1u);
}

TEST_F(AllocationsTest, TellsDigestsOfMemoryThatIsFetched) {
  device(1000);
  allocations_.refresh();
  EXPECT_TRUE(runtime_.digested.empty()) << "memory itself is shared";
  EXPECT_FALSE(chunks_[0].fetched);
  runtime_.fetching = true;
  allocations_.allocate(Space::kHost, 10);
  device(2000);
  device(60 << 20);
  auto* last = static_cast<char*>(device(10 << 20));
  EXPECT_TRUE(chunks_.back().fetched);
  EXPECT_EQ(last_.get(), -1);
  constexpr MemoryRange kVariable{0x7f0000000100, 24};
  allocations_.add_variable(kVariable, 0);
  allocations_.add_variable(kVariable, 0);
  EXPECT_EQ(std::ranges::count(chunks_, kVariable.address, &Chunk::address), 1);
  EXPECT_TRUE(chunks_.back().fetched);
  last[5] = 'x';
  allocations_.refresh();
  ASSERT_EQ(runtime_.digested.size(), 1u) << "what is near goes together, and the variable has no whole block";
  EXPECT_EQ(runtime_.digested[0].address, memory::kDeviceBase);
  EXPECT_EQ(runtime_.digested[0].size, (70 << 20) + bundle::kBlockSize);
  ASSERT_EQ(known_.size(), 1u);
  ASSERT_EQ(known_[0].blocks.size(), (70 << 4) + 1u);
  EXPECT_EQ(known_[0].blocks[0], bundle::zero_block_digest());
  EXPECT_EQ(known_[0].blocks[(60 << 4) + 1], digest_of(Bytes(reinterpret_cast<std::byte*>(last), bundle::kBlockSize)));
  std::vector<WireSegment> segments = allocations_.segments({{"v", kVariable}});
  EXPECT_EQ(segments.back().symbol, "v");
  EXPECT_EQ(segments.back().size, 24u);
  allocations_.remove_mapped(reinterpret_cast<void*>(kVariable.address), kVariable.size);
  EXPECT_EQ(dropped_, std::vector<uint64_t>{kVariable.address});
}

// Of a variable that is no allocation, only blocks that it has whole are its own.
TEST_F(AllocationsTest, DigestsOnlyWholeBlocksOfAVariable) {
  runtime_.fetching = true;
  std::vector<char> memory(4 * bundle::kBlockSize, 'x');
  uint64_t first = (address_of(memory.data()) + bundle::kBlockSize) / bundle::kBlockSize * bundle::kBlockSize;
  allocations_.add_variable({first - 16, 2 * bundle::kBlockSize}, 0);
  allocations_.refresh();
  ASSERT_EQ(runtime_.digested.size(), 1u);
  EXPECT_EQ(runtime_.digested[0].address, first);
  EXPECT_EQ(runtime_.digested[0].size, bundle::kBlockSize);
}

// A variable in memory that is recorded anyway is cut out of that.
TEST_F(AllocationsTest, TellsNothingOfAVariableInItsOwnMemory) {
  runtime_.fetching = true;
  uint64_t held = address_of(device(1000));
  size_t chunks = chunks_.size();
  allocations_.add_variable({held + 8, 16}, 0);
  EXPECT_EQ(chunks_.size(), chunks);
}

TEST_F(AllocationsTest, KnowsWhatNobodyHas) {
  EXPECT_EQ(allocations_.unused(0), 0u);
  void* first = device(1000);
  device(2000);
  EXPECT_EQ(allocations_.unused(0), (64u << 20) - 3000);
  EXPECT_EQ(allocations_.unused(1), 0u);
  allocations_.release(first);
  EXPECT_EQ(allocations_.unused(0), (64u << 20) - 2000);
}

// As with a runtime that has no addresses without memory behind them.
TEST_F(AllocationsTest, MemoryMayLieElsewhere) {
  constexpr uint64_t kElsewhere = 0x290000000000, kSize = 128 << 20;
  runtime_.elsewhere = kElsewhere;
  runtime_.memory_left = kSize;
  EXPECT_EQ(address_of(device(100)), kElsewhere);
  EXPECT_EQ(address_of(device(100)), kElsewhere + 256);
  ASSERT_EQ(elsewhere_.size(), 1u);
  EXPECT_EQ(elsewhere_[0].address, kElsewhere);
  EXPECT_EQ(elsewhere_[0].size, kSize);
  EXPECT_EQ(chunks_.at(0).address, kElsewhere);
  EXPECT_EQ(address_of(allocations_.allocate(Space::kHost, 10)), memory::kHostBase) << "host memory lies where it does";
  EXPECT_FALSE(device(kSize)) << "there is no more";
}

TEST_F(AllocationsTest, SaysWhenThereIsNoMore) {
  EXPECT_EQ(device(FakeRuntime::kRange + 1), nullptr);
  runtime_.memory_left = 64 << 20;
  EXPECT_EQ(device(65 << 20), nullptr);
  EXPECT_EQ(address_of(device(64 << 20)), memory::kDeviceBase) << "the failed one still has its address";
  runtime_.memory_left = 6 << 20;
  EXPECT_TRUE(device(5 << 20)) << "less than a chunk";
}

TEST_F(AllocationsTest, ThrowsWhenTheRangeIsTaken) {
  runtime_.taken = true;
  EXPECT_THROW(device(1), Error);
}

TEST_F(AllocationsTest, TakesFewerAddressesWhereAProcessIsLimited) {
  runtime_.largest_range = uint64_t{1} << 30;
  Allocations allocations{runtime_, uint64_t{5} << 30, {[](const Chunk&, int) {}, [](const Drop&) {}}};
  EXPECT_EQ(address_of(allocations.allocate(Space::kDevice, 10)), memory::kDeviceBase);
  EXPECT_EQ(address_of(allocations.allocate(Space::kHost, 10)), memory::kHostBase);
  EXPECT_EQ(allocations.allocate(Space::kDevice, (uint64_t{1} << 30) + 1), nullptr);
  runtime_.largest_range = (uint64_t{1} << 30) - 1;
  Allocations others{runtime_, uint64_t{5} << 30, {[](const Chunk&, int) {}, [](const Drop&) {}}};
  EXPECT_THROW(others.allocate(Space::kDevice, 10), Error);
}

bool is_free(uint64_t address) {
  void* want = reinterpret_cast<void*>(address);
  void* got = ::mmap(want, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != MAP_FAILED) ::munmap(got, 4096);
  return got == want;
}

TEST_F(AllocationsTest, LeavesNothingBehindOfWhatCannotBeShared) {
  Allocations allocations{
      runtime_, FakeRuntime::kRange, {[](const Chunk&, int) { throw Error("nobody listens"); }, [](const Drop&) {}}};
  uint64_t left = runtime_.memory_left;
  EXPECT_THROW(allocations.allocate(Space::kDevice, 10), Error);
  EXPECT_THROW(allocations.allocate(Space::kHost, 10), Error);
  EXPECT_FALSE(allocations.find(reinterpret_cast<void*>(memory::kDeviceBase)));
  EXPECT_EQ(runtime_.memory_left, left);
  EXPECT_FALSE(is_free(memory::kDeviceBase));
  allocations.abandon();
  EXPECT_TRUE(is_free(memory::kDeviceBase));
  EXPECT_TRUE(is_free(memory::kHostBase));
}

TEST_F(AllocationsTest, KeepsAddressesThatWereUsed) {
  device(10);
  allocations_.abandon();
  EXPECT_FALSE(is_free(memory::kDeviceBase));
  EXPECT_TRUE(allocations_.find(reinterpret_cast<void*>(memory::kDeviceBase)));
}

TEST_F(AllocationsTest, ReleasesOnlyItsOwn) {
  void* first = device(1000);
  EXPECT_FALSE(allocations_.release(static_cast<char*>(first) + 256));
  EXPECT_FALSE(allocations_.release(&first));
  EXPECT_TRUE(allocations_.release(first));
  EXPECT_FALSE(allocations_.release(first));
  EXPECT_EQ(device(1000), first);
}

TEST_F(AllocationsTest, HeldAddressesAreNotGivenOutAgain) {
  void* first = device(1000);
  allocations_.hold();
  EXPECT_TRUE(allocations_.release(first));
  EXPECT_FALSE(allocations_.release(first));
  EXPECT_NE(device(1000), first);
  allocations_.let_go();
  EXPECT_EQ(device(1000), first);
}

TEST_F(AllocationsTest, FindsWhatContainsAnAddress) {
  char* memory = static_cast<char*>(allocations_.allocate(Space::kHost, 5000, 0x80000000));
  auto known = allocations_.find(memory + 4999);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->space, Space::kHost);
  EXPECT_EQ(known->address, address_of(memory));
  EXPECT_EQ(known->size, 5000u);
  EXPECT_EQ(known->flags, 0x80000000u);
  EXPECT_FALSE(allocations_.find(memory + 5000));
  EXPECT_FALSE(allocations_.is_free(memory + 4999));
  EXPECT_TRUE(allocations_.is_free(memory + 5000));
  EXPECT_FALSE(allocations_.is_free(&known)) << "memory of others";
}

TEST_F(AllocationsTest, CutsVariablesOutOfTheirAllocation) {
  uint64_t base = address_of(device(1000));
  auto list = allocations_.segments({{"table", {base + 256, 100}}});
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].size, 256u);
  EXPECT_EQ(list[1].address, base + 256);
  EXPECT_EQ(list[1].size, 100u);
  EXPECT_EQ(list[1].symbol, "table");
  EXPECT_EQ(list[1].kind, static_cast<uint32_t>(bundle::SegmentKind::kGlobal));
  EXPECT_EQ(list[2].address, base + 356);
  EXPECT_EQ(list[2].size, 644u);
  EXPECT_EQ(list[2].symbol, "");
  EXPECT_EQ(list[2].kind, static_cast<uint32_t>(bundle::SegmentKind::kHeap));
}

TEST_F(AllocationsTest, AnnotationsBeginTheirOwnSegments) {
  char* memory = static_cast<char*>(device(1000));
  EXPECT_TRUE(allocations_.annotate(memory, "a"));
  EXPECT_TRUE(allocations_.annotate(memory + 400, "b"));
  EXPECT_TRUE(allocations_.annotate(memory + 400, "c"));
  EXPECT_FALSE(allocations_.annotate(memory + 1000, "d"));
  auto list = allocations_.segments({});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].annotation, "a");
  EXPECT_EQ(list[0].size, 400u);
  EXPECT_EQ(list[1].annotation, "c");
  EXPECT_EQ(list[1].size, 600u);

  allocations_.release(memory);
  EXPECT_EQ(device(1000), memory);
  list = allocations_.segments({});
  ASSERT_EQ(list.size(), 1u) << "annotations end with their memory";
  EXPECT_EQ(list[0].annotation, "");
}

TEST_F(AllocationsTest, AnnotationsThatEndWithinOthers) {
  auto list_of = [&] {
    std::vector<std::string> texts;
    for (const WireSegment& segment : allocations_.segments({})) {
      texts.push_back(std::to_string(segment.size) + segment.annotation);
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  char* memory = static_cast<char*>(device(1000));
  EXPECT_TRUE(allocations_.annotate(memory, "a", 300));
  EXPECT_EQ(list_of(), (Texts{"300a", "700"}));
  EXPECT_TRUE(allocations_.annotate(memory + 100, "b"));
  EXPECT_EQ(list_of(), (Texts{"100a", "900b"}));
  EXPECT_TRUE(allocations_.annotate(memory, "c", 300));
  EXPECT_EQ(list_of(), (Texts{"100c", "900b"})) << "what b describes is as it was";
  EXPECT_TRUE(allocations_.annotate(memory + 100, "d", 50));
  EXPECT_EQ(list_of(), (Texts{"100c", "50d", "850"}));
  EXPECT_TRUE(allocations_.annotate(memory + 100, "", 0));
  EXPECT_EQ(list_of(), (Texts{"100c", "900"}));
}

TEST_F(AllocationsTest, MasksAreNoMoreThanReadersTake) {
  const std::string with_mask = R"({"ignore":[]})";
  char* memory = static_cast<char*>(device(1000));
  auto annotate = [&](uint64_t offset, uint64_t runs) {
    return allocations_.takes_mask(memory + offset, runs) && allocations_.annotate(memory + offset, with_mask);
  };
  EXPECT_FALSE(annotate(0, Allocations::kMostRuns + 1));
  EXPECT_TRUE(annotate(0, Allocations::kMostRuns - 5));
  EXPECT_FALSE(annotate(400, 6));
  EXPECT_TRUE(annotate(400, 5));
  EXPECT_TRUE(annotate(0, Allocations::kMostRuns - 5)) << "in the place of itself";
  EXPECT_TRUE(allocations_.annotate(memory, R"({"tag":"no mask"})"));
  EXPECT_TRUE(annotate(400, Allocations::kMostRuns));
  EXPECT_FALSE(annotate(0, 1));
  allocations_.release(memory);
  EXPECT_EQ(device(1000), memory);
  EXPECT_TRUE(annotate(0, Allocations::kMostRuns)) << "they end with their memory";
  EXPECT_TRUE(allocations_.takes_mask(&memory, 0)) << "no memory that could be annotated";
}

TEST_F(AllocationsTest, CopiesRegisteredMemory) {
  std::vector<char> memory(10000, 'x');
  allocations_.add_registered(memory.data(), memory.size());
  ASSERT_EQ(chunks_.size(), 1u);
  EXPECT_EQ(chunks_[0].address, address_of(memory.data()));
  EXPECT_EQ(chunks_[0].size, memory.size());
  allocations_.refresh();
  EXPECT_EQ(read_all(last_.get(), "copy"), std::string(10000, 'x'));
  auto list = allocations_.segments({});
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].kind, static_cast<uint32_t>(bundle::SegmentKind::kHost));
  allocations_.remove_registered(memory.data());
  EXPECT_EQ(dropped_, std::vector{address_of(memory.data())});
  EXPECT_TRUE(allocations_.segments({}).empty());
}

TEST_F(AllocationsTest, TellsOfRegisteredMemoryThatTheParentReads) {
  reads_memory_ = true;
  std::vector<char> memory(4 * bundle::kBlockSize, 'x');
  allocations_.add_registered(memory.data(), memory.size());
  ASSERT_EQ(chunks_.size(), 1u);
  EXPECT_EQ(last_.get(), -1) << "no copy";
  allocations_.refresh();
  EXPECT_TRUE(known_.empty()) << "it is read whole the first time";
  EXPECT_FALSE(known_when_told_);
  const uint64_t first = (address_of(memory.data()) + bundle::kBlockSize - 1) / bundle::kBlockSize * bundle::kBlockSize;
  auto* changed = reinterpret_cast<char*>(first + bundle::kBlockSize);
  changed[7] = 'y';
  allocations_.refresh();
  EXPECT_EQ(known_when_told_, 0u);
  ASSERT_EQ(known_.size(), 1u);
  const uint64_t skipped = notes_writes() ? 1 : 0;  // blocks that nobody wrote
  EXPECT_EQ(known_[0].address, first + skipped * bundle::kBlockSize);
  ASSERT_GT(known_[0].blocks.size(), 1 - skipped);
  EXPECT_EQ(known_[0].blocks[1 - skipped], digest_of(std::string(changed, bundle::kBlockSize)));
  if (notes_writes()) {
    EXPECT_EQ(known_[0].blocks.size(), 1u);
    EXPECT_THAT(unwritten_[1].runs,
                Contains(AllOf(Field(&MemoryRange::address, first), Field(&MemoryRange::size, bundle::kBlockSize))));
  }
  known_.clear();
  allocations_.remove_registered(memory.data());
  allocations_.refresh();
  EXPECT_TRUE(known_.empty());
  EXPECT_TRUE(unwritten_[2].runs.empty());

  // What was registered before is new.
  allocations_.add_registered(memory.data(), memory.size());
  allocations_.refresh();
  EXPECT_TRUE(known_.empty());
  EXPECT_TRUE(unwritten_[3].runs.empty());
}

// A piece that is watched is a mapping of its own, of which a process may have some 65000.
TEST_F(AllocationsTest, WatchesNothingOfWhichItNeverTells) {
  if (!notes_writes()) GTEST_SKIP() << "this system notes no writes (Linux 6.7 does, where it may)";
  reads_memory_ = true;
  constexpr uint64_t kPieces = 100, kStep = 16 << 10;
  void* all = ::mmap(nullptr, kPieces * kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(all, MAP_FAILED);
  auto mappings = [&] {
    const std::string maps = read_file("/proc/self/maps");
    return std::ranges::count(maps, '\n');
  };
  const auto before = mappings();
  for (uint64_t i = 0; i < kPieces; ++i) allocations_.add_registered(static_cast<char*>(all) + i * kStep, kStep / 2);
  allocations_.refresh();
  EXPECT_LT(mappings(), before + 10);
  ::munmap(all, kPieces * kStep);
}

// The C library reads how large it may become off what is mapped around it.
TEST(OwnMemory, IsNotTheFirstThreadsStack) {
  const int local = 0;
  auto has_stack = [&](const std::vector<MemoryRange>& ranges) {
    return std::ranges::any_of(
        ranges, [&](const MemoryRange& range) { return address_of(&local) - range.address < range.size; });
  };
  EXPECT_TRUE(has_stack(readable_memory()));
  EXPECT_FALSE(has_stack(memory_of_its_own()));
}

// Other processes write to shared memory, and files are written, without this process's pages' noting it.
TEST_F(AllocationsTest, TellsOfNoMemoryOfOthersThatNobodyWroteIt) {
  if (!notes_writes()) GTEST_SKIP() << "this system notes no writes (Linux 6.7 does, where it may)";
  reads_memory_ = true;
  constexpr uint64_t kSize = 4 * bundle::kBlockSize;
  const Fd file = zeroed_memory_file("others", kSize);
  // Digests of adjacent mappings would be one run.
  void* apart = ::mmap(nullptr, 3 * kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(apart, MAP_FAILED);
  void* shared = ::mmap(apart, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  void* of_file = ::mmap(static_cast<char*>(apart) + 2 * kSize, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                         file.get(), 0);
  for (void* memory : {shared, of_file}) {
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_EQ(*static_cast<volatile char*>(memory), 0);  // so that a page is there
    allocations_.add_registered(memory, kSize);
  }
  for (int times = 0; times < 3; ++times) allocations_.refresh();
  for (const Unwritten& told : unwritten_) EXPECT_TRUE(told.runs.empty());
  EXPECT_EQ(known_.size(), 4u) << "of each, the second and the third time";
  ::munmap(apart, 3 * kSize);
}

TEST_F(AllocationsTest, TellsWhatNobodyWrote) {
  if (!notes_writes()) GTEST_SKIP() << "this system notes no writes (Linux 6.7 does, where it may)";
  auto* data = static_cast<char*>(device(4 * bundle::kBlockSize));
  auto* host = static_cast<char*>(allocations_.allocate(Space::kHost, bundle::kBlockSize));
  std::memset(data, 'x', 4 * bundle::kBlockSize);
  std::memset(host, 'x', bundle::kBlockSize);
  allocations_.refresh();
  data[bundle::kBlockSize] = 'y';
  allocations_.refresh();
  ASSERT_EQ(unwritten_.size(), 2u);
  EXPECT_TRUE(unwritten_[0].runs.empty());
  ASSERT_EQ(unwritten_[1].runs.size(), 3u);
  EXPECT_EQ(unwritten_[1].runs[0].address, memory::kDeviceBase);
  EXPECT_EQ(unwritten_[1].runs[0].size, bundle::kBlockSize);
  EXPECT_EQ(unwritten_[1].runs[1].address, memory::kDeviceBase + 2 * bundle::kBlockSize);
  EXPECT_EQ(unwritten_[1].runs[1].size, 2 * bundle::kBlockSize);
  EXPECT_EQ(unwritten_[1].runs[2].address, memory::kHostBase);
  EXPECT_EQ(unwritten_[1].runs[2].size, bundle::kBlockSize);

  // A child has memory of its own, and what it is told then begins there.
  allocations_.before_fork();
  allocations_.after_fork_in_child();
  allocations_.share_again();
  allocations_.refresh();
  EXPECT_TRUE(unwritten_[2].runs.empty());
  allocations_.refresh();
  ASSERT_FALSE(unwritten_[3].runs.empty());
  EXPECT_EQ(unwritten_[3].runs[0].address, memory::kDeviceBase);
  data[0] = 'z';
  allocations_.refresh();
  ASSERT_FALSE(unwritten_[4].runs.empty());
  EXPECT_EQ(unwritten_[4].runs[0].address, memory::kDeviceBase + bundle::kBlockSize);

  runtime_.fetching = true;
  allocations_.refresh();
  EXPECT_EQ(unwritten_.size(), 5u) << "memory that is out of this process's reach";
}

TEST_F(AllocationsTest, RegisteredMemoryThatIsGoneDoesNoHarm) {
  void* memory = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 'x', 8192);
  allocations_.add_registered(memory, 8192);
  ::munmap(static_cast<char*>(memory) + 4096, 4096);
  allocations_.refresh();
  EXPECT_EQ(read_all(last_.get(), "copy"), std::string(4096, 'x') + std::string(4096, '\0'));
  ::munmap(memory, 4096);
}

}  // namespace
}  // namespace mneme::record
