import { PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { membersHash } from '../batches/members.ts';
import { payoutConfirmed } from '../events.ts';
import type { Currency } from '../payments.ts';
import type { Finding, Transfer } from './history.ts';
import type { Lane } from './rows.ts';

/** Orders of equal payments that are tried against the hash in a memo. */
const MOST_ORDERS = 20_000;

const insertFindings = statement(
  'insert_payout_findings',
  `insert into payout_findings (signature, lane, address, nonce, slot, batch, members_hash, transfers, verdict, reason)
   select f.signature, $1, $2, f.nonce, f.slot, f.batch, f.hash, f.transfers, f.verdict, f.reason
   from unnest($3::text[], $4::text[], $5::int8[], $6::uuid[], $7::text[], $8::jsonb[], $9::text[], $10::text[])
     as f(signature, nonce, slot, batch, hash, transfers, verdict, reason)
   order by f.signature on conflict (signature) do nothing`,
);

/** Keeps what was read from the chain: each transaction is read once, and looked at until it is explained. */
export async function keepFindings(tx: Tx, lane: Pick<Lane, 'lane' | 'address'>, findings: readonly Finding[]): Promise<void> {
  if (findings.length === 0) return;
  await tx.query(insertFindings, [
    lane.lane,
    lane.address,
    findings.map(({ signature }) => signature),
    findings.map(({ nonce }) => nonce),
    findings.map(({ slot }) => slot),
    findings.map(({ memo }) => memo?.batch ?? null),
    findings.map(({ memo }) => memo?.hash ?? null),
    findings.map(({ transfers }) => JSON.stringify(transfers)),
    findings.map(({ harmless }) => (harmless === null ? 'unmatched' : 'harmless')),
    findings.map(({ harmless }) => harmless ?? 'not looked at yet'),
  ]);
}

interface Unmatched {
  signature: string;
  members_hash: string | null;
  transfers: Transfer[];
}
const lockUnmatched = statement<Unmatched>(
  'lock_unmatched_payout_findings',
  `select signature, members_hash, transfers from payout_findings where verdict = 'unmatched' and lane = $1 order by slot, signature for update`,
);
const decide = statement(
  'decide_payout_finding',
  `update payout_findings set verdict = $2, reason = $3, payments = $4::uuid[], changed_at = app_now() where signature = $1 and verdict = 'unmatched'`,
);

interface Open {
  id: string;
  wallet: string;
  amount: string;
  currency: Currency;
  completed: boolean;
}
// Whatever they wait for on a lane whose nonce this transaction has used, they wait for in vain: it has paid them.
const selectOpen = statement<Open>(
  'select_payments_that_may_be_paid',
  `select p.id::text, p.wallet, p.amount::text, p.currency, false as completed from payments p
   join unnest($1::text[], $2::numeric[]) as t(currency, amount) on t.currency = p.currency and t.amount = p.amount
   where p.payer = 'treasury' and p.state in ('pending', 'batched', 'confirmed', 'manual')
   union all
   select p.id::text, p.wallet, p.amount::text, p.currency, true from payments p
   where p.payer = 'treasury' and p.state = 'completed' and p.signature = $3
   order by id`,
);
const completeFound = statement<{ id: string; wallet: string; currency: string; amount: string; signature: string }>(
  'complete_found_payments',
  `update payments p set state = 'completed', signature = $2, reason = null, completed_at = app_now(), changed_at = app_now()
   where id in (select id from payments where id = any($1::uuid[]) order by id for update)
     and p.state in ('pending', 'batched', 'confirmed', 'manual')
   returning p.id::text, p.wallet, p.currency, p.amount::text, p.signature`,
);

/**
 * Explains a lane's unmatched findings by what is owed: a transaction that paid open payments, and whose memo holds the
 * hash of just these, has completed them.
 * @returns why some stay unexplained, one sentence each
 */
export async function matchFindings(app: App, tx: Tx, lane: Pick<Lane, 'lane'>): Promise<string[]> {
  const problems: string[] = [];
  for (const finding of await tx.query(lockUnmatched, [lane.lane])) {
    const found = await match(app, tx, finding);
    if (typeof found === 'string') {
      problems.push(`transaction ${finding.signature}: ${found}`);
      await tx.query(decide, [finding.signature, 'unmatched', found, []]);
      continue;
    }
    const open = found.filter(({ completed }) => !completed).map(({ id }) => id);
    const completed = await tx.query(completeFound, [open, finding.signature]);
    if (completed.length !== open.length) throw new Error(`payments of ${finding.signature} changed while they were matched`);
    const payments = found.map(({ id }) => id);
    await tx.query(decide, [finding.signature, 'matched', null, payments]);
    for (const { id, ...payment } of completed) tx.emit(payoutConfirmed, { paymentId: id, ...payment }, payment.wallet);
    app.log.warn({ signature: finding.signature, payments }, 'payments were completed by a transaction found on the chain');
  }
  return problems;
}

/** The payments that a transaction has paid, in their order, or why that cannot be told. */
async function match(app: App, tx: Tx, finding: Unmatched): Promise<Open[] | string> {
  const { members_hash: hash, transfers } = finding;
  if (hash === null || transfers.length === 0) return 'it is none of our batches';
  const mints = new Map<string, Currency>();
  if (app.config.chain.usdcMint) mints.set(app.config.chain.usdcMint, 'usdc');
  if (app.config.chain.rewardMint) mints.set(app.config.chain.rewardMint, 'reward');
  const wanted = transfers.flatMap(({ mint, amount }) => {
    const currency = mints.get(mint);
    return currency ? [{ currency, amount }] : [];
  });
  if (wanted.length < transfers.length) return 'it pays a token that is not configured';
  const unique = [...new Map(wanted.map((one) => [`${one.currency} ${one.amount}`, one])).values()];
  const open = await tx.query(selectOpen, [unique.map(({ currency }) => currency), unique.map(({ amount }) => amount), finding.signature]);
  const byTransfer = Map.groupBy(open, ({ wallet, amount, currency }) => keyOf(accountOf(app, wallet, currency), amount));
  const choices = transfers.map(({ to, amount }) => (byTransfer.get(keyOf(to, amount)) ?? []).map(({ id }) => id));
  const missing = transfers.find((_, i) => choices[i]?.length === 0);
  if (missing) return `nobody is owed the ${missing.amount} that it paid to ${missing.to}`;
  const order = inOrder(choices, hash);
  const byId = new Map(open.map((payment) => [payment.id, payment]));
  return order?.flatMap((id) => byId.get(id) ?? []) ?? 'what it paid is owed, but its memo names other payments';
}

const keyOf = (account: string, amount: string) => `${account} ${amount}`;

function accountOf(app: App, wallet: string, currency: Currency): string {
  const mint = currency === 'usdc' ? app.chain.usdcMint : app.chain.rewardMint;
  return associatedTokenAddress(new PublicKey(wallet), mint).toBase58();
}

/** One payment from each of the choices, none twice, so that their hash is the given one; null where there is no such order. */
export function inOrder(choices: readonly (readonly string[])[], hash: string): string[] | null {
  let left = MOST_ORDERS;
  const taken: string[] = [];
  const search = (position: number): boolean => {
    if (position === choices.length) return left-- > 0 && membersHash(taken) === hash;
    for (const id of choices[position] ?? []) {
      if (left <= 0) return false;
      if (taken.includes(id)) continue;
      taken.push(id);
      if (search(position + 1)) return true;
      taken.pop();
    }
    return false;
  };
  return search(0) ? taken : null;
}
