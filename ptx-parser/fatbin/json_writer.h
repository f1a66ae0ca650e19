// A JSON text, written value by value; it handles commas and escapes. No reader, no document.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2cpu::ptx::fatbin {

// The value between quotation marks; bytes that are not UTF-8 become U+FFFD.
std::string QuotedJson(std::string_view value);

class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }
  void Key(std::string_view name);

  void String(std::string_view value);
  void Bool(bool value);
  void Null();
  template <std::unsigned_integral T>
  void Number(T value) {
    Separate();
    out_ += std::to_string(value);
  }

  // The text so far, with a line end; every opened object and array must be closed.
  std::string Take();

 private:
  void Separate();
  void NewLine();
  void Open(char bracket);
  void Close(char bracket);

  std::string out_;
  std::vector<bool> has_items_;  // per open object or array
  bool after_key_ = false;
};

}  // namespace ptx2cpu::ptx::fatbin
