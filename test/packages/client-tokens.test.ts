import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { notification } from '#areas/social/events.ts';
import { type Client, createClient, followEvents, memoryStore, ok, signIn, signOut, withTicket } from '#packages/client/src/index.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { registerGame, TEST_GAME } from '#test/support/areas/arcade.ts';
import { FlakyProxy } from '#test/support/http/flaky-proxy.ts';
import { createWallet } from '#test/support/wallet.ts';

const GAME = 'token-game';

let t: TestApp;
let front: FlakyProxy;
beforeAll(async () => {
  t = await startTestApp();
  front = await FlakyProxy.start(t.url);
  await registerGame(t.url, ADMIN_TOKEN, GAME, { ...TEST_GAME, verification: 'heartbeat' });
});
afterAll(async () => {
  await front.close();
  await t.close();
});

const connect = (options: Partial<Parameters<typeof createClient>[0]> = {}) => createClient({ baseUrl: front.url, ...options });
const signer = () => {
  const wallet = createWallet();
  return { address: wallet.address, signMessage: (message: Uint8Array) => wallet.sign(message) };
};
const walletOf = async (client: Client) => {
  const me = await client.get('/me');
  return me.ok ? me.body.wallet : me.status;
};

test('a client signs in with a token, keeps it in its store, and sends no cookie', async () => {
  const [store, one] = [memoryStore(), signer()];
  const client = connect({ tokenStore: store });
  const { token } = await signIn(client, one, { transport: 'bearer' });
  expect([store.get(), client.cookie]).toEqual([token, '']);
  expect([await walletOf(client), await walletOf(connect({ tokenStore: store })), await walletOf(connect())]).toEqual([
    one.address,
    one.address,
    401,
  ]);
});

test('a sign-in with a token ends the session of the earlier token, and a sign-in with a cookie replaces the token', async () => {
  const client = connect();
  const { token: first = '' } = await signIn(client, signer(), { transport: 'bearer' });
  const second = signer();
  await signIn(client, second, { transport: 'bearer' });
  expect(await walletOf(client)).toBe(second.address);
  expect((await fetch(`${t.url}/me`, { headers: { Authorization: `Bearer ${first}` } })).status).toBe(401);
  const third = signer();
  await signIn(client, third);
  expect([client.tokenStore.get(), await walletOf(client)]).toEqual([null, third.address]);
});

test('signOut ends the session and removes the token, also when the session has ended already', async () => {
  const client = connect();
  await signIn(client, signer(), { transport: 'bearer' });
  await ok(client.delete('/me/sessions'));
  expect(client.tokenStore.get()).not.toBeNull();
  await signOut(client);
  expect([client.tokenStore.get(), await walletOf(client)]).toEqual([null, 401]);
});

test('withTicket gives a WebSocket the session of the client', async () => {
  const client = connect();
  await signIn(client, signer(), { transport: 'bearer' });
  const { body: play } = await ok(client.post('/game/{id}/play', { params: { id: GAME } }));
  const url = await withTicket(client, (play.heartbeatUrl ?? '').replace(/^ws:\/\/[^/]+/, t.url.replace('http', 'ws')));
  expect(new URL(url).searchParams.get('playId')).toBe(play.playId);
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.terminate();
});

test('followEvents with a token receives the events of its wallet, and continues after a broken connection', async () => {
  const client = connect();
  const { wallet } = await signIn(client, signer(), { transport: 'bearer' });
  const texts: string[] = [];
  const stop = new AbortController();
  const opened: (() => void)[] = [];
  const following = followEvents(client, {
    categories: ['system'],
    signal: stop.signal,
    onConnection: (isOpen) => isOpen && opened.shift()?.(),
    onReset: () => undefined,
    onEvent(event) {
      if (event.type !== 'notification' || !event.text.startsWith(wallet)) return;
      texts.push(event.text);
      if (texts.length === 1) front.cut();
      if (texts.length === 2) stop.abort();
    },
  });
  await new Promise<void>((resolve) => opened.push(resolve));
  const notify = (text: string) => t.app.tx(async (tx) => tx.emit(notification, { text: `${wallet} ${text}` }));
  await notify('one');
  await notify('two');
  await following;
  expect(texts).toEqual([`${wallet} one`, `${wallet} two`]);
});
