// Text of JSON files that the launch library writes.
#pragma once

#include <string>
#include <string_view>

namespace ptx2cpu::rt {

// The text between quotation marks, in ASCII; bytes that are not UTF-8 become U+FFFD.
std::string QuotedJson(std::string_view text);

}  // namespace ptx2cpu::rt
