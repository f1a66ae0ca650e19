#include "runtime/recording/launch_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <istream>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "runtime/recording/hexadecimal.h"

namespace ptx2cpu::rt::recording {

namespace {

constexpr std::string_view kMagic = "ptx2cpu recording 1";
constexpr char kDigits[] = "0123456789abcdef";

// On one line.
std::string Encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || c == '%')
      out += {'%', kDigits[u / 16], kDigits[u % 16]};
    else
      out += c;
  }
  return out;
}

std::string Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Numbers; runs of one number as NxCOUNT.
void AppendNumbers(std::string& out, const std::vector<uint32_t>& numbers) {
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[i]) ++end;
    out += fmt::format(" {}", numbers[i]);
    if (end - i > 1) out += fmt::format("x{}", end - i);
    i = end;
  }
}

bool ReadNumbers(std::istream& in, size_t most, std::vector<uint32_t>& numbers) {
  for (std::string word; in >> word;) {
    char* end = nullptr;
    const auto number = static_cast<uint32_t>(std::strtoul(word.c_str(), &end, 10));
    const size_t count = *end == 'x' ? std::strtoul(end + 1, &end, 10) : 1;
    if (*end != '\0' || count > most - numbers.size()) return false;
    numbers.insert(numbers.end(), count, number);
  }
  return true;
}

std::string Rest(std::istream& in) {
  std::string text;
  std::getline(in >> std::ws, text);
  return Decoded(text);
}

bool ReadExtent(std::istream& in, Dim3& extent) { return !!(in >> extent.x >> extent.y >> extent.z); }

std::string Written(const Dim3& extent) { return fmt::format("{} {} {}", extent.x, extent.y, extent.z); }

bool ReadParameters(std::istream& in, std::vector<std::byte>& bytes) {
  std::string text;
  in >> text;
  if (text.size() % 2 != 0) return false;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]), low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return true;
}

// What each line of a launch sets; false: the line is damaged.
using ReadLine = std::function<bool(std::istream& in, LaunchRecord& launch)>;

bool ReadArea(std::istream& in, LaunchRecord& launch) {
  Area& area = launch.areas.emplace_back();
  if (!(in >> std::hex >> area.address >> std::dec >> area.bytes >> area.order)) return false;
  area.what = Rest(in);
  return area.bytes != 0 && area.address + area.bytes > area.address;
}

bool ReadBlocks(std::istream& in, LaunchRecord& launch, std::vector<uint32_t> Area::* numbers) {
  return !launch.areas.empty() && ReadNumbers(in, launch.areas.back().bytes, launch.areas.back().*numbers);
}

const std::map<std::string_view, ReadLine> kLines = {
    {"kernel", [](auto& in, auto& l) { return !(l.kernel = Rest(in)).empty(); }},
    {"module", [](auto& in, auto& l) { return !!(in >> l.module); }},
    {"grid", [](auto& in, auto& l) { return ReadExtent(in, l.shape.grid); }},
    {"block", [](auto& in, auto& l) { return ReadExtent(in, l.shape.block); }},
    {"cluster", [](auto& in, auto& l) { return ReadExtent(in, l.shape.cluster); }},
    {"shared", [](auto& in, auto& l) { return !!(in >> l.shape.dynamic_shared_bytes); }},
    {"cooperative", [](auto& in, auto& l) { return !!(in >> l.cooperative); }},
    {"parameters", [](auto& in, auto& l) { return ReadParameters(in, l.parameters); }},
    {"place",
     [](auto& in, auto& l) {
       NamedPlace& place = l.places.emplace_back();
       if (!(in >> std::hex >> place.address)) return false;
       place.name = Rest(in);
       return !place.name.empty();
     }},
    {"area", ReadArea},
    {"before", [](auto& in, auto& l) { return ReadBlocks(in, l, &Area::before); }},
    {"after", [](auto& in, auto& l) { return ReadBlocks(in, l, &Area::after); }},
    {"heap", [](auto& in, auto& l) { return !!(in >> l.heap_bytes); }},
    {"not_repeatable", [](auto& in, auto& l) { return !(l.not_repeatable = Rest(in)).empty(); }},
    {"error", [](auto& in, auto& l) { return !(l.error = Rest(in)).empty(); }},
};

}  // namespace

std::string FirstLines(const std::string& program) {
  return std::string(kMagic) + "\nprogram " + Encoded(program) + "\n";
}

std::string Lines(const ModuleRecord& module) {
  std::string out = fmt::format("source {} {:d}\n", module.number, module.contract);
  for (const std::string& name : module.names) out += "text " + Encoded(name) + '\n';
  return out;
}

// Through fmt, not through streams, which write numbers as the program's locale has them.
std::string Lines(const LaunchRecord& launch) {
  const LaunchShape& shape = launch.shape;
  std::string out = fmt::format(
      "launch {}\nkernel {}\nmodule {}\ngrid {}\nblock {}\ncluster {}\nshared {}\ncooperative "
      "{:d}\nparameters ",
      launch.number, Encoded(launch.kernel), launch.module, Written(shape.grid), Written(shape.block),
      Written(shape.cluster), shape.dynamic_shared_bytes, launch.cooperative);
  for (const std::byte byte : launch.parameters)
    out += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  out += '\n';
  for (const NamedPlace& place : launch.places)
    out += fmt::format("place {:x} {}\n", place.address, Encoded(place.name));
  for (const Area& area : launch.areas) {
    out +=
        fmt::format("area {:x} {} {} {}\nbefore", area.address, area.bytes, area.order, Encoded(area.what));
    AppendNumbers(out, area.before);
    out += "\nafter";
    AppendNumbers(out, area.after);
    out += '\n';
  }
  if (launch.heap_bytes != 0) out += fmt::format("heap {}\n", launch.heap_bytes);
  if (!launch.not_repeatable.empty())
    out += fmt::format("not_repeatable {}\n", Encoded(launch.not_repeatable));
  if (!launch.error.empty()) out += fmt::format("error {}\n", Encoded(launch.error));
  out += "end\n";
  return out;
}

Result<Records> ReadRecords(std::istream& in) {
  Records records;
  std::string line;
  size_t number = 1;
  const auto damaged = [&] {
    return Fail(Error{ErrorCode::kContainer,
                      "recording.txt is damaged",
                      {"recording.txt", static_cast<uint32_t>(number), 0},
                      line});
  };
  if (!std::getline(in, line) || line != kMagic)
    return Fail(ErrorCode::kContainer,
                "recording.txt is none of this version: it begins with '" + line + "'");
  std::optional<LaunchRecord> launch;
  while (++number, std::getline(in, line)) {
    if (in.eof()) break;  // without an end: the process died while it wrote it
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "program") {
      records.program = Rest(words);
    } else if (word == "source") {
      ModuleRecord& module = records.modules.emplace_back();
      if (!(words >> module.number >> module.contract) || module.number + 1 != records.modules.size())
        return damaged();
    } else if (word == "text" && !records.modules.empty()) {
      records.modules.back().names.push_back(Rest(words));
    } else if (word == "launch") {
      launch.emplace();
      if (!(words >> launch->number)) return damaged();
    } else if (word == "end" && launch) {
      const auto has_blocks = [](const Area& area) { return !area.before.empty() && !area.after.empty(); };
      if (launch->module >= records.modules.size() || !std::ranges::all_of(launch->areas, has_blocks))
        return damaged();
      records.launches.push_back(*std::exchange(launch, std::nullopt));
    } else {
      const auto known = kLines.find(word);
      if (!launch || known == kLines.end() || !known->second(words, *launch)) return damaged();
    }
  }
  return records;
}

}  // namespace ptx2cpu::rt::recording
