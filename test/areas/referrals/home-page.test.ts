import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const linkOf = async (api: { url: string }, cookie: string) =>
  (await (await send(api, '/api/referral/link', { headers: { Cookie: cookie } })).json()) as { code: string; url: string };
async function readPage(path: string, at: { url: string } = t) {
  const response = await send(at, path);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

test('a referral link leads to a page of the service that shows the code', async () => {
  const { code, url } = await linkOf(t, (await signIn(t)).cookie);
  const { pathname, search } = new URL(url);
  const { status, type, text } = await readPage(pathname + search);
  expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
  expect(text).toContain(`<p class="code">${code}</p>`);
  expect(text).toContain(`<meta property="og:url" content="${url}">`);
});

test('a code in another spelling is shown as the service writes it', async () => {
  const { code } = await linkOf(t, (await signIn(t)).cookie);
  const spelt = code.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l');
  expect((await readPage(`/?ref=${spelt}`)).text).toContain(`<p class="code">${code}</p>`);
});

test('the code of a banned wallet is not valid', async () => {
  const { wallet, cookie } = await signIn(t);
  const { code } = await linkOf(t, cookie);
  await sql(t.app, 'update players set banned_at = app_now() where wallet = $1', [wallet]);
  const { text } = await readPage(`/?ref=${code}`);
  expect(text).toContain('This link has no valid invitation code.');
  expect(text).not.toContain(code);
});

test.each(['/?ref=', '/?ref=7K3QXM9A', '/?ref=none', `/?ref=${encodeURIComponent('<script>alert(1)</script>')}`])(
  '%s is the page without a code',
  async (path) => {
    const { status, text } = await readPage(path);
    expect(status).toBe(200);
    expect(text).toContain('<h1>Coinop</h1>');
    expect(text).toContain('This link has no valid invitation code.');
    expect(text).not.toMatch(/class="code"|<script/);
    expect((await readPage('/')).text).not.toContain('invitation');
  },
);

test('with FRONTEND_URL, referral links and statistics lead to the front end, and old links lead there by a button', async () => {
  const { cookie } = await signIn(t);
  const api = await startApi({ ...t.env, FRONTEND_URL: 'https://play.example' }, t.clock);
  try {
    const { code, url } = await linkOf(api, cookie);
    expect(url).toBe(`https://play.example/?ref=${code}`);
    const stats = await send(api, '/api/referral/stats', { headers: { Cookie: cookie } });
    expect(await stats.json()).toMatchObject({ links: [{ url }] });
    expect((await readPage(`/?ref=${code}`, api)).text).toContain(`<a class="button" href="${url}">Open the arcade</a>`);
    expect((await readPage('/', api)).text).toContain('<a class="button" href="https://play.example/">Open the arcade</a>');
  } finally {
    await api.close();
  }
});
