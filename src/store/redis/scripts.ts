import { createHash } from "node:crypto";

/** A Lua script, which the engine runs at once: nothing happens between its commands. */
export interface Script {
  readonly text: string;
  /** By which EVALSHA knows it. */
  readonly sha1: string;
}

/** A script of a text. */
export function script(text: string): Script {
  return { text, sha1: createHash("sha1").update(text).digest("hex") };
}

/**
 * Makes a gateway the writer: keys `writer`; value the format version. Returns its number, which is higher than that of any writer before, or `format <version>`.
 * The engine's clock makes it higher than those that the engine lost, too.
 */
export const CLAIM = script(`
local format = redis.call('HGET', KEYS[1], 'format')
if format and format ~= ARGV[1] then return 'format ' .. format end
local time = redis.call('TIME')
local last = tonumber(redis.call('HGET', KEYS[1], 'number') or '0')
local number = math.max(time[1] * 1000 + math.floor(time[2] / 1000), last + 1)
number = string.format('%.0f', number)
redis.call('HSET', KEYS[1], 'format', ARGV[1], 'number', number)
return number
`);

/** Returns from a script unless the gateway with the number ARGV[1] is the writer, or was it when the engine lost writes. */
const UNLESS_WRITER = `
local number = tonumber(redis.call('HGET', KEYS[1], 'number') or '0')
if number > tonumber(ARGV[1]) then return 'taken' end
`;
const STAY_WRITER = `
if number < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'number', ARGV[1], 'format', ARGV[2]) end
`;

/**
 * Changes a cluster: keys `writer`, `clusters`, `staged`, its entries and, where others replace them, those before; values: the writer's number, the format version,
 * the cluster id, its state before and after (empty for none), how many values are set, their fields and texts, fields to remove. Returns `done`; `taken` where
 * another gateway is the writer; `changed` where the state is not that before. Then nothing is changed.
 */
export const CHANGE = script(`${UNLESS_WRITER}
if (redis.call('HGET', KEYS[2], ARGV[3]) or '') ~= ARGV[4] then return 'changed' end
${STAY_WRITER}
if ARGV[5] == '' then redis.call('HDEL', KEYS[2], ARGV[3]) else redis.call('HSET', KEYS[2], ARGV[3], ARGV[5]) end
local last = 6 + 2 * tonumber(ARGV[6])
for index = 7, last, 2 do redis.call('HSET', KEYS[4], ARGV[index], ARGV[index + 1]) end
for index = last + 1, #ARGV do redis.call('HDEL', KEYS[4], ARGV[index]) end
redis.call('SREM', KEYS[3], KEYS[4])
if KEYS[5] then redis.call('UNLINK', KEYS[5]) end
return 'done'
`);

/** Keeps a record: keys `writer` and the table; values: the writer's number, the format version, name and text. Returns `done` or `taken`. */
export const RECORD = script(`${UNLESS_WRITER}${STAY_WRITER}
redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
return 'done'
`);
