// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "cli/help.h"

namespace mneme::cli {
namespace {

// The environment's name for "--max-diff": MNEME_MAX_DIFF.
std::string variable_of(const std::string& long_name) {
  std::string variable = "MNEME_" + long_name;
  for (char& c : variable) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

// Whether a variable that stands for a flag sets it.
bool parse_flag(const std::string& text) {
  if (text == "1" || text == "true" || text == "yes" || text == "on") return true;
  if (text == "0" || text == "false" || text == "no" || text == "off") return false;
  throw Error::of("'{}' is neither 1 nor 0", text);
}

std::string name_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames().front();
  return option.get_positional() ? option.get_name(true) : "-" + option.get_snames().at(0);
}

// How many letters have to be changed, added or dropped to make one word of the other.
size_t distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); i++) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); j++) {
      const size_t changed = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

struct Options::Implementation {
  // An option that a variable of the environment can stand for.
  struct Mirrored {
    CLI::Option* option;
    std::function<void(const std::string&)> take;
  };

  std::string tool;
  CLI::App app;
  HelpText help;
  std::string group = "Options";
  std::set<std::string> with_value;  // "-o", "--output": options that are followed by a value
  std::vector<std::string>* command = nullptr;
  std::vector<std::string> arguments;
  std::vector<Mirrored> mirrored;
  std::set<const CLI::Option*> from_environment;
  bool verbose = false;

  explicit Implementation(std::string name, const std::string& summary)
      : tool(name), app(summary, name), help{name, summary, "", {}, {}} {}

  CLI::Option* add(const std::string& names, const std::string& value, const std::string& text,
                   std::function<void(const std::string&)> take) {
    CLI::Option* option = app.add_option_function<std::string>(names, take, text);
    finish(option, names, value, text, std::move(take));
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  // `take` reads the variable of the environment that may stand for the option.
  void finish(CLI::Option* option, const std::string& names, const std::string& value, const std::string& text,
              std::function<void(const std::string&)> take) {
    help.options.push_back({names, value, text, group});
    if (take && !option->get_lnames().empty()) mirrored.push_back({option, std::move(take)});
    if (value.empty()) return;
    for (const std::string& name : option->get_lnames()) with_value.insert("--" + name);
    for (const std::string& name : option->get_snames()) with_value.insert("-" + name);
  }

  // How many leading arguments are this tool's own; the rest, less a "--", is the command.
  size_t own_arguments() const {
    size_t i = 0;
    for (; i < arguments.size(); i++) {
      const std::string& word = arguments[i];
      if (word == "--" || word.size() < 2 || word[0] != '-') break;
      if (word[1] == '-') {
        if (with_value.count(word)) i++;
        continue;
      }
      for (size_t c = 1; c < word.size(); c++) {
        if (!with_value.count(std::string("-") + word[c])) continue;
        if (c + 1 == word.size()) i++;
        break;
      }
    }
    return std::min(i, arguments.size());
  }

  // CLI11 would take the next word for the value.
  void check_values(const std::vector<std::string>& own) const {
    for (size_t i = 0; i < own.size() && own[i] != "--"; i++) {
      if (with_value.count(own[i])) {
        if (++i == own.size()) throw Error::of("{} has no value; see {} --help", own.back(), tool);
      } else if (own[i].ends_with('=') && with_value.count(own[i].substr(0, own[i].size() - 1))) {
        throw Error::of("{} has no value after '='; see {} --help", own[i], tool);
      }
    }
  }

  // CLI11 names every word that is left over, in an order of its own.
  void check_known(const std::vector<std::string>& own) const {
    for (size_t i = 0; i < own.size() && own[i] != "--"; i++) {
      const bool is_long = own[i].starts_with("--");
      if (!is_long && (own[i].size() < 2 || own[i][0] != '-')) continue;
      const std::string name = is_long ? own[i].substr(0, own[i].find('=')) : own[i].substr(0, 2);
      if (!app.get_option_no_throw(name)) {
        throw Error::of("there is no option {}{}; see {} --help", name, nearest(name), tool);
      }
      i += with_value.contains(own[i]);
    }
  }

  // The option that may have been meant, if one is much like it.
  std::string nearest(const std::string& name) const {
    constexpr size_t kMostLetters = 2;
    std::pair<size_t, std::string> best{kMostLetters + 1, ""};
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& other : option->get_lnames()) {
        best = std::min(best, {distance(name, "--" + other), ": is --" + other + " meant?"});
      }
    }
    return best.second;
  }

  // Most often a variable of a script's that is not set: what was meant is not what comes of no option at all.
  void check_filled() const {
    for (const CLI::Option* option : app.get_options()) {
      if (std::ranges::find(option->results(), "") == option->results().end()) continue;
      throw Error::of("the value of {} is empty; see {} --help", name_of(*option), tool);
    }
  }

  // Options that the command line did not give. They join the arguments: what a tool did follows from those alone.
  void read_environment() {
    std::vector<std::string> taken;
    for (const Mirrored& setting : mirrored) {
      const std::string& name = setting.option->get_lnames().front();
      std::string variable = variable_of(name);
      const char* text = std::getenv(variable.c_str());
      if (!text || !*text || setting.option->count() > 0) continue;
      try {
        setting.take(text);
      } catch (const Error& error) {
        throw Error::of("the environment's {}: {}", variable, error.what());
      }
      from_environment.insert(setting.option);
      taken.push_back(fmt::format("--{}={}", name, text));
    }
    arguments.insert(arguments.begin(), taken.begin(), taken.end());
  }
};

Options::Options(std::string tool, std::string summary)
    : implementation_(std::make_unique<Implementation>(std::move(tool), summary)) {
  implementation_->app.set_help_flag();  // --help is an option like the others
}

Options::~Options() = default;

void Options::group(const std::string& heading) { implementation_->group = heading; }

void Options::flag(const std::string& names, bool& target, const std::string& help) {
  CLI::Option* option = implementation_->app.add_flag(names, target, help);
  implementation_->finish(option, names, "", help, [&target](const std::string& text) { target = parse_flag(text); });
}

void Options::value(const std::string& names, std::string& target, const std::string& value, const std::string& help) {
  implementation_->add(names, value, help, [&target](const std::string& text) { target = text; });
}

void Options::value(const std::string& names, uint64_t& target, const std::string& value, const std::string& help) {
  implementation_->add(names, value, help, [&target, names](const std::string& text) {
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, target);
    if (error != std::errc() || stop != end)
      throw Error::of("{}: '{}' is not a whole number of 0 or more", names, text);
  });
}

void Options::value(const std::string& names, double& target, const std::string& value, const std::string& help) {
  implementation_->add(names, value, help, [&target, names](const std::string& text) {
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, target);
    if (error != std::errc() || stop != end || !(target >= 0) || std::isinf(target)) {
      throw Error::of("{}: '{}' is not a number of 0 or more", names, text);
    }
  });
}

void Options::bytes(const std::string& names, uint64_t& target, const std::string& value, const std::string& help) {
  implementation_->add(names, value, help, [&target, names](const std::string& text) {
    std::optional<uint64_t> size = parse_bytes(text);
    if (!size) throw Error::of("{}: '{}' is not a number of bytes such as 4096 or 64M", names, text);
    target = *size;
  });
}

void Options::values(const std::string& names, std::vector<std::string>& target, const std::string& value,
                     const std::string& help) {
  CLI::Option* option = implementation_->app.add_option(names, target, help);
  option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  implementation_->finish(option, names, value, help, [&target](const std::string& text) { target = {text}; });
}

void Options::choice(const std::string& names, std::string& target, const std::vector<std::string>& choices,
                     const std::string& help) {
  std::string listed = fmt::format("{}", fmt::join(choices, "|"));
  implementation_->add(names, listed, help, [&target, names, choices](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      throw Error::of("{}: '{}' is none of {}", names, text, fmt::join(choices, ", "));
    }
    target = text;
  });
}

void Options::file(std::string& target, const std::string& value, const std::string& help) {
  implementation_->app.add_option(value, target, help);
  implementation_->help.usage = "[" + value + "]";
  implementation_->help.positionals.push_back({value, "", help});
}

void Options::files(std::vector<std::string>& target, const std::string& value, const std::string& help) {
  implementation_->app.add_option(value, target, help);
  implementation_->help.usage = "[" + value + "...]";
  implementation_->help.positionals.push_back({value, "", help});
}

void Options::command(std::vector<std::string>& target, const std::string& value, const std::string& help) {
  implementation_->command = &target;
  implementation_->help.usage = value;
  implementation_->help.positionals.push_back({value, "", help});
}

void Options::parse(int argc, const char* const* argv) {
  Implementation& self = *implementation_;
  bool help = false, version = false;
  group("Output");
  flag("-v,--verbose", self.verbose, "say more about what is done");
  for (auto [names, target, text] :
       {std::tuple{"-h,--help", &help, "print this help"}, std::tuple{"--version", &version, "print the version"}}) {
    self.finish(self.app.add_flag(names, *target, text), names, "", text, nullptr);
  }

  if (argc > 1) self.arguments.assign(argv + 1, argv + argc);
  std::vector<std::string> own = self.arguments;
  if (self.command) {
    auto rest = own.begin() + static_cast<ptrdiff_t>(self.own_arguments());
    self.command->assign(rest != own.end() && *rest == "--" ? rest + 1 : rest, own.end());
    own.erase(rest, own.end());
  }
  self.check_values(own);
  self.check_known(own);
  std::reverse(own.begin(), own.end());  // as CLI11 wants them
  try {
    self.app.parse(std::move(own));
  } catch (const CLI::ExtrasError&) {
    const std::string word = self.app.remaining().front();
    throw Error::of("'{}' is one argument too many; see {} --help", word, self.tool);
  } catch (const CLI::ParseError& error) {
    throw Error::of("{}; see {} --help", error.what(), self.tool);
  }
  if (!help && !version) {
    self.check_filled();
    self.read_environment();
    return say_whole_names(self.verbose);
  }
  std::string text = help ? format_help(self.help) : fmt::format("{} {}\n", self.tool, version_text());
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw system_error("cannot write standard output");
  }
  std::exit(0);
}

bool Options::given(const std::string& name) const {
  const CLI::Option* option = implementation_->app.get_option_no_throw(name);
  return option && (option->count() > 0 || implementation_->from_environment.contains(option));
}

bool Options::on_command_line(const std::string& name) const {
  const CLI::Option* option = implementation_->app.get_option_no_throw(name);
  return option && option->count() > 0;
}

std::vector<std::string> Options::all_given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : implementation_->app.get_options()) {
    if (option->get_positional() || (option->count() == 0 && !implementation_->from_environment.contains(option)))
      continue;
    names.push_back(name_of(*option));
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> Options::in_order(const std::vector<std::string>& names) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& name : names) {
    const CLI::Option* option = implementation_->app.get_option(name);
    if (!implementation_->from_environment.contains(option)) continue;
    out.emplace_back(name, std::getenv(variable_of(option->get_lnames().front()).c_str()));
  }
  std::map<const CLI::Option*, size_t> taken;
  for (const CLI::Option* option : implementation_->app.parse_order()) {
    std::string name = "--" + (option->get_lnames().empty() ? "" : option->get_lnames().front());
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    out.emplace_back(name, option->results().at(taken[option]++));
  }
  return out;
}

bool Options::verbose() const { return implementation_->verbose; }

const std::vector<std::string>& Options::arguments() const { return implementation_->arguments; }

std::optional<uint64_t> parse_bytes(const std::string& text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  std::string_view suffix(stop, static_cast<size_t>(end - stop));
  int shift = 0;
  if (!suffix.empty()) {
    size_t unit = std::string_view("KMGT").find(suffix);
    if (suffix.size() != 1 || unit == std::string_view::npos) return std::nullopt;
    shift = 10 * (static_cast<int>(unit) + 1);
  }
  if (number > (UINT64_MAX >> shift)) return std::nullopt;
  return number << shift;
}

}  // namespace mneme::cli
