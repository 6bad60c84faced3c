#include "edge/primary_replies.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "absl/strings/numbers.h"

#include "core/base/status.h"
#include "core/rules/decision.h"
#include "core/words/request.h"
#include "edge/demand.h"

namespace weir {
namespace {

constexpr std::size_t kNameBytesMax = 1024;

// Reads a reply from left to right. After the first byte that is not as expected all is 0, and
// is_good() false.
class ReplyReader {
 public:
  explicit ReplyReader(std::string_view reply) : rest_(reply) {}

  [[nodiscard]] bool is_good() const noexcept { return is_good_; }
  [[nodiscard]] bool AtEnd() const noexcept { return rest_.empty(); }
  [[nodiscard]] bool NextIs(char type) const { return rest_.starts_with(type); }

  // The number behind a type: of an integer, or the size of something.
  std::int64_t Number(char type, std::int64_t min, std::int64_t max) {
    const std::size_t end = rest_.find("\r\n");
    std::int64_t number = 0;
    is_good_ = is_good_ && rest_.starts_with(type) && end != std::string_view::npos &&
               absl::SimpleAtoi(AbslView(rest_.substr(1, end - 1)), &number) && number >= min &&
               number <= max;
    if (!is_good_) return 0;
    rest_.remove_prefix(end + 2);
    return number;
  }
  std::int64_t Integer(std::int64_t min = 0) { return Number(':', min, INT64_MAX); }
  std::string_view Bulk() {
    const auto size = static_cast<std::size_t>(Number('$', 0, INT32_MAX));
    is_good_ = is_good_ && size <= kNameBytesMax && rest_.size() >= size + 2;
    if (!is_good_) return "";
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size + 2);
    return bytes;
  }
  // -1 is never. A wait that no limit has is cut, so that sums with it stay in range.
  template <typename Unit>
  Nanos Wait() {
    const std::int64_t count = Integer(-1);
    return count < 0 ? kNever : SpanOf<Unit>(count);
  }
  template <typename Unit>
  Nanos Span() {
    return SpanOf<Unit>(Integer());
  }

 private:
  template <typename Unit>
  static Nanos SpanOf(std::int64_t count) {
    constexpr Unit kMost = std::chrono::duration_cast<Unit>(std::chrono::hours{24 * 365 * 50});
    return std::min(Unit{count}, kMost);
  }

  std::string_view rest_;
  bool is_good_ = true;
};

// A name and its numbers, which in RESP3 have names, too.
SliceReply::Row ReadRow(ReplyReader& reader) {
  SliceReply::Row row;
  const auto fields = static_cast<std::int64_t>(row.numbers.size() + 1);
  const bool is_map = reader.NextIs('%');
  reader.Number(is_map ? '%' : '*', fields, fields);
  if (is_map) reader.Bulk();
  row.name = reader.Bulk();
  for (std::int64_t& number : row.numbers) {
    if (is_map) reader.Bulk();
    number = reader.Integer(-1);
  }
  return row;
}

}  // namespace

std::optional<SliceReply> ReadSliceReply(std::string_view reply) {
  using std::chrono::microseconds;
  ReplyReader reader(reply);
  SliceReply slice;
  reader.Number('*', 8, 8);
  slice.granted = reader.Number(':', 0, kUnitsMax);
  slice.numbers.remaining = reader.Integer();
  slice.retry_after = reader.Wait<microseconds>();
  slice.numbers.reset_after = reader.Span<microseconds>();
  slice.numbers.limit_index = reader.Number(':', 0, kChecksMax);
  slice.life = reader.Span<microseconds>();
  slice.changes = static_cast<std::uint64_t>(reader.Integer());
  const std::int64_t rows = reader.Number('*', 1, kChecksMax);
  for (std::int64_t i = 0; i < rows; ++i) slice.rows.push_back(ReadRow(reader));
  if (!reader.is_good() || !reader.AtEnd()) return std::nullopt;
  return slice;
}

std::optional<DenialReply> ReadDenialReply(std::string_view reply) {
  constexpr std::string_view kDenied = ":0\r\n";
  constexpr std::size_t kHeadBytes = 4;  // *5 or *6
  if (reply.substr(std::min(kHeadBytes, reply.size()), kDenied.size()) != kDenied) {
    return std::nullopt;
  }
  using std::chrono::milliseconds;
  ReplyReader reader(reply);
  DenialReply denial;
  reader.Number('*', 5, 6);
  reader.Integer();
  denial.numbers.remaining = reader.Integer();
  denial.retry_after = reader.Wait<milliseconds>();
  denial.numbers.reset_after = reader.Span<milliseconds>();
  denial.numbers.limit_index = reader.Number(':', 0, kChecksMax);
  if (!reader.is_good() || denial.retry_after == Nanos{0}) return std::nullopt;
  return denial;
}

}  // namespace weir
