import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import bs58 from 'bs58';
import { SYSTEM_ADMIN_TOKEN, type System } from '#dev/stack/system.ts';
import { withDatabase } from './wallets.ts';

/** Environment of a worker that runs the queues for computing epochs, but not the queues for chain transactions. */
export const EPOCH_QUEUES = { QUEUES: 'scores,points,maintenance,epochs' };
const ROWS_PER_INSERT = 20_000;

export const urlOf = (system: System): string => system.urls[0] ?? '';

/** Sends a request with the admin token. */
export const asAdmin = (system: System, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${urlOf(system)}${path}`, { ...init, headers: { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, ...init.headers } });

/** Returns random wallet addresses. */
export const anyWallets = (count: number): string[] => Array.from({ length: count }, () => bs58.encode(randomBytes(32)));

/** Inserts ledger rows for a past day (one or two per wallet) and closes the day. */
export async function seedDay(system: System, day: number, wallets: readonly string[]): Promise<void> {
  await withDatabase(system, async (db) => {
    for (let at = 0; at < wallets.length; at += ROWS_PER_INSERT) {
      await db.query(
        `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
         select w, 'regular', 'game', 'score', 'score', gen_random_uuid()::text, 1 + (random() * 9999)::int, true, $2, to_timestamp($2 * 86400 + 1000), 0
         from unnest($1::text[]) with ordinality u(w, n), generate_series(1, 1 + (n % 2)::int)`,
        [wallets.slice(at, at + ROWS_PER_INSERT), day],
      );
    }
    await db.query(`insert into closed_periods (period, bucket, finals_at) values ('day', $1, now())`, [day]);
    await db.query('vacuum analyze ledger');
  });
}

/** Reads an epoch from the API; null when the epoch does not exist. */
export async function readEpoch(system: System, epoch: number): Promise<{ status: string; leaves: number; total: string; root: string } | null> {
  const response = await fetch(`${urlOf(system)}/api/rewards/epoch/${epoch}`);
  return response.status === 200 ? ((await response.json()) as { status: string; leaves: number; total: string; root: string }) : null;
}

/**
 * Triggers the computation of an epoch and waits until the epoch is computed.
 * @returns duration, s
 */
export async function computeDay(system: System, epoch: number): Promise<number> {
  const begin = performance.now();
  const response = await asAdmin(system, '/rewards/trigger-epoch', {
    method: 'POST',
    body: JSON.stringify({ epoch }),
    headers: { 'Content-Type': 'application/json', Prefer: 'wait=0' },
  });
  if (response.status !== 202) throw new Error(`the request to compute epoch ${epoch} returned ${response.status}: ${await response.text()}`);
  await untilComputed(system, epoch);
  return (performance.now() - begin) / 1_000;
}

export async function untilComputed(system: System, epoch: number): Promise<void> {
  while ((await readEpoch(system, epoch))?.status === 'computing') await sleep(100);
}

/** Returns the peak memory of a process, MB; null when the operating system does not report it. */
export function peakMemory(pid: number): number | null {
  const path = `/proc/${pid}/status`;
  const kilobytes = existsSync(path) ? /VmHWM:\s+(\d+) kB/.exec(readFileSync(path, 'utf8'))?.[1] : undefined;
  return kilobytes === undefined ? null : Math.round(Number(kilobytes) / 1_024);
}

export interface Latencies {
  requests: number;
  p50: number;
  p99: number;
  max: number;
}

/** Sends small requests at a steady rate while `work` runs. Returns the result of `work` and the latencies of the requests, ms. */
export async function probe<T>(system: System, work: () => Promise<T>): Promise<{ result: T; probed: Latencies }> {
  const EVERY_MS = 10;
  const latencies: number[] = [];
  const pending = new Set<Promise<void>>();
  const sendRequest = async () => {
    const begin = performance.now();
    await (await fetch(`${urlOf(system)}/config/rewards`)).arrayBuffer();
    latencies.push(performance.now() - begin);
  };
  const timer = setInterval(() => {
    const one = sendRequest()
      .catch(() => undefined)
      .finally(() => pending.delete(one));
    pending.add(one);
  }, EVERY_MS);
  try {
    const result = await work();
    clearInterval(timer);
    await Promise.all(pending);
    latencies.sort((a, b) => a - b);
    const at = (share: number) => Math.round(10 * (latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0)) / 10;
    return { result, probed: { requests: latencies.length, p50: at(0.5), p99: at(0.99), max: at(1) } };
  } finally {
    clearInterval(timer);
  }
}

export const oneOf = <T>(items: readonly T[]): T => {
  const item = items[randomInt(items.length)];
  if (item === undefined) throw new Error('cannot choose an item of an empty list');
  return item;
};
