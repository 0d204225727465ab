// Streaming decompression of gzip, zlib and zstd into a file; multi-member and multi-frame streams
// are one. Chooses nothing: the caller knows the kind.
#pragma once

#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace culprit::tracefile {

enum class Compression { kNone, kGzip, kZlib, kZstd };

// By the magic numbers of gzip and zstd (zlib has none that is safe).
Compression DetectCompression(std::string_view bytes);

// Appends the decompressed bytes to `out` and returns whether the stream was whole; a stream that
// is cut or damaged leaves what came before the damage. An Error is a failed write.
Result<bool> InflateTo(Compression kind, std::string_view bytes, int out);

}  // namespace culprit::tracefile
