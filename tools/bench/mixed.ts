import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { notification } from '#areas/social/events.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { startSystem } from '#dev/stack/system.ts';
import { type Cpu, cpuPerRequest, cpuSeconds, served } from './support/cpu.ts';
import { type Kind, kindsOf } from './support/kinds.ts';
import { load, percentiles, request } from './support/load.ts';
import { openRound } from './support/open-round.ts';
import { report, reportLoad } from './support/report.ts';
import { mark, startSubscribers } from './support/subscribers.ts';
import { openGame, openPlays, SESSION_KEY, signedInWallets } from './support/wallets.ts';

/**
 * All at once on a whole system: the kinds of requests that `kinds.ts` lists, in its proportions, while subscribers hear the stream, which
 * carries every entry and the best scores. Before, each kind alone on as many connections: a kind's latency in the mixture is held
 * against that, and the CPU time of a request against the sum of what its parts cost alone. One API and one worker process, PostgreSQL
 * that waits for the disk, Redis, a cluster, the subscribers and this load on one machine.
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
  const kinds = kindsOf({ url, gameId: GAME, wallets, plays });
  await subscribers.ask({ do: 'open', port, path: '/events?categories=system,gameplay,chat', count: SUBSCRIBERS });

  // Sessions as they are in use: in the cache. Then until the compilers have seen the code.
  const unread = [...wallets];
  const me = () => request('GET', '/me', `localhost:${port}`, { Cookie: unread.pop()?.cookie ?? '' });
  await load({ port, connections: 16, seconds: 20, next: () => (unread.length > 0 ? me() : null) });
  await run(kinds, 2);

  const alone = new Map<Kind, { p50: number; p99: number; cpu: Cpu }>();
  for (const kind of kinds) {
    const { result, cpu } = await run([kind], ALONE_SECONDS);
    reportLoad(`${kind.name}, alone`, result);
    alone.set(kind, { ...result, cpu: { all: served(cpu), ...cpu } });
  }

  await subscribers.ask({ do: 'begin', seq: 0 });
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
  for (const [part, spent] of Object.entries({ all: served(cpu), ...cpu })) {
    const value = [...counts].reduce((sum, [kind, n]) => sum + (n / total) * (alone.get(kind)?.cpu[part] ?? 0), 0);
    report(`a request, mixed: CPU, ${part}`, spent, 'µs', { peer: 'its parts alone', value });
  }
  const heard = await untilHeard(sent);
  report('events delivered meanwhile: p99', heard.p99, 'ms', { atMost: DELIVERED_WITHIN_MS });
  report('events not delivered', sent * SUBSCRIBERS - heard.events, '', { atMost: 0 });
} finally {
  subscribers.stop();
  await sender.close();
  await system.stop();
}

/** Sends requests of some kinds, as often as their shares say. */
async function run(kinds: readonly Kind[], seconds: number) {
  const deck = kinds.flatMap((kind) => Array.from({ length: kind.share }, () => kind));
  const asked = new Map<Buffer, Kind>();
  const latencies = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]));
  const counts = new Map<Kind, number>();
  const before = cpuSeconds(system);
  const result = await load({
    ...{ port, connections: CONNECTIONS, seconds, warmupSeconds: 1 },
    next() {
      const kind = deck[randomInt(deck.length)];
      const bytes = kind?.next() ?? null;
      if (kind && bytes) asked.set(bytes, kind);
      return bytes;
    },
    answered(bytes, { status, body, ms }) {
      const kind = asked.get(bytes);
      asked.delete(bytes);
      if (!kind) return;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      if (ms !== null) latencies.get(kind)?.push(ms);
      if (status === '200') kind.answered?.(body);
    },
  });
  return { result, cpu: cpuPerRequest(before, cpuSeconds(system), result.requests), latencies, counts };
}

/** Events whose delivery is timed. @returns how many, once it is told to end */
async function sendMarks(until: AbortSignal): Promise<number> {
  let seq = 0;
  while (!until.aborted) {
    await sender.tx(async (tx) => tx.emit(notification, { text: mark(++seq) }));
    await sleep(1_000 / MARKS_PER_SEC);
  }
  return seq;
}

async function untilHeard(seq: number) {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const report = await subscribers.ask({ do: 'report' });
    if (report.least >= seq || performance.now() > deadline) return report;
    await sleep(100);
  }
}
