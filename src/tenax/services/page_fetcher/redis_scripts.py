"""Atomic Redis scripts. All keys are passed by name. Each script may be repeated after a lost reply.

Redis does not undo a script that fails half way. So each script first reads every key, which fails if a type is wrong.
It writes an item to its new list before it removes the item from the old one. A full Redis refuses the first write of a
script, or none.
"""

from __future__ import annotations

PEEK = """
-- queue | offset, limit: returns the length of the queue, and the items, which stay there
local items = redis.call('LRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1)
table.insert(items, 1, redis.call('LLEN', KEYS[1]))
return items
"""

TAKE = """
-- queue, own list, holders | id, offset, limit, a marker that is no item, then the items: moves those still there to
-- the end of the own list. The holder is registered in the same script: it may run late, after the worker has left.
redis.call('LLEN', KEYS[2])
redis.call('SCARD', KEYS[3])
local first, wanted, taken, indexes = tonumber(ARGV[2]), {}, {}, {}
for i = 5, #ARGV do wanted[ARGV[i]] = (wanted[ARGV[i]] or 0) + 1 end
for i, item in ipairs(redis.call('LRANGE', KEYS[1], first, first + ARGV[3] - 1)) do
  if (wanted[item] or 0) > 0 then
    wanted[item] = wanted[item] - 1
    taken[#taken + 1], indexes[#indexes + 1] = item, first + i - 1
  end
end
if #taken == 0 then return taken end
redis.call('RPUSH', KEYS[2], unpack(taken))
redis.call('SADD', KEYS[3], ARGV[1])
if indexes[#indexes] == #taken - 1 then
  redis.call('LTRIM', KEYS[1], #taken, -1)
else
  -- By index, in one pass: an item may be there more than once.
  for _, index in ipairs(indexes) do redis.call('LSET', KEYS[1], index, ARGV[4]) end
  local is_near_head = indexes[1] < redis.call('LLEN', KEYS[1]) / 2
  redis.call('LREM', KEYS[1], is_near_head and #taken or -#taken, ARGV[4])
end
return taken
"""

SETTLE = """
-- queue, own list, dead letters, reasons, attempts, activity, settled | number of this call, its time to live, counts
-- of items that are done, go to the end and go to the head, these items, then each dead letter and its reason
for i = 1, 3 do redis.call('LLEN', KEYS[i]) end
for i = 4, 5 do redis.call('HLEN', KEYS[i]) end
redis.call('STRLEN', KEYS[6])
-- Repeated after a lost reply: its requeued items are in the queue already.
if tonumber(redis.call('GET', KEYS[7]) or '0') >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[7], ARGV[1], 'EX', ARGV[2])
local done, back, front = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local first_back, first_front, first_dead = 6 + done, 6 + done + back, 6 + done + back + front
local time = redis.call('TIME')
if done > 0 or first_dead <= #ARGV then redis.call('SET', KEYS[6], string.format('%d.%06d', time[1], time[2])) end
for i = first_back, first_front - 1 do redis.call('RPUSH', KEYS[1], ARGV[i]) end
for i = first_dead - 1, first_front, -1 do redis.call('LPUSH', KEYS[1], ARGV[i]) end
for i = first_dead, #ARGV, 2 do
  -- If our lease expired meanwhile, another worker may have given it up before us.
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
-- attempts | item, number of spent attempts, time to live
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""

HEARTBEAT = """
-- worker, active workers, holders, tombstone | id, time to live, fields of the worker: returns the worker's status
local before = redis.call('EXISTS', KEYS[1])
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'lastHeartbeat', string.format('%d%03d', time[1], time[2] / 1000), unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
return redis.call('DEL', KEYS[4]) == 1 and 2 or 1 - before
"""

LIST_DEAD_WORKERS = """
-- holders | key prefix of workers: returns the holders without a live lease
local found = {}
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  if redis.call('EXISTS', ARGV[1] .. name) == 0 then found[#found + 1] = name end
end
return found
"""

RECOVER = """
-- queue, its list, worker, active workers, holders, tombstone | id, time to live: moves its items to the head, in order
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
-- queue, own list, worker, active workers, holders, settled | id
for i = 4, 5 do redis.call('SCARD', KEYS[i]) end
local count = redis.call('LLEN', KEYS[2])
for i = 1, count do redis.call('LMOVE', KEYS[2], KEYS[1], 'RIGHT', 'LEFT') end
redis.call('DEL', KEYS[3], KEYS[6])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
return count
"""
