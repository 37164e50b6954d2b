import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { requestClaim } from '#areas/rewards/claims/request.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import type { App } from '#platform/app.ts';
import { type PatientPlayer, patientPlayer, retryUntilPass } from '#test/support/areas/player.ts';
import { insertComputedEpoch, untilEpoch } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

/** Number of claims in the burst, and of claims that one database transaction requests. */
const CLAIMS = Number(process.env.BURST_CLAIMS ?? 10_000);
const BATCH = 250;
/** Maximum additional time until a commitment is signed, and until it is finalized, during the burst, ms. */
const MAX_DELAY_MS = 5_000;
const EPOCH = Math.floor(Date.now() / 86_400_000) - 1;

let system: System;
let player: PatientPlayer;
let db: pg.Client;
let app: App;

beforeAll(async () => {
  system = await startSystem({
    workers: 2,
    localnet: { slotMs: 100, finalizedAfter: 16, beaconMs: 1_000 },
    env: {
      ...{ LANDING_POLL_MS: '200', LOG_LEVEL: 'error', DRAW_LEAD_SEC: '4', DRAW_MARGIN_SEC: '1' },
      ...{ TOKEN_ACCOUNT_DAILY_BUDGET: '1000000000000', DAILY_SOL_LIMIT: '1000000000000', TOKEN_ACCOUNT_MIN_CLAIM: '1' },
    },
  });
  player = await patientPlayer(system.urls);
  db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
  app = await openContext(readConfig(system.env), 'claim-burst');
}, 120_000);

afterAll(async () => {
  await app?.close();
  await db?.end();
  await system?.stop();
}, 60_000);

const operator = { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}` };

async function adminRequest(path: string, json: unknown = {}): Promise<{ id: string }> {
  const answer = await player.request<{ id: string; error?: string }>(path, {
    json,
    headers: { ...operator, 'Idempotency-Key': crypto.randomUUID() },
  });
  if (answer.status >= 300) throw new Error(`${path} returned ${answer.status} ${answer.body.error}`);
  return answer.body;
}

interface Latency {
  /** Time from the submission of a commitment until it was signed, ms. */
  readonly signed: number;
  /** Time from the submission of a commitment until the service knew that it is finalized, ms. */
  readonly finalized: number;
}

/** Runs a chat round with one entry. @returns the latency of its commitment */
async function commitRound(title: string): Promise<Latency> {
  const { id } = await adminRequest('/chat/round', { title, prizes: [{ amount: '1000', mint: 'usdc' }], durationSec: 2, range: 10 });
  await adminRequest(`/chat/round/${id}/start`);
  await player.request('/chat/message', { json: { text: '!enter' }, headers: { 'Idempotency-Key': crypto.randomUUID() } });
  let latency: Latency | undefined;
  await retryUntilPass(async () => {
    const { rows } = await db.query<Latency>(
      `select extract(epoch from a.signed_at - t.created_at)::float8 * 1000 as signed,
         extract(epoch from t.changed_at - t.created_at)::float8 * 1000 as finalized
       from chain_transactions t join chain_attempts a on a.transaction_id = t.id
       where t.kind = 'draw-commitment' and t.subject = $1 and t.state = 'finalized' and a.state = 'finalized'`,
      [id],
    );
    latency = rows[0];
    expect(latency).toBeDefined();
  }, 90_000);
  if (!latency) throw new Error('the round has no commitment');
  return latency;
}

/** Opens an epoch with `CLAIMS` wallets. @returns a function that requests all claims */
async function openEpoch(): Promise<() => Promise<void>> {
  const { leaves } = await insertComputedEpoch(
    app,
    EPOCH,
    Array.from({ length: CLAIMS }, () => [createWallet().address, 1_000n] as const),
  );
  await untilEpoch({ app }, EPOCH, 'committed');
  return async () => {
    for (let first = 0; first < leaves.length; first += BATCH) {
      await app.tx(async (tx) => {
        for (const { wallet, proof } of leaves.slice(first, first + BATCH)) {
          await requestClaim(tx, wallet, { epoch: EPOCH, proof: proof.map((node) => Buffer.from(node, 'hex')) });
        }
      });
    }
  };
}

const countClaimed = async () =>
  (await db.query<{ n: number }>(`select count(*)::int as n from claims where epoch = $1 and state = 'claimed'`, [EPOCH])).rows[0]?.n ?? 0;
const countQueued = async () =>
  (await db.query<{ n: number }>(`select count(*)::int as n from chain_transactions where kind = 'claim' and state = 'queued'`)).rows[0]?.n ?? 0;

test(`a burst of ${CLAIMS} claims delays a commitment by less than ${MAX_DELAY_MS} ms`, async () => {
  const quiet = await commitRound('quiet');
  const requestAll = await openEpoch();
  const requesting = requestAll();
  await retryUntilPass(async () => expect(await countQueued()).toBeGreaterThan(CLAIMS / 10), 240_000);
  const busy: (Latency & { queued: number })[] = [];
  for (const title of ['busy 1', 'busy 2', 'busy 3']) {
    const latency = await commitRound(title);
    busy.push({ ...latency, queued: await countQueued() });
  }
  await requesting;
  expect(busy.at(-1)?.queued).toBeGreaterThan(0);
  for (const { signed, finalized } of busy) {
    expect(signed - quiet.signed).toBeLessThan(MAX_DELAY_MS);
    expect(finalized - quiet.finalized).toBeLessThan(MAX_DELAY_MS);
  }
  // The claims are paid meanwhile.
  const before = await countClaimed();
  await retryUntilPass(async () => expect(await countClaimed()).toBeGreaterThan(before), 60_000);
}, 600_000);
