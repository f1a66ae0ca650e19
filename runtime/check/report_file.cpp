#include "runtime/check/report_file.h"

#include <cctype>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>

#include "runtime/timeline/json_text.h"

namespace ptx2cpu::rt::check {

namespace {

std::string Three(const std::array<uint32_t, 3>& values) {
  return "[" + std::to_string(values[0]) + "," + std::to_string(values[1]) + "," + std::to_string(values[2]) +
         "]";
}

std::string PartyJson(const Party& party, const Place& place) {
  std::string text = "{\"block\":" + Three(party.block) +
                     (party.is_thread ? ",\"thread\":" + Three(party.thread) : "") +
                     ",\"ptx_line\":" + std::to_string(party.ptx_line);
  if (place.line != 0) {
    text += ",\"file\":" + QuotedJson(place.file) + ",\"line\":" + std::to_string(place.line) +
            ",\"text\":" + QuotedJson(place.excerpt);
  }
  if (!place.source_file.empty()) {
    text += ",\"source_file\":" + QuotedJson(place.source_file) +
            ",\"source_line\":" + std::to_string(place.source_line);
  }
  return text + "}";
}

std::string OwnJson(const std::vector<LocatedFinding>& findings) {
  std::string text = "{\"findings\":[";
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& f = findings[i].finding;
    text += i == 0 ? "\n" : ",\n";
    text += "{\"error\":" + QuotedJson(WordOf(f.error)) + ",\"kernel\":" + QuotedJson(f.kernel) +
            ",\"what\":" + QuotedJson(f.text) + ",\"count\":" + std::to_string(f.count) +
            (f.kernel.empty() ? ",\"caller\":" + QuotedJson(f.caller)
                              : ",\"by\":" + PartyJson(f.party, findings[i].place));
    if (f.other.ptx_line != 0) {
      text +=
          ",\"after\":" + QuotedJson(f.other_text) + ",\"after_by\":" + PartyJson(f.other, findings[i].other);
    }
    text += "}";
  }
  return text + "\n]}\n";
}

// A path as a reference of RFC 3986.
std::string UriOf(const std::string& path) {
  constexpr std::string_view kPlain = "-._~/!$&'()*+,;=@";  // a colon would end a scheme
  std::string text;
  for (const char c : path) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X", static_cast<unsigned char>(c));
    text += is_plain ? std::string(1, c) : escaped;
  }
  return text;
}

// The source where the program has line numbers, else the PTX.
std::string Location(const Place& place, uint32_t ptx_line) {
  const bool source = !place.source_file.empty();
  const std::string& file = source ? place.source_file : place.file;
  const uint32_t line = source ? place.source_line : place.line != 0 ? place.line : ptx_line;
  // Lines are numbered from 1: a fault may have none.
  return "{\"physicalLocation\":{\"artifactLocation\":{\"uri\":" +
         QuotedJson(UriOf(file.empty() ? "kernel.ptx" : file)) + "}" +
         (line == 0 ? "" : ",\"region\":{\"startLine\":" + std::to_string(line) + "}") + "}}";
}

std::string Sarif(const std::vector<LocatedFinding>& findings) {
  std::string text =
      "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
      "\"tool\":{\"driver\":{\"name\":\"ptx2cpu\",\"rules\":[";
  bool first = true;
  for (const Error error : {
#define FINDING(name, kind, word, meaning) Error::k##name,
#include "runtime/check/findings.def"
#undef FINDING
       }) {
    text += (first ? "" : ",") + std::string("{\"id\":") + QuotedJson(WordOf(error)) +
            ",\"shortDescription\":{\"text\":" + QuotedJson(MeaningOf(error)) + "}}";
    first = false;
  }
  text += "]}},\"results\":[";
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& f = findings[i].finding;
    text += (i == 0 ? "\n" : ",\n") + std::string("{\"ruleId\":") + QuotedJson(WordOf(f.error)) +
            ",\"level\":\"error\",\"message\":{\"text\":" +
            QuotedJson(Render(f, findings[i].place, findings[i].other)) + "},\"locations\":[" +
            (f.kernel.empty() ? "" : Location(findings[i].place, f.party.ptx_line)) + "]";
    if (f.other.ptx_line != 0)
      text += ",\"relatedLocations\":[" + Location(findings[i].other, f.other.ptx_line) + "]";
    text += ",\"occurrenceCount\":" + std::to_string(f.count) + "}";
  }
  return text + "\n]}]}\n";
}

}  // namespace

std::string JsonReport(const std::vector<LocatedFinding>& findings) { return OwnJson(findings); }

bool WriteReport(const std::string& path, const std::vector<LocatedFinding>& findings) {
  std::ofstream out(path);
  out << (path.ends_with(".sarif") ? Sarif(findings) : OwnJson(findings));
  return static_cast<bool>(out.flush());
}

std::vector<Suppression> ReadSuppressions(const std::string& path) {
  std::vector<Suppression> all;
  if (path.empty()) return all;
  std::ifstream in(path);
  if (!in) std::fprintf(stderr, "ptx2cpu: check: cannot read the suppressions '%s'\n", path.c_str());
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    Suppression each;
    if (!(words >> each.error)) continue;
    if (!(words >> each.kernel)) each.kernel = "*";
    words >> each.ptx_line;
    all.push_back(std::move(each));
  }
  return all;
}

}  // namespace ptx2cpu::rt::check
