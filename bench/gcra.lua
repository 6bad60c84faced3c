-- A rate limiter inside Redis, to measure its cost: GCRA for one limit on one key, in floating
-- point.
--
--     EVALSHA sha 1 key burst count period-us cost
--     -> {allowed 0|1, remaining, retry after ms, reset after ms}
--
-- The key's value is the theoretical arrival time (TAT), at which the bucket is full again, in
-- microseconds of the server's clock. The key expires then, as a full bucket is the same as none.
-- A request moves the TAT `cost` emission intervals (period / count) later. If it would then lie
-- more than `burst` intervals from now, the request is denied and nothing is written.
local clock = redis.call('TIME')
local now = clock[1] * 1e6 + clock[2]
local interval = ARGV[3] / ARGV[2]
local full_at = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0))
local moved = full_at + ARGV[4] * interval
local spare = now + ARGV[1] * interval - moved

if spare < 0 then
  local remaining = math.floor((spare + moved - full_at) / interval)
  return {0, remaining, math.ceil(-spare / 1e3), math.ceil((full_at - now) / 1e3)}
end

local reset_ms = math.ceil((moved - now) / 1e3)
redis.call('SET', KEYS[1], math.ceil(moved), 'PX', reset_ms)
return {1, math.floor(spare / interval), 0, reset_ms}
