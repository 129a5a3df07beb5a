import { afterAll, beforeEach, expect, test } from "vitest";
import { ApiConnection } from "../../../src/worker/api-connection.ts";
import { ApiServer } from "../../../src/worker/api-server.ts";
import { describeCauses as describeError, SourceError } from "../../../src/worker/object-source.ts";
import { startApiServers } from "./api-servers.ts";
import { KUBECONFIG_CASES } from "./kubeconfig-cases.ts";
import { readInfo, writeCase } from "./kubeconfig-folder.ts";

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

test("without a file, a home and a pod the error says what to give", () => {
  const connect = () => new ApiConnection({}, undefined, { variables: {}, serviceAccount: "/none" });
  expect(connect).toThrow(/no kubeconfig: neither KUBECONFIG nor HOME is set.*--kubeconfig/);
});
