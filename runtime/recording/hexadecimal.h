// Hexadecimal digits in the files of a recording.
#pragma once

namespace ptx2cpu::rt::recording {

// Its value; -1 for a character that this project does not write as a digit.
inline int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace ptx2cpu::rt::recording
