// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast packs are written and read back, as ratios to `zstd -1 -T0` on the same bytes in the same run. The bytes are
// floating-point fields such as the test programs have: a diffusing temperature, vectors of a solver, bodies, random
// matrices.
//
//   pack_bench [MiB] [repetitions]     (1024 and 3 unless given; the best repetition counts)
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bundle/testing/sample.h"
#include "bundle/workers.h"

namespace mneme::bundle {
namespace {

constexpr uint64_t kBase = 0x400000000000;

double seconds(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Quick numbers in [-1, 1).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15 + 1) {}
  float next() {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<float>(static_cast<int32_t>(state_ >> 32) >> 8) * 0x1p-23f;
  }

 private:
  uint64_t state_;
};

// Each fills [out, out + count) with one kind of field; `part` makes no two alike, `step` moves it on in time.
void fill_temperature(float* out, size_t count, size_t part, int step) {
  constexpr size_t kWidth = 2048;
  float decay = std::exp(-0.01f * static_cast<float>(step)), shift = 0.37f * static_cast<float>(part);
  for (size_t i = 0; i < count; ++i) {
    size_t row = i / kWidth, column = i % kWidth;
    float x = static_cast<float>(column) / kWidth + shift, y = static_cast<float>(row) / kWidth + shift;
    out[i] = 20.0f + 80.0f * decay * std::sin(3.14159f * x) * std::sin(6.28318f * y) + 5.0f * x * y;
  }
}

void fill_vector(double* out, size_t count, size_t part, int step) {
  Random random(part);
  for (size_t i = 0; i < count; ++i) {
    double x = static_cast<double>(i) / static_cast<double>(count);
    out[i] =
        std::sin(40 * x + static_cast<double>(part)) * (1 + 1e-3 * step) + 1e-4 * static_cast<double>(random.next());
  }
}

void fill_bodies(float* out, size_t count, size_t part, int step) {
  Random random(part);
  for (size_t i = 0; i + 8 <= count; i += 8) {  // position, mass, velocity, padding
    for (size_t k = 0; k < 7; ++k) out[i + k] = random.next();
    for (size_t k = 0; k < 3; ++k) out[i + k] += 0.01f * static_cast<float>(step) * out[i + 4 + k];
    out[i + 7] = 0;
  }
}

void fill_matrix(float* out, size_t count, size_t part, int step) {
  Random random(part + 1000 * static_cast<size_t>(step));
  for (size_t i = 0; i < count; ++i) out[i] = random.next();
}

void fill_part(std::byte* out, size_t bytes, size_t part, int step) {
  auto* floats = reinterpret_cast<float*>(out);
  if (part % 4 == 0) fill_temperature(floats, bytes / 4, part, step);
  if (part % 4 == 1) fill_vector(reinterpret_cast<double*>(out), bytes / 8, part, step);
  if (part % 4 == 2) fill_bodies(floats, bytes / 4, part, step);
  if (part % 4 == 3) fill_matrix(floats, bytes / 4, part, step);
}

// What an application's memory holds at the launches recorded, one moment after another.
class Moments {
 public:
  static constexpr size_t kCount = 8;
  static constexpr size_t kParts = 8;  // two fields of each kind

  explicit Moments(size_t bytes)
      : part_(bytes / kCount / kParts / kBlockSize * kBlockSize), bytes_(new std::byte[size()]) {
    std::memset(bytes_.get(), 0, size());
    Workers::for_each(kCount * kParts, [&](size_t i) {
      fill_part(bytes_.get() + i * part_, part_, i % kParts, static_cast<int>(i / kParts));
    });
  }
  // From now on every other block is what it was the moment before.
  void keep_half() {
    for (size_t i = moment_size() / kBlockSize; i < size() / kBlockSize; i += 2) {
      std::memcpy(bytes_.get() + i * kBlockSize, bytes_.get() + i * kBlockSize - moment_size(), kBlockSize);
    }
  }
  size_t size() const { return moment_size() * kCount; }
  size_t moment_size() const { return part_ * kParts; }
  Bytes all() const { return {bytes_.get(), size()}; }
  Bytes moment(size_t number) const { return all().subspan(number * moment_size(), moment_size()); }

 private:
  size_t part_;
  std::unique_ptr<std::byte[]> bytes_;
};

// What capture does for a snapshot: all of it is hashed.
State state_of(Bytes memory) {
  State state;
  state.blocks.resize(memory.size() / kBlockSize);
  constexpr size_t kRun = 64;
  Workers::for_each((state.blocks.size() + kRun - 1) / kRun, [&](size_t run) {
    for (size_t i = run * kRun; i < std::min(state.blocks.size(), (run + 1) * kRun); ++i) {
      state.blocks[i] = {kBase + i * kBlockSize, digest_of(memory.subspan(i * kBlockSize, kBlockSize))};
    }
  });
  return state;
}

uint64_t position(int fd) { return static_cast<uint64_t>(::lseek(fd, 0, SEEK_CUR)); }

// zstd -1 -T0 into a file in memory.
double zstd_write(Bytes bytes, int fd, uint64_t& size) {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_nbWorkers, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::byte> buffer(ZSTD_CStreamOutSize());
  double time = seconds([&] {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (size_t left = 1; left != 0;) {
      ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
      left = ZSTD_compressStream2(context.get(), &out, &in, ZSTD_e_end);
      write_all(fd, Bytes(buffer).first(out.pos), "zstd's output");
    }
  });
  size = position(fd);
  return time;
}

double zstd_read(int fd) {
  ::lseek(fd, 0, SEEK_SET);
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  std::vector<char> input(ZSTD_DStreamInSize()), output(ZSTD_DStreamOutSize());
  return seconds([&] {
    for (ssize_t n; (n = ::read(fd, input.data(), input.size())) > 0;) {
      ZSTD_inBuffer in{input.data(), static_cast<size_t>(n), 0};
      while (in.pos < in.size) {
        ZSTD_outBuffer out{output.data(), output.size(), 0};
        ZSTD_decompressStream(context.get(), &out, &in);
      }
    }
  });
}

struct Measure {
  double write = 1e9, read = 1e9;  // seconds
  uint64_t size = 0;
  void keep_least(double write_time, double read_time) {
    write = std::min(write, write_time);
    read = std::min(read, read_time);
  }
};

// All the moments as the instances of a bundle, hashing included; and that bundle read and decoded.
void measure_packs(const Moments& moments, Measure& measure) {
  KernelMember kernel = sample_kernel(0);
  Fd file = memory_file("bundle");
  Writer writer(file.get(), "the bundle");
  writer.add(std::string(kBundleMember), write(BundleInfo{1, "host", {}, "packs", {}}));
  writer.add(kernel_json_name(kernel.info.id), write(kernel.info));
  writer.add(kernel_bitcode_name(kernel.info.id), kernel.bitcode);
  double write_time = seconds([&] {
    for (size_t i = 0; i < Moments::kCount; ++i) {
      State state = state_of(moments.moment(i));
      InstanceInfo info;
      info.kernel = kernel.info.id;
      info.index = i;
      info.arguments.assign(16, '\0');
      info.segments = {{kBase, moments.moment_size(), SegmentKind::kHeap, "", ""}};
      info.prologue = info.epilogue = digest_of(write(state));
      info.id = instance_id(info);
      writer.add_instance(info, state, state, [&](uint64_t address, bool) {
        return moments.moment(i).subspan(address - kBase, kBlockSize);
      });
    }
    writer.finish();
  });
  measure.size = position(file.get());
  ::lseek(file.get(), 0, SEEK_SET);
  Reader reader(file.get(), "the bundle", Memory::kDecode);
  measure.keep_least(write_time, seconds([&] {
                       while (reader.next()) {
                       }
                     }));
}

void measure_zstd(const Moments& moments, Measure& measure) {
  Fd file = memory_file("zstd");
  double write_time = zstd_write(moments.all(), file.get(), measure.size);
  measure.keep_least(write_time, zstd_read(file.get()));
}

void report(const char* what, size_t bytes, const Measure& measure) {
  double all = static_cast<double>(bytes);
  std::printf("%-30s %6.0f MB/s to %.3f of the size, reading back %6.0f MB/s\n", what, all / measure.write / 1e6,
              static_cast<double>(measure.size) / all, all / measure.read / 1e6);
}

void run(size_t bytes, int repetitions) {
  Measure zstd, packs, zstd_half, half;
  for (int i = 0; i < repetitions; ++i) {
    Moments moments(bytes);
    bytes = moments.size();
    measure_zstd(moments, zstd);
    measure_packs(moments, packs);
    moments.keep_half();
    measure_zstd(moments, zstd_half);
    measure_packs(moments, half);
  }
  std::printf("%zu MiB of fields, %u threads\n", bytes >> 20, std::thread::hardware_concurrency());
  report("zstd -1 -T0", bytes, zstd);
  report("packs", bytes, packs);
  report("zstd -1 -T0, half unchanged", bytes, zstd_half);
  report("packs, half unchanged", bytes, half);
  std::printf("ratio write_speed %.2f (at least 1.00)\n", zstd.write / packs.write);
  std::printf("ratio size %.2f (at most 1.00)\n", static_cast<double>(packs.size) / static_cast<double>(zstd.size));
  std::printf("ratio read_speed %.2f (to zstd -1 -T0, at least 1.00)\n", zstd.write / packs.read);
  std::printf("ratio read_speed_to_zstd_d %.2f\n", zstd.read / packs.read);
  std::printf("ratio half_unchanged_speed %.2f (at least 1.80)\n", zstd_half.write / half.write);
}

}  // namespace
}  // namespace mneme::bundle

int main(int argc, char** argv) {
  size_t mebibytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024;
  int repetitions = argc > 2 ? std::atoi(argv[2]) : 3;
  if (mebibytes < 32 || repetitions < 1) {
    std::fprintf(stderr, "usage: pack_bench [MiB, at least 32] [repetitions]\n");
    return 2;
  }
  mneme::bundle::run(mebibytes << 20, repetitions);
}
