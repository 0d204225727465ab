#include "profile/regex.h"

#include <regex.h>

#include <array>

namespace culprit::profile {

struct Regex::State {
  regex_t compiled{};
  bool valid = false;
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (valid) ::regfree(&compiled);
  }
};

Result<Regex> Regex::Compile(const std::string& expression) {
  auto state = std::make_shared<State>();
  const int failure = ::regcomp(&state->compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (failure != 0) {
    std::array<char, 256> text{};
    ::regerror(failure, &state->compiled, text.data(), text.size());
    return Error{
        "the regular expression \"" + expression + "\": " + text.data(),
        "POSIX extended syntax; a backslash before ( [ { . * + ? | ^ $ takes it literally"};
  }
  state->valid = true;
  return Regex(std::move(state));
}

bool Regex::Matches(const std::string& text) const {
  return ::regexec(&state_->compiled, text.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace culprit::profile
