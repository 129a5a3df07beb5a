import { script } from "./servers/script.ts";

/**
 * Entries that the log has, about: a gateway that was away for longer loads everything. One change a second for hours, or a burst of renewals and small changes
 * of all clusters; loading is cheaper than applying more.
 */
const MOST_ENTRIES = 10_000;
/** Bytes of entries after which those before the last such mark are trimmed: the log never has more than twice as many, and one entry. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Seconds for which rows of a large change are there after its entry: a gateway that comes later loads everything. */
const KEPT_FOR = 120;

const NOW = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

/**
 * Adds a change of a cluster: keys `head`, `log`, `clusters`, the cluster's rows, rows of a large change. Values: format, name of the log, id of the entry, cluster id, sum of the row
 * that it builds on (0 for none), the row's sum and text afterwards, `expiry` for a lease that has to have ended (or nothing), milliseconds until the lease ends, `1` where all rows go
 * first (or nothing), founding day (or nothing), bytes of the entry, how many values are in the list (see `readEntry`), and fields and values of the entry in turns: the first pair is
 * `change` or `staged`, others are rows. An empty value removes a row. Returns the position; `changed` where it builds on another row, or the lease has not ended; `other` where the log has another name;
 * `unstaged` where the list is not there; `format <version>`. Then nothing is changed.
 */
export const APPEND = script(`
local head = redis.call('HMGET', KEYS[1], 'format', 'log', 'position', 'id', 'founding', 'bytes', 'mark')
if head[1] and head[1] ~= ARGV[1] then return 'format ' .. head[1] end
if head[2] and head[2] ~= ARGV[2] then return 'other' end
local sum, ends = string.match(redis.call('HGET', KEYS[3], ARGV[4]) or '', '^(%d+) (%d+) ')
if (sum or '0') ~= ARGV[5] then return 'changed' end
${NOW}
if ARGV[8] ~= '' then
  if now < tonumber(ends or '0') then return 'changed' end
else
  ends = string.format('%.0f', now + tonumber(ARGV[9]))
end
local staged = tonumber(ARGV[13])
if redis.call('LLEN', KEYS[5]) ~= staged then return 'unstaged' end
if not head[3] then redis.call('DEL', KEYS[2]) end
local position = string.format('%.0f', tonumber(head[3] or '0') + 1)
local rows = {}
for at = 16, #ARGV do rows[#rows + 1] = ARGV[at] end
-- First of all that is written: where memory is short it fails, and nothing is changed.
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ${MOST_ENTRIES}, position .. '-0', 'id', ARGV[3], 'before', head[4] or '', ARGV[14], ARGV[15], unpack(rows))
local function put(values)
  local set, removed = {}, {}
  for at = 1, #values, 2 do
    if values[at + 1] == '' then
      removed[#removed + 1] = values[at]
    else
      set[#set + 1] = values[at]
      set[#set + 1] = values[at + 1]
    end
  end
  if #set > 0 then redis.call('HSET', KEYS[4], unpack(set)) end
  if #removed > 0 then redis.call('HDEL', KEYS[4], unpack(removed)) end
end
if ARGV[10] ~= '' then redis.call('UNLINK', KEYS[4]) end
put(rows)
for from = 1, staged - 1, 2000 do put(redis.call('LRANGE', KEYS[5], from, from + 1999)) end
if staged > 0 then redis.call('EXPIRE', KEYS[5], ${KEPT_FOR}) end
redis.call('HSET', KEYS[3], ARGV[4], ARGV[6] .. ' ' .. ends .. ' ' .. ARGV[7])
local bytes = tonumber(head[6] or '0') + tonumber(ARGV[12])
local fields = {'format', ARGV[1], 'log', ARGV[2], 'position', position, 'id', ARGV[3]}
if ARGV[11] ~= '' and not string.find(head[5] or '', '"over":true', 1, true) then
  fields[#fields + 1] = 'founding'
  fields[#fields + 1] = ARGV[11]
end
if bytes > ${MOST_BYTES} then
  if head[7] then redis.call('XTRIM', KEYS[2], 'MINID', head[7] .. '-0') end
  bytes = 0
  fields[#fields + 1] = 'mark'
  fields[#fields + 1] = position
end
fields[#fields + 1] = 'bytes'
fields[#fields + 1] = string.format('%.0f', bytes)
redis.call('HSET', KEYS[1], unpack(fields))
return tonumber(position)
`);

/**
 * Reads where the log is: keys `head`, `log`; value a position. Returns format, name, position and id of the newest entry, founding day, position and predecessor of the
 * first entry after the given position, each empty where there is none; and the engine's time in milliseconds.
 */
export const HEAD = script(`
local head = redis.call('HMGET', KEYS[1], 'format', 'log', 'position', 'id', 'founding')
local next = redis.call('XRANGE', KEYS[2], '(' .. ARGV[1] .. '-0', '+', 'COUNT', 1)[1]
${NOW}
return {head[1] or '', head[2] or '', head[3] or '0', head[4] or '', head[5] or '', next and next[1] or '', next and next[2][4] or '', string.format('%.0f', now)}
`);

/** Gives the log another name: key `head`; values its name, and the new one. */
export const RENAME = script(`
if redis.call('HGET', KEYS[1], 'log') == ARGV[1] then redis.call('HSET', KEYS[1], 'log', ARGV[2]) end
return 'done'
`);
