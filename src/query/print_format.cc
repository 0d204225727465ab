#include "query/print_format.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <variant>

#include "base/text.h"

namespace culprit::query {
namespace {

// Constants that stay names in format texts, since they are no enumerators that the kernel exports.
struct Constant {
  std::string_view name;
  std::int64_t value;
};
constexpr Constant kConstants[] = {
    {"NULL", 0},
    {"true", 1},
    {"false", 0},
    {"IOPRIO_CLASS_NONE", 0},
    {"IOPRIO_CLASS_RT", 1},
    {"IOPRIO_CLASS_BE", 2},
    {"IOPRIO_CLASS_IDLE", 3},
    {"IOPRIO_CLASS_INVALID", 7},
    {"HRTIMER_MODE_ABS", 0},
    {"HRTIMER_MODE_REL", 1},
    {"HRTIMER_MODE_PINNED", 2},
    {"HRTIMER_MODE_SOFT", 4},
    {"HRTIMER_MODE_HARD", 8},
    {"HRTIMER_MODE_ABS_PINNED", 2},
    {"HRTIMER_MODE_REL_PINNED", 3},
    {"HRTIMER_MODE_ABS_SOFT", 4},
    {"HRTIMER_MODE_REL_SOFT", 5},
    {"HRTIMER_MODE_ABS_PINNED_SOFT", 6},
    {"HRTIMER_MODE_REL_PINNED_SOFT", 7},
    {"HRTIMER_MODE_ABS_HARD", 8},
    {"HRTIMER_MODE_REL_HARD", 9},
    {"HRTIMER_MODE_ABS_PINNED_HARD", 10},
    {"HRTIMER_MODE_REL_PINNED_HARD", 11},
};

// By precedence, the loosest first; operators of one row bind equally.
constexpr std::string_view kBinary[][4] = {
    {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};

constexpr int kDeepest = 200;
constexpr int kWidest = 256;
constexpr std::size_t kMostNodes = 20'000;

bool IsNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsTypeWord(std::string_view word) {
  constexpr std::string_view kWords[] = {"unsigned", "signed", "int",    "long",  "short",
                                         "char",     "void",   "struct", "const", "bool",
                                         "enum",     "size_t", "ssize_t"};
  return std::ranges::find(kWords, word) != std::end(kWords) || word.ends_with("_t") ||
         word == "u8" || word == "u16" || word == "u32" || word == "u64" || word == "s8" ||
         word == "s16" || word == "s32" || word == "s64" || word.starts_with("__u") ||
         word.starts_with("__s") || word.starts_with("__le") || word.starts_with("__be");
}

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

class PrintFormatParser {
 public:
  PrintFormatParser(std::string_view text, PrintFormat& out) : text_(text), out_(out) {}

  bool Run() {
    if (!String(out_.text_)) return false;
    while (Take(",")) {
      const auto node = Expression(0);
      if (!node.has_value()) return false;
      out_.args_.push_back(*node);
    }
    Blanks();
    return at_ == text_.size() && out_.nodes_.size() < kMostNodes;
  }

 private:
  using Op = PrintFormat::Op;
  using Node = PrintFormat::Node;
  using Index = std::optional<std::size_t>;

  std::size_t Add(Op op, std::string text = {}, std::vector<std::size_t> kids = {},
                  std::int64_t number = 0) {
    out_.nodes_.push_back({op, number, std::move(text), std::move(kids)});
    return out_.nodes_.size() - 1;
  }

  void Blanks() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
  char Peek() {
    Blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(std::string_view token) {
    Blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  std::string_view Name() {
    Blanks();
    const std::size_t begin = at_;
    if (at_ < text_.size() && IsNameStart(text_[at_])) {
      while (at_ < text_.size() && (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  // One or more literals in a row.
  bool String(std::string& out) {
    bool found = false;
    while (Peek() == '"') {
      found = true;
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
          out += text_[at_];
          continue;
        }
        const char c = text_[++at_];
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      }
      if (at_ >= text_.size()) return false;
      ++at_;
    }
    return found;
  }

  Index Expression(int depth) {
    if (depth > kDeepest || out_.nodes_.size() >= kMostNodes) return std::nullopt;
    const Index condition = Binary(0, depth + 1);
    if (!condition.has_value() || !Take("?")) return condition;
    const Index yes = Expression(depth + 1);
    if (!yes.has_value() || !Take(":")) return std::nullopt;
    const Index no = Expression(depth + 1);
    if (!no.has_value()) return std::nullopt;
    return Add(Op::kCondition, {}, {*condition, *yes, *no});
  }

  Index Binary(std::size_t level, int depth) {
    if (level == std::size(kBinary)) return Unary(depth);
    Index left = Binary(level + 1, depth);
    while (left.has_value()) {
      const std::string_view op = BinaryOperator(level);
      if (op.empty()) return left;
      const Index right = Binary(level + 1, depth);
      if (!right.has_value()) return std::nullopt;
      left = Add(Op::kBinary, std::string(op), {*left, *right});
    }
    return left;
  }

  std::string_view BinaryOperator(std::size_t level) {
    Blanks();
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view op : kBinary[level]) {
      if (op.empty() || !rest.starts_with(op)) continue;
      // "&" is not the beginning of "&&", "<" not that of "<<" ...
      const char next = rest.size() > op.size() ? rest[op.size()] : '\0';
      if (op.size() == 1 && (next == op[0] || (next == '=' && (op == "<" || op == ">")))) {
        if (op == "&" || op == "|" || op == "<" || op == ">") continue;
      }
      at_ += op.size();
      return op;
    }
    return {};
  }

  Index Unary(int depth) {
    if (depth > kDeepest) return std::nullopt;
    for (const std::string_view op : {"!", "~", "-", "+"}) {
      if (!Take(op)) continue;
      const Index kid = Unary(depth + 1);
      if (!kid.has_value()) return std::nullopt;
      return Add(Op::kUnary, std::string(op), {*kid});
    }
    if (Take("*") || Take("&")) {  // memory
      if (!Unary(depth + 1).has_value()) return std::nullopt;
      return Add(Op::kUnknown);
    }
    if (Peek() == '(') {
      if (const auto type = CastType(); !type.empty()) {
        const Index kid = Unary(depth + 1);
        if (!kid.has_value()) return std::nullopt;
        return Add(Op::kUnary, std::string(type), {*kid});
      }
    }
    return Postfix(depth);
  }

  // "(unsigned long)" with its parentheses; empty and nothing read when it is no cast.
  std::string_view CastType() {
    const std::size_t close = text_.find(')', at_);
    if (close == std::string_view::npos) return {};
    const std::string_view inside = TrimBlanks(text_.substr(at_ + 1, close - at_ - 1));
    if (inside.empty() || !IsNameStart(inside.front()) ||
        inside.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ *") !=
            std::string_view::npos) {
      return {};
    }
    if (!IsTypeWord(inside.substr(0, inside.find_first_of(" *"))) && inside.back() != '*') {
      return {};
    }
    const std::string_view type = text_.substr(at_, close + 1 - at_);
    at_ = close + 1;
    return type;
  }

  Index Postfix(int depth) {
    Index node = Primary(depth);
    while (node.has_value()) {
      if (Peek() == '[') {
        ++at_;
        const Index index = Expression(depth + 1);
        if (!index.has_value() || !Take("]")) return std::nullopt;
        const bool is_field = out_.nodes_[*node].op == Op::kField;
        std::string name = out_.nodes_[*node].text;
        node = is_field ? Add(Op::kElement, std::move(name), {*index}) : Add(Op::kUnknown);
      } else if (Take("->") || (Peek() == '.' && Take("."))) {
        if (Name().empty()) return std::nullopt;
        node = Add(Op::kUnknown);
      } else {
        return node;
      }
    }
    return node;
  }

  Index Number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    std::string_view digits = text_.substr(begin, at_ - begin);
    while (!digits.empty() &&
           std::string_view("uUlL").find(digits.back()) != std::string_view::npos) {
      digits.remove_suffix(1);
    }
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits.front() == '0') {
      base = 8;
    }
    const auto value = ParseInteger<std::uint64_t>(digits, base);
    if (!value.has_value()) return std::nullopt;
    return Add(Op::kNumber, {}, {}, static_cast<std::int64_t>(*value));
  }

  Index Primary(int depth) {
    const char c = Peek();
    if (c == '(') {
      ++at_;
      const Index inside = Expression(depth + 1);
      return inside.has_value() && Take(")") ? inside : std::nullopt;
    }
    if (c == '"') {
      std::string text;
      if (!String(text)) return std::nullopt;
      return Add(Op::kText, std::move(text));
    }
    if (c == '\'' && at_ + 2 < text_.size() && text_[at_ + 2] == '\'') {
      at_ += 3;
      return Add(Op::kNumber, {}, {}, text_[at_ - 2]);
    }
    if (IsDigit(c)) return Number();
    if (c == '{') return Braces();
    const std::string_view name = Name();
    if (name.empty()) return std::nullopt;
    if (name == "REC" && Take("->")) return Add(Op::kField, std::string(Name()));
    if (Peek() == '(') return Call(name, depth);
    const auto constant = std::ranges::find(kConstants, name, &Constant::name);
    return constant == std::end(kConstants) ? Add(Op::kUnknown)
                                            : Add(Op::kNumber, {}, {}, constant->value);
  }

  // Something in braces that is no pair of a table.
  Index Braces() {
    int open = 0;
    do {
      if (at_ >= text_.size()) return std::nullopt;
      if (text_[at_] == '{') ++open;
      if (text_[at_] == '}') --open;
      ++at_;
    } while (open > 0);
    return Add(Op::kUnknown);
  }

  Index Call(std::string_view name, int depth) {
    if (!Take("(")) return std::nullopt;
    const bool is_symbolic = name.starts_with("__print_symbolic");
    const bool is_flags = name.starts_with("__print_flags");
    std::vector<std::size_t> kids;
    while (Peek() != ')') {
      if (Peek() == '{' && (is_symbolic || is_flags)) {
        ++at_;
        const Index key = Expression(depth + 1);
        if (!key.has_value() || !Take(",")) return std::nullopt;
        const Index text = Expression(depth + 1);
        if (!text.has_value() || !Take("}")) return std::nullopt;
        kids.push_back(*key);
        kids.push_back(*text);
      } else {
        if (Peek() == '\0') return std::nullopt;
        const Index kid = Expression(depth + 1);
        if (!kid.has_value()) return std::nullopt;
        kids.push_back(*kid);
      }
      if (!Take(",") && Peek() != ')') return std::nullopt;
    }
    ++at_;
    if (is_symbolic && !kids.empty()) return Add(Op::kSymbolic, {}, std::move(kids));
    if (is_flags && kids.size() >= 2) return Add(Op::kFlags, {}, std::move(kids));
    // Their argument is the name of a field, which was read as an unknown name.
    if (name == "__get_str" || name == "__get_rel_str" || name == "__get_dynamic_array" ||
        name == "__get_cpumask" || name == "__get_bitmask") {
      return FieldOfCall();
    }
    return Add(Op::kUnknown);
  }

  // The name between the parentheses that were just read.
  Index FieldOfCall() {
    const std::size_t open = text_.rfind('(', at_ - 1);
    return Add(Op::kField, std::string(TrimBlanks(text_.substr(open + 1, at_ - open - 2))));
  }

  std::string_view text_;
  PrintFormat& out_;
  std::size_t at_ = 0;
};

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
    while (!text.empty() && IsDigit(text.front())) {
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
    if (kind == '\0' && !text.empty() && (IsNameStart(text.front()))) {
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

Result<PrintFormat> PrintFormat::Parse(std::string_view format_text) {
  constexpr std::string_view kPrint = "print fmt: ";
  constexpr std::string_view kField = "field:";
  const std::size_t begin = format_text.find(kPrint);
  if (begin == std::string_view::npos) return Error{"no print fmt", ""};
  PrintFormat format;
  for (std::string_view line : SplitLines(format_text.substr(0, begin))) {
    line = TrimBlanks(line);
    if (!line.starts_with(kField)) continue;
    line = line.substr(kField.size(), line.find(';') - kField.size());
    constexpr std::string_view kDev = "dev_t ";
    if (line.starts_with(kDev)) format.devs_.emplace_back(TrimBlanks(line.substr(kDev.size())));
  }
  if (!PrintFormatParser(format_text.substr(begin + kPrint.size()), format).Run()) {
    return Error{"print fmt is not understood", ""};
  }
  return format;
}

bool PrintFormat::Print(std::span<const PrintField> fields, std::string& out) const {
  std::string line;
  if (!PrintFormatRun(*this, fields).Print(line)) return false;
  out += line;
  return true;
}

}  // namespace culprit::query
