// Text in the JSON files of timelines and of checks.
#include "runtime/timeline/json_text.h"

#include <catch2/catch.hpp>

using ptx2cpu::rt::QuotedJson;

TEST_CASE("quoted text is ASCII") {
  CHECK(QuotedJson("") == R"("")");
  CHECK(QuotedJson("a\\b \"c\"") == R"("a\\b \"c\"")");
  CHECK(QuotedJson("1\n2\t3\x7f") == R"("1\u000a2\u00093\u007f")");
  CHECK(QuotedJson("\xc3\xa4 \xe2\x82\xac") == R"("\u00e4 \u20ac")");
  CHECK(QuotedJson("\xf0\x9f\x98\x80") == R"("\ud83d\ude00")");
}

TEST_CASE("bytes that are not UTF-8 are replaced, one by one") {
  CHECK(QuotedJson("a\xff") == R"("a\ufffd")");
  CHECK(QuotedJson("\xe2\x82") == R"("\ufffd\ufffd")");            // cut short
  CHECK(QuotedJson("\xc3(") == R"("\ufffd(")");                    // nothing follows
  CHECK(QuotedJson("\xc0\x80") == R"("\ufffd\ufffd")");            // longer than it must be
  CHECK(QuotedJson("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");  // a surrogate
  CHECK(QuotedJson("\xf5\x80\x80\x80") == R"("\ufffd\ufffd\ufffd\ufffd")");
}
