import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkout, runProgram } from "../harness/cli.ts";
import { type GatewayClient, gatewayClient } from "../harness/gateway-client.ts";
import { freePort } from "../servers/ports.ts";
import { removeFolder, temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { buildImage } from "./build.ts";
import { type Container, finishImage, type Image, startContainer } from "./container.ts";
import { imageConfig, readDockerfile } from "./dockerfile.ts";

const dockerfile = join(checkout, "infra/container/Dockerfile");
const stages = readDockerfile(dockerfile);

test("hadolint has no findings for the Dockerfile, not even about style", async () => {
  const hadolint = await ensureTool("hadolint");
  const lint = (path: string) => runProgram(hadolint, ["--no-color", "--failure-threshold", "style", path]);
  expect(await lint(dockerfile)).toMatchObject({ code: 0, stdout: "" });
  const worse = join(temporaryFolder("lint"), "Dockerfile");
  writeFileSync(worse, readFileSync(dockerfile, "utf8").replace(/^FROM node\S+/m, "FROM node"));
  expect(await lint(worse)).toMatchObject({ code: 1, stdout: expect.stringContaining("DL3006") });
});

describe("the image, built without a container engine", () => {
  let folder: string;
  let image: Image;
  let state: string;
  let gateway: GatewayClient;
  let serve: () => Promise<Container>;
  let running: Container | undefined;

  beforeAll(async () => {
    folder = temporaryFolder("image");
    const root = await buildImage(stages, checkout, folder);
    await finishImage(root);
    image = { root, config: imageConfig(stages) };
    state = join(folder, "volume");
    mkdirSync(state);
    // An engine gives a new volume the owner and the mode of the folder in the image.
    chownSync(state, 65532, 65532);
    chmodSync(state, 0o700);

    const secrets = join(folder, "secrets");
    mkdirSync(secrets);
    writeFileSync(join(secrets, "east"), "a-token-of-the-end-to-end-tests-of-the-container\n");
    const port = await freePort();
    const caFile = join(state, ".clusterset-doh/tls/self-signed.crt");
    gateway = gatewayClient(
      `https://127.0.0.1:${port}`,
      () => readFileSync(caFile, "utf8"),
      () => join(secrets, "east"),
    );
    serve = () =>
      startContainer(image, {
        name: "gateway-container",
        args: ["serve", "--listen", `127.0.0.1:${port}`, "--cluster-token", "east=/run/secrets/east"],
        mounts: { "/run/secrets": secrets },
        volume: state,
        ready: async () => (await gateway.http("/healthz")).status === 200,
      });
  });

  afterAll(async () => {
    await running?.stop();
    removeFolder(folder);
  });

  /** What a script prints that runs in place of the command. */
  async function inside<T>(script: string, options: { volume?: string } = {}): Promise<T> {
    const container = await startContainer(image, {
      name: "probe",
      entrypoint: ["node"],
      args: ["-e", script],
      ...options,
    });
    expect([await container.ended(), container.log()]).toEqual([0, expect.stringMatching(/^\{.*\}\n$/)]);
    return JSON.parse(container.log()) as T;
  }

  test("without arguments it prints its commands", async () => {
    const container = await startContainer(image, { name: "help", args: image.config.cmd });
    expect(await container.ended()).toBe(0);
    expect(container.log()).toMatch(/^Usage: clusterset-doh.*\bserve\b.*\bsync\b/s);
  });

  test("it runs as an unprivileged user, and cannot gain a capability", async () => {
    const script = `
      const status = Object.fromEntries(require("fs").readFileSync("/proc/self/status", "utf8")
        .split("\\n").map((line) => line.split(":\\t")));
      console.log(JSON.stringify({ uid: process.getuid(), groups: [...new Set([process.getgid(), ...process.getgroups()])],
        effective: status.CapEff, permitted: status.CapPrm, noNewPrivileges: status.NoNewPrivs }))`;
    expect(await inside(script)).toEqual({
      uid: 65532,
      groups: [65532],
      effective: "0000000000000000",
      permitted: "0000000000000000",
      noNewPrivileges: "1",
    });
  });

  test("only the state folder is writable, and only with a volume", async () => {
    const script = `
      const { writeFileSync } = require("fs");
      const write = (folder) => { try { writeFileSync(folder + "/file", ""); return "written" } catch ({ code }) { return code } };
      console.log(JSON.stringify(Object.fromEntries(
        ["/", "/app", "/app/dist", "/etc", "/tmp", "/usr/local/bin", process.cwd()].map((folder) => [folder, write(folder)]))))`;
    const readOnly = Object.fromEntries(
      ["/", "/app", "/app/dist", "/etc", "/tmp", "/usr/local/bin"].map((path) => [path, "EROFS"]),
    );
    const [volume] = image.config.volumes;
    expect(await inside(script, { volume: state })).toEqual({ ...readOnly, [volume!]: "written" });
    expect(await inside(script)).toEqual({ ...readOnly, [volume!]: "EROFS" });
  });

  test("it has no package manager and no compiler, and needs no shell", async () => {
    const script = `
      const { existsSync, readdirSync } = require("fs");
      console.log(JSON.stringify({
        programs: process.env.PATH.split(":").flatMap((folder) => existsSync(folder) ? readdirSync(folder) : []),
        compiler: existsSync("/app/node_modules/typescript"), source: existsSync("/app/src"), own: readdirSync("/app").sort() }))`;
    expect(await inside(script)).toEqual({
      programs: ["node"],
      compiler: false,
      source: false,
      own: ["LICENSE", "bin", "dist", "node_modules", "package.json"],
    });
  });

  test("the gateway serves a push, stops cleanly, and serves it again after a restart", async () => {
    running = await serve();
    const secrets = mounted({
      east: `${gateway.tokenFor("east")}\n`,
      "gateway.crt": readFileSync(join(state, ".clusterset-doh/tls/self-signed.crt"), "utf8"),
    });
    const push = await startContainer(image, {
      name: "sync-manifests",
      args: [
        "sync",
        "--once",
        "--manifests=/manifests",
        "--cluster-id=east",
        `--gateway=${gateway.url}`,
        "--token-file=/run/secrets/east",
        "--ca-file=/run/secrets/gateway.crt",
      ],
      mounts: { "/run/secrets": secrets, "/manifests": join(checkout, "examples/cluster-a") },
    });
    expect([await push.ended(), push.log()]).toEqual([0, expect.stringContaining("acknowledged")]);
    const web = () => gateway.lookup("web.shop.svc.clusterset.local", "A");
    const { values } = await web();
    expect(values).not.toEqual([]);
    expect(await running.stop()).toBe(0);
    running = await serve();
    expect((await web()).values).toEqual(values);
  });

  test("the state folder contains no token, and only its owner can read it", async () => {
    const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files).not.toHaveLength(0);
    for (const { parentPath, name } of files)
      expect.soft(readFileSync(join(parentPath, name), "utf8"), name).not.toContain(gateway.tokenFor("east"));
    expect(statSync(state).mode & 0o077).toBe(0);
  });

  /** A Secret as the kubelet mounts it with `fsGroup` 65532 and `defaultMode` 0440. */
  function mounted(files: Record<string, string>): string {
    const path = temporaryFolder("mounted");
    chmodSync(path, 0o755);
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(path, name), text, { mode: 0o440 });
      chownSync(join(path, name), 0, 65532);
    }
    return path;
  }
});
