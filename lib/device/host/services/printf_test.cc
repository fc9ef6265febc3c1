// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/printf.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdio>

namespace mneme::device::host {
namespace {

PrintPart part(const char* text) {
  return text ? PrintPart{PrintPart::kText, 0, text} : PrintPart{PrintPart::kNullText, 0, {}};
}
PrintPart part(double value) { return {PrintPart::kWord, std::bit_cast<uint64_t>(value), {}}; }
template <std::integral T>
PrintPart part(T value) {
  // As clang sends it: whatever is above an int's 32 bits is not its own.
  return {PrintPart::kWord, static_cast<uint64_t>(static_cast<int64_t>(value)), {}};
}

template <typename... T>
std::string print(const char* format, T... arguments) {
  std::vector<PrintPart> parts = {part(format), part(arguments)...};
  touch_strings(parts);
  return formatted(parts);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
template <typename... T>
std::string by_libc(const char* format, T... arguments) {
  char text[1000];
  int size = std::snprintf(text, sizeof text, format, arguments...);
  return std::string(text, static_cast<size_t>(size));
}
#pragma GCC diagnostic pop

template <typename... T>
void same(const char* format, T... arguments) {
  EXPECT_EQ(print(format, arguments...), by_libc(format, arguments...)) << format;
}

TEST(Printf, Integers) {
  for (int value : {0, 1, -1, 42, -2147483647 - 1, 2147483647}) {
    for (const char* format : {"%d", "%i", "%5d|", "%-8d|", "%08d", "%+d", "% d", "%.4d", "%10.4d", "%hhd", "%hd",
                               "%u", "%o", "%#o",  "%x",    "%#x",  "%X",  "%hx", "%hhu", "%#010x", "%.0d"}) {
      same(format, value);
    }
  }
  for (long long value : {0LL, -1LL, 1LL << 40, -(1LL << 62)}) {
    for (const char* format : {"%lld", "%ld", "%llx", "%lu", "%zd", "%zu", "%jd", "%td", "%20lld|", "%-20llu|"}) {
      same(format, value);
    }
  }
  EXPECT_EQ(print("%d", 0xffffffff00000007), "7");
}

TEST(Printf, FloatingPoint) {
  for (double value : {0.0, -0.0, 1.5, -3.25e-7, 1e300, 123456.789, 1.0 / 0.0, -1.0 / 0.0}) {
    for (const char* format : {"%f", "%F", "%e", "%E", "%g", "%G", "%a", "%A", "%.2f", "%10.3f|", "%-12.4e|", "%+g",
                               "%#g", "%.0f", "%lf", "%012.3f", "% .1e"}) {
      same(format, value);
    }
  }
}

TEST(Printf, TextCharactersAndPointers) {
  same("%s and %s", "one", "two");
  same("%10s|%-10s|%.2s|%5.1s|", "abc", "abc", "abc", "abc");
  same("%c%c%5c|%-5c|", 'a', 'b', 'c', 'd');
  EXPECT_EQ(print("%c", 0), std::string(1, '\0'));
  EXPECT_EQ(print("[%3c]", 0), std::string("[  \0]", 5));
  EXPECT_EQ(print("%p", 0x7f00deadbeef), "0x7f00deadbeef");
  EXPECT_EQ(print("%p", 0), "(nil)");
  EXPECT_EQ(print("%s", static_cast<const char*>(nullptr)), "(null)");
  same("100%% of %d%%", 7);
}

TEST(Printf, WidthsThatAreArguments) {
  same("%*d|%-*d|", 6, 42, 6, 42);
  same("%*d|", -6, 42);
  same("%*d|", -1, 42);
  same("%.*f|%*.*f|", 3, 3.14159, 9, 2, 3.14159);
  same("%.*f|", -1, 3.14159);
  same("%.*s|", 2, "abcdef");
}

TEST(Printf, WrongArgumentsAreHarmless) {
  EXPECT_EQ(print("%d %s %f|"), "0  0.000000|");
  EXPECT_EQ(print("%d", 1, 2, 3), "1");
  EXPECT_EQ(print("%d", "text"), "0");
  EXPECT_EQ(print("%n%d", 5, 6), "6");
  EXPECT_EQ(print("%y %"), "%y %");
  EXPECT_EQ(print("%5"), "%5");
  EXPECT_EQ(print("%999999999d", 1).size(), 65536u);
  EXPECT_EQ(formatted({}), "");
}

// All but the last as a GPU answered.
TEST(Printf, CudasCountsArguments) {
  for (auto [format, count] : {std::pair{"plain\n", 0u},
                               {"", 0u},
                               {"%d %i %u\n", 3u},
                               {"f percent %% %d%%\n", 1u},
                               {"%+d % d %05d %-5d| %#x %#o %5d|\n", 7u},
                               {"%f %e %g %.2f %10.3f| %-10.1e| %G %a\n", 8u},
                               {"%10s| %-6s| %.2s\n", 3u},
                               {"%hhd %hd %ld %lld\n", 3u},
                               {"%llu %zu\n", 1u},
                               {"%*d %-*d| %.*f\n", 4u},
                               {"%y % %", 0u}}) {
    EXPECT_EQ(count_of_arguments(format), count) << format;
  }
}

TEST(Printf, StringsLeftAsPointers) {
  const char* text = "far";
  EXPECT_EQ(print("%s %.2s %d", reinterpret_cast<uint64_t>(text), reinterpret_cast<uint64_t>(text), 3), "far fa 3");
  EXPECT_EQ(print("%s", 0), "(null)");
}

}  // namespace
}  // namespace mneme::device::host
