// What the OpenAPI document says about the routes that belong to neither API.

import type { RouteDescription } from './route-description.ts'

/** For operators and for people who read about the API. */
export const PUBLIC: Readonly<Record<string, RouteDescription>> = {
  'GET /healthz': {
    id: 'showHealth',
    tag: 'Operations',
    summary: 'Whether the process is alive',
    description: 'Says nothing about the data: for the process’s supervisor.',
    answers: { 200: { description: 'The process is alive.', schema: 'health' } },
  },
  'GET /readyz': {
    id: 'showReadiness',
    tag: 'Operations',
    summary: 'Whether submissions are accepted',
    description: '503 only while a submission would be refused: for load balancers.',
    answers: { 200: { description: 'Submissions are accepted.', schema: 'readiness' } },
    codes: ['overloaded', 'storage_full', 'clock_unset', 'shutting_down'],
  },
  'GET /metrics': {
    id: 'showMetrics',
    tag: 'Operations',
    summary: 'Metrics as Prometheus text',
    description: 'Requires `METRICS_TOKEN` as Bearer if the operator has set one.',
    answers: { 200: { description: 'All series.', texts: ['text/plain'] } },
    codes: ['missing_token', 'invalid_token'],
  },
  'GET /problems': {
    id: 'listProblems',
    tag: 'Documents',
    summary: 'All error codes',
    description: 'A page for people.',
    answers: { 200: { description: 'A page.', texts: ['text/html'] } },
  },
  'GET /problems/{code}': {
    id: 'explainProblem',
    tag: 'Documents',
    summary: 'What an error code means',
    description: 'A page for people if a browser asks.',
    answers: {
      200: {
        description: 'The explanation.',
        schema: 'problem-explanation',
        texts: ['text/html'],
      },
    },
    codes: ['not_found'],
  },
  'GET /.well-known/assetlinks.json': {
    id: 'showAndroidApps',
    tag: 'Sign-in',
    summary: 'The Android apps that open links to this service',
    description: 'For App Links, from `APP_LINKS_ANDROID`.',
    answers: { 200: { description: 'The apps.', texts: ['application/json'] } },
    codes: ['not_found'],
  },
  'GET /.well-known/apple-app-site-association': {
    id: 'showAppleApps',
    tag: 'Sign-in',
    summary: 'The apps on Apple’s systems that open links to this service',
    description: 'For Universal Links to `/app/callback/…`, from `APP_LINKS_APPLE`.',
    answers: { 200: { description: 'The apps.', texts: ['application/json'] } },
    codes: ['not_found'],
  },
  'GET /app/callback/{idp}': {
    id: 'showAppCallback',
    tag: 'Sign-in',
    summary: 'Where the identity provider sends an app whose links are set up',
    description: 'A page for people whose browser opens it. Its query is neither kept nor logged.',
    answers: { 200: { description: 'A page.', texts: ['text/html'] } },
  },
  'GET /openapi': {
    id: 'listDocuments',
    tag: 'Documents',
    summary: 'All OpenAPI documents',
    description: 'A page for people.',
    answers: { 200: { description: 'A page.', texts: ['text/html'] } },
  },
  'GET /openapi.json': {
    id: 'showDocument',
    tag: 'Documents',
    summary: 'This document',
    description:
      'All calls. To generate a client, take `/openapi/daemon.json` or `/openapi/mobile.json`.',
    answers: {
      200: { description: 'OpenAPI 3.1.', texts: ['application/json'], headers: ['ETag'] },
    },
  },
  'GET /openapi/{document}': {
    id: 'showDocumentPart',
    tag: 'Documents',
    summary: 'A document for client generators: one API, in OpenAPI 3.1 or 3.0',
    description: 'The operations of one API, with plain names and one kind of token.',
    answers: {
      200: { description: 'OpenAPI.', texts: ['application/json'], headers: ['ETag'] },
    },
    codes: ['not_found'],
  },
  'GET /docs': {
    id: 'showPage',
    tag: 'Documents',
    summary: 'A page that renders this document',
    description: 'Works without a network connection to anywhere else.',
    answers: { 200: { description: 'The page.', texts: ['text/html'] } },
  },
  'GET /docs/{file}': {
    id: 'showPageFile',
    tag: 'Documents',
    summary: 'A file of that page, or the guide for devices',
    description: 'Scripts and styles of that page; `daemon.md`, how devices send.',
    answers: {
      200: {
        description: 'The file.',
        texts: ['text/javascript', 'text/css', 'image/png', 'text/plain'],
        headers: ['ETag'],
      },
    },
    codes: ['not_found'],
  },
}

/** For the chart page. */
export const CHART_PAGE: Readonly<Record<string, RouteDescription>> = {
  'GET /': {
    id: 'showChartPage',
    tag: 'Chart page',
    summary: 'The chart page',
    description: 'For people; it signs in and then calls the mobile API.',
    answers: {
      200: { description: 'The page.', texts: ['text/html'], headers: ['ETag'] },
    },
  },
  'GET /service-worker.js': {
    id: 'showChartPageWorker',
    tag: 'Chart page',
    summary: 'The service worker, which keeps the page available offline',
    description: 'Only the page loads it.',
    answers: {
      200: { description: 'The script.', texts: ['text/javascript'], headers: ['ETag'] },
    },
  },
  'GET /manifest.webmanifest': {
    id: 'showChartPageManifest',
    tag: 'Chart page',
    summary: 'The manifest for installing the page as an app',
    description: 'Only browsers load it.',
    answers: {
      200: {
        description: 'The manifest.',
        texts: ['application/manifest+json'],
        headers: ['ETag'],
      },
    },
  },
  'GET /web/{version}/{file}': {
    id: 'showChartPageFile',
    tag: 'Chart page',
    summary: 'A file of the page',
    description: 'Scripts, styles and icons.',
    answers: {
      200: {
        description: 'The file; it never changes.',
        texts: ['text/javascript', 'text/css', 'image/svg+xml', 'image/png'],
        headers: ['ETag'],
      },
    },
    codes: ['not_found'],
  },
}
