// A 128-bit integer, for products of two 64-bit numbers: an extension of both of our compilers.
#pragma once

namespace weir {

__extension__ using Wide = unsigned __int128;

}  // namespace weir
