// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/source.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include "base/error.h"

namespace mneme::objects {
namespace {

const std::vector<SourceFile> kFiles = {{"/app/a.hip", "#include \"b.h\"\n"}, {"/app/b.h", ""}, {"/c.h", "int c;\n"}};

std::string frame_of(const std::string& plain) {
  std::string frame(ZSTD_compressBound(plain.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 1));
  return frame;
}

std::string refusal(const std::string& frame) {
  try {
    unpack_source(frame, "it");
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

TEST(Source, ComesBack) {
  EXPECT_EQ(unpack_source(pack_source(kFiles), "it"), kFiles);
  EXPECT_EQ(pack_source(kFiles), pack_source(kFiles));
}

TEST(Source, RefusesWhatIsNone) {
  EXPECT_EQ(refusal("no frame"), "it is damaged: its source is no zstd frame of at most 268435456 bytes");
  EXPECT_EQ(refusal(""), "it is damaged: its source is no zstd frame of at most 268435456 bytes");
  std::string cut = pack_source(kFiles);
  cut.pop_back();
  EXPECT_EQ(refusal(cut), "it is damaged: its source does not decompress");
  EXPECT_EQ(refusal(frame_of("")), "it is damaged: its source has no file");
  EXPECT_EQ(refusal(frame_of("short")), "it is damaged: its source is cut short");
  EXPECT_EQ(refusal(frame_of(std::string(16, '\xff'))), "it is damaged: its source is cut short");
  EXPECT_EQ(refusal(frame_of(std::string(16, '\0'))), "it is damaged: its source has a file without a name");
}

TEST(Source, IsFoundInASection) {
  const std::string one = pack_source(kFiles), other = pack_source({kFiles[2]});
  const std::string section = write_source(one) + std::string(16, '\0') + write_source(other);
  const std::vector<Bytes> frames = parse_sources(bytes_of(section), "it");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(text_of(frames[0]), one);
  EXPECT_EQ(text_of(frames[1]), other);
  EXPECT_TRUE(parse_sources({}, "it").empty());
}

TEST(Source, RefusesAMalformedSection) {
  std::string section = write_source(pack_source(kFiles));
  EXPECT_THROW(parse_sources(bytes_of(section).subspan(0, section.size() - 32), "it"), Error);
  section[0] = 'X';
  EXPECT_THROW(parse_sources(bytes_of(section), "it"), Error);
  EXPECT_THROW(parse_sources(bytes_of(write_source("")), "it"), Error);
}

}  // namespace
}  // namespace mneme::objects
