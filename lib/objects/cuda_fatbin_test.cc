// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/cuda_fatbin.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <random>

#include "base/error.h"
#include "objects/cuda_fatbin_builder.h"
#include "objects/elf_builder.h"

namespace mneme::objects {
namespace {

// Without the padding that the builder adds.
std::string cubin(const std::string& what) {
  std::string contents = what;
  contents.resize((contents.size() + 7) / 8 * 8, '.');
  return contents;
}

std::vector<DeviceCode> of_fatbin(const std::string& bytes) {
  return device_code_of_fatbin(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "test");
}

TEST(CudaFatbin, GivesTheCubins) {
  auto code = of_fatbin(fatbin({{.contents = cubin("first")},
                                {.kind = kPtx, .contents = ".version 8.5"},
                                {.processor = 80, .contents = cubin("second")},
                                {.flags = kArchitectureSpecific, .contents = cubin("third")}}));
  ASSERT_EQ(code.size(), 3u);
  EXPECT_EQ(code[0].target, "nvptx64-nvidia-cuda--sm_90");
  EXPECT_EQ(text_of(code[0].image), cubin("first"));
  EXPECT_EQ(code[1].target, "nvptx64-nvidia-cuda--sm_80");
  EXPECT_EQ(text_of(code[1].image), cubin("second"));
  EXPECT_EQ(code[2].target, "nvptx64-nvidia-cuda--sm_90a");
}

TEST(CudaFatbin, KnowsItsSize) {
  std::string bytes = fatbin({{.contents = cubin("image")}});
  EXPECT_EQ(size_of_fatbin(bytes_of(bytes + "more"), "test"), bytes.size());
  EXPECT_EQ(size_of_image(reinterpret_cast<const std::byte*>(bytes.data()), "test"), bytes.size());
  auto code = device_code_of_image(reinterpret_cast<const std::byte*>(bytes.data()), SIZE_MAX, "test");
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(text_of(code[0].image), cubin("image"));
}

TEST(CudaFatbin, Decompresses) {
  std::string large(100000, 'x');
  auto code = of_fatbin(fatbin({compressed(large)}));
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(text_of(code[0].image), large);
}

TEST(CudaFatbin, DecompressesLz4) {
  // "abc", 20 bytes that repeat it, 16 literals of which the count goes on, 4 bytes from 2 behind, and the last
  // literals.
  const std::string block = std::string(
                                "\x3f"
                                "abc"
                                "\3\0"
                                "\1",
                                7) +
                            std::string("\xf0\1") + "0123456789012345" + std::string("\2\0", 2) + std::string("\x30") +
                            "end";
  const std::string plain =
      "abc"
      "abcabcabcabcabcabcab"
      "0123456789012345"
      "4545"
      "end";
  auto entry = [&](const std::string& contents, uint64_t uncompressed) {
    return fatbin({{.flags = kLz4, .contents = contents, .uncompressed = uncompressed}});
  };
  auto code = of_fatbin(entry(block, plain.size()));
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(text_of(code[0].image), plain);
  for (uint64_t lie : {plain.size() - 1, plain.size() + 1, size_t{1} << 31, size_t{1} << 62}) {
    EXPECT_THROW(of_fatbin(entry(block, lie)), Error) << lie;
  }
  for (size_t size = 1; size < block.size(); ++size) {
    EXPECT_THROW(of_fatbin(entry(block.substr(0, size), plain.size())), Error) << size;
  }
  EXPECT_THROW(of_fatbin(entry(std::string("\x10"
                                           "a"
                                           "\2\0",
                                           4) +
                                   "\x30"
                                   "end",
                               8)),
               Error)
      << "from ahead of all";
  EXPECT_THROW(of_fatbin(entry(std::string("\x10"
                                           "a"
                                           "\0\0",
                                           4) +
                                   "\x30"
                                   "end",
                               8)),
               Error)
      << "from nowhere";
}

TEST(CudaFatbin, ACompressionNotUnderstoodIsNamedWhereThereIsNothingElse) {
  FatbinEntry old = {.flags = 0x4000, .contents = cubin("other"), .uncompressed = 100};
  EXPECT_EQ(of_fatbin(fatbin({old, {.contents = cubin("readable")}})).size(), 1u);
  try {
    of_fatbin(fatbin({old}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("neither zstd nor LZ4"), std::string::npos) << error.what();
  }
}

TEST(CudaFatbin, OfAnExecutable) {
  std::string units = fatbin({{.contents = cubin("a")}}) + std::string(24, '\0') + fatbin({{.contents = cubin("b")}});
  std::string executable = build_elf({{".nv_fatbin", units}});
  auto code = device_code_of_executable(bytes_of(executable), "test");
  ASSERT_EQ(code.size(), 2u);
  EXPECT_EQ(text_of(code[1].image), cubin("b"));
  EXPECT_TRUE(device_code_of_executable(bytes_of(build_elf({{".nv_fatbin", std::string(64, 'x')}})), "test").empty());
}

// Of each unit the newest text; one behind the other, as they are linked.
TEST(CudaFatbin, OfUnitsThatAreLinked) {
  FatbinEntry packed = compressed("second");
  packed.kind = kPtx;
  std::string units = fatbin({{.contents = cubin("a")},
                              {.kind = kPtx, .processor = 80, .contents = "old"},
                              {.kind = kPtx, .processor = 90, .contents = "first"}}) +
                      fatbin({{.contents = cubin("b")}}) + std::string(16, '\0') + fatbin({packed});
  std::string executable = build_elf({{".nv_fatbin", fatbin({{.contents = cubin("all")}})}, {"__nv_relfatbin", units}});
  std::vector<DeviceCode> ptx;
  auto code = device_code_of_executable(bytes_of(executable), "test", &ptx);
  ASSERT_EQ(code.size(), 1u);
  EXPECT_EQ(text_of(code[0].image), cubin("all"));
  ASSERT_EQ(ptx.size(), 1u);
  EXPECT_EQ(text_of(ptx[0].image), "first\nsecond\n");
  EXPECT_EQ(ptx[0].target, "nvptx64-nvidia-cuda--sm_90");
  std::string bad = units;
  poke(bad, 8, UINT64_MAX);
  std::string damaged = build_elf({{"__nv_relfatbin", bad}});
  EXPECT_THROW(device_code_of_executable(bytes_of(damaged), "test", &ptx), Error);
  ptx.clear();
  EXPECT_TRUE(device_code_of_executable(bytes_of(build_elf({{"__nv_relfatbin", "text"}})), "test", &ptx).empty());
  EXPECT_TRUE(ptx.empty());
}

TEST(CudaFatbin, RefusesLyingNumbers) {
  const std::string good = fatbin({{.contents = cubin("image")}});
  for (uint64_t lie : {UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63, uint64_t{good.size() + 1}}) {
    for (size_t field : {size_t{8}, kFirstEntry + 8}) {  // sizes of all entries, and of one
      std::string bad = good;
      poke(bad, field, lie);
      EXPECT_THROW(of_fatbin(bad), Error) << lie << " at " << field;
    }
  }
  for (uint32_t lie : {UINT32_MAX, 0u, 63u, 1000u}) {  // an entry's header
    std::string bad = good;
    poke(bad, kFirstEntry + 4, lie);
    EXPECT_THROW(of_fatbin(bad), Error) << lie;
  }
  std::string bad = good;
  poke(bad, 6, uint16_t{15});  // the fat binary's header
  EXPECT_THROW(of_fatbin(bad), Error);
  bad = good;
  poke(bad, kFirstEntry + 16, uint32_t{9});  // compressed, to more than there is
  EXPECT_THROW(of_fatbin(bad), Error);
  for (size_t size = 0; size < good.size(); ++size) EXPECT_THROW(of_fatbin(good.substr(0, size)), Error) << size;
}

TEST(CudaFatbin, RefusesLiesOfCompressedEntries) {
  const FatbinEntry good = compressed(std::string(1000, 'x'));
  for (uint64_t lie : {uint64_t{999}, uint64_t{1001}, uint64_t{1} << 32, uint64_t{1} << 62}) {
    FatbinEntry bad = good;
    bad.uncompressed = lie;
    EXPECT_THROW(of_fatbin(fatbin({bad})), Error) << lie;
  }
  FatbinEntry bad = good;
  bad.contents[bad.contents.size() / 2] ^= 0x40;
  EXPECT_THROW(of_fatbin(fatbin({bad})), Error);
  bad = good;
  bad.contents = "no frame";
  EXPECT_THROW(of_fatbin(fatbin({bad})), Error);
}

// Whatever is changed, there is an answer or an Error; the sanitizers' builds see what else goes wrong.
TEST(CudaFatbin, SurvivesDamage) {
  const std::string cubin = build_elf({{".mneme.ir", ""}, {".text", "code"}});
  const std::string good = fatbin({{.contents = cubin}, compressed(cubin), {.kind = kPtx, .contents = "text"}});
  std::mt19937 random(7);
  size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
      bad[random() % bad.size()] = static_cast<char>(random());
    try {
      for (const DeviceCode& code : of_fatbin(bad))
        parse_embedded(elf_section(code.image, ".mneme.ir", "test"), "test");
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace mneme::objects
