// PrintFormat: the "print fmt" of a kernel event's format text, which says in C how the kernel
// prints the event, evaluated on the fields of one event. What needs more than the fields (memory
// behind a pointer, arrays that were not recorded) is not evaluated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit::query {

// A field of an event: a number unless it has text. Elements of arrays are "args[0]" ...
struct PrintField {
  std::string key;
  std::string text;
  std::int64_t integer = 0;
  bool is_text = false;
};

class PrintFormat {
 public:
  // Of a whole format text of tracefs.
  [[nodiscard]] static Result<PrintFormat> Parse(std::string_view format_text);

  // Appends the event as the kernel prints it. False, and nothing appended, when the fields do not
  // suffice.
  bool Print(std::span<const PrintField> fields, std::string& out) const;

 private:
  friend class PrintFormatParser;
  friend class PrintFormatRun;

  enum class Op : std::uint8_t {
    kNumber,
    kText,
    kField,      // text: its name
    kElement,    // text: the field's name; kid: the index
    kUnary,      // text: the operator; a cast is "(type)"
    kBinary,     // text: the operator
    kCondition,  // ? :
    kSymbolic,   // __print_symbolic: value, then pairs of number and text
    kFlags,      // __print_flags: value, delimiter, then pairs
    kUnknown,    // cannot be evaluated
  };
  struct Node {
    Op op = Op::kUnknown;
    std::int64_t number = 0;
    std::string text;
    std::vector<std::size_t> kids;
  };

  std::vector<Node> nodes_;
  std::string text_;               // of printf
  std::vector<std::size_t> args_;  // nodes
  std::vector<std::string> devs_;  // fields of type dev_t, which traces number as stat(2) does
};

}  // namespace culprit::query
