import { Html, html } from './html.ts';

/** The content of a page for people. */
export interface Page {
  /** Title of the page, without the name of the arcade. */
  readonly title: string;
  /** One or two sentences for search engines and link previews. */
  readonly description: string;
  readonly body: Html;
  /** URL of the front end, to which the page leads; null without a front end. */
  readonly frontendUrl: URL | null;
  /** What a link preview shows, in addition to title and description. Without it, search engines are told not to list the page. */
  readonly shared?: {
    /** URL that people share. */
    readonly url: string;
    readonly image?: { readonly url: string; readonly type: string; readonly width: number; readonly height: number; readonly alt: string };
  };
}

const SITE = 'Coinop';

/** The styles of all pages. They are part of each page; the Content-Security-Policy allows them by their hash. */
export const STYLES = `
:root { color-scheme: light dark; --text: #1b1b24; --quiet: #5b5b6b; --back: #fbfbfd; --line: #d9d9e3; --accent: #5a2fd0; }
@media (prefers-color-scheme: dark) { :root { --text: #ececf4; --quiet: #a5a5b8; --back: #14141c; --line: #34344a; --accent: #b9a4ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
header, main, footer { max-width: 42rem; margin: 0 auto; padding: 1rem 1.25rem; }
header { font-weight: 700; }
footer { color: var(--quiet); font-size: 0.9375rem; border-top: 1px solid var(--line); }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0.5rem 0 1rem; }
a { color: var(--accent); }
img { display: block; width: 100%; height: auto; border: 1px solid var(--line); border-radius: 0.5rem; }
code { font: 0.9375em/1.4 ui-monospace, monospace; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.25rem; }
dt { color: var(--quiet); }
dd { margin: 0; }
.code { font: 700 1.75rem/1.4 ui-monospace, monospace; letter-spacing: 0.08em; }
.button { display: inline-block; padding: 0.5rem 1.25rem; border: 2px solid var(--accent); border-radius: 0.5rem; font-weight: 700; text-decoration: none; }
`;

const named = ([name, content]: readonly [string, string]): Html => html`<meta name="${name}" content="${content}">
`;
const property = ([name, content]: readonly [string, string | number]): Html => html`<meta property="${name}" content="${content}">
`;

/** Returns the Open Graph tags of a shared page. X reads these tags too, and its own for the size of the preview. */
function previewTags(title: string, description: string, { url, image }: NonNullable<Page['shared']>): Html {
  const properties: (readonly [string, string | number])[] = [
    ['og:site_name', SITE],
    ['og:type', 'website'],
    ['og:title', title],
    ['og:description', description],
    ['og:url', url],
  ];
  if (image !== undefined) {
    properties.push(['og:image', image.url], ['og:image:type', image.type], ['og:image:width', image.width]);
    properties.push(['og:image:height', image.height], ['og:image:alt', image.alt]);
  }
  return html`<link rel="canonical" href="${url}">
${properties.map(property)}${named(['twitter:card', image === undefined ? 'summary' : 'summary_large_image'])}`;
}

/** Returns the title, the description and the tags for link previews of a page. */
export function headTags({ title, description, shared }: Pick<Page, 'title' | 'description' | 'shared'>): Html {
  const whole = title === SITE ? SITE : `${title} · ${SITE}`;
  return html`<title>${whole}</title>
${named(['description', description])}${shared ? previewTags(whole, description, shared) : named(['robots', 'noindex'])}`;
}

/** Returns the text of a page. The page needs no script and no other file except its images. */
export function renderPage({ title, description, body, frontendUrl, shared }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${headTags({ title, description, ...(shared ? { shared } : {}) })}<style>${new Html(STYLES)}</style>
</head>
<body>
<header>${frontendUrl === null ? SITE : html`<a href="${frontendUrl.href}">${SITE}</a>`}</header>
<main>
${body}
</main>
<footer>An arcade on Solana. ${
    frontendUrl === null ? html`For developers: <a href="/docs">the API</a>.` : html`<a href="${frontendUrl.href}">Open the arcade</a>.`
  }</footer>
</body>
</html>
`.text;
}
