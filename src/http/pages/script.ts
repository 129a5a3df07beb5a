import { html } from "hono/html";
import type { Html, Page } from "./page.ts";

/** The time between two refreshes of a page, in seconds. */
const REFRESH_SECONDS = 10;

/** A part of a page that the script replaces by its newest state, until a person stops that. */
export function refreshed(content: Html): Html {
  return html`<div data-refresh="${REFRESH_SECONDS}">${content}</div>`;
}

/**
 * Adds a button to every text that has `data-copy`, and replaces the part that has `data-refresh`: not in a hidden tab, not while something in it
 * has the focus or is selected, and only on demand for those who prefer reduced motion. Without the script a page has neither, and is complete.
 */
const PAGE_SCRIPT = `
const make = (name, text, at) => {
  const element = document.createElement(name);
  element.textContent = text;
  at(element);
  return element;
};
const announced = make("p", "", (line) => document.body.append(line));
announced.className = "unseen";
announced.setAttribute("role", "status");
const copy = async (code, button) => {
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = announced.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; announced.textContent = ""; }, 2000);
  } catch {
    getSelection().selectAllChildren(code);
    announced.textContent = "Selected: copy it with the keyboard";
  }
};
const addCopyButtons = (root) => {
  for (const code of root.querySelectorAll("[data-copy]")) {
    const button = make("button", "Copy", (made) => code.after(" ", made));
    button.type = "button";
    button.className = "copy";
    button.setAttribute("aria-label", "Copy " + code.textContent);
    button.onclick = () => copy(code, button);
  }
};
addCopyButtons(document);
const part = document.querySelector("[data-refresh]");
if (part) {
  const seconds = Number(part.dataset.refresh);
  const line = make("p", "", (made) => part.before(made));
  line.className = "refresh";
  const button = make("button", "", (made) => line.append(made));
  button.type = "button";
  const note = make("span", "", (made) => line.append(made));
  let isOn = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  try { isOn = (sessionStorage.getItem("refresh") ?? (isOn ? "on" : "off")) === "on"; } catch {}
  let timer;
  const isInUse = () => {
    const selection = getSelection();
    return part.contains(document.activeElement) || (!selection.isCollapsed && part.contains(selection.anchorNode));
  };
  const refresh = async () => {
    if (isInUse()) { note.textContent = "Waits while something below has the focus or is selected."; return; }
    try {
      const response = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const newest = page.querySelector("[data-refresh]");
      if (!newest) throw new Error(response.ok ? "load the page again" : "the gateway answered with status " + response.status);
      if (!isOn || isInUse()) return;
      addCopyButtons(newest);
      for (const details of part.querySelectorAll("details[open]")) {
        const same = [...newest.querySelectorAll("details")].find((one) => one.firstChild.textContent === details.firstChild.textContent);
        if (same) same.open = true;
      }
      part.replaceChildren(...newest.childNodes);
      note.textContent = "Refreshed at " + new Date().toLocaleTimeString() + ".";
    } catch (error) {
      note.textContent = "Not refreshed: " + error.message + ".";
    }
  };
  const plan = () => {
    clearInterval(timer);
    button.textContent = isOn ? "Stop refreshing" : "Refresh every " + seconds + " s";
    if (isOn && !document.hidden) timer = setInterval(refresh, seconds * 1000);
  };
  if (isOn) note.textContent = "This page refreshes every " + seconds + " s.";
  button.onclick = () => {
    isOn = !isOn;
    try { sessionStorage.setItem("refresh", isOn ? "on" : "off"); } catch {}
    note.textContent = isOn ? "" : "Stopped.";
    plan();
    if (isOn) refresh();
  };
  document.addEventListener("visibilitychange", () => {
    plan();
    if (isOn && !document.hidden) refresh();
  });
  plan();
}
`;

/** What a page with such parts needs. */
export const WITH_SCRIPT: Pick<Page, "script" | "connections"> = {
  script: PAGE_SCRIPT,
  connections: ["'self'"],
};
