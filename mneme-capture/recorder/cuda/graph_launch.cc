// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/graph_launch.h"

namespace mneme::record::cuda {

Error begun(Error status) {
  if (status == kSuccess) ++runtime().captures;
  return status;
}

Error ended(Error status) {
  if (has_capture_ended(status) && runtime().captures.load() > 0) --runtime().captures;
  return status;
}

Error launch_graph(GraphExec ready, Stream stream, const std::function<Error()>& real) {
  Core* core = recorder();
  if (!core || runtime().notes_down(stream)) return real();
  use_memory(ready);
  return launch_graph_of<CudaGraphs>(*core, ready, stream, real);
}

}  // namespace mneme::record::cuda
