// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies that attract each other: an array of structures in memory, and a structure with padding inside passed by
// value. What the padding holds is nobody's business, so it is filled with something else for each launch.

#include <cstring>

#include "check.h"

struct Body {
  float x, y, z, mass;
  float vx, vy, vz;
  int id;
};

struct Settings {
  char reverse;  // padding after it
  double step;
  short first;  // padding after it
  int count;
  bool move;  // padding after it
};
static_assert(sizeof(Settings) > sizeof(char) + sizeof(double) + sizeof(short) + sizeof(int) + sizeof(bool));

__host__ __device__ inline void advance(const Body* in, Body* out, const Settings& s, int i) {
  Body body = in[i];
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < s.count; ++j) {
    float dx = in[j].x - body.x, dy = in[j].y - body.y, dz = in[j].z - body.z;
    float square = dx * dx + dy * dy + dz * dz + 0.01f;  // softened: no pole, also for the body itself
    float pull = in[j].mass / (square * sqrtf(square));
    ax += dx * pull;
    ay += dy * pull;
    az += dz * pull;
  }
  float step = static_cast<float>(s.reverse ? -s.step : s.step);
  body.vx += step * ax;
  body.vy += step * ay;
  body.vz += step * az;
  if (s.move) {
    body.x += step * body.vx;
    body.y += step * body.vy;
    body.z += step * body.vz;
  }
  out[i] = body;
}

__global__ void nbody(const Body* in, Body* out, Settings s) {
  int i = s.first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < s.count) advance(in, out, s, i);
}

static Settings settings(bool reverse, int count, int padding) {
  Settings s;
  std::memset(static_cast<void*>(&s), padding, sizeof s);
  s.reverse = reverse;
  s.step = 1e-3;
  s.first = 0;
  s.count = count;
  s.move = true;
  return s;
}

int main() {
  Test test("nbody");
  const int count = 500, steps = 5;
  Random random(1);
  std::vector<Body> bodies(count);
  for (int i = 0; i < count; ++i) {
    float* fields[] = {&bodies[i].x, &bodies[i].y, &bodies[i].z, &bodies[i].vx, &bodies[i].vy, &bodies[i].vz};
    for (float* field : fields) *field = random.between(-1.0f, 1.0f);
    bodies[i].mass = random.between(0.5f, 2.0f);
    bodies[i].id = i;
  }

  Body* in = to_device(bodies);
  Body* out = device_array<Body>(count);
  std::vector<Body> want = bodies, next = bodies;
  for (int step = 0; step < steps; ++step) {
    Settings s = settings(step == 2, count, step);
    nbody<<<blocks_for(count, 64), 64>>>(in, out, s);
    check(hipGetLastError());
    std::swap(in, out);
    for (int i = 0; i < count; ++i) advance(want.data(), next.data(), s, i);
    std::swap(want, next);
  }

  std::vector<Body> got = to_host(in, count);
  auto fields = [](const std::vector<Body>& list) {
    std::vector<float> values;
    for (const Body& body : list) {
      float all[] = {body.x, body.y, body.z, body.mass, body.vx, body.vy, body.vz, static_cast<float>(body.id)};
      values.insert(values.end(), all, all + 8);
    }
    return values;
  };
  test.close("field", fields(got), fields(want), 1e-3);
  check(hipFree(in));
  check(hipFree(out));
  return test.finish();
}
