// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "recorder/cuda_runtime.h"

namespace mneme::record::cuda {

// One thing that a launched graph does: a kernel, or a graph of the recorder's that does what one other node does.
struct GraphStep {
  GraphNode node = nullptr;  // of the recorder's copy
  KernelNode kernel{};
  bool drivers = false;  // the kernel's function is one for the driver, not for the runtime
  bool cooperative = false;
  Dimensions cluster{1, 1, 1};
  GraphExec other = nullptr;  // null: the kernel
};

// What a graph does, in an order in which it may be done.
struct GraphPlan {
  std::vector<GraphStep> steps;
  std::string trouble;  // why it cannot be done step by step; empty: it can
};

// The application's graphs that are ready to be launched, each with a copy of what it was made from: of one that is
// ready nobody can ask what is in it. Thread-safe.
class Graphs {
 public:
  static Graphs& all();  // never destroyed

  void add(GraphExec ready, Graph graph);
  void remove(GraphExec ready);
  // The application has changed a kernel's node, and `change` does the same to the copy's; or something that is not
  // followed here.
  void set_kernel(GraphExec ready, GraphNode node, const std::function<Error(GraphNode)>& change);
  void lose(GraphExec ready, const char* trouble);

  std::shared_ptr<const GraphPlan> plan(GraphExec ready);

 private:
  struct Copy;
  std::mutex mutex_;
  std::map<GraphExec, std::shared_ptr<Copy>> copies_;
};

}  // namespace mneme::record::cuda
