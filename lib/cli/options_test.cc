// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "cli/help.h"

namespace mneme::cli {
namespace {

using Words = std::vector<std::string>;

struct Tool {
  Options options{"mneme-test", "tests"};
  bool flag = false;
  std::string text = "default", choice = "auto", file;
  uint64_t number = 7, size = 1;
  double seconds = 60;
  Words many, files, command;

  Tool() {
    options.flag("-k,--keep", flag, "keep");
    options.value("-o,--output", text, "FILE", "output");
    options.value("--number", number, "N", "a number");
    options.value("--timeout", seconds, "SECONDS", "time");
    options.bytes("--max", size, "BYTES", "bytes");
    options.values("--passes", many, "PASSES", "pipelines");
    options.choice("--device", choice, {"auto", "host"}, "device");
  }

  void parse(Words words) {
    std::vector<const char*> argv{"mneme-test"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    options.parse(static_cast<int>(argv.size()), argv.data());
  }

  std::string failure(Words words) {
    try {
      parse(std::move(words));
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::kBadInput);
      return error.what();
    }
    return "";
  }
};

TEST(Options, NameTheOneThatWasMeant) {
  auto failure = [](Words words) { return Tool().failure(std::move(words)); };
  EXPECT_EQ(failure({"--outptu", "x"}), "there is no option --outptu: is --output meant?; see mneme-test --help");
  EXPECT_EQ(failure({"--max", "1", "--kep=1"}), "there is no option --kep: is --keep meant?; see mneme-test --help");
  EXPECT_EQ(failure({"--bogus"}), "there is no option --bogus; see mneme-test --help");
  EXPECT_EQ(failure({"-x"}), "there is no option -x; see mneme-test --help");
  EXPECT_EQ(failure({"-k", "one"}), "'one' is one argument too many; see mneme-test --help");
  EXPECT_EQ(failure({"-o", "--bogus"}), "") << "a value";
}

TEST(Options, KeepDefaults) {
  Tool tool;
  tool.parse({});
  EXPECT_FALSE(tool.flag);
  EXPECT_FALSE(tool.options.verbose());
  EXPECT_EQ(tool.text, "default");
  EXPECT_EQ(tool.number, 7u);
  EXPECT_EQ(tool.choice, "auto");
  EXPECT_FALSE(tool.options.given("--number"));
}

TEST(Options, ReadEveryKind) {
  Tool tool;
  tool.parse({"-vk", "-o", "x", "--number", "12", "--max=64M", "--timeout", "0.5", "--passes", "a,b", "--passes", "[c]",
              "--device", "host"});
  EXPECT_TRUE(tool.flag);
  EXPECT_TRUE(tool.options.verbose());
  EXPECT_EQ(tool.text, "x");
  EXPECT_EQ(tool.number, 12u);
  EXPECT_EQ(tool.size, uint64_t{64} << 20);
  EXPECT_EQ(tool.seconds, 0.5);
  EXPECT_EQ(tool.many, (Words{"a,b", "[c]"}));
  EXPECT_EQ(tool.choice, "host");
  EXPECT_TRUE(tool.options.given("--number"));
  EXPECT_EQ(tool.options.arguments().size(), 14u);
}

TEST(Options, TakeNoOtherWordForAValue) {
  EXPECT_EQ(Tool().failure({"--output=", "--keep"}), "--output= has no value after '='; see mneme-test --help");
  EXPECT_EQ(Tool().failure({"--passes=", "x"}), "--passes= has no value after '='; see mneme-test --help");
  EXPECT_EQ(Tool().failure({"-k", "-o"}), "-o has no value; see mneme-test --help");
  EXPECT_EQ(Tool().failure({"--passes"}), "--passes has no value; see mneme-test --help");
  Tool tool;
  tool.parse({"--passes", "--output=", "-k"});
  EXPECT_EQ(tool.many, (Words{"--output="})) << "is a value itself";
  EXPECT_TRUE(tool.flag);
}

TEST(Options, TakeNoEmptyValues) {
  EXPECT_EQ(Tool().failure({"-o", ""}), "the value of --output is empty; see mneme-test --help");
  EXPECT_EQ(Tool().failure({"-ko", ""}), "the value of --output is empty; see mneme-test --help");
  EXPECT_EQ(Tool().failure({"--passes", "a", "--passes", ""}), "the value of --passes is empty; see mneme-test --help");
  EXPECT_EQ(Tool().failure({"--number", ""}), "--number: '' is not a whole number of 0 or more");
  Tool tool;
  tool.options.file(tool.file, "FILE", "input");
  EXPECT_EQ(tool.failure({""}), "the value of FILE is empty; see mneme-test --help");
}

TEST(Options, TellWhichAreGiven) {
  Tool tool;
  tool.options.flag("-O", tool.flag, "short only");
  tool.options.file(tool.file, "FILE", "input");
  ::setenv("MNEME_MAX", "3", 1);
  tool.parse({"-O", "--device", "host", "-k", "input"});
  ::unsetenv("MNEME_MAX");
  EXPECT_EQ(tool.options.all_given(), (Words{"--keep", "--max", "--device", "-O"}));
  Tool without;
  without.parse({});
  EXPECT_EQ(without.options.all_given(), Words{});
}

TEST(Options, TakeTheLast) {
  Tool tool;
  tool.parse({"--number", "1", "--number", "2"});
  EXPECT_EQ(tool.number, 2u);
}

TEST(Options, RefuseBadValues) {
  for (const Words& words : std::vector<Words>{{"--number", "x"},
                                               {"--number", "-1"},
                                               {"--number", "1x"},
                                               {"--number", "18446744073709551616"},
                                               {"--number"},
                                               {"--max", "1Q"},
                                               {"--max", "64MM"},
                                               {"--max", "99999999999T"},
                                               {"--timeout", "nan"},
                                               {"--timeout", "-1"},
                                               {"--timeout", "inf"},
                                               {"--device", "abacus"},
                                               {"--bogus"},
                                               {"stray"}}) {
    Tool tool;
    EXPECT_NE(tool.failure(words), "") << words[0] << " " << words.back();
  }
}

TEST(Options, NameWhatIsWrong) {
  Tool tool;
  std::string message = tool.failure({"--device", "abacus"});
  EXPECT_NE(message.find("--device"), std::string::npos) << message;
  EXPECT_NE(message.find("abacus"), std::string::npos) << message;
  Tool other;
  EXPECT_NE(other.failure({"--bogus"}).find("--bogus"), std::string::npos);
}

// Sets variables for as long as it lives.
class Environment {
 public:
  explicit Environment(std::map<std::string, std::string> variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : variables_) ::unsetenv(name.c_str());
  }

 private:
  std::map<std::string, std::string> variables_;
};

TEST(Options, AreMirroredByTheEnvironment) {
  Environment environment({{"MNEME_KEEP", "1"},
                           {"MNEME_OUTPUT", "x"},
                           {"MNEME_NUMBER", "12"},
                           {"MNEME_TIMEOUT", "0.5"},
                           {"MNEME_MAX", "64M"},
                           {"MNEME_PASSES", "a,b"},
                           {"MNEME_DEVICE", "host"},
                           {"MNEME_VERBOSE", "yes"},
                           {"MNEME_VERSION", "1"},
                           {"MNEME_HELP", "1"}});
  Tool tool;
  tool.parse({"--max", "1M", "--number", "3"});
  EXPECT_TRUE(tool.flag);
  EXPECT_TRUE(tool.options.verbose());
  EXPECT_EQ(tool.text, "x");
  EXPECT_EQ(tool.seconds, 0.5);
  EXPECT_EQ(tool.many, Words{"a,b"});
  EXPECT_EQ(tool.choice, "host");
  EXPECT_TRUE(tool.options.given("--passes"));
  // The command line wins.
  EXPECT_EQ(tool.size, uint64_t{1} << 20);
  EXPECT_EQ(tool.number, 3u);
  EXPECT_EQ(tool.options.arguments(), (Words{"--keep=1", "--output=x", "--timeout=0.5", "--passes=a,b", "--device=host",
                                             "--verbose=yes", "--max", "1M", "--number", "3"}));

  Tool several;
  several.parse({"--passes", "c", "--passes", "d"});
  EXPECT_EQ(several.many, (Words{"c", "d"}));
}

TEST(Options, TakeEmptyVariablesAndThoseThatSayNoForUnset) {
  Environment environment({{"MNEME_KEEP", "0"}, {"MNEME_OUTPUT", ""}, {"MNEME_K", "1"}});
  Tool tool;
  tool.parse({});
  EXPECT_FALSE(tool.flag);
  EXPECT_EQ(tool.text, "default");
  EXPECT_FALSE(tool.options.given("--output"));
}

TEST(Options, LeaveTheEnvironmentsBesideACommandAlone) {
  Environment environment({{"MNEME_OUTPUT", "x"}});
  Tool tool;
  tool.options.command(tool.command, "APP ARGS...", "application");
  tool.parse({"app", "-o", "y"});
  EXPECT_EQ(tool.text, "x");
  EXPECT_EQ(tool.command, (Words{"app", "-o", "y"}));
}

TEST(Options, NameTheVariableThatIsWrong) {
  for (auto [name, value] : {std::pair{"MNEME_NUMBER", "x"},
                             {"MNEME_DEVICE", "abacus"},
                             {"MNEME_KEEP", "maybe"},
                             {"MNEME_MAX", "1Q"},
                             {"MNEME_TIMEOUT", "-1"}}) {
    Environment environment({{name, value}});
    Tool tool;
    std::string message = tool.failure({});
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find(value), std::string::npos) << message;
  }
}

TEST(Options, TakeFiles) {
  Tool tool;
  tool.options.file(tool.file, "FILE", "input");
  tool.parse({"--passes", "a", "in.tar", "-k"});
  EXPECT_EQ(tool.file, "in.tar");
  EXPECT_EQ(tool.many, Words{"a"});
  EXPECT_TRUE(tool.flag);

  Tool several;
  several.options.files(several.files, "FILE", "inputs");
  several.parse({"a", "-k", "b", "c"});
  EXPECT_EQ(several.files, (Words{"a", "b", "c"}));
}

TEST(Options, LeaveACommandUntouched) {
  struct Case {
    Words words, command;
  };
  for (const Case& c : std::vector<Case>{
           {{"app"}, {"app"}},
           {{"-k", "app", "-k", "--help", "--", "-o"}, {"app", "-k", "--help", "--", "-o"}},
           {{"-o", "out", "app", "--number", "x"}, {"app", "--number", "x"}},
           {{"-ko", "out", "app"}, {"app"}},
           {{"-oout", "app"}, {"app"}},
           {{"--output=out", "app", "--bogus"}, {"app", "--bogus"}},
           {{"--output", "out", "--", "app", "--", "x"}, {"app", "--", "x"}},
           {{"--", "--app"}, {"--app"}},
           {{"-k"}, {}},
       }) {
    Tool tool;
    tool.options.command(tool.command, "APP ARGS...", "application");
    tool.parse(c.words);
    EXPECT_EQ(tool.command, c.command) << fmt::format("{}", fmt::join(c.words, " "));
  }
}

TEST(Options, RefuseAnUnknownOptionBeforeACommand) {
  Tool tool;
  tool.options.command(tool.command, "APP ARGS...", "application");
  EXPECT_NE(tool.failure({"--bogus", "app"}), "");
}

TEST(ParseBytes, KnowsUnits) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("3K"), 3072u);
  EXPECT_EQ(parse_bytes("2T"), uint64_t{2} << 40);
  EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "K", "-1", "1 K", "1k", "16777216T", "0x10"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(Help, IsReadable) {
  HelpText help{"mneme-x",
                "does a thing that takes rather many words to say, more of them than fit on one line of a terminal",
                "[FILE]",
                {{"FILE", "", "the input"}},
                {{"-o,--output", "FILE", "write to FILE"},
                 {"--a-very-long-option", "PLACEHOLDER", "explained on the next line"}}};
  std::string text = format_help(help);
  EXPECT_NE(text.find("Usage: mneme-x [OPTIONS] [FILE]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  -o, --output FILE         write to FILE\n"), std::string::npos) << text;
  EXPECT_NE(text.find("PLACEHOLDER\n                            explained"), std::string::npos) << text;
  size_t column = 0;
  for (char c : text) {
    column = c == '\n' ? 0 : column + 1;
    EXPECT_LE(column, 80u);
  }
}

TEST(Help, HasGroups) {
  const HelpText help{
      "x", "Does it.", "", {}, {{"-a", "", "1", "One"}, {"-b", "", "2", "Two"}, {"-c", "", "3", "One"}}};
  EXPECT_TRUE(format_help(help).starts_with(
      "Usage: x [OPTIONS]\n\nDoes it.\n\nOne:\n  -a                        1\n  -c                        3\n\nTwo:\n"
      "  -b                        2\n"))
      << format_help(help);
}

}  // namespace
}  // namespace mneme::cli
