import { setTimeout as sleep } from 'node:timers/promises';
import { type LeafProof, relayClaim } from '#test/support/solana/relay.ts';
import { createWallet } from '#test/support/wallet.ts';
import { type Client, newKey } from '../system/client.ts';
import { adminRequest } from '../system/operators.ts';
import { ignoreAbandoned, type LoadContext } from '../system/players.ts';
import type { Random } from '../system/random.ts';
import type { Strangers } from './strangers.ts';

const MAX_PAYMENT = 100_000;
const WALLETS = 30;
/** Maximum pause between two payments, ms. */
const PAUSE_MS = 300;
/** One of this many claims is sent by a stranger first. */
const RELAYED = 3;

/** Creates payments for a set of wallets until the run is over. */
export async function runPayments(operator: Client, load: LoadContext, random: Random): Promise<void> {
  const wallets = Array.from({ length: WALLETS }, () => createWallet().address);
  for (const wallet of wallets) load.ledger.confirmed.funded.set(wallet, 0n);
  for (let n = 0; !load.over; n++) {
    await ignoreAbandoned(async () => {
      const amount = String(random.between(1, MAX_PAYMENT));
      const json = { wallet: random.pick(wallets), currency: 'usdc', amount, reference: `soak-${n}` };
      const answer = await adminRequest(operator, '/admin/payments', { json });
      if (answer.status > 202) operator.reportViolation('/admin/payments', answer);
    });
    await sleep(random.between(0, PAUSE_MS));
  }
}

/** Claims the rewards of a player until the run is over. A stranger claims some of them first, or at the same time. */
export async function runClaims(client: Client, load: LoadContext, random: Random, strangers: Strangers): Promise<void> {
  const done = new Set<number>();
  while (!load.over) {
    await sleep(random.between(100, 1_000));
    for (const epoch of load.claimable) {
      if (!done.has(epoch) && !load.over)
        await ignoreAbandoned(async () => void ((await claim(client, epoch, random, strangers)) && done.add(epoch)));
    }
  }
}

/** Claims a reward. @returns whether the service has accepted the claim or knows it already */
async function claim(client: Client, epoch: number, random: Random, strangers: Strangers): Promise<boolean> {
  const { wallet } = client;
  const { status, body: leaf } = await client.request<LeafProof>(`/api/rewards/epoch/${epoch}/proof/${wallet}`);
  if (status !== 200) return false;
  if (random.between(1, RELAYED) === 1) {
    await relayClaim(strangers.connection, strangers.env, strangers.key, { wallet, epoch, leaf });
    await sleep(random.between(0, 500));
  }
  const headers = { ...newKey(), Prefer: 'wait=0' };
  const answer = await client.request<{ error?: string }>('/api/rewards/claim', { json: { epoch, proof: leaf.proof }, headers });
  const isKnown = answer.status === 409 && /claimed already/.test(answer.body.error ?? '');
  if (answer.status === 200 || answer.status === 202 || isKnown) return true;
  client.reportViolation('/api/rewards/claim', answer);
  return false;
}
