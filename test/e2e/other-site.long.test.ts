import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { installedChromium } from '#dev/stack/chromium.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { openTlsSite, serveTls, type TlsSite } from '#test/support/http/tls-site.ts';

const ROOT = join(import.meta.dirname, '../..');
const GAME = 'other-site-game';

/** The script of the game. The page has the names of the client as the global `coinop`. */
const bundleClient = async (): Promise<string> => {
  const { outputFiles } = await build({
    ...{ entryPoints: [join(ROOT, 'packages/client/src/index.ts')], absWorkingDir: ROOT },
    ...{ bundle: true, format: 'iife', globalName: 'coinop', platform: 'browser', target: 'es2022', write: false, logLevel: 'silent' },
  });
  return outputFiles[0]?.text ?? '';
};

/** Starts a Chromium that blocks the cookies of other sites, and for which the two sites are on this machine. */
async function openBrowser(profile: string): Promise<BrowserContext> {
  await mkdir(join(profile, 'Default'), { recursive: true });
  // 1 = blocks third-party cookies in every window.
  const preferences = { profile: { cookie_controls_mode: 1, block_third_party_cookies: true } };
  await writeFile(join(profile, 'Default/Preferences'), JSON.stringify(preferences));
  return await chromium.launchPersistentContext(profile, {
    executablePath: installedChromium(),
    // The sandbox of Chromium does not work for root.
    chromiumSandbox: process.getuid?.() !== 0,
    ignoreHTTPSErrors: true,
    args: ['--host-resolver-rules=MAP *.test 127.0.0.1'],
  });
}

let game: TlsSite;
let arcade: TlsSite;
let t: TestApp;
let profile: string;
let browser: BrowserContext;
let page: Page;
beforeAll(async () => {
  const script = await bundleClient();
  game = await serveTls((request, response) => {
    if (request.url === '/cookie') {
      // Sets a cookie that only a block of third-party cookies stops, and answers the cookie of the request.
      const headers = { 'Access-Control-Allow-Origin': request.headers.origin ?? '', 'Access-Control-Allow-Credentials': 'true' };
      response.writeHead(200, { ...headers, 'Set-Cookie': 'seen=yes; SameSite=None; Secure; Path=/' }).end(request.headers.cookie ?? 'none');
    } else if (request.url === '/client.js') response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(script);
    else response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Game</title><script src="/client.js"></script>');
  });
  arcade = await openTlsSite();
  const origin = `https://game.test:${game.port}`;
  t = await startTestApp({ env: { PUBLIC_URL: `https://arcade.test:${arcade.port}`, ALLOWED_ORIGINS: origin, TRUST_PROXY: 'true' } });
  arcade.forwardTo(Number(new URL(t.url).port));
  await registerGame(t.url, ADMIN_TOKEN, GAME, { ...TEST_GAME, verification: 'heartbeat' });
  profile = await mkdtemp(join(tmpdir(), 'coinop-chromium-'));
  browser = await openBrowser(profile);
  page = await browser.newPage();
  await page.goto(`${origin}/`);
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await t?.close();
  arcade?.close();
  game?.close();
  if (profile) await rm(profile, { recursive: true, force: true });
});

/** Runs an async function body in the page, with `api` as the URL of the arcade. */
const inPage = <Result>(body: string, values: Record<string, string> = {}): Promise<Result> =>
  page.evaluate(`(async ({ api, game, other }) => { ${body} })(${JSON.stringify({ api: t.origin, game: GAME, ...values })})`);

const SIGN_IN = `
  const client = coinop.createClient({ baseUrl: api });
  const key = await coinop.keypairSigner(crypto.getRandomValues(new Uint8Array(32)));`;

test('the browser of this test blocks the cookies of other sites', async () => {
  const cookieUrl = `https://other.test:${game.port}/cookie`;
  const body = `const send = async (url) => (await fetch(url, { credentials: 'include' })).text();
    return [await send(other), await send(other), await send('/cookie'), await send('/cookie')];`;
  expect(await inPage(body, { other: cookieUrl })).toEqual(['none', 'none', 'none', 'seen=yes']);
});

test('a page of another site has no session after a sign-in with a cookie', async () => {
  const body = `${SIGN_IN}
    const { wallet } = await coinop.signIn(client, key);
    const me = await client.get('/me');
    return { sameWallet: wallet === key.address, status: me.status, error: me.error };`;
  expect(await inPage(body)).toEqual({ sameWallet: true, status: 401, error: 'a session is required, sign in first' });
});

test('a page of another site signs in with a token, plays with heartbeats, scores, and listens to its events', async () => {
  const body = `${SIGN_IN}
    const { wallet, token } = await coinop.signIn(client, key, { transport: 'bearer' });
    const stop = new AbortController();
    const scored = Promise.withResolvers();
    const connected = Promise.withResolvers();
    const events = coinop.followEvents(client, {
      signal: stop.signal,
      onConnection: (isOpen, reason) => isOpen ? connected.resolve() : connected.reject(reason),
      onReset: () => undefined,
      onEvent: (event) => { if (event.type === 'score_recorded') scored.resolve(event); },
    });
    await connected.promise;
    const { body: play } = await coinop.ok(client.post('/game/{id}/play', { params: { id: game } }));
    const socket = new WebSocket(await coinop.withTicket(client, play.heartbeatUrl));
    await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
    const beat = () => new Promise((resolve) => {
      socket.onmessage = ({ data }) => resolve(JSON.parse(data).beats);
      socket.send('{"type":"heartbeat"}');
    });
    const beats = [await beat()];
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    beats.push(await beat());
    const { body: score } = await coinop.ok(client.post('/arcade/score', { body: { gameId: game, score: 700, playId: play.playId } }));
    const event = await scored.promise;
    const closed = new Promise((resolve) => { socket.onclose = ({ code }) => resolve(code); });
    const sessions = (await coinop.ok(client.get('/me/sessions'))).body;
    await coinop.signOut(client);
    const code = await closed;
    stop.abort();
    await events;
    return {
      beats, status: score.status, sameScore: event.scoreId === score.scoreId, code, token: token.slice(0, 5), sessions,
      sameWallet: wallet === key.address, after: (await client.get('/me')).status, cookies: document.cookie,
    };`;
  expect(await inPage(body)).toMatchObject({
    ...{ beats: [1, 2], status: 'accepted', sameScore: true, sameWallet: true, token: 'sess_', after: 401, code: 4003 },
    sessions: [{ transport: 'bearer', origin: `https://game.test:${game.port}`, current: true }],
  });
}, 60_000);
