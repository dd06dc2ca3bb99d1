/** The one style sheet, inline; its hash stands in the Content-Security-Policy. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f4f3ef; --sheet: #ffffff; --ink: #1c2024; --soft: #565d66; --line: #878e97;
  --accent: #14595c; --accent-ink: #ffffff; --accent-deep: #0d4346;
  --fault: #9c1c1c; --fault-ground: #fdf1f0; --edge: #e3e1da;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #121517; --sheet: #1b1f22; --ink: #eceef0; --soft: #a9b1b9; --line: #7b848d;
    --accent: #7fcac6; --accent-ink: #08211f; --accent-deep: #a3dcd9;
    --fault: #ffb4ab; --fault-ground: #3a1d1b; --edge: #2b3135;
  }
}
* { box-sizing: border-box; }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; padding: 2rem 1rem;
  display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 1.75rem;
  background: var(--ground); color: var(--ink);
}
header, main { width: 100%; max-width: 25rem; }
header { display: flex; justify-content: center; }
.mark { display: block; color: var(--ink); }
.mark .accent { stroke: var(--accent); }
main { background: var(--sheet); border: 1px solid var(--edge); border-radius: 0.875rem; padding: 2rem; }
h1 { margin: 0 0 0.25rem; font-size: 1.5rem; line-height: 1.25; font-weight: 600; letter-spacing: -0.01em; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
main > :last-child, form > :last-child { margin-bottom: 0; }
.lead { color: var(--soft); margin-bottom: 1.5rem; }
.field { margin-bottom: 1.125rem; }
label { display: block; font-weight: 550; margin-bottom: 0.375rem; }
.hint { margin: -0.25rem 0 0.375rem; color: var(--soft); font-size: 0.875rem; }
input {
  width: 100%; min-height: 2.75rem; padding: 0.5rem 0.75rem; font: inherit;
  color: var(--ink); background: var(--sheet); border: 1px solid var(--line); border-radius: 0.5rem;
}
input[aria-invalid="true"] { border-color: var(--fault); }
button {
  width: 100%; min-height: 2.75rem; margin-top: 0.375rem; padding: 0.5rem 1rem; font: inherit; font-weight: 600;
  color: var(--accent-ink); background: var(--accent); border: 1px solid transparent; border-radius: 0.5rem;
  cursor: pointer; transition: background-color 120ms ease;
}
button:hover { background: var(--accent-deep); }
a { color: var(--accent); text-underline-offset: 0.2em; }
a:hover { color: var(--accent-deep); }
input:focus-visible, button:focus-visible, a:focus-visible, .faults:focus-visible {
  outline: 3px solid var(--accent); outline-offset: 2px;
}
.faults {
  margin: 1rem 0 1.25rem; padding: 0.75rem 1rem; color: var(--fault); background: var(--fault-ground);
  border: 1px solid var(--fault); border-radius: 0.5rem;
}
.faults:focus { outline: none; }
.faults p { margin: 0; }
.faults p + p { margin-top: 0.375rem; }
.faults a { color: inherit; }
.more { margin: 1.25rem 0 0; text-align: center; font-size: 0.9375rem; }
@media (max-width: 26rem) {
  body { justify-content: flex-start; padding-top: 2.5rem; }
  main { padding: 1.5rem 1.25rem; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none; } }
`
