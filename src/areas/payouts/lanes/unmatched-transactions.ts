import { sql } from 'kysely';
import { membersHash, type PayoutMember } from '#lib/draw/payout.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { publishedMember } from '../batches/members.ts';
import { build } from '../build.ts';
import { payoutConfirmed } from '../events.ts';
import type { Currency, PaidPayment } from '../payments.ts';
import type { Transfer } from './entities.ts';
import type { Lane } from './rows.ts';
import type { UnknownTransaction } from './unknown-transaction.ts';

/** Maximum sequences of payments that are tried to find the sequence whose hash equals the hash in a memo. */
const MAX_ORDERS = 20_000;

const insertUnknown = statement(
  'insert_payout_findings',
  `insert into payout_findings (signature, lane, address, nonce, slot, batch, members_hash, transfers, verdict, reason)
   select f.signature, $1, $2, f.nonce, f.slot, f.batch, f.hash, f.transfers, f.verdict, f.reason
   from unnest($3::text[], $4::text[], $5::int8[], $6::uuid[], $7::text[], $8::jsonb[], $9::text[], $10::text[])
     as f(signature, nonce, slot, batch, hash, transfers, verdict, reason)
   order by f.signature on conflict (signature) do nothing`,
);

/** Stores unknown transactions of a lane. A signature that is stored already is skipped. */
export async function insertUnknownTransactions(tx: Tx, lane: Pick<Lane, 'lane' | 'address'>, unknown: readonly UnknownTransaction[]): Promise<void> {
  if (unknown.length === 0) return;
  await tx.query(insertUnknown, [
    lane.lane,
    lane.address,
    unknown.map(({ signature }) => signature),
    unknown.map(({ nonce }) => nonce),
    unknown.map(({ slot }) => slot),
    unknown.map(({ memo }) => memo?.batch ?? null),
    unknown.map(({ memo }) => memo?.hash ?? null),
    unknown.map(({ transfers }) => JSON.stringify(transfers)),
    unknown.map(({ harmless }) => (harmless === null ? 'unmatched' : 'harmless')),
    unknown.map(({ harmless }) => harmless ?? 'not compared with the payments yet'),
  ]);
}

interface UnmatchedTransaction {
  signature: string;
  members_hash: string | null;
  transfers: Transfer[];
}
const lockUnmatched = statement<UnmatchedTransaction>(
  'lock_unmatched_payout_findings',
  `select signature, members_hash, transfers from payout_findings where verdict = 'unmatched' and lane = $1 order by slot, signature for update`,
);
const updateVerdict = (signature: string, decided: { verdict: 'unmatched' | 'matched'; reason: string | null; payments: string[] }) =>
  build
    .updateTable('payout_findings')
    .set({ ...decided, changed_at: sql`app_now()` })
    .where('signature', '=', signature)
    .where('verdict', '=', 'unmatched');

interface MatchCandidate {
  id: string;
  wallet: string;
  amount: string;
  currency: Currency;
  cause: { kind: string; id: string };
  completed: boolean;
}
const CAUSE = `jsonb_build_object('kind', p.cause_kind, 'id', p.cause_id) as cause`;
// Includes payments in the states `batched` and `confirmed`, although they have a batch. This batch can no longer land, because the unmatched
// transaction has used the nonce of the lane.
const selectMatchCandidates = statement<MatchCandidate>(
  'select_payments_that_may_be_paid',
  `select p.id::text, p.wallet, p.amount::text, p.currency, ${CAUSE}, false as completed from payments p
   join unnest($1::text[], $2::numeric[]) as t(currency, amount) on t.currency = p.currency and t.amount = p.amount
   where p.payer = 'treasury' and p.state in ('pending', 'batched', 'confirmed', 'manual')
   union all
   select p.id::text, p.wallet, p.amount::text, p.currency, ${CAUSE}, true from payments p
   where p.payer = 'treasury' and p.state = 'completed' and p.signature = $3
   order by id`,
);
const completeMatched = statement<PaidPayment & { signature: string }>(
  'complete_matched_payments',
  `update payments p set state = 'completed', signature = $2, reason = null, completed_at = app_now(), changed_at = app_now()
   where id in (select id from payments where id = any($1::uuid[]) order by id for update)
     and p.state in ('pending', 'batched', 'confirmed', 'manual')
   returning p.id::text, p.wallet, p.currency, p.amount::text, p.signature`,
);

/**
 * Matches the unmatched transactions of a lane with payments, and completes the matched payments. A transaction matches when its transfers and the
 * payments have equal wallets, tokens and amounts, and its memo has the hash over the payments.
 * @returns one sentence for each transaction that stays unmatched
 */
export async function matchTransactions(app: App, tx: Tx, lane: Pick<Lane, 'lane'>): Promise<string[]> {
  const problems: string[] = [];
  for (const transaction of await tx.query(lockUnmatched, [lane.lane])) {
    const found = await matchTransaction(app, tx, transaction);
    if (typeof found === 'string') {
      problems.push(`unmatched transaction ${transaction.signature}: ${found}`);
      await run(tx, updateVerdict(transaction.signature, { verdict: 'unmatched', reason: found, payments: [] }));
      continue;
    }
    const open = found.filter(({ completed }) => !completed).map(({ id }) => id);
    const completed = await tx.query(completeMatched, [open, transaction.signature]);
    if (completed.length !== open.length) throw new Error(`payments of ${transaction.signature} changed while they were matched`);
    const payments = found.map(({ id }) => id);
    await run(tx, updateVerdict(transaction.signature, { verdict: 'matched', reason: null, payments }));
    for (const { id, ...payment } of completed) tx.emit(payoutConfirmed, { paymentId: id, ...payment }, payment.wallet);
    app.log.warn(
      { signature: transaction.signature, payments },
      'a transaction that was not in the database paid these payments; they are completed',
    );
  }
  return problems;
}

/** Returns the payments that a transaction paid, in the order of their batch. If no payments match, returns the reason. */
async function matchTransaction(app: App, tx: Tx, transaction: UnmatchedTransaction): Promise<MatchCandidate[] | string> {
  const { members_hash: hash, transfers } = transaction;
  if (hash === null || transfers.length === 0) return 'it has no batch memo or no transfers';
  const mints = new Map<string, Currency>();
  if (app.config.chain.usdcMint) mints.set(app.config.chain.usdcMint, 'usdc');
  if (app.config.chain.rewardMint) mints.set(app.config.chain.rewardMint, 'reward');
  const wanted = transfers.flatMap(({ mint, amount }) => {
    const currency = mints.get(mint);
    return currency ? [{ currency, amount }] : [];
  });
  if (wanted.length < transfers.length) return 'it pays a token that is not configured';
  const unique = [...new Map(wanted.map((one) => [`${one.currency} ${one.amount}`, one])).values()];
  const open = await tx.query(selectMatchCandidates, [
    unique.map(({ currency }) => currency),
    unique.map(({ amount }) => amount),
    transaction.signature,
  ]);
  const byTransfer = Map.groupBy(open, ({ wallet, amount, currency }) => keyOf(tokenAccountOf(app, wallet, currency), amount));
  const choices = transfers.map(({ to, amount, mint }) => (byTransfer.get(keyOf(to, amount)) ?? []).map((payment) => publishedMember(payment, mint)));
  const missing = transfers.find((_, i) => choices[i]?.length === 0);
  if (missing) return `it paid ${missing.amount} to ${missing.to}, but no open payment has this amount and account`;
  const order = findMemberOrder(choices, hash);
  const byId = new Map(open.map((payment) => [payment.id, payment]));
  return (
    order?.flatMap(({ paymentId }) => byId.get(paymentId) ?? []) ??
    'its transfers equal open payments, but the hash in its memo is that of other payments'
  );
}

const keyOf = (account: string, amount: string) => `${account} ${amount}`;

function tokenAccountOf(app: App, wallet: string, currency: Currency): string {
  const mint = currency === 'usdc' ? app.chain.usdcMint : app.chain.rewardMint;
  return associatedTokenAddress(parseAddress(wallet), mint).toBase58();
}

/**
 * Selects one payment per transfer so that the hash over the selected payments equals `hash`. Selects each payment at most once.
 * @param choices one list per transfer, in batch order: the payments that the transfer may have paid
 * @returns the selected payments; null when no selection has this hash, or when `MAX_ORDERS` selections were tried
 */
export function findMemberOrder(choices: readonly (readonly PayoutMember[])[], hash: string): PayoutMember[] | null {
  let left = MAX_ORDERS;
  const taken: PayoutMember[] = [];
  const search = (position: number): boolean => {
    if (position === choices.length) return left-- > 0 && membersHash(taken) === hash;
    for (const payment of choices[position] ?? []) {
      if (left <= 0) return false;
      if (taken.some(({ paymentId }) => paymentId === payment.paymentId)) continue;
      taken.push(payment);
      if (search(position + 1)) return true;
      taken.pop();
    }
    return false;
  };
  return search(0) ? taken : null;
}
