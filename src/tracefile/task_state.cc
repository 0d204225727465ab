#include "tracefile/task_state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/text.h"

namespace culprit::tracefile {
namespace {

// The order in which several states are joined, as Perfetto's users know it.
constexpr std::string_view kOrder = "SDTtXZPxKWNI";

constexpr bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A C constant expression of integers, parentheses and | & + - * << ~, as the kernel's headers
// leave it in a print fmt: "(((0x0000 | 0x0001) + 1) << 1)".
class ConstantExpression {
 public:
  explicit ConstantExpression(std::string_view text) : text_(text) {}

  // Nothing unless the whole text is such an expression.
  std::optional<std::int64_t> Value() {
    const std::uint64_t value = Binary(0);
    SkipBlanks();
    if (!ok_ || at_ != text_.size()) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }

 private:
  static constexpr int kDeepest = 32;
  struct Operator {
    std::string_view text;
    int level;  // C's precedence, the loosest first
  };
  static constexpr std::array<Operator, 6> kOperators = {
      {{"|", 0}, {"&", 1}, {"<<", 2}, {"+", 3}, {"-", 3}, {"*", 4}}};

  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  // The operator that is next, when it binds at least as tightly as `level`.
  const Operator* Next(int level) {
    SkipBlanks();
    for (const Operator& op : kOperators) {
      if (op.level >= level && text_.substr(at_).starts_with(op.text)) return &op;
    }
    return nullptr;
  }

  std::uint64_t Binary(int level) {
    std::uint64_t left = Primary();
    while (const Operator* op = ok_ ? Next(level) : nullptr) {
      at_ += op->text.size();
      const std::uint64_t right = Binary(op->level + 1);
      switch (op->text[0]) {
        case '|':
          left |= right;
          break;
        case '&':
          left &= right;
          break;
        case '<':
          left = right < 64 ? left << right : 0;
          break;
        case '+':
          left += right;
          break;
        case '-':
          left -= right;
          break;
        default:
          left *= right;
      }
    }
    return left;
  }

  std::uint64_t Primary() {
    SkipBlanks();
    if (at_ >= text_.size() || ++depth_ > kDeepest) {
      ok_ = false;
      return 0;
    }
    std::uint64_t value = 0;
    if (text_[at_] == '(') {
      ++at_;
      value = Binary(0);
      SkipBlanks();
      if (at_ < text_.size() && text_[at_] == ')') {
        ++at_;
      } else {
        ok_ = false;
      }
    } else if (text_[at_] == '~') {
      ++at_;
      value = ~Primary();
    } else {
      value = Number();
    }
    --depth_;
    return value;
  }

  std::uint64_t Number() {
    int base = 10;
    if (text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X")) {
      base = 16;
      at_ += 2;
    }
    std::uint64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [stop, failure] = std::from_chars(begin, text_.data() + text_.size(), value, base);
    ok_ = ok_ && failure == std::errc{};
    at_ += static_cast<std::size_t>(stop - begin);
    while (at_ < text_.size() && (text_[at_] == 'U' || text_[at_] == 'L' || text_[at_] == 'u'))
      ++at_;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

// The bit behind `REC->prev_state & EXPRESSION ? "+"`, zero when there is none.
std::int64_t PreemptedBit(std::string_view format) {
  const std::size_t plus = format.find("? \"+\"");
  if (plus == std::string_view::npos) return 0;
  const std::string_view before = format.substr(0, plus);
  const std::size_t field = before.rfind("prev_state");
  if (field == std::string_view::npos) return 0;
  std::string_view expression = before.substr(field + std::string_view("prev_state").size());
  expression.remove_prefix(std::min(expression.find('&'), expression.size()));
  if (expression.empty()) return 0;
  expression.remove_prefix(1);
  return ConstantExpression(TrimBlanks(expression)).Value().value_or(0);
}

struct Layout {
  int major, minor;        // the first release that has it
  std::string_view flags;  // letters of the bits 1, 2, 4, ...
  std::int64_t preempted_bit;
};

// Newest first. Up to 3.14 EXIT_ZOMBIE was 16 and EXIT_DEAD 32; the two changed places then. "n" is
// TASK_NEW. Source: include/linux/sched.h and include/trace/events/sched.h of the releases.
constexpr Layout kLayouts[] = {
    {4, 14, "SDTtXZPI", 0x100},   {4, 8, "SDTtXZxKWPNn", 0x1000}, {4, 2, "SDTtXZxKWPN", 0x800},
    {3, 15, "SDTtXZxKWP", 0x400}, {3, 9, "SDTtZXxKWP", 0x400},    {2, 6, "SDTtZXxKW", 0x200},
};

// "5.10.0-28-amd64" -> 5, 10.
std::optional<std::array<int, 2>> MajorMinor(std::string_view release) {
  std::array<int, 2> version = {};
  const char* end = release.data() + release.size();
  const auto major = std::from_chars(release.data(), end, version[0]);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, version[1]);
  if (minor.ec != std::errc{}) return std::nullopt;
  return version;
}

}  // namespace

TaskStates::TaskStates(std::vector<Flag> flags, std::int64_t preempted_bit)
    : flags_(std::move(flags)), preempted_bit_(preempted_bit) {
  std::stable_sort(flags_.begin(), flags_.end(), [](const Flag& a, const Flag& b) {
    return kOrder.find(a.name) < kOrder.find(b.name);
  });
}

std::optional<TaskStates> TaskStates::FromFormat(std::string_view format) {
  const std::size_t list = format.find("__print_flags(");
  if (list == std::string_view::npos) return std::nullopt;
  std::string_view rest = format.substr(list);
  std::vector<Flag> flags;
  // Each flag is `{ NUMBER, "NAME" }`; the list ends at the ")" behind its last "}".
  for (std::size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
    if (!flags.empty() && rest.substr(0, open).find(')') != std::string_view::npos) break;
    rest.remove_prefix(open + 1);
    const std::size_t close = rest.find('}');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view entry = rest.substr(0, close);
    const std::size_t comma = entry.rfind(',');
    if (comma == std::string_view::npos) return std::nullopt;
    const auto bit = ConstantExpression(TrimBlanks(entry.substr(0, comma))).Value();
    std::string_view name = TrimBlanks(entry.substr(comma + 1));
    if (name.size() < 3 || name.size() > 6 || name.front() != '"' || name.back() != '"') {
      return std::nullopt;
    }
    name = name.substr(1, name.size() - 2);
    if (!bit || *bit == 0 || flags.size() >= 64 ||
        !std::all_of(name.begin(), name.end(), IsLetter)) {
      return std::nullopt;
    }
    flags.push_back({*bit, std::string(name)});
    rest.remove_prefix(close + 1);
  }
  if (flags.empty()) return std::nullopt;
  return TaskStates(std::move(flags), PreemptedBit(format));
}

TaskStates TaskStates::FromRelease(std::string_view release) {
  const std::array<int, 2> version = MajorMinor(release).value_or(std::array{4, 4});
  const Layout* layout = std::prev(std::end(kLayouts));
  for (const Layout& candidate : kLayouts) {
    if (version >= std::array{candidate.major, candidate.minor}) {
      layout = &candidate;
      break;
    }
  }
  std::vector<Flag> flags;
  std::int64_t bit = 1;
  for (const char letter : layout->flags) {
    flags.push_back({bit, std::string(1, letter)});
    bit <<= 1;
  }
  return TaskStates(std::move(flags), layout->preempted_bit);
}

std::string TaskStates::Text(std::int64_t prev_state) const {
  std::string text;
  std::int64_t unknown = prev_state & ~preempted_bit_;
  for (const Flag& flag : flags_) {
    if ((prev_state & flag.bit) == 0) continue;
    text += flag.name;
    unknown &= ~flag.bit;
  }
  if (unknown != 0) return "?";
  // An uninterruptible wait that does not count as load is what later kernels call idle.
  if (text == "DN") return "I";
  if (!text.empty()) return text;
  return (prev_state & preempted_bit_) != 0 ? "R+" : "R";
}

}  // namespace culprit::tracefile
