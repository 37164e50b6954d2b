import type { Manifest } from '#platform/http/pages/built-web.ts';
import { type Html, html } from '#platform/http/pages/html.ts';
import { headTags } from '#platform/http/pages/layout.ts';
import type { Head } from './pages.ts';
import type { WebSettings } from './settings.ts';

const preload = (path: string): Html => html`<link rel="modulepreload" href="${path}">
`;

/**
 * Returns the HTML of a page of the arcade. It has a header and a line of text, so that the browser paints before the script runs; the script replaces
 * both. The settings are the content of a meta element, because the Content-Security-Policy allows no inline script.
 */
export function renderShell({ script, style, icon, font, imports, pages }: Manifest, source: string, head: Head, settings: WebSettings): string {
  const scripts = [...imports, ...(pages[source] ?? [])];
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${headTags(head)}<meta name="coinop" content="${JSON.stringify(settings)}">
<link rel="icon" href="${icon}" type="image/svg+xml">
<link rel="preload" href="${font}" as="font" type="font/ttf" crossorigin>
<link rel="stylesheet" href="${style}">
${scripts.map(preload)}<script type="module" src="${script}"></script>
</head>
<body>
<div id="app">
<header class="top"><a class="brand" href="/">Coinop</a></header>
<main class="page" id="main"><h1>${head.title}</h1>
<p>${head.description}</p>
<p class="late" role="status">The arcade is loading. If this text stays, reload the page.</p>
<noscript><p>The arcade needs JavaScript. <a href="/docs">The API</a> works without it.</p></noscript></main>
</div>
</body>
</html>
`.text;
}
