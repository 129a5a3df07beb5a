import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = new URL("../../../", import.meta.url);

/** The packages that a process has loaded once it has imported a module of src/. */
function packagesOf(module: string): string[] {
  const program = `
    import { registerHooks } from "node:module";
    const packages = new Set();
    registerHooks({
      load(url, context, next) {
        const [, name] = /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
        if (name !== undefined) packages.add(name);
        return next(url, context);
      },
    });
    await import(${JSON.stringify(new URL(`src/${module}`, root).href)});
    console.log(JSON.stringify([...packages]));
    process.exit();`;
  const options = { encoding: "utf8", cwd: fileURLToPath(root) } as const;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", program], options));
}

/** Clients of what most gateways do not have take longer to load than the rest. */
const OF_FEW = ["@kubernetes/client-node", "@redis/client", "selfsigned", "socks", "undici"];

it.each([
  ["a gateway", "hosts/node/gateway-host.ts", OF_FEW],
  ["the check of a configuration", "hosts/commands/check.ts", ["@kubernetes/client-node", "@redis/client"]],
  ["the command line", "hosts/cli/program.ts", OF_FEW],
  ["a query", "hosts/commands/query.ts", ["@kubernetes/client-node", "@redis/client"]],
  ["a status", "hosts/commands/status.ts", ["@kubernetes/client-node", "@redis/client"]],
])("%s loads no package that it does not need", (_, module, unneeded) => {
  const loaded = packagesOf(module);
  expect(loaded).toContain("zod");
  expect(loaded.filter((name) => unneeded.includes(name))).toEqual([]);
});
