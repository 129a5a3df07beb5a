import { existsSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ApiConnection } from "../../../src/worker/api-connection.ts";
import { type ApiError, ApiServer } from "../../../src/worker/api-server.ts";
import { describeCauses as describeError, SourceError } from "../../../src/worker/object-source.ts";
import { folderOfTest } from "../../folders.ts";
import { makeAuthority, makeClient } from "../../hosts/client-certificates.ts";
import { until } from "../../until.ts";
import { KeptLogs } from "../logs.ts";
import { startApiServers } from "./api-servers.ts";
import { exec, KUBECONFIG_CASES, statusOf } from "./kubeconfig-cases.ts";
import { readInfo, writeCase, writeFiles } from "./kubeconfig-folder.ts";

const servers = await startApiServers();
afterAll(() => servers.close());
beforeEach(servers.reset);

const signal = new AbortController().signal;

test.each(KUBECONFIG_CASES)("$title", async (one) => {
  const { folder, variables, flags } = writeCase(one, servers);
  const pod = one.inPod === true && {
    KUBERNETES_SERVICE_HOST: "127.0.0.1",
    KUBERNETES_SERVICE_PORT: new URL(servers.two).port,
  };
  const get = async () => {
    const connection = new ApiConnection(flags, undefined, {
      variables: { ...variables, ...pod },
      serviceAccount: folder,
    });
    const api = new ApiServer(connection);
    await api.text("/api", signal).finally(() => api.close());
  };
  if (one.expected instanceof RegExp) {
    const error = await get().catch((cause: unknown) => cause);
    expect(error instanceof SourceError ? error.message : describeError(error)).toMatch(one.expected);
    expect(servers.seen).toEqual([]);
  } else {
    await get();
    expect(servers.seen).toEqual([{ path: "/api", ...one.expected }]);
    if (one.info !== undefined) expect(readInfo(folder)).toEqual(one.info(servers));
  }
});

test.each([
  ["a file, a home and a pod", {}, "neither KUBECONFIG nor HOME is set"],
  ["a file in KUBECONFIG and a pod", { KUBECONFIG: delimiter, HOME: "/" }, "KUBECONFIG names no file"],
])("without %s the error says what to give", (_, variables, why) => {
  const connect = () => new ApiConnection({}, undefined, { variables, serviceAccount: "/none" });
  expect(connect).toThrow(new RegExp(`no kubeconfig: ${why}.*--kubeconfig`));
});

describe("what changes on disk", () => {
  let folder: string;
  let logs: KeptLogs;
  beforeEach(() => {
    folder = folderOfTest();
    logs = new KeptLogs();
    writeFiles(folder, { "api.crt": servers.authority });
  });

  const context = (name: string) => ({ name, context: { cluster: name, user: "one" } });
  function write(user: object, server = servers.one, current = "one"): void {
    const cluster = { server, "certificate-authority": "api.crt" };
    const users = [{ name: "one", user }];
    const contexts = [context("one"), context("two")];
    const clusters = [{ name: "one", cluster }];
    writeFiles(folder, { config: { clusters, users, contexts, "current-context": current } });
  }

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

  test("a token that is renewed in the kubeconfig counts with the next connection, in the context of the start", async () => {
    write({ token: "old" });
    const { get } = connect();
    expect(await get()).toBe("one: Bearer old 200");
    servers.reject.set("Bearer old", 401);
    expect(await get()).toBe("one: Bearer old 401");
    write({ token: "new" }, undefined, "two");
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
    const seen = servers.seen.map(({ authorization }) => authorization);
    expect(seen).toEqual(["Bearer old", "Bearer old", "Bearer new"]);
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

  test("a kubeconfig that leads to another server, is broken or gone changes nothing, and is reported once", async () => {
    write({ token: "old" });
    const { get } = connect();
    for (const [change, reason] of [
      [() => write({ token: "new" }, servers.two), "now leads to https"],
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

  test("a plugin runs once, and again after a 401 or when its credential has expired", async () => {
    const plugin = '#!/bin/sh\ncd "$(dirname "$0")"\necho run >> runs\ncat status\n';
    const runs = () => readFileSync(join(folder, "runs"), "utf8").trim().split("\n").length;
    /** Lets the plugin return a token that is valid for so long. */
    const issue = (token: string, milliseconds?: number) => {
      const end = milliseconds && new Date(Date.now() + milliseconds).toISOString();
      writeFiles(folder, { status: statusOf({ token, expirationTimestamp: end }) });
    };
    write(exec());
    writeFiles(folder, { "plugin.sh": plugin });
    issue("old");
    const { get } = connect();
    expect(await Promise.all([get(), get(), get()])).toEqual(Array(3).fill("one: Bearer old 200"));
    expect(runs()).toBe(1);
    servers.reject.set("Bearer old", 401);
    expect(await get()).toBe("one: Bearer old 401");
    issue("new", -1000);
    expect([await get(), runs()]).toEqual(["one: Bearer new 200", 2]);
    issue("newer", 3_600_000);
    for (let again = 0; again < 2; again++)
      expect([await get(), runs()]).toEqual(["one: Bearer newer 200", 3]);
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
});
