import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi } from '#test/support/api.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { DRAWN, DRAWN_TICKET, type ShownRound, showRound, WALLET } from '#test/support/areas/social-rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t.close());

const ACCEPT = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
/** Reads a page as a browser does. */
async function readPage(path: string, at: { url: string } = t) {
  const response = await send(at, path, { headers: ACCEPT });
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text(), headers: response.headers };
}
/** Returns the contents of the tags `<meta property|name="…" content="…">` of a page by name. */
const tagsOf = (text: string) =>
  Object.fromEntries([...text.matchAll(/<meta (?:property|name)="([^"]+)" content="([^"]*)">/g)].map(([, name, content]) => [name, content]));

test('GET /social/round/{id} answers HTML with Open Graph tags to a browser, and JSON to other clients', async () => {
  const id = await showRound(t.app, DRAWN);
  const { status, type, text, headers } = await readPage(`/social/round/${id}`);
  expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers.get('vary')).toMatch(/\bAccept\b/);
  expect(headers.get('content-security-policy')).toContain("script-src 'none'");
  const sentence = 'Friday night draw is drawn: 3, 7, 12, 30, 41. 9xQe…VFin wins 25 USDC, and 2 more wallets win.';
  expect(tagsOf(text)).toMatchObject({
    'og:site_name': 'Coinop',
    'og:type': 'website',
    'og:title': 'Friday night draw · Coinop',
    'og:description': sentence,
    'og:url': `http://coinop.test/share/round/${id}`,
    'og:image': `http://coinop.test/social/round/${id}/card.png`,
    'og:image:type': 'image/png',
    'og:image:width': '1200',
    'og:image:height': '630',
    'og:image:alt': sentence,
    'twitter:card': 'summary_large_image',
    description: sentence,
  });
  expect(text).toContain(`<link rel="canonical" href="http://coinop.test/share/round/${id}">`);
  expect(text).toContain(`<dd><code>${WALLET}</code>, 25 USDC</dd>`);
  expect(text).toContain(`bin/verify-round http://coinop.test ${id}`);

  const json = await send(t, `/social/round/${id}`);
  expect([json.headers.get('content-type'), json.headers.get('vary')]).toEqual([
    'application/json; charset=utf-8',
    expect.stringContaining('Accept'),
  ]);
  expect(await json.json()).toMatchObject({ id, text: sentence, links: { page: `http://coinop.test/share/round/${id}` } });
});

test('the link of a post leads to a page that is HTML for every client', async () => {
  const id = await showRound(t.app, DRAWN);
  const post = (await (await send(t, `/social/round/${id}/post`)).json()) as { url: string; text: string };
  expect(post.text.endsWith(`\n${post.url}`)).toBe(true);
  const path = new URL(post.url).pathname;
  const response = await send(t, path, { headers: { Accept: '*/*' } });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(tagsOf(await response.text())['og:image']).toBe(`http://coinop.test/social/round/${id}/card.png`);
  const etag = response.headers.get('etag') ?? '';
  expect((await send(t, path, { headers: { 'If-None-Match': etag } })).status).toBe(304);
});

test.each<ShownRound>([
  { state: 'pending' },
  { state: 'active' },
  { state: 'closing' },
  { state: 'committed' },
  { ...DRAWN, winners: [] },
  { state: 'void', entries: 0 },
  DRAWN_TICKET,
  { ...DRAWN_TICKET, ticketPrice: '0', winners: [{ wallet: WALLET, amount: '0' }] },
  { kind: 'legacy', state: 'active', entries: 0, ticketPrice: '0' },
])('the page shows a round in every state: %j', async (round) => {
  const id = await showRound(t.app, round);
  const { status, text } = await readPage(`/share/round/${id}`);
  expect(status).toBe(200);
  expect(text).not.toMatch(/null|undefined|NaN|Invalid|\b0 USDC/);
  const hasAudit = round.state !== 'pending' && round.state !== 'active';
  expect(text.includes(`/round/${id}/audit">Audit</a>`)).toBe(hasAudit);
  await sql(t.app, `update rounds set state = 'closing', closed_at = app_now(), closed = '{}' where state = 'active'`);
});

test('the page escapes the title of a round', async () => {
  const id = await showRound(t.app, { ...DRAWN, title: '"><script>alert(1)</script>' });
  const { text } = await readPage(`/share/round/${id}`);
  expect(text).not.toContain('<script');
  expect(tagsOf(text)['og:title']).toBe('&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt; · Coinop');
});

test.each(['/social/round/', '/share/round/'])(
  'an unknown or malformed id of %s is 404: a page for a browser, JSON for other clients',
  async (path) => {
    for (const id of [randomUUID(), 'nonsense']) {
      const { status, type, text } = await readPage(path + id);
      expect([status, type]).toEqual([404, 'text/html; charset=utf-8']);
      expect(text).toContain('This page does not exist');
      const json = await send(t, path + id);
      expect([json.status, await json.json()]).toEqual([404, { error: expect.any(String) }]);
    }
  },
);

test('with FRONTEND_URL, posts and tags lead to the front end, and the page of the service links to it', async () => {
  const id = await showRound(t.app, DRAWN);
  const api = await startApi({ ...t.env, FRONTEND_URL: 'https://play.example/app/' }, t.clock);
  try {
    const shared = `https://play.example/app/share/round/${id}`;
    const post = (await (await send(api, `/social/round/${id}/post`)).json()) as { url: string; text: string };
    expect([post.url, post.text.endsWith(`\n${shared}`)]).toEqual([shared, true]);
    expect(await (await send(api, `/social/round/${id}`)).json()).toMatchObject({
      links: { page: shared, summary: `http://coinop.test/social/round/${id}`, card: `http://coinop.test/social/round/${id}/card.png` },
      meta: { url: shared },
    });
    const { text } = await readPage(`/share/round/${id}`, api);
    expect(tagsOf(text)['og:url']).toBe(shared);
    expect(text).toContain(`<a class="button" href="${shared}">Open in the arcade</a>`);
  } finally {
    await api.close();
  }
});
