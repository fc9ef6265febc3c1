// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "device/host/checks/places.h"
#include "device/host/services/services.h"

namespace mneme::device::host {
namespace {

constexpr int kDigits = 9;  // that tell floats apart

std::string expression(std::string_view operation, std::span<const double> operands) {
  std::vector<std::string> texts;
  for (double operand : operands) texts.push_back(fmt::format("{:.{}g}", operand, kDigits));
  if (operation.size() == 1 && texts.size() == 2) return fmt::format("{} {} {}", texts[0], operation, texts[1]);
  return fmt::format("{}({})", operation, fmt::join(texts, ", "));
}

}  // namespace

void note_number(Findings& findings, const codegen::host::BlockContext& context, uint32_t thread, const char* operation,
                 double result, std::span<const double> operands, const codegen::host::Site& site) {
  if (!std::ranges::all_of(operands, [](double operand) { return std::isfinite(operand); })) return;
  const bool is_nan = std::isnan(result);
  findings.note({"nan", is_nan ? "nan" : "infinity", &site}, [&](bundle::Finding& finding) {
    finding.line = site.place;
    finding.sentence =
        fmt::format("kernel '{}', {}: {} is {}{}", static_cast<const ServiceState*>(context.launch)->kernel,
                    text_of(context, {number_of_block(context), thread}), expression(operation, operands),
                    is_nan ? "a NaN" : "infinite", *site.place ? "," : "") +
        at(site);
  });
}

}  // namespace mneme::device::host
