// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/graph_launch.h"

namespace mneme::record::cuda {

Error begun(Error status) {
  if (status == kSuccess) ++runtime().captures;
  return status;
}

// A graph that was captured in vain is gone.
Error end_capture(Stream stream, const std::function<Error()>& real) {
  Graph captured = recorder() ? captured_graph(stream) : nullptr;
  const Error status = real();
  if (!has_capture_ended(status)) return status;
  if (runtime().captures.load() > 0) --runtime().captures;
  if (status != kSuccess && captured) release_memory(captured);
  return status;
}

Error launch_graph(GraphExec ready, Stream stream, const std::function<Error()>& real) {
  Core* core = recorder();
  if (!core || runtime().notes_down(stream)) return real();
  const Error status = launch_graph_of<CudaGraphs>(*core, ready, stream, real);
  if (status == kSuccess) use_memory(ready);
  return status;
}

}  // namespace mneme::record::cuda
