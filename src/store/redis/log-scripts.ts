import { script } from "./servers/script.ts";

/**
 * Entries that the log has, about: a gateway that was away for longer loads everything. One change a second for hours, or a burst of renewals and small changes
 * of all clusters; loading is cheaper than applying more.
 */
const MOST_ENTRIES = 10_000;
/** Characters of entries after which those before the last such mark are trimmed: the log never has more than twice as many, and one entry. */
const MOST_CHARACTERS = 32 * 1024 * 1024;

/**
 * Refuses another format, reads what every new entry needs, and drops what a lost log left. KEYS[1] is the head, KEYS[2] the log, KEYS[3] where clusters left, ARGV[1] the format,
 * ARGV[2] what makes the id unique.
 */
const BEGIN = `
local head = redis.call('HMGET', KEYS[1], 'format', 'position', 'id', 'bytes', 'mark')
if head[1] and head[1] ~= ARGV[1] then return 'format ' .. head[1] end
if not head[2] then redis.call('DEL', KEYS[2], KEYS[3]) end
`;

/** Adds an entry, first of all that is written: where memory is short it fails, and nothing is changed. */
const ADD = `
local function add(entry, founding)
  local position = string.format('%.0f', tonumber(head[2] or '0') + 1)
  local id = position .. '-' .. ARGV[2]
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ${MOST_ENTRIES}, position .. '-0', 'id', id, 'before', head[3] or '', 'entry', entry)
  local bytes = tonumber(head[4] or '0') + #entry
  local fields = {'format', ARGV[1], 'position', position, 'id', id}
  if founding ~= '' then
    fields[#fields + 1] = 'founding'
    fields[#fields + 1] = founding
  end
  if bytes > ${MOST_CHARACTERS} then
    if head[5] then redis.call('XTRIM', KEYS[2], 'MINID', head[5] .. '-0') end
    bytes = 0
    fields[#fields + 1] = 'mark'
    fields[#fields + 1] = position
  end
  fields[#fields + 1] = 'bytes'
  fields[#fields + 1] = string.format('%.0f', bytes)
  redis.call('HSET', KEYS[1], unpack(fields))
  return {position, id}
end
`;

const NOW = `
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
`;

/**
 * Adds a change of a cluster: keys `head`, `log`, `left`, `clusters`, the cluster's ranks, its entries, those before (or the same again). Values: format, random text,
 * cluster id, base (empty for none), kind, length of the lease in milliseconds, version and meta (where the cluster goes `:` and a generation, or nothing; the last meta stays), the entry, the founding day (empty
 * for none); how many values set its entries, remove some, set its ranks, remove some; whether they are all its ranks (or empty); those values.
 * Returns position and id; `changed` where the base is not the newest, or the lease has not ended; `missing` where the cluster is not there (any can leave); `unstaged` where
 * the entries are not; `format <version>`. Then nothing is changed.
 */
export const APPEND = script(`${BEGIN}
local record = redis.call('HGET', KEYS[4], ARGV[3]) or ''
local id, renewed, lease, rest = string.match(record, '^(%d+%-%S+) (%d+) (%d+) (.*)$')
if (id or '') ~= ARGV[4] then return 'changed' end
local kind = ARGV[5]
local isWhole = kind == 'snapshot'
local isGone = kind == 'left' or kind == 'expired'
if not isWhole and kind ~= 'left' and not string.match(rest or '', '^[^!]') then return 'missing' end
if isWhole and redis.call('EXISTS', KEYS[6]) == 0 then return 'unstaged' end
${NOW}
if kind == 'expired' and tonumber(now) < tonumber(renewed) + tonumber(lease) then return 'changed' end
${ADD}
local added = add(ARGV[8], ARGV[9])
if kind == 'left' then redis.call('HSET', KEYS[3], ARGV[3], added[1]) end
local after = ARGV[7]
if isGone then
  now = renewed or now
  after = '!' .. kind .. after .. ' ' .. (string.match(rest or '', '^%S+ (.*)$') or '')
end
redis.call('HSET', KEYS[4], ARGV[3], added[2] .. ' ' .. now .. ' ' .. ARGV[6] .. ' ' .. after)
if isWhole then redis.call('PERSIST', KEYS[6]) end
if isGone or KEYS[7] ~= KEYS[6] then redis.call('UNLINK', KEYS[7]) end
if ARGV[14] ~= '' then redis.call('UNLINK', KEYS[5]) end
local at = 15
local function write(command, key, count)
  while count > 0 do
    local some = math.min(count, 4000)
    redis.call(command, key, unpack(ARGV, at, at + some - 1))
    at = at + some
    count = count - some
  end
end
write('HSET', KEYS[6], tonumber(ARGV[10]))
write('HDEL', KEYS[6], tonumber(ARGV[11]))
write('HSET', KEYS[5], tonumber(ARGV[12]))
write('HDEL', KEYS[5], tonumber(ARGV[13]))
return added
`);

/** Most addresses of one run of `DECIDE`: Lua passes no more than some thousand values at once. */
export const MOST_DECIDED = 1000;

/**
 * Decides orders: keys `head`, `log`, `left`, `addresses`; values: format, random text, the position of the newest entry that the decisions know, and for each address itself, the order
 * that the decision builds on, and the new one, as JSON (empty for none). Adds one entry with those that build on what is there, and have no claim of a cluster that left since. Returns
 * `done` or `format <version>`.
 */
export const DECIDE = script(`${BEGIN}
local addresses = {}
for at = 4, #ARGV, 3 do addresses[#addresses + 1] = ARGV[at] end
local known = tonumber(ARGV[3])
local left = {}
local function hasLeft(order)
  if order == '' then return false end
  for _, claim in ipairs(cjson.decode(order)) do
    local cluster = string.match(claim, '^%S+') or claim
    if left[cluster] == nil then left[cluster] = tonumber(redis.call('HGET', KEYS[3], cluster) or '0') end
    if left[cluster] > known then return true end
  end
  return false
end
local held = redis.call('HMGET', KEYS[4], unpack(addresses))
local members, set, removed = {}, {}, {}
for number, address in ipairs(addresses) do
  local at = number * 3 + 1
  local before, after = ARGV[at + 1], ARGV[at + 2]
  local order = held[number] or ''
  if order == before and order ~= after and not hasLeft(after) then
    if after == '' then
      removed[#removed + 1] = address
    else
      set[#set + 1] = address
      set[#set + 1] = after
    end
    members[#members + 1] = cjson.encode(address) .. ':' .. (after == '' and 'null' or after)
  end
end
if #members == 0 then return 'done' end
${ADD}
add('{"kind":"orders","orders":{' .. table.concat(members, ',') .. '}}', '')
if #set > 0 then redis.call('HSET', KEYS[4], unpack(set)) end
if #removed > 0 then redis.call('HDEL', KEYS[4], unpack(removed)) end
return 'done'
`);

/** Reads a cluster's record: key `clusters`; value its id. Returns the record (empty for none), and the engine's time in milliseconds. */
export const RECORD_NOW = script(`${NOW}
return {redis.call('HGET', KEYS[1], ARGV[1]) or '', now}
`);

/**
 * Reads values of a cluster as they are at one entry: keys `clusters`, its entries; values its id, the id of that entry, fields. Returns the values, with null where there is none; null where
 * another entry is the newest. One script, because two commands may reach two servers, of which one lost what the other has.
 */
export const VALUES_AT = script(`
local record = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if string.match(record, '^(%S+) ') ~= ARGV[2] then return nil end
local values = {}
for from = 3, #ARGV, 4000 do
  for _, value in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, from, math.min(from + 3999, #ARGV)))) do
    values[#values + 1] = value
  end
end
return values
`);

/**
 * Reads where the log is: keys `head`, `log`; value a position. Returns format, position and id of the newest entry, founding day, position and predecessor of the
 * first entry after the given position; each empty where there is none.
 */
export const HEAD = script(`
local head = redis.call('HMGET', KEYS[1], 'format', 'position', 'id', 'founding')
local next = redis.call('XRANGE', KEYS[2], '(' .. ARGV[1] .. '-0', '+', 'COUNT', 1)[1]
return {head[1] or '', head[2] or '0', head[3] or '', head[4] or '', next and next[1] or '', next and next[2][4] or ''}
`);
