// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/graph_memory.h"

#include <gmock/gmock.h>

namespace mneme::memory {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Allocation {
  void* pointer = nullptr;
  int size = 0;
};
char graph, ready, other, node, first, second;  // handles and memory are addresses only

struct Graphs : testing::Test {
  void allocate(const void* in, void* pointer) { memory.add_allocation(in, nullptr, {pointer, 1}); }
  bool free(const void* in, void* pointer) { return memory.add_free(in, nullptr, pointer); }

  GraphMemory<Allocation> memory;
};

TEST_F(Graphs, MemoryIsReleasedWithTheLastGraphThatAllocatesIt) {
  allocate(&graph, &first);
  EXPECT_TRUE(free(&graph, &first));
  memory.share(&graph, &ready);
  memory.launch(&ready);
  EXPECT_THAT(memory.remove(&graph), IsEmpty());
  memory.launch(&ready);
  EXPECT_THAT(memory.remove(&ready), ElementsAre(&first));
  EXPECT_FALSE(memory.give_back(&first));
}

TEST_F(Graphs, MemoryIsTheApplicationsAfterALaunchThatDoesNotFreeIt) {
  allocate(&graph, &first);
  allocate(&graph, &second);
  memory.share(&graph, &ready);
  EXPECT_THAT(memory.remove(&graph), IsEmpty());
  memory.launch(&ready);
  EXPECT_TRUE(memory.give_back(&first)) << "the graph may be launched again";
  EXPECT_THAT(memory.remove(&ready), ElementsAre(&first)) << "the application has the other";
  EXPECT_FALSE(memory.give_back(&second)) << "it is ordinary memory";
}

TEST_F(Graphs, MemoryMayBeFreedByAnotherGraph) {
  allocate(&graph, &first);
  EXPECT_TRUE(free(&other, &first));
  EXPECT_FALSE(free(&other, &second)) << "no graph allocates it";
  memory.launch(&graph);
  memory.launch(&other);
  EXPECT_THAT(memory.remove(&graph), ElementsAre(&first));
  memory.launch(&other);
  EXPECT_THAT(memory.remove(&other), IsEmpty());
}

TEST_F(Graphs, MemoryIsThatOfAGraphWithin) {
  allocate(&graph, &first);
  allocate(&other, &second);
  memory.share(&graph, &other);
  EXPECT_THAT(memory.remove(&graph), IsEmpty());
  EXPECT_THAT(memory.remove(&other), ElementsAre(&second, &first));
  EXPECT_THAT(memory.remove(&other), IsEmpty()) << "it is unknown";
}

TEST_F(Graphs, MemoryIsReplacedWhereAGraphIsUpdated) {
  allocate(&graph, &first);
  allocate(&other, &second);
  EXPECT_THAT(memory.replace(&graph, &ready), IsEmpty());
  EXPECT_THAT(memory.remove(&graph), IsEmpty());
  EXPECT_THAT(memory.replace(&other, &ready), ElementsAre(&first));
  EXPECT_THAT(memory.remove(&other), IsEmpty());
  EXPECT_THAT(memory.remove(&ready), ElementsAre(&second));
}

TEST_F(Graphs, MemoryWithoutAGraphIsFreedByAnother) {
  allocate(&graph, &first);
  EXPECT_THAT(memory.launch(&graph), IsEmpty());
  EXPECT_THAT(memory.remove(&graph), IsEmpty()) << "the application has it";
  ASSERT_TRUE(free(&other, &first));
  EXPECT_THAT(memory.launch(&other), ElementsAre(&first));
  EXPECT_THAT(memory.launch(&other), IsEmpty());
}

TEST_F(Graphs, NodesAreKnownUntilTheirGraphIsGone) {
  memory.add_allocation(&graph, &node, {&first, 7});
  memory.share(&graph, &ready);
  ASSERT_TRUE(memory.add_free(&other, &other, &first));
  EXPECT_EQ(memory.allocation(&node).value().size, 7);
  EXPECT_EQ(memory.freed(&other), &first);
  EXPECT_FALSE(memory.allocation(&other) || memory.freed(&node));
  EXPECT_THAT(memory.remove(&graph), IsEmpty());
  EXPECT_FALSE(memory.allocation(&node)) << "another node may have its address";
}

}  // namespace
}  // namespace mneme::memory
