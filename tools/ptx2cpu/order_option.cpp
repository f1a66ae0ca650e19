#include "tools/ptx2cpu/order_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "runtime/recording/difference.h"

namespace ptx2cpu::tool {

namespace {

using Contents = std::vector<std::vector<std::byte>>;

Contents Copy(const std::vector<OrderedMemory>& memory) {
  Contents contents;
  for (const OrderedMemory& each : memory) contents.emplace_back(each.bytes.begin(), each.bytes.end());
  return contents;
}

// What is the same is not written: it may be memory that cannot be.
void PutBack(const Contents& contents, const std::vector<OrderedMemory>& memory) {
  for (size_t i = 0; i < memory.size(); ++i) {
    const std::span<std::byte> to = memory[i].bytes;
    if (!to.empty() && std::memcmp(to.data(), contents[i].data(), to.size()) != 0)
      std::memcpy(to.data(), contents[i].data(), to.size());
  }
}

std::string Differences(const Contents& expected, const std::vector<OrderedMemory>& memory) {
  std::string text;
  for (size_t i = 0; i < memory.size(); ++i) {
    const auto difference = rt::recording::Compare(expected[i], memory[i].bytes);
    if (!difference) continue;
    text += fmt::format("  {}:\n{}", memory[i].describe(difference->offset),
                        rt::recording::DescribeElement(expected[i], memory[i].bytes, difference->offset));
    if (difference->words > 1)
      text += fmt::format("    and {} more words of this memory\n", difference->words - 1);
  }
  return text;
}

std::string EndOf(const std::optional<std::string>& error) { return error.value_or("ran to its end"); }

}  // namespace

Result<std::optional<Orders>> ReadOrders(const Arguments& arguments) {
  const auto order = arguments.Value("--order");
  if (!order) {
    if (arguments.Has("--orders")) return Fail(ErrorCode::kUsage, "--orders needs --order");
    return std::nullopt;
  }
  constexpr std::string_view kRandom = "random:";
  Orders orders;
  const char* const end = order->data() + order->size();
  const bool named = order->starts_with(kRandom) && order->size() > kRandom.size();
  const auto read = named ? std::from_chars(order->data() + kRandom.size(), end, orders.first_seed)
                          : std::from_chars_result{end, std::errc::invalid_argument};
  if (read.ec != std::errc{} || read.ptr != end)
    return Fail(ErrorCode::kUsage, "--order takes random:SEED with a number, not '" + *order + "'");
  orders.count = TRY(arguments.Number("--orders", 4, 1000000));
  if (orders.count == 0) return Fail(ErrorCode::kUsage, "--orders must be at least 1");
  for (const char* option : {"--interpret", "--bench", "--check", "--exec", "--collapse", "--width", "--gdb",
                             "--profile", "--print-environment"}) {
    if (arguments.Has(option))
      return Fail(ErrorCode::kUsage, fmt::format("--order and {} contradict each other", option));
  }
  return orders;
}

Result<std::string> CompareOrders(const Orders& orders, const std::vector<OrderedMemory>& memory,
                                  const RunInOrder& run) {
  const Contents before = Copy(memory);
  const std::optional<std::string> error = TRY(run(std::nullopt));
  const Contents after = Copy(memory);
  std::string text;
  for (uint64_t n = 0; n < orders.count && text.empty(); ++n) {
    PutBack(before, memory);
    const uint64_t seed = orders.first_seed + n;
    const std::optional<std::string> other = TRY(run(seed));
    if (error.has_value() != other.has_value())
      text = fmt::format("  in index order: {}\n  now: {}\n", EndOf(error), EndOf(other));
    else if (!error)
      text = Differences(after, memory);
    if (!text.empty()) text = fmt::format("depends on the order (random:{})\n{}", seed, text);
  }
  PutBack(after, memory);
  return text;
}

}  // namespace ptx2cpu::tool
