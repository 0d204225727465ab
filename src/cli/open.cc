// culprit open: shows a trace in Perfetto's UI, which fetches it from this machine's loopback.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "cli/verbs.h"
#include "server/file_server.h"

extern char** environ;

namespace culprit::cli {
namespace {

// The only loopback port that the page's own policy (CSP) lets it fetch from.
constexpr std::uint16_t kPerfettoPort = 9001;
constexpr const char* kPerfettoUi = "https://ui.perfetto.dev";

struct OpenOptions {
  std::string trace;
  std::uint16_t port = kPerfettoPort;
  std::string ui = kPerfettoUi;
  bool no_browser = false;
};

// The page would only say that it does not know the format.
Status CheckIsTrace(const std::string& path) {
  CULPRIT_ASSIGN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return ErrnoError("stat", path, errno);
  if (!S_ISREG(status.st_mode)) return Error{path + " is not a file", "name a trace file"};
  if (status.st_size == 0) return Error{path + " is empty", "was its recording ended?"};
  std::array<char, 12> head{};
  const ssize_t got = pread(fd.get(), head.data(), head.size(), 0);
  // A DuckDB file has a checksum of 8 bytes, then this.
  if (got == static_cast<ssize_t>(head.size()) && std::string_view(&head[8], 4) == "DUCK") {
    return Error{path + " is a database, and Perfetto's UI opens traces",
                 "open the trace it was loaded from"};
  }
  return {};
}

// A desktop of the user's own: root would start a browser that must not run as root.
bool HasDesktop() {
  const bool display =
      std::getenv("WAYLAND_DISPLAY") != nullptr || std::getenv("DISPLAY") != nullptr;
  return display && geteuid() != 0 && IsTerminal(STDERR_FILENO);
}

bool OpenInBrowser(const std::string& address) {
  std::string program = "xdg-open";
  std::string argument = address;
  std::array<char*, 3> arguments = {program.data(), argument.data(), nullptr};
  pid_t pid = 0;
  return posix_spawnp(&pid, program.c_str(), nullptr, nullptr, arguments.data(), environ) == 0;
}

int Open(const OpenOptions& options) {
  if (const Status trace = CheckIsTrace(options.trace); !trace.ok()) return Fail(trace.error());
  const auto origin = server::OriginOf(options.ui);
  if (!origin.ok()) return Fail(origin.error(), kExitUsage);
  const auto token = server::RandomToken();
  if (!token.ok()) return Fail(token.error());

  server::ServedFile file;
  file.path = options.trace;
  file.url_path = "/" + *token + "/" + server::SafeUrlName(options.trace);
  file.origin = *origin;
  file.port = options.port;
  if (file.port != 0 && server::PortIsTaken(file.port)) {
    fmt::print(
        stderr,
        "culprit: port {} is in use (another culprit open, or trace_processor?), so another one is "
        "taken.\n",
        file.port);
    if (*origin == kPerfettoUi) {
      fmt::print(stderr,
                 "culprit: {} reads from port {} alone: end the other program, or drop the file on "
                 "the page\n",
                 kPerfettoUi, kPerfettoPort);
    }
    file.port = 0;
  }

  // Threads inherit the mask; this one waits for the signals.
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  std::atomic<bool> stop = false, done = false;
  Result<bool> outcome = false;
  std::thread serving([&] {
    outcome = server::ServeFile(
        file,
        [&](std::uint16_t port) {
          const std::string address =
              fmt::format("{}/#!/?url=http://127.0.0.1:{}{}", *origin, port, file.url_path);
          fmt::print("{}\n", address);
          std::fflush(stdout);
          const bool opened = !options.no_browser && HasDesktop() && OpenInBrowser(address);
          if (!IsTerminal(STDERR_FILENO)) return;
          fmt::print(stderr, "{}; the trace is served until the page has it, ^C ends it before.\n",
                     opened ? "Opened in the browser" : "Open this address in a browser");
          if (!opened) {
            fmt::print(stderr,
                       "A browser elsewhere needs the port, too: ssh -L {0}:127.0.0.1:{0} HOST\n",
                       port);
          }
        },
        stop);
    done = true;
  });
  const timespec pause = {0, 50'000'000};
  bool interrupted = false;
  while (!done && !interrupted) interrupted = sigtimedwait(&ends, nullptr, &pause) > 0;
  stop = true;
  serving.join();
  if (!outcome.ok()) return Fail(outcome.error());
  if (IsTerminal(STDERR_FILENO))
    fmt::print(stderr, "{}\n", *outcome ? "The page has the trace." : "Ended.");
  return kExitOk;
}

}  // namespace

Action DeclareOpen(CLI::App& app) {
  auto options = std::make_shared<OpenOptions>();
  app.add_option("trace", options->trace, "the trace file")->type_name("TRACE")->required();
  app.add_option("--port", options->port,
                 "the loopback port; ui.perfetto.dev reads from 9001 alone")
      ->type_name("PORT")
      ->capture_default_str();
  app.add_option("--ui", options->ui,
                 "the page that may read it, for a copy of Perfetto's UI of your own")
      ->type_name("URL")
      ->capture_default_str();
  app.add_flag("--no-browser", options->no_browser, "print the address and open nothing");
  return [options] { return Open(*options); };
}

}  // namespace culprit::cli
