// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <thread>

#include "hostgpu/queue/gate.h"

namespace mneme::hostgpu {
namespace {

class StreamCapture : public testing::Test {
 protected:
  ~StreamCapture() override { (void)hipGetLastError(); }

  void begin(hipStream_t stream, hipStreamCaptureMode mode = hipStreamCaptureModeGlobal) {
    ASSERT_EQ(hipStreamBeginCapture(stream, mode), hipSuccess);
  }
  hipStreamCaptureStatus status(hipStream_t stream) {
    hipStreamCaptureStatus status{};
    EXPECT_EQ(hipStreamIsCapturing(stream, &status), hipSuccess);
    return status;
  }
  // Ends the capture, which fails for the same reason as something before.
  void end_invalid(hipStream_t stream) {
    hipGraph_t graph = nullptr;
    EXPECT_EQ(status(stream), hipStreamCaptureStatusInvalidated);
    EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(status(stream), hipStreamCaptureStatusNone);
  }
  void end_and_run(hipStream_t stream, size_t nodes) {
    hipGraph_t graph = nullptr;
    ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
    size_t count = 0;
    ASSERT_EQ(hipGraphGetNodes(graph, nullptr, &count), hipSuccess);
    EXPECT_EQ(count, nodes);
    hipGraphExec_t exec = nullptr;
    ASSERT_EQ(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), hipSuccess);
    ASSERT_EQ(hipGraphDestroy(graph), hipSuccess);
    ASSERT_EQ(hipGraphLaunch(exec, stream), hipSuccess);
    ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
    ASSERT_EQ(hipGraphExecDestroy(exec), hipSuccess);
  }

  Words words_;
};

TEST_F(StreamCapture, NotesDownWhatIsAskedFor) {
  Stream stream;
  begin(stream);
  EXPECT_EQ(status(stream), hipStreamCaptureStatusActive);
  words_.set(0, 3, stream);
  ASSERT_EQ(hipMemcpyAsync(words_.at(1), words_.at(0), 4, hipMemcpyDefault, stream), hipSuccess);
  auto add = [](void* word) { *static_cast<unsigned*>(word) += 1; };
  ASSERT_EQ(hipLaunchHostFunc(stream, add, words_.at(1)), hipSuccess);
  unsigned pageable = 0;
  ASSERT_EQ(hipMemcpyAsync(&pageable, words_.at(1), 4, hipMemcpyDefault, stream), hipSuccess);
  EXPECT_EQ(words_[0], 0u) << "nothing is done";
  end_and_run(stream, 4);
  EXPECT_EQ(words_[1], 4u);
  EXPECT_EQ(pageable, 4u);
}

TEST_F(StreamCapture, ForksAndJoins) {
  Stream stream, other;
  Event fork, join;
  begin(stream);
  words_.set(0, 1, stream);
  ASSERT_EQ(hipEventRecord(fork, stream), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(other, fork, 0), hipSuccess);
  EXPECT_EQ(status(other), hipStreamCaptureStatusActive);
  words_.set(1, 1, stream);
  words_.set(2, 1, other);
  ASSERT_EQ(hipEventRecord(join, other), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(stream, join, 0), hipSuccess);
  hipStreamCaptureStatus status{};
  unsigned long long id = 0;
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* nodes = nullptr;
  size_t count = 0, edges = 0;
  ASSERT_EQ(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count), hipSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_NE(id, 0u);
  words_.set(3, 1, stream);
  ASSERT_EQ(hipGraphGetEdges(graph, nullptr, nullptr, &edges), hipSuccess);
  EXPECT_EQ(edges, 4u);
  end_and_run(stream, 4);
  EXPECT_EQ(this->status(other), hipStreamCaptureStatusNone);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(words_[i], 1u);
}

TEST_F(StreamCapture, EndsWhereAndWhenItMay) {
  Stream stream, other;
  Event fork;
  hipGraph_t graph = nullptr;
  EXPECT_EQ(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorIllegalState);
  begin(stream);
  EXPECT_EQ(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipErrorIllegalState);
  std::thread([&] { EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureWrongThread); }).join();
  ASSERT_EQ(hipEventRecord(fork, stream), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(other, fork, 0), hipSuccess);
  words_.set(0, 1, other);
  EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureUnjoined);
  EXPECT_EQ(status(other), hipStreamCaptureStatusNone);

  begin(stream);
  ASSERT_EQ(hipEventRecord(fork, stream), hipSuccess);
  ASSERT_EQ(hipStreamWaitEvent(other, fork, 0), hipSuccess);
  EXPECT_EQ(hipStreamEndCapture(other, &graph), hipErrorStreamCaptureUnmatched);
  end_invalid(stream);
}

TEST_F(StreamCapture, CannotBeWaitedFor) {
  Stream stream;
  Event event;
  begin(stream);
  EXPECT_EQ(hipStreamSynchronize(stream), hipErrorStreamCaptureUnsupported);
  EXPECT_EQ(hipMemsetAsync(words_.at(0), 0, 4, stream), hipErrorStreamCaptureInvalidated);
  end_invalid(stream);
  begin(stream);
  EXPECT_EQ(hipStreamQuery(stream), hipErrorStreamCaptureUnsupported);
  end_invalid(stream);
  begin(stream);
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorStreamCaptureUnsupported);
  end_invalid(stream);
  begin(stream);
  ASSERT_EQ(hipEventRecord(event, stream), hipSuccess);
  EXPECT_EQ(hipEventQuery(event), hipErrorCapturedEvent);
  end_invalid(stream);
}

TEST_F(StreamCapture, KeepsTheLegacyStreamOut) {
  Stream stream, other(hipStreamNonBlocking);
  begin(stream);
  EXPECT_EQ(hipMemsetAsync(words_.at(0), 0, 4, nullptr), hipErrorStreamCaptureImplicit);
  end_invalid(stream);
  begin(stream);
  unsigned word = 0;
  EXPECT_EQ(hipMemcpy(&word, words_.at(0), 4, hipMemcpyDefault), hipErrorStreamCaptureImplicit);
  end_invalid(stream);
  begin(other);
  EXPECT_EQ(hipMemsetAsync(words_.at(0), 5, 4, nullptr), hipSuccess);
  end_and_run(other, 0);
}

TEST_F(StreamCapture, KeepsToItself) {
  Stream first, second;
  Event event, outside;
  begin(first);
  begin(second);
  words_.set(0, 1, first);
  ASSERT_EQ(hipEventRecord(event, first), hipSuccess);
  EXPECT_EQ(hipStreamWaitEvent(second, event, 0), hipErrorStreamCaptureMerge);
  end_invalid(first);
  end_invalid(second);
  ASSERT_EQ(hipEventRecord(outside, first), hipSuccess);
  begin(first);
  EXPECT_EQ(hipStreamWaitEvent(first, outside, 0), hipErrorStreamCaptureIsolation);
  end_invalid(first);
}

TEST_F(StreamCapture, HasModes) {
  Stream stream;
  void* memory = nullptr;
  begin(stream);
  std::thread([] { EXPECT_EQ(hipDeviceSynchronize(), hipErrorStreamCaptureUnsupported) << "global"; }).join();
  end_invalid(stream);
  begin(stream, hipStreamCaptureModeThreadLocal);
  std::thread([&] {
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(hipMalloc(&memory, 16), hipSuccess);
  }).join();
  EXPECT_EQ(hipFree(memory), hipErrorStreamCaptureUnsupported);
  end_invalid(stream);
  begin(stream, hipStreamCaptureModeRelaxed);
  EXPECT_EQ(hipFree(memory), hipSuccess);
  end_and_run(stream, 0);
  begin(stream);
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
  ASSERT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
  EXPECT_EQ(mode, hipStreamCaptureModeGlobal);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  ASSERT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
  EXPECT_EQ(mode, hipStreamCaptureModeRelaxed);
  end_and_run(stream, 0);
}

}  // namespace
}  // namespace mneme::hostgpu
