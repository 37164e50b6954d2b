import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { SYSTEM_ADMIN_TOKEN, SYSTEM_ORIGIN, type System, startSystem } from '#dev/stack/system.ts';
import { parseSecretKey } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { cpuPerRequest, cpuSeconds, reportCpu, secondsOf } from './support/cpu.ts';
import { HttpClient } from './support/http-client.ts';
import { request } from './support/load.ts';
import { report } from './support/report.ts';
import { type BenchWallet, SESSION_KEY, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures claims over HTTP until they are finalized. The cluster has the timing of mainnet: slots of 400 ms, and blocks that are
 * finalized after 32 blocks. One API process, one worker process, PostgreSQL with durable commits, Redis, the cluster and this load share one
 * machine. The number of claims in flight is constant: when a claim is finalized, the load sends a new claim. The first claims are sent evenly over the
 * time to finality. The measurement begins after that time and ends after `SECONDS`, while the same number of claims is in flight.
 */

const SECONDS = Number(process.env.BENCH_SECONDS ?? 30);
const SLOT_MS = Number(process.env.BENCH_SLOT_MS ?? 400);
const LEVELS = (process.env.BENCH_LEVELS ?? '1,10,100,1000,3000').split(',').map(Number);
const WALLETS = Number(process.env.BENCH_WALLETS ?? Math.max(1_000, ...LEVELS));
const AMOUNT = '1000000';
const FINALITY_MS = 32 * SLOT_MS;
/** Delay between two claims that open token accounts, ms, so that a slow machine is not flooded before the measurements. */
const OPENING_INTERVAL_MS = 20;
/** Responses with 503 so far: the service has too much work, and the client repeats the request. */
let repeated = 0;
/** Time between two reads of the claims that may be finalized, ms. More frequent reads would take CPU time of PostgreSQL from the service. */
const WATCH_INTERVAL_MS = 250;
/** Concurrent requests for proofs. */
const READERS = 8;
/** Minimum rate at the level, claims per second, and maximum time until a claim is signed, ms. */
const TARGETS: Readonly<Record<number, number>> = { 1000: 65, 3000: 150 };
const SIGNED_WITHIN_MS = 1_000;
const MAX_CPU_US = 10_000;

const Epoch = z.object({ status: z.string() });
const Proof = z.object({ proof: z.array(z.string()) });
const Receipt = z.object({ claimId: z.string() });

const system = await startSystem({
  durable: true,
  localnet: { slotMs: SLOT_MS, finalizedAfter: 32 },
  env: {
    SESSION_KEYS: SESSION_KEY,
    TOKEN_ACCOUNT_DAILY_BUDGET: '1000000000000',
    DAILY_SOL_LIMIT: '1000000000000',
    LANDING_POLL_MS: String(Math.min(400, SLOT_MS)),
  },
});
const url = system.urls[0] ?? '';
const client = new HttpClient(url);
const chain = new RpcNode(system.localnet?.url ?? '');
const feePayer = parseSecretKey(system.env.FEE_PAYER_KEY ?? '')?.publicKey;
if (feePayer === undefined) throw new Error('the cluster has no key of the fee payer');
const readBalance = async () => (await chain.account(feePayer, 'finalized')).account?.lamports ?? 0;
let day = Math.floor(Date.now() / 86_400_000);

interface ClaimRequest {
  readonly by: BenchWallet;
  readonly epoch: number;
  readonly proof: readonly string[];
}

try {
  const wallets = await signedInWallets(system, WALLETS);
  const opening = await claimAll(await openEpoch(wallets));
  report('a claim that opens a token account', opening, 'lamports');
  for (const level of LEVELS) {
    // One epoch has one claim per wallet, so the claims in flight and those that follow them need several epochs.
    const epochs = Math.ceil((level * (2 + (1_000 * SECONDS) / FINALITY_MS)) / WALLETS);
    const claims: ClaimRequest[] = [];
    for (let i = 0; i < epochs; i++) claims.push(...(await openEpoch(wallets)));
    repeated = 0;
    const { done, seconds, lamports, ids, cpu, clusterCpu } = await claimSteadily(claims, level);
    const what = `${level} in flight`;
    const { signed, confirmed, final } = await stageLatencies(system, ids);
    const ceiling = `in flight ÷ ${FINALITY_MS / 1_000} s`;
    const target = TARGETS[level];
    report(
      `${what}: finalized claims`,
      done / seconds,
      '/s',
      target === undefined ? { peer: ceiling, value: (1_000 * level) / FINALITY_MS } : { atLeast: target },
    );
    report(`${what}: request until signed, median`, signed ?? Number.NaN, 'ms', { atMost: SIGNED_WITHIN_MS });
    report(`${what}: request until confirmed, median`, confirmed ?? Number.NaN, 'ms');
    report(`${what}: request until finalized, median`, final ?? Number.NaN, 'ms', { peer: '32 slots', value: FINALITY_MS });
    report(`${what}: requests repeated after 503`, repeated, 'times');
    report(`${what}: cost of a claim`, lamports, 'lamports');
    reportCpu(what, cpu);
    if (level in TARGETS) reportCpu(`${what}, limit`, cpu, { atMost: MAX_CPU_US });
    report(`${what}: CPU of the cluster`, (1e6 * clusterCpu) / done, 'µs', 'not part of the CPU of a claim');
  }
} finally {
  client.close();
  await system.stop();
}

/**
 * Imports an epoch with a reward for every wallet, waits until the epoch is on the chain, and reads the proof of every wallet. Returns one claim per
 * wallet.
 */
async function openEpoch(wallets: readonly BenchWallet[]): Promise<ClaimRequest[]> {
  const epoch = --day;
  const response = await fetch(`${url}/api/rewards/epoch/import`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${SYSTEM_ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ epoch, distribution: wallets.map(({ wallet }) => ({ wallet, amount: AMOUNT })) }),
  });
  if (!response.ok) throw new Error(`the request to import an epoch returned ${response.status}: ${await response.text()}`);
  while (Epoch.parse(await (await fetch(`${url}/api/rewards/epoch/${epoch}`)).json()).status !== 'committed') await sleep(100);
  const requests: ClaimRequest[] = [];
  const next = wallets.values();
  const read = async () => {
    for (const by of next) {
      const { proof } = Proof.parse(await (await fetch(`${url}/api/rewards/epoch/${epoch}/proof/${by.wallet}`)).json());
      requests.push({ by, epoch, proof });
    }
  };
  await Promise.all(Array.from({ length: READERS }, read));
  return requests;
}

/** Requests a claim until it is accepted. Returns its id; null if an earlier request made the claim, although it was answered with 503. */
async function requestClaim({ by, epoch, proof }: ClaimRequest, isRepeated = false): Promise<string | null> {
  const headers = { Cookie: by.cookie, Origin: SYSTEM_ORIGIN, Prefer: 'wait=0' };
  const { status, head, body } = await client.send(request('POST', '/api/rewards/claim', new URL(url).host, headers, { epoch, proof }));
  if (status === '503') {
    repeated += 1;
    await sleep(1_000 * Number(/^retry-after: (\d+)/im.exec(head)?.[1] ?? 1));
    return await requestClaim({ by, epoch, proof }, true);
  }
  if (status === '409' && isRepeated) return null;
  if (!status.startsWith('2')) throw new Error(`the request to claim a reward returned ${status}: ${body}`);
  return Receipt.parse(JSON.parse(body.toString())).claimId;
}

/** Watches claims until they are finalized. Reads only claims that are old enough to be finalized, so that the reads cost PostgreSQL little. */
function watchClaims() {
  const waiting = new Map<string, { readonly from: number; readonly resolve: () => void }>();
  let isClosed = false;
  const watching = withDatabase(system, async (db) => {
    while (!isClosed) {
      await sleep(WATCH_INTERVAL_MS);
      const ids = [...waiting].filter(([, { from }]) => performance.now() >= from).map(([id]) => id);
      const { rows } = await db.query(`select id from claims where id = any($1) and state = 'claimed'`, [ids]);
      for (const { id } of rows) {
        waiting.get(id)?.resolve();
        waiting.delete(id);
      }
    }
  });
  return {
    untilFinal: (id: string) => new Promise<void>((resolve) => waiting.set(id, { from: performance.now() + FINALITY_MS, resolve })),
    async close() {
      isClosed = true;
      await watching;
    },
  };
}

/** Sends claims, one per `OPENING_INTERVAL_MS`, and waits until they are finalized. @returns the mean cost of a claim for the fee payer, including rent, lamports */
async function claimAll(claims: readonly ClaimRequest[]): Promise<number> {
  const balance = await readBalance();
  const watched = watchClaims();
  const claim = async (one: ClaimRequest, i: number) => {
    await sleep(i * OPENING_INTERVAL_MS);
    const id = await requestClaim(one);
    if (id !== null) await watched.untilFinal(id);
  };
  await Promise.all(claims.map(claim)).finally(() => watched.close());
  return Math.round((balance - (await readBalance())) / claims.length);
}

/**
 * Keeps `inFlight` claims in flight and measures for `SECONDS`, then waits until the last claims are finalized. In the result, `done` and `ids` are the
 * claims that were finalized in the measured time, `cpu` the CPU time of each, and `lamports` the mean cost of all claims.
 */
async function claimSteadily(claims: readonly ClaimRequest[], inFlight: number) {
  const balance = await readBalance();
  const watched = watchClaims();
  const next = claims.values();
  const finished: { readonly id: string; readonly at: number }[] = [];
  const measuredFrom = performance.now() + 1.25 * FINALITY_MS;
  const measuredUntil = measuredFrom + 1_000 * SECONDS;
  const worker = async (_: unknown, i: number) => {
    await sleep((FINALITY_MS * i) / inFlight);
    for (const one of next) {
      const id = await requestClaim(one);
      if (id === null) continue;
      await watched.untilFinal(id);
      finished.push({ id, at: performance.now() });
      if (performance.now() > measuredUntil) return;
    }
  };
  const measuring = async () => {
    await sleep(measuredFrom - performance.now());
    const [before, clusterBefore] = [cpuSeconds(system), secondsOf(system.localnet?.pid ?? 0)];
    await sleep(measuredUntil - performance.now());
    return { before, after: cpuSeconds(system), clusterCpu: secondsOf(system.localnet?.pid ?? 0) - clusterBefore };
  };
  const [{ before, after, clusterCpu }] = await Promise.all([measuring(), ...Array.from({ length: inFlight }, worker)]).finally(() =>
    watched.close(),
  );
  const ids = finished.filter(({ at }) => at >= measuredFrom && at < measuredUntil).map(({ id }) => id);
  const lamports = Math.round((balance - (await readBalance())) / finished.length);
  return { done: ids.length, seconds: SECONDS, lamports, ids, cpu: cpuPerRequest(before, after, ids.length), clusterCpu };
}

async function stageLatencies(of: System, ids: readonly string[]): Promise<Partial<Record<'signed' | 'confirmed' | 'final', number>>> {
  return await withDatabase(of, async (db) => {
    const { rows } = await db.query(
      `select percentile_cont(0.5) within group (order by extract(epoch from a.signed_at - c.created_at)) * 1000 as signed,
         percentile_cont(0.5) within group (order by extract(epoch from o.at - c.created_at)) * 1000 as confirmed,
         percentile_cont(0.5) within group (order by extract(epoch from c.changed_at - c.created_at)) * 1000 as final
       from claims c join chain_transactions t on t.kind = 'claim' and t.subject = c.id::text join chain_attempts a on a.transaction_id = t.id
       join outbox o on o.type = 'claim_confirmed' and o.payload->>'claimId' = c.id::text and o.payload->>'final' = 'false'
       where c.id = any($1)`,
      [ids],
    );
    return rows[0];
  });
}
