import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { SYSTEM_ORIGIN, startSystem } from '#dev/stack/system.ts';
import { cpuPerRequest, cpuSeconds, reportCpu } from './support/cpu.ts';
import { load, request } from './support/load.ts';
import { openRound } from './support/open-round.ts';
import { report, reportLoad } from './support/report.ts';
import { SESSION_KEY, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures a lottery round of 100,000 entries, from the chat messages to the winners: entries over HTTP with sessions, receipts and
 * broadcast; freezing the entries; the Merkle root; the commitment on a cluster with the slot time of mainnet; the draw; the audit; downloads. One
 * API process, one worker process, PostgreSQL with durable commits, Redis, the cluster, the subscribers and this load share one machine.
 */

const ENTRIES = Number(process.env.BENCH_ENTRIES ?? 100_000);
const WALLETS = 5_000;
const SUBSCRIBERS = 10;
const CONNECTIONS = 64;
const TARGET_PER_SEC = 1_500;
const ROOT_WITHIN_SEC = 2;
const DRAW_WITHIN_SEC = 10;
const ACCEPT_SEC = Math.ceil(ENTRIES / TARGET_PER_SEC) + 5;

const system = await startSystem({
  durable: true,
  localnet: { slotMs: 400, finalizedAfter: 32, beaconMs: 3_000 },
  env: { SESSION_KEYS: SESSION_KEY, DRAW_LEAD_SEC: '40' },
});
const url = system.urls[0] ?? '';

try {
  const wallets = await signedInWallets(system, WALLETS);
  const port = Number(new URL(url).port);
  const visitors = [...wallets];
  await load({ port, connections: 16, seconds: 20, next: () => me(visitors.pop()?.cookie, port) });

  const subscribers = await Promise.all(Array.from({ length: SUBSCRIBERS }, subscribe));
  const round = await openRound(url, ACCEPT_SEC + 20);
  const before = cpuSeconds(system);
  let left = ENTRIES;
  const next = () => {
    if (left === 0) return null;
    const by = wallets[left-- % WALLETS];
    return request('POST', '/chat/message', `localhost:${port}`, { Cookie: by?.cookie ?? '', Origin: SYSTEM_ORIGIN }, { text: '!enter' });
  };
  const began = performance.now();
  const result = await load({ port, connections: CONNECTIONS, seconds: ACCEPT_SEC, warmupSeconds: 0, next });
  const seconds = (performance.now() - began) / 1_000;
  const accepted = result.statuses['201'] ?? 0;
  const what = `entries through chat, ${CONNECTIONS} connections`;
  reportLoad(what, { ...result, perSec: accepted / seconds }, { perSec: TARGET_PER_SEC });
  reportCpu(what, cpuPerRequest(before, cpuSeconds(system), result.requests));
  await untilDelivered(subscribers, accepted);
  report('entries missing at the slowest subscriber', Math.max(0, accepted - Math.min(...subscribers.map((one) => one.entries))), '', { atMost: 0 });

  const times = await withDatabase(system, async (db) => {
    for (;;) {
      const { rows } = await db.query(
        `select r.state, r.entries, extract(epoch from t.created_at - r.closed_at)::float8 as root, extract(epoch from r.ended_at - r.beacon_due_at)::float8 as draw
         from rounds r left join chain_transactions t on t.kind = 'draw-commitment' and t.subject = r.id::text where r.id = $1`,
        [round],
      );
      if (rows[0].state === 'finalized' || rows[0].state === 'void') return rows[0];
      await sleep(200);
    }
  });
  // The round may have more entries than `accepted`, because requests that were in flight at the end of the load are stored but not counted.
  if (times.state !== 'finalized' || times.entries < accepted)
    throw new Error(`the round must be finalized with at least ${accepted} entries, but is ${times.state} with ${times.entries}`);
  report(`root of ${accepted} entries, after the freeze`, times.root, 's', { atMost: ROOT_WITHIN_SEC });
  report('draw and audit, after the beacon round', times.draw, 's', { atMost: DRAW_WITHIN_SEC });
  for (const [what, path] of [
    ['audit', `/chat/round/${round}/audit`],
    ['entries', `/chat/round/${round}/entries?format=ndjson`],
  ] as const) {
    const start = performance.now();
    const response = await fetch(`${url}${path}`);
    const bytes = (await response.arrayBuffer()).byteLength;
    if (!response.ok) throw new Error(`${path} returned ${response.status}`);
    report(`download of the ${what}`, performance.now() - start, 'ms', `${(bytes / 1e6).toFixed(1)} MB`);
  }
  for (const one of subscribers) one.response.destroy();
} finally {
  await system.stop();
}

function me(cookie: string | undefined, port: number): Buffer | null {
  return cookie === undefined ? null : request('GET', '/me', `localhost:${port}`, { Cookie: cookie });
}

interface Subscriber {
  readonly response: IncomingMessage;
  entries: number;
}

/** Opens an event stream and counts its entry events. An event that is split over two chunks counts once. */
function subscribe(): Promise<Subscriber> {
  const needle = Buffer.from('event: new_entry');
  return new Promise((resolve, reject) => {
    get(`${url}/events?categories=gameplay,chat`, (response) => {
      const subscriber: Subscriber = { response, entries: 0 };
      let rest = Buffer.alloc(0);
      response.on('data', (chunk: Buffer) => {
        const text = Buffer.concat([rest, chunk]);
        for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) subscriber.entries++;
        rest = text.subarray(Math.max(0, text.length - needle.length + 1));
      });
      resolve(subscriber);
    }).on('error', reject);
  });
}

async function untilDelivered(subscribers: readonly Subscriber[], entries: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (subscribers.some((one) => one.entries < entries) && performance.now() < deadline) await sleep(50);
}
