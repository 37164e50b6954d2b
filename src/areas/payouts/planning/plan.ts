import { sql } from 'kysely';
import { reconcilePayouts } from '#jobs/payouts.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { outflowLeft, selectPause, submit, TOKEN_ACCOUNTS } from '#platform/solana/submission/index.ts';
import { alert } from '../alerts.ts';
import { type BatchTerms, hashOfMembers, packMembers } from '../batches/members.ts';
import { PAYOUTS_SCOPE } from '../batches/transaction-type.ts';
import { build } from '../build.ts';
import { type Lane, lockLane, markStale } from '../lanes/rows.ts';
import { moveToManual } from '../manual.ts';
import type { Currency } from '../payments.ts';
import { selectFailover } from '../reconciliation/rows.ts';
import { type BatchChoice, type Candidate, chooseMembers, type Limits } from './choose.ts';
import { type ChainState, readChainState } from './read-chain-state.ts';
import {
  delayPayments,
  insertMembers,
  lockCandidates,
  lockPlanning,
  recordOpenings,
  selectCandidates,
  selectInFlight,
  selectOpened,
} from './rows.ts';

/** Delay of payments while the treasury cannot pay in their currency at all, ms. */
const UNAVAILABLE_DELAY_MS = 5_000;

/**
 * Thrown when a concurrent database transaction, for example of a claim, has recorded that it opens the token account of a member. The batch is
 * rolled back, and its payments are planned again.
 */
class OpenedConcurrently extends Error {}

/** The payments of a lane in one currency that may go into the lane's next batch. */
interface Plan {
  readonly lane: Lane & { readonly nonce: string };
  readonly currency: Currency;
  readonly mint: Address;
  readonly candidates: readonly Candidate[];
}

/** Returns one plan per currency in which payments of the lane are due. The plan whose payment has been due for the longest time comes first. */
async function plansFor(app: App, lane: Plan['lane'], mints: ReadonlyMap<Currency, Address>): Promise<Plan[]> {
  const found = await Promise.all(
    [...mints].map(async ([currency, mint]) => {
      const rows = await app.db.query(selectCandidates, [lane.lane, currency]);
      const candidates = rows.map(({ id, wallet, amount, giveUps, cause }) => ({ id, wallet, amount: BigInt(amount), giveUps, cause }));
      return { plan: { lane, currency, mint, candidates }, since: rows[0]?.due ?? Number.POSITIVE_INFINITY };
    }),
  );
  return found
    .filter(({ plan }) => plan.candidates.length > 0)
    .sort((a, b) => a.since - b.since)
    .map(({ plan }) => plan);
}

/**
 * Puts pending payments of a free lane into a batch, as many as fit into one Solana transaction. Reads the chain before the database transaction
 * begins. If the chain changes after this read, the simulation of the batch fails and the payments are planned again.
 */
export async function planLane(app: App, lane: Lane, mints: ReadonlyMap<Currency, Address>): Promise<void> {
  if (lane.nonce === null || lane.stale || lane.batch !== null) return;
  for (const plan of await plansFor(app, { ...lane, nonce: lane.nonce }, mints)) {
    if (await planBatch(app, plan)) return;
  }
}

/** Puts pending payments of one currency into a batch. @returns whether a batch was stored */
async function planBatch(app: App, plan: Plan): Promise<boolean> {
  const { lane, mint, candidates } = plan;
  const treasury = app.chain.key('treasury').publicKey;
  const wallets = candidates.map(({ wallet }) => wallet);
  // Reads the records of opened token accounts before the chain state. In the other order, an account that is opened between the two reads would look
  // like an account that the wallet has closed.
  const opened = await app.db.query(selectOpened, [wallets, mint.toBase58()]);
  const chain = await readChainState(app, lane, mint, treasury, wallets);
  if ('unavailable' in chain) {
    alert(app, 'payouts', chain.unavailable);
    const ids = candidates.map(({ id }) => id);
    await app.tx((tx) => tx.query(delayPayments, [ids, UNAVAILABLE_DELAY_MS, 'waits until the treasury can pay in this currency']));
    return false;
  }
  if (chain.nonce !== lane.nonce) {
    await app.tx((tx) => run(tx, markStale([lane.lane])));
    return false;
  }
  const [dailyLimit, rentBudget] = await Promise.all([outflowLeft(app, mint.toBase58(), 'payouts'), outflowLeft(app, TOKEN_ACCOUNTS, 'payouts')]);
  const terms: BatchTerms = {
    id: newId(),
    address: lane.address,
    feePayer: lane.authority,
    treasury: treasury.toBase58(),
    mint: mint.toBase58(),
    decimals: chain.decimals,
  };
  const before = { dailyLimit, rentBudget, opened: new Map(opened.map(({ wallet, landed }) => [wallet, landed])) };
  const choice = await app
    .tx((tx) => storeBatch(tx, plan, terms, chain, before))
    .catch((error: unknown) => {
      if (error instanceof OpenedConcurrently) return null;
      throw error;
    });
  for (const delay of choice?.delayed.keys() ?? []) if (delay.alert) alert(app, 'payouts', `${plan.currency} ${delay.reason}`);
  return choice !== null && choice.members.length > 0;
}

/**
 * Stores a batch and its members, and submits the transaction of the batch.
 * @returns the decision about each candidate; null when the lane is no longer free, payouts are paused, or a failover is not reconciled
 */
async function storeBatch(
  tx: Tx,
  plan: Plan,
  terms: BatchTerms,
  chain: ChainState,
  before: Omit<Limits, 'funds'> & { opened: ReadonlyMap<string, boolean> },
): Promise<BatchChoice | null> {
  const { lane, currency } = plan;
  await tx.query(lockPlanning, [currency]);
  if ((await tx.query(lockLane, [lane.lane, lane.address, lane.nonce])).length === 0) return null;
  if ((await tx.query(selectPause, [PAYOUTS_SCOPE])).length > 0) return null;
  // A failover may have lost the record that the candidates were paid. This transaction reads the timeline itself, so no failover comes in between.
  if ((await tx.query(selectFailover)).length > 0) {
    tx.enqueue(reconcilePayouts, {});
    return null;
  }
  const locked = new Set((await tx.query(lockCandidates, [plan.candidates.map(({ id }) => id)])).map(({ id }) => id));
  const candidates = plan.candidates.filter(({ id }) => locked.has(id));
  const inFlight = BigInt((await tx.query(selectInFlight, [currency]))[0]?.amount ?? '0');
  const choice = chooseMembers(candidates, chain, { ...before, funds: chain.funds - inFlight }, before.opened);
  await moveToManual(tx, choice.unpayable);
  for (const [delay, ids] of choice.delayed) await tx.query(delayPayments, [ids, delay.ms, delay.reason]);
  const members = packMembers(terms, choice.members);
  if (members.length === 0) return choice;
  const ids = members.map(({ payment }) => payment);
  const giveUps = new Map(candidates.map(({ id, giveUps: n }) => [id, n]));
  const { feePayer, ...others } = terms;
  const urgency = Math.max(...ids.map((id) => giveUps.get(id) ?? 0));
  const used = { lane: lane.lane, nonce: lane.nonce, rent: String(chain.rent), urgency, members_hash: hashOfMembers(terms, members) };
  await run(tx, build.insertInto('payout_batches').values({ ...others, fee_payer: feePayer, ...used }));
  const opening = members.filter(({ opens }) => opens).map(({ wallet }) => wallet);
  const recorded = await tx.query(recordOpenings, [opening, terms.mint, terms.id]);
  if (recorded.length < opening.length) throw new OpenedConcurrently();
  await tx.query(insertMembers, [terms.id, ids, members.map(({ opens }) => opens)]);
  await run(tx, build.updateTable('payout_lanes').set({ batch: terms.id, changed_at: sql`app_now()` }).where('lane', '=', lane.lane));
  await submit(tx, { name: 'payout-batch', priority: 'payouts' }, [terms.id]);
  return { ...choice, members };
}
