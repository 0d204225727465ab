#include "tracefile/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "base/file.h"
#include "base/text.h"
#include "tracefile/fields.h"

namespace culprit::tracefile {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

void AppendVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// The length of the longest prefix of `frames` that holds whole packets and is at most `limit`
// long.
std::size_t WholeFrames(std::string_view frames, std::size_t limit) {
  std::size_t end = 0;
  while (end < limit) {
    std::size_t at = end + 1;  // the tag is one byte
    std::uint64_t size = 0;
    for (unsigned shift = 0; at < frames.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(frames[at++]);
      size |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    if (at > limit || size > limit - at) break;
    end = at + size;
  }
  return end;
}

// Writes until all is out or the system refuses; the number of bytes that went out.
std::size_t WriteSome(int fd, std::string_view bytes, int& error_number) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      error_number = wrote < 0 ? errno : ENOSPC;
      break;
    }
    done += static_cast<std::size_t>(wrote);
  }
  return done;
}

std::optional<unsigned> EnvironmentId(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : ParseInteger<unsigned>(text);
}

}  // namespace

void WritePacketHead(protozero::pbf_writer& packet, const PacketHead& head) {
  if (head.timestamp_ns != 0) packet.add_uint64(TracePacket::kTimestamp, head.timestamp_ns);
  if (head.timestamp_clock_id != 0) {
    packet.add_uint32(TracePacket::kTimestampClockId, head.timestamp_clock_id);
  }
  packet.add_int32(TracePacket::kTrustedUid, head.trusted_uid);
  packet.add_uint32(TracePacket::kTrustedPacketSequenceId, head.sequence_id);
  if (head.sequence_flags != 0) packet.add_uint32(TracePacket::kSequenceFlags, head.sequence_flags);
}

void AppendFrame(std::string& out, std::string_view packet) {
  out.push_back(static_cast<char>(Trace::kPacket << 3 | 2));
  AppendVarint(out, packet.size());
  out.append(packet);
}

struct TraceWriter::State {
  std::string path;
  // Empty once renamed or removed, for a path written directly, and while the file is nameless.
  std::string temporary;
  bool is_nameless = false;
  UniqueFd fd;
  Options options;

  mutable std::mutex mutex;
  std::string buffer;               // whole frames
  std::uint64_t written_bytes = 0;  // whole frames in the file
  std::optional<Error> error;

  Status OpenUnseen() {
    const auto slash = path.rfind('/');
    const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
    fd.Reset(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    is_nameless = fd.valid();
    if (is_nameless) return {};
    temporary = path + ".XXXXXX";
    fd.Reset(::mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
    if (fd.valid()) return {};
    const int error_number = errno;
    temporary.clear();
    return ErrnoError("create", path, error_number);
  }

  // Gives a nameless file a temporary name, which rename needs to replace an older file.
  Status Name() {
    if (!is_nameless) return {};
    const std::string self = "/proc/self/fd/" + std::to_string(fd.get());
    constexpr int kMostTries = 100;  // names that others left
    for (int i = 0; i < kMostTries; ++i) {
      const std::string name = path + "." + std::to_string(::getpid()) + "-" + std::to_string(i);
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ||
          // Without /proc; needs CAP_DAC_READ_SEARCH.
          (errno != EEXIST && ::linkat(fd.get(), "", AT_FDCWD, name.c_str(), AT_EMPTY_PATH) == 0)) {
        temporary = name;
        is_nameless = false;
        return {};
      }
      if (errno != EEXIST) break;
    }
    return ErrnoError("name", path, errno);
  }

  // Writes whole frames; after a short write cuts the file back to a packet's end.
  Status Write(std::string_view frames) {
    int error_number = 0;
    const std::size_t done = WriteSome(fd.get(), frames, error_number);
    if (done == frames.size()) {
      written_bytes += done;
      return {};
    }
    written_bytes += WholeFrames(frames, done);
    error = ErrnoError("write", path, error_number);
    // On a pipe nothing can be cut; its reader sees a last packet that is not whole.
    if (::ftruncate(fd.get(), static_cast<off_t>(written_bytes)) == 0) {
      static_cast<void>(::lseek(fd.get(), static_cast<off_t>(written_bytes), SEEK_SET));
    }
    return *error;
  }

  Status FlushBuffer() {
    if (error) return *error;
    const Status status = Write(buffer);
    buffer.clear();
    return status;
  }

  Status Admit(std::size_t more) {
    if (error) return *error;
    if (options.max_bytes != 0 && written_bytes + buffer.size() + more > options.max_bytes) {
      CULPRIT_TRY(FlushBuffer());
      error = Error{
          "write " + path + ": the file has reached its limit of " + FormatBytes(options.max_bytes),
          "give a larger limit or record fewer events"};
      return *error;
    }
    return {};
  }
};

TraceWriter::TraceWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;

TraceWriter& TraceWriter::operator=(TraceWriter&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

TraceWriter::~TraceWriter() {
  if (state_ && !state_->temporary.empty()) ::unlink(state_->temporary.c_str());
}

Result<TraceWriter> TraceWriter::Create(const std::string& path, Options options) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->options = options;
  state->buffer.reserve(kBufferBytes);

  struct stat existing = {};
  if (::stat(path.c_str(), &existing) == 0) {
    if (S_ISDIR(existing.st_mode)) {
      return Error{"write " + path + ": it is a directory", "name a file"};
    }
    if (!S_ISREG(existing.st_mode)) {
      CULPRIT_ASSIGN(state->fd, OpenFile(path, O_WRONLY));
      return TraceWriter(std::move(state));
    }
  }
  CULPRIT_TRY(state->OpenUnseen());
  const auto uid = EnvironmentId("SUDO_UID");
  const auto gid = EnvironmentId("SUDO_GID");
  if (options.chown_to_sudo_user && uid && ::geteuid() == 0 &&
      ::fchown(state->fd.get(), *uid, gid.value_or(*uid)) != 0) {
    const Error failed = ErrnoError("chown", path, errno);
    if (!state->temporary.empty()) ::unlink(state->temporary.c_str());
    state->temporary.clear();
    return failed;
  }
  return TraceWriter(std::move(state));
}

Status TraceWriter::Append(std::string_view packet) {
  const std::lock_guard lock(state_->mutex);
  CULPRIT_TRY(state_->Admit(packet.size() + 11));  // a tag, and a length of at most ten bytes
  AppendFrame(state_->buffer, packet);
  return state_->buffer.size() < kBufferBytes ? Status() : state_->FlushBuffer();
}

Status TraceWriter::AppendFramed(std::string_view frames) {
  const std::lock_guard lock(state_->mutex);
  CULPRIT_TRY(state_->Admit(frames.size()));
  if (state_->buffer.size() + frames.size() < kBufferBytes) {
    state_->buffer.append(frames);
    return {};
  }
  CULPRIT_TRY(state_->FlushBuffer());
  return state_->Write(frames);
}

Result<std::uint64_t> TraceWriter::Commit() {
  const std::lock_guard lock(state_->mutex);
  // A full disk is no reason to lose what fitted; write_error() keeps the Error.
  static_cast<void>(state_->FlushBuffer());
  const bool is_file = state_->is_nameless || !state_->temporary.empty();
  if (state_->options.sync && is_file && ::fdatasync(state_->fd.get()) != 0) {
    return ErrnoError("fdatasync", state_->path, errno);
  }
  CULPRIT_TRY(state_->Name());
  // A network file system may report its full disk only here.
  if (::close(state_->fd.Release()) != 0 && errno != EINTR) {
    return ErrnoError("close", state_->path, errno);
  }
  if (!state_->temporary.empty()) {
    if (::rename(state_->temporary.c_str(), state_->path.c_str()) != 0) {
      return ErrnoError("rename to", state_->path, errno);
    }
    state_->temporary.clear();
  }
  return state_->written_bytes;
}

std::optional<Error> TraceWriter::write_error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

std::uint64_t TraceWriter::size_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->written_bytes + state_->buffer.size();
}

const std::string& TraceWriter::path() const { return state_->path; }

}  // namespace culprit::tracefile
