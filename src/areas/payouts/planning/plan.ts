import type { PublicKey } from '@solana/web3.js';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { selectPause } from '#platform/solana/submission/rows.ts';
import { outflowLeft, submit, TOKEN_ACCOUNTS } from '#platform/solana/submission/transactions.ts';
import { alert } from '../alerts.ts';
import { membersHash, packed, type Terms } from '../batches/members.ts';
import { PAYOUTS } from '../batches/transaction-type.ts';
import { type Lane, lockLane, markStale, takeLane } from '../lanes/rows.ts';
import { setAside } from '../manual.ts';
import type { Currency } from '../payments.ts';
import { type Candidate, type Choice, choose, type Means } from './choose.ts';
import { type Survey, survey } from './read-chain-state.ts';
import {
  delayPayments,
  insertBatch,
  insertMembers,
  lockCandidates,
  lockPlanning,
  recordOpenings,
  selectCandidates,
  selectOpened,
  selectUnderway,
} from './rows.ts';

/** How long payments wait while nothing at all can be paid in their token, ms. */
const STANDSTILL_MS = 5_000;

/** A claim opens the token account of a member at this moment: the batch is not made, its members regroup at the next look. */
class OpenedMeanwhile extends Error {}

/** Who may be paid next on a lane, in one currency. */
interface Plan {
  readonly lane: Lane & { readonly nonce: string };
  readonly currency: Currency;
  readonly mint: PublicKey;
  readonly candidates: readonly Candidate[];
}

/** What is owed on a lane in each of the currencies, the one that has waited longest first. */
async function plansFor(app: App, lane: Plan['lane'], mints: ReadonlyMap<Currency, PublicKey>): Promise<Plan[]> {
  const found = await Promise.all(
    [...mints].map(async ([currency, mint]) => {
      const rows = await app.db.query(selectCandidates, [lane.lane, currency]);
      const candidates = rows.map(({ id, wallet, amount, giveUps }) => ({ id, wallet, amount: BigInt(amount), giveUps }));
      return { plan: { lane, currency, mint, candidates }, since: rows[0]?.due ?? Number.POSITIVE_INFINITY };
    }),
  );
  return found
    .filter(({ plan }) => plan.candidates.length > 0)
    .sort((a, b) => a.since - b.since)
    .map(({ plan }) => plan);
}

/**
 * Puts what is owed on a free lane into a batch, as much as one transaction holds. The chain is asked first, outside any
 * transaction; what it said may have changed since, and then the batch is refused and its members regroup.
 * @returns whether there is a new batch
 */
export async function planLane(app: App, lane: Lane, mints: ReadonlyMap<Currency, PublicKey>): Promise<boolean> {
  if (lane.nonce === null || lane.stale || lane.batch !== null) return false;
  for (const plan of await plansFor(app, { ...lane, nonce: lane.nonce }, mints)) {
    if (await carryOut(app, plan)) return true;
  }
  return false;
}

async function carryOut(app: App, plan: Plan): Promise<boolean> {
  const { lane, mint, candidates } = plan;
  const treasury = app.chain.key('treasury').publicKey;
  const wallets = candidates.map(({ wallet }) => wallet);
  // Before the chain: what is opened between the two looks must not seem to have been closed.
  const opened = await app.db.query(selectOpened, [wallets, mint.toBase58()]);
  const chain = await survey(app, lane, mint, treasury, wallets);
  if ('standstill' in chain) {
    alert(app, 'payouts', chain.standstill);
    const ids = candidates.map(({ id }) => id);
    await app.tx((tx) => tx.query(delayPayments, [ids, STANDSTILL_MS, 'waits until the treasury can pay']));
    return false;
  }
  if (chain.nonce !== lane.nonce) {
    await app.tx((tx) => tx.query(markStale, [[lane.lane]]));
    return false;
  }
  const [limit, budget] = await Promise.all([outflowLeft(app, mint.toBase58()), outflowLeft(app, TOKEN_ACCOUNTS)]);
  const terms: Terms = {
    id: newId(),
    address: lane.address,
    feePayer: lane.authority,
    treasury: treasury.toBase58(),
    mint: mint.toBase58(),
    decimals: chain.decimals,
  };
  const before = { limit, budget, opened: new Map(opened.map(({ wallet, landed }) => [wallet, landed])) };
  const choice = await app
    .tx((tx) => commit(tx, plan, terms, chain, before))
    .catch((error: unknown) => {
      if (error instanceof OpenedMeanwhile) return null;
      throw error;
    });
  for (const delay of choice?.delayed.keys() ?? []) if (delay.alert) alert(app, 'payouts', `${plan.currency} ${delay.reason}`);
  return choice !== null && choice.members.length > 0;
}

/** Writes a batch down with all that belongs to it. @returns null where the lane was taken, or payouts stopped, meanwhile */
async function commit(
  tx: Tx,
  plan: Plan,
  terms: Terms,
  chain: Survey,
  before: Omit<Means, 'funds'> & { opened: ReadonlyMap<string, boolean> },
): Promise<Choice | null> {
  const { lane, currency } = plan;
  await tx.query(lockPlanning, [currency]);
  if ((await tx.query(lockLane, [lane.lane, lane.address, lane.nonce])).length === 0) return null;
  if ((await tx.query(selectPause, [PAYOUTS])).length > 0) return null;
  const locked = new Set((await tx.query(lockCandidates, [plan.candidates.map(({ id }) => id)])).map(({ id }) => id));
  const candidates = plan.candidates.filter(({ id }) => locked.has(id));
  const underway = BigInt((await tx.query(selectUnderway, [currency]))[0]?.amount ?? '0');
  const choice = choose(candidates, chain, { ...before, funds: chain.funds - underway }, before.opened);
  await setAside(tx, choice.unfit);
  for (const [delay, ids] of choice.delayed) await tx.query(delayPayments, [ids, delay.ms, delay.reason]);
  const members = packed(terms, choice.members);
  if (members.length === 0) return choice;
  const ids = members.map(({ payment }) => payment);
  const giveUps = new Map(candidates.map(({ id, giveUps: n }) => [id, n]));
  await tx.query(insertBatch, [
    terms.id,
    lane.lane,
    terms.address,
    lane.nonce,
    terms.feePayer,
    terms.treasury,
    terms.mint,
    terms.decimals,
    chain.rent,
    Math.max(...ids.map((id) => giveUps.get(id) ?? 0)),
    membersHash(ids),
  ]);
  const opening = members.filter(({ opens }) => opens).map(({ wallet }) => wallet);
  const recorded = await tx.query(recordOpenings, [opening, terms.mint, terms.id]);
  if (recorded.length < opening.length) throw new OpenedMeanwhile();
  await tx.query(insertMembers, [terms.id, ids, members.map(({ opens }) => opens)]);
  await tx.query(takeLane, [lane.lane, terms.id]);
  await submit(tx, { name: 'payout-batch' }, [terms.id]);
  return { ...choice, members };
}
