/**
 * The script of the test page, which replaces the page's link: it queries the gateway by fetch, gives the browser
 * time to look up the test's name, then requests from the gateway whether that query arrived.
 */
export const CLIENT_TEST_SCRIPT = `
const box = document.getElementById("client-test");
const say = (id, isGood, text) => {
  const line = document.getElementById(id);
  line.className = isGood ? "good" : "bad";
  line.textContent = text;
};
const reach = async () => {
  try {
    const response = await fetch(box.dataset.query, { headers: { accept: "application/dns-message" }, cache: "no-store" });
    const size = (await response.arrayBuffer()).byteLength;
    if (!response.ok) throw new Error("HTTP status " + response.status);
    say("reach", true, "Yes: this browser gets answers from the gateway by HTTPS (" + size + " bytes).");
  } catch (error) {
    say("reach", false, "No: " + error.message + ". Does the browser trust its certificate, and is its address right?");
  }
};
const look = async () => {
  for (const pause of [300, 700, 1000, 2000, 4000]) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const response = await fetch(box.dataset.result, { headers: { accept: "application/json" }, cache: "no-store" });
    const result = await response.json();
    if (result.seen) return say("look", true, result.message);
    say("look", false, result.message);
  }
};
reach();
look().catch((error) => say("look", false, "The query to the gateway failed: " + error.message));
`;
