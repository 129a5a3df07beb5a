import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { ApiConnection } from "../../../src/worker/api-connection.ts";
import { type ApiError, ApiServer } from "../../../src/worker/api-server.ts";
import { folderOfTest } from "../../folders.ts";
import { makeAuthority, makeClient } from "../../hosts/client-certificates.ts";
import { until } from "../../until.ts";
import { KeptLogs } from "../logs.ts";
import { startApiServers } from "./api-servers.ts";
import { writeFiles } from "./kubeconfig-folder.ts";

const V1 = "client.authentication.k8s.io/v1";
const signal = new AbortController().signal;
const servers = await startApiServers();
let folder: string;
let logs: KeptLogs;

afterAll(() => servers.close());
beforeEach(() => {
  servers.reset();
  folder = folderOfTest();
  logs = new KeptLogs();
  writeFiles(folder, { "api.crt": servers.authority });
});

const write = (
  user: object,
  more: { readonly server?: string; readonly current?: string; readonly others?: object[] } = {},
) =>
  writeFiles(folder, {
    config: {
      clusters: [
        { name: "one", cluster: { server: more.server ?? servers.one, "certificate-authority": "api.crt" } },
      ],
      users: [{ name: "one", user }],
      contexts: [{ name: "one", context: { cluster: "one", user: "one" } }, ...(more.others ?? [])],
      "current-context": more.current ?? "one",
    },
  });

function connect() {
  const connection = new ApiConnection({ kubeconfig: join(folder, "config") }, logs);
  /** The status of a request over another connection, and the credential that it had. */
  const get = async () => {
    const api = new ApiServer(connection);
    const status = await api.text("/api", signal).then(
      () => 200,
      (error: Partial<ApiError>) => error.status ?? error.message,
    );
    api.close();
    const { server, authorization } = servers.seen.at(-1)!;
    return `${server}: ${authorization} ${status}`;
  };
  return { connection, get };
}

test("a token that is renewed in the kubeconfig counts with the next connection", async () => {
  write({ token: "old" });
  const { get } = connect();
  expect(await get()).toBe("one: Bearer old 200");
  servers.reject.set("Bearer old", 401);
  expect(await get()).toBe("one: Bearer old 401");
  write({ token: "new" });
  expect(await get()).toBe("one: Bearer new 200");
  expect(logs.lines).toEqual(["info: the kubeconfig changed on disk: its credentials count from now on"]);
});

test("a token that expires while a connection is open is replaced within the next request", async () => {
  write({ token: "old" });
  const api = new ApiServer(connect().connection);
  onTestFinished(() => api.close());
  await api.text("/api", signal);
  servers.reject.set("Bearer old", 401);
  write({ token: "new" });
  await api.text("/api", signal);
  expect(servers.seen.map(({ authorization }) => authorization)).toEqual([
    "Bearer old",
    "Bearer old",
    "Bearer new",
  ]);
  servers.reject.set("Bearer new", 401);
  await expect(api.text("/api", signal)).rejects.toMatchObject({ status: 401 });
});

test("a renewed tokenFile, client certificate and authority count with the next connection", async () => {
  write({ tokenFile: "token", "client-certificate": "me.crt", "client-key": "me.key" });
  writeFiles(folder, { token: "old", "me.crt": servers.client.cert, "me.key": servers.client.key });
  const { get } = connect();
  expect(await get()).toBe("one: Bearer old 200");
  const renewed = await makeClient(await makeAuthority("clients"), "renewed");
  writeFiles(folder, { token: "new\n", "me.crt": renewed.cert, "me.key": renewed.key });
  expect(await get()).toBe("one: Bearer new 200");
  expect(servers.seen.map(({ certificate }) => certificate)).toEqual(["worker", "renewed"]);
  writeFiles(folder, { "api.crt": renewed.cert });
  expect(await get()).toMatch(/certificate/);
});

test("the context stays that of the start, whatever becomes the current one", async () => {
  write({ token: "t" });
  const { get } = connect();
  write(
    { token: "new" },
    { current: "two", others: [{ name: "two", context: { cluster: "two", user: "one" } }] },
  );
  expect(await get()).toBe("one: Bearer new 200");
});

test("a kubeconfig that leads to another server, is broken or gone changes nothing, and is reported once", async () => {
  write({ token: "old" });
  const { get } = connect();
  for (const [change, reason] of [
    [() => write({ token: "new" }, { server: servers.two }), "now leads to https"],
    [() => writeFiles(folder, { config: "clusters: [" }), "is not YAML"],
    [() => rmSync(join(folder, "config")), "does not exist"],
  ] as const) {
    change();
    for (let again = 0; again < 2; again++) expect(await get()).toBe("one: Bearer old 200");
    expect(logs.lines.splice(0)).toEqual([
      expect.stringMatching(`^warn: .*${reason}.*what the worker has read before counts`),
    ]);
  }
  write({ token: "new" });
  expect(await get()).toBe("one: Bearer new 200");
});

/** A plugin that counts its runs in a file, and returns the token of another one. */
const COUNTING = `#!/bin/sh
cd "$(dirname "$0")"
echo run >> runs
printf '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"%s"%s}}' "$(cat current-token)" "$(cat expiry)"
`;
const runs = () => readFileSync(join(folder, "runs"), "utf8").trim().split("\n").length;
const exec = (more: object = {}) => ({
  exec: { apiVersion: V1, command: "./plugin.sh", interactiveMode: "Never", ...more },
});

test("a plugin without an expiry runs once, and again after a 401", async () => {
  write(exec());
  writeFiles(folder, { "plugin.sh": COUNTING, "current-token": "old", expiry: "" });
  const { get } = connect();
  expect(await Promise.all([get(), get(), get()])).toEqual(Array(3).fill("one: Bearer old 200"));
  expect(runs()).toBe(1);
  servers.reject.set("Bearer old", 401);
  expect(await get()).toBe("one: Bearer old 401");
  writeFiles(folder, { "current-token": "new" });
  expect(await get()).toBe("one: Bearer new 200");
  expect(await get()).toBe("one: Bearer new 200");
  expect(runs()).toBe(2);
});

test("a plugin runs again when its credential has expired", async () => {
  write(exec());
  const expiry = (milliseconds: number) =>
    `,"expirationTimestamp":"${new Date(Date.now() + milliseconds).toISOString()}"`;
  writeFiles(folder, { "plugin.sh": COUNTING, "current-token": "old", expiry: expiry(-1000) });
  const { get } = connect();
  await get();
  writeFiles(folder, { "current-token": "new", expiry: expiry(3_600_000) });
  expect(await get()).toBe("one: Bearer new 200");
  expect(await get()).toBe("one: Bearer new 200");
  expect(runs()).toBe(2);
});

test("a plugin that hangs ends with the worker", async () => {
  write(exec());
  writeFiles(folder, { "plugin.sh": '#!/bin/sh\ncd "$(dirname "$0")"\necho $$ > pid\nexec sleep 1000\n' });
  const { connection } = connect();
  const opened = connection.open();
  await until(() => expect(existsSync(join(folder, "pid"))).toBe(true));
  connection.close();
  await expect(opened).rejects.toMatchObject({ code: "API_UNAUTHENTICATED" });
  await until(() =>
    expect(() => process.kill(Number(readFileSync(join(folder, "pid"), "utf8")), 0)).toThrow(),
  );
});
