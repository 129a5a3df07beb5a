import { expect, test } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import { RowLoad } from "../../src/database/row-change.ts";
import { Writer } from "../../src/database/writer.ts";
import { AnsweringState } from "../../src/gateway/answering-state.ts";
import { NOON, push, wholeLines } from "../database/pushing.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";
import { FakeClock } from "./fake-clock.ts";
import { memoryDatabase, REAL_QUERIES } from "./open-keyed.ts";

test("rows that are replaced while a follower reads all of them are in its answers after the next look", () => {
  const database = memoryDatabase();
  const writer = new Writer(database, () => expect.unreachable());
  push(writer, "east", "whole", wholeLines(emptySnapshot("east")));
  const reader = new Reader(database, () => expect.unreachable());
  const read = reader.clustersSince.bind(reader);
  // Beside it something is written, once, when it has read the rows of clusters.
  reader.clustersSince = (since) => {
    const rows = read(since);
    reader.clustersSince = read;
    writer.replace(new RowLoad(database), "log", { position: writer.reader.position(), id: "" }, undefined);
    return rows;
  };
  const names = { zones: {}, merging: {} };
  const follower = new AnsweringState({ reader, clock: new FakeClock(NOON), names, queries: REAL_QUERIES });
  expect([...follower.live.keys()]).toEqual(["east"]);
  follower.follow();
  expect([...follower.live.keys()]).toEqual([]);
});
