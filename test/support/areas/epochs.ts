import { randomBytes } from 'node:crypto';
import bs58 from 'bs58';
import { EpochView } from '#areas/rewards/schemas.ts';
import type { App } from '#platform/app.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '../app.ts';
import { jsonOf } from '../http/json.ts';
import { type JsonInit, send } from '../wallet.ts';
import { sql } from './boards.ts';

export const INTERNAL_TOKEN = 'test-internal-token-0123456789';
/** A UTC day long past: 2025-05-09. */
export const DAY = 20_217;

/** Starts an application whose workers compute epochs but send no transactions. */
export const startRewards = (queues = 'epochs'): Promise<TestApp> => startTestApp({ env: { QUEUES: queues, INTERNAL_TOKENS: INTERNAL_TOKEN } });

/** Returns a random address without a known key. */
export const randomWallet = (): string => bs58.encode(randomBytes(32));

/** A ledger row of a wallet. */
export interface PointsRow {
  wallet: string;
  points: number;
  mode?: 'regular' | 'beta';
  kind?: 'game' | 'quest' | 'referral' | 'conversion';
  rewards?: boolean;
}

/** Inserts ledger rows of a past day. */
export async function insertPastPoints(app: App, day: number, given: readonly PointsRow[]): Promise<void> {
  await sql(
    app,
    `insert into ledger (wallet, mode, kind, reason, source, source_id, points, rewards, day, at, cause_day)
     select w, m, k, 'test', 'test', gen_random_uuid()::text, p, r, $1, to_timestamp($1 * 86400 + 43200), 0
     from unnest($2::text[], $3::text[], $4::text[], $5::int8[], $6::bool[]) as g(w, m, k, p, r)`,
    [
      day,
      given.map((g) => g.wallet),
      given.map((g) => g.mode ?? 'regular'),
      given.map((g) => g.kind ?? 'game'),
      given.map((g) => g.points),
      given.map((g) => g.rewards ?? true),
    ],
  );
}

/** Marks days as closed, as the job that closes periods does. */
export async function closeDays(app: App, ...days: number[]): Promise<void> {
  await sql(app, `insert into closed_periods (period, bucket) select 'day', unnest($1::int[]) on conflict do nothing`, [days]);
}

/** Inserts ledger rows of a past day and closes the day. */
export async function insertClosedDay(app: App, day: number, given: readonly PointsRow[]): Promise<void> {
  await insertPastPoints(app, day, given);
  await closeDays(app, day);
}

/** Sends a request with the admin token. */
export const asAdmin = (t: TestApp, path: string, { headers, ...init }: JsonInit = {}): Promise<Response> =>
  send(t, path, { ...init, headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, ...Object.fromEntries(new Headers(headers)) } });

/** Requests the computation of an epoch. */
export const trigger = (t: TestApp, epoch?: number, headers: Record<string, string> = {}): Promise<Response> =>
  asAdmin(t, '/rewards/trigger-epoch', { json: epoch === undefined ? {} : { epoch }, headers });

/** Sets the reward rules. Defaults: a pool of 1,000,000 base units, no cap, no dust. */
export async function setRules(t: TestApp, rules: object = {}): Promise<Response> {
  const json = { pool: '1000000', cap: null, dust: '0', expiryDays: 90, automatic: true, ...rules };
  return await asAdmin(t, '/admin/config/rewards', { method: 'PUT', json });
}

export const epochOf = (t: TestApp, epoch: number): Promise<EpochView> => jsonOf(send(t, `/api/rewards/epoch/${epoch}`), EpochView);

/** Returns the status and the JSON body of a response. */
export async function statusAndBody(responding: Response | Promise<Response>): Promise<[number, unknown]> {
  const response = await responding;
  return [response.status, await response.json()];
}

/** A line of a leaf file. */
interface LeafLine {
  index: number | null;
  wallet: string;
  points: number | null;
  amount: string;
}

/** Downloads the leaf file of an epoch. Returns its header line and the other lines. @param query such as `?allocation=1` */
export async function leavesOf(t: TestApp, epoch: number, query = ''): Promise<{ header: Record<string, unknown>; lines: LeafLine[] }> {
  const text = await (await send(t, `/api/rewards/epoch/${epoch}/leaves${query}`)).text();
  const [header, ...lines] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { header, lines };
}
