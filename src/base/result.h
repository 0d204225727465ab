// Result<T>: a value, or an Error that says what failed and what to do about it.
// We throw nothing; libraries that throw are caught at the call and turned into an Error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace culprit {

struct Error {
  std::string what;    // "open per_cpu/cpu3/trace_pipe_raw: Permission denied"
  std::string remedy;  // "run as root"; empty when none is known
  // Lines that point at the place in what the user wrote (SQL, a config) with a caret; often empty.
  std::string place = {};

  // One line for a terminal: "what; remedy", without the place.
  std::string ToString() const { return remedy.empty() ? what : what + "; " + remedy; }
};

// The Error of a failed system call: "CALL SUBJECT: strerror(error_number)" with the remedy that
// goes with the errno (EACCES and EPERM: root; ENOSPC: room; EMFILE: ulimit).
[[nodiscard]] Error ErrnoError(std::string_view call, std::string_view subject, int error_number);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    CULPRIT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    CULPRIT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    CULPRIT_CHECK(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    CULPRIT_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    CULPRIT_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace culprit

#define CULPRIT_CONCAT_INNER(a, b) a##b
#define CULPRIT_CONCAT(a, b) CULPRIT_CONCAT_INNER(a, b)

// CULPRIT_TRY(expression): returns the Error of a failed Result to the caller.
#define CULPRIT_TRY(expression)                              \
  do {                                                       \
    auto culprit_status = (expression);                      \
    if (!culprit_status.ok()) return culprit_status.error(); \
  } while (false)

// CULPRIT_ASSIGN(auto file, OpenFile(path)): declares `file` from the value, or returns the Error.
#define CULPRIT_ASSIGN(declaration, expression) \
  CULPRIT_ASSIGN_INNER(CULPRIT_CONCAT(culprit_result_, __LINE__), declaration, expression)
#define CULPRIT_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) return result.error();                    \
  declaration = std::move(result).value()
