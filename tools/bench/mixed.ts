import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { notification } from '#areas/social/events.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { startSystem } from '#dev/stack/system.ts';
import { type Cpu, cpuPerRequest, cpuSeconds, totalWithoutLoad } from './support/cpu.ts';
import { load, percentiles, request } from './support/load.ts';
import { openRound } from './support/open-round.ts';
import { report, reportLoad } from './support/report.ts';
import { type RequestType, requestMix } from './support/request-mix.ts';
import { mark, startSubscribers } from './support/streams/subscribers.ts';
import { openGame, openPlays, SESSION_KEY, signedInWallets } from './support/wallets.ts';

/**
 * This benchmark measures a mixed load on a whole system: all request types of `request-mix.ts` in their proportions, and subscribers that receive
 * the event stream. First, each request type is measured alone, with as many connections as the mixed load. Then the mixed load is compared with
 * these measurements: the latency of each request type with its latency alone, and the CPU time per request with the weighted mean of the CPU times
 * of the request types. One API process, one worker process, PostgreSQL with durable commits, Redis, a cluster, the subscribers and this load share
 * one machine.
 */

const SECONDS = Number(process.env.BENCH_SECONDS ?? 20);
const ALONE_SECONDS = Math.max(2, SECONDS / 5);
const CONNECTIONS = 32;
const SUBSCRIBERS = 200;
const MARKS_PER_SEC = 10;
const DELIVERED_WITHIN_MS = 200;
const WALLETS = 5_000;
const GAME = 'bench-game';

const system = await startSystem({
  durable: true,
  localnet: { slotMs: 400, finalizedAfter: 32 },
  env: { SESSION_KEYS: SESSION_KEY, DAILY_POINTS_CAP: '1000000000', CHAT_MESSAGES_PER_10_SEC: '1000' },
});
const sender = await openContext(readConfig({ ...system.env }), 'bench');
const subscribers = startSubscribers();
const url = system.urls[0] ?? '';
const port = Number(new URL(url).port);

try {
  await openGame(system, GAME);
  const wallets = await signedInWallets(system, WALLETS);
  const plays = await openPlays(system, wallets, GAME, Math.ceil(((ALONE_SECONDS + 2) * 5_000 + (SECONDS + 2) * 1_500) / WALLETS));
  await openRound(url, 3_600);
  const kinds = requestMix({ url, gameId: GAME, wallets, plays });
  await subscribers.send({ do: 'open', port, path: '/events?categories=system,gameplay,chat', count: SUBSCRIBERS });

  // Makes the API process load the sessions of all wallets into its cache, then sends a short load so that Node compiles the code.
  const unread = [...wallets];
  const me = () => request('GET', '/me', `localhost:${port}`, { Cookie: unread.pop()?.cookie ?? '' });
  await load({ port, connections: 16, seconds: 20, next: () => (unread.length > 0 ? me() : null) });
  await run(kinds, 2);

  const alone = new Map<RequestType, { p50: number; p99: number; cpu: Cpu }>();
  for (const kind of kinds) {
    const { result, cpu } = await run([kind], ALONE_SECONDS);
    reportLoad(`${kind.name}, alone`, result);
    alone.set(kind, { ...result, cpu: { all: totalWithoutLoad(cpu), ...cpu } });
  }

  await subscribers.send({ do: 'begin', seq: 0 });
  const marking = new AbortController();
  const marked = sendMarks(marking.signal);
  const { result, cpu, latencies, counts } = await run(kinds, SECONDS);
  marking.abort();
  const sent = await marked;
  reportLoad(`mixed, ${CONNECTIONS} connections, ${SUBSCRIBERS} subscribers`, result);
  for (const [kind, times] of latencies) {
    const { p50, p99 } = percentiles(times);
    const { p50: p50Alone, p99: p99Alone } = alone.get(kind) ?? { p50: Number.NaN, p99: Number.NaN };
    report(`${kind.name}, mixed`, times.length / SECONDS, '/s');
    report(`${kind.name}, mixed: p50`, p50, 'ms', { peer: 'alone', value: p50Alone });
    report(`${kind.name}, mixed: p99`, p99, 'ms', { peer: 'alone', value: p99Alone });
  }
  const total = [...counts.values()].reduce((sum, n) => sum + n, 0);
  for (const [part, spent] of Object.entries({ all: totalWithoutLoad(cpu), ...cpu })) {
    const value = [...counts].reduce((sum, [kind, n]) => sum + (n / total) * (alone.get(kind)?.cpu[part] ?? 0), 0);
    report(`a request, mixed: CPU, ${part}`, spent, 'µs', { peer: 'sum of its types alone', value });
  }
  const delivered = await untilDelivered(sent);
  report('events delivered during the mix: p99', delivered.p99, 'ms', { atMost: DELIVERED_WITHIN_MS });
  report('events not delivered', sent * SUBSCRIBERS - delivered.events, '', { atMost: 0 });
} finally {
  subscribers.stop();
  await sender.close();
  await system.stop();
}

/** Sends requests of the given types for `seconds`, in proportion to their shares. */
async function run(kinds: readonly RequestType[], seconds: number) {
  const deck = kinds.flatMap((kind) => Array.from({ length: kind.share }, () => kind));
  const sent = new Map<Buffer, RequestType>();
  const latencies = new Map<RequestType, number[]>(kinds.map((kind) => [kind, []]));
  const counts = new Map<RequestType, number>();
  const before = cpuSeconds(system);
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
      if (!kind) return;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      if (ms !== null) latencies.get(kind)?.push(ms);
      if (status === '200') kind.onResponse?.(body);
    },
  });
  return { result, cpu: cpuPerRequest(before, cpuSeconds(system), result.requests), latencies, counts };
}

/**
 * Sends events with timestamps until the signal aborts.
 * @returns number of events sent
 */
async function sendMarks(until: AbortSignal): Promise<number> {
  let seq = 0;
  while (!until.aborted) {
    await sender.tx(async (tx) => tx.emit(notification, { text: mark(++seq) }));
    await sleep(1_000 / MARKS_PER_SEC);
  }
  return seq;
}

async function untilDelivered(seq: number) {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const report = await subscribers.send({ do: 'report' });
    if (report.lowestSeq >= seq || performance.now() > deadline) return report;
    await sleep(100);
  }
}
