// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "hostgpu/queue/gate.h"

namespace mneme::hostgpu {
namespace {

using testing::ElementsAre;

hipMemsetParams fill(unsigned* to, unsigned value, size_t count = 1) {
  hipMemsetParams p{};
  p.dst = to;
  p.value = value;
  p.elementSize = 4;
  p.width = count;
  p.height = 1;
  return p;
}

class Graphs : public testing::Test {
 protected:
  Graphs() { EXPECT_EQ(hipGraphCreate(&graph_, 0), hipSuccess); }
  ~Graphs() override {
    EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
    (void)hipGetLastError();
  }

  hipGraphNode_t add_fill(unsigned* to, unsigned value, std::vector<hipGraphNode_t> before = {}) {
    hipMemsetParams p = fill(to, value);
    hipGraphNode_t node = nullptr;
    EXPECT_EQ(hipGraphAddMemsetNode(&node, graph_, before.data(), before.size(), &p), hipSuccess);
    return node;
  }
  hipGraphNode_t add_copy(unsigned* to, unsigned* from, std::vector<hipGraphNode_t> before = {}) {
    hipGraphNode_t node = nullptr;
    EXPECT_EQ(hipGraphAddMemcpyNode1D(&node, graph_, before.data(), before.size(), to, from, 4, hipMemcpyDefault),
              hipSuccess);
    return node;
  }
  hipGraphExec_t instantiate() {
    hipGraphExec_t exec = nullptr;
    EXPECT_EQ(hipGraphInstantiate(&exec, graph_, nullptr, nullptr, 0), hipSuccess);
    return exec;
  }
  void launch(hipGraphExec_t exec) {
    EXPECT_EQ(hipGraphLaunch(exec, stream_), hipSuccess);
    EXPECT_EQ(hipStreamSynchronize(stream_), hipSuccess);
  }

  Stream stream_;
  Words words_;
  hipGraph_t graph_ = nullptr;
};

TEST_F(Graphs, RunInTheOrderOfTheirEdges) {
  // Added before what it depends on.
  hipGraphNode_t copy = add_copy(words_.at(1), words_.at(0));
  hipGraphNode_t first = add_fill(words_.at(0), 7);
  hipGraphNode_t last = add_fill(words_.at(0), 9, {copy});
  ASSERT_EQ(hipGraphAddDependencies(graph_, &first, &copy, 1), hipSuccess);
  EXPECT_EQ(hipGraphAddDependencies(graph_, &first, &copy, 1), hipErrorInvalidValue) << "it is there";
  EXPECT_EQ(hipGraphAddDependencies(graph_, &last, &first, 1), hipErrorInvalidValue) << "it would close a circle";
  hipGraphExec_t exec = instantiate();
  for (int times = 0; times < 3; ++times) {
    words_[0] = 0;
    words_[1] = 0;
    launch(exec);
    EXPECT_EQ(words_[1], 7u);
    EXPECT_EQ(words_[0], 9u);
  }
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphLaunch(exec, stream_), hipErrorInvalidValue);
}

TEST_F(Graphs, TakeTheirPlaceInTheStream) {
  add_fill(words_.at(0), 1);
  hipGraphExec_t exec = instantiate();
  {
    Gate gate(stream_);
    ASSERT_EQ(hipGraphLaunch(exec, stream_), hipSuccess);
    EXPECT_EQ(hipStreamQuery(stream_), hipErrorNotReady);
    EXPECT_EQ(words_[0], 0u);
    ASSERT_EQ(hipGraphExecDestroy(exec), hipSuccess) << "what was launched does not need it";
  }
  EXPECT_EQ(words_[0], 1u);
}

TEST_F(Graphs, OneLaunchEndsBeforeTheNextBegins) {
  add_fill(words_.at(0), 1);
  hipGraphExec_t exec = instantiate();
  Stream other(hipStreamNonBlocking);
  {
    Gate gate(stream_);
    ASSERT_EQ(hipGraphLaunch(exec, stream_), hipSuccess);
    ASSERT_EQ(hipGraphLaunch(exec, other), hipSuccess);
    EXPECT_EQ(hipStreamQuery(other), hipErrorNotReady);
  }
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
}

TEST_F(Graphs, TellWhatTheyAre) {
  hipGraphNode_t a = add_fill(words_.at(0), 1), b = add_copy(words_.at(1), words_.at(0), {a});
  hipGraphNode_t c = nullptr, d = nullptr;
  ASSERT_EQ(hipGraphAddEmptyNode(&c, graph_, &a, 1), hipSuccess);
  hipGraphNode_t both[] = {b, c};
  hipHostNodeParams host{[](void*) {}, nullptr};
  ASSERT_EQ(hipGraphAddHostNode(&d, graph_, both, 2, &host), hipSuccess);

  size_t count = 0;
  ASSERT_EQ(hipGraphGetNodes(graph_, nullptr, &count), hipSuccess);
  EXPECT_EQ(count, 4u);
  std::vector<hipGraphNode_t> nodes(6, a);
  count = 6;
  ASSERT_EQ(hipGraphGetNodes(graph_, nodes.data(), &count), hipSuccess);
  EXPECT_EQ(count, 4u);
  EXPECT_THAT(nodes, ElementsAre(a, b, c, d, nullptr, nullptr));
  ASSERT_EQ(hipGraphGetRootNodes(graph_, nodes.data(), &count), hipSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(nodes[0], a);
  count = 0;
  ASSERT_EQ(hipGraphGetEdges(graph_, nullptr, nullptr, &count), hipSuccess);
  EXPECT_EQ(count, 4u);
  hipGraphNode_t from[4], to[4];
  ASSERT_EQ(hipGraphGetEdges(graph_, from, to, &count), hipSuccess);
  EXPECT_THAT(from, ElementsAre(a, a, b, c));
  EXPECT_THAT(to, ElementsAre(b, c, d, d));
  count = 2;
  ASSERT_EQ(hipGraphNodeGetDependencies(d, nodes.data(), &count), hipSuccess);
  EXPECT_EQ(nodes[1], c);
  count = 1;
  ASSERT_EQ(hipGraphNodeGetDependentNodes(a, nodes.data(), &count), hipSuccess);
  EXPECT_EQ(nodes[0], b);

  hipGraphNodeType type{};
  for (auto [node, want] : {std::pair(a, hipGraphNodeTypeMemset),
                            {b, hipGraphNodeTypeMemcpy1D},
                            {c, hipGraphNodeTypeEmpty},
                            {d, hipGraphNodeTypeHost}}) {
    ASSERT_EQ(hipGraphNodeGetType(node, &type), hipSuccess);
    EXPECT_EQ(type, want);
  }
  hipMemsetParams p{};
  ASSERT_EQ(hipGraphMemsetNodeGetParams(a, &p), hipSuccess);
  EXPECT_EQ(p.dst, words_.at(0));
  EXPECT_EQ(hipGraphMemsetNodeGetParams(b, &p), hipErrorInvalidValue);
  ASSERT_EQ(hipGraphDestroyNode(c), hipSuccess);
  ASSERT_EQ(hipGraphRemoveDependencies(graph_, &a, &b, 1), hipSuccess);
  EXPECT_EQ(hipGraphRemoveDependencies(graph_, &a, &b, 1), hipErrorInvalidValue);
  ASSERT_EQ(hipGraphGetRootNodes(graph_, nullptr, &count), hipSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(hipGraphNodeGetType(c, &type), hipErrorInvalidValue);
}

TEST_F(Graphs, AreChangedBeforeAndAfterTheyCanBeLaunched) {
  hipGraphNode_t node = add_fill(words_.at(0), 1);
  hipMemsetParams p = fill(words_.at(0), 2);
  ASSERT_EQ(hipGraphMemsetNodeSetParams(node, &p), hipSuccess);
  hipGraphExec_t exec = instantiate();
  p = fill(words_.at(0), 3);
  ASSERT_EQ(hipGraphMemsetNodeSetParams(node, &p), hipSuccess);
  launch(exec);
  EXPECT_EQ(words_[0], 2u) << "a graph that can be launched is a copy";
  p = fill(words_.at(1), 4);
  ASSERT_EQ(hipGraphExecMemsetNodeSetParams(exec, node, &p), hipSuccess);
  launch(exec);
  EXPECT_EQ(words_[1], 4u);

  hipGraphExecUpdateResult result{};
  hipGraphNode_t where = nullptr;
  words_[0] = 0;
  ASSERT_EQ(hipGraphExecUpdate(exec, graph_, &where, &result), hipSuccess);
  EXPECT_EQ(result, hipGraphExecUpdateSuccess);
  launch(exec);
  EXPECT_EQ(words_[0], 3u);
  add_fill(words_.at(2), 1, {node});
  EXPECT_EQ(hipGraphExecUpdate(exec, graph_, &where, &result), hipErrorGraphExecUpdateFailure);
  EXPECT_EQ(result, hipGraphExecUpdateErrorTopologyChanged);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
}

TEST_F(Graphs, HoldOthersAndAreCopied) {
  hipGraph_t child = nullptr;
  ASSERT_EQ(hipGraphCreate(&child, 0), hipSuccess);
  hipMemsetParams p = fill(words_.at(0), 5);
  hipGraphNode_t inside = nullptr, node = nullptr;
  ASSERT_EQ(hipGraphAddMemsetNode(&inside, child, nullptr, 0, &p), hipSuccess);
  ASSERT_EQ(hipGraphAddChildGraphNode(&node, graph_, nullptr, 0, child), hipSuccess);
  hipGraphNode_t after = add_copy(words_.at(1), words_.at(0), {node});
  hipGraph_t held = nullptr;
  ASSERT_EQ(hipGraphChildGraphNodeGetGraph(node, &held), hipSuccess);
  EXPECT_NE(held, child);
  EXPECT_EQ(hipGraphDestroy(held), hipErrorInvalidValue) << "it is the node's";

  hipGraph_t copy = nullptr;
  hipGraphNode_t found = nullptr;
  ASSERT_EQ(hipGraphClone(&copy, graph_), hipSuccess);
  ASSERT_EQ(hipGraphNodeFindInClone(&found, after, copy), hipSuccess);
  EXPECT_NE(found, after);
  EXPECT_EQ(hipGraphNodeFindInClone(&found, inside, copy), hipErrorInvalidValue);
  hipGraphNode_t within = nullptr;
  size_t one = 1;
  ASSERT_EQ(hipGraphGetNodes(held, &within, &one), hipSuccess);
  EXPECT_EQ(hipGraphNodeFindInClone(&found, within, copy), hipErrorInvalidValue) << "it is in a graph of the copy's";

  hipGraphExec_t exec = nullptr;
  ASSERT_EQ(hipGraphInstantiate(&exec, copy, nullptr, nullptr, 0), hipSuccess);
  ASSERT_EQ(hipGraphDestroy(copy), hipSuccess);
  launch(exec);
  EXPECT_EQ(words_[1], 5u);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);

  exec = instantiate();
  p = fill(words_.at(0), 6);
  ASSERT_EQ(hipGraphMemsetNodeSetParams(inside, &p), hipSuccess);
  ASSERT_EQ(hipGraphExecChildGraphNodeSetParams(exec, node, child), hipSuccess);
  launch(exec);
  EXPECT_EQ(words_[1], 6u);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  EXPECT_EQ(hipGraphDestroy(child), hipSuccess);
}

TEST_F(Graphs, RecordEventsAndWaitForThem) {
  Event event, done;
  hipGraphNode_t wait = nullptr, record = nullptr;
  ASSERT_EQ(hipGraphAddEventWaitNode(&wait, graph_, nullptr, 0, event), hipSuccess);
  hipGraphNode_t set = add_fill(words_.at(0), 1, {wait});
  ASSERT_EQ(hipGraphAddEventRecordNode(&record, graph_, &set, 1, done), hipSuccess);
  hipEvent_t seen = nullptr;
  ASSERT_EQ(hipGraphEventRecordNodeGetEvent(record, &seen), hipSuccess);
  EXPECT_EQ(seen, done);
  hipGraphExec_t exec = instantiate();
  Stream other;
  {
    Gate gate(other);
    ASSERT_EQ(hipEventRecord(event, other), hipSuccess);
    ASSERT_EQ(hipGraphLaunch(exec, stream_), hipSuccess);
    EXPECT_EQ(hipEventQuery(done), hipErrorNotReady);
    EXPECT_EQ(words_[0], 0u);
  }
  EXPECT_EQ(hipEventQuery(done), hipSuccess);
  EXPECT_EQ(words_[0], 1u);
  EXPECT_EQ(hipGraphExecDestroy(exec), hipSuccess);
}

TEST_F(Graphs, RefuseWhatCannotBe) {
  hipGraphNode_t node = nullptr;
  hipMemsetParams p = fill(nullptr, 1);
  EXPECT_EQ(hipGraphAddMemsetNode(&node, graph_, nullptr, 0, &p), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddMemsetNode(&node, graph_, nullptr, 0, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddEmptyNode(&node, nullptr, nullptr, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddEmptyNode(&node, graph_, nullptr, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphAddEmptyNode(nullptr, graph_, nullptr, 0), hipErrorInvalidValue);
  hipKernelNodeParams kernel{};
  EXPECT_EQ(hipGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), hipErrorInvalidValue);
  hipGraph_t other = nullptr;
  EXPECT_EQ(hipGraphCreate(&other, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipGraphDestroy(nullptr), hipErrorInvalidValue);
  size_t count = 0;
  ASSERT_EQ(hipGraphGetNodes(graph_, nullptr, &count), hipSuccess);
  EXPECT_EQ(count, 0u);
}

}  // namespace
}  // namespace mneme::hostgpu
