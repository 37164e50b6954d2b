import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSystem } from '#dev/stack/system.ts';
import { startProxy, type TestProxy } from '#test/support/http/nginx.ts';
import { hostileClasses, startHostile } from './support/hostile.ts';
import { load, request } from './support/load.ts';
import { report } from './support/report.ts';
import { requestMix } from './support/request-mix.ts';
import { openGame, openPlays, SESSION_KEY, signedInWallets } from './support/wallets.ts';

/**
 * This benchmark measures how much one hostile caller with 300 connections delays everybody else, for each class of requests that the caller can send.
 * The others send a mix of scores, plays, reads and sign-ins, once without the hostile caller and once with it. One API process, one worker process,
 * PostgreSQL, Redis, a cluster, the others and the hostile caller share one machine.
 *
 * The sign-ins of the hostile caller have no session, so they go through nginx with the configuration of ops/proxy, which limits them by address.
 */

const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
/** The classes to measure, such as `uploads,streams`; by default all. */
const CLASSES = process.env.BENCH_CLASSES?.split(',');
const HOSTILE_CONNECTIONS = 300;
const CONNECTIONS = 16;
const WALLETS = 1_000;
const GAME = 'bench-game';
/** Maximum p99 of the others, as a multiple of their p99 without the hostile caller. */
const MAX_RATIO = 2;
/** Interval between two checks of the readiness, and the time after which a check counts as failed, ms. */
const READINESS = { everyMs: 50, timeoutMs: 5_000 };

const system = await startSystem({
  durable: true,
  localnet: { slotMs: 400, finalizedAfter: 32 },
  env: { SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000', CHAT_MESSAGES_PER_10_SEC: '1000' },
});
const url = system.urls[0] ?? '';
const { host, port: portText } = new URL(url);
const port = Number(portText);
/** Started for the first class without a session. */
let proxy: TestProxy | null = null;
/** The classes without a session. */
const ANONYMOUS = new Set(['sign-ins']);

/** Watches the readiness of the API process until `stop`. @returns the number of checks that were not answered with 200 */
function watchReadiness(): { stop(): Promise<number> } {
  let failed = 0;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(READINESS.timeoutMs) }).catch(() => null);
      if (response?.status !== 200) failed++;
      await response?.arrayBuffer().catch(() => undefined);
      await sleep(READINESS.everyMs);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await watching;
      return failed;
    },
  };
}

try {
  await openGame(system, GAME);
  const [hostile, ...others] = await signedInWallets(system, WALLETS);
  if (!hostile) throw new Error('there is no hostile wallet');
  const classes: Readonly<Record<string, readonly Buffer[]>> = hostileClasses({ ...hostile, host, gameId: GAME, openGameId: 'token-pusher' });
  const chosen = Object.entries(classes).filter(([name]) => CLASSES?.includes(name) ?? true);
  const plays = await openPlays(system, others, GAME, Math.ceil(((SECONDS + 2) * 2 * chosen.length + 10) * 0.6));
  const kinds = requestMix({ url, gameId: GAME, wallets: others, plays }).filter(({ name }) => name !== 'entry through chat');
  const deck = kinds.flatMap((kind) => Array.from({ length: kind.share }, () => kind));

  /** Sends the requests of the others. @returns their p99, and the refused requests per type and status */
  const sendOthers = async (seconds: number) => {
    const sent = new Map<Buffer, (typeof kinds)[number]>();
    const refusals = new Map<string, number>();
    const result = await load({
      ...{ port, connections: CONNECTIONS, seconds, warmupSeconds: 1 },
      next() {
        const kind = deck[randomInt(deck.length)];
        const bytes = kind?.next() ?? null;
        if (kind && bytes) sent.set(bytes, kind);
        return bytes;
      },
      onResponse(bytes, { status, body, ms }) {
        const kind = sent.get(bytes);
        sent.delete(bytes);
        if (status === '200') kind?.onResponse?.(body);
        const refusal = `${kind?.name} ${status}`;
        if (!status.startsWith('2') && ms !== null) refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
      },
    });
    return { p99: result.p99, perSec: result.perSec, refusals };
  };

  const unread = [...others];
  const me = () => request('GET', '/me', host, { Cookie: unread.pop()?.cookie ?? '' });
  await load({ port, connections: CONNECTIONS, seconds: 20, next: () => (unread.length > 0 ? me() : null) });
  await sendOthers(3);
  for (const [name, requests] of chosen) {
    const without = await sendOthers(SECONDS);
    const readiness = watchReadiness();
    if (ANONYMOUS.has(name)) proxy ??= await startProxy(port);
    const target = ANONYMOUS.has(name) ? proxy : null;
    const stopHostile = startHostile([target?.port ?? port], HOSTILE_CONNECTIONS, requests, { tls: target !== null });
    await sleep(1_000);
    const during = await sendOthers(SECONDS);
    const { counts } = await stopHostile();
    const flips = await readiness.stop();
    report(`${name}: p99 of the others`, during.p99, 'ms', { peer: 'without', value: without.p99 });
    report(`${name}: p99 with the hostile caller / without`, during.p99 / without.p99, '', { atMost: MAX_RATIO });
    report(`${name}: requests of the others`, during.perSec, '/s', { peer: 'without', value: without.perSec });
    const refused = [...during.refusals.values()].reduce((sum, n) => sum + n, 0);
    report(`${name}: refused requests of the others`, refused, 'times', { atMost: 0 });
    for (const [refusal, n] of during.refusals) report(`${name}: refused: ${refusal}`, n, 'times');
    report(`${name}: readiness flips`, flips, 'times', { atMost: 0 });
    const answers = Object.entries(counts).map(([status, n]) => `${status} × ${n}`);
    report(
      `${name}: responses to the hostile caller`,
      Object.values(counts).reduce((sum, n) => sum + n, 0),
      '',
      answers.join(', '),
    );
    // The connections of the hostile caller close, and its requests in flight end.
    await sleep(1_000);
  }
} finally {
  await proxy?.stop();
  await system.stop();
}
