"""What is done in Redis in one step. All keys are named; each script may be sent again after a lost answer."""

from __future__ import annotations

TAKE = """
-- queue, ours | most: from the head of the queue to the end of ours; how many are left, and the items
local items = redis.call('LPOP', KEYS[1], ARGV[1])
if not items then return {0} end
redis.call('RPUSH', KEYS[2], unpack(items))
table.insert(items, 1, redis.call('LLEN', KEYS[1]))
return items
"""

SETTLE = """
-- queue, ours, dead letters, reasons | how many done, how many back, the items, then each letter and its reason
local done, back = tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 3, 2 + done + back do redis.call('LREM', KEYS[2], 1, ARGV[i]) end
for i = 3 + done, 2 + done + back do redis.call('RPUSH', KEYS[1], ARGV[i]) end
for i = 3 + done + back, #ARGV, 2 do
  -- A letter sent again after a lost answer is no longer ours: it stands in the list already.
  if redis.call('LREM', KEYS[2], 1, ARGV[i]) == 1 or redis.call('HEXISTS', KEYS[4], ARGV[i]) == 0 then
    redis.call('RPUSH', KEYS[3], ARGV[i])
  end
  redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1])
end
return 0
"""

BEAT = """
-- worker, active workers, holders, tombstone | id, time to live, fields of the worker: our standing
local before = redis.call('EXISTS', KEYS[1])
local given_up = redis.call('DEL', KEYS[4])
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
return given_up == 1 and 2 or 1 - before
"""

RECOVER = """
-- queue, theirs, worker, active workers, holders, tombstone | id, time to live: to the head, in their order
if redis.call('EXISTS', KEYS[3]) == 1 then return -1 end
local count = redis.call('LLEN', KEYS[2])
for i = 1, count do redis.call('LMOVE', KEYS[2], KEYS[1], 'RIGHT', 'LEFT') end
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
redis.call('SET', KEYS[6], count, 'EX', ARGV[2])
return count
"""

LEAVE = """
-- queue, ours, worker, active workers, holders | id
local count = redis.call('LLEN', KEYS[2])
for i = 1, count do redis.call('LMOVE', KEYS[2], KEYS[1], 'RIGHT', 'LEFT') end
redis.call('DEL', KEYS[3])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
return count
"""
