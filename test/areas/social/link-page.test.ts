import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { request, type SocialTest, start, startSocialTest, verify } from '#test/support/areas/social.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: SocialTest;
beforeAll(async () => {
  t = await startSocialTest({ workers: false });
});
afterAll(() => t.close());

const ACCEPT = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const pathOf = (back: Record<string, string>) => `/link/x?${new URLSearchParams(back)}`;
/** Signs in to X in a new attempt of a player. @returns the code and state of the redirect */
const authorize = async (player: SignedIn, handle?: string) => await t.x.authorize((await start(player)).url, t.x.user(handle));
async function open(path: string, player?: SignedIn, init: RequestInit = {}) {
  const response = await (player ? player.fetch(path, { ...init, headers: ACCEPT }) : send(t, path, { ...init, headers: ACCEPT }));
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text(), headers: response.headers };
}
const accountsOf = async (player: SignedIn) => (await request(player, '/api/profile')).body.linkedAccounts;

test('the page to which X redirects links the account of the signed-in wallet', async () => {
  const player = await signIn(t);
  const back = await authorize(player, 'Ada_L');
  const { status, type, text, headers } = await open(pathOf(back), player);
  expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
  expect(text).toContain('<h1>Your account is linked</h1>');
  expect(text).toContain('<strong>@Ada_L</strong>');
  expect(text).toContain(`<code>${player.wallet}</code>`);
  // The address contains the code, so caches do not store the page, and links do not send it to other sites.
  expect([headers.get('cache-control'), headers.get('referrer-policy')]).toEqual(['no-store', 'no-referrer']);
  expect(await accountsOf(player)).toMatchObject([{ handle: 'Ada_L' }]);

  const again = await open(pathOf(back), player);
  expect([again.status, again.type]).toEqual([409, 'text/html; charset=utf-8']);
  expect(again.text).toContain('State has been used already; start linking again.');
});

test('without a session the page shows code and state, which another application can use', async () => {
  const player = await signIn(t);
  const back = await authorize(player);
  const { status, text } = await open(pathOf(back));
  expect(status).toBe(200);
  for (const value of Object.values(back)) expect(text).toContain(`<code>${value}</code>`);
  expect(text).toContain('<meta name="robots" content="noindex">');
  expect(await verify(player, back)).toMatchObject({ status: 200 });
});

test('the page links nothing for a wallet that did not start, and for a HEAD request', async () => {
  const [player, other] = [await signIn(t), await signIn(t)];
  const back = await authorize(player);
  const foreign = await open(pathOf(back), other);
  expect([foreign.status, foreign.type]).toEqual([400, 'text/html; charset=utf-8']);
  expect((await open(pathOf(back), player, { method: 'HEAD' })).status).toBe(200);
  expect([await accountsOf(player), await accountsOf(other)]).toEqual([[], []]);
  expect((await open(pathOf(back), player)).status).toBe(200);
  expect(await accountsOf(player)).toHaveLength(1);
});

test('a person who refused at X sees that nothing is linked', async () => {
  const { status, text } = await open('/link/x?error=access_denied&state=x', await signIn(t));
  expect(status).toBe(200);
  expect(text).toContain('X did not confirm the sign-in.');
});

test('the page without code or state is 400, as a page for a browser and as JSON for other clients', async () => {
  expect(await open('/link/x')).toMatchObject({ status: 400, text: expect.stringContaining('Code is required') });
  expect(await open('/link/x?code=a')).toMatchObject({ status: 400, text: expect.stringContaining('State is required') });
  const json = await send(t, '/link/x?code=a%20b&state=c');
  expect([json.status, await json.json()]).toEqual([400, { error: 'code must be printable characters without spaces' }]);
});

test('the page escapes code and state', async () => {
  const { text } = await open(pathOf({ code: '"><script>alert(1)</script>', state: "'><b>" }));
  expect(text).not.toMatch(/<script|<b>/);
});
