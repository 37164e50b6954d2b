import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { readConfig } from '#config';
import { fail, unavailable } from '#lib/errors.ts';
import { Html, html } from '#platform/http/pages/html.ts';
import { asksForPage, PAGE, pageUrl, replyPage } from '#platform/http/pages/page.ts';
import { jsonOrPage, reply, route } from '#platform/http/route.ts';
import { startTestServer, type TestServer } from '#test/support/http/framework.ts';
import { PRODUCTION } from '#test/support/production.ts';

const HOSTILE = `</title><script>alert(1)</script>"'&`;
const show = (name: string) => ({ title: name, description: name, body: html`<p title="${name}">${name}</p>` });

const both = route({
  method: 'get',
  path: '/both/{name}',
  auth: 'public',
  summary: 'JSON or a page',
  params: z.object({ name: z.string() }),
  returns: { 200: jsonOrPage(z.strictObject({ name: z.string() })) },
  fails: [404],
  cache: 'no-cache',
  handler: async ({ app, ctx, params: { name } }) => {
    const isPage = asksForPage(ctx);
    if (name === 'missing') throw fail(404, 'there is no <b>such</b> thing');
    if (name === 'down') throw unavailable('the chain does not answer', 7);
    return isPage ? await replyPage(app, ctx, 200, show(name)) : reply(200, { name });
  },
});
const page = route({
  method: 'get',
  path: '/page',
  auth: 'public',
  summary: 'A page',
  query: z.object({ name: z.string().max(64).default('plain') }),
  returns: { 200: PAGE },
  fails: [],
  handler: ({ app, ctx, query }) =>
    replyPage(app, ctx, 200, {
      ...show(query.name),
      shared: {
        url: 'https://a.example/?a=1&b=2',
        image: { url: 'https://a.example/i.png', type: 'image/png', width: 2, height: 1, alt: query.name },
      },
    }),
});

let t: TestServer;
beforeAll(async () => {
  t = await startTestServer([both, page]);
});
afterAll(() => t.close());

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
const get = (path: string, headers: Record<string, string> = {}) => fetch(`${t.url}${path}`, { headers });
const typeOf = (response: Response) => response.headers.get('content-type');
const HTML = 'text/html; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

describe('a route that answers with JSON or a page', () => {
  test.each([
    [BROWSER, HTML],
    ['text/html', HTML],
    ['text/*', HTML],
    ['text/html;q=0.9, application/json;q=0.5', HTML],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['application/json, text/html;q=0.9', JSON_TYPE],
    ['text/html;q=0', JSON_TYPE],
    ['image/png', JSON_TYPE],
    ['', JSON_TYPE],
    [',;q=x,,text/html;q=abc', JSON_TYPE],
  ])('answers Accept %j with %s', async (accept, type) => {
    const response = await get('/both/x', { Accept: accept });
    expect([response.status, typeOf(response)]).toEqual([200, type]);
    expect(response.headers.get('vary')).toMatch(/\bAccept\b/);
  });

  test('has an ETag of its own for each form, and answers 304 to it', async () => {
    const forms = await Promise.all([BROWSER, '*/*'].map((Accept) => get('/both/x', { Accept })));
    const [html, json] = forms.map(({ headers }) => headers.get('etag') ?? '');
    expect(html).not.toBe(json);
    const again = await get('/both/x', { Accept: BROWSER, 'If-None-Match': html ?? '' });
    expect([again.status, again.headers.get('vary')]).toEqual([304, expect.stringContaining('Accept')]);
    expect((await get('/both/x', { Accept: BROWSER, 'If-None-Match': json ?? '' })).status).toBe(200);
  });

  test('answers errors in the form that the client asks for', async () => {
    const asPage = await get('/both/missing', { Accept: BROWSER });
    expect([asPage.status, typeOf(asPage), asPage.headers.get('cache-control')]).toEqual([404, HTML, 'no-store']);
    expect(await asPage.text()).toContain('<p>There is no &lt;b&gt;such&lt;/b&gt; thing.</p>');
    const asJson = await get('/both/missing');
    expect([asJson.status, await asJson.json()]).toEqual([404, { error: 'there is no <b>such</b> thing' }]);
    expect(asJson.headers.get('vary')).toMatch(/\bAccept\b/);
    const down = await get('/both/down', { Accept: BROWSER });
    expect([down.status, down.headers.get('retry-after')]).toEqual([503, '7']);
    expect(typeOf(await get('/nowhere', { Accept: BROWSER }))).toMatch(/^application\/json/);
  });
});

describe('a page', () => {
  test('escapes every text', async () => {
    const response = await get(`/page?name=${encodeURIComponent(HOSTILE)}`);
    expect(typeOf(response)).toBe(HTML);
    const text = await response.text();
    expect(text).not.toContain('<script');
    expect(text.match(/&lt;\/title&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot;&#39;&amp;/g)?.length).toBeGreaterThanOrEqual(6);
    expect(text).toContain('<meta property="og:url" content="https://a.example/?a=1&amp;b=2">');
  });

  test('has a policy that allows its own styles and no scripts, frames, forms or other origins', async () => {
    const response = await get('/page');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy.split(';').sort()).toEqual([
      "base-uri 'self'",
      "connect-src 'none'",
      "default-src 'none'",
      "font-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self' http://coinop.test",
      "script-src 'none'",
      expect.stringMatching(/^style-src 'sha256-[A-Za-z0-9+/]{43}='$/),
    ]);
    expect(policy).not.toContain('unsafe');
    expect([response.headers.get('referrer-policy'), response.headers.get('x-content-type-options')]).toEqual(['no-referrer', 'nosniff']);
    const styles = /<style>(.*)<\/style>/s.exec(await response.text())?.[1] ?? '';
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(styles))).toString('base64');
    expect(policy).toContain(digest);
  });

  test('has light and dark colours, and no script', async () => {
    const text = await (await get('/page')).text();
    expect(text).toContain('color-scheme: light dark');
    expect(text).toContain('prefers-color-scheme: dark');
    expect(text).not.toMatch(/<script|\son\w+=|style="/);
  });
});

test('HTML values are not escaped twice, and null is nothing', () => {
  expect(html`<i>${html`<b>${'<&>'}</b>`}${[html`${1}`, html`${2}`]}${null}</i>`).toEqual(new Html('<i><b>&lt;&amp;&gt;</b>12</i>'));
});

describe('FRONTEND_URL', () => {
  test('is where links for people lead; without it they lead to the service', () => {
    expect(pageUrl(readConfig({ PUBLIC_URL: 'https://api.example' }), '/link/x')).toBe('https://api.example/link/x');
    expect(pageUrl(readConfig({ PUBLIC_URL: 'https://api.example', FRONTEND_URL: 'https://play.example/app/' }), '/link/x')).toBe(
      'https://play.example/app/link/x',
    );
  });

  test('decides where X redirects, unless X_REDIRECT_URL does', () => {
    const env = { X_CLIENT_ID: 'id', PUBLIC_URL: 'https://api.example', FRONTEND_URL: 'https://play.example/' };
    expect(readConfig(env).x.client?.redirectUrl).toBe('https://play.example/link/x');
    expect(readConfig({ ...env, X_REDIRECT_URL: 'https://other.example/x' }).x.client?.redirectUrl).toBe('https://other.example/x');
  });

  test.each([
    'play.example',
    'ftp://play.example',
    'https://play.example/?a',
    'https://play.example/?',
    'https://play.example/#a',
    'https://me:pw@play.example',
  ])('must be a URL without a query, a fragment and credentials: %s is refused', (url) =>
    expect(() => readConfig({ FRONTEND_URL: url })).toThrow('FRONTEND_URL'),
  );

  test('must be https in production', () => {
    expect(() => readConfig({ ...PRODUCTION, FRONTEND_URL: 'http://play.example' })).toThrow('FRONTEND_URL must be https in production');
    expect(readConfig({ FRONTEND_URL: 'http://play.example' }).frontendUrl?.href).toBe('http://play.example/');
  });
});
