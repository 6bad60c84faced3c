// The text of the page for Prometheus, metric by metric: a metric with many samples in several
// parts.
#pragma once

#include <cstddef>
#include <ostream>
#include <streambuf>
#include <string>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace weir {

// Appends what is written to a text, a tenth faster than std::stringbuf: the serializer writes a
// few bytes at a time.
class TextAppender final : public std::streambuf {
 public:
  explicit TextAppender(std::string& text) : text_(text) {}

 private:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    text_.append(bytes, static_cast<std::size_t>(count));
    return count;
  }
  int_type overflow(int_type byte) override {
    if (!traits_type::eq_int_type(byte, traits_type::eof())) {
      text_.push_back(traits_type::to_char_type(byte));
    }
    return traits_type::not_eof(byte);
  }

  std::string& text_;
};

// Appends a metric with its samples. `goes_on`: the samples follow those that were appended last,
// of the same metric. Cost: about 1 us a sample.
inline void AppendMetric(const prometheus::MetricFamily& family, bool goes_on, std::string& page) {
  const std::size_t begin = page.size();
  TextAppender appender(page);
  std::ostream stream(&appender);
  prometheus::TextSerializer().Serialize(stream, {family});
  if (!goes_on) return;
  // The lines # HELP and # TYPE.
  const std::size_t help_end = page.find('\n', begin) + 1;
  page.erase(begin, page.find('\n', help_end) + 1 - begin);
}

}  // namespace weir
