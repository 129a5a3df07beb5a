import { describe, expect, it } from "vitest";
import { ProxyInvalid, proxyOf } from "../../src/outgoing/dispatcher.ts";

const PROXY = "http://proxy.example:3128";
const of = (url: string, environment: Record<string, string>) => proxyOf(new URL(url), environment)?.origin;

describe("the proxy of an environment is chosen as by Go's clients (golang.org/x/net/http/httpproxy)", () => {
  it.each([
    ["", "https://a.example/", true],
    ["*", "https://a.example/", false],
    ["a.example", "https://a.example/", false],
    ["a.example", "https://b.a.example/", false],
    ["a.example", "https://ba.example/", true],
    [".a.example", "https://b.a.example/", false],
    [".a.example", "https://a.example/", true],
    ["*.a.example", "https://b.a.example/", false],
    ["*.a.example", "https://a.example/", true],
    [" A.Example ", "https://a.example/", false],
    ["a.example:443", "https://a.example/", false],
    ["a.example:6443", "https://a.example/", true],
    ["a.example:6443", "https://a.example:6443/", false],
    ["10.0.0.0/8", "https://10.96.0.1/", false],
    ["10.0.0.0/8", "https://11.0.0.1/", true],
    ["10.96.0.1", "https://10.96.0.1:6443/", false],
    ["10.96.0.1:443", "https://10.96.0.1:6443/", true],
    ["10.96.0.1:443", "https://10.96.0.1/", false],
    ["fd00::/8", "https://[fd00::1]/", false],
    ["[fd00::1]:443", "https://[fd00::1]/", false],
    ["[fd00::1]:6443", "https://[fd00::1]/", true],
    ["10.0.0.0/8", "https://[::ffff:10.0.0.1]/", false],
    ["10.0.0.0/8", "https://ten.example/", true],
    ["10.0.0.0/255.0.0.0", "https://10.0.0.1/", true],
    ["0.0.0.0/0", "https://192.0.2.1/", false],
    [":443", "https://a.example/", true],
    [".svc,.cluster.local,10.0.0.0/8", "https://kubernetes.default.svc/", false],
    ["", "https://localhost:6443/", false],
    ["", "https://[::1]:6443/", false],
  ])("NO_PROXY %j, %s: through the proxy: %s", (exceptions, url, isThrough) => {
    expect(of(url, { HTTPS_PROXY: PROXY, NO_PROXY: exceptions })).toBe(isThrough ? PROXY : undefined);
  });

  it.each([
    [{ HTTP_PROXY: PROXY }, "https://a.example/", undefined],
    [{ HTTP_PROXY: PROXY }, "http://a.example/", PROXY],
    [{ http_proxy: PROXY }, "http://a.example/", PROXY],
    [{ HTTPS_PROXY: PROXY }, "http://a.example/", undefined],
    [{ HTTPS_PROXY: "", https_proxy: PROXY }, "https://a.example/", PROXY],
    [{ HTTPS_PROXY: PROXY, https_proxy: "http://other.example:1" }, "https://a.example/", PROXY],
    [{ HTTPS_PROXY: PROXY, no_proxy: "a.example" }, "https://a.example/", undefined],
    [{ HTTPS_PROXY: "proxy.example:3128" }, "https://a.example/", PROXY],
    [{}, "https://a.example/", undefined],
  ])("%o, %s: %s", (environment, url, expected) => {
    expect(of(url, environment as Record<string, string>)).toBe(expected);
  });

  it.each(["socks4://proxy.example", "http://", "ftp://u:secret@proxy.example", "::"])(
    "%s is an error that names the variable, and not its text, which may have a password",
    (value) => {
      const choose = () => of("https://a.example/", { HTTPS_PROXY: value });
      expect(choose).toThrow(ProxyInvalid);
      expect(choose).toThrow(/^the variable HTTPS_PROXY must be http:\/\/HOST:PORT/);
      expect(choose).not.toThrow(/secret/);
    },
  );
});
