// Small pages for people: explanations of problems, and what is shown where a page is missing.

import type { Call } from '../call/call.ts'

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** What the page at `/docs` looks like, too: the colours of src/web/page.css. */
export const COMMON_STYLE = `:root { color-scheme: light dark;
  --ground: light-dark(#f4f6f8, #0d1318); --surface: light-dark(#ffffff, #151d24);
  --edge: light-dark(#dbe2e8, #26323c); --ink: light-dark(#101c24, #e8eff4);
  --muted: light-dark(#51616e, #9aabb8); --accent: light-dark(#0a6c8c, #5cc4e6);
  background: var(--ground); color: var(--ink);
  font: 100%/1.5 system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; }
nav { display: flex; flex-wrap: wrap; gap: 0 1.5rem; }
nav a { padding: 0.5rem 0; color: var(--accent); }
`

/** The style sheet of these pages, at `/docs/plain.css`. */
export const PLAIN_STYLE = `${COMMON_STYLE}
body { max-width: 48rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { margin: 1.5rem 0 0.5rem; letter-spacing: -0.025em; line-height: 1.2; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.125rem; }
a { color: var(--accent); }
p.status, dd { color: var(--muted); }
dl { margin: 0; }
dt { margin-top: 0.75rem; }
dd { margin: 0; }
code { font-size: 0.9em; }
pre { padding: 1rem; overflow-x: auto; border: 1px solid var(--edge); border-radius: 0.875rem;
  background: var(--surface); }
`

/** Whether a person asks, with a browser. */
export function isForPeople({ ctx }: Call): boolean {
  return ctx.accepts('json', 'html') === 'html'
}

/** Responds with a page; the status is set by the caller. */
export function answerPage(
  { ctx, path }: Call,
  { title, appName }: { readonly title: string; readonly appName: string },
  content: string,
): void {
  ctx.set('Content-Security-Policy', POLICY)
  ctx.type = 'html'
  // Whatever prefix a proxy has before it.
  const root = '../'.repeat(Math.max(0, path.split('/').length - 2)) || './'
  ctx.body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · ${escapeHtml(appName)}</title>
<link rel="stylesheet" href="${root}docs/plain.css">
</head>
<body>
${linksTo(root)}
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`
}

/** The links between these pages. @param root the address of the first one, as seen from here */
export function linksTo(root: string): string {
  const links = { Sensors: '', API: 'docs', Problems: 'problems' }
  const shown = Object.entries(links).map(([name, path]) => `<a href="${root}${path}">${name}</a>`)
  return `<nav aria-label="Pages">${shown.join('')}</nav>`
}

/** A text as it stands in an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/** The same, with what is between back-ticks as code. */
export function proseToHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
