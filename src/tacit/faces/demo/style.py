"""How the report looks, in light and in dark."""

STYLE = """
:root {
  --ink: #1c2430; --soft: #5b6675; --line: #dde3ea; --paper: #fff; --back: #f5f7f9;
  --private: #3b6ea8; --true: #c8541b; --refused: #a3262a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaf0; --soft: #9aa7b6; --line: #323c49; --paper: #1a212b; --back: #12171e;
    --private: #6fa3dd; --true: #f08a4b; --refused: #f0787c;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.55 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 2rem; margin: 0 0 .25rem; }
h2 { margin: 3rem 0 .25rem; }
h3 { margin: 0 0 .25rem; font-size: 1.1rem; }
p { margin: .25rem 0 .75rem; }
.soft { color: var(--soft); }
article {
  background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
  padding: 1.1rem 1.25rem; margin: 1rem 0;
}
pre {
  background: var(--back); border-radius: 6px; padding: .6rem .8rem; margin: .5rem 0 .75rem;
  white-space: pre-wrap; font: .85rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace;
}
table { border-collapse: collapse; margin: .5rem 0; width: 100%; table-layout: fixed; }
th { text-align: left; font-weight: 500; color: var(--soft); font-size: .85rem; }
td, th { padding: .2rem .8rem .2rem 0; font-variant-numeric: tabular-nums; width: 18%; }
td.big, th.big { width: 46%; }
td.big { font-size: 1.25rem; font-weight: 600; }
.truth { color: var(--true); }
.price { color: var(--soft); font-size: .9rem; margin: .5rem 0 0; }
.refused { border-left: 4px solid var(--refused); padding: .2rem .9rem; margin: .5rem 0; }
.refused b { color: var(--refused); }
.key span { margin-right: 1.1rem; white-space: nowrap; }
.key i { display: inline-block; width: .9rem; height: .7rem; margin-right: .4rem; }
.key i.t { width: 3px; height: .9rem; background: var(--true); }
.key i.p { background: var(--private); }
.key i.e, .key i.o, .key i.h { height: 3px; vertical-align: middle; }
.key i.e { background: var(--ink); }
.key i.o { background: var(--soft); }
.key i.h { background: var(--true); }
svg { display: block; width: 100%; height: auto; margin: .5rem 0; overflow: visible; }
svg text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); }
svg .axis { fill: var(--soft); }
svg .number { font-variant-numeric: tabular-nums; }
svg .inside { fill: var(--paper); }
svg .stop { fill: var(--private); font-weight: 600; }
.private, .spent, .end { fill: var(--private); }
.left { fill: var(--line); }
line.error { stroke: var(--ink); stroke-width: 1.5; }
line.true { stroke: var(--true); stroke-width: 2.5; }
line.grid { stroke: var(--line); }
path { fill: none; stroke-width: 2; }
path.ours { stroke: var(--private); stroke-width: 3; }
path.theirs { stroke: var(--soft); }
"""
