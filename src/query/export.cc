#include "query/export.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/atomic_file.h"
#include "tables/schema.h"

namespace culprit::query {
namespace {

// Tables that are another's second name.
constexpr std::array<std::string_view, 6> kAliases = {"counters",    "processes", "raw",
                                                      "sched_slice", "slices",    "threads"};

Status FillDatabase(const std::string& trace, const std::string& path,
                    const load::LoadOptions& options, load::LoadSummary& summary) {
  tables::DatabaseOptions database_options;
  database_options.threads = options.threads;
  CULPRIT_ASSIGN(auto database,
                 tables::Database::OpenFile(path, tables::FileMode::kCreate, database_options));
  CULPRIT_ASSIGN(auto connection, database.Connect());
  CULPRIT_TRY(tables::CreateSchema(connection));
  CULPRIT_ASSIGN(summary, load::LoadTrace(trace, database, options));
  return connection.Execute("CHECKPOINT");
}

// A folder with its files gone again unless it was kept.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make(std::string path) {
    if (mkdir(path.c_str(), 0777) != 0) return ErrnoError("mkdir", path, errno);
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  Status RenameTo(const std::string& name) {
    if (rename(path_.c_str(), name.c_str()) != 0) {
      if (errno == ENOTEMPTY || errno == EEXIST) {
        return Error{name + " is there and not empty", "name a new folder"};
      }
      if (errno == ENOTDIR) return Error{name + " is a file", "name a folder for Parquet files"};
      return ErrnoError("rename to", name, errno);
    }
    path_.clear();
    return {};
  }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

bool IsDatabaseFile(const std::string& path) {
  const auto fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  std::array<char, 12> head{};
  return fd.ok() && pread(fd->get(), head.data(), head.size(), 0) == std::ssize(head) &&
         std::string_view(&head[8], 4) == "DUCK";  // behind a checksum of 8 bytes
}

Result<load::LoadSummary> ExportDatabase(const std::string& trace, const std::string& path,
                                         const load::LoadOptions& options) {
  if (IsDatabaseFile(trace)) {
    return Error{trace + " is a database already", "culprit query opens it as it is"};
  }
  // A trace that cannot be read is told before anything is made.
  CULPRIT_TRY(OpenFile(trace, O_RDONLY | O_NONBLOCK));
  CULPRIT_ASSIGN(auto file, AtomicFile::ReserveName(path));
  load::LoadSummary summary;
  const auto status = FillDatabase(trace, file.temporary_path(), options, summary);
  // DuckDB's log is empty after the checkpoint, and of no use without one.
  unlink((file.temporary_path() + ".wal").c_str());
  if (!status.ok()) return status.error();
  CULPRIT_TRY(file.Commit());
  return summary;
}

Status CopyDatabase(const std::string& database, const std::string& path) {
  {
    CULPRIT_ASSIGN(const auto opened,
                   tables::Database::OpenFile(database, tables::FileMode::kReadOnly));
    CULPRIT_ASSIGN(auto connection, opened.Connect());
    CULPRIT_TRY(tables::CheckSchema(connection, database));
  }
  CULPRIT_ASSIGN(const auto bytes, MappedFile::Open(database));
  CULPRIT_ASSIGN(auto file, AtomicFile::Create(path));
  CULPRIT_TRY(WriteAll(file.fd(), bytes.text(), path));
  return file.Commit();
}

Status ExportParquet(Session& session, const std::string& directory) {
  // The raw tables are loaded when a statement first mentions them.
  CULPRIT_TRY(session.Run("SELECT count(*) FROM ftrace_event",
                          [](tables::QueryResult&) { return Status(); }));
  tables::Connection& connection = session.connection();
  CULPRIT_ASSIGN(const auto tables, tables::DescribeSchema(connection));
  std::string name = directory;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  CULPRIT_ASSIGN(auto folder, TemporaryFolder::Make(fmt::format("{}.tmp.{}", name, getpid())));
  for (const auto& table : tables) {
    if (std::ranges::find(kAliases, table.name) != kAliases.end()) continue;
    CULPRIT_TRY(connection.Execute(
        fmt::format("COPY (SELECT * FROM {}) TO {} (FORMAT parquet, COMPRESSION zstd)",
                    tables::QuoteName(table.name),
                    tables::QuoteText(JoinPath(folder.path(), table.name + ".parquet")))));
  }
  return folder.RenameTo(name);
}

}  // namespace culprit::query
