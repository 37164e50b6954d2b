import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import type { Confirmed } from './confirmed.ts';
import type { Database } from './database.ts';
import type { WalletChain } from './wallet-chain.ts';

type Sums = Map<string, bigint>;
const add = (sums: Sums, wallet: string, amount: bigint) => void sums.set(wallet, (sums.get(wallet) ?? 0n) + amount);
/** Maximum addresses or signatures per RPC request. */
const BATCH = 100;

/** Addresses of the two mints. */
export interface Mints {
  readonly usdc: string;
  readonly reward: string;
}

interface BalanceOptions {
  /** Whether a claim of a stranger may have no signature, because the RPC nodes did not show its transaction when it was read. */
  readonly unattributed?: boolean;
}

/** Claims that have no signature although the service's own transaction has landed, or although no stranger sends claims. */
const unexplainedClaims = (unattributed: boolean) =>
  `select format('claim %s is claimed without a signature', id) as what from claims c where state = 'claimed' and signature is null
     and (${!unattributed} or exists (select from chain_transactions t join chain_attempts a on a.transaction_id = t.id
       where t.kind = 'claim' and t.subject = c.id::text and a.state = 'finalized'))`;

/**
 * Checks that every payment was made exactly once: the finalized balance of each wallet must equal its funding, minus its own payments,
 * plus the payments and claims in the database.
 * @returns one sentence per difference, and per payment, claim or transaction that ended without success
 */
export async function balanceFailures(
  database: Database,
  chain: WalletChain,
  mints: Mints,
  confirmed: Confirmed,
  { unattributed = false }: BalanceOptions = {},
): Promise<string[]> {
  const found: string[] = [];
  const usdc: Sums = new Map(confirmed.funded);
  const reward: Sums = new Map();
  const landed = await finalizedSignatures(
    chain,
    confirmed.payments.map(({ signature }) => signature),
  );
  for (const { wallet, signature, amount } of confirmed.payments) if (landed.has(signature)) add(usdc, wallet, -amount);

  interface Paid {
    readonly wallet: string;
    readonly currency: string;
    readonly amount: string;
    readonly signature: string | null;
  }
  const payments = await database.rows<Paid & { [column: string]: unknown }>(
    `select wallet, currency, amount::text, signature from payments where state = 'completed'
     union all select wallet, 'reward', amount::text, signature from claims where state = 'claimed'`,
  );
  for (const { wallet, currency, amount } of payments) if (currency !== 'sol') add(currency === 'usdc' ? usdc : reward, wallet, BigInt(amount));
  const signatures = [...new Set(payments.map(({ signature }) => signature))];
  const known = await finalizedSignatures(
    chain,
    signatures.flatMap((signature) => (signature === null ? [] : [signature])),
  );
  for (const signature of signatures) {
    if (signature !== null && !known.has(signature))
      found.push(`the database has a payment with signature ${signature}, which is not finalized on the chain`);
  }
  found.push(...(await differingBalances(chain, 'usdc', mints.usdc, usdc)), ...(await differingBalances(chain, 'reward', mints.reward, reward)));

  const unclear = await database.rows<{ what: string }>(
    `${unexplainedClaims(unattributed)}
     union all select format('payment %s is completed without a signature', id) from payments where state = 'completed' and signature is null
     union all select format('payment %s is %s: %s', id, state, reason) from payments where state in ('manual', 'failed', 'reversed')
     union all select format('claim %s is %s: %s', id, state, reason) from claims where state = 'failed'
     union all select format('transaction %s of %s %s is %s', id, kind, subject, state) from chain_transactions where state = 'manual'
     union all select format('payment %s is in %s paid batches', m.payment, count(*)) from payout_batch_members m join payout_batches b on b.id = m.batch
       where b.state = 'paid' group by m.payment having count(*) > 1
     union all select format('winner %s of round %s has no payment', place, round) from round_winners w join rounds r on r.id = w.round
       where r.kind = 'chat' and not exists (select from payments p where p.cause_kind = 'prize' and p.cause_id = w.round || ':' || w.place)
     union all select format('payouts are paused: %s', reason) from chain_pauses`,
  );
  return [...found, ...unclear.map(({ what }) => what)];
}

async function finalizedSignatures({ connection }: WalletChain, signatures: readonly string[]): Promise<Set<string>> {
  const landed = new Set<string>();
  for (let i = 0; i < signatures.length; i += BATCH) {
    const some = signatures.slice(i, i + BATCH);
    const { value } = await connection.getSignatureStatuses([...some], { searchTransactionHistory: true });
    for (const [n, status] of value.entries()) if (status?.confirmationStatus === 'finalized' && status.err === null) landed.add(some[n] ?? '');
  }
  return landed;
}

async function differingBalances({ connection }: WalletChain, currency: string, mint: string, due: Sums): Promise<string[]> {
  const found: string[] = [];
  const all = [...due];
  for (let i = 0; i < all.length; i += BATCH) {
    const some = all.slice(i, i + BATCH);
    const addresses = some.map(([wallet]) => associatedTokenAddress(parseAddress(wallet), parseAddress(mint)));
    const accounts = await connection.getMultipleAccountsInfo(addresses, 'finalized');
    for (const [n, [wallet, amount]] of some.entries()) {
      const has = decodeTokenAccount(accounts[n] ?? null)?.amount ?? 0n;
      if (has !== amount) found.push(`${wallet} has ${has} ${currency} on the chain, expected ${amount}`);
    }
  }
  return found;
}
