import type { TokenBalance } from '#platform/solana/fetched-transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { type AuditContext, type Check, DifferenceList, databaseCheck } from '../../check.ts';

const CURRENCIES = ['usdc', 'reward'] as const;
type TreasuryAccounts = Readonly<Record<(typeof CURRENCIES)[number] | 'treasury', string | null>>;

const SELECT_TREASURY_ACCOUNTS = `
  with paid as (
    select distinct on (p.currency) p.currency, b.mint
    from payout_batches b join payout_batch_members m on m.batch = b.id join payments p on p.id = m.payment order by p.currency, b.created_at desc)
  select (select mint from paid where currency = 'usdc') as usdc,
    coalesce((select mint from paid where currency = 'reward'), (select mint from epoch_accounts order by epoch desc limit 1)) as reward,
    (select treasury from payout_batches order by created_at desc limit 1) as treasury`;

/**
 * Returns the addresses of the treasury and of the two mints (USDC and reward token). An address that is not configured is taken from the latest
 * payout.
 */
async function readTreasuryAccounts({ config, db }: AuditContext): Promise<TreasuryAccounts> {
  const { usdcMint, rewardMint, addresses } = config.chain;
  const [latest] = await db.query<TreasuryAccounts>({ text: SELECT_TREASURY_ACCOUNTS });
  return {
    usdc: usdcMint ?? latest?.usdc ?? null,
    reward: rewardMint ?? latest?.reward ?? null,
    treasury: addresses.treasury ?? latest?.treasury ?? null,
  };
}

const OPEN = `r.state in ('active', 'closing', 'committed')`;
const SELECT_OWED = `
  select c.currency, (
    coalesce((select sum(amount) from payments p where p.currency = c.currency and p.payer = 'treasury' and p.state in ('pending', 'batched', 'confirmed', 'manual')), 0)
    + coalesce((select sum((p->>'amount')::numeric) from rounds r, jsonb_array_elements(r.prizes) p where ${OPEN} and r.kind = 'chat' and p->>'mint' = c.currency), 0)
    + coalesce((select sum(r.ticket_price * r.entries) from rounds r where ${OPEN} and r.kind = 'legacy' and c.currency = 'usdc'), 0))::text as amount
  from (values ('usdc'), ('reward')) c(currency)`;

const treasury: Check = {
  name: 'treasury',
  invariant: 'the treasury holds the amounts owed and the prizes and ticket prices of open rounds',
  live: true,
  warnsOnly: true,
  async run(audit) {
    const found = new DifferenceList();
    const accounts = await readTreasuryAccounts(audit);
    for (const { currency, amount } of await audit.db.query<{ currency: (typeof CURRENCIES)[number]; amount: string }>({ text: SELECT_OWED })) {
      if (amount === '0') continue;
      const mint = accounts[currency];
      if (mint === null || accounts.treasury === null)
        throw new Error(
          `${amount} ${currency} are owed, but the address of the treasury or of the mint is unknown; set TREASURY_ADDRESS and ${currency.toUpperCase()}_MINT`,
        );
      const address = associatedTokenAddress(parseAddress(accounts.treasury), parseAddress(mint));
      const held = decodeTokenAccount((await audit.chain.node.account(address, 'finalized')).account)?.amount ?? 0n;
      if (held < BigInt(amount)) found.add(`the treasury holds ${held} ${currency}, but ${amount} are owed or reserved for open rounds`);
    }
    return found;
  },
};

interface ManualPayment {
  readonly signature: string;
  readonly wallet: string;
  readonly currency: (typeof CURRENCIES)[number];
  readonly amount: string;
}
// Selects the payments that an operator reported as made outside the service. Excludes two groups that other checks cover: payments by payout
// batches, and payments by transactions that were matched later (`payout_findings`).
const SELECT_MANUAL = (days: string, limit: string) => `
  select signature, wallet, currency, sum(amount)::text as amount from payments p
  where state = 'completed' and signature is not null and completed_at > app_now() - interval '${days} days'
    and not exists (select from payout_batches b where b.state = 'paid' and b.signature = p.signature)
    and not exists (select from payout_findings f where f.signature = p.signature)
  group by 1, 2, 3 order by max(completed_at) desc limit ${limit}`;

const handPayments: Check = {
  name: 'hand-payments',
  invariant: 'a payment that was reported as made elsewhere is on the chain with at least its amount',
  live: true,
  async run(audit) {
    const { scope, db, chain } = audit;
    const found = new DifferenceList();
    const sql = scope.all ? SELECT_MANUAL('36500', 'all') : SELECT_MANUAL(String(Math.trunc(scope.days)), String(Math.trunc(scope.sample / 10)));
    const accounts = await readTreasuryAccounts(audit);
    for (const { signature, wallet, currency, amount } of await db.query<ManualPayment>({ text: sql })) {
      const sent = await chain.node.transaction(signature, 'finalized');
      const total = (balances: readonly TokenBalance[]) =>
        balances.filter(({ mint, owner }) => owner === wallet && mint === accounts[currency]).reduce((sum, balance) => sum + balance.amount, 0n);
      const got = sent?.outcome && !sent.outcome.failed ? total(sent.outcome.tokensAfter) - total(sent.outcome.tokensBefore) : null;
      if (got === null) found.add(`payments of ${amount} ${currency} to ${wallet}: transaction ${signature} is missing or has failed`);
      else if (got < BigInt(amount)) found.add(`payments of ${amount} ${currency} to ${wallet}: transaction ${signature} has paid only ${got}`);
    }
    return found;
  },
};

export const treasuryChecks = [
  treasury,
  handPayments,
  {
    ...databaseCheck(
      'for-people',
      'no transaction, payment or payout finding waits for an operator, and nothing is paused',
      `select format('transaction %s %s has been in state manual since %s: %s', kind, subject, changed_at, error->>'message') as what from chain_transactions where state = 'manual'
       union all select format('payment %s of %s %s to %s is %s: %s', id, amount, currency, wallet, state, reason) from payments where state in ('manual', 'failed')
       union all select format('transaction %s of lane %s matches no payment: %s', signature, lane, reason) from payout_findings where verdict = 'unmatched'
       union all select format('payouts are paused: %s', concat_ws('; ', doubt, held)) from payout_watch where doubt is not null or held is not null
       union all select format('%s is paused: %s', scope, reason) from chain_pauses`,
    ),
    warnsOnly: true,
  } satisfies Check,
];
