import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { SYSTEM_ADMIN_TOKEN, type System, startSystem } from '#dev/stack/system.ts';
import { parseSecretKey } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { cpuPerRequest, cpuSeconds, reportCpu } from './support/cpu.ts';
import { report } from './support/report.ts';
import { type BenchWallet, SESSION_KEY, signedInWallets, withDatabase } from './support/wallets.ts';

/**
 * This benchmark measures claims over HTTP until they are finalized. The cluster has the timing of mainnet: slots of 400 ms, and blocks that are
 * finalized after 32 blocks. One API process, one worker process, PostgreSQL with durable commits, Redis, the cluster and this load share one
 * machine. The number of claims in flight is constant: when a claim is finalized, the load sends a new claim.
 */

const SECONDS = Number(process.env.BENCH_SECONDS ?? 30);
const SLOT_MS = Number(process.env.BENCH_SLOT_MS ?? 400);
const LEVELS = (process.env.BENCH_LEVELS ?? '1,10,100,1000').split(',').map(Number);
const WALLETS = 1_000;
const AMOUNT = '1000000';

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
  const first = await openEpoch(wallets);
  const opening = await claimAll(first.slice(0, WALLETS), WALLETS, Number.POSITIVE_INFINITY);
  report('a claim that opens a token account', opening.lamports, 'lamports');
  for (const level of LEVELS) {
    const claims = await openEpoch(wallets);
    const before = cpuSeconds(system);
    const { done, seconds, lamports, ids } = await claimAll(claims, level, SECONDS);
    const cpu = cpuPerRequest(before, cpuSeconds(system), done);
    const what = `${level} in flight`;
    const { signed, confirmed, final } = await stageLatencies(system, ids);
    report(
      `${what}: finalized claims`,
      done / seconds,
      '/s',
      final === undefined ? '' : { peer: 'in flight ÷ time to finality', value: (1_000 * level) / final },
    );
    report(`${what}: request until signed, median`, signed ?? Number.NaN, 'ms');
    report(`${what}: request until confirmed, median`, confirmed ?? Number.NaN, 'ms');
    report(`${what}: request until finalized, median`, final ?? Number.NaN, 'ms', { peer: '32 slots', value: 32 * SLOT_MS });
    report(`${what}: cost of a claim`, lamports, 'lamports');
    reportCpu(what, cpu);
  }
} finally {
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
  for (const by of wallets) {
    const { proof } = Proof.parse(await (await fetch(`${url}/api/rewards/epoch/${epoch}/proof/${by.wallet}`)).json());
    requests.push({ by, epoch, proof });
  }
  return requests;
}

async function requestClaim({ by, epoch, proof }: ClaimRequest): Promise<string> {
  const response = await fetch(`${url}/api/rewards/claim`, {
    method: 'POST',
    headers: { Cookie: by.cookie, Origin: url, 'Content-Type': 'application/json', Prefer: 'wait=0' },
    body: JSON.stringify({ epoch, proof }),
  });
  if (!response.ok) throw new Error(`the request to claim a reward returned ${response.status}: ${await response.text()}`);
  return Receipt.parse(await response.json()).claimId;
}

/**
 * Keeps `inFlight` claims in flight for `seconds`, then waits until the last claims are finalized. In the result, `lamports` is the mean cost of one
 * claim for the fee payer, including rent.
 */
async function claimAll(claims: readonly ClaimRequest[], inFlight: number, seconds: number) {
  const balance = await readBalance();
  const started = performance.now();
  const waiting = new Map<string, () => void>();
  const ids: string[] = [];
  let left = true;
  const watching = withDatabase(system, async (db) => {
    while (left) {
      await sleep(50);
      const { rows } = await db.query(`select id from claims where id = any($1) and state = 'claimed'`, [[...waiting.keys()]]);
      for (const { id } of rows) {
        waiting.get(id)?.();
        waiting.delete(id);
      }
    }
  });
  const next = claims.values();
  const worker = async () => {
    for (const one of next) {
      const id = await requestClaim(one);
      await new Promise<void>((resolve) => waiting.set(id, resolve));
      ids.push(id);
      if (performance.now() - started > seconds * 1_000) return;
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(inFlight, claims.length) }, worker));
  } finally {
    left = false;
    await watching;
  }
  const took = (performance.now() - started) / 1_000;
  const spent = balance - (await readBalance());
  return { done: ids.length, seconds: took, lamports: Math.round(spent / ids.length), ids };
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
