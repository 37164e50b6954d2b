import { instantOf, millis } from '#lib/draw/bytes.ts';
import type { EntryRules } from '#lib/draw/parameters.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { readRecentBalance } from '#platform/solana/token-gate.ts';
import type { EntryRuleTerms } from './terms.ts';
import { mintOf } from './treasury.ts';

/** Returns the terms of a round as its parameters contain them. @throws 503 when a token of the terms is not configured */
export function frozenRules(app: App, { minTokenBalance, minAcceptedScores, linkedAccount, signedInBefore }: EntryRuleTerms): EntryRules {
  return {
    minTokenBalance: minTokenBalance ? { amount: minTokenBalance.amount, mint: mintOf(app, minTokenBalance.mint).toBase58() } : null,
    minAcceptedScores: minAcceptedScores ?? null,
    linkedAccount: linkedAccount ?? null,
    signedInBefore: signedInBefore === undefined ? null : instantOf(Date.parse(signedInBefore)),
  };
}

/** A wallet's balance of a token, base units. */
export interface EntryBalance {
  readonly mint: string;
  readonly amount: bigint;
}

/** Maximum age of the cached rule of the active round, ms. */
const RULE_AGE_MS = 100;

const selectMint = statement<{ mint: string | null }>(
  'read_token_of_active_round',
  `select parameters #>> '{entryRules,minTokenBalance,mint}' as mint from rounds where kind = 'chat' and state = 'active'`,
);
const requiredToken = perApp((app) => ttlCache<'active', string | null>(RULE_AGE_MS, async () => (await app.db.query(selectMint))[0]?.mint ?? null));

/**
 * Reads a wallet's balance of the token that the active round requires, at most 60 s old. Call it before the transaction that accepts the entry.
 * @returns null when the round requires no token, or when the RPC node does not answer
 */
export async function readEntryBalance(app: App, wallet: string): Promise<EntryBalance | null> {
  return await readBalanceOf(app, wallet, await app.state(requiredToken).get('active'));
}

const selectMintOfLegacy = statement<{ mint: string | null }>(
  'read_token_of_legacy_round',
  `select parameters #>> '{entryRules,minTokenBalance,mint}' as mint from rounds where id = $1 and kind = 'legacy' and state = 'active'`,
);

/** Reads a wallet's balance of the token that a legacy round requires, like `readEntryBalance`. */
export async function readTicketBalance(app: App, wallet: string, round: string): Promise<EntryBalance | null> {
  return await readBalanceOf(app, wallet, (await app.db.query(selectMintOfLegacy, [round]))[0]?.mint ?? null);
}

/** Reads a wallet's balance of a token, at most 60 s old. @returns null when no token is named, or when the RPC node does not answer */
export async function readBalanceOf(app: App, wallet: string, mint: string | null): Promise<EntryBalance | null> {
  const amount = mint === null ? null : await readRecentBalance(app, wallet, mint);
  return mint === null || amount === null ? null : { mint, amount };
}

/** What the database says about a wallet with regard to entry rules. */
interface WalletFacts {
  readonly wallet: string;
  /** Number of accepted scores, at most the required number. */
  readonly scores: number;
  /** Whether the wallet linked an account of the required network in time. */
  readonly linked: boolean;
  /** Time of the first sign-in, ms since 1970; null for a wallet that never signed in. */
  readonly signedInAt: number | null;
}
// `offset 0` makes PostgreSQL use one index lookup per wallet in each subquery, even if it planned the statement while the tables were small.
const selectFacts = statement<WalletFacts>(
  'read_facts_for_entry_rules',
  `select k.wallet, s.n as scores, l.linked, p.at as "signedInAt" from unnest($1::text[]) as k(wallet),
     lateral (select count(*)::int as n from (select 1 from scores where wallet = k.wallet and status = 'accepted' limit $2::int) accepted offset 0) s,
     lateral (select exists (select from linked_accounts where wallet = k.wallet and platform = $3 and ($4::timestamptz is null or linked_at < $4)) as linked offset 0) l,
     lateral (select (select (extract(epoch from created_at) * 1000)::float8 from players where wallet = k.wallet) as at offset 0) p`,
);

/** Reasons why wallets may not enter a round. */
export interface RuleRefusal {
  readonly status: 403 | 503;
  readonly error: string;
}

/**
 * Checks the rules of a round, or the gates of a quest, for wallets.
 * @param opensAt time at which the round opened, ISO 8601; null for a quest, for which the time of a link does not matter
 * @param wallets different wallets, with their balances as `readEntryBalance` or `readBalanceOf` returned them
 * @returns the refusal of each wallet that does not meet the rules
 */
export async function refusedWallets(
  db: Queryable,
  rules: EntryRules,
  opensAt: string | null,
  wallets: ReadonlyMap<string, EntryBalance | null>,
): Promise<ReadonlyMap<string, RuleRefusal>> {
  const { minTokenBalance, minAcceptedScores, linkedAccount, signedInBefore } = rules;
  const needsFacts = minAcceptedScores !== null || linkedAccount !== null || signedInBefore !== null;
  const rows = needsFacts ? await db.query(selectFacts, [[...wallets.keys()], minAcceptedScores ?? 0, linkedAccount, opensAt]) : [];
  const facts = new Map(rows.map((row) => [row.wallet, row]));
  const refused = new Map<string, RuleRefusal>();
  for (const [wallet, balance] of wallets) {
    const refusal =
      (minTokenBalance && balanceRefusal(minTokenBalance, balance)) ?? (needsFacts ? factsRefusal(rules, opensAt, facts.get(wallet)) : null);
    if (refusal) refused.set(wallet, refusal);
  }
  return refused;
}

function balanceRefusal({ amount, mint }: NonNullable<EntryRules['minTokenBalance']>, balance: EntryBalance | null): RuleRefusal | null {
  if (balance?.mint !== mint) return { status: 503, error: 'the token balance of the wallet cannot be read at the moment, try again' };
  return balance.amount >= BigInt(amount)
    ? null
    : { status: 403, error: `minTokenBalance: the wallet must hold at least ${amount} base units of ${mint}` };
}

function factsRefusal(
  { minAcceptedScores, linkedAccount, signedInBefore }: EntryRules,
  opensAt: string | null,
  facts: WalletFacts | undefined,
): RuleRefusal | null {
  const refuse = (error: string): RuleRefusal => ({ status: 403, error });
  if (minAcceptedScores !== null && (facts?.scores ?? 0) < minAcceptedScores) {
    return refuse(`minAcceptedScores: the wallet must have at least ${minAcceptedScores} accepted scores`);
  }
  if (linkedAccount !== null && !facts?.linked) {
    const inTime = opensAt === null ? '' : ' before the round opened';
    return refuse(`linkedAccount: the wallet must have linked an account of ${linkedAccount}${inTime}`);
  }
  const isEarly = signedInBefore === null || (facts?.signedInAt != null && facts.signedInAt < millis(signedInBefore));
  return isEarly ? null : refuse(`signedInBefore: the wallet must have signed in before ${signedInBefore}`);
}
