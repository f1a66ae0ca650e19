// Bytes from a file in printable form: a listing must not carry a file's escape sequences to the terminal.
#pragma once

#include <string>
#include <string_view>

namespace ptx2cpu::ptx::fatbin {

// Control and non-ASCII bytes become \xNN; longer than `limit` ends in "...".
std::string Printable(std::string_view text, size_t limit = 200);
// Makes valid UTF-8: invalid bytes become U+FFFD.
std::string ToUtf8(std::string_view text);
// For a file name: everything but letters, digits and -_.+ becomes '_'; never empty, never starts with a dot.
std::string ForFileName(std::string_view text, size_t limit = 80);

}  // namespace ptx2cpu::ptx::fatbin
