/** The style of every page. Colours keep a contrast of 4.5 to 1 (WCAG 2.2 section 1.4.3), light and dark. */
export const STYLE = `
:root{color-scheme:light dark;--text:#1b1f24;--soft:#57606a;--page:#fff;--box:#f4f6f8;--line:#d0d7de;--link:#0757b8;--good:#116329;--bad:#b3140f}
@media (prefers-color-scheme:dark){:root{--text:#e6e9ed;--soft:#a3adb8;--page:#12161b;--box:#1c2229;--line:#3a434d;--link:#7db8ff;--good:#6fdd8b;--bad:#ff9a8f}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word}
header,main,footer{max-width:72rem;margin:0 auto;padding:0 1rem}
header{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem 1.5rem;padding-top:1rem;padding-bottom:.75rem;border-bottom:1px solid var(--line)}
.name{font-weight:700;font-size:1.15rem;margin:0}
nav ul{display:flex;flex-wrap:wrap;gap:0 1rem;list-style:none;margin:0;padding:0}
nav a{display:inline-block;padding:.35rem 0}
nav a[aria-current]{color:inherit;font-weight:600;text-decoration-thickness:3px}
footer{color:var(--soft);border-top:1px solid var(--line);margin-top:3rem;padding-top:.75rem;padding-bottom:2rem}
a{color:var(--link);text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.5rem}
h1{font-size:1.6rem;line-height:1.25;margin:1.5rem 0 .5rem}
h2{font-size:1.25rem;line-height:1.3;margin:2.5rem 0 .5rem}
h3{font-size:1rem;margin:1.25rem 0 .25rem}
p{margin:.5rem 0;max-width:45rem}
.soft,.hint{color:var(--soft)}
.hint{font-size:.9rem}
.good{color:var(--good);font-weight:600}
.bad{color:var(--bad);font-weight:600}
.note{border-left:4px solid var(--bad);background:var(--box);padding:.5rem .75rem;max-width:45rem}
.verdict{font-size:1.1rem}
form{display:flex;flex-wrap:wrap;gap:.75rem;align-items:end;margin:1rem 0}
label{display:block;font-weight:600;margin-bottom:.2rem}
input,select,button{font:inherit;color:inherit;background:var(--page);border:1px solid var(--soft);border-radius:.3rem;padding:.5rem .6rem;min-height:2.75rem;max-width:100%}
.wide{flex:1 1 20rem}
.wide input{width:100%}
button{background:var(--link);border-color:var(--link);color:var(--page);font-weight:600;padding:.5rem 1.1rem;cursor:pointer}
button.copy,.refresh button{background:var(--box);border-color:var(--line);color:var(--link);min-height:1.75rem;padding:.1rem .6rem;font-size:.875rem;width:auto}
.refresh{display:flex;flex-wrap:wrap;gap:.25rem .75rem;align-items:center;margin:1rem 0;color:var(--soft);font-size:.9rem;max-width:none}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
code,pre,kbd{font:.875rem/1.5 ui-monospace,Menlo,Consolas,monospace}
code{overflow-wrap:anywhere}
h1 code,h2 code,.entry code{font-size:1em}
pre{background:var(--box);border:1px solid var(--line);border-radius:.3rem;padding:.6rem .75rem;margin:.35rem 0;overflow-x:auto;max-height:30rem;white-space:pre}
pre.wrap{white-space:pre-wrap;overflow-wrap:anywhere}
.sheet{overflow-x:auto;border:1px solid var(--line);border-radius:.3rem}
table{border-collapse:collapse;width:100%}
caption{text-align:left;padding:.4rem .6rem;color:var(--soft)}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-top:1px solid var(--line)}
td{white-space:nowrap}
.prose td{white-space:normal}
.prose td:nth-child(4){min-width:23rem}
time{white-space:nowrap}
.number{text-align:right;font-variant-numeric:tabular-nums}
.names>li{display:grid;grid-template-columns:minmax(0,1.2fr) 5rem 1fr auto;gap:.15rem .75rem;align-items:center}
.names .copy{justify-self:start}
.halves{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:0 1.5rem}
.halves>*{min-width:0}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));gap:0 1.5rem}
.facts ul{margin:.25rem 0;padding-left:1.25rem}
.list{list-style:none;padding:0;margin:.5rem 0}
.list>li{padding:.5rem 0;border-top:1px solid var(--line)}
.list p{margin:.1rem 0;max-width:none}
.entry{font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}
dt{font-weight:600}
dd{margin:0;min-width:0}
details{border:1px solid var(--line);border-radius:.3rem;margin:.5rem 0}
details>summary{cursor:pointer;padding:.6rem .75rem;font-weight:600}
details>div{padding:0 .75rem .75rem}
details ul{margin:.25rem 0;padding-left:1.5rem}
li.file{margin-top:.5rem}
.pages{display:flex;gap:1rem;margin:.75rem 0}
.pixel{position:absolute;width:1px;height:1px;opacity:0}
@media (max-width:40rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.4rem}.wide{flex-basis:100%}form button{width:100%}td:first-child{white-space:normal;min-width:12rem}.names>li{display:flex;flex-wrap:wrap}.names code{flex-basis:100%}}
`;
