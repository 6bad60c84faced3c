-- A rate limiter inside Redis, to measure its cost: GCRA as in gcra.lua for three limits on one
-- key, all or nothing. The cheapest form in Lua: one GET, one SET, three doubles in the value.
--
--     EVALSHA sha 1 key (burst count period-us cost) three times
--     -> {allowed 0|1, fewest remaining, longest retry after ms, longest reset after ms, limit}
--
-- All three are decided before anything is written. `limit`, counted from 0, is the one that denies
-- for longest, or, if all admit, the one with the fewest tokens left.
local clock = redis.call('TIME')
local now = clock[1] * 1e6 + clock[2]
local stored = redis.call('GET', KEYS[1])
local full_at = {now, now, now}
if stored then full_at = {struct.unpack('ddd', stored)} end

local moved, latest, retry = {}, now, 0
local remaining, fewest, longest = math.huge, 0, nil
for i = 1, 3 do
  local word = i * 4 - 3
  local interval = ARGV[word + 2] / ARGV[word + 1]
  local from = math.max(now, full_at[i])
  local to = from + ARGV[word + 3] * interval
  local spare = now + ARGV[word] * interval - to
  if spare < -retry then retry, longest = -spare, i - 1 end
  local left = math.max(0, math.floor(spare / interval))
  if left < remaining then remaining, fewest = left, i - 1 end
  if to > latest then latest = to end
  moved[i] = to
end

if longest then
  local full = math.max(now, full_at[1], full_at[2], full_at[3])
  return {0, remaining, math.ceil(retry / 1e3), math.ceil((full - now) / 1e3), longest}
end

local reset_ms = math.ceil((latest - now) / 1e3)
redis.call('SET', KEYS[1], struct.pack('ddd', moved[1], moved[2], moved[3]), 'PX', reset_ms)
return {1, remaining, 0, reset_ms, fewest}
