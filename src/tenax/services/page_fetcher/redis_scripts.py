"""Atomic Redis scripts. All keys are passed by name; each script may be repeated after a lost reply.

Redis does not undo a script that fails half way. So each reads every key first, which fails on a wrong type, and writes
an item to its new list before it removes it from the old one. A full Redis refuses the first write of a script, or
none.
"""

from __future__ import annotations

PEEK = """
-- queue | from, how many: the length of the queue, and the items, left where they are
local items = redis.call('LRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1)
table.insert(items, 1, redis.call('LLEN', KEYS[1]))
return items
"""

TAKE = """
-- queue, ours, holders | id, from, how many, a mark that is no item, then the items: those still there, to the end of
-- ours. That we hold something is written down in the same step: it may come late, when we have left already.
redis.call('LLEN', KEYS[2])
redis.call('SCARD', KEYS[3])
local first, wanted, taken, places = tonumber(ARGV[2]), {}, {}, {}
for i = 5, #ARGV do wanted[ARGV[i]] = (wanted[ARGV[i]] or 0) + 1 end
for i, item in ipairs(redis.call('LRANGE', KEYS[1], first, first + ARGV[3] - 1)) do
  if (wanted[item] or 0) > 0 then
    wanted[item] = wanted[item] - 1
    taken[#taken + 1], places[#places + 1] = item, first + i - 1
  end
end
if #taken == 0 then return taken end
redis.call('RPUSH', KEYS[2], unpack(taken))
redis.call('SADD', KEYS[3], ARGV[1])
if places[#places] == #taken - 1 then
  redis.call('LTRIM', KEYS[1], #taken, -1)
else
  -- By their places, in one walk: an item may be there more than once.
  for _, place in ipairs(places) do redis.call('LSET', KEYS[1], place, ARGV[4]) end
  local is_near = places[1] < redis.call('LLEN', KEYS[1]) / 2
  redis.call('LREM', KEYS[1], is_near and #taken or -#taken, ARGV[4])
end
return taken
"""

SETTLE = """
-- queue, ours, dead letters, reasons, attempts, activity, settled | number of this call, time to live of that, how
-- many done, back, to the head, the items of each, then each letter and its reason
for i = 1, 3 do redis.call('LLEN', KEYS[i]) end
for i = 4, 5 do redis.call('HLEN', KEYS[i]) end
redis.call('STRLEN', KEYS[6])
-- Sent again after a lost answer: what it puts back stands in the queue already.
if tonumber(redis.call('GET', KEYS[7]) or '0') >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[7], ARGV[1], 'EX', ARGV[2])
local done, back, front = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local first_back, first_front, first_dead = 6 + done, 6 + done + back, 6 + done + back + front
local time = redis.call('TIME')
if done > 0 or first_dead <= #ARGV then redis.call('SET', KEYS[6], string.format('%d.%06d', time[1], time[2])) end
for i = first_back, first_front - 1 do redis.call('RPUSH', KEYS[1], ARGV[i]) end
for i = first_dead - 1, first_front, -1 do redis.call('LPUSH', KEYS[1], ARGV[i]) end
for i = first_dead, #ARGV, 2 do
  -- Where we counted as dead meanwhile, whoever has it now may have given it up before us.
  if redis.call('LPOS', KEYS[2], ARGV[i]) or redis.call('HEXISTS', KEYS[4], ARGV[i]) == 0 then
    redis.call('RPUSH', KEYS[3], ARGV[i])
  end
  redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1])
  redis.call('HDEL', KEYS[5], ARGV[i])
  redis.call('LREM', KEYS[2], 1, ARGV[i])
end
for i = 6, first_dead - 1 do
  if i < first_back then redis.call('HDEL', KEYS[5], ARGV[i]) end
  redis.call('LREM', KEYS[2], 1, ARGV[i])
end
return 0
"""

SET_ATTEMPTS = """
-- attempts | item, how many it has spent, time to live
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""

HEARTBEAT = """
-- worker, active workers, holders, tombstone | id, time to live, fields of the worker: our standing
local before = redis.call('EXISTS', KEYS[1])
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'lastHeartbeat', string.format('%d%03d', time[1], time[2] / 1000), unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
return redis.call('DEL', KEYS[4]) == 1 and 2 or 1 - before
"""

LIST_DEAD_WORKERS = """
-- holders | the beginning of the key of a worker: those who hold something and give no sign of life
local found = {}
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  if redis.call('EXISTS', ARGV[1] .. name) == 0 then found[#found + 1] = name end
end
return found
"""

RECOVER = """
-- queue, theirs, worker, active workers, holders, tombstone | id, time to live: to the head, in their order
if redis.call('EXISTS', KEYS[3]) == 1 then return -1 end
for i = 4, 5 do redis.call('SCARD', KEYS[i]) end
local count = redis.call('LLEN', KEYS[2])
for i = 1, count do redis.call('LMOVE', KEYS[2], KEYS[1], 'RIGHT', 'LEFT') end
redis.call('SET', KEYS[6], count, 'EX', ARGV[2])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
return count
"""

UNREGISTER = """
-- queue, ours, worker, active workers, holders, settled | id
for i = 4, 5 do redis.call('SCARD', KEYS[i]) end
local count = redis.call('LLEN', KEYS[2])
for i = 1, count do redis.call('LMOVE', KEYS[2], KEYS[1], 'RIGHT', 'LEFT') end
redis.call('DEL', KEYS[3], KEYS[6])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
return count
"""
