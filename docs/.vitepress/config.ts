// The pages of docs/ as a site: `npm run docs:dev`, `npm run docs:build`. A link to a page that does not
// exist fails the build.
import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { anchorOf, REPOSITORY, sidebarOf, targetOnSite, VERSION } from "./markdown.ts";

const index = readFileSync(new URL("../README.md", import.meta.url), "utf8");

export default defineConfig({
  title: "clusterset-doh",
  description: "DNS over HTTPS for the names of a Kubernetes clusterset",
  base: "/clusterset-doh/",
  head: [["link", { rel: "icon", href: "/clusterset-doh/icon.svg" }]],
  cleanUrls: true,
  rewrites: { "README.md": "index.md" },
  // The pages of a gateway on the laptop; a dead link within docs/ fails.
  ignoreDeadLinks: "localhostLinks",
  markdown: {
    anchor: { slugify: anchorOf },
    languageAlias: { corefile: "nginx", unbound: "yaml", dnsmasq: "ini", resolved: "ini" },
    config: (md) => {
      md.core.ruler.push("files-of-the-repository", ({ tokens, env }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? []))
          if (token.type === "link_open")
            token.attrSet("href", targetOnSite(token.attrGet("href")!, env.realPath ?? env.path));
      });
    },
  },
  themeConfig: {
    logo: "/icon.svg",
    search: { provider: "local" },
    nav: [{ text: VERSION, link: `${REPOSITORY}/releases` }],
    socialLinks: [{ icon: "github", link: REPOSITORY }],
    sidebar: sidebarOf(index),
    outline: [2, 3],
  },
});
