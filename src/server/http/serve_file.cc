#include "server/http/serve_file.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "base/file.h"

namespace culprit::server {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr int kTimeoutSeconds = 10;  // of a peer that stops reading or never asks

// A page of another site that guesses the port: its browser sends the host it thinks it speaks to
// (DNS rebinding) or the page's origin.
bool IsLoopbackName(const std::string& host, std::uint16_t port) {
  const std::string suffix = ":" + std::to_string(port);
  return host == "127.0.0.1" + suffix || host == "localhost" + suffix;
}

class FileHandler {
 public:
  FileHandler(const ServedFile& file, UniqueFd fd, std::size_t size)
      : file_(file), fd_(std::move(fd)), size_(size) {}

  void Handle(const httplib::Request& request, httplib::Response& response, std::uint16_t port) {
    response.set_header("Cache-Control", "no-store");
    response.set_header("X-Content-Type-Options", "nosniff");
    if (!IsLoopbackName(request.get_header_value("Host"), port)) return Refuse(response, 403);
    if (request.has_header("Origin")) {
      response.set_header("Vary", "Origin");
      if (request.get_header_value("Origin") != file_.origin) return Refuse(response, 403);
      response.set_header("Access-Control-Allow-Origin", file_.origin);
    }
    if (request.path != file_.url_path) return Refuse(response, 404);
    if (request.method == "OPTIONS") {
      // The question that browsers ask before a page of the internet may reach loopback.
      response.set_header("Access-Control-Allow-Methods", "GET, HEAD");
      response.set_header("Access-Control-Allow-Headers", "*");
      response.set_header("Access-Control-Allow-Private-Network", "true");
      response.status = 204;
    } else if (request.method == "GET" || request.method == "HEAD") {
      Send(request, response);
    } else {
      response.set_header("Allow", "GET, HEAD, OPTIONS");
      Refuse(response, 405);
    }
  }

  bool fetched() const { return fetched_; }

 private:
  static void Refuse(httplib::Response& response, int status) {
    response.status = status;
    response.set_content("not here\n", "text/plain");
  }

  void Send(const httplib::Request& request, httplib::Response& response) {
    const bool whole = request.method == "GET" && request.ranges.empty();
    if (size_ == 0) return response.set_content("", "application/octet-stream");
    response.set_content_provider(
        size_, "application/octet-stream",
        [this](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
          std::vector<char> chunk(std::min(length, kChunkBytes));
          const ssize_t got =
              pread(fd_.get(), chunk.data(), chunk.size(), static_cast<off_t>(offset));
          return got > 0 && sink.write(chunk.data(), static_cast<std::size_t>(got));
        },
        [this, whole](bool success) {
          if (success && whole) fetched_ = true;
        });
  }

  const ServedFile& file_;
  UniqueFd fd_;
  std::size_t size_;
  std::atomic<bool> fetched_ = false;
};

Result<bool> Serve(const ServedFile& file, const std::function<void(std::uint16_t)>& ready,
                   const std::atomic<bool>& stop) {
  CULPRIT_ASSIGN(UniqueFd fd, OpenFile(file.path, O_RDONLY | O_NOCTTY | O_NONBLOCK));
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return ErrnoError("stat", file.path, errno);
  if (!S_ISREG(status.st_mode)) return Error{file.path + " is not a file", "name a trace file"};

  FileHandler handler(file, std::move(fd), static_cast<std::size_t>(status.st_size));
  httplib::Server server;
  server.new_task_queue = [] { return new httplib::ThreadPool(4); };
  server.set_keep_alive_max_count(1);
  server.set_read_timeout(kTimeoutSeconds);
  server.set_write_timeout(kTimeoutSeconds);
  server.set_payload_max_length(1024);
  // No SO_REUSEPORT, which is the library's default: two servers must not share a port unawares.
  server.set_socket_options([](int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  std::uint16_t port = file.port;
  server.set_pre_routing_handler([&](const httplib::Request& request, httplib::Response& response) {
    handler.Handle(request, response, port);
    return httplib::Server::HandlerResponse::Handled;
  });
  if (port == 0) {
    const int any = server.bind_to_any_port("127.0.0.1");
    if (any <= 0) return ErrnoError("bind", "127.0.0.1", errno);
    port = static_cast<std::uint16_t>(any);
  } else if (!server.bind_to_port("127.0.0.1", port)) {
    return ErrnoError("bind", "127.0.0.1:" + std::to_string(port), errno);
  }

  std::thread listener([&server] { server.listen_after_bind(); });
  ready(port);  // the socket listens since bind; who comes now is answered soon
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  while (!server.is_running()) pause();  // before that, stop() would be lost
  while (!stop && !handler.fetched()) pause();
  server.stop();
  listener.join();  // answers that are under way end first
  return handler.fetched();
}

}  // namespace
}  // namespace culprit::server

extern "C" __attribute__((visibility("default"))) void CulpritServeFile(
    const culprit::server::ServedFile& file, const std::function<void(std::uint16_t)>& ready,
    const std::atomic<bool>& stop, culprit::Result<bool>& outcome) {
  outcome = culprit::server::Serve(file, ready, stop);
}
