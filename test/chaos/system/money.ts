import { PublicKey } from '@solana/web3.js';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import type { Confirmed } from './confirmed.ts';
import type { Database } from './database.ts';
import type { WalletChain } from './wallet-chain.ts';

type Sums = Map<string, bigint>;
const add = (sums: Sums, wallet: string, amount: bigint) => void sums.set(wallet, (sums.get(wallet) ?? 0n) + amount);
const AT_ONCE = 100;

/** Where the tokens are. */
export interface Mints {
  readonly usdc: string;
  readonly reward: string;
}

/** What is not paid once: what wallets have on the chain, finally, is what they are owed by the record, and what they did themselves. */
export async function wrongMoney(database: Database, chain: WalletChain, mints: Mints, confirmed: Confirmed): Promise<string[]> {
  const found: string[] = [];
  const usdc: Sums = new Map(confirmed.purses);
  const reward: Sums = new Map();
  const landed = await finallyLanded(
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
  const known = await finallyLanded(
    chain,
    signatures.flatMap((signature) => (signature === null ? [] : [signature])),
  );
  for (const signature of signatures) {
    if (signature === null || !known.has(signature)) found.push(`a payment is said to be made by ${signature}, which the chain does not have`);
  }
  found.push(...(await unlike(chain, 'usdc', mints.usdc, usdc)), ...(await unlike(chain, 'reward', mints.reward, reward)));

  const unclear = await database.rows<{ what: string }>(
    `select format('payment %s is %s: %s', id, state, reason) as what from payments where state in ('manual', 'failed', 'reversed')
     union all select format('claim %s is %s: %s', id, state, reason) from claims where state = 'failed'
     union all select format('transaction %s of %s %s is %s', id, kind, subject, state) from chain_transactions where state = 'manual'
     union all select format('payment %s is in %s batches that were paid', m.payment, count(*)) from payout_batch_members m join payout_batches b on b.id = m.batch
       where b.state = 'paid' group by m.payment having count(*) > 1
     union all select format('winner %s of round %s has no payment', place, round) from round_winners w join rounds r on r.id = w.round
       where r.kind = 'chat' and not exists (select from payments p where p.cause_kind = 'prize' and p.cause_id = w.round || ':' || w.place)
     union all select format('payouts are paused: %s', reason) from chain_pauses`,
  );
  return [...found, ...unclear.map(({ what }) => what)];
}

async function finallyLanded({ connection }: WalletChain, signatures: readonly string[]): Promise<Set<string>> {
  const landed = new Set<string>();
  for (let i = 0; i < signatures.length; i += AT_ONCE) {
    const some = signatures.slice(i, i + AT_ONCE);
    const { value } = await connection.getSignatureStatuses([...some], { searchTransactionHistory: true });
    for (const [n, status] of value.entries()) if (status?.confirmationStatus === 'finalized' && status.err === null) landed.add(some[n] ?? '');
  }
  return landed;
}

async function unlike({ connection }: WalletChain, currency: string, mint: string, due: Sums): Promise<string[]> {
  const found: string[] = [];
  const all = [...due];
  for (let i = 0; i < all.length; i += AT_ONCE) {
    const some = all.slice(i, i + AT_ONCE);
    const addresses = some.map(([wallet]) => associatedTokenAddress(new PublicKey(wallet), new PublicKey(mint)));
    const accounts = await connection.getMultipleAccountsInfo(addresses, 'finalized');
    for (const [n, [wallet, amount]] of some.entries()) {
      const has = decodeTokenAccount(accounts[n] ?? null)?.amount ?? 0n;
      if (has !== amount) found.push(`${wallet} has ${has} ${currency} on the chain, and should have ${amount}`);
    }
  }
  return found;
}
