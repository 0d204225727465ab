// The evaluation of a PrintFormat; its parser is print_format.cc.
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cctype>
#include <variant>

#include "query/print_format.h"

namespace culprit::query {
namespace {

constexpr int kWidest = 256;

// What a cast leaves of a number.
std::int64_t Cast(std::string_view type, std::int64_t value) {
  if (type.find('*') != std::string_view::npos || type.find("long") != std::string_view::npos) {
    return value;
  }
  const bool is_unsigned = type.find("unsigned") != std::string_view::npos;
  if (type.find("int") != std::string_view::npos && type.find("_t") == std::string_view::npos) {
    if (is_unsigned) return static_cast<std::uint32_t>(value);
    return static_cast<std::int32_t>(value);
  }
  if (type == "unsigned") return static_cast<std::uint32_t>(value);
  const std::string_view last = type.substr(type.rfind(' ') + 1);
  if (last == "u8" || last == "__u8" || last == "uint8_t") return static_cast<std::uint8_t>(value);
  if (last == "u16" || last == "__u16") return static_cast<std::uint16_t>(value);
  if (last == "u32" || last == "__u32" || last == "dev_t" || last == "gfp_t") {
    return static_cast<std::uint32_t>(value);
  }
  if (last == "s32" || last == "__s32" || last == "pid_t") return static_cast<std::int32_t>(value);
  return value;
}

}  // namespace

// One evaluation. Values are numbers or texts; nothing: not known.
class PrintFormatRun {
 public:
  using Value = std::variant<std::int64_t, std::string>;
  using Op = PrintFormat::Op;

  PrintFormatRun(const PrintFormat& format, std::span<const PrintField> fields)
      : format_(format), fields_(fields) {}

  std::optional<Value> Evaluate(std::size_t index) const {
    const PrintFormat::Node& node = format_.nodes_[index];
    switch (node.op) {
      case Op::kNumber:
        return node.number;
      case Op::kText:
        return node.text;
      case Op::kField:
        return Field(node.text);
      case Op::kElement: {
        const auto at = NumberOf(node.kids[0]);
        if (!at.has_value()) return std::nullopt;
        return Field(node.text + '[' + std::to_string(*at) + ']');
      }
      case Op::kUnary:
        return Unary(node);
      case Op::kBinary:
        return Binary(node);
      case Op::kCondition: {
        const auto condition = Evaluate(node.kids[0]);
        if (!condition.has_value()) return std::nullopt;
        const auto* number = std::get_if<std::int64_t>(&*condition);
        return Evaluate(node.kids[number == nullptr || *number != 0 ? 1 : 2]);
      }
      case Op::kSymbolic:
        return Symbolic(node);
      case Op::kFlags:
        return Flags(node);
      case Op::kUnknown:
        return std::nullopt;
    }
    return std::nullopt;
  }

  bool Print(std::string& out) const;

 private:
  std::optional<std::int64_t> NumberOf(std::size_t index) const {
    const auto value = Evaluate(index);
    if (!value.has_value() || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
    return std::get<std::int64_t>(*value);
  }
  std::optional<std::string> TextOf(std::size_t index) const {
    const auto value = Evaluate(index);
    if (!value.has_value() || !std::holds_alternative<std::string>(*value)) return std::nullopt;
    return std::get<std::string>(*value);
  }

  std::optional<Value> Field(std::string_view name) const {
    const auto found = std::ranges::find(fields_, name, &PrintField::key);
    if (found == fields_.end()) return std::nullopt;
    if (found->is_text) return found->text;
    if (std::ranges::find(format_.devs_, name) != format_.devs_.end()) {
      constexpr int kMinorBits = 20;  // MKDEV of the kernel
      const auto dev = static_cast<dev_t>(found->integer);
      return static_cast<std::int64_t>(major(dev)) << kMinorBits | minor(dev);
    }
    return found->integer;
  }

  std::optional<Value> Unary(const PrintFormat::Node& node) const {
    const auto value = Evaluate(node.kids[0]);
    if (!value.has_value()) return std::nullopt;
    const auto* number = std::get_if<std::int64_t>(&*value);
    if (node.text.front() == '(') {
      if (number == nullptr) return value;
      return Cast(std::string_view(node.text).substr(1, node.text.size() - 2), *number);
    }
    if (number == nullptr) return std::nullopt;
    switch (node.text.front()) {
      case '!':
        return *number == 0 ? 1 : 0;
      case '~':
        return ~*number;
      case '-':
        return static_cast<std::int64_t>(-static_cast<std::uint64_t>(*number));
      default:
        return *number;
    }
  }

  std::optional<Value> Binary(const PrintFormat::Node& node) const {
    const auto left = NumberOf(node.kids[0]);
    if (!left.has_value()) return std::nullopt;
    const std::string& op = node.text;
    if (op == "&&" && *left == 0) return 0;
    if (op == "||" && *left != 0) return 1;
    const auto right = NumberOf(node.kids[1]);
    if (!right.has_value()) return std::nullopt;
    const auto a = static_cast<std::uint64_t>(*left);
    const auto b = static_cast<std::uint64_t>(*right);
    const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    if (op == "&&" || op == "||") return *right != 0 ? 1 : 0;
    if (op == "==") return a == b ? 1 : 0;
    if (op == "!=") return a != b ? 1 : 0;
    if (op == "<") return *left < *right ? 1 : 0;
    if (op == ">") return *left > *right ? 1 : 0;
    if (op == "<=") return *left <= *right ? 1 : 0;
    if (op == ">=") return *left >= *right ? 1 : 0;
    if (op == "<<") return b > 63 ? 0 : number(a << b);
    if (op == ">>") return b > 63 ? 0 : number(a >> b);
    if (op == "+") return number(a + b);
    if (op == "-") return number(a - b);
    if (op == "*") return number(a * b);
    if (op == "&") return number(a & b);
    if (op == "|") return number(a | b);
    if (op == "^") return number(a ^ b);
    if (b == 0) return std::nullopt;
    return op == "/" ? number(a / b) : number(a % b);
  }

  std::optional<Value> Symbolic(const PrintFormat::Node& node) const {
    const auto value = NumberOf(node.kids[0]);
    if (!value.has_value()) return std::nullopt;
    for (std::size_t i = 1; i + 1 < node.kids.size(); i += 2) {
      const auto key = NumberOf(node.kids[i]);
      // A name nobody knows may be the one.
      if (!key.has_value()) return std::nullopt;
      if (*key == *value) return Evaluate(node.kids[i + 1]);
    }
    return fmt::format("0x{:x}", static_cast<std::uint64_t>(*value));
  }

  std::optional<Value> Flags(const PrintFormat::Node& node) const {
    const auto value = NumberOf(node.kids[0]);
    const auto delimiter = TextOf(node.kids[1]);
    if (!value.has_value() || !delimiter.has_value()) return std::nullopt;
    auto flags = static_cast<std::uint64_t>(*value);
    std::string out;
    bool first = true;
    for (std::size_t i = 2; i + 1 < node.kids.size() && flags != 0; i += 2) {
      const auto key = NumberOf(node.kids[i]);
      const auto text = TextOf(node.kids[i + 1]);
      if (!key.has_value() || !text.has_value()) return std::nullopt;
      const auto mask = static_cast<std::uint64_t>(*key);
      if ((flags & mask) != mask) continue;
      flags &= ~mask;
      if (!first) out += *delimiter;
      first = false;
      out += *text;
    }
    if (flags != 0) out += fmt::format("{}0x{:x}", first ? "" : *delimiter, flags);
    return out;
  }

  bool Conversion(std::string_view& text, std::size_t& next, std::string& out) const;

  const PrintFormat& format_;
  std::span<const PrintField> fields_;
};

namespace {

struct Spec {
  std::string flags;
  int width = 0;
  int precision = -1;
  int longs = 0;   // "l", "z", "t", "j": 1; "ll": 2
  int halves = 0;  // "h": 1, "hh": 2
  char type = 0;
};

std::string Padded(const Spec& spec, std::string text, std::string_view prefix = {}) {
  const auto width = static_cast<std::size_t>(spec.width);
  const std::size_t size = text.size() + prefix.size();
  if (size >= width) return std::string(prefix) + text;
  const std::string room(width - size, ' ');
  if (spec.flags.find('-') != std::string::npos) return std::string(prefix) + text + room;
  if (spec.flags.find('0') != std::string::npos && spec.precision < 0 && spec.type != 's') {
    return std::string(prefix) + std::string(width - size, '0') + text;
  }
  return room + std::string(prefix) + text;
}

std::string Digits(const Spec& spec, std::string digits) {
  const auto least = static_cast<std::size_t>(std::max(spec.precision, 0));
  return digits.size() < least ? std::string(least - digits.size(), '0') + digits : digits;
}

std::string Integer(const Spec& spec, std::int64_t value) {
  if (spec.type == 'c') return Padded(spec, std::string(1, static_cast<char>(value)));
  if (spec.type == 'd' || spec.type == 'i') {
    if (spec.longs == 0) value = static_cast<std::int32_t>(value);
    if (spec.halves == 1) value = static_cast<std::int16_t>(value);
    if (spec.halves == 2) value = static_cast<std::int8_t>(value);
    const bool is_negative = value < 0;
    const std::uint64_t size =
        is_negative ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const bool has_plus = spec.flags.find('+') != std::string::npos;
    return Padded(spec, Digits(spec, std::to_string(size)),
                  is_negative ? "-"
                  : has_plus  ? "+"
                              : "");
  }
  auto bits = static_cast<std::uint64_t>(value);
  if (spec.longs == 0) bits = static_cast<std::uint32_t>(bits);
  if (spec.halves == 1) bits = static_cast<std::uint16_t>(bits);
  if (spec.halves == 2) bits = static_cast<std::uint8_t>(bits);
  const bool has_prefix = spec.flags.find('#') != std::string::npos;
  switch (spec.type) {
    case 'x':
      return Padded(spec, Digits(spec, fmt::format("{:x}", bits)), has_prefix ? "0x" : "");
    case 'X':
      return Padded(spec, Digits(spec, fmt::format("{:X}", bits)), has_prefix ? "0X" : "");
    case 'o':
      return Padded(spec, Digits(spec, fmt::format("{:o}", bits)), has_prefix ? "0" : "");
    default:
      return Padded(spec, Digits(spec, std::to_string(bits)));
  }
}

}  // namespace

// One conversion, `text` at its "%".
bool PrintFormatRun::Conversion(std::string_view& text, std::size_t& next, std::string& out) const {
  text.remove_prefix(1);
  Spec spec;
  const auto number = [&text] {
    int value = 0;
    while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
      value = std::min(value * 10 + (text.front() - '0'), kWidest);
      text.remove_prefix(1);
    }
    return value;
  };
  const auto next_is = [&text](std::string_view any) {
    return !text.empty() && any.find(text.front()) != std::string_view::npos;
  };
  while (next_is("-+ #0")) {
    spec.flags += text.front();
    text.remove_prefix(1);
  }
  spec.width = number();
  if (next_is(".")) {
    text.remove_prefix(1);
    spec.precision = number();
  }
  while (next_is("hlzjtL")) {
    if (text.front() == 'h') {
      ++spec.halves;
    } else {
      ++spec.longs;
    }
    text.remove_prefix(1);
  }
  if (text.empty()) return false;
  spec.type = text.front();
  text.remove_prefix(1);
  if (spec.type == '%') {
    out += '%';
    return true;
  }
  if (next >= format_.args_.size()) return false;
  const auto value = Evaluate(format_.args_[next++]);
  if (!value.has_value()) return false;
  const auto* integer = std::get_if<std::int64_t>(&*value);
  const auto* string = std::get_if<std::string>(&*value);
  if (spec.type == 'p') {
    const char kind = next_is("sSfFB") ? text.front() : '\0';
    // Others (%pI4, %pU, %pd ...) look at the memory behind the pointer.
    if (kind == '\0' && !text.empty() &&
        std::isalpha(static_cast<unsigned char>(text.front())) != 0) {
      if (!next_is("KxX")) return false;
      text.remove_prefix(1);
    }
    if (kind != '\0') text.remove_prefix(1);
    if (string != nullptr) {
      out += Padded(spec, *string);
    } else {
      const auto address = static_cast<std::uint64_t>(*integer);
      out += kind != '\0' ? fmt::format("0x{:x}", address) : fmt::format("{:016x}", address);
    }
    return true;
  }
  if (spec.type == 's') {
    if (string == nullptr) {
      if (*integer != 0) return false;
      out += Padded(spec, "(null)");
      return true;
    }
    out += Padded(spec, spec.precision >= 0
                            ? string->substr(0, static_cast<std::size_t>(spec.precision))
                            : *string);
    return true;
  }
  if (std::string_view("dicuxXo").find(spec.type) == std::string_view::npos || integer == nullptr) {
    return false;
  }
  out += Integer(spec, *integer);
  return true;
}

bool PrintFormatRun::Print(std::string& out) const {
  std::string_view text = format_.text_;
  std::size_t next = 0;
  while (!text.empty()) {
    const std::size_t percent = std::min(text.find('%'), text.size());
    out += text.substr(0, percent);
    text.remove_prefix(percent);
    if (!text.empty() && !Conversion(text, next, out)) return false;
  }
  return true;
}

bool PrintFormat::Print(std::span<const PrintField> fields, std::string& out) const {
  std::string line;
  if (!PrintFormatRun(*this, fields).Print(line)) return false;
  out += line;
  return true;
}

}  // namespace culprit::query
