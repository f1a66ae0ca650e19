#include "ptx-parser/fatbin/json_writer.h"

#include <fmt/format.h>

#include "ir/result.h"
#include "ptx-parser/fatbin/printable.h"

namespace ptx2cpu::ptx::fatbin {

std::string QuotedJson(std::string_view value) {
  std::string out = "\"";
  for (char c : ToUtf8(value)) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

void JsonWriter::Key(std::string_view name) {
  Separate();
  out_ += QuotedJson(name);
  out_ += ": ";
  after_key_ = true;
}

void JsonWriter::String(std::string_view value) {
  Separate();
  out_ += QuotedJson(value);
}

void JsonWriter::Bool(bool value) {
  Separate();
  out_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  Separate();
  out_ += "null";
}

std::string JsonWriter::Take() {
  CHECK(has_items_.empty() && !after_key_, "a JSON object or array was left open");
  out_ += '\n';
  return std::move(out_);
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_ += ',';
  has_items_.back() = true;
  NewLine();
}

void JsonWriter::NewLine() {
  out_ += '\n';
  out_.append(2 * has_items_.size(), ' ');
}

void JsonWriter::Open(char bracket) {
  Separate();
  out_ += bracket;
  has_items_.push_back(false);
}

void JsonWriter::Close(char bracket) {
  CHECK(!has_items_.empty(), "a JSON bracket closes nothing");
  const bool had_items = has_items_.back();
  has_items_.pop_back();
  if (had_items) NewLine();
  out_ += bracket;
}

}  // namespace ptx2cpu::ptx::fatbin
