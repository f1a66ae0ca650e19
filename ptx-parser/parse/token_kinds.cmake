# cmake -DTOKENS=Ptx.tokens -DOUTPUT=token_kinds.h -P token_kinds.cmake
# Turns the token list that ANTLR writes beside its parser into an enumeration and a spelling table for the
# hand-written scanner, so that Ptx.g4 stays the only place where tokens and keywords are listed.
file(READ ${TOKENS} text)
string(REGEX MATCHALL "[A-Z][A-Z_]*=[0-9]+\n" entries "${text}")
foreach(entry IN LISTS entries)
  string(REGEX MATCH "^([A-Z_]+)=([0-9]+)" ignored "${entry}")
  set(number ${CMAKE_MATCH_2})
  string(REPLACE "_" ";" words ${CMAKE_MATCH_1})
  set(name "k")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 head)
    string(SUBSTRING ${word} 1 -1 tail)
    string(TOLOWER "${tail}" tail)
    string(APPEND name ${head}${tail})
  endforeach()
  string(APPEND kinds "  ${name} = ${number},\n")
  # A literal may be a semicolon or a bracket, which CMake lists do not survive: match it by its number.
  if(text MATCHES "'([^'\n]+)'=${number}\n")
    string(APPEND spellings "    {\"${CMAKE_MATCH_1}\", TokenKind::${name}},\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "// Generated from Ptx.g4.
#pragma once

#include <cstdint>
#include <string_view>

namespace ptx2cpu::ptx {

enum class TokenKind : uint8_t {
  kEnd = 0,
${kinds}};

struct TokenSpelling {
  std::string_view text;
  TokenKind kind;
};
inline constexpr TokenSpelling kTokenSpellings[] = {
${spellings}};

}  // namespace ptx2cpu::ptx
")
