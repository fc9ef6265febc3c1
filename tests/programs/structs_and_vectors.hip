// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector types and nested structures, with arrays and padding inside, read and written whole and by member.

#include "check.h"

struct Sample {
  float4 position;
  int2 cell;
  unsigned char tags[3];
};

struct Trace {
  double2 range;
  Sample samples[3];
  short id;
  double weight;
};

struct Transform {
  float4 scale, shift;
  int3 cell_shift;
};

__host__ __device__ inline void apply(Trace& trace, const Transform& by, int index) {
  for (Sample& sample : trace.samples) {
    sample.position = sample.position * by.scale + by.shift;
    sample.cell = make_int2(sample.cell.y + by.cell_shift.x, sample.cell.x - by.cell_shift.z);
    for (unsigned char& tag : sample.tags) tag += index % 5;
  }
  Sample first = trace.samples[0];  // whole structures move too
  trace.samples[0] = trace.samples[2];
  trace.samples[2] = first;
  trace.range.x += trace.weight;
  trace.range.y -= trace.weight;
  trace.id = static_cast<short>(trace.id + by.cell_shift.y);
}

__global__ void transform(Trace* traces, int n, Transform by, float4* centres) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  apply(traces[i], by, i);
  const Sample* samples = traces[i].samples;
  centres[i] = (samples[0].position + samples[1].position + samples[2].position) * 0.25f;
}

static std::vector<double> members(const std::vector<Trace>& traces) {
  std::vector<double> values;
  for (const Trace& trace : traces) {
    values.insert(values.end(), {trace.range.x, trace.range.y, double(trace.id), trace.weight});
    for (const Sample& s : trace.samples)
      values.insert(values.end(), {s.position.x, s.position.y, s.position.z, s.position.w, double(s.cell.x),
                                   double(s.cell.y), double(s.tags[0]), double(s.tags[1]), double(s.tags[2])});
  }
  return values;
}

int main() {
  Test test("structs_and_vectors");
  const int n = 3000;
  Random random(1);
  auto number = [&] { return random.between(-4.0f, 4.0f); };
  auto whole = [&] { return random.between(-1000, 1000); };
  std::vector<Trace> traces(n);
  for (Trace& trace : traces) {
    trace.range = make_double2(number(), number());
    trace.id = static_cast<short>(whole());
    trace.weight = number();
    for (Sample& sample : trace.samples) {
      sample.position = make_float4(number(), number(), number(), number());
      sample.cell = make_int2(whole(), whole());
      for (unsigned char& tag : sample.tags) tag = static_cast<unsigned char>(random.below(256));
    }
  }
  // Static, so that the bytes behind its last member, which clang spells as one, are zeros and not the stack's.
  static const Transform by{make_float4(2, -1, 0.5f, 3), make_float4(1, 2, 3, -4), make_int3(10, 20, 30)};

  Trace* device_traces = to_device(traces);
  float4* device_centres = device_array<float4>(n);
  transform<<<blocks_for(n, 128), 128>>>(device_traces, n, by, device_centres);
  check(hipGetLastError());
  for (int i = 0; i < n; ++i) apply(traces[i], by, i);
  test.close("member", members(to_host(device_traces, n)), members(traces), 1e-5);

  std::vector<double> got, want;
  for (const float4& centre : to_host(device_centres, n))
    got.insert(got.end(), {centre.x, centre.y, centre.z, centre.w});
  for (const Trace& trace : traces) {
    const Sample* s = trace.samples;
    const float4 centre = (s[0].position + s[1].position + s[2].position) * 0.25f;
    want.insert(want.end(), {centre.x, centre.y, centre.z, centre.w});
  }
  test.close("centre", got, want, 1e-5);
  check(hipFree(device_traces));
  check(hipFree(device_centres));
  return test.finish();
}
