// What makes Swagger UI, at `/docs`, look like the other pages, light and dark.

import { COMMON_STYLE } from './html.ts'

/**
 * Swagger UI's own style is in a layer, which every rule here is above. Nothing fades: between
 * light and dark, texts would be hard to read.
 */
export const DOCS_STYLE = `@import url('swagger-ui.css') layer(swagger);
${COMMON_STYLE}
:root { --raised: light-dark(#e9eef2, #202b34); --on-accent: light-dark(#ffffff, #06222d);
  --good: light-dark(#1a7f4b, #4fd08c); --bad: light-dark(#a84a00, #ffb067); }
body { margin: 0; }
nav { box-sizing: border-box; max-width: 80rem; margin: 0 auto; padding: 0.5rem 1.25rem; }
.swagger-ui { background: none; color: var(--ink); font-family: inherit;
  & *:not(pre, code, textarea, .opblock-summary-path, .parameter__type, .parameter__in) {
    font-family: inherit; }
  & *, & *::before, & *::after { transition: none; }
  & .wrapper { max-width: 80rem; }
  & .info { margin: 1.5rem 0; }
  & :is(.info, .markdown, .renderedMarkdown) a { color: var(--accent); }
  & :is(.markdown code, .renderedMarkdown code, .json-schema-2020-12__constraint) {
    background: var(--raised); color: var(--ink); }
  & .info .title small, & .info .title small.version-stamp { background: var(--muted);
    & pre { color: var(--ground); } }
  & .scheme-container { padding: 1rem 0; background: none; box-shadow: none; }
  & .servers-title, & .servers { display: none; } /* It would offer one. */
  & .opblock-tag { flex-wrap: wrap; border-color: var(--edge);
    & small { flex: 1 14rem; color: var(--muted); } }
  & :is(.opblock, section.models, .modal-ux) { --method: var(--accent);
    border: 1px solid var(--edge); border-radius: 0.875rem; background: var(--surface);
    box-shadow: none; }
  & .opblock.opblock-post { --method: var(--good); }
  & .opblock.opblock-delete { --method: var(--bad); }
  & .opblock .opblock-summary-method { border-radius: 0.5rem; background: var(--method);
    color: var(--on-accent); text-shadow: none; }
  & .opblock :is(.opblock-summary, .opblock-description-wrapper, thead td, thead th) {
    border-color: var(--edge); }
  & .opblock .opblock-section-header { border-color: var(--edge); background: var(--raised);
    box-shadow: none; }
  & .opblock .tab-header .tab-item.active h4 span::after { background: var(--method); }
  & .btn { border: 1px solid var(--muted); border-radius: 0.625rem; box-shadow: none;
    color: var(--ink); }
  & .btn.authorize { border-color: var(--accent); color: var(--accent);
    & svg { color: var(--accent); } }
  & .btn.execute { border-color: var(--accent); background: var(--accent);
    color: var(--on-accent); }
  & .btn.cancel { border-color: var(--bad); color: var(--bad); }
  & :is(input, select, textarea) { border: 1px solid var(--muted);
    background-color: var(--surface); box-shadow: none; color: var(--ink); }
  & :is(.parameter__in, .parameter__extension, .json-schema-2020-12-expand-deep-button) {
    color: var(--muted); }
  & .required span, & .required::after, & .opblock-section-header-required { color: var(--bad); }
  & :is(.download-contents, .copy-to-clipboard) { background-color: #51616e; color: #ffffff; }
  & .sample { margin: 0 1.25rem 0.5rem; font-size: 0.875rem; }
  & .sample summary { min-height: 1.75rem; cursor: pointer; }
  & .sample pre { padding: 0.75rem; overflow-x: auto; border-radius: 4px; background: #333333;
    color: #ffffff; white-space: pre; }
}
html.dark-mode .swagger-ui .header-col { color: inherit; }
`
