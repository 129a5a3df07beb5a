/**
 * Loaded before a program (`--import`): a transaction of SQLite that is to be on the disk waits while the
 * file HELD_UP_FILE exists, and its thread with it, as on a disk that does not answer.
 */
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const path = process.env.HELD_UP_FILE;
if (path === undefined) throw new Error("HELD_UP_FILE is not set");
const asleep = new Int32Array(new SharedArrayBuffer(4));

const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (sql) {
  if (sql === "COMMIT") while (existsSync(path)) Atomics.wait(asleep, 0, 0, 20);
  exec.call(this, sql);
};
