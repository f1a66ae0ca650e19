// A light scan for ".entry NAME": no parser, because a listing needs the kernels of hundreds of megabytes of
// PTX.
#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "ptx-parser/fatbin/fatbin.h"

namespace ptx2cpu::ptx {
namespace {

constexpr std::string_view kEntry = ".entry";

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%';
}

// Comments and the inside of strings as blanks, line ends kept. nvcc's embedded PTX has no comments, so only
// text in which one may contain an ".entry" is worth the pass.
std::string Blanked(std::string_view ptx) {
  std::string out(ptx);
  enum class In { kCode, kLine, kBlock, kString } in = In::kCode;
  for (size_t i = 0; i < out.size(); ++i) {
    const char c = ptx[i], next = i + 1 < ptx.size() ? ptx[i + 1] : '\0';
    if (in == In::kCode) {
      if (c == '/' && next == '/') in = In::kLine;
      if (c == '/' && next == '*') {
        in = In::kBlock;
        out[i++] = ' ';
        out[i] = ' ';
      }
      if (c == '"') in = In::kString;
    } else if (c == '\n') {
      if (in != In::kBlock) in = In::kCode;
    } else if (in == In::kString && c == '"') {
      in = In::kCode;
    } else if (in == In::kBlock && c == '*' && next == '/') {
      in = In::kCode;
      out[i++] = ' ';
      out[i] = ' ';
    } else {
      out[i] = ' ';
      continue;
    }
    if (in == In::kLine || in == In::kBlock) out[i] = ' ';
  }
  return out;
}

void CollectFrom(std::string_view ptx, std::vector<std::string>& names) {
  std::unordered_set<std::string> seen;
  size_t closing = 0;  // the first '{' or ';' after the last name: a body or the end of a prototype
  for (size_t at = ptx.find(kEntry); at != std::string_view::npos;
       at = ptx.find(kEntry, at + kEntry.size())) {
    if (at != 0 && (IsNameByte(ptx[at - 1]) || ptx[at - 1] == '.')) continue;
    std::string_view rest = ptx.substr(at + kEntry.size());
    const size_t begin = rest.find_first_not_of(" \t\r\n");
    if (begin == 0 || begin == std::string_view::npos) continue;
    rest.remove_prefix(begin);
    const size_t length = std::ranges::find_if_not(rest, IsNameByte) - rest.begin();
    if (length == 0) continue;
    const size_t end = rest.data() + length - ptx.data();
    if (closing < end) closing = ptx.find_first_of("{;", end);
    if (closing == std::string_view::npos) break;
    if (ptx[closing] != '{') continue;
    std::string name(rest.substr(0, length));
    if (seen.insert(name).second) names.push_back(std::move(name));
  }
}

// {"a", "b"} of "_ZN1a1bIfEvT_", {"scale"} of "_Z5scaleIdEvPT_S0_"; empty where the name is not mangled C++.
// Only the leading <length><name> parts are read: a hostile name can make a complete demangler use unbounded
// time.
std::vector<std::string_view> NameParts(std::string_view mangled) {
  std::vector<std::string_view> parts;
  if (!mangled.starts_with("_Z")) return parts;
  mangled.remove_prefix(2);
  const bool nested = mangled.starts_with('N');
  if (nested || mangled.starts_with('L')) mangled.remove_prefix(1);
  do {
    size_t length = 0;
    const auto [end, error] = std::from_chars(mangled.data(), mangled.data() + mangled.size(), length);
    if (error != std::errc()) break;
    mangled.remove_prefix(end - mangled.data());
    if (length > mangled.size()) break;
    parts.push_back(mangled.substr(0, length));
    mangled.remove_prefix(length);
  } while (nested);
  return parts;
}

// A user writes "scale" or "a::b" (without anonymous namespaces) for a mangled kernel.
bool IsPlainNameOf(std::string_view name, std::string_view mangled) {
  const auto parts = NameParts(mangled);
  if (parts.empty()) return false;
  std::string qualified;
  for (std::string_view part : parts) {
    if (part.starts_with("_GLOBAL__N_")) continue;
    if (!qualified.empty()) qualified += "::";
    qualified += part;
  }
  return name == parts.back() || name == qualified;
}

}  // namespace

std::vector<std::string> EntryNames(std::string_view ptx) {
  std::vector<std::string> names;
  if (ptx.find("/*") == std::string_view::npos && ptx.find("//") == std::string_view::npos &&
      ptx.find('"') == std::string_view::npos) {
    CollectFrom(ptx, names);
  } else {
    CollectFrom(Blanked(ptx), names);
  }
  return names;
}

std::optional<std::string> MatchKernel(std::span<const std::string> kernels, std::string_view name) {
  if (auto exact = std::ranges::find(kernels, name); exact != kernels.end()) return *exact;
  std::optional<std::string> only;
  for (const std::string& kernel : kernels) {
    if (!IsPlainNameOf(name, kernel)) continue;
    if (only && *only != kernel) return std::nullopt;
    only = kernel;
  }
  return only;
}

}  // namespace ptx2cpu::ptx
