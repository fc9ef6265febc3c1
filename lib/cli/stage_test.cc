// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/stage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace mneme::cli {
namespace {

void parse(Options& options, std::vector<std::string> words) {
  std::vector<const char*> argv{"mneme-test"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  options.parse(static_cast<int>(argv.size()), argv.data());
}

struct Selected {
  Options options{"mneme-test", "tests"};
  Selection selection;

  explicit Selected(std::vector<std::string> words) {
    selection.add_options(options);
    parse(options, std::move(words));
    selection.check();
  }
  bool kernel(const std::string& demangled) {
    bundle::KernelInfo info;
    info.name = "mangled";
    info.demangled = demangled;
    return selection.kernel(info);
  }
};

Digest hash(const std::string& start) { return Digest::parse(start + std::string(32 - start.size(), '0')); }

TEST(Selection, TakesEverythingByDefault) {
  Selected s({});
  EXPECT_TRUE(s.selection.everything());
  EXPECT_TRUE(s.kernel("any"));
  EXPECT_TRUE(s.selection.instance(hash("ab")));
  s.selection.check_met();
}

TEST(Selection, MatchesAnywhereInTheDemangledName) {
  Selected s({"--kernel", "add<f.*t>"});
  EXPECT_TRUE(s.kernel("void vector_add<float>(float*)"));
  EXPECT_FALSE(s.kernel("void vector_add<int>(int*)"));
  s.selection.check_met();
}

TEST(Selection, NamesWhatIsThereWhenNothingMatches) {
  Selected s({"--kernel", "absent"});
  EXPECT_FALSE(s.kernel("first()"));
  EXPECT_FALSE(s.kernel("second()"));
  try {
    s.selection.check_met();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no kernel matches --kernel 'absent'; there are: first(); second()");
  }
}

TEST(Selection, SaysThatANameIsTakenForAnExpression) {
  Selected s({"--kernel", "first(int*)"});
  EXPECT_FALSE(s.kernel("first(int*)"));
  try {
    s.selection.check_met();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no kernel matches --kernel 'first(int*)', a regular expression (\\( stands for a parenthesis); "
                 "there are: first(int*)");
  }
}

TEST(Selection, TakesAnInstanceByPrefix) {
  Selected s({"--instance", "AB"});
  EXPECT_TRUE(s.selection.instance(hash("ab12")));
  EXPECT_FALSE(s.selection.instance(hash("ba")));
  EXPECT_TRUE(s.selection.instance(hash("ab12")));
  s.selection.check_met();
  EXPECT_THROW(s.selection.instance(hash("ab13")), Error);
}

TEST(Selection, RefusesNonsense) {
  EXPECT_THROW(Selected({"--kernel", "("}), Error);
  EXPECT_THROW(Selected({"--instance", "xyz"}), Error);
  EXPECT_THROW(Selected({"--instance", std::string(33, 'a')}), Error);
  Selected s({"--instance", "12"});
  EXPECT_THROW(s.selection.check_met(), Error);
}

TEST(Output, RefusesToOverwriteItsInput) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/x.tar";
  write_file(path, "precious");
  Options options("mneme-test", "tests");
  Input input;
  Output output;
  input.add_options(options);
  output.add_options(options);
  parse(options, {path, "-o", path});
  input.open();
  EXPECT_THROW(output.open(), Error);
  EXPECT_EQ(read_file(path), "precious");
}

TEST(Output, ReplacesAnotherFile) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/x.tar";
  write_file(path, "long and old");
  Options options("mneme-test", "tests");
  Output output;
  output.add_options(options);
  parse(options, {"-o", path});
  output.open();
  write_all(output.fd(), bytes_of("new"), output.name());
  output.close();
  EXPECT_EQ(read_file(path), "new");
}

TEST(Input, SaysWhatIsWrong) {
  EXPECT_THROW(Input("/nonexistent/x").open(), Error);
  EXPECT_THROW(Input("/").open(), Error);
}

TEST(Provenance, AddsOneLine) {
  Options options("mneme-test", "tests");
  parse(options, {"-v"});
  bundle::BundleInfo info;
  info.provenance.push_back({"mneme-capture", "1", {}, 0});
  info = with_provenance(info, "mneme-test", options);
  ASSERT_EQ(info.provenance.size(), 2u);
  EXPECT_EQ(info.provenance[1].tool, "mneme-test");
  EXPECT_EQ(info.provenance[1].arguments, std::vector<std::string>{"-v"});
  EXPECT_EQ(info.provenance[1].input_format, bundle::kFirstFormatVersion);
  info.version = bundle::kVariantsWithoutCode;
  info = with_provenance(info, "mneme-test", options);
  EXPECT_EQ(info.provenance[2].input_format, bundle::kVariantsWithoutCode);
  EXPECT_EQ(info.version, bundle::kVariantsWithoutCode) << "what is passed on needs it";
}

}  // namespace
}  // namespace mneme::cli
